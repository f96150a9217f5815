// SPDX-License-Identifier: BSD-3-Clause
// What a reset of a device does beyond this room. The room of memory is above this one, and
// therefore defines it.
#pragma once

#include "cai/device.h"

namespace cai::device {

// Frees what waits to be freed on the device, and resets the device's managers. No lock is held;
// failures are reported.
void reset_memory(cai_device device) noexcept;

// The GPU's primary context has gone: forgets what was yet to be freed in it.
void forget_memory(cai_device device) noexcept;

}  // namespace cai::device
