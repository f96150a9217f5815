// SPDX-License-Identifier: BSD-3-Clause
// What the driver knows of an address.
#pragma once

#include "driver/context.hpp"

namespace cai::driver {

struct Pointer {
  CUcontext context = nullptr;     // null if the memory belongs to none, as that of pools
  std::uint32_t memory_type = 0;   // 0: not the driver's
  int ordinal = -1;                // of the device
  CUdeviceptr device_pointer = 0;  // for kernels of the current context; 0 if they cannot reach it
  std::uint64_t host_pointer = 0;  // 0 if the host cannot reach it
  bool managed = false;
  std::uint64_t base = 0;  // of the range that was allocated or reserved; 0 if not known
  std::uint64_t size = 0;

  bool known() const noexcept { return memory_type != 0; }
};

// Asks about an address. Where no context is current, one is borrowed that suits the memory, or
// else the device given (-1: not known); without any, device_pointer stays 0.
Pointer ask(Session &session, std::uint64_t address, int device);

// Asks in whatever context is current, if any is; what is not known then is 0.
Pointer ask_without_context(const Driver &cu, std::uint64_t address);

}  // namespace cai::driver
