// SPDX-License-Identifier: BSD-3-Clause
#include "managers/manager.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <iterator>
#include <mutex>

#include "core/error.hpp"
#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "core/report.hpp"
#include "device/pending.hpp"
#include "device/primary.hpp"
#include "device/reset.hpp"
#include "driver/host_function.hpp"
#include "managers/builtin.hpp"
#include "managers/gpu.hpp"
#include "managers/host.hpp"
#include "managers/kinds.hpp"
#include "managers/tables.hpp"

using namespace cai;

constinit thread_local const managers::InManager *managers::InManager::innermost = nullptr;

int managers::InManager::depth_of(const void *manager, std::string_view function) noexcept {
  int depth = 0;
  for (const InManager *at = innermost; at; at = at->outer_) {
    depth += at->manager_ == manager && at->function_ == function;
  }
  return depth;
}

void managers::require_an_end(const void *manager, const char *name, const char *function) {
  constexpr int deepest = 8;
  if (InManager::depth_of(manager, function) < deepest) return;
  throw Failure(CAI_ERR_STATE, {}, "manager %.80s: %s calls itself through libcai, without end",
                name, function);
}

// All managers that have references, so that a reset finds them.
struct AllManagers {
  GlobalLock mutex;
  cai_manager *first = nullptr;

  AllManagers() noexcept {
    device::reset_steps.managers = reset_all;
    device::reset_steps.pools = end_pools;
  }
  static AllManagers &get() { return immortal<AllManagers>(); }
  // Failures are reported.
  static void reset_all(cai_device device) noexcept;
  static void end_pools(cai_device device) noexcept;
  void add(cai_manager *manager) noexcept {
    const std::lock_guard lock(mutex);
    manager->next_ = first;
    if (first) first->previous_ = manager;
    first = manager;
  }
  void remove(cai_manager *manager) noexcept {
    const std::lock_guard lock(mutex);
    (manager->previous_ ? manager->previous_->next_ : first) = manager->next_;
    if (manager->next_) manager->next_->previous_ = manager->previous_;
  }
  // Leaves out managers that an earlier reset has ended and that still have references.
  std::vector<managers::HeldManager> alive_of(cai_device device) {
    const std::lock_guard lock(mutex);
    std::vector<managers::HeldManager> found;
    std::size_t most = 0;
    for (const cai_manager *one = first; one; one = one->next_) ++most;
    found.reserve(most);  // first, so that nothing can fail after a reference was taken
    for (cai_manager *one = first; one; one = one->next_) {
      if (!device::same(one->device_, device) || !one->is_alive()) continue;
      if (one->retain_if_held()) found.emplace_back(one);
    }
    return found;
  }
};

cai_manager::cai_manager(const cai_manager_table &table, cai_device device,
                         cai_manager *upstream) noexcept
    : table_{},
      device_(device),
      upstream_(upstream),
      is_built_in_(managers::is_built_in(table) && (!upstream || upstream->is_built_in_)) {
  std::memcpy(&table_, &table, std::min<std::size_t>(table.struct_size, sizeof table_));
  if (upstream_) upstream_->retain();
}

cai_manager::~cai_manager() {
  if (upstream_) upstream_->release();
}

cai_manager *cai_manager::make(const cai_manager_table &table, const void *params,
                               cai_device device, cai_manager *upstream) {
  AllManagers &all = AllManagers::get();
  auto *const manager = new cai_manager(table, device, upstream);
  bool created = false;
  try {
    if (device.type == CAI_DEVICE_CUDA) {
      driver::Session session;
      const device::Primary primary = device::primary(session, device.id);
      manager->context_ = primary.context;
      manager->epoch_ = primary.epoch;
      session.finish();
    }
    manager->within([&] {
      managers::require_an_end(&table, table.name, "create");
      cai_error error;
      error.status = CAI_OK;
      const cai_status status = [&] {
        const managers::InManager here(&table, "create");
        return table.create(params, device, upstream, &manager->self_, &error);
      }();
      if (status != CAI_OK) manager->fail_as("create", status, error);
      created = true;
    });
  } catch (...) {
    // Restoring the caller's context may fail, too.
    created ? manager->end() : delete manager;
    throw;
  }
  all.add(manager);
  return manager;
}

bool cai_manager::retain_if_held() noexcept {
  int64_t holders = holders_.load(std::memory_order_relaxed);
  while (holders > 0) {
    if (holders_.compare_exchange_weak(holders, holders + 1, std::memory_order_relaxed))
      return true;
  }
  return false;
}

void cai_manager::release() noexcept {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  AllManagers::get().remove(this);
  if (device_.type == CAI_DEVICE_CPU || !driver::InHostFunction::is_here()) return end();
  const auto end_it = [](void *manager) { static_cast<cai_manager *>(manager)->end(); };
  device::destroy_later(device_.id, end_it, this, end_it);
}

void cai_manager::end() noexcept {
  const MustNotAwait must_not_await;  // as in the manager's other functions
  bool ended = false;
  const auto destroy = [&] {
    ended = true;
    table_.destroy(self_);
  };
  try {
    if (is_alive()) within(destroy);
  } catch (const Failure &) {  // NOLINT(bugprone-empty-catch): the driver is unloaded
  }
  if (!ended) destroy();
  if (companion_.destroy) companion_.destroy(companion_.context);
  delete this;
}

bool cai_manager::is_alive() const noexcept {
  return device_.type == CAI_DEVICE_CPU || device::is_alive(device_.id, epoch_);
}

void cai_manager::require_alive() const {
  if (is_alive()) return;
  throw Failure(CAI_ERR_STATE, {}, "manager %s is invalid: its device %s was reset", name(),
                device::Text(device_).text);
}

// From within initialize, functions that allocate nothing are called as they are: a reset may have
// come before, and memory allocated since then may be freed there.
void cai_manager::initialize_before(const char *what) {
  constexpr std::string_view givers[] = {"memalloc", "memhostalloc", "mempin", "open_ipc_handle"};
  if (managers::InManager::depth_of(this, "initialize") == 0) {
    call_as_it_is(table_.initialize, "initialize");
    return initialized_.store(true, std::memory_order_release);
  }
  if (std::find(std::begin(givers), std::end(givers), what) == std::end(givers)) return;
  throw Failure(CAI_ERR_STATE, {},
                "manager %.80s: initialize allocates from the manager itself, by %s", name(), what);
}

void cai_manager::fail_as(const char *what, cai_status status, cai_error &error) const {
  if (error.status == CAI_OK) {
    throw Failure(status, {}, "manager %s: %s returned %s", name(), what, cai_status_name(status));
  }
  error.status = status;
  error.message[sizeof error.message - 1] = '\0';
  throw Failure(error);
}

template <class Body, class MakeRoom>
void cai_manager::retry_once(Body &&body, MakeRoom &&make_room) {
  try {
    return body();
  } catch (const Failure &failure) {
    if (failure.error().status != CAI_ERR_MEMORY) throw;
    if (!make_room() && upstream_) throw;
  }
  body();
}

template <class Free>
void cai_manager::require_given(const cai_block &block, uint64_t address, uint64_t size,
                                uint64_t align, const char *giver, const char *what, Free &&free) {
  const bool ends = block.size == 0 || block.size - 1 <= UINT64_MAX - address;
  if (address && block.size >= size && address % align == 0 && ends) return;
  cai_error error;
  if (address && guard(&error, free) != CAI_OK) report(error);
  throw Failure(CAI_ERR_STATE, {},
                "manager %s: %s was asked for %" PRIu64 " bytes at a multiple of %" PRIu64
                ", and returned %" PRIu64 " at 0x%" PRIx64,
                giver, what, size, align, block.size, address);
}

cai_block cai_manager::memalloc(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream) {
  cai_block block{};
  retry_once([&] { call(table_.memalloc, "memalloc", size, align, kind, stream, &block); },
             [&] { return device::make_room(device_); });
  require_given(block, block.data, size, align, name(), "memalloc",
                [&] { memfree(block, stream); });
  return block;
}

void cai_manager::memfree(const cai_block &block, uint64_t stream) {
  call(table_.memfree, "memfree", &block, stream);
}

cai_block cai_manager::memhostalloc(uint64_t size, uint64_t align, uint32_t kind, uint32_t flags) {
  cai_block block{};
  retry_once(
      [&] {
        if (!ask<&cai_manager_table::memhostalloc>("memhostalloc", size, align, kind, flags,
                                                   &block)) {
          block = managers::host_allocate(device_, size, align, kind, flags);
        }
      },
      [&] { return managers::make_room_for_host(device_, kind); });
  require_given(block, block.host, size, align, name_with<&cai_manager_table::memhostalloc>(),
                "memhostalloc", [&] { memhostfree(block); });
  return block;
}

void cai_manager::memhostfree(const cai_block &block) {
  if (!ask<&cai_manager_table::memhostfree>("memhostfree", &block)) managers::host_free(block);
}

cai_block cai_manager::mempin(void *host, uint64_t size, uint32_t kind, uint32_t flags) {
  cai_block block{};
  if (!ask<&cai_manager_table::mempin>("mempin", host, size, kind, flags, &block)) {
    block = managers::host_pin(device_, host, size, kind, flags);
  }
  return block;
}

void cai_manager::memunpin(const cai_block &block) {
  if (!ask<&cai_manager_table::memunpin>("memunpin", &block)) managers::host_unpin(block);
}

// ---- What callers want --------------------------------------------------------------------------

bool cai_manager::looks_for_captures(uint32_t kind) const noexcept {
  return device_.type == CAI_DEVICE_CPU || managers::is_host_kind(kind) || is_from_pool(kind);
}

bool cai_manager::is_from_pool(uint32_t kind) const noexcept {
  if (!is_built_in_ || device_.type == CAI_DEVICE_CPU) return false;
  const cai_manager *source = this;
  while (source->upstream_) source = source->upstream_;
  const bool is_ordered =
      source->is_of(managers::async_table) || source->is_of(managers::pool_table);
  return kind == CAI_KIND_ASYNC || (kind == CAI_KIND_DEFAULT && is_ordered);
}

cai_block cai_manager::allocate(uint64_t size, uint64_t align, uint32_t kind, uint32_t flags,
                                uint64_t stream) {
  require_alive();
  cai_block block{};
  try {
    within([&] {
      if (!asks_in_captures(kind)) {
        managers::require_uncaptured(driver::get(), stream, managers::why_no_alloc);
      }
      block = managers::is_host_kind(kind) ? memhostalloc(size, align, kind, flags)
                                           : memalloc(size, align, kind, stream);
    });
  } catch (const Failure &failure) {
    // The block was allocated, and then the caller's context could not be restored.
    if (block.size) give_back(block, kind, stream);
    const cai_error &error = failure.error();
    if (error.status != CAI_ERR_MEMORY) throw;
    throw Failure(CAI_ERR_MEMORY, {error.entry, error.index, error.native},
                  "no memory for %" PRIu64 " bytes on %s from manager %s: %s", size,
                  device::Text(device_).text, name(), error.message);
  }
  return block;
}

void cai_manager::give_back(const cai_block &block, uint32_t kind, uint64_t stream) noexcept {
  cai_error error;
  if (guard(&error, [&] { free(block, kind, stream); }) != CAI_OK) report(error);
}

namespace {

// Runs `body`, which ends something. Without a driver to end it in, it has ended already.
template <class Body>
void unless_gone(Body &&body) {
  try {
    body();
  } catch (const Failure &failure) {
    const cai_error &error = failure.error();
    if (error.status != CAI_ERR_CUDA || error.native != driver::error_deinitialized) throw;
  }
}

}  // namespace

void cai_manager::free_it(const cai_block &block, uint32_t kind, uint64_t stream,
                          bool in_captures_too) {
  if (!is_alive()) {
    // A reset manager forgets its memory. This frees what the library allocated in its place.
    if (managers::is_host_kind(kind) && !has_foreign<&cai_manager_table::memhostfree>()) {
      managers::host_free(block);
    }
    return;
  }
  unless_gone([&] {
    if (managers::is_host_kind(kind)) return within_if_possible([&] { memhostfree(block); });
    // The context may have failed to become current because of earlier work, which the driver
    // reports once.
    bool begun = false;
    const auto body = [&] {
      if (!in_captures_too) {
        managers::require_uncaptured(driver::get(), stream, managers::why_no_free);
      }
      begun = true;
      memfree(block, stream);
    };
    try {
      within(body);
    } catch (const Failure &first) {
      if (begun || first.error().status == CAI_ERR_CAPTURE) throw;
      cai_error error;
      const cai_status status = guard(&error, [&] { within(body); });
      if (!begun && status != CAI_ERR_CAPTURE) throw managers::NotAsked(first);
      report(first.error());
      if (status != CAI_OK) throw Failure(error);
    }
  });
}

cai_block cai_manager::pin(void *host, uint64_t size, uint32_t kind, uint32_t flags) {
  require_alive();
  cai_block block{};
  try {
    within([&] { block = mempin(host, size, kind, flags); });
  } catch (const Failure &) {
    cai_error error;
    bool unpinned = false;
    if (block.size && guard(&error, [&] { unpin(block, unpinned); }) != CAI_OK) report(error);
    throw;
  }
  return block;
}

void cai_manager::unpin(const cai_block &block, bool &unpinned) {
  if (!is_alive()) {
    if (!has_foreign<&cai_manager_table::memunpin>()) managers::host_unpin(block);  // the same
    return;
  }
  unless_gone([&] {
    within_if_possible([&] {
      memunpin(block);
      unpinned = true;
    });
  });
}

std::pair<uint64_t, uint64_t> cai_manager::base(uint64_t address) {
  require_alive();
  uint64_t base = 0, size = 0;
  within([&] {
    if (ask<&cai_manager_table::base>("base", address, &base, &size)) return;
    const driver::Driver &cu = driver::get();
    std::size_t bytes = 0;
    driver::call(cu.cuMemGetAddressRange, &base, &bytes, address);
    size = bytes;
  });
  return {base, size};
}

std::pair<uint64_t, uint64_t> cai_manager::memory() {
  require_alive();
  uint64_t free = 0, total = 0;
  within([&] {
    if (ask<&cai_manager_table::get_memory_info>("get_memory_info", &free, &total)) return;
    cai_error error;
    if (cai_device_memory(device_, &free, &total, &error) != CAI_OK) throw Failure(error);
  });
  return {free, total};
}

void cai_manager::trim(uint64_t keep) {
  require_alive();
  within([&] { ask<&cai_manager_table::trim>("trim", keep); });
}

void cai_manager::reset() {
  require_alive();
  within([&] {
    initialized_.store(false, std::memory_order_relaxed);
    call_as_it_is(table_.reset, "reset");
  });
}

// Calls `body` with each manager of the device. Failures are reported.
template <class Body>
static void for_each_alive(cai_device device, Body &&body) noexcept {
  cai_error error;
  const cai_status status = guard(&error, [&] {
    for (const managers::HeldManager &manager : AllManagers::get().alive_of(device)) {
      cai_error said;
      if (guard(&said, [&] { body(*manager); }) != CAI_OK) report(said);
    }
  });
  if (status != CAI_OK) report(error);
}

void AllManagers::reset_all(cai_device device) noexcept {
  for_each_alive(device, [](cai_manager &manager) { manager.reset(); });
}

void AllManagers::end_pools(cai_device device) noexcept {
  for_each_alive(device, [](cai_manager &manager) {
    if (manager.is_of(managers::pool_table))
      manager.within([&] { managers::end_pool(manager.self()); });
  });
}
