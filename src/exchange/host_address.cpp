// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/host_address.hpp"

#include "core/layout.hpp"
#include "order/pinned.hpp"
#include "order/without_driver.hpp"

namespace cai::exchange {

uint64_t host_address(const cai_array &array) {
  if (has_no_elements(array)) return 0;
  if (array.device_type == CAI_DEVICE_CPU || array.device_type == CAI_DEVICE_CUDA_MANAGED) {
    return array.data;
  }
  if (const uint64_t found = order::ask_for_host_address(array)) return found;
  if (array.device_type == CAI_DEVICE_CUDA_HOST) return array.data;  // without a driver
  throw Failure(CAI_ERR_UNSUPPORTED, {CAI_ENTRY_DATA},
                "data 0x%llx is memory of a device's own, which the host cannot use",
                static_cast<unsigned long long>(array.data));
}

cai_array as_host_finds(const cai_array &array) {
  cai_array found = array;
  if (array.device_type == CAI_DEVICE_CUDA_HOST) found.data = host_address(array);
  return found;
}

}  // namespace cai::exchange

using namespace cai;

cai_status cai_array_host(const cai_array *array, uint64_t *out, cai_error *error) {
  return guard(error, [&] {
    if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
    order::require_valid(array, -1);
    order::require_not_freed(*array, -1);
    *out = exchange::host_address(*array);
  });
}
