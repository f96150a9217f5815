/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file dlpack.h
 * Arrays from DLPack's tensors, and the other way round.
 *
 * The memory is never copied. Devices are the CPU and CUDA, with pinned and managed memory. Types
 * are those that both sides have: bool, integers, float of 16 to 64 bits, complex of 64 and 128
 * bits, bfloat16 and float8, with one lane. Everything else fails, and the error names the entry:
 * for a tensor, "typestr" means its dtype, "data" its data, byte_offset and device.
 *
 * DLPack counts strides in elements. A tensor does not carry a stream: the consumer names one, and
 * the producer orders its work for that stream. So the functions here take that stream: 1, 2, a
 * CUstream, or UINT64_MAX, which is the -1 of `__dlpack__` and means that the consumer asked for no
 * order. Python's None, and the NULL of a DLPackExchangeAPI, is 1. For host memory it is ignored.
 */
/* clang-format off: the comments beside the fields are set by hand */
#ifndef CAI_DLPACK_H
#define CAI_DLPACK_H

#include <cai.h>
#include <cai/dlpack_abi.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* dlpack.h: declarations begin */

/** Reads a tensor for a read-only use. A DLTensor does not say whether it may be written, so the
 * array is marked read-only.
 *
 * @param tensor   its strides may be NULL, which means C order
 * @param stream   the stream that the tensor is ordered for; UINT64_MAX: unknown, and the array's
 *                 stream is then UNSTATED
 * @param strides  room for `tensor->ndim` strides; #CAI_MAX_NDIM are always enough. May be NULL if
 *                 ndim is 0. Contents are unspecified after a failure
 * @param out      a borrowed array: it points into `strides` and to the tensor's shape
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED for a type that cai_dtype cannot express; #CAI_ERR_DEVICE
 *         for another kind of device; #CAI_ERR_VALUE, with the entry; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_dlpack_read(const DLTensor *tensor, uint64_t stream, int64_t *strides,
                           cai_array *out, cai_error *error);

/** Makes an owned array of a tensor, and takes over the tensor. The deleter is called once, on any
 * thread, when the last reference is released and all kept uses are complete. The array is
 * read-only if the tensor is flagged so. Unknown flags are ignored.
 *
 * The array is an import (#CAI_OWNER_IMPORTED, with #CAI_OWNER_ASKED unless `stream` is
 * UINT64_MAX): two tensors of one memory find each other's uses. If `stream` is the exporter's own
 * stream, and not one that the consumer asked for, the caller may clear #CAI_OWNER_ASKED in the
 * owner's flags before the first use: uses on that stream are then ordered with each other, and
 * need no event. Do not publish an array made of a tensor: consumers of the exporter's array would
 * not wait for the new stream. A tensor that was asked for in a capture, and the array made of it,
 * is valid for that capture only. A tensor that was asked for outside is not valid for a capture in
 * which other code uses the exporter's array.
 *
 * @param tensor  on failure the caller still owns it, and must delete it
 * @param stream  as for cai_dlpack_read(); must live as long as the array
 * @param out     the owned array; the caller owns one reference
 * @return as cai_dlpack_read(); #CAI_ERR_VERSION for a DLPack major other than 1;
 *         #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_dlpack_own(DLManagedTensorVersioned *tensor, uint64_t stream, cai_array **out,
                          cai_error *error);

/** As cai_dlpack_own(), for the struct used before DLPack 1.0. Such a tensor must not be read-only.
 * Since 0.1. */
cai_status cai_dlpack_own_legacy(DLManagedTensor *tensor, uint64_t stream, cai_array **out,
                                 cai_error *error);

/** Exports an array as a tensor. The tensor holds a reference to the array until its deleter is
 * called, on any thread.
 *
 * The call orders the consumer's stream like the stream of a view by cai_array_publish(): the
 * stream waits for pending work on the array and for kept uses, and later uses of the array wait
 * for the stream until the deleter is called. The deleter does not wait, but where the release of
 * such a view does; it keeps the work queued on the stream by then as a write. The driver is not
 * called if the array comes with the same stream. If the owner keeps no uses, or the consumer has
 * worked on another stream, the work must be complete before the deleter is called, or be ordered
 * before the owner's release reuses the memory.
 *
 * The tensor is ordered after earlier work only: after another use of the array, export a new
 * tensor. Captures: if `stream` is in a capture, the tensor, and everything made of it, is valid
 * for that capture only, since once the capture has ended `stream` is not ordered after the work
 * that was pending before it. If `stream` is in no capture, the tensor is not valid for a capture
 * in which other code uses the array, since it is not ordered with those uses. Export one tensor on
 * each side.
 *
 * @param array   valid and owned (a borrowed array cannot be held). If its device is CUDA with id
 *                -1, cai_array_locate() finds the id; without elements the id is 0
 * @param stream  the consumer's stream, as `target` of cai_array_publish(). It must live until the
 *                deleter is called (in a function on a GPU stream: until the later call that ends
 *                the view); if it is the array's own, as long as the array's owner.
 *                UINT64_MAX: no order
 * @param out     a tensor; end it with its deleter. Its shape and strides are copies; an axis of
 *                one element may have any stride
 * @return #CAI_OK; #CAI_ERR_EXPORT, with the entry, if a tensor cannot express the array: a mask, a
 *         foreign byte order, a type that DLPack lacks, strides that are no multiple of the item
 *         size; #CAI_ERR_DEVICE for ROCm; #CAI_ERR_STATE if the memory was freed; #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT, also for a borrowed array and for stream 0; #CAI_ERR_VALUE and
 *         #CAI_ERR_VERSION as cai_array_validate(); the rest as cai_array_locate() and
 *         cai_array_publish().
 * Since 0.1. */
cai_status cai_dlpack_write(const cai_array *array, uint64_t stream, DLManagedTensorVersioned **out,
                            cai_error *error);

/** As cai_dlpack_write(), with the struct used before DLPack 1.0.
 *
 * @return also #CAI_ERR_EXPORT (entry data) for a read-only array, which that struct cannot
 *         express.
 * Since 0.1. */
cai_status cai_dlpack_write_legacy(const cai_array *array, uint64_t stream, DLManagedTensor **out,
                                   cai_error *error);

/** Describes an array as a tensor without a reference, for a call during which the array stays
 * valid. It allocates nothing, and orders nothing. The caller orders the work, with cai_use_begin()
 * and cai_use_end() for the consumer's stream.
 *
 * @param array    as for cai_dlpack_write(), but it may be borrowed, and must not be read-only
 * @param strides  room for `array->ndim` strides; receives the strides in elements. May be NULL if
 *                 ndim is 0. Contents are unspecified after a failure
 * @param out      points into `strides` and to the array's shape, which must not be written to
 * @return as cai_dlpack_write_legacy(), without the statuses of holding and ordering.
 * Since 0.1. */
cai_status cai_dlpack_lend(const cai_array *array, int64_t *strides, DLTensor *out,
                           cai_error *error);

/* dlpack.h: declarations end */

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* CAI_DLPACK_H */
