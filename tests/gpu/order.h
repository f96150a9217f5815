// SPDX-License-Identifier: BSD-3-Clause
// An array of bytes on its producer's stream, for the programs order_*.c: they use libcai on the
// driver that is here, and need no GoogleTest.
#pragma once

#include "cai.h"
#include "driver_test.h"

enum { SIZE = 64 };

typedef struct {
  int64_t shape[1], strides[1];
  cai_array array;
} Bytes;

static inline void bytes_of(Bytes *out, CUdeviceptr data, CUstream stream) {
  memset(out, 0, sizeof *out);
  out->shape[0] = SIZE;
  out->strides[0] = 1;
  out->array.abi_major = CAI_ABI_MAJOR;
  out->array.data = data;
  out->array.device_type = CAI_DEVICE_CUDA;
  out->array.device_id = -1;
  out->array.dtype.kind = 'u';
  out->array.dtype.byteorder = '|';
  out->array.dtype.itemsize = 1;
  out->array.ndim = 1;
  out->array.shape = out->shape;
  out->array.strides = out->strides;
  out->array.stream = (uint64_t)(uintptr_t)stream;
  out->array.stream_kind = CAI_STREAM_STREAM;
  out->array.version = 3;
}

static inline uint64_t value_of(CUstream stream) {
  return (uint64_t)(uintptr_t)stream;
}

static inline cai_status begin(const Bytes *bytes, CUstream stream, uint32_t order) {
  const cai_array *list[] = {&bytes->array};
  const cai_use_options options = {sizeof options,
                                   order == CAI_ORDER_BOTH ? CAI_ORDER_BEGIN : order,
                                   CAI_ACCESS_DEFAULT, 0, NULL};
  cai_use use;
  return cai_use_begin(&use, list, 1, value_of(stream), &options, NULL);
}

static inline cai_status end(const Bytes *bytes, CUstream stream, uint32_t order) {
  const cai_array *list[] = {&bytes->array};
  const cai_use_options options = {sizeof options, order == CAI_ORDER_BOTH ? CAI_ORDER_END : order,
                                   CAI_ACCESS_DEFAULT, 0, NULL};
  cai_use use;
  const cai_status status = cai_use_begin(&use, list, 1, value_of(stream), &options, NULL);
  return status == CAI_OK ? cai_use_end(&use, NULL) : status;
}
