// SPDX-License-Identifier: BSD-3-Clause
#include "fault.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

#include "allocations.h"
#include "driver.hpp"
#include "must.h"

namespace wide {
namespace {

constexpr int kStatuses[] = {2, 999};  // that the driver recovers from
constexpr unsigned kMost = 100;        // calls of the driver's in one of libcai's

// A thread of libcai's may allocate, or call a party, which disarms it.
std::mutex changing;
// Held while a party calls the driver in the course of a call of libcai's; on a thread of the
// driver's perhaps, which may be at it still as the next call begins.
std::recursive_mutex parties;

}  // namespace

void Fault::forget() {
  const std::lock_guard lock(changing);
  *this = Fault{};
}

void Fault::swap(Fault &other) {
  const std::lock_guard lock(changing);
  std::swap(*this, other);
}

const char *Fault::choose(const Failing &failing) {
  const std::lock_guard lock(changing);
  *this = Fault{};
  is_chosen_ = true;
  failing_ = failing;
  const char *const word = kFailWords[failing.what];
  if (failing.what >= kAllocations) function_ = word;
  return word;
}

std::unique_lock<std::recursive_mutex> Fault::pause() {
  std::unique_lock party(parties);
  disarm();
  return party;
}

void Fault::forget_threads() {
  new (&changing) std::mutex;
  new (&parties) std::recursive_mutex;
}

void Fault::arm() {
  const std::lock_guard no_party(parties);
  const std::lock_guard lock(changing);
  has_struck_ = false;
  if (!is_chosen_ || failing_.calls-- > 0) return;
  is_chosen_ = false;
  is_armed_ = true;
  if (function_) {
    before_ = cu().simcuda_calls(function_);
    const int status = kStatuses[failing_.what % std::size(kStatuses)];
    for (unsigned i = 0; i < std::min(failing_.times, kMost); ++i) {
      MUST(cu().simcuda_fail(function_, failing_.nth + i * failing_.every, status));
    }
  } else {
    allocations_reset();
    asked_ = 0;
    allocations_tell([](void *self) { static_cast<Fault *>(self)->at_allocation(); }, this);
  }
}

void Fault::at_allocation() {
  const std::lock_guard lock(changing);
  if (!is_armed_) return;  // disarmed, since this thread began to allocate
  const unsigned nth = ++asked_;
  if (nth < failing_.nth || (nth - failing_.nth) % failing_.every) return;
  if ((nth - failing_.nth) / failing_.every < failing_.times) allocations_fail(0);
}

void Fault::disarm() {
  const std::lock_guard lock(changing);
  if (!is_armed_) return;
  is_armed_ = false;
  if (function_) {
    has_struck_ = cu().simcuda_calls(function_) - before_ >= failing_.nth;
    MUST(cu().simcuda_fail(function_, 0, 0));
  } else {
    has_struck_ = asked_ >= failing_.nth;
    allocations_tell(nullptr, nullptr);
    allocations_fail(-1);
  }
}

}  // namespace wide
