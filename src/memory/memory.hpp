// SPDX-License-Identifier: BSD-3-Clause
// Reference-counted memory: its facts, and how it is freed.
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
  device::HeldStream stream;  // empty: none
  std::uint64_t thread = 0;   // whose stream 2 it is

  FreeStream() = default;
  explicit FreeStream(device::HeldStream its_stream) noexcept;
};

}  // namespace cai::memory

// The owner keeps the uses of the memory: arrays of it name it as their keeper. There is one
// reference for each cai_memory_retain(), each array and each view. Memory is freed once the last
// reference is released, or by cai_memory_free(), and nothing else has a claim: host work that uses
// it.
struct cai_memory : cai_owner {
  cai_memory(cai_device device, std::uint32_t kind);
  cai_memory(const cai_memory &) = delete;
  cai_memory &operator=(const cai_memory &) = delete;
  ~cai_memory();

  static void retain_owner(cai_owner *owner) noexcept;
  static void release_owner(cai_owner *owner) noexcept;

  std::atomic<std::uint64_t> holders{1};
  std::atomic<std::uint64_t> claims{1};  // one for all references, and others
  std::atomic<int> lives{2};             // of the references, and of the memory to be freed
  std::atomic<bool> freed{false};        // by hand, or by the last release

  // Its description: all but the momentary flags and the stream.
  cai_memory_info facts{};

  // Gives it back, and throws what fails. In the order of a stream if `ordered`; else once all work
  // that uses it is complete.
  void (*give_back)(cai_memory &memory, std::uint64_t stream) = nullptr;
  bool ordered = false;
  bool at_once = false;  // it is not for work on its stream: pinned, where it was before

  // For give_back.
  cai::managers::HeldManager manager;
  cai_block block{};
  std::uint32_t block_kind = CAI_KIND_NONE;
  void (*release_foreign)(void *context) = nullptr;
  void *context = nullptr;
  const cai_array *found_by = nullptr;  // owned: the keeper may go with it
  std::uint64_t begun_in = 0;  // the capture that its stream was in as an array's use began

  std::uint64_t epoch = 0;      // of a GPU's primary context; 0: of none
  std::int32_t epoch_gpu = 0;   // whose: of the CPU's memory, that which has pinned it
  const std::uint64_t process;  // see device::forks()
  cai_memory *whole = nullptr;  // of a view: what it is a part of, held
  bool entered = false;         // in the registry, under its address
  cai_memory **link = nullptr;  // what points to it among those there that no address finds
  cai_memory *after = nullptr;  // the next one among them
  bool counted = false;         // among what is out
  cai_memory *next = nullptr;   // of those whose end is to be tried again

  cai::Lock lock;  // for the three that follow
  cai::memory::FreeStream free_stream;
  std::vector<cai::memory::FreeStream> former_streams;
  bool has_said_none = false;  // by an array on a GPU

  // Its memory may be used: neither a call nor a reset has freed it.
  bool is_alive() const noexcept;
  // By hand, or by the last release; or the array that it was found by is freed.
  bool is_freed() const noexcept;
  // A reset has destroyed its context, even if it was freed before.
  bool has_lost_context() const noexcept;
  // Whether the process can still do something to it.
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
  cai_memory *let_go() noexcept { return std::exchange(memory_, nullptr); }

 private:
  cai_memory *memory_ = nullptr;
};

// What keeps the uses of an array, if it is memory of libcai's; else null.
inline cai_memory *memory_under(const cai_array &array) noexcept {
  cai_owner *const keeper = keeper_of(array);
  const bool is_memory = keeper && keeper->retain == cai_memory::retain_owner;
  return is_memory ? static_cast<cai_memory *>(keeper) : nullptr;
}

// The handle alone, of nothing yet: give_back is unset, and may stay so.
HeldMemory new_memory(cai_device device, std::uint32_t kind);

// All of it, not to be written.
HeldMemory read_only_view_of(cai_memory &memory);

// Lets addresses in it be looked up, until it is taken out.
void enter(cai_memory &memory);
// Enters other memory for a reset to find and mark its arrays, until it is taken out.
void enter_if_it_may_die(cai_memory &memory) noexcept;
void take_out_of_registry(cai_memory &memory) noexcept;
// Forgets memory that a reset has freed: its addresses may be allocated again.
void forget_dead() noexcept;

// Adds a reference, unless the last one was released.
inline bool hold_if_held(cai_memory &memory) noexcept {
  std::uint64_t holders = memory.holders.load(std::memory_order_relaxed);
  while (holders != 0) {
    if (memory.holders.compare_exchange_weak(holders, holders + 1, std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// The device must be one; of a GPU the epoch is noted.
void note_device(cai_memory &memory);
// Memory of the CPU's that a GPU has pinned goes with that one's context.
void note_epoch(cai_memory &memory, cai_device device);

// What a caller asks for. Throws CAI_ERR_ARGUMENT for no request, or one of no size, and
// CAI_ERR_VALUE where something is set that this libcai does not know.
cai_request read_request(const cai_request *given);

// The stream of a request: that one, or the thread's current one. Throws CAI_ERR_VALUE if it is
// another device's.
device::HeldStream stream_or_current(cai_stream *stream, cai_device device);

// Throws CAI_ERR_ARGUMENT for NULL, CAI_ERR_STATE for memory that is dead.
cai_memory &require_live(cai_memory *memory);

// Throws CAI_ERR_STATE for an array of memory that is dead.
void require_not_freed(const cai_array &array);

// A claim for work of the host's that a CPU's stream is to do: nothing to be freed before it ends.
// Throws CAI_ERR_STATE if it was freed.
void claim(cai_memory &memory);
void end_claim(cai_memory &memory) noexcept;
// One until the stream has passed what is queued there by now.
void claim_until_passed(cai_memory &memory, cai_stream *stream);

// One for as long as a function works on what the memory keeps: others may free it meanwhile.
class Claim {
 public:
  explicit Claim(cai_memory &memory) : memory_(memory) { claim(memory); }
  Claim(const Claim &) = delete;
  Claim &operator=(const Claim &) = delete;
  ~Claim() { end_claim(memory_); }

 private:
  cai_memory &memory_;
};

// Frees it as soon as nothing has a claim. The caller that has set `freed` calls it first. A later
// failure is reported.
cai_status let_go(cai_memory &memory, cai_error *error) noexcept;

// The references are released, or the memory is freed.
void end_life(cai_memory &memory) noexcept;

// Retries frees that failed because of a capture, out of memory or the driver, until too many fail
// again. Failures are reported, unless `failed` collects them.
void retry_ends(int most_refusals, driver::Faults *failed = nullptr) noexcept;

}  // namespace cai::memory
