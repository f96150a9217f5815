// SPDX-License-Identifier: BSD-3-Clause
// Lets higher layers take part in a reset of a device.
#pragma once

#include <atomic>

#include "cai/device.h"

namespace cai::device {

using ResetStep = void (*)(cai_device device) noexcept;

// A layer whose objects end with a reset sets its step before it makes any.
struct ResetSteps {
  // Frees what captures have put off. The context still exists, and no work is pending there.
  std::atomic<ResetStep> frees{nullptr};
  // All pending frees are done, and the context still exists. No lock is held.
  std::atomic<ResetStep> managers{nullptr};
  // The GPU's primary context is about to be destroyed. Pools belong to the device and outlive it:
  // frees memory from them, then destroys the managers' own.
  std::atomic<ResetStep> memory_of_pools{nullptr}, pools{nullptr};
  // The GPU's primary context was destroyed.
  std::atomic<ResetStep> memory{nullptr};
};
inline constinit ResetSteps reset_steps;

}  // namespace cai::device
