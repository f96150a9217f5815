// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/device.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace cai::exchange {

cai_status device_fault(int32_t device_type, cai_error *error) noexcept {
  return fail(error, CAI_ERR_DEVICE, {CAI_ENTRY_DATA},
              "data is on a device of type %d, which is neither CPU nor CUDA", device_type);
}

cai_status find_device_id(const cai_array &array, int32_t *out, cai_error *error) noexcept {
  if (array.device_id >= 0) return *out = array.device_id, CAI_OK;
  cai_location location{};
  location.struct_size = sizeof location;
  if (const cai_status status = cai_array_locate(&array, &location, error)) return status;
  *out = std::max(location.device_id, int32_t{0});  // without elements: on no particular device
  return CAI_OK;
}

}  // namespace cai::exchange
