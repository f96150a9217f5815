// SPDX-License-Identifier: BSD-3-Clause
// The producer's side, for those who give arrays away in another form than cai_array.
#pragma once

#include "order/event.hpp"

namespace cai::order {

// Makes `stream` wait for all that is pending on an array that has been judged, and records an
// event there.
Event event_after(const cai_array &array, std::uint64_t stream);

// What a dict says where the array, or its mask, states no stream.
struct Said {
  std::uint64_t array = driver::stream_legacy, mask = driver::stream_legacy;
};
// A dict is to say the array's stream and its mask's, to somebody who knows of no owner: that
// stream waits for kept uses, and those who use other arrays of the owner will wait for it.
Said hand_to_dict(const cai_array &array);

// Whether a dict of an array that came with None must not say that: uses are kept, or somebody was
// told a stream by a tensor, say; of an import, or of another one of the memory.
bool none_is_stale(const cai_array &array) noexcept;

// Puts `stream` in order for somebody who knows of no owner, and uses the array there until what
// this returns is released: the array, with a new reference, or a view. Whoever uses another array
// of the owner waits for that stream.
const cai_array *lend(const cai_array &array, std::uint64_t stream);

// A use of the array on `stream`, which has been probed, began before its capture, and ends in it:
// of what was pending there before, no event tells, so whoever uses the array waits for that
// stream. Throws CAI_ERR_CAPTURE if its owner keeps uses by itself, and cannot be told.
void tell_of_uncaptured(const cai_array &array, const Stream &stream);

}  // namespace cai::order
