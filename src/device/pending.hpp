// SPDX-License-Identifier: BSD-3-Clause
// Frees that wait for more frees: of memory, and of GPU objects without references.
#pragma once

#include <cstdint>

#include "cai/device.h"
#include "driver/faults.hpp"
#include "order/event.hpp"

namespace cai::device {

using Free = cai_status (*)(void *context, cai_error *error);

struct PendingFree {
  Free free;  // calls the driver, and no client's function: allocations wait for it
  void *context;
  uint64_t bytes;
  uint64_t epoch;                           // of its GPU's primary context: after a reset,
  void (*forget)(void *context) = nullptr;  // this ends the context, and nothing is freed
  order::Event after{};                     // waited for first; empty: no wait
};

// Adds a free, and frees what is due. Without memory to defer it, frees it at once. Throws if it
// can do neither, and then `context` is the caller's.
void pend(cai_device device, const PendingFree &free);

// The same for a GPU object that is destroyed without a wait: `destroy` runs once, on any thread,
// without a lock, and never in a capture; at once if there is no memory to defer it. After a reset,
// `forget` runs instead, if there is one.
void destroy_later(int32_t ordinal, void (*destroy)(void *object), void *object,
                   void (*forget)(void *object) = nullptr) noexcept;

// Called before a free is added that records an event on a stream now: frees what is due without
// that one.
void look_at_pending(cai_device device, std::uint64_t stream) noexcept;

// Called if memory is short: frees what is pending, if allowed. Returns whether anything was freed.
bool make_room(cai_device device) noexcept;

// Frees all that is pending on a device, and notes failures. Throws CAI_ERR_CAPTURE if nothing may
// be freed now.
void flush_pending(cai_device device, driver::Faults &failed);

// Defers frees until as many calls of end_deferring(). Only a reset frees meanwhile.
void begin_deferring(cai_device device) noexcept;
void end_deferring(cai_device device) noexcept;

// The device will be reset: frees all, deferred or not.
void flush_before_reset(cai_device device) noexcept;

// The device's primary context was destroyed: forgets its pending frees.
void forget_pending(cai_device device) noexcept;

// Throws a Failure if a limit in the environment is invalid.
void require_pending_limits();

struct PendingCounts {
  uint64_t bytes, count;
  uint32_t deferred;
};
// Throws if the device is invalid.
PendingCounts pending_of(cai_device device);

}  // namespace cai::device
