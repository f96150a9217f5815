// SPDX-License-Identifier: BSD-3-Clause
#include "written.h"

#include <algorithm>

namespace simcuda {

void Written::add(std::size_t begin, std::size_t size) {
  std::size_t end = begin + size;
  if (bits_) return set(begin, end);
  auto first = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                [](auto &range, std::size_t at) { return range.second < at; });
  if (first != ranges_.end() && first->first <= begin && end <= first->second) return;
  auto last = first;
  for (; last != ranges_.end() && last->first <= end; ++last) {
    begin = std::min(begin, last->first);
    end = std::max(end, last->second);
  }
  if (first == last) {
    ranges_.insert(first, {begin, end});
  } else {
    *first = {begin, end};
    ranges_.erase(first + 1, last);
  }
}

void Written::clear() {
  ranges_.clear();
  bits_ = nullptr;
}

std::shared_ptr<kernel::Zeros> Written::bits(std::size_t size) {
  if (bits_) return bits_;
  bits_ = std::make_shared<kernel::Zeros>((size / 64 + 2) * sizeof(std::uint64_t));
  for (auto [begin, end] : ranges_) set(begin, end);
  ranges_ = {};
  return bits_;
}

void Written::set(std::size_t begin, std::size_t end) const {
  auto *words = static_cast<std::uint64_t *>(bits_->data());
  while (begin < end) {
    const std::size_t count = std::min(end - begin, 64 - begin % 64);
    const std::uint64_t bits = (count == 64 ? ~std::uint64_t{} : (std::uint64_t{1} << count) - 1)
                               << begin % 64;
    __atomic_fetch_or(words + begin / 64, bits, __ATOMIC_RELAXED);
    begin += count;
  }
}

}  // namespace simcuda
