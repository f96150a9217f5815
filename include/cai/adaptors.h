/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file adaptors.h
 * The memory manager of a device, in the forms that PyTorch and CuPy call. Provisional, as
 * cai/memory.h is.
 *
 * These are plain functions with the callers' own signatures, which have no room for a #cai_status:
 * a failure is NULL, or is told to cai_on_failure(). They may be called from any thread until the
 * process ends, after Python and after the driver are gone; a free is then nothing.
 *
 * Memory is of the kind #CAI_KIND_DEFAULT, from cai_manager_of() the device, whatever is current.
 * It is known to cai_memory_find().
 */
/* clang-format off: the comments beside the fields are set by hand */
#ifndef CAI_ADAPTORS_H
#define CAI_ADAPTORS_H

#include <cai/memory.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* adaptors.h: declarations begin */

/* ---- PyTorch ------------------------------------------------------------------------------ */

/* For torch.cuda.memory.CUDAPluggableAllocator and the setters of the object behind it. A stream is
 * a cudaStream_t; NULL and 1 are the legacy default stream, 2 is the calling thread's. */

/** Allocates in the order of a stream: the alloc_fn of a CUDAPluggableAllocator.
 *
 * @param size    bytes; 0 gives NULL, and that is no failure
 * @param device  ordinal
 * @return the address; NULL on failure, which is told to cai_on_failure().
 * Since 0.1. */
void *cai_torch_alloc(uint64_t size, int32_t device, void *stream);

/** Frees in the order of a stream: the free_fn. What cai_torch_alloc() has not given, or was freed
 * already, is left alone: cai_on_failure() is told.
 *
 * @param ptr     may be NULL
 * @param size    not needed
 * @param device  not needed
 * Since 0.1. */
void cai_torch_free(void *ptr, uint64_t size, int32_t device, void *stream);

/** Finds the allocation around an address: for set_base_alloc_fn.
 *
 * @param size  gets its bytes; may be NULL
 * @return its beginning; NULL for an address that is not libcai's, which is told to
 *         cai_on_failure().
 * Since 0.1. */
void *cai_torch_base(void *ptr, uint64_t *size);

/** Says that what is queued on a stream by now uses memory of cai_torch_alloc(), which is not freed
 * before that is done: for set_record_stream_fn.
 *
 * @param ptr     the beginning of an allocation; NULL is nothing
 * @param stream  of any GPU; NULL, 1 and 2 are the memory's device's
 * Since 0.1. */
void cai_torch_record_stream(void *ptr, void *stream);

/** Compares PyTorch's number of devices with libcai's, and tells cai_on_failure() if they differ:
 * for set_init_fn. Since 0.1. */
void cai_torch_init(int32_t device_count);

/** Frees what is pending and gives back what is kept, on all devices that the functions here have
 * allocated on: for set_reset_fn, which torch.cuda.empty_cache() calls.
 * Since 0.1. */
void cai_torch_reset(void);

/* ---- CuPy --------------------------------------------------------------------------------- */

/* For cupy.cuda.CFunctionAllocator, which passes no stream: memory is allocated and freed in the
 * order of the one that `param` is, as a cudaStream_t; NULL is the legacy default stream. The
 * allocator of libcai.cupy, in Python, follows CuPy's current stream.
 *
 * CuPy does not look for NULL but expects a C++ exception, which a C library has not to throw. So
 * its malloc function is cai_cupy_malloc(), of the same arguments as cai_cupy_alloc(), in the small
 * C++ library libcai_cupy.so beside this one; it throws std::bad_alloc on failure. */

/** Allocates.
 *
 * @param param   stream, as above
 * @param size    bytes; 0 gives NULL, and that is no failure
 * @param device  ordinal
 * @return the address; NULL on failure, which is told to cai_on_failure().
 * Since 0.1. */
void *cai_cupy_alloc(void *param, uint64_t size, int32_t device);

/** Frees what cai_cupy_alloc() or cai_cupy_malloc() gave. Anything else is left alone, and
 * cai_on_failure() is told.
 *
 * @param param   stream, as above
 * @param ptr     may be NULL
 * @param device  not needed
 * Since 0.1. */
void cai_cupy_free(void *param, void *ptr, int32_t device);

/* adaptors.h: declarations end */

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* CAI_ADAPTORS_H */
