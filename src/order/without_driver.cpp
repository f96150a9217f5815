// SPDX-License-Identifier: BSD-3-Clause
#include "order/without_driver.hpp"

namespace cai::order {

void fail_null(int32_t index) {
  if (index < 0) throw Failure(CAI_ERR_ARGUMENT, {}, "array is NULL");
  throw Failure(CAI_ERR_ARGUMENT, {0, index}, "arrays[%d] is NULL", static_cast<int>(index));
}

void require_valid_stranger(const cai_array &array, int32_t index) {
  cai_error error;
  if (cai_array_validate(&array, &error) == CAI_OK) return;
  if (index >= 0) error.index = index;  // of one array: the result of its validation
  throw Failure(error);
}

void fail_freed(const cai_array &array, int32_t index) {
  cai_error error;
  static_cast<void>(cai::validate_not_freed(array, &error));
  error.index = index;
  throw Failure(error);
}

void fail_device(const cai_array &array, int32_t index) {
  // Valid arrays have no other values.
  throw Failure(CAI_ERR_DEVICE, {0, index}, "device type %d (ROCm) is not CUDA's",
                static_cast<int>(array.device_type));
}

void fail_list(int32_t count) {
  if (count > 0) throw Failure(CAI_ERR_ARGUMENT, {}, "arrays is NULL");
  throw Failure(CAI_ERR_ARGUMENT, {}, "count is negative: %d", static_cast<int>(count));
}

}  // namespace cai::order
