// SPDX-License-Identifier: BSD-3-Clause
// The bytes that an array touches, from the text alone, in numbers of 128 bits: a second opinion.
#pragma once

#include <cai.h>

#include <cstdint>

namespace fuzz {

__extension__ using wide = __int128;

constexpr wide bits_63 = wide{1} << 63, bits_64 = wide{1} << 64;

struct Extent {
  bool size_fits = true;    // the size in bytes, in 63 bits; without the extents 0, too
  bool extent_fits = true;  // what strides reach, likewise
  wide size = 1;            // elements
  wide lo = 0, hi = 0;      // bytes, relative to `data`

  bool fits() const { return size_fits && extent_fits; }
  bool is_within_addresses(std::uint64_t data) const {
    return wide{data} + lo >= 0 && wide{data} + hi <= bits_64;
  }
};

// For extents that are not negative. `strides` NULL: there are no gaps between the elements.
inline Extent extent_of(std::int32_t ndim, const std::int64_t *shape, const std::int64_t *strides,
                        wide itemsize) {
  Extent found;
  wide units = itemsize;
  for (std::int32_t k = 0; k < ndim; ++k) {
    found.size = shape[k] == 0 ? 0 : found.size;
    units *= shape[k] == 0 ? 1 : shape[k];
    if (units >= bits_63) {
      found.size_fits = false;
      return found;
    }
  }
  if (found.size == 0) return found;
  found.size = units / itemsize;
  found.hi = itemsize;
  if (!strides) found.hi = units;
  for (std::int32_t k = 0; strides && k < ndim && found.extent_fits; ++k) {
    const wide reach = wide{shape[k] - 1} * strides[k];
    (reach < 0 ? found.lo : found.hi) += reach;
    found.extent_fits = found.hi - found.lo < bits_63;
  }
  return found;
}

}  // namespace fuzz
