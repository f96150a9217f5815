// SPDX-License-Identifier: BSD-3-Clause
// Frees that wait until there are more of them, of memory and of GPU objects without references any
// more.
#pragma once

#include <cstdint>

#include "cai/device.h"
#include "driver/faults.hpp"
#include "order/event.hpp"

namespace cai::device {

using Free = cai_status (*)(void *context, cai_error *error);

struct PendingFree {
  Free free;
  void *context;
  uint64_t bytes;
  uint64_t epoch;  // of the GPU's primary context that it goes with: after that,
  void (*forget)(void *context) = nullptr;  // this ends the context, and nothing is freed
  order::Event after{};                     // waited for first; empty: nothing is
};

// Adds a free, and frees what is due by now; with no room to remember it, frees it at once. Throws
// if it can do neither, and then `context` is the caller's.
void pend(cai_device device, const PendingFree &free);

// Likewise an object of a GPU, whose end waits for nothing: `destroy` runs once, on any thread,
// with no lock held, and never in a capture; at once if the object cannot be remembered.
void destroy_later(int32_t ordinal, void (*destroy)(void *object), void *object) noexcept;

// One more is to be added, with an event to be recorded now: frees what is due without that.
void look_at_pending(cai_device device) noexcept;

// Memory is short: frees what is pending, where that is allowed. Whether anything was.
bool make_room(cai_device device) noexcept;

// Frees all that is pending on a device, and notes what fails. Throws CAI_ERR_CAPTURE where nothing
// may be freed now.
void flush_pending(cai_device device, driver::Faults &failed);

// Until this has ended as often as it has begun, nothing is freed but before a reset.
void begin_deferring(cai_device device) noexcept;
void end_deferring(cai_device device) noexcept;

// The device is about to be reset: frees all, deferred or not.
void flush_before_reset(cai_device device) noexcept;

// Its primary context was destroyed: forgets the frees that were pending in it.
void forget_pending(cai_device device) noexcept;

// Throws a Failure unless the environment's limits are valid.
void require_pending_limits();

struct PendingCounts {
  uint64_t bytes, count;
  uint32_t deferred;
};
// Throws if the device is invalid.
PendingCounts pending_of(cai_device device);

}  // namespace cai::device
