// SPDX-License-Identifier: BSD-3-Clause
// The calling thread's current streams, one of each device.
#pragma once

#include "device/stream.hpp"

namespace cai::device {

// A reference to a device's current stream, made at the first use.
HeldStream current_stream(cai_device device);

// The same; empty if the thread has none yet.
HeldStream current_stream_if_any(cai_device device) noexcept;

// Removes the thread's current stream of the device.
void forget_current(cai_device device) noexcept;

}  // namespace cai::device
