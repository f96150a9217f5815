// SPDX-License-Identifier: BSD-3-Clause
// Work of the host's own on the memory of arrays. A stream of the CPU's has no handle that an array
// could come with, so the owner keeps how far it has to come.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/few.hpp"
#include "core/lock.hpp"

namespace cai::order {

// What does the work of a CPU's stream, in the order in which it is queued, numbered from 1.
class HostQueue {
 public:
  // Whether there is nothing to wait for, nor to be told of.
  virtual bool is_over(std::uint64_t number) const noexcept = 0;
  // The host waits for it; not so the thread that does the work, for which what is before is done.
  // Throws what work has failed with, if that was not reported: the rest was dropped. Throws
  // CAI_ERR_STATE in a forked child, which has no thread to do it.
  virtual void wait_for(std::uint64_t number) = 0;

 protected:
  ~HostQueue() = default;
};

// All work of a queue's up to a number.
struct HostPoint {
  std::shared_ptr<HostQueue> queue;
  std::uint64_t number;
};

using HostPoints = Few<HostPoint, 4>;

// The work that is kept.
class HostUses {
 public:
  void keep(const HostPoint &point, bool write);

  // Adds the work that a read, or a write, must wait for; forgets work that is over.
  void add_conflicts(bool write, HostPoints &out);

  // Whether any work is kept. Acquires: a caller that reads false sees the effects of the work that
  // is over.
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }

 private:
  struct Slot {
    std::shared_ptr<HostQueue> queue;
    std::uint64_t write, last;  // numbers; 0: none
  };

  void forget_what_is_over() noexcept;  // with the lock held

  Lock lock_;
  std::vector<Slot> slots_;
  std::atomic<bool> any_{false};
};

}  // namespace cai::order
