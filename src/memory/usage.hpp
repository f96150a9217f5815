// SPDX-License-Identifier: BSD-3-Clause
// How much memory is out on each device.
#pragma once

#include "cai/memory.h"

namespace cai::memory {

// Memory of `bytes` has come; `count` is 1, or, when it has gone, -1.
void count_memory(cai_device device, uint32_t kind, uint64_t bytes, int count) noexcept;

}  // namespace cai::memory
