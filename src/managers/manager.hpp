// SPDX-License-Identifier: BSD-3-Clause
// A manager at work for one device: its table's functions, and what libcai does around them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "cai/memory.h"
#include "core/error.hpp"
#include "device/device.hpp"
#include "managers/tables.hpp"

namespace cai::managers {

// While it lives, the calling thread is inside of a manager's function.
class InManager {
 public:
  // `manager` is anything that tells it from others.
  InManager(const void *manager, std::string_view function) noexcept
      : manager_(manager), function_(function), outer_(std::exchange(innermost, this)) {}
  InManager(const InManager &) = delete;
  InManager &operator=(const InManager &) = delete;
  ~InManager() { innermost = outer_; }
  static bool is_here() noexcept { return innermost != nullptr; }
  // How many calls of this function the thread is inside of.
  static int depth_of(const void *manager, std::string_view function) noexcept;

 private:
  const void *const manager_;
  const std::string_view function_;
  const InManager *const outer_;
  constinit static thread_local const InManager *innermost;
};

// Throws where the thread is inside of so many calls of this function that it must be calling
// itself, through libcai, without end. A few are none: a finalizer that Python runs inside of it
// may allocate or free, too.
void require_an_end(const void *manager, const char *name, const char *function);

// The driver failed before a manager could be called: the caller may try again.
class NotAsked : public Failure {
 public:
  explicit NotAsked(const Failure &why) : Failure(why) {}
};

// The context of a caller's functions, and what ends it.
struct Companion {
  void (*destroy)(void *context) = nullptr;
  void *context = nullptr;
};

}  // namespace cai::managers

// All functions throw Failure. Those named as in the table are to be called with the GPU's primary
// context current, as wrappers are; the others see to that.
struct cai_manager {
 public:
  // Makes a manager; the caller owns one reference. Calls the table's `create`.
  static cai_manager *make(const cai_manager_table &table, const void *params, cai_device device,
                           cai_manager *upstream);
  cai_manager(const cai_manager &) = delete;
  cai_manager &operator=(const cai_manager &) = delete;

  void retain() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;
  // False if the last reference was released already.
  bool retain_if_held() noexcept;

  const char *name() const noexcept { return table_.name; }
  cai_device device() const noexcept { return device_; }
  cai_manager *upstream() const noexcept { return upstream_; }
  void *self() const noexcept { return self_; }
  // Whether it was made from this table.
  bool is_of(const cai_manager_table &table) const noexcept {
    return table_.create == table.create;
  }
  // Whether the device's primary context is still the one that it was made in.
  bool is_alive() const noexcept;
  void require_alive() const;

  // ---- What callers want ----

  // Of any kind: memalloc or memhostalloc. `align` is a power of two, `size` not 0.
  cai_block allocate(uint64_t size, uint64_t align, uint32_t kind, uint32_t flags, uint64_t stream);
  // Nothing once the device was reset or the driver is gone. The block is not freed again, even if
  // this fails (but for a capture).
  void free(const cai_block &block, uint32_t kind, uint64_t stream) {
    free_it(block, kind, stream, asks_in_captures(kind));
  }
  // The same for callers that can try again: in a capture of the stream nothing is freed. No event
  // could tell there of what was queued before. Throws NotAsked where the driver forbids the call.
  void free_outside_captures(const cai_block &block, uint32_t kind, uint64_t stream) {
    free_it(block, kind, stream, looks_for_captures(kind));
  }
  cai_block pin(void *host, uint64_t size, uint32_t kind, uint32_t flags);
  void unpin(const cai_block &block);
  // The allocation around an address, as its owner knows it, else the driver: base and size.
  std::pair<uint64_t, uint64_t> base(uint64_t address);
  std::pair<uint64_t, uint64_t> memory();  // free and total
  void trim(uint64_t keep);
  void reset();

  // Ends with the manager.
  void keep(const cai::managers::Companion &companion) noexcept { companion_ = companion; }

  // Runs `body` with the GPU's primary context current.
  template <class Body>
  void within(Body &&body) {
    if (device_.type == CAI_DEVICE_CPU) return std::forward<Body>(body)();
    cai::driver::Session session;
    session.in(context_, std::forward<Body>(body));
    session.finish();
  }

  // The same for what ends something for good: it is tried where the context cannot be entered,
  // too.
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

  // ---- What the table has, for wrappers and for code that is within() ----

  // Short of memory, has freed what is pending and asked once more.
  cai_block memalloc(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream);
  void memfree(const cai_block &block, uint64_t stream);
  // These are the nearest manager's that has them, upstream, or else the library's.
  cai_block memhostalloc(uint64_t size, uint64_t align, uint32_t kind, uint32_t flags);
  void memhostfree(const cai_block &block);
  cai_block mempin(void *host, uint64_t size, uint32_t kind, uint32_t flags);
  void memunpin(const cai_block &block);

  // Calls an optional function of the nearest manager, upstream, that has it. False if none has.
  //
  //   if (!manager.ask<&cai_manager_table::get_ipc_handle>("get_ipc_handle", &block, &out, &fd))
  template <auto entry, class... Arguments>
  bool ask(const char *what, Arguments... arguments) {
    for (cai_manager *one = this; one; one = one->upstream_) {
      if (!(one->table_.*entry)) continue;
      one->call(one->table_.*entry, what, arguments...);
      return true;
    }
    return false;
  }

  // Whether a manager that is not built in, this one or one upstream, has an optional function.
  // What is built in hands on what the library gives.
  template <auto entry>
  bool has_foreign() const noexcept {
    for (const cai_manager *one = this; one; one = one->upstream_) {
      if (one->table_.*entry && !cai::managers::is_built_in(one->table_)) return true;
    }
    return false;
  }

  // Whether this manager, or one upstream, has an optional function.
  template <auto entry>
  bool has() const noexcept {
    for (const cai_manager *one = this; one; one = one->upstream_) {
      if (one->table_.*entry) return true;
    }
    return false;
  }

 private:
  cai_manager(const cai_manager_table &table, cai_device device, cai_manager *upstream) noexcept;
  ~cai_manager();

  // Calls a function of the table, and throws what it says.
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
  void end() noexcept;  // and the handle with it
  [[noreturn]] void fail_as(const char *what, cai_status status, cai_error &error) const;
  void initialize_before(const char *what);
  // Whether the manager itself refuses memory of a kind where its stream is being captured.
  bool looks_for_captures(uint32_t kind) const noexcept;
  // Whether it is called there for memory of a kind: foreign managers need not know of captures.
  bool asks_in_captures(uint32_t kind) const noexcept {
    return kind != CAI_KIND_ASYNC || is_built_in_ || device_.type == CAI_DEVICE_CPU;
  }
  void free_it(const cai_block &block, uint32_t kind, uint64_t stream, bool in_captures_too);

  // Calls `body` once more if memory is short and `make_room` could free something, or nobody
  // upstream has tried.
  template <class Body, class MakeRoom>
  void retry_once(Body &&body, MakeRoom &&make_room);
  // Frees what is not as it was asked for, and throws.
  template <class Free>
  void require_given(const cai_block &block, uint64_t address, uint64_t size, uint64_t align,
                     const char *what, Free &&free);

  cai_manager_table table_;
  const cai_device device_;
  cai_manager *const upstream_;
  const bool is_built_in_;  // with all upstream
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

// The manager of a device; made at the first need.
HeldManager manager_of(cai_device device);

// Makes one by name: built in, registered, or of a library.
HeldManager make_manager(const char *name, const void *params, cai_device device,
                         Manager *upstream);

}  // namespace cai::managers
