// SPDX-License-Identifier: BSD-3-Clause
// What the driver knows about an address.
#pragma once

#include "driver/context.hpp"

namespace cai::driver {

struct Pointer {
  CUcontext context = nullptr;     // null if the memory belongs to none, as a pool's
  std::uint32_t memory_type = 0;   // 0: not memory of the driver
  int ordinal = -1;                // of the device
  CUdeviceptr device_pointer = 0;  // for kernels of the current context; 0 if they cannot access it
  std::uint64_t host_pointer = 0;  // 0 if the host cannot access it
  bool managed = false;
  std::uint64_t base = 0;  // of the allocated or reserved range; 0 if not known
  std::uint64_t size = 0;

  bool known() const noexcept { return memory_type != 0; }
};

// Queries an address. If no context is current, makes one current that suits the memory, or else
// the given device (-1: not known). Without any, device_pointer stays 0.
Pointer ask(Session &session, std::uint64_t address, int device);

// Queries in the current context, if there is one. Unknown values are 0.
Pointer ask_without_context(const Driver &cu, std::uint64_t address);

}  // namespace cai::driver
