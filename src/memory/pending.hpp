// SPDX-License-Identifier: BSD-3-Clause
// Frees that wait until there are more of them.
#pragma once

#include <cstdint>

#include "cai/memory.h"

namespace cai::memory {

using Free = cai_status (*)(void *context, cai_error *error);

// Adds a free, and frees all if they are too many or too large by now; with no room to remember it,
// frees it at once. Throws if it can do neither, and then `context` is the caller's. What it frees
// goes with the primary context of an epoch: after that, `forget` (if not null) ends the context,
// and nothing is freed.
void pend(cai_device device, uint64_t epoch, uint64_t bytes, Free free, void *context,
          void (*forget)(void *context) = nullptr);

// Memory is short: frees what is pending, where that is allowed. Whether anything was.
bool relieve(cai_device device) noexcept;

// The device is about to be reset: frees all, deferred or not.
void flush_before_reset(cai_device device) noexcept;

// Its primary context has gone: what was pending in it is forgotten.
void forget_pending(cai_device device) noexcept;

// The environment's limits are such that somebody understands; else a Failure.
void check_pending_limits();

struct PendingCounts {
  uint64_t bytes, count;
  uint32_t deferred;
};
// Throws for a device that is none.
PendingCounts pending_of(cai_device device);

}  // namespace cai::memory
