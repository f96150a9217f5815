/* SPDX-License-Identifier: BSD-3-Clause */
/* DLPack and Arrow from plain C, on the host: no driver is needed. */
#include <cai/arrow.h>
#include <cai/dlpack.h>

#include "check.h"

static void tensor(void) {
  float numbers[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3}, strides[2];
  DLTensor in;
  cai_array borrowed, *array = NULL, *back = NULL;
  DLManagedTensorVersioned *out = NULL;
  memset(&in, 0, sizeof in);
  in.data = numbers;
  in.device.device_type = kDLCPU;
  in.ndim = 2;
  in.dtype.code = kDLFloat;
  in.dtype.bits = 32;
  in.dtype.lanes = 1;
  in.shape = shape;
  CHECK_OK(cai_dlpack_read(&in, 0, strides, &borrowed, ERR));
  CHECK(strides[0] == 12 && strides[1] == 4);
  CHECK(cai_array_refuses(&borrowed, 0) == CAI_FLAG_READONLY);
  CHECK_OK(cai_array_own(&borrowed, NULL, NULL, &array, ERR));
  CHECK_OK(cai_dlpack_write(array, 0, &out, ERR));
  cai_array_release(array);
  CHECK(out->dl_tensor.data == (void *)numbers);
  CHECK_OK(cai_dlpack_own(out, 0, &back, ERR));
  CHECK(back->data == (uint64_t)(uintptr_t)numbers && back->stream_kind == CAI_STREAM_NONE);
  cai_array_release(back);
  in.ndim = -3;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_SHAPE, cai_dlpack_read(&in, 0, strides, &borrowed, ERR));
}

static void column(void) {
  double numbers[4] = {0, 1, 2, 3};
  uint8_t valid[1] = {0x0B};
  int64_t four = 4, eight = 8, one = 1;
  cai_array values, mask, *array = NULL, *back = NULL;
  struct ArrowSchema schema;
  struct ArrowDeviceArray out;
  memset(&values, 0, sizeof values);
  values.abi_major = CAI_ABI_MAJOR;
  values.data = (uint64_t)(uintptr_t)numbers;
  values.device_type = CAI_DEVICE_CPU;
  CHECK_OK(cai_dtype_parse("<f8", 3, &values.dtype, ERR));
  values.ndim = 1;
  values.shape = &four;
  values.strides = &eight;
  values.stream_kind = CAI_STREAM_NONE;
  values.version = 3;
  mask = values;
  mask.data = (uint64_t)(uintptr_t)valid;
  CHECK_OK(cai_dtype_parse("|t1", 3, &mask.dtype, ERR));
  mask.strides = &one;
  values.mask = &mask;
  values.flags = CAI_FLAG_MASKED;
  CHECK_OK(cai_array_own(&values, NULL, NULL, &array, ERR));
  CHECK_OK(cai_arrow_write(array, 0, &schema, &out, ERR));
  cai_array_release(array);
  CHECK(!strcmp(schema.format, "g") && schema.flags == ARROW_FLAG_NULLABLE);
  CHECK(out.array.buffers[0] == (void *)valid && out.array.buffers[1] == (void *)numbers);
  CHECK(out.device_id == -1 && out.sync_event == NULL);
  CHECK_OK(cai_arrow_own(&schema, &out, &back, ERR));
  CHECK(out.array.release == NULL);
  CHECK(back->mask && back->mask->dtype.kind == 't' && back->mask->data == mask.data);
  cai_array_release(back);
  CHECK_FAILS(CAI_ERR_ARGUMENT, CAI_ENTRY_NONE, cai_arrow_own(&schema, &out, &back, ERR));
  schema.release(&schema);
  CHECK(schema.release == NULL);
}

int main(void) {
  tensor();
  column();
  return CHECK_RESULT();
}
