/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes a tensor of DLPack's from any library, and returns a column of Arrow's. */
#include <cai/arrow.h>
#include <cai/dlpack.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void free_tensor(DLManagedTensorVersioned *self) {
  free(self->dl_tensor.data);
  free(self);
}

/* Some library's tensor: 2 by 3 float32 on the host. */
static DLManagedTensorVersioned *make_tensor(void) {
  static int64_t shape[] = {2, 3}, strides[] = {3, 1};
  DLManagedTensorVersioned *tensor = calloc(1, sizeof *tensor);
  float *numbers = malloc(6 * sizeof *numbers);
  if (!tensor || !numbers) exit(1);
  for (int i = 0; i < 6; ++i) numbers[i] = (float)i / 2;
  tensor->version.major = DLPACK_MAJOR_VERSION;
  tensor->deleter = free_tensor;
  tensor->dl_tensor.data = numbers;
  tensor->dl_tensor.device.device_type = kDLCPU;
  tensor->dl_tensor.ndim = 2;
  tensor->dl_tensor.dtype.code = kDLFloat;
  tensor->dl_tensor.dtype.bits = 32;
  tensor->dl_tensor.dtype.lanes = 1;
  tensor->dl_tensor.shape = shape;
  tensor->dl_tensor.strides = strides;
  return tensor;
}

int main(void) {
  const uint64_t stream =
      1; /* ours: the tensor is ready for it, and the column's event is put there */
  const int64_t flat = -1;
  DLManagedTensorVersioned *tensor = make_tensor();
  struct ArrowDeviceArray column;
  struct ArrowSchema schema;
  cai_array *array, *row;
  cai_error error;
  if (cai_dlpack_own(tensor, stream, &array, &error) != CAI_OK) {
    tensor->deleter(tensor); /* it is still ours */
    fprintf(stderr, "%s: %s\n", cai_status_name(error.status), error.message);
    return 1;
  }
  if (cai_array_reshape(array, &flat, 1, &row, &error) != CAI_OK ||
      cai_arrow_write(row, stream, &schema, &column, &error) != CAI_OK) {
    fprintf(stderr, "%s: %s\n", cai_status_name(error.status), error.message);
    return 1;
  }
  cai_array_release(row);
  cai_array_release(array); /* the column holds the memory */
  const float *numbers = column.array.buffers[1];
  printf("format %s, %" PRId64 " elements, the last is %g\n", schema.format, column.array.length,
         (double)numbers[column.array.length - 1]);
  schema.release(&schema);
  column.array.release(&column.array);
  return 0;
}
