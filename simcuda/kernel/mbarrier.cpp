// SPDX-License-Identifier: BSD-3-Clause
#include "mbarrier.h"

#include <iterator>

namespace simcuda::kernel {

void Mbarriers::put(std::uint64_t offset, std::uint32_t expected) {
  Mbarrier &made = by_offset_[offset];
  made = {};
  made.expected = made.pending = expected;
  find_ends();
}

void Mbarriers::erase(std::uint64_t offset) {
  by_offset_.erase(offset);
  find_ends();
}

void Mbarriers::clear() {
  by_offset_.clear();
  find_ends();
}

void Mbarriers::find_ends() {
  const bool any = !by_offset_.empty();
  begin_ = any ? by_offset_.begin()->first : 0;
  end_ = any ? std::prev(by_offset_.end())->first + size : 0;
}

std::uint64_t Mbarriers::first_in(std::uint64_t begin, std::uint64_t end) const {
  const auto first = by_offset_.lower_bound(begin / size * size);
  return first->first < end ? first->first : no_offset;
}

}  // namespace simcuda::kernel
