// SPDX-License-Identifier: BSD-3-Clause
#include "order/running.hpp"

#include <cstddef>

#include "core/immortal.hpp"
#include "driver/host_function.hpp"

namespace cai::order {
namespace {

struct Runners {
  Visitors of[3];

  static Visitors &of_those(Runs what) noexcept {
    return immortal<Runners>().of[static_cast<std::size_t>(what)];
  }
};

constinit thread_local int depth = 0;

}  // namespace

Running::Running(Runs what) noexcept : visit_(Runners::of_those(what)) {
  ++depth;
}

Running::~Running() {
  --depth;
}

bool Running::is_here() noexcept {
  return depth != 0;
}

bool may_await_running() noexcept {
  return !MustNotAwait::is_here() && !driver::InHostFunction::is_here();
}

bool await_running(Runs what) noexcept {
  return may_await_running() && Runners::of_those(what).wait();
}

}  // namespace cai::order
