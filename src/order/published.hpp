// SPDX-License-Identifier: BSD-3-Clause
// Views that come with a stream or an event of their own, as long as they live.
#pragma once

#include <atomic>

#include "order/owned.hpp"
#include "order/uses.hpp"

namespace cai::order {

// What such a view holds.
struct Published {
  cai_owner *root = nullptr;  // null: of a borrowed array, there is none
  std::uint64_t said = 0;     // the one stream that its array, and the mask, came with; 0: none
  Stream stream{};            // value 0: it is one that other arrays of the owner come with, too
  std::uint64_t thread = 0;   // whose 2 the stream is
  bool differs = false;       // as the keeper's uses know
  Event event;
  std::atomic<bool> told{false};  // a consumer that knows no owner was told the stream
};

// What a view's owner has in the place of kept uses: what was published holds, of which it is a
// view, or what it is a wrapper of. Null if nothing was, or the keeper is not this library's to
// know.
inline Published *published_by(const cai_owner *owner) noexcept {
  const bool is_view = is_whole(owner) && owner->keeper && stores_here(owner->keeper);
  return is_view ? static_cast<Published *>(owner->uses) : nullptr;
}

// Whether the owner's memory may be freed on the stream of one of its arrays: not on that of a view
// that was published.
inline bool may_be_freed_on(std::uint64_t stream, cai_owner *owner) noexcept {
  const Published *const published = published_by(owner);
  return is_freed_on_a_stream(keeper_of(owner)) &&
         !(published && published->stream.value == stream);
}

// Makes an owned view of `array`, or of a borrowed one an owned copy, for the caller to publish.
// Throws std::bad_alloc.
cai_array *new_published(const cai_array &array, Published **published);

}  // namespace cai::order
