/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file adaptors.h
 * The memory manager of a device, in the forms that PyTorch and CuPy call. Provisional, as
 * cai/memory.h is.
 *
 * These are plain functions with the callers' own signatures, which have no room for a #cai_status:
 * a failure returns NULL, or goes to the hook of cai_on_failure(). They may be called from any
 * thread until the process ends, even after Python and the driver are unloaded; a free then does
 * nothing.
 *
 * Memory is of the kind #CAI_KIND_DEFAULT, from the device's manager (cai_manager_of()), whatever
 * device is current. cai_memory_find() finds it.
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
 * @param size    bytes; 0 returns NULL, which is no failure
 * @param device  ordinal
 * @return the address; NULL on failure, which goes to the hook of cai_on_failure().
 * Since 0.1. */
void *cai_torch_alloc(uint64_t size, int32_t device, void *stream);

/** Frees in the order of a stream: the free_fn. A pointer that is not from cai_torch_alloc(), or
 * was freed already, is not freed: the failure goes to the hook of cai_on_failure(). If the memory
 * comes from another stream, which is being captured, it is freed in the order of that stream once
 * the capture has ended, and after the work on this one. If this stream cannot be waited for, since
 * it is being captured, too, or is no stream, the memory is never freed: the failure goes to the
 * hook.
 *
 * @param ptr     may be NULL
 * @param size    ignored
 * @param device  ignored
 * Since 0.1. */
void cai_torch_free(void *ptr, uint64_t size, int32_t device, void *stream);

/** Finds the allocation around an address: for set_base_alloc_fn.
 *
 * @param size  receives its bytes; may be NULL
 * @return its beginning; NULL for an address that is not libcai's, a failure that goes to the hook
 *         of cai_on_failure().
 * Since 0.1. */
void *cai_torch_base(void *ptr, uint64_t *size);

/** Records that the work queued on a stream so far uses memory of cai_torch_alloc(). The memory is
 * not freed before that work is complete. For set_record_stream_fn.
 *
 * @param ptr     the beginning of an allocation; NULL does nothing
 * @param stream  of any GPU; NULL, 1 and 2 mean streams of the memory's device
 * Since 0.1. */
void cai_torch_record_stream(void *ptr, void *stream);

/** Compares PyTorch's number of devices with libcai's. If they differ, the failure goes to the hook
 * of cai_on_failure(). For set_init_fn. Since 0.1. */
void cai_torch_init(int32_t device_count);

/** Runs the pending frees and releases cached memory, on all devices that these functions have
 * allocated on. For set_reset_fn, which torch.cuda.empty_cache() calls. Since 0.1. */
void cai_torch_reset(void);

/* ---- CuPy --------------------------------------------------------------------------------- */

/* For cupy.cuda.CFunctionAllocator, which passes no stream: memory is allocated and freed in the
 * order of the stream `param`, a cudaStream_t; NULL is the legacy default stream. The allocator of
 * libcai.cupy, in Python, follows CuPy's current stream.
 *
 * CuPy does not check for NULL but expects a C++ exception, which a C library must not throw. So
 * its malloc function is cai_cupy_malloc(), with the arguments of cai_cupy_alloc(), in the small
 * C++ library libcai_cupy.so beside this one; it throws std::bad_alloc on failure. */

/** Allocates.
 *
 * @param param   stream, as above
 * @param size    bytes; 0 returns NULL, which is no failure
 * @param device  ordinal
 * @return the address; NULL on failure, which goes to the hook of cai_on_failure().
 * Since 0.1. */
void *cai_cupy_alloc(void *param, uint64_t size, int32_t device);

/** Frees memory of cai_cupy_alloc() or cai_cupy_malloc(), as cai_torch_free() does. Any other
 * pointer is not freed: the failure goes to the hook of cai_on_failure().
 *
 * @param param   stream, as above
 * @param ptr     may be NULL
 * @param device  ignored
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
