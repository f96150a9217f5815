// SPDX-License-Identifier: BSD-3-Clause
#include "ipc/opened.hpp"

#include "core/global_lock.hpp"
#include "core/immortal.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace cai::ipc {

struct Opened {
  cai_ipc_handle handle;
  managers::HeldManager manager;
  cai_block block;
  uint64_t shares;
};

namespace {

// The lock guards only the list. Managers are called without it.
struct AllOpened {
  GlobalLock mutex;
  std::vector<Opened *> all;

  static AllOpened &get() { return immortal<AllOpened>(); }

  // Another share of memory that is open already, or null. The caller holds the lock.
  Opened *share(const managers::Manager &manager, const cai_ipc_handle &handle) noexcept {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Opened *each) {
      return each->manager.get() == &manager &&
             std::memcmp(&each->handle, &handle, sizeof handle) == 0;
    });
    if (found == all.end()) return nullptr;
    ++(*found)->shares;
    return *found;
  }
};

void close(const Opened &opened) {
  opened.manager->ask<&cai_manager_table::close_ipc_handle>("close_ipc_handle", &opened.block,
                                                            uint64_t{driver::stream_legacy});
}

}  // namespace

Opened *open_by_manager(managers::Manager &manager, const cai_ipc_handle &handle, int32_t fd,
                        uint64_t stream) {
  if (!manager.nearest_with<&cai_manager_table::open_ipc_handle>()) return nullptr;
  AllOpened &known = AllOpened::get();
  {
    const std::lock_guard lock(known.mutex);
    if (Opened *const shared = known.share(manager, handle)) return shared;
  }
  manager.retain();
  auto made = std::make_unique<Opened>(Opened{handle, managers::HeldManager(&manager), {}, 1});
  manager.ask<&cai_manager_table::open_ipc_handle>("open_ipc_handle", &handle, fd, stream,
                                                   &made->block);
  Opened *faster = nullptr;  // another thread's
  try {
    const std::lock_guard lock(known.mutex);
    faster = known.share(manager, handle);
    if (!faster) known.all.push_back(made.get());
  } catch (const std::bad_alloc &) {
    close(*made);
    throw;
  }
  if (!faster) return made.release();
  close(*made);
  return faster;
}

uint64_t address_of(const Opened &opened) noexcept {
  return opened.block.data;
}

uint64_t size_of(const Opened &opened) noexcept {
  return opened.block.size;
}

void close_by_manager(Opened *opened) {
  AllOpened &known = AllOpened::get();
  {
    const std::lock_guard lock(known.mutex);
    if (--opened->shares != 0) return;
    std::erase(known.all, opened);
  }
  std::unique_ptr<Opened> closed(opened);
  managers::Manager &manager = *closed->manager;
  if (!manager.is_alive()) return;
  try {
    manager.within_if_possible([&] { close(*closed); });
  } catch (const Failure &failure) {
    if (failure.error().status == CAI_ERR_CAPTURE) closed.release()->shares = 1;  // tried again
    throw;
  }
}

}  // namespace cai::ipc
