/* SPDX-License-Identifier: BSD-3-Clause */
/* A consumer, and a producer with an owner made by hand, that include cai.h and link nothing. */
#include "check.h" /* not make.h: nothing is linked here */

#include <stddef.h>

/* "The producer's own block begins with it" */
typedef struct block {
  cai_owner owner;
  cai_array array;
  int64_t shape[1], strides[1];
  int holders;
} block;

static int ended;

static void retain(cai_owner *self) { ++((block *)self)->holders; }

static void release(cai_owner *self) {
  if (--((block *)self)->holders == 0) ++ended;
}

static int64_t nbytes(uint8_t kind, uint32_t itemsize, int32_t ndim, const int64_t *shape,
                      const int64_t *strides) {
  cai_array array;
  memset(&array, 0, sizeof array);
  array.abi_major = CAI_ABI_MAJOR;
  array.dtype.kind = kind;
  array.dtype.itemsize = itemsize;
  array.ndim = ndim;
  array.shape = shape;
  array.strides = strides;
  return cai_array_contiguous_nbytes(&array);
}

static void contiguous(void) {
  const int64_t shape[3] = {2, 3, 4}, c[3] = {48, 16, 4}, f[3] = {4, 8, 24},
                padded[3] = {96, 32, 4};
  const int64_t broadcast[3] = {48, 0, 4}, back[3] = {-48, 16, 4};
  const int64_t ones[3] = {2, 1, 4}, odd[3] = {16, 77, 4};
  const int64_t none[3] = {2, 0, 4}, bits[1] = {13}, one[1] = {1}, eight[1] = {8};
  CHECK(nbytes('f', 4, 3, shape, c) == 96);
  CHECK(nbytes('f', 4, 3, shape, f) == -1);
  CHECK(nbytes('f', 4, 3, shape, padded) == -1);
  CHECK(nbytes('f', 4, 3, shape, broadcast) == -1);
  CHECK(nbytes('f', 4, 3, shape, back) == -1);
  CHECK(nbytes('f', 4, 3, ones, odd) == 32); /* the stride of one element does not matter */
  CHECK(nbytes('f', 4, 3, none, f) == 0);
  CHECK(nbytes('f', 8, 0, NULL, NULL) == 8);
  CHECK(nbytes('t', 1, 1, bits, one) == 2);
  CHECK(nbytes('t', 1, 1, bits, eight) == -1);
}

int main(void) {
  block b;
  cai_array borrowed, copy;
  memset(&b, 0, sizeof b);
  b.owner.struct_size = sizeof b.owner;
  b.owner.retain = retain;
  b.owner.release = release;
  b.holders = 1;
  b.array.abi_major = CAI_ABI_MAJOR;
  b.array.owner = &b.owner;
  b.array.ndim = 1;
  b.array.shape = b.shape;
  b.array.strides = b.strides;

  CHECK(offsetof(block, owner) == 0);
  cai_array_retain(&b.array);
  copy = b.array;
  cai_array_release(&b.array);
  CHECK(!ended && b.holders == 1);
  cai_array_release(&copy);
  CHECK(ended == 1);

  borrowed = b.array;
  borrowed.owner = NULL;
  cai_array_retain(&borrowed);
  cai_array_release(&borrowed);
  cai_array_retain(NULL);
  cai_array_release(NULL);
  CHECK(ended == 1);

  CHECK(cai_array_refuses(&borrowed, 0) == 0);
  borrowed.flags = CAI_FLAG_STRIDES_NONE | 0xFFFEu;
  CHECK(cai_array_refuses(&borrowed, 0) == 0);
  borrowed.flags = CAI_FLAG_READONLY | CAI_FLAG_MASKED;
  CHECK(cai_array_refuses(&borrowed, 0) == (CAI_FLAG_READONLY | CAI_FLAG_MASKED));
  CHECK(cai_array_refuses(&borrowed, CAI_FLAG_READONLY) == CAI_FLAG_MASKED);
  CHECK(cai_array_refuses(&borrowed, CAI_FLAG_READONLY | CAI_FLAG_MASKED | CAI_FLAG_SWAPPED) == 0);
  borrowed.flags = UINT32_C(1) << 31;
  CHECK(cai_array_refuses(&borrowed, CAI_FLAG_READONLY) == UINT32_C(1) << 31);
  borrowed.abi_major = 0;
  CHECK(cai_array_refuses(&borrowed, UINT32_MAX) == UINT32_C(0xFFFF0000));
  CHECK(cai_array_refuses(NULL, UINT32_MAX) == UINT32_C(0xFFFF0000));
  CHECK(cai_array_contiguous_nbytes(NULL) == -1);
  CHECK(cai_array_contiguous_nbytes(&borrowed) == -1);
  contiguous();
  return CHECK_RESULT();
}
