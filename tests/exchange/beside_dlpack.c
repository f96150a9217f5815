/* SPDX-License-Identifier: BSD-3-Clause */
/* After DLPack's own header, ours declares no struct, and its functions take theirs. */
#include <dlpack/dlpack.h>

#ifndef DLPACK_DLPACK_H_
#error "DLPack's guard has another name, and ours would declare its structs again"
#endif

#include <cai/dlpack.h>

#include "check.h"

int main(void) {
  float number = 1;
  DLTensor tensor;
  cai_array array;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = &number;
  tensor.device.device_type = kDLCPU;
  tensor.dtype.code = kDLFloat;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  CHECK_OK(cai_dlpack_read(&tensor, 0, NULL, &array, ERR));
  CHECK(array.data == (uint64_t)(uintptr_t)&number && array.ndim == 0);
  return CHECK_RESULT();
}
