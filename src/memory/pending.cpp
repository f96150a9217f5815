// SPDX-License-Identifier: BSD-3-Clause
// The public functions for pending frees. Managers are told of deferrals.
#include <algorithm>
#include <array>
#include <climits>
#include <mutex>
#include <vector>

#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "device/pending.hpp"
#include "device/slots.hpp"
#include "device/stream.hpp"
#include "managers/manager.hpp"
#include "memory/memory.hpp"
#include "order/releases.hpp"
#include "order/running.hpp"

namespace cai::memory {
namespace {

// A manager, and the number of deferrals that it was told of.
struct Told {
  managers::HeldManager manager;
  uint32_t count;
};

// The open deferrals of a device, and the managers that were told of them.
struct Deferrals {
  GlobalLock mutex;  // guards only the fields
  uint32_t open = 0;
  std::vector<Told> told;
};

Deferrals &deferrals_of(cai_device device) {
  // Never destroyed: memory may be freed as late as the process ends.
  auto &all = immortal<std::array<Deferrals, device::most_devices + 1>>();
  return all[device::slot_index(device)];
}

// Calls the manager's function, if it has one.
void tell(managers::Manager &manager, int32_t enter) {
  if (!manager.is_alive()) return;
  manager.within([&] { manager.ask<&cai_manager_table::defer_cleanup>("defer_cleanup", enter); });
}

// Finds a manager that was told of more deferrals than are open, and counts one fewer for it;
// empty: there is none.
managers::HeldManager take_told(Deferrals &deferrals) noexcept {
  const std::lock_guard lock(deferrals.mutex);
  const auto found = std::find_if(deferrals.told.begin(), deferrals.told.end(),
                                  [&](const Told &each) { return each.count > deferrals.open; });
  if (found == deferrals.told.end()) return {};
  if (--found->count != 0) return managers::HeldManager::one_more(found->manager.get());
  managers::HeldManager last = std::move(found->manager);
  deferrals.told.erase(found);
  return last;
}

void begin_deferring(cai_device device) {
  managers::HeldManager manager = managers::manager_of(device);
  Deferrals &deferrals = deferrals_of(device);
  tell(*manager, 1);
  try {
    const std::lock_guard lock(deferrals.mutex);
    const auto known =
        std::find_if(deferrals.told.begin(), deferrals.told.end(),
                     [&](const Told &each) { return each.manager.get() == manager.get(); });
    if (known == deferrals.told.end()) {
      deferrals.told.push_back({managers::HeldManager::one_more(manager.get()), 1});
    } else {
      ++known->count;
    }
    ++deferrals.open;
    device::begin_deferring(device);
  } catch (...) {
    tell(*manager, 0);
    throw;
  }
}

// An end does not say which beginning it belongs to. So a manager is told of it only if it was told
// of more deferrals than are open: it frees nothing before the last of its deferrals has ended.
void end_deferring(cai_device device) {
  Deferrals &deferrals = deferrals_of(device);
  {
    const std::lock_guard lock(deferrals.mutex);
    if (deferrals.open == 0) {
      throw Failure(CAI_ERR_STATE, {}, "nothing that is pending on %s is deferred",
                    device::Text(device).text);
    }
    --deferrals.open;
    device::end_deferring(device);
  }
  driver::Faults failed;
  while (const managers::HeldManager manager = take_told(deferrals)) {
    cai_error error;
    if (guard(&error, [&] { tell(*manager, 0); }) != CAI_OK) failed.note(error);
  }
  failed.raise();
}

void run_ends(driver::Faults &failed) noexcept {
  device::end_left();
  retry_ends(INT_MAX, true, &failed);
  cai_error problem;  // memory in use is freed with its last use
  const auto end = [] { order::drain(false, order::Others::asked); };
  if (guard(&problem, end) == CAI_ERR_CUDA) failed.note(problem);
}

// Returns whether a capture forbids to free anything now.
bool run_frees(cai_device device, driver::Faults &failed, cai_error *captured) noexcept {
  cai_error problem;
  const cai_status status = guard(&problem, [&] { device::flush_pending(device, failed); });
  if (status == CAI_OK) return false;
  if (status != CAI_ERR_CAPTURE) {
    failed.note(problem);
    return false;
  }
  *captured = problem;
  return true;
}

}  // namespace
}  // namespace cai::memory

using namespace cai;

cai_status cai_pending_flush(cai_device device, cai_error *error) {
  return guard(error, [&] {
    device::require_slot(device);
    driver::Faults failed;
    cai_error captured;
    memory::run_ends(failed);
    bool is_captured = memory::run_frees(device, failed, &captured);
    // What other threads run may leave more, or put a free back; and a capture may have ended.
    if (order::await_running(order::Runs::end)) {
      memory::run_ends(failed);
      static_cast<void>(memory::run_frees(device, failed, &captured));
      static_cast<void>(order::await_running(order::Runs::end));
      is_captured = memory::run_frees(device, failed, &captured);
    }
    if (is_captured) failed.note(captured);
    failed.raise();
  });
}

cai_status cai_pending_defer(cai_device device, int32_t defer, cai_error *error) {
  return guard(error, [&] {
    device::require_slot(device);
    if (defer != 0 && defer != 1) {
      throw Failure(CAI_ERR_VALUE, {}, "defer is %d, and neither 0 nor 1", defer);
    }
    defer ? memory::begin_deferring(device) : memory::end_deferring(device);
  });
}
