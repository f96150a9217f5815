// SPDX-License-Identifier: BSD-3-Clause
#include "core/visitors.hpp"

#include <mutex>

namespace cai {

// A forked child has none of the threads that its parent's counts are of.
void Visitors::forget_the_parents() noexcept {
  if (process_ == forks()) return;
  process_ = forks();
  counts_[0] = counts_[1] = 0;
}

Visitors::Visit::Visit(Visitors &place) noexcept : place_(place) {
  const std::lock_guard lock(place_.lock_);
  place_.forget_the_parents();
  phase_ = place_.phase_;
  ++place_.count(phase_);
}

Visitors::Visit::~Visit() {
  if (process_ != forks()) return;
  const std::lock_guard lock(place_.lock_);
  if (--place_.count(phase_) != 0) return;
  place_.departures_.fetch_add(1);
  place_.departures_.notify_all();
}

bool Visitors::wait() noexcept {
  std::unique_lock lock(lock_);
  forget_the_parents();
  const bool is_anybody = counts_[0] != 0 || counts_[1] != 0;
  for (const std::uint64_t last = phase_; phase_ <= last + 1;) {
    if (count(phase_ - 1) == 0) {
      if (phase_ == last + 1) break;
      ++phase_;
      continue;
    }
    const std::uint32_t departures = departures_.load(std::memory_order_relaxed);
    lock.unlock();
    departures_.wait(departures, std::memory_order_relaxed);
    lock.lock();
  }
  return is_anybody;
}

}  // namespace cai
