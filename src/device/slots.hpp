// SPDX-License-Identifier: BSD-3-Clause
// One slot per device: a GPU by its number, and the CPU.
#pragma once

#include "core/error.hpp"
#include "device/device.hpp"

namespace cai::device {

inline constexpr int32_t most_devices = 256;

inline std::size_t slot_index(cai_device device) noexcept {
  return device.type == CAI_DEVICE_CPU ? most_devices : static_cast<std::size_t>(device.id);
}

inline void require_slot(cai_device device) {
  require_device(device);
  if (device.id >= most_devices) {
    throw Failure(CAI_ERR_DEVICE, {}, "there is no %s", Text(device).text);
  }
}

}  // namespace cai::device
