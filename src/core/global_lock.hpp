// SPDX-License-Identifier: BSD-3-Clause
// Locks of what the whole process shares, which a forked child finds open.
#pragma once

#include "core/lock.hpp"

namespace cai {

// fork() waits until no thread holds any of these. Otherwise a child would wait for a thread that
// it does not have, and what that thread was changing would stay half changed. While one is held,
// neither the driver nor code outside libcai is called: forks would wait for it, and it may fork.
class GlobalLock : public Lock {
 public:
  GlobalLock() noexcept;
  GlobalLock(const GlobalLock &) = delete;
  GlobalLock &operator=(const GlobalLock &) = delete;
  ~GlobalLock();

 private:
  friend class AllGlobalLocks;

  GlobalLock *next_ = nullptr;  // in the list of all
};

// Held while an immortal object is made, with the locks in it. fork() waits for this one, too.
extern constinit Lock making_immortals;

}  // namespace cai
