// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/host_address.hpp"

#include <optional>

#include "core/layout.hpp"
#include "driver/pointer.hpp"
#include "order/above.hpp"
#include "order/without_driver.hpp"

namespace cai::exchange {
namespace {

// The block that contains the array's address, if libcai has pinned it.
std::optional<order::Pinned> pinned_around(const cai_array &array) noexcept {
  const auto find = order::above.find_pinned.load(std::memory_order_acquire);
  return find ? find(array) : std::nullopt;
}

// Asks the driver about memory that other code has pinned. Makes no context for this. If the driver
// needs one, or does not know the address, the address stays as it is.
uint64_t ask_host(uint64_t address) noexcept {
  driver::Pointer found;
  const cai_status status =
      guard(nullptr, [&] { found = driver::ask_without_context(driver::get(), address); });
  return status == CAI_OK && found.host_pointer ? found.host_pointer : address;
}

}  // namespace

uint64_t host_address(const cai_array &array) {
  if (has_no_elements(array)) return 0;
  switch (array.device_type) {
    case CAI_DEVICE_CPU:
    case CAI_DEVICE_CUDA_MANAGED:
      return array.data;
    case CAI_DEVICE_CUDA_HOST:
      break;
    default:
      throw Failure(CAI_ERR_UNSUPPORTED, {CAI_ENTRY_DATA},
                    "data 0x%llx is memory of a device's own, which the host cannot use",
                    static_cast<unsigned long long>(array.data));
  }
  const std::optional<order::Pinned> pinned = pinned_around(array);
  if (!pinned) return ask_host(array.data);
  const uint64_t offset = array.data - pinned->device;
  return offset < pinned->size ? pinned->host + offset : array.data;
}

cai_array as_host_finds(const cai_array &array) {
  cai_array found = array;
  if (array.device_type == CAI_DEVICE_CUDA_HOST) found.data = host_address(array);
  return found;
}

uint64_t device_address(const cai_array &array) {
  if (array.device_type != CAI_DEVICE_CUDA_HOST) return array.data;
  if (const std::optional<order::Pinned> pinned = pinned_around(array)) {
    const bool is_device = array.data - pinned->device < pinned->size;
    return is_device ? array.data : pinned->device + (array.data - pinned->host);
  }
  driver::Session session;
  const driver::Pointer pointer = driver::ask(session, array.data, array.device_id);
  session.finish();
  return pointer.device_pointer ? pointer.device_pointer : array.data;
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
