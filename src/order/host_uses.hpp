// SPDX-License-Identifier: BSD-3-Clause
// Work that the host does on the memory of arrays. A CPU stream has no handle that an array could
// name, so the owner keeps the queue and the number of the work to wait for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/few.hpp"
#include "core/lock.hpp"

namespace cai::order {

// The queue of a CPU stream: does work in order. The numbers of work, from 1, increase in the order
// in which it was queued, on whatever queue.
class HostQueue {
 public:
  // Whether the work is complete and no failure of it is left to report.
  virtual bool is_over(std::uint64_t number) const noexcept = 0;
  // Makes the host wait for the work. On the thread that does the work it returns at once: earlier
  // work is complete there. Throws the failure of the work, or that for which it was dropped, if no
  // call has reported it. Throws CAI_ERR_STATE in a forked child, which has no thread to do it.
  virtual void wait_for(std::uint64_t number) = 0;

 protected:
  ~HostQueue() = default;
};

// All work of a queue up to a number.
struct HostPoint {
  std::shared_ptr<HostQueue> queue;
  std::uint64_t number;
};

using HostPoints = Few<HostPoint, 4>;

// The work that an owner keeps.
class HostUses {
 public:
  void keep(const HostPoint &point, bool write);

  // Adds the work that a read or a write must wait for; forgets completed work.
  void add_conflicts(bool write, HostPoints &out);

  // Whether any work is kept. An acquire load: a caller that reads false sees the effects of the
  // completed work.
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  bool is_being_changed() const noexcept { return lock_.is_held(); }

 private:
  struct Slot {
    std::shared_ptr<HostQueue> queue;
    std::uint64_t write, last;  // numbers; 0: none
  };

  void forget_what_is_over() noexcept;  // The caller holds the lock.

  Lock lock_;
  std::vector<Slot> slots_;
  std::atomic<bool> any_{false};
};

}  // namespace cai::order
