/* SPDX-License-Identifier: BSD-3-Clause */
/* cc readme_c.c $(pkg-config --cflags --libs libcai) */
#include <cai.h>
#include <inttypes.h>
#include <stdio.h>

/* Takes an array of any library. `stream` is ours; what we queue there, the producer waits for. */
static cai_status scale(const cai_array *x, double factor, uint64_t stream, cai_error *error) {
  if (cai_array_refuses(x, 0)) return CAI_ERR_UNSUPPORTED; /* read-only, masked or swapped */
  cai_use use;
  cai_status status = cai_use_begin(&use, &x, 1, stream, NULL, error);
  if (status != CAI_OK) return status;
  printf("launch: data 0x%" PRIx64 ", %" PRId64 " x %" PRId64 ", strides %" PRId64 " and %" PRId64
         " bytes, times %g\n",
         x->data, x->shape[0], x->shape[1], x->strides[0], x->strides[1], factor);
  status = cai_use_end(&use, error);
  if (status != CAI_OK) cai_use_abandon(&use); /* x's owner keeps the use */
  return status;
}

/* Gives one: every second column of a matrix of float32, by a producer whose work is done. */
int main(void) {
  const int64_t shape[] = {100, 200}, strides[] = {1600, 8};
  cai_array x = {
      .abi_major = CAI_ABI_MAJOR,
      .data = 0x7f0000000000,
      .device_type = CAI_DEVICE_CUDA,
      .device_id = 0,
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
