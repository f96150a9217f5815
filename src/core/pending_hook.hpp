// SPDX-License-Identifier: BSD-3-Clause
// What is pending on an array's memory, which its owner keeps. The room of order, above this one,
// knows it, and therefore defines these.
#pragma once

#include "cai.h"

namespace cai {

// The host waits for what streams of the CPU's have yet to do. CAI_ERR_STATE in a forked child.
cai_status await_host_work(const cai_array &array, cai_error *error) noexcept;

// Whether uses are kept that a stream may have to wait for.
bool has_kept_uses(const cai_owner *keeper) noexcept;
// Whether a dict of an array that came with None must not say that: uses are kept, or somebody was
// told a stream by a tensor, say; of an import, or of another one of the memory.
bool none_is_stale(const cai_array &array) noexcept;

// What a dict says where the array, or its mask, states no stream.
struct Said {
  uint64_t array, mask;
};
// A dict is to say the array's stream and its mask's, to somebody who knows of no owner: that
// stream waits for kept uses, and those who use other arrays of the owner will wait for it.
cai_status hand_to_dict(const cai_array &array, Said *said, cai_error *error) noexcept;

}  // namespace cai
