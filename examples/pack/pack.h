/* SPDX-License-Identifier: BSD-3-Clause */
/* An example: a compiled function that takes a GPU array of any library, and gives a new one. */
#ifndef PACK_H
#define PACK_H

#include <cai.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Packs an array into contiguous memory, in C order.
 *
 * Takes 2-D arrays on a GPU or on the host, with any strides: gaps, negative, zero, columns first.
 * On a GPU it queues copies on a stream of its own, and returns while they may still be pending.
 *
 * An array whose stream is NONE asks for no order, and then nothing makes its owner wait for the
 * copy either: let it write there, or free it, only after the result's stream.
 *
 * @param in       stays the caller's; READONLY and SWAPPED arrays are understood, MASKED refused
 * @param options  how to keep order with the producer; NULL: fully. CAI_ORDER_NONE shows what
 *                 happens without
 * @param out      on success an owned array, with the stream on which it is made; end with
 *                 cai_array_release(), which frees the memory in that stream's order
 * @param error    may be NULL
 * @return CAI_OK; CAI_ERR_UNSUPPORTED for what is not taken; CAI_ERR_DEVICE if no context of the
 *         array's device is current, and its memory belongs to none; CAI_ERR_CUDA if the driver
 *         fails; and what libcai's functions return. After a failure nothing is left behind.
 */
cai_status pack(const cai_array *in, const cai_use_options *options, cai_array **out,
                cai_error *error);

#ifdef __cplusplus
}
#endif

#endif /* PACK_H */
