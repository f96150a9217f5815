// SPDX-License-Identifier: BSD-3-Clause
// The calling thread's current streams, one of each device.
#pragma once

#include "device/stream.hpp"

namespace cai::device {

// That of a device: a share, made at the first need.
HeldStream current_stream(cai_device device);

// Likewise, empty if the thread has none yet.
HeldStream current_stream_if_any(cai_device device) noexcept;

// The thread has none of the device from here on.
void forget_current(cai_device device) noexcept;

}  // namespace cai::device
