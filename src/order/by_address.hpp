// SPDX-License-Identifier: BSD-3-Clause
// Uses that are found by address, since their owners do not know of each other: those of imports,
// each with an owner of its own; and, of any array, those in one capture, which no producer's
// stream orders there, and those by streams of the CPU's.
#pragma once

#include <atomic>
#include <cstddef>
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
// Of any array, those in captures: others may have it from its dict.
void list_captured(Uses &uses, const cai_array &array);
// One was kept there: from here on they are found.
void note_captured(const Uses &uses) noexcept;
// Likewise, those by streams of the CPU's.
void list_on_host(Uses &uses, const cai_array &array);
// An import, or what is used in a capture, with all that is known of the array: the owner.
void list_owner(Uses &uses, const cai_owner &owner, bool in_capture);
// What it has kept in captures is found all the same, if the memory outlives its owner: that of an
// import, or of a foreign array.
void unlist(Uses &uses) noexcept;

// A stream is in one capture at most, and so what it had in others is over.
void forget_captures_over(const Stream &stream) noexcept;

// How many there are, to be read without the lock: before each use.
struct Listings {
  inline static constinit std::atomic<std::size_t> imports{0}, captured{0}, on_host{0};
};
// Whether there may be any.
inline bool any_imports() noexcept {
  return Listings::imports.load(std::memory_order_acquire) != 0;
}
inline bool any_captured() noexcept {
  return Listings::captured.load(std::memory_order_acquire) != 0;
}
inline bool any_on_host() noexcept {
  return Listings::on_host.load(std::memory_order_acquire) != 0;
}

enum class Kept { by_imports, in_captures, on_host };
void visit(const cai_array &array, Kept kept, void (*found)(void *body, Uses &uses), void *body);
template <class Found>
void visit(const cai_array &array, Kept kept, Found &found) {
  visit(
      array, kept,
      [](void *body, Uses &uses) { (*static_cast<std::remove_reference_t<Found> *>(body))(uses); },
      &found);
}

// Calls `found` with the uses of each other import of the same bytes, which it must not keep: of an
// array, or of a mask, which others may have without the elements.
template <class Found>
void for_each_import(const cai_array &array, Found &&found) {
  if (any_imports()) visit(array, Kept::by_imports, found);
}
// Likewise, with those of all arrays that may have uses in captures.
template <class Found>
void for_each_captured(const cai_array &array, Found &&found) {
  if (any_captured()) visit(array, Kept::in_captures, found);
}
// Likewise, with those that streams of the CPU's may have work on.
template <class Found>
void for_each_on_host(const cai_array &array, Found &&found) {
  if (any_on_host()) visit(array, Kept::on_host, found);
}
// Whether there are uses of the same bytes in captures, which may be over.
bool finds_captured(const cai_array &array) noexcept;
inline bool any_captured(const cai_array &array) noexcept {
  return any_captured() && finds_captured(array);
}

}  // namespace cai::order
