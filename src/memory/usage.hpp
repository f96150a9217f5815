// SPDX-License-Identifier: BSD-3-Clause
// How much memory is allocated on each device.
#pragma once

#include "cai/memory.h"

namespace cai::memory {

// Counts memory of `bytes` as allocated (`count` 1) or freed (-1).
void count_memory(cai_device device, uint32_t kind, uint64_t bytes, int count) noexcept;

}  // namespace cai::memory
