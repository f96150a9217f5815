// SPDX-License-Identifier: BSD-3-Clause
// The manager of each device, and the public functions for managers.
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>

#include "core/error.hpp"
#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "device/slots.hpp"
#include "managers/kinds.hpp"
#include "managers/params.hpp"
#include "managers/tables.hpp"

namespace cai::managers {
namespace {

// The locks guard only the pointers.
struct Chosen {
  GlobalLock mutex;
  std::array<Manager *, device::most_devices> gpus{};
  Manager *cpu = nullptr;
  const cai_manager_table *table = nullptr;  // set by cai_manager_choose()

  // Never destroyed: managers may be asked for until the process ends.
  static Chosen &get() { return immortal<Chosen>(); }
  Manager *&of(cai_device device) {
    return device.type == CAI_DEVICE_CPU ? cpu : gpus[static_cast<std::size_t>(device.id)];
  }
};

const cai_manager_table *chosen_table() {
  Chosen &chosen = Chosen::get();
  const std::lock_guard lock(chosen.mutex);
  return chosen.table;
}

// Runs `body`, which uses the environment: a failure then names the variable.
template <class Body>
auto as_the_environment_says(const char *name, Body &&body) {
  try {
    return body();
  } catch (const Failure &failure) {
    const cai_error &error = failure.error();
    const bool is_wrong = error.status == CAI_ERR_VALUE || error.status == CAI_ERR_VERSION ||
                          error.status == CAI_ERR_UNSUPPORTED;
    if (!is_wrong) throw;
    throw Failure(error.status, {},
                  "CAI_MEMORY_MANAGER=%.40s: %s; it is default, async, pool, managed, a "
                  "registered name or /path/lib.so",
                  name, error.message);
  }
}

// The device's manager if it has one that is alive.
HeldManager current_of(cai_device device) {
  HeldManager dead;
  Chosen &chosen = Chosen::get();
  const std::lock_guard lock(chosen.mutex);
  Manager *&manager = chosen.of(device);
  if (!manager) return HeldManager();
  if (!manager->is_alive()) return HeldManager();
  manager->retain();
  return HeldManager(manager);
}

// Replaces the device's manager by `manager`, which may be empty. Returns the old one.
HeldManager exchange(cai_device device, HeldManager manager) {
  Chosen &chosen = Chosen::get();
  const std::lock_guard lock(chosen.mutex);
  return HeldManager(std::exchange(chosen.of(device), manager.let_go()));
}

// The device has no manager yet. Code that makes one must not need one.
HeldManager make_of(const cai_manager_table &table, cai_device device) {
  const auto *const place = static_cast<const void *>(&Chosen::get().of(device));
  if (InManager::depth_of(place, "create")) {
    throw Failure(CAI_ERR_STATE, {},
                  "manager %.80s: create asks for the manager of %s, which is being made",
                  table.name, device::Text(device).text);
  }
  const InManager here(place, "create");
  return HeldManager(Manager::make(table, nullptr, device, nullptr));
}

HeldManager make_for(cai_device device) {
  if (device.type == CAI_DEVICE_CPU) return make_of(find_table("host"), device);
  if (const cai_manager_table *const chosen = chosen_table()) return make_of(*chosen, device);
  const char *const name = std::getenv("CAI_MEMORY_MANAGER");  // NOLINT(concurrency-mt-unsafe)
  if (!name || !*name) return make_of(find_table("default"), device);
  return as_the_environment_says(name, [&] { return make_of(find_table(name), device); });
}

}  // namespace

HeldManager manager_of(cai_device device) {
  device::require_slot(device);
  if (HeldManager current = current_of(device)) return current;
  // Several threads may make one at once: to wait for another could wait forever, for a lock that
  // this thread holds.
  HeldManager made;
  try {
    made = make_for(device);
  } catch (...) {
    if (HeldManager current = current_of(device)) return current;  // there may be room for one only
    throw;
  }
  HeldManager replaced;  // released without the lock
  Chosen &chosen = Chosen::get();
  const std::lock_guard lock(chosen.mutex);
  Manager *&manager = chosen.of(device);
  if (manager && manager->is_alive()) {  // another thread was faster
    replaced = std::move(made);
    manager->retain();
    return HeldManager(manager);
  }
  replaced = HeldManager(std::exchange(manager, made.get()));
  made->retain();
  return made;
}

HeldManager make_manager(const char *name, const void *params, cai_device device,
                         Manager *upstream) {
  device::require_slot(device);
  const cai_manager_table &table = find_table(name);
  if (upstream) {
    const cai_device other = upstream->device();
    if (!device::same(other, device)) {
      throw Failure(CAI_ERR_VALUE, {}, "manager %.80s is for %s, and its upstream %s for %s", name,
                    device::Text(device).text, upstream->name(), device::Text(other).text);
    }
    upstream->require_alive();
  }
  HeldManager made(Manager::make(table, params, device, upstream));
  made->keep(companion_of(table, params));  // nothing can fail any more
  return made;
}

}  // namespace cai::managers

using namespace cai;
using managers::HeldManager;

namespace {

uint64_t require_alignment(uint64_t align) {
  constexpr uint64_t usual = 256;
  if (align == 0) return usual;
  if (std::has_single_bit(align)) return align;
  throw Failure(CAI_ERR_VALUE, {}, "align is %llu, and not a power of two",
                static_cast<unsigned long long>(align));
}

void require_kind(uint32_t kind) {
  if (managers::is_device_kind(kind) || managers::is_host_kind(kind)) return;
  const char *const name = cai_kind_name(kind);
  throw Failure(CAI_ERR_VALUE, {}, "kind is %u (%s), which no manager allocates", kind,
                name ? name : "none of them");
}

void require_stream_of(cai_device device, uint64_t stream, uint32_t kind) {
  const bool cpu = device.type == CAI_DEVICE_CPU;
  if (cpu && stream != 0) {
    throw Failure(CAI_ERR_VALUE, {}, "stream is 0x%llx, and must be 0 for the CPU",
                  static_cast<unsigned long long>(stream));
  }
  if (!cpu && stream == 0 && managers::is_device_kind(kind)) {
    throw Failure(CAI_ERR_VALUE, {},
                  "stream is 0, which is not a GPU stream: the legacy default stream is 1");
  }
}

}  // namespace

cai_status cai_manager_create(const char *name, const void *params, cai_device device,
                              cai_manager *upstream, cai_manager **out, cai_error *error) {
  return guard(error, [&] {
    device::require(name, "name"), device::require(out, "out");
    *out = managers::make_manager(name, params, device, upstream).let_go();
  });
}

void cai_manager_retain(cai_manager *manager) {
  if (manager) manager->retain();
}

void cai_manager_release(cai_manager *manager) {
  if (manager) manager->release();
}

const char *cai_manager_name(const cai_manager *manager) {
  return manager ? manager->name() : nullptr;
}

cai_device cai_manager_device(const cai_manager *manager) {
  return manager ? manager->device() : cai_device{};
}

cai_status cai_manager_of(cai_device device, cai_manager **out, cai_error *error) {
  return guard(error, [&] {
    device::require(out, "out");
    *out = managers::manager_of(device).let_go();
  });
}

cai_status cai_manager_install(cai_device device, cai_manager *manager, cai_error *error) {
  return guard(error, [&] {
    device::require_slot(device);
    if (manager) {
      const cai_device its = manager->device();
      if (!device::same(its, device)) {
        throw Failure(CAI_ERR_DEVICE, {}, "manager %s is for %s, and not for %s", manager->name(),
                      device::Text(its).text, device::Text(device).text);
      }
      manager->require_alive();
      manager->retain();
    }
    managers::exchange(device, HeldManager(manager));
  });
}

cai_status cai_manager_choose(const char *name, cai_error *error) {
  return guard(error, [&] {
    const cai_manager_table *const table = name ? &managers::find_table(name) : nullptr;
    auto &chosen = managers::Chosen::get();
    const std::lock_guard lock(chosen.mutex);
    chosen.table = table;
  });
}

cai_status cai_manager_alloc(cai_manager *manager, uint64_t size, uint64_t align, uint32_t kind,
                             uint64_t stream, cai_block *out, cai_error *error) {
  return guard(error, [&] {
    device::require(manager, "manager"), device::require(out, "out");
    const uint64_t alignment = require_alignment(align);
    require_kind(kind);
    require_stream_of(manager->device(), stream, kind);
    *out = size ? manager->allocate(size, alignment, kind, 0, stream) : cai_block{};
  });
}

cai_status cai_manager_free(cai_manager *manager, const cai_block *block, uint32_t kind,
                            uint64_t stream, cai_error *error) {
  return guard(error, [&] {
    device::require(manager, "manager"), device::require(block, "block");
    require_kind(kind);
    require_stream_of(manager->device(), stream, kind);
    if (block->data || block->host) manager->free(*block, kind, stream);
  });
}

cai_status cai_manager_memory(cai_manager *manager, uint64_t *free, uint64_t *total,
                              cai_error *error) {
  return guard(error, [&] {
    device::require(manager, "manager");
    const auto [available, all] = manager->memory();
    if (free) *free = available;
    if (total) *total = all;
  });
}

cai_status cai_manager_trim(cai_manager *manager, uint64_t keep, cai_error *error) {
  return guard(error, [&] {
    device::require(manager, "manager");
    manager->trim(keep);
  });
}
