/* SPDX-License-Identifier: BSD-3-Clause */
#include <cai.h>
#include <inttypes.h>
#include <stdio.h>

/* Takes an array of float on the host, of any library, on a stream of ours. */
static cai_status sum(const cai_array *x, uint64_t stream, float *out, cai_error *error) {
  cai_use use;
  cai_status status;
  if (cai_array_refuses(x, CAI_FLAG_READONLY) || x->device_type != CAI_DEVICE_CPU ||
      x->dtype.kind != 'f' || x->dtype.itemsize != sizeof *out || x->ndim != 1) {
    *error = (cai_error){.status = CAI_ERR_UNSUPPORTED, .message = "not float on the host"};
    return error->status;
  }
  status = cai_use_begin(&use, &x, 1, stream, NULL, error); /* ours waits for theirs */
  if (status != CAI_OK) return status;
  *out = 0; /* here a kernel would be launched; this array is on the host */
  for (int64_t i = 0; i < x->shape[0]; i++)
    *out += *(const float *)(uintptr_t)(x->data + (uint64_t)(i * x->strides[0]));
  status = cai_use_end(&use, error); /* theirs wait for ours */
  if (status != CAI_OK) cai_use_abandon(&use);
  return status;
}

int main(void) {
  float numbers[] = {1, 2, 3, 4, 5, 6}, total = 0;
  const int64_t shape[] = {3}, strides[] = {2 * sizeof *numbers};
  const cai_array x = {
      .abi_major = CAI_ABI_MAJOR,
      .data = (uintptr_t)numbers,
      .device_type = CAI_DEVICE_CPU,
      .dtype = {.kind = 'f', .byteorder = '<', .itemsize = sizeof *numbers},
      .ndim = 1,
      .shape = shape,
      .strides = strides,
      .stream_kind = CAI_STREAM_NONE,
      .version = CAI_INTERFACE_VERSION,
  };
  cai_error error;
  if (cai_array_validate(&x, &error) != CAI_OK || sum(&x, 1, &total, &error) != CAI_OK) {
    fprintf(stderr, "%s: %s\n", cai_status_name(error.status), error.message);
    return 1;
  }
  printf("every other number adds up to %g\n", total);
  return 0;
}
