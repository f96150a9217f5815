// SPDX-License-Identifier: BSD-3-Clause
// What the room of memory, above this one, knows of its blocks, and therefore defines.
#pragma once

#include "cai.h"

namespace cai {

// Whether this is the owner of a block whose context a reset has destroyed.
bool has_lost_context(const cai_owner &keeper) noexcept;

// Whether this is the owner of a block that is somebody's array (cai_memory_of()). May be null.
bool is_of_somebodys_array(const cai_owner *keeper) noexcept;

}  // namespace cai
