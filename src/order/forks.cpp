// SPDX-License-Identifier: BSD-3-Clause
#include "order/forks.hpp"

#include <mutex>
#include <vector>

#include "core/global_lock.hpp"
#include "core/immortal.hpp"

namespace cai::order {
namespace {

struct Fork {
  std::uint64_t capture;
  std::uint64_t consumer;
  driver::CUcontext context;  // of the origin, if it is 1 or 2
  std::uint64_t thread;       // whose stream 2 it is
  Stream stream;

  bool is_of(const Stream &other) const noexcept {
    return capture == other.capture.id && consumer == other.value && context == context_of(other) &&
           thread == thread_of(other);
  }
  static driver::CUcontext context_of(const Stream &stream) noexcept {
    return stream.is_default() ? stream.context : nullptr;
  }
  static std::uint64_t thread_of(const Stream &stream) noexcept {
    return stream.value == driver::stream_per_thread ? this_thread() : 0;
  }
};

// Ids of captures never recur, and the oldest capture is the likeliest to have ended.
constexpr std::size_t forks_most = 64;

struct Forks {
  GlobalLock mutex;
  std::vector<Fork> all;
};

}  // namespace

void remember_fork(const Stream &consumer, const Stream &fork) {
  Forks &known = immortal<Forks>();
  const std::lock_guard lock(known.mutex);
  if (known.all.size() == forks_most) known.all.erase(known.all.begin());
  known.all.push_back({fork.capture.id,
                       consumer.value,
                       Fork::context_of(consumer),
                       Fork::thread_of(consumer),
                       {fork.value, fork.context, -1}});
}

Stream find_fork(const Stream &consumer) noexcept {
  Forks &known = immortal<Forks>();
  const std::lock_guard lock(known.mutex);
  for (const Fork &it : known.all) {
    if (it.is_of(consumer)) return it.stream;
  }
  return {};
}

}  // namespace cai::order
