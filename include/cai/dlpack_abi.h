/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file dlpack_abi.h
 * The structs of DLPack 1.3, for programs without DLPack's own header.
 *
 * Names, layout and values are DLPack's (https://dmlc.github.io/dlpack), and so is the include
 * guard: to use DLPack's own header, 1.3 or newer, include it first, and this file declares
 * nothing.
 */
/* clang-format off: the comments beside the fields are set by hand */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#include <stddef.h>
#include <stdint.h>

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

#if defined(_WIN32) && defined(DLPACK_EXPORTS)
#define DLPACK_DLL __declspec(dllexport)
#elif defined(_WIN32)
#define DLPACK_DLL __declspec(dllimport)
#else
#define DLPACK_DLL
#endif

#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
extern "C" {
#else
#define DLPACK_EXTERN_C
#endif

/* dlpack_abi.h: declarations begin */

/** A version. Of a tensor of another major, only the deleter may be called. */
typedef struct {
  uint32_t major; /**< changes with the layout */
  uint32_t minor; /**< changes with the set of values */
} DLPackVersion;

/** Kinds of device. cai_array.device_type has the same numbers. */
typedef enum {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18
} DLDeviceType;

/** A device. */
typedef struct {
  DLDeviceType device_type;
  int32_t device_id; /**< ordinal; 0 for host, pinned and managed memory */
} DLDevice;

/** Values of DLDataType.code. */
typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e3m4 = 7,
  kDLFloat8_e4m3 = 8,
  kDLFloat8_e4m3b11fnuz = 9,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14,
  kDLFloat6_e2m3fn = 15,
  kDLFloat6_e3m2fn = 16,
  kDLFloat4_e2m1fn = 17
} DLDataTypeCode;

/** The type of an element, in the host's byte order. */
typedef struct {
  uint8_t code;   /**< kDLInt and so on */
  uint8_t bits;   /**< of one lane */
  uint16_t lanes; /**< of a vector; else 1 */
} DLDataType;

/** A tensor that owns nothing, and does not tell whether it may be written. */
typedef struct {
  void *data; /**< in the device's address space; NULL if there are no elements */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;       /**< ndim extents; may be NULL if ndim is 0 */
  int64_t *strides;     /**< ndim steps, in elements; NULL, before 1.2, means C order */
  uint64_t byte_offset; /**< of the first element from `data` */
} DLTensor;

/** A tensor that owns its memory: the struct used before 1.0, which has no read-only flag. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;                             /**< the producer's */
  void (*deleter)(struct DLManagedTensor *self); /**< ends the tensor and this struct; or NULL */
} DLManagedTensor;

/** A tensor that owns its memory. What comes before dl_tensor is the same in every major. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;                                      /**< the producer's */
  void (*deleter)(struct DLManagedTensorVersioned *self); /**< ends the tensor and this struct;
                                                               or NULL */
  uint64_t flags;                                         /**< DLPACK_FLAG_BITMASK_* */
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/** Allocates a tensor by the producer; returns 0 on success, else has called `set_error`. */
typedef int (*DLPackManagedTensorAllocator)(DLTensor *prototype, DLManagedTensorVersioned **out,
                                            void *error_ctx,
                                            void (*set_error)(void *error_ctx, const char *kind,
                                                              const char *message));

/** Exports a Python object. Like the next four, it returns 0 on success, else -1 with a Python
 * exception set. It orders no stream: the caller must, see DLPackCurrentWorkStream. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void *py_object,
                                                     DLManagedTensorVersioned **out);

/** Exports a Python object for as long as control does not return to its owner. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);

/** Returns the producer's current stream; NULL is the legacy default stream. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id,
                                       void **out_current_stream);

/** Makes a Python object from a tensor, and takes over the tensor. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned *tensor,
                                                   void **out_py_object);

/** The members that are the same in every version of DLPackExchangeAPI. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader *prev_api; /**< a table of an older major, or NULL */
} DLPackExchangeAPIHeader;

/** A type's functions for exchange without Python calls: a static table in a capsule named
 * "dlpack_exchange_api", in the type's attribute `__dlpack_c_exchange_api__`. In DLPack 1.2 the
 * attribute was `__c_dlpack_exchange_api__`, and some libraries store the address there as an int.
 * libcai accepts no int, since it may be any number. */
typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync; /**< may be NULL */
  DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

/* dlpack_abi.h: declarations end */

#ifdef __cplusplus
}
#endif

#endif /* DLPACK_DLPACK_H_ */
