/* SPDX-License-Identifier: BSD-3-Clause */
#include <cai.h>
#include <inttypes.h>
#include <stdio.h>

/* A consumer: takes an array of any library, and works on a stream of its own. */
static cai_status scale(const cai_array *x, double factor, uint64_t stream, cai_error *error) {
  if (cai_array_refuses(x, 0)) {
    *error = (cai_error){.status = CAI_ERR_UNSUPPORTED, .message = "read-only, masked or swapped"};
    return error->status;
  }
  cai_use use;
  cai_status status = cai_use_begin(&use, &x, 1, stream, NULL, error);
  if (status != CAI_OK) return status;
  printf("launch: %" PRId64 " x %" PRId64 " at 0x%" PRIx64 ", strides %" PRId64 " and %" PRId64
         " bytes, times %g\n",
         x->shape[0], x->shape[1], x->data, x->strides[0], x->strides[1], factor);
  status = cai_use_end(&use, error);
  if (status != CAI_OK) cai_use_abandon(&use); /* the array's owner keeps the use */
  return status;
}

/* A producer: every second column of a matrix of float32, on which no work is pending. */
int main(void) {
  const int64_t shape[] = {100, 200}, strides[] = {1600, 8};
  cai_array x = {
      .abi_major = CAI_ABI_MAJOR,
      .data = 0x7f0000000000,
      .device_type = CAI_DEVICE_CUDA,
      .dtype = {.kind = 'f', .byteorder = '<', .itemsize = 4},
      .ndim = 2,
      .shape = shape,
      .strides = strides,
      .stream_kind = CAI_STREAM_NONE,
      .version = 3,
  };
  cai_error error;
  if (cai_array_validate(&x, &error) != CAI_OK || scale(&x, 2.0, 1, &error) != CAI_OK) {
    fprintf(stderr, "%s: %s\n", cai_status_name(error.status), error.message);
    return 1;
  }
  return 0;
}
