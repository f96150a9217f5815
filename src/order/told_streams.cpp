// SPDX-License-Identifier: BSD-3-Clause
#include "order/told_streams.hpp"

#include <condition_variable>
#include <mutex>

#include "core/error.hpp"
#include "core/immortal.hpp"
#include "driver/driver.hpp"

namespace cai::order {
namespace {

// New readers are counted in the current phase. The other phase has only those readers that a
// thread waits for.
struct Readers {
  // A forked child, which has no driver, never takes these.
  std::mutex turn;  // to wait
  std::mutex mutex;
  std::condition_variable left;
  int counts[2] = {};
  int phase = 0;
};

Readers &readers() {
  return immortal<Readers>();
}

// Not in a forked child, which has none of those threads.
bool may_have_readers() noexcept {
  return driver::is_loaded() && guard(nullptr, [] { driver::get(); }) == CAI_OK;
}

}  // namespace

void Reading::enter() noexcept {
  if (phase_ >= 0) return;
  Readers &all = readers();
  const std::lock_guard lock(all.mutex);
  phase_ = all.phase;
  ++all.counts[phase_];
}

void Reading::leave() noexcept {
  if (phase_ < 0) return;
  Readers &all = readers();
  const std::lock_guard lock(all.mutex);
  if (--all.counts[phase_] == 0) all.left.notify_all();
  phase_ = -1;
}

void await_readers() noexcept {
  if (!may_have_readers()) return;
  Readers &all = readers();
  const std::lock_guard turn(all.turn);
  std::unique_lock lock(all.mutex);
  const int old = all.phase;
  all.phase = 1 - old;
  all.left.wait(lock, [&] { return all.counts[old] == 0; });
}

}  // namespace cai::order
