// SPDX-License-Identifier: BSD-3-Clause
#include "races.h"

#include <algorithm>

namespace simcuda::kernel {

namespace {

LastUse lay_out(void *memory, std::uint64_t count) {
  auto *at = static_cast<std::uint32_t *>(memory);
  return {at, at + count, at + 2 * count, at + 3 * count};
}

}  // namespace

void LastUses::reserve(std::uint64_t size) {
  size_ = (size + (1 << page_shift) - 1) >> page_shift << page_shift;
  const std::uint64_t pages = size_ >> page_shift;
  memory_ = Zeros(size_ * sizeof(std::uint32_t) + pages + 1);
  words = lay_out(memory_.data(), size_ / 4);
  split_ = reinterpret_cast<std::uint8_t *>(words.writer + size_);
}

bool LastUses::by_words(std::uint64_t begin, std::uint64_t end) const {
  if (((end - 1) >> page_shift) - (begin >> page_shift) > 1) return false;
  return !by_bytes(begin) && !by_bytes(end - 1);
}

void LastUses::split(std::uint64_t offset) {
  if (!bytes.writer) {
    byte_memory_ = Zeros(size_ * 4 * sizeof(std::uint32_t));
    bytes = lay_out(byte_memory_.data(), size_);
  }
  const std::uint64_t page = offset >> page_shift;
  split_[page] = 1;
  for (std::uint64_t at = page << page_shift; at < (page + 1) << page_shift; ++at) {
    bytes.writer[at] = words.writer[at >> 2];
    bytes.reader[at] = words.reader[at >> 2];
    bytes.writer_place[at] = words.writer_place[at >> 2];
    bytes.reader_place[at] = words.reader_place[at >> 2];
  }
}

Stamp Intervals::reserve(std::uint64_t block, std::uint32_t first_epoch, std::uint32_t epochs) {
  if (is_copying(next_ + epochs * warps_)) return 0;
  const Stamp first = next_;
  next_ += epochs * warps_;
  stretches_.push_back({first, first_epoch, block});
  return first;
}

Interval Intervals::find(Stamp interval) const {
  auto after =
      std::upper_bound(stretches_.begin(), stretches_.end(), interval,
                       [](Stamp value, const Stretch &each) { return value < each.first; });
  const Stretch &stretch = *--after;
  const std::uint32_t past = interval - stretch.first;
  return {stretch.block, stretch.epoch + past / warps_, past % warps_};
}

void Intervals::release(std::uint64_t block, std::uint32_t epoch) {
  releases_[block].push_back({epoch, ++time_});
}

std::uint64_t Intervals::acquire() {
  return ++time_;
}

bool Intervals::released_before(std::uint64_t block, std::uint32_t epoch,
                                std::uint64_t time) const {
  auto found = releases_.find(block);
  if (found == releases_.end()) return false;
  auto at =
      std::lower_bound(found->second.begin(), found->second.end(), epoch,
                       [](const Release &each, std::uint32_t value) { return each.epoch < value; });
  return at != found->second.end() && at->time <= time;
}

}  // namespace simcuda::kernel
