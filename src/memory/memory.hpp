// SPDX-License-Identifier: BSD-3-Clause
// Reference-counted memory: its properties, and how it is freed.
#pragma once

#include <atomic>
#include <vector>

#include "core/lock.hpp"
#include "device/stream.hpp"
#include "managers/manager.hpp"
#include "order/owned.hpp"

namespace cai::memory {

// A stream in whose order memory is freed.
struct FreeStream {
  device::HeldStream stream;  // empty: no stream
  std::uint64_t thread = 0;   // whose stream 2 it is

  FreeStream() = default;
  explicit FreeStream(device::HeldStream its_stream) noexcept;
};

}  // namespace cai::memory

// The owner keeps the uses of the memory: arrays of the memory name it as their keeper. There is
// one reference for each cai_memory_retain(), each array and each view. Memory is freed once it has
// no claims: the last release, or cai_memory_free(), ends the first one, and work on the host that
// uses it has more.
struct cai_memory : cai_owner {
  cai_memory(cai_device device, std::uint32_t kind);
  cai_memory(const cai_memory &) = delete;
  cai_memory &operator=(const cai_memory &) = delete;
  ~cai_memory();

  static void retain_owner(cai_owner *owner) noexcept;
  static void release_owner(cai_owner *owner) noexcept;

  // What a look-up reads is together here, so that it reads few cache lines.
  std::atomic<std::uint64_t> holders{1};
  cai_memory *whole = nullptr;     // the memory that this is a view of, with a reference
  std::uint64_t epoch = 0;         // of a GPU's primary context; 0: no context
  std::int32_t epoch_gpu = 0;      // the GPU; for CPU memory the one that has pinned it
  std::atomic<bool> freed{false};  // by cai_memory_free(), by the last release, or by a reset

  std::atomic<int> lives{2};             // the references, and the memory until it is freed
  std::atomic<std::uint64_t> claims{1};  // one for all references, and others

  // Its description, without the flags that change and the stream.
  cai_memory_info facts{};

  // Frees the memory; throws on failure. In the order of a stream if `ordered`; else after all uses
  // are complete.
  void (*give_back)(cai_memory &memory, std::uint64_t stream) = nullptr;
  bool ordered = false;
  bool unused = false;            // no use is pending: its manager could not free it yet
  bool has_left_streams = false;  // its uses cover what is pending there, and they may be gone
  bool at_once = false;           // not for work on its stream: it was pinned from existing memory
  bool outlives_context = false;  // the driver does not end it with that: a reset must free it
  std::atomic<bool> freed_by_reset{false};  // and nobody has called cai_memory_free() since

  // For give_back.
  cai::managers::HeldManager manager;
  cai_block block{};
  std::uint32_t block_kind = CAI_KIND_NONE;
  void (*release_foreign)(void *context) = nullptr;
  void *context = nullptr;
  const cai_array *found_by = nullptr;  // a view of the array; its keeper may end with it
  std::uint64_t begun_in = 0;           // the capture of its stream when the use of an array began

  const std::uint64_t process;  // see forks()
  bool entered = false;         // in the registry, by its address
  cai_memory **link = nullptr;  // the link to it in the registry's list of memory without address
  cai_memory *after = nullptr;  // the next one in that list
  bool counted = false;         // in the amount of allocated memory
  cai_memory *next = nullptr;   // in the list of those whose free is tried again

  cai::Lock lock;  // guards the next three
  cai::memory::FreeStream free_stream;
  std::vector<cai::memory::FreeStream> former_streams;
  bool has_said_none = false;  // an array on a GPU came with None

  // Whether its memory may be used: neither a call nor a reset has freed it.
  bool is_alive() const noexcept;
  // Whether a call or the last release has freed it, or the array from which it was made.
  bool is_freed() const noexcept;
  // Whether a reset has destroyed its context, even if it was freed before.
  bool has_lost_context() const noexcept;
  // Whether this process can still free it.
  bool is_reachable() const noexcept;

  bool is_of_gpu() const noexcept { return facts.device.type == CAI_DEVICE_CUDA; }
  cai_memory &root() noexcept { return whole ? *whole : *this; }
  const cai_memory &root() const noexcept { return whole ? *whole : *this; }
};

namespace cai::memory {

// A reference to memory.
class HeldMemory {
 public:
  HeldMemory() = default;
  explicit HeldMemory(cai_memory *memory) noexcept : memory_(memory) {}
  HeldMemory(HeldMemory &&other) noexcept : memory_(other.let_go()) {}
  HeldMemory &operator=(HeldMemory other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~HeldMemory() { cai_memory_release(memory_); }

  cai_memory *operator->() const noexcept { return memory_; }
  cai_memory &operator*() const noexcept { return *memory_; }
  cai_memory *get() const noexcept { return memory_; }
  cai_memory *let_go() noexcept { return std::exchange(memory_, nullptr); }

 private:
  cai_memory *memory_ = nullptr;
};

// The memory that keeps the uses of an array, if that is libcai's; else null.
inline cai_memory *memory_under(const cai_array &array) noexcept {
  cai_owner *const keeper = keeper_of(array);
  const bool is_memory = keeper && keeper->retain == cai_memory::retain_owner;
  return is_memory ? static_cast<cai_memory *>(keeper) : nullptr;
}

// A new handle without memory: give_back is unset, and may stay so.
HeldMemory new_memory(cai_device device, std::uint32_t kind);

// A read-only view of all the memory.
HeldMemory read_only_view_of(cai_memory &memory);

// Adds the memory to the registry, so that addresses in it are found, until it is removed.
void enter(cai_memory &memory);
// Adds memory without an address to the registry, so that a reset can mark it, until it is removed.
void enter_if_it_may_die(cai_memory &memory) noexcept;
void take_out_of_registry(cai_memory &memory) noexcept;
// Removes memory that a reset has freed: its addresses may be allocated again.
void forget_dead() noexcept;

// Adds a reference, unless the last one has been released.
inline bool hold_if_held(cai_memory &memory) noexcept {
  std::uint64_t holders = memory.holders.load(std::memory_order_relaxed);
  while (holders != 0) {
    if (memory.holders.compare_exchange_weak(holders, holders + 1, std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// Throws if the device is invalid. For a GPU it notes the epoch.
void note_device(cai_memory &memory);
// CPU memory that a GPU has pinned ends with the GPU's context.
void note_epoch(cai_memory &memory, cai_device device);

// Validates a caller's request. Throws CAI_ERR_ARGUMENT if it is NULL or its struct_size is too
// small, and CAI_ERR_VALUE if a field is set that this libcai does not know.
cai_request read_request(const cai_request *given);

// The request's stream, or the thread's current one. Throws CAI_ERR_VALUE if it is another
// device's.
device::HeldStream stream_or_current(cai_stream *stream, cai_device device);

// Throws CAI_ERR_ARGUMENT for NULL, CAI_ERR_STATE for memory that was freed.
cai_memory &require_live(cai_memory *memory);

// Throws CAI_ERR_STATE for an array of memory that was freed.
void require_not_freed(const cai_array &array);

// Adds a claim for work of a CPU stream: the memory is not freed before the claim ends. Throws
// CAI_ERR_STATE if it was freed.
void claim(cai_memory &memory);
void end_claim(cai_memory &memory) noexcept;
// The same for memory that cai_memory_find() finds at an address; null if there is none.
cai_memory *claim_at(std::uint64_t address) noexcept;
// Adds a claim until the stream has completed the work that is queued there now. A reset of the
// memory's context waits until then.
void claim_until_passed(cai_memory &memory, cai_stream *stream);

// A claim for as long as a function uses the memory: other threads may free it meanwhile.
class Claim {
 public:
  explicit Claim(cai_memory &memory) : memory_(memory) { claim(memory); }
  Claim(const Claim &) = delete;
  Claim &operator=(const Claim &) = delete;
  ~Claim() { end_claim(memory_); }

 private:
  cai_memory &memory_;
};

// Frees the memory as soon as it has no claims. The caller must have set `freed`, and have been the
// first to do so. Later failures are reported.
cai_status let_go(cai_memory &memory, cai_error *error) noexcept;

// Called when the references are released, and when the memory is freed.
void end_life(cai_memory &memory) noexcept;

// Retries frees that failed because of a capture, a lack of memory or the driver, until
// `most_refusals` have failed again. `waits`: waits for the work that they wait for. Reports
// failures, unless `failed` collects them.
void retry_ends(int most_refusals, bool waits = false, driver::Faults *failed = nullptr) noexcept;

}  // namespace cai::memory
