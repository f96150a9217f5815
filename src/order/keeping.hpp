// SPDX-License-Identifier: BSD-3-Clause
// Tells owners of uses: those that keep them here, and those with functions of their own.
#pragma once

#include "order/uses.hpp"

namespace cai::order {

// Keeps the use that the event completes.
void keep_event(driver::Session &session, Uses &uses, Stream &stream, const Event &event,
                bool write, const Cover &cover);

// Called after the session: an owner that keeps uses by itself may call libcai.
void tell_keeper(cai_owner *keeper, std::uint64_t stream, bool in_capture = false);

}  // namespace cai::order
