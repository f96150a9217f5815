// SPDX-License-Identifier: BSD-3-Clause
// A manager at work for one device: the functions of its table, and what libcai does around them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "cai/memory.h"
#include "core/error.hpp"
#include "core/must_not_await.hpp"
#include "device/device.hpp"
#include "managers/tables.hpp"

namespace cai::managers {

// While one exists, the calling thread is in a manager's function.
class InManager {
 public:
  // `manager` is any pointer that identifies it.
  InManager(const void *manager, std::string_view function) noexcept
      : manager_(manager), function_(function), outer_(std::exchange(innermost, this)) {}
  InManager(const InManager &) = delete;
  InManager &operator=(const InManager &) = delete;
  ~InManager() { innermost = outer_; }
  static bool is_here() noexcept { return innermost != nullptr; }
  // How many calls of this function the thread is in.
  static int depth_of(const void *manager, std::string_view function) noexcept;

 private:
  const void *const manager_;
  const std::string_view function_;
  const InManager *const outer_;
  const MustNotAwait must_not_await_;  // the manager may hold a lock that its frees need
  constinit static thread_local const InManager *innermost;
};

// Throws if the thread is in so many calls of this function that it must be recursing, through
// libcai, without end. A few are allowed: a finalizer that Python runs within one may allocate or
// free, too.
void require_an_end(const void *manager, const char *name, const char *function);

// The driver failed before the manager was called: the caller may try again.
class NotAsked : public Failure {
 public:
  explicit NotAsked(const Failure &why) : Failure(why) {}
};

// The context of a caller's functions, and the function that ends it.
struct Companion {
  void (*destroy)(void *context) = nullptr;
  void *context = nullptr;
};

}  // namespace cai::managers

// All functions throw Failure. Those named as in the table must be called with the GPU's primary
// context current; so must wrappers' functions. The others make it current themselves.
struct cai_manager {
 public:
  // Makes a manager. The caller owns one reference. Calls the table's `create`.
  static cai_manager *make(const cai_manager_table &table, const void *params, cai_device device,
                           cai_manager *upstream);
  cai_manager(const cai_manager &) = delete;
  cai_manager &operator=(const cai_manager &) = delete;

  void retain() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;
  // Returns false if the last reference has been released.
  bool retain_if_held() noexcept;

  const char *name() const noexcept { return table_.name; }
  cai_device device() const noexcept { return device_; }
  cai_manager *upstream() const noexcept { return upstream_; }
  void *self() const noexcept { return self_; }
  // Whether it was made from this table.
  bool is_of(const cai_manager_table &table) const noexcept {
    return table_.create == table.create;
  }
  // Whether its memory of this kind is from a pool of the driver's, by libcai's own functions
  // alone.
  bool is_from_pool(uint32_t kind) const noexcept;
  // Whether the device has not been reset since the manager was made.
  bool is_alive() const noexcept;
  void require_alive() const;

  // ---- For callers ----

  // Allocates any kind: by memalloc or memhostalloc. `align` is a power of two, `size` not 0.
  cai_block allocate(uint64_t size, uint64_t align, uint32_t kind, uint32_t flags, uint64_t stream);
  // Does nothing if the device was reset or the driver is unloaded. The block must not be freed
  // again, even if this fails, unless it fails because of a capture.
  void free(const cai_block &block, uint32_t kind, uint64_t stream) {
    free_it(block, kind, stream, asks_in_captures(kind));
  }
  // The same for a caller that can try again: if the stream is being captured, nothing is freed,
  // since no event could cover the work queued before. Throws NotAsked if the driver fails before
  // the manager is called.
  void free_outside_captures(const cai_block &block, uint32_t kind, uint64_t stream) {
    free_it(block, kind, stream, looks_for_captures(kind));
  }
  cai_block pin(void *host, uint64_t size, uint32_t kind, uint32_t flags);
  // May also throw because of the context alone: `unpinned` is set if the function succeeded.
  void unpin(const cai_block &block, bool &unpinned);
  // The base and size of the allocation around an address, from the manager or else from the
  // driver.
  std::pair<uint64_t, uint64_t> base(uint64_t address);
  std::pair<uint64_t, uint64_t> memory();  // free and total
  void trim(uint64_t keep);
  void reset();

  // The companion ends with the manager.
  void keep(const cai::managers::Companion &companion) noexcept { companion_ = companion; }

  // Runs `body` with the GPU's primary context current.
  template <class Body>
  void within(Body &&body) {
    if (device_.type == CAI_DEVICE_CPU) return std::forward<Body>(body)();
    cai::driver::Session session;
    session.in(context_, std::forward<Body>(body));
    session.finish();
  }

  // The same for freeing: `body` runs even if the context cannot be made current.
  template <class Body>
  void within_if_possible(Body &&body) {
    bool begun = false;
    try {
      within([&] {
        begun = true;
        body();
      });
    } catch (...) {
      if (!begun) body();
      throw;
    }
  }

  // ---- The functions of the table, for wrappers and for code in within() ----

  // If memory is short, frees what is pending and tries once more.
  cai_block memalloc(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream);
  void memfree(const cai_block &block, uint64_t stream);
  // These call the nearest manager, upstream, that has the function, or else the library's own.
  cai_block memhostalloc(uint64_t size, uint64_t align, uint32_t kind, uint32_t flags);
  void memhostfree(const cai_block &block);
  cai_block mempin(void *host, uint64_t size, uint32_t kind, uint32_t flags);
  void memunpin(const cai_block &block);

  // This manager, or the nearest upstream one, that has an optional function; null if none has it.
  template <auto entry>
  cai_manager *nearest_with() noexcept {
    cai_manager *one = this;
    while (one && !(one->table_.*entry)) one = one->upstream_;
    return one;
  }

  // Its name, for messages; this manager's name if none has the function.
  template <auto entry>
  const char *name_with() noexcept {
    cai_manager *const one = nearest_with<entry>();
    return (one ? one : this)->name();
  }

  // Calls an optional function of the nearest manager that has it. Returns false if none has it.
  //
  //   if (!manager.ask<&cai_manager_table::get_ipc_handle>("get_ipc_handle", &block, &out, &fd))
  template <auto entry, class... Arguments>
  bool ask(const char *what, Arguments... arguments) {
    cai_manager *const one = nearest_with<entry>();
    if (one) one->call(one->table_.*entry, what, arguments...);
    return one != nullptr;
  }

  // Whether this manager, or one upstream, has an optional function and is not built in. Built-in
  // managers pass such calls on to the library's own functions.
  template <auto entry>
  bool has_foreign() const noexcept {
    for (const cai_manager *one = this; one; one = one->upstream_) {
      if (one->table_.*entry && !cai::managers::is_built_in(one->table_)) return true;
    }
    return false;
  }

 private:
  cai_manager(const cai_manager_table &table, cai_device device, cai_manager *upstream) noexcept;
  ~cai_manager();

  // Calls a function of the table, and throws its failure.
  template <class Function, class... Arguments>
  void call(Function *function, const char *what, Arguments... arguments) {
    if (!initialized_.load(std::memory_order_acquire)) initialize_before(what);
    call_as_it_is(function, what, arguments...);
  }
  template <class Function, class... Arguments>
  void call_as_it_is(Function *function, const char *what, Arguments... arguments) {
    cai::managers::require_an_end(this, name(), what);
    cai_error error;
    error.status = CAI_OK;
    const cai_status status = [&] {
      const cai::managers::InManager here(this, what);
      return function(self_, arguments..., &error);
    }();
    if (status != CAI_OK) fail_as(what, status, error);
  }
  void give_back(const cai_block &block, uint32_t kind, uint64_t stream) noexcept;
  void end() noexcept;  // deletes the handle, too
  [[noreturn]] void fail_as(const char *what, cai_status status, cai_error &error) const;
  void initialize_before(const char *what);
  // Whether the manager itself refuses memory of a kind while its stream is being captured.
  bool looks_for_captures(uint32_t kind) const noexcept;
  // Whether it is called then for memory of a kind: foreign managers need not know about captures.
  bool asks_in_captures(uint32_t kind) const noexcept {
    return kind != CAI_KIND_ASYNC || is_built_in_ || device_.type == CAI_DEVICE_CPU;
  }
  void free_it(const cai_block &block, uint32_t kind, uint64_t stream, bool in_captures_too);

  // Runs `body` again if memory is short and `make_room` could free something, or no upstream
  // manager has tried.
  template <class Body, class MakeRoom>
  void retry_once(Body &&body, MakeRoom &&make_room);
  // Frees a block that is not as requested, and throws. `giver` names the manager that made it.
  template <class Free>
  void require_given(const cai_block &block, uint64_t address, uint64_t size, uint64_t align,
                     const char *giver, const char *what, Free &&free);

  cai_manager_table table_;
  const cai_device device_;
  cai_manager *const upstream_;
  const bool is_built_in_;  // and all upstream managers are
  void *self_ = nullptr;
  cai::driver::CUcontext context_ = nullptr;
  uint64_t epoch_ = 0;
  std::atomic<bool> initialized_{false};
  std::atomic<int64_t> holders_{1};
  cai::managers::Companion companion_;
  cai_manager *previous_ = nullptr, *next_ = nullptr;  // in the list of all

  friend struct AllManagers;
};

namespace cai::managers {

using Manager = ::cai_manager;

// A reference to a manager.
class HeldManager {
 public:
  HeldManager() = default;
  explicit HeldManager(Manager *manager) noexcept : manager_(manager) {}
  static HeldManager one_more(Manager *manager) noexcept {
    manager->retain();
    return HeldManager(manager);
  }
  HeldManager(HeldManager &&other) noexcept : manager_(std::exchange(other.manager_, nullptr)) {}
  HeldManager &operator=(HeldManager &&other) noexcept {
    std::swap(manager_, other.manager_);
    return *this;
  }
  ~HeldManager() {
    if (manager_) manager_->release();
  }
  Manager *operator->() const noexcept { return manager_; }
  Manager &operator*() const noexcept { return *manager_; }
  Manager *get() const noexcept { return manager_; }
  Manager *let_go() noexcept { return std::exchange(manager_, nullptr); }
  explicit operator bool() const noexcept { return manager_ != nullptr; }

 private:
  Manager *manager_ = nullptr;
};

// The manager of a device, made at the first use.
HeldManager manager_of(cai_device device);

// Makes a manager by name: built in, registered, or from a library.
HeldManager make_manager(const char *name, const void *params, cai_device device,
                         Manager *upstream);

}  // namespace cai::managers
