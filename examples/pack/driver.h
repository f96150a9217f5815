/* SPDX-License-Identifier: BSD-3-Clause */
/* The few functions of the CUDA driver that this example calls, found at run time: no CUDA header
 * and no CUDA library is needed to build, and no driver is needed to load. */
#ifndef DRIVER_H
#define DRIVER_H

#include <cai.h>
#include <stddef.h>

typedef int CUresult; /* 0 is success */
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;

enum { CU_STREAM_NON_BLOCKING = 1, CU_MEMORYTYPE_UNIFIED = 4, CU_MAX_PITCH = 0x7FFFFFFF };

typedef struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  int srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  int dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

/* Each function with the version of CUDA in which it got the form declared here. */
#define DRIVER_FUNCTIONS(F)                                                 \
  F(cuGetErrorName, 6000, (CUresult, const char **))                        \
  F(cuInit, 2000, (unsigned))                                               \
  F(cuDeviceGet, 2000, (CUdevice *, int))                                   \
  F(cuDeviceGetName, 2000, (char *, int, CUdevice))                         \
  F(cuDevicePrimaryCtxRetain, 7000, (CUcontext *, CUdevice))                \
  F(cuDevicePrimaryCtxRelease, 11000, (CUdevice))                           \
  F(cuCtxGetDevice, 2000, (CUdevice *))                                     \
  F(cuCtxGetCurrent, 4000, (CUcontext *))                                   \
  F(cuCtxPushCurrent, 4000, (CUcontext))                                    \
  F(cuCtxPopCurrent, 4000, (CUcontext *))                                   \
  F(cuStreamCreate, 2000, (CUstream *, unsigned))                           \
  F(cuStreamDestroy, 4000, (CUstream))                                      \
  F(cuStreamSynchronize, 2000, (CUstream))                                  \
  F(cuMemAllocAsync, 11020, (CUdeviceptr *, size_t, CUstream))              \
  F(cuMemFreeAsync, 11020, (CUdeviceptr, CUstream))                         \
  F(cuMemcpyAsync, 4000, (CUdeviceptr, CUdeviceptr, size_t, CUstream))      \
  F(cuMemcpy2DAsync, 3020, (const CUDA_MEMCPY2D *, CUstream))               \
  F(cuMemcpyHtoDAsync, 3020, (CUdeviceptr, const void *, size_t, CUstream)) \
  F(cuMemcpyDtoHAsync, 3020, (void *, CUdeviceptr, size_t, CUstream))

typedef struct driver {
#define DRIVER_MEMBER(name, version, arguments) CUresult(*name) arguments;
  DRIVER_FUNCTIONS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
} driver;

/* Returns the driver, loaded and initialised at the first call; NULL, with `error` filled in, if
 * there is none. Any thread. */
const driver *driver_get(cai_error *error);

/* Fills in an error, which may be NULL, and returns `status`. */
cai_status fail(cai_error *error, cai_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Turns what the driver returned into a status, and fills in the error if it is no success. */
cai_status check(const driver *cu, CUresult result, const char *call, cai_error *error);

#endif /* DRIVER_H */
