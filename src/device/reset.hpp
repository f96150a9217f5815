// SPDX-License-Identifier: BSD-3-Clause
// The rooms above take part in a reset of a device.
#pragma once

#include <atomic>

#include "cai/device.h"

namespace cai::device {

using ResetStep = void (*)(cai_device device) noexcept;

// A room whose objects a reset ends sets its step before it makes the first.
struct ResetSteps {
  // All that was pending has been freed, and the context is there still; no lock is held.
  std::atomic<ResetStep> managers{nullptr};
  // The GPU's primary context has gone.
  std::atomic<ResetStep> memory{nullptr};
};
inline constinit ResetSteps reset_steps;

}  // namespace cai::device
