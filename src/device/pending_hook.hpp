// SPDX-License-Identifier: BSD-3-Clause
// The end of GPU objects that nobody holds any more. The list of what waits to be freed is kept by
// the room of memory, above this one, which therefore defines add_pending().
#pragma once

#include <cstdint>

namespace cai::device {

// Adds an object of a GPU to the list; then `destroy` runs once, on any thread, no lock held, never
// in a capture. Returns false, and does nothing, if it cannot.
bool add_pending(std::int32_t ordinal, void (*destroy)(void *object), void *object) noexcept;

// Adds it to the list, or else destroys it at once.
inline void destroy_later(std::int32_t ordinal, void (*destroy)(void *object),
                          void *object) noexcept {
  if (!add_pending(ordinal, destroy, object)) destroy(object);
}

}  // namespace cai::device
