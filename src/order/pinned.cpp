// SPDX-License-Identifier: BSD-3-Clause
#include "order/pinned.hpp"

#include <optional>

#include "driver/pointer.hpp"
#include "order/above.hpp"

namespace cai::order {
namespace {

// The block that contains the array's address, if libcai has pinned it.
std::optional<Pinned> pinned_around(const cai_array &array) noexcept {
  const auto find = above.find_pinned.load(std::memory_order_acquire);
  return find ? find(array) : std::nullopt;
}

}  // namespace

std::uint64_t ask_for_host_address(const cai_array &array) {
  const std::optional<Pinned> pinned = pinned_around(array);
  if (!pinned) {
    driver::Pointer found;
    cai_error error;
    const cai_status status =
        guard(&error, [&] { found = driver::ask_without_context(driver::get(), array.data); });
    if (status == CAI_OK) return found.host_pointer;
    if (status == CAI_ERR_CUDA && error.native != driver::error_invalid_context) {
      throw Failure(error);  // the array's own address may be that of kernels
    }
    return 0;
  }
  const std::uint64_t offset = array.data - pinned->device;
  return offset < pinned->size ? pinned->host + offset : array.data;
}

std::uint64_t address_of_host_work(const cai_array &array) {
  if (array.device_type == CAI_DEVICE_CPU) return array.data;
  const std::uint64_t found = ask_for_host_address(array);
  return found ? found : array.data;
}

std::uint64_t device_address(const cai_array &array) {
  if (array.device_type != CAI_DEVICE_CUDA_HOST) return array.data;
  if (const std::optional<Pinned> pinned = pinned_around(array)) {
    const bool is_hosts = array.data - pinned->device >= pinned->size;
    return is_hosts ? pinned->device + (array.data - pinned->host) : array.data;
  }
  driver::Session session;
  const driver::Pointer pointer = driver::ask(session, array.data, array.device_id);
  session.finish();
  return pointer.device_pointer ? pointer.device_pointer : array.data;
}

std::uint64_t address_of_gpu_work(const cai_array &array) noexcept {
  std::uint64_t found = 0;
  const cai_status status = guard(nullptr, [&] { found = device_address(array); });
  return status == CAI_OK ? found : array.data;
}

}  // namespace cai::order
