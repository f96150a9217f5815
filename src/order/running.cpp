// SPDX-License-Identifier: BSD-3-Clause
#include "order/running.hpp"

#include <atomic>
#include <cstddef>

#include "core/immortal.hpp"
#include "driver/host_function.hpp"

namespace cai::order {
namespace {

struct Runners {
  Visitors of[2];
  std::atomic<std::uint64_t> releases{0};

  static Visitors &of_those(Runs what) noexcept {
    return immortal<Runners>().of[static_cast<std::size_t>(what)];
  }
};

constinit thread_local int depth = 0;
constinit thread_local std::uint64_t release_here = 0;  // of what runs

std::uint64_t next_release() noexcept {
  return 1 + immortal<Runners>().releases.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Running::Running(Runs what) noexcept
    : visit_(Runners::of_those(what)), release_around_(release_here) {
  if (depth++ == 0) release_here = next_release();
}

Running::~Running() {
  --depth;
  release_here = release_around_;
}

void Running::is_of(std::uint64_t release) noexcept {
  release_here = release;
}

std::uint64_t last_release() noexcept {
  return immortal<Runners>().releases.load(std::memory_order_relaxed);
}

std::uint64_t number_of_release() noexcept {
  return Running::is_here() ? release_here : next_release();
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
