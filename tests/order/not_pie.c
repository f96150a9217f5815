/* SPDX-License-Identifier: BSD-3-Clause */
/* A producer in a program that is not position-independent, where the address of a function of
 * libcai's is not what libcai itself has: its owner keeps uses all the same, and marks, and its end
 * is deferred until they are complete. */
#include "cai.h"

#include "driver_test.h"

static int holders, ended;

static void retain(cai_owner *self) {
  (void)self;
  ++holders;
}

static void end(cai_owner *self) {
  (void)self;
  ++ended;
}

static void release(cai_owner *self) {
  if (--holders == 0) cai_owner_end(self, end);
}

static CUstream producer, consumer;
static CUresult (*set)(CUdeviceptr, unsigned char, size_t, CUstream);

static void use_and_release(cai_array *array, CUstream stream, int is_pending) {
  cai_owner owner;
  const cai_array *const one = array;
  const uint64_t on = (uint64_t)(uintptr_t)stream;
  int64_t left = -1;
  cai_use use;
  MUST(cai_owner_init(&owner, retain, release, NULL));
  holders = 1;
  ended = 0;
  array->owner = &owner;
  MUST(cai_use_begin(&use, &one, 1, on, NULL, NULL));
  MUST(set(array->data, 1, 1, stream));
  MUST(cai_use_end(&use, NULL));
  cai_array_release(array);
  MUST_BE(ended, !is_pending);
  MUST(cai_drain(1, &left, NULL));
  MUST_BE(left, 0);
  MUST_BE(ended, 1);
}

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  set = cuMemsetD8Async;
  int64_t extent = 1, stride = 1;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&producer, NON_BLOCKING));
  MUST(cuStreamCreate(&consumer, NON_BLOCKING));
  cai_array array = {.abi_major = CAI_ABI_MAJOR,
                     .abi_minor = CAI_ABI_MINOR,
                     .data = data,
                     .device_type = CAI_DEVICE_CUDA,
                     .device_id = -1,
                     .dtype = {'u', '|', 0, 0, 1, 0},
                     .ndim = 1,
                     .shape = &extent,
                     .strides = &stride,
                     .stream_kind = CAI_STREAM_NONE,
                     .version = 3};
  use_and_release(&array, consumer, 1);
  array.stream_kind = CAI_STREAM_STREAM;
  array.stream = (uint64_t)(uintptr_t)producer;
  use_and_release(&array, consumer, 1);
  use_and_release(&array, producer, 1);
  return 0;
}
