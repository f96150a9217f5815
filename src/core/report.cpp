// SPDX-License-Identifier: BSD-3-Clause
#include "core/report.hpp"

#include <atomic>

#include "core/error.hpp"

namespace cai {
namespace {

// The function and its context in one object, so that both change at once. Replaced objects are not
// freed: another thread may be calling one.
struct Hook {
  cai_failure_fn function;
  void *context;
  const Hook *before;
};

constinit std::atomic<const Hook *> hook{nullptr};

}  // namespace

void report(const cai_error &error) noexcept {
  const Hook *const now = hook.load(std::memory_order_acquire);
  if (now && now->function) now->function(now->context, &error);
}

}  // namespace cai

using namespace cai;

cai_status cai_on_failure(cai_failure_fn function, void *context, cai_error *error) {
  return guard(error, [&] {
    auto *const mine = new Hook{function, context, hook.load(std::memory_order_relaxed)};
    while (!hook.compare_exchange_weak(mine->before, mine, std::memory_order_acq_rel)) {
    }
  });
}
