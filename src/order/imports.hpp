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

// The uses of an import, and of its mask, that the owner keeps, and the streams that it has told,
// can be found from here on.
void list_import(Uses &uses, const cai_array &array);
// Of any array, those in captures, of which there are some now: others may have it from its dict.
void list_captured(Uses &uses, const cai_array &array);
// Either, with all that is known of the array: the owner.
void list_owner(Uses &uses, const cai_owner &owner, bool in_capture);
// What it has kept in captures is found all the same, if it was an import's.
void unlist(Uses &uses) noexcept;

// A stream is in one capture at most, and so what it had in others is over.
void forget_captures_over(const Stream &stream) noexcept;

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
// Whether there are uses of the same bytes in captures, which may be over.
bool any_captured(const cai_array &array) noexcept;

}  // namespace cai::order
