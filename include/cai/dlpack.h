/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file dlpack.h
 * Arrays from DLPack's tensors, and the other way round.
 *
 * The memory is never copied. Devices are the CPU and CUDA, with pinned and managed memory. Types
 * are those that both sides can say: bool, integers, float of 16 to 64 bits, complex of 64 and 128,
 * bfloat16, float8, one lane each. All else is refused with the entry that is at fault: of a tensor
 * "typestr" is its dtype, "data" its data, byte_offset and device.
 *
 * DLPack counts strides in elements; and it says no stream, but has the consumer name one, for
 * which the producer then orders its work. So the functions here take that stream: 1, 2, a
 * CUstream, or UINT64_MAX, which is the -1 of `__dlpack__`: the consumer asked for no order.
 * Python's None, and the NULL of a DLPackExchangeAPI, is 1. For host memory it does not matter.
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

/** Reads a tensor for a use during which the caller does not write: a tensor does not say whether
 * it may be written, so the array is marked read-only.
 *
 * @param tensor   strides may be NULL, which means C order
 * @param stream   the one that the tensor is ready for; UINT64_MAX: unknown, and the array's is
 * then UNSTATED
 * @param strides  holds `tensor->ndim` numbers; #CAI_MAX_NDIM of them always suffice. May be NULL
 * if ndim is 0. Contents are unspecified after a failure
 * @param out      a borrowed array: it points into `strides` and to the tensor's shape
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED for a type that cai_dtype cannot say; #CAI_ERR_DEVICE for
 *         another kind of device; #CAI_ERR_VALUE, with the entry; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_dlpack_read(const DLTensor *tensor, uint64_t stream, int64_t *strides,
                           cai_array *out, cai_error *error);

/** Makes an owned array of a tensor, which it takes over: the deleter is called once, when the last
 * holder has let go and all kept uses are complete, on whatever thread that is. The array is
 * read-only if the tensor is flagged so. Flags that are unknown are ignored.
 *
 * The array is an import (#CAI_OWNER_IMPORTED, with #CAI_OWNER_ASKED if `stream` is said): two
 * tensors of one memory find each other's uses. Whose `stream` is the exporter's own, and not one
 * that it was asked for, may take #CAI_OWNER_ASKED out of the owner's flags before the first use:
 * uses on that stream are then in order with each other, and need no event. Those who have the
 * array that a tensor is of do not hear of another stream than `stream`: what is made of a tensor
 * is not published. A tensor that was asked for in a capture is for that capture alone, and one
 * that was asked for outside not for a capture in which others use the array; nor is the array that
 * is made of it.
 *
 * @param tensor  on failure it is still the caller's, to be deleted by the caller
 * @param stream  as for cai_dlpack_read(); must live as long as the array
 * @param out     the owned array, with one holder
 * @return as cai_dlpack_read(); #CAI_ERR_VERSION for another major of DLPack than 1;
 *         #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_dlpack_own(DLManagedTensorVersioned *tensor, uint64_t stream, cai_array **out,
                          cai_error *error);

/** As cai_dlpack_own(), of the form of before DLPack 1.0. Such a tensor must not be read-only.
 * Since 0.1. */
cai_status cai_dlpack_own_legacy(DLManagedTensor *tensor, uint64_t stream, cai_array **out,
                                 cai_error *error);

/** Says an array as a tensor, which holds it until the tensor's deleter is called, on any thread.
 *
 * The consumer's stream is put in order, as that of a view by cai_array_publish(): it waits for
 * what is pending on the array and for kept uses, and later users of the array wait for it, until
 * the deleter is called, which waits for nothing, and keeps what is queued on the stream by then as
 * a write. No driver is called if the array comes with that very stream. Where the owner keeps no
 * uses, or the consumer has worked on another stream, the work must be complete before the deleter
 * is called, or be ordered before whatever the owner's release does with the memory.
 *
 * The tensor is in order with what came before it: after another use of the array, ask for a new
 * tensor. Captures: where `stream` is in one, the tensor, and what is made of it, is for that
 * capture alone, since what was pending before it `stream` does not come after once it has ended;
 * where it is in none, the tensor is not for a capture in which others use the array, of whose uses
 * it does not know. Ask for a tensor on each side.
 *
 * @param array   valid and owned (a borrowed array cannot be held). If its device is CUDA with id
 * -1, cai_array_locate() is asked for the id; 0 stands for that of no elements
 * @param stream  the consumer's; as `target` of cai_array_publish(), and must live until the
 *                deleter is called; the array's own, as long as the array's owner; or UINT64_MAX:
 *                no order
 * @param out     a tensor, to be ended by its deleter. Its shape and strides are copies; an axis of
 *                one element may have any stride
 * @return #CAI_OK; #CAI_ERR_EXPORT, with the entry, if a tensor cannot say it: a mask, a foreign
 *         byte order, a type that DLPack has not, strides that are no multiple of the item size;
 *         #CAI_ERR_DEVICE for ROCm; #CAI_ERR_STATE if the memory was freed; #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT, for a borrowed array and for stream 0, too; #CAI_ERR_VALUE and
 *         #CAI_ERR_VERSION as cai_array_validate(); the rest as cai_array_locate() and
 *         cai_array_publish().
 * Since 0.1. */
cai_status cai_dlpack_write(const cai_array *array, uint64_t stream, DLManagedTensorVersioned **out,
                            cai_error *error);

/** As cai_dlpack_write(), in the form of before DLPack 1.0.
 *
 * @return also #CAI_ERR_EXPORT (entry data) for a read-only array, which it cannot say.
 * Since 0.1. */
cai_status cai_dlpack_write_legacy(const cai_array *array, uint64_t stream, DLManagedTensor **out,
                                   cai_error *error);

/** Says an array as a tensor that holds nothing, for a call during which the array stays: nothing
 * is allocated, and nothing put in order. Whoever gives it away does that, with
 * cai_use_begin() and cai_use_end() for the stream of whoever gets it.
 *
 * @param array    as for cai_dlpack_write(), but that it may be borrowed, and not read-only
 * @param strides  holds `array->ndim` numbers; gets the strides in elements. May be NULL if ndim is
 *                 0. Contents are unspecified after a failure
 * @param out      points into `strides` and to the array's shape, which must not be written
 * @return as cai_dlpack_write_legacy(), but for what holding and order add.
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
