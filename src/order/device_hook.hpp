// SPDX-License-Identifier: BSD-3-Clause
// What the room of devices, above this one, knows of its streams, and therefore defines.
#pragma once

#include "driver/context.hpp"

namespace cai::device {

// Whether a stream that is current on the calling thread is being captured.
bool is_current_captured(driver::Session &session) noexcept;

}  // namespace cai::device
