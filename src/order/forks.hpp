// SPDX-License-Identifier: BSD-3-Clause
// Records which streams uses have taken into captures (CAI_USE_FORK), and from which stream. A
// later use on such a stream joins it back, too, even if none of its arrays comes with the origin.
// So does a use that joins the capture after such a stream.
#pragma once

#include "order/stream.hpp"

namespace cai::order {

// `consumer` has joined the capture of `fork`.
void remember_fork(const Stream &consumer, const Stream &fork);

// The stream whose capture `consumer`, which has been probed, has joined; value 0: none.
Stream find_fork(const Stream &consumer) noexcept;

}  // namespace cai::order
