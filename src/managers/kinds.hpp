// SPDX-License-Identifier: BSD-3-Clause
// Kinds of memory: which function allocates each.
#pragma once

#include "cai/memory.h"

namespace cai::managers {

// Allocated by memalloc.
inline bool is_device_kind(uint32_t kind) noexcept {
  return kind == CAI_KIND_DEFAULT || kind == CAI_KIND_ASYNC || kind == CAI_KIND_MANAGED ||
         kind == CAI_KIND_MANAGED_GLOBAL;
}

// Allocated by memhostalloc.
inline bool is_host_kind(uint32_t kind) noexcept {
  return kind == CAI_KIND_PINNED || kind == CAI_KIND_MAPPED || kind == CAI_KIND_HOST;
}

}  // namespace cai::managers
