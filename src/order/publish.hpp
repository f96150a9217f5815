// SPDX-License-Identifier: BSD-3-Clause
// The producer's side, for exports in other forms than cai_array.
#pragma once

#include "order/event.hpp"

namespace cai::order {

// Makes `stream` wait for all pending work on a valid array, and records an event there.
Event event_after(const cai_array &array, std::uint64_t stream);

// The streams that a dict names if the array, or its mask, states none.
struct Said {
  std::uint64_t array = driver::stream_legacy, mask = driver::stream_legacy;
};
// For a dict that names the streams of the array and its mask to a consumer without the owner:
// those streams wait for kept uses, and uses of other arrays of the owner will wait for them.
Said hand_to_dict(const cai_array &array);

// Whether the dict of an array that came with None must not say None: uses are kept, or a consumer
// was told a stream, for example by a tensor. That may be of this import, or of another import of
// the memory.
bool none_is_stale(const cai_array &array) noexcept;

// Orders `stream` for a consumer without the owner, and uses the array there until the result is
// released: the array, with a new reference, or a view. Uses of other arrays of the owner wait for
// that stream.
const cai_array *lend(const cai_array &array, std::uint64_t stream);

// A use of the array on `stream`, which has been probed, began before its capture and ends in it.
// No event covers work that was pending there before, so uses of the array wait for that stream.
// Throws CAI_ERR_CAPTURE if its owner keeps uses by itself and cannot be told.
void tell_of_uncaptured(const cai_array &array, const Stream &stream);

}  // namespace cai::order
