// SPDX-License-Identifier: BSD-3-Clause
// Uses that are found by address, because their owners do not know each other: uses of imports,
// each with an owner of its own; uses of any array within one capture, which the producer's stream
// does not order there; and uses of any array by CPU streams.
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

// Returns the array in the owner's block; null if the owner has no known array.
const cai_array *array_of(const cai_owner &owner) noexcept;

// From here on, others can find the uses of an import and its mask, and the streams that it told to
// consumers.
void list_import(Uses &uses, const cai_array &array);
// The same for uses in captures, of any array: others may have its memory from a dict.
void list_captured(Uses &uses, const cai_array &array);
// A use was kept there: from here on others can find it.
void note_captured(const Uses &uses) noexcept;
// The same for uses by CPU streams, for which masks are arrays of their own.
void list_on_host(Uses &uses, const cai_array &array);
void list_on_host(Uses &uses, const cai_owner &keeper, std::uint64_t data, std::uint64_t size);
// The same for an import, or an array used in a capture, of which only the owner is known.
void list_owner(Uses &uses, const cai_owner &owner, bool in_capture);
// The owner ends. Its uses in captures can still be found if the memory outlives it: memory of an
// import, or of a foreign array.
void unlist(Uses &uses) noexcept;

// A stream is in at most one capture, so its earlier captures have ended.
void forget_captures_over(const Stream &stream) noexcept;

// The number of each. They are read before each use, without a lock.
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

// Calls `found` with the uses of each other import of the same bytes. `found` must not keep them.
// The bytes are of an array, or of a mask, which others may have without the elements.
template <class Found>
void for_each_import(const cai_array &array, Found &&found) {
  if (any_imports()) visit(array, Kept::by_imports, found);
}
// The same for all arrays that may have uses in captures.
template <class Found>
void for_each_captured(const cai_array &array, Found &&found) {
  if (any_captured()) visit(array, Kept::in_captures, found);
}
// The same for those that may have work of CPU streams.
template <class Found>
void for_each_on_host(const cai_array &array, Found &&found) {
  if (any_on_host()) visit(array, Kept::on_host, found);
}
// Whether there are uses of the same bytes in captures. The captures may have ended.
bool finds_captured(const cai_array &array) noexcept;
inline bool any_captured(const cai_array &array) noexcept {
  return any_captured() && finds_captured(array);
}

}  // namespace cai::order
