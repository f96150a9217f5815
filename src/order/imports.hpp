// SPDX-License-Identifier: BSD-3-Clause
// Uses of memory whose exporter keeps none: each import of it has an owner of its own, and they
// find each other's uses by address.
#pragma once

#include "order/uses.hpp"

namespace cai::order {

// Whether the array's memory is an exporter's, so that others may have imported it, too.
inline bool is_import(const cai_owner *keeper) noexcept {
  return !keeper || (keeper->flags & CAI_OWNER_IMPORTED);
}

// The uses of the array that its owner keeps can be found from here on.
void list_import(Uses &uses, const cai_array &array);
void unlist_import(Uses &uses) noexcept;

// Adds the uses that other imports of the same bytes have kept, as Uses::add_conflicts().
void add_uses_of_imports(const cai_array &array, bool write, int32_t index, Conflicts &out);

// Whether there may be any. Cheap, as all that is asked before each use.
bool any_imports() noexcept;

}  // namespace cai::order
