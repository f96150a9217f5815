// SPDX-License-Identifier: BSD-3-Clause
// The producer's side, for those who give arrays away in another form than cai_array.
#pragma once

#include "order/event.hpp"

namespace cai::order {

// Makes `stream` wait for all that is pending on an array that has been judged, and records an
// event there.
Event event_after(const cai_array &array, std::uint64_t stream);

// Puts `stream` in order for somebody who knows of no owner, and uses the array there until what
// this returns is released: the array, with a new reference, or a view. Whoever uses another array
// of the owner waits for that stream.
const cai_array *lend(const cai_array &array, std::uint64_t stream);

// A use of the array on `stream`, which has been probed, began before its capture, and ends in it:
// of what was pending there before, no event tells, so whoever uses the array waits for that
// stream. Throws CAI_ERR_CAPTURE if its owner keeps uses by itself, and cannot be told.
void tell_of_uncaptured(const cai_array &array, const Stream &stream);

}  // namespace cai::order
