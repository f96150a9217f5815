// SPDX-License-Identifier: BSD-3-Clause
// Views that come with a stream or an event of their own, for as long as they live.
#pragma once

#include <atomic>

#include "order/owned.hpp"
#include "order/uses.hpp"

namespace cai::order {

// What such a view holds.
struct Published {
  cai_owner *root = nullptr;  // null: the array is borrowed
  std::uint64_t said = 0;     // the one stream of its array and the mask; 0: none
  Stream stream{};            // value 0: one that other arrays of the owner come with, too
  std::uint64_t thread = 0;   // whose stream 2 it is
  bool differs = false;       // whether the keeper's uses count it as differing
  Event event;
  std::atomic<bool> told{false};  // its stream was named to a consumer without the owner
};

// What a view's owner stores in the place of kept uses: the state of a published view, or of the
// view that it wraps. Null if nothing was published, or another library's functions keep the uses.
inline Published *published_by(const cai_owner *owner) noexcept {
  const bool is_view = is_whole(owner) && owner->keeper && stores_here(owner->keeper);
  return is_view ? static_cast<Published *>(owner->uses) : nullptr;
}

// Whether the owner's memory may be freed on the stream of one of its arrays. Not so for the stream
// of a published view.
inline bool may_be_freed_on(std::uint64_t stream, cai_owner *owner) noexcept {
  const Published *const published = published_by(owner);
  return is_freed_on_a_stream(keeper_of(owner)) &&
         !(published && published->stream.value == stream);
}

// Makes an owned view of `array` for the caller to publish; of a borrowed array, an owned copy.
// Throws std::bad_alloc.
cai_array *new_published(const cai_array &array, Published **published);

}  // namespace cai::order
