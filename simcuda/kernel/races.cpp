// SPDX-License-Identifier: BSD-3-Clause
#include "races.h"

#include <algorithm>

namespace simcuda::kernel {

void LastUses::reserve(std::uint64_t bytes) {
  size_ = (bytes + (1 << page_shift) - 1) >> page_shift << page_shift;
  const std::uint64_t pages = size_ >> page_shift;
  memory_ = Zeros(size_ / 4 * sizeof(LastUse) + pages + 1);
  words_ = static_cast<LastUse *>(memory_.data());
  split_ = reinterpret_cast<std::uint8_t *>(words_ + size_ / 4);
}

void LastUses::split(std::uint64_t offset) {
  if (!bytes_) {
    byte_memory_ = Zeros(size_ * sizeof(LastUse));
    bytes_ = static_cast<LastUse *>(byte_memory_.data());
  }
  const std::uint64_t page = offset >> page_shift;
  split_[page] = 1;
  for (std::uint64_t at = page << page_shift; at < (page + 1) << page_shift; ++at)
    bytes_[at] = words_[at >> 2];
}

Stamp Intervals::reserve(std::uint64_t block, std::uint32_t first_epoch, std::uint32_t epochs) {
  std::lock_guard lock(mutex_);
  if (next_ > last_interval - epochs * warps_) return 0;
  const Stamp first = next_;
  next_ += epochs * warps_;
  stretches_.push_back({first, first_epoch, block});
  return first;
}

bool Intervals::find(Stamp interval, Interval &found) const {
  std::lock_guard lock(mutex_);
  auto after = std::upper_bound(stretches_.begin(), stretches_.end(), interval,
                                [](Stamp value, const Stretch &each) { return value < each.first; });
  if (after == stretches_.begin()) return false;
  const Stretch &stretch = *--after;
  const std::uint32_t past = interval - stretch.first;
  found = {stretch.block, stretch.epoch + past / warps_, past % warps_};
  return true;
}

void Intervals::release(std::uint64_t block, std::uint32_t epoch) {
  std::lock_guard lock(mutex_);
  ++time_;
  auto &list = releases_[block];
  if (list.empty() || list.back().epoch != epoch) list.push_back({epoch, time_});
}

std::uint64_t Intervals::acquire() {
  std::lock_guard lock(mutex_);
  return ++time_;
}

bool Intervals::released_before(std::uint64_t block, std::uint32_t epoch,
                                std::uint64_t time) const {
  std::lock_guard lock(mutex_);
  auto found = releases_.find(block);
  if (found == releases_.end()) return false;
  auto at = std::lower_bound(
      found->second.begin(), found->second.end(), epoch,
      [](const Release &each, std::uint32_t value) { return each.epoch < value; });
  return at != found->second.end() && at->time <= time;
}

}  // namespace simcuda::kernel
