// SPDX-License-Identifier: BSD-3-Clause
// Threads that are inside of something. Another thread can wait for those that are inside now; it
// does not go on waiting while others keep coming.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/fork.hpp"
#include "core/global_lock.hpp"

namespace cai {

class Visitors {
 public:
  // Being inside, on the thread that makes it.
  class Visit {
   public:
    explicit Visit(Visitors &place) noexcept;
    Visit(const Visit &) = delete;
    Visit &operator=(const Visit &) = delete;
    ~Visit();

   private:
    Visitors &place_;
    const std::uint64_t process_ = forks();
    std::uint64_t phase_;
  };

  // Returns whether anybody was inside. A thread that is inside must not call it.
  bool wait() noexcept;

 private:
  std::uint32_t &count(std::uint64_t phase) noexcept { return counts_[phase % 2]; }
  void forget_the_parents() noexcept;

  GlobalLock lock_;  // guards what follows
  // A new phase begins once all of the one before the last have left, so two counts are enough.
  std::uint64_t phase_ = 1;
  std::uint32_t counts_[2] = {};
  std::uint64_t process_ = forks();
  std::atomic<std::uint32_t> departures_{0};  // of the last one of a phase
};

}  // namespace cai
