// SPDX-License-Identifier: BSD-3-Clause
#include "core/fork.hpp"

#include <pthread.h>
#include <sched.h>

#include <ctime>
#include <mutex>

#include "core/global_lock.hpp"

namespace cai {

constinit std::atomic<std::uint64_t> fork_count{0};
constinit Lock making_immortals;

class AllGlobalLocks {
 public:
  static void add(GlobalLock &lock) noexcept {
    const std::lock_guard guard(changing_);
    lock.next_ = first_;
    first_ = &lock;
  }

  static void remove(GlobalLock &lock) noexcept {
    const std::lock_guard guard(changing_);
    GlobalLock **link = &first_;
    while (*link != &lock) link = &(*link)->next_;
    *link = lock.next_;
  }

  // Threads take some of these locks while they hold another one, in an order that is not known
  // here. So if one stays held, all are returned before the next attempt. A holder may be unable to
  // go on: a signal's handler forks on its thread, or an allocator has taken its own locks for the
  // fork. Then after a while the process forks all the same.
  static void take() noexcept {
    constexpr int attempts = 10'000;
    constexpr timespec a_moment{0, 50'000};
    for (int i = 0; i < attempts && !taken_; ++i) {
      taken_ = try_take();
      if (!taken_) nanosleep(&a_moment, nullptr);
    }
  }

  static void give_back() noexcept {
    if (taken_) give_back_before(nullptr);
    taken_ = false;
  }

 private:
  static bool try_take() noexcept {
    making_immortals.lock();
    changing_.lock();
    GlobalLock *next = first_;
    while (next && try_take(*next)) next = next->next_;
    if (next) give_back_before(next);
    return !next;
  }

  // The holder needs a few instructions more, unless it waits for one that is taken already.
  static bool try_take(GlobalLock &lock) noexcept {
    constexpr int attempts = 10;
    for (int i = 0; i < attempts; ++i) {
      if (lock.try_lock()) return true;
      sched_yield();
    }
    return false;
  }

  static void give_back_before(const GlobalLock *end) noexcept {
    for (GlobalLock *each = first_; each != end; each = each->next_) each->unlock();
    changing_.unlock();
    making_immortals.unlock();
  }

  static constinit inline thread_local bool taken_ = false;  // by this thread, which forks
  static constinit inline Lock changing_;                    // guards the list
  static constinit inline GlobalLock *first_ = nullptr;
};

GlobalLock::GlobalLock() noexcept {
  AllGlobalLocks::add(*this);
}

GlobalLock::~GlobalLock() {
  AllGlobalLocks::remove(*this);
}

namespace {

void begin_in_child() noexcept {
  fork_count.fetch_add(1, std::memory_order_relaxed);
  AllGlobalLocks::give_back();
}

// As libcai is loaded. What is added later runs outside of these, and may call libcai.
[[maybe_unused]] const int added =
    pthread_atfork(AllGlobalLocks::take, AllGlobalLocks::give_back, begin_in_child);

}  // namespace
}  // namespace cai
