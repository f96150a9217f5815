// SPDX-License-Identifier: BSD-3-Clause
// The primary contexts in which libcai works on GPUs.
#pragma once

#include <optional>

#include "cai/device.h"
#include "driver/context.hpp"

namespace cai::device {

struct Primary {
  driver::CUdevice device;
  driver::CUcontext context;
  std::uint64_t epoch;  // changes when the context is reset: what was made before is dead
};

// Throws CAI_ERR_DEVICE if there is no such GPU.
void require_gpu(const driver::Driver &cu, int32_t ordinal);

// That of a GPU: made at the first need, then kept. Throws CAI_ERR_DEVICE if there is no such GPU.
Primary primary(driver::Session &session, int32_t ordinal);

// The GPU of the current context, or nothing if none is current. A primary context that libcai has
// worked in stays its GPU's after a reset, which leaves it current wherever it was: it is alive
// again at the next need.
std::optional<int32_t> current_gpu(driver::Session &session);

// Whether what was made in this epoch is still alive. Needs no driver.
bool is_alive(int32_t ordinal, std::uint64_t epoch) noexcept;

// The epoch that it is by now. Needs no driver.
std::uint64_t epoch_of(int32_t ordinal) noexcept;
inline std::uint64_t epoch_of(cai_device device) noexcept {  // 0: it is the CPU, which has none
  return device.type == CAI_DEVICE_CPU ? 0 : epoch_of(device.id);
}

// How many resets there have been, of all GPUs.
std::uint64_t resets() noexcept;

// Destroys the context, for everybody in the process. Nothing if libcai has not used it yet and
// nobody else has.
void reset_primary(driver::Session &session, int32_t ordinal);

}  // namespace cai::device
