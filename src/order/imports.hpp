// SPDX-License-Identifier: BSD-3-Clause
// Uses of memory whose exporter keeps none: each import of it has an owner of its own, and they
// find each other's uses by address.
#pragma once

#include <type_traits>

#include "order/uses.hpp"

namespace cai::order {

// Whether the array's memory is an exporter's, so that others may have imported it, too.
inline bool is_import(const cai_owner *keeper) noexcept {
  return !keeper || has_flag(keeper, CAI_OWNER_IMPORTED);
}

// The array in the owner's block; null if none is known to be there.
const cai_array *array_of(const cai_owner &owner) noexcept;

// The uses of the array, and of its mask, that the owner keeps, and the streams that it has told,
// can be found from here on.
void list_import(Uses &uses, const cai_array &array);
// Likewise, with all that is known of the array: the owner.
void list_import(Uses &uses, const cai_owner &owner);
// Likewise of any array, its uses in captures: others may have it from a dict of its owner's.
void list_captured(Uses &uses, const cai_array &array);
// What it has kept in captures is found all the same, if it was an import's.
void unlist(Uses &uses) noexcept;

// Whether there may be any. Cheap, as all that is asked before each use.
bool any_imports() noexcept;
bool any_captured() noexcept;

void visit(const cai_array &array, bool in_capture, void (*found)(void *body, Uses &uses),
           void *body);
template <class Found>
void visit(const cai_array &array, bool in_capture, Found &found) {
  visit(
      array, in_capture,
      [](void *body, Uses &uses) { (*static_cast<std::remove_reference_t<Found> *>(body))(uses); },
      &found);
}

// Calls `found` with the uses of each other import of the same bytes, which it must not keep: of an
// array, or of a mask, which others may have without the elements.
template <class Found>
void for_each_import(const cai_array &array, Found &&found) {
  if (any_imports()) visit(array, false, found);
}
// Likewise, with those of all arrays that may have uses in captures.
template <class Found>
void for_each_captured(const cai_array &array, Found &&found) {
  if (any_captured()) visit(array, true, found);
}

}  // namespace cai::order
