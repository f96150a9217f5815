// SPDX-License-Identifier: BSD-3-Clause
// Streams that uses have taken into captures (CAI_USE_FORK), and from which stream: a later use
// there is joined back to it, too, though its arrays do not say that stream; and so is a use that
// joins the capture after one of them.
#pragma once

#include "order/stream.hpp"

namespace cai::order {

// `fork` is the stream whose capture `consumer` has joined.
void remember_fork(const Stream &consumer, const Stream &fork);

// The stream whose capture `consumer`, probed, was taken into; value 0: none.
Stream find_fork(const Stream &consumer) noexcept;

}  // namespace cai::order
