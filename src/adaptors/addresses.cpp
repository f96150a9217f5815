// SPDX-License-Identifier: BSD-3-Clause
#include "adaptors/addresses.hpp"

#include <array>
#include <atomic>
#include <cinttypes>
#include <mutex>
#include <unordered_map>

#include "adaptors/calls.hpp"
#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "core/must_not_await.hpp"

namespace cai::adaptors {
namespace {

// Allocated blocks by address. The table holds a reference to each block, so a double free, or the
// free of an unknown address, frees nothing. It is divided into parts, so that threads rarely
// contend.
class Table {
 public:
  // A reset freed the previous block at the address; `memory` releases it after the lock.
  void add(std::uint64_t address, Held<cai_memory> &memory) {
    Part &part = part_of(address);
    const std::lock_guard lock(part.mutex);
    std::swap(part.blocks[address], memory);
  }

  // Removes a block from the table; empty if there is none.
  Held<cai_memory> take(std::uint64_t address) {
    Part &part = part_of(address);
    const std::lock_guard lock(part.mutex);
    const auto found = part.blocks.find(address);
    if (found == part.blocks.end()) return {};
    Held<cai_memory> memory = std::move(found->second);
    part.blocks.erase(found);
    return memory;
  }

  // A new reference to a block; empty if the address has none.
  Held<cai_memory> find(std::uint64_t address) {
    Part &part = part_of(address);
    const std::lock_guard lock(part.mutex);
    const auto found = part.blocks.find(address);
    if (found == part.blocks.end()) return {};
    cai_memory_retain(found->second.get());
    return Held<cai_memory>(found->second.get());
  }

 private:
  struct alignas(64) Part {
    GlobalLock mutex;
    std::unordered_map<std::uint64_t, Held<cai_memory>> blocks;
  };

  // Blocks begin at multiples of 256 bytes, and often at multiples of much more.
  Part &part_of(std::uint64_t address) {
    return parts_[((address >> 8) * 0x9E3779B97F4A7C15u) >> 58];
  }

  std::array<Part, 64> parts_;
};

Table &table() {
  return immortal<Table>();
}

// The GPUs on which memory was allocated.
std::array<std::atomic<bool>, 256> used;

cai_device gpu(int32_t ordinal) {
  return {CAI_DEVICE_CUDA, ordinal};
}

Held<cai_stream> wrapped(cai_device device, std::uint64_t value) {
  cai_stream *stream = nullptr;
  call(cai_stream_wrap, device, value ? value : 1, nullptr, nullptr, &stream);
  return Held<cai_stream>(stream);
}

// The stream of a GPU that the caller does not name: that of the memory, or the stream's own.
Held<cai_stream> wrapped_near(cai_device device, std::uint64_t value) {
  int32_t count = 0;
  call(cai_device_count, CAI_DEVICE_CUDA, &count);
  for (int32_t other = -1; other < count; ++other) {
    try {
      return wrapped(other < 0 ? device : gpu(other), value);
    } catch (const Failure &failure) {
      if (failure.error().status != CAI_ERR_DEVICE) throw;
    }
  }
  throw Failure(CAI_ERR_DEVICE, {CAI_ENTRY_STREAM}, "stream 0x%" PRIx64 " is not a GPU stream",
                value);
}

cai_memory_info described(const cai_memory *memory) {
  cai_memory_info info{};
  info.struct_size = sizeof info;
  call(cai_memory_describe, memory, &info);
  return info;
}

// Has the memory freed after the work on the stream. If its previous stream is being captured, it
// is still freed in the order of that one, and the work counts as a use.
void free_after(cai_memory *memory, cai_stream *stream) {
  if (cai_memory_set_stream(memory, stream, nullptr) == CAI_OK) return;
  call(cai_memory_record, memory, stream);
}

[[noreturn]] void not_here(std::uint64_t address) {
  throw Failure(CAI_ERR_STATE, {CAI_ENTRY_DATA},
                "the memory at 0x%" PRIx64 " was freed already, or is not of this allocator",
                address);
}

}  // namespace

std::uint64_t allocate(int32_t ordinal, std::uint64_t size, std::uint64_t stream) {
  if (size == 0) return 0;
  const Held<cai_stream> order = wrapped(gpu(ordinal), stream);
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = CAI_KIND_DEFAULT;
  request.size = size;
  request.stream = order.get();
  cai_memory *made = nullptr;
  call(cai_memory_alloc, gpu(ordinal), &request, &made);
  Held<cai_memory> memory(made);
  const std::uint64_t address = described(made).data;
  table().add(address, memory);
  used[static_cast<std::size_t>(ordinal) % used.size()].store(true, std::memory_order_relaxed);
  return address;
}

void free(std::uint64_t address, std::uint64_t stream) {
  if (address == 0) return;
  Held<cai_memory> memory = table().take(address);
  if (!memory) not_here(address);
  // Memory that a reset has freed has no stream any more.
  const cai_memory_info info = described(memory.get());
  if (info.flags & CAI_MEMORY_FREED || info.stream == (stream ? stream : 1)) return;
  try {
    free_after(memory.get(), wrapped(info.device, stream).get());
  } catch (...) {
    // Work on the stream may still use the memory, and nothing would wait for it.
    static_cast<void>(memory.release());
    throw;
  }
}

void record(std::uint64_t address, std::uint64_t stream) {
  if (address == 0) return;
  const Held<cai_memory> memory = table().find(address);
  if (!memory) not_here(address);
  const cai_device device = described(memory.get()).device;
  call(cai_memory_record, memory.get(), wrapped_near(device, stream).get());
}

void trim() noexcept {
  const MustNotAwait must_not_await;  // PyTorch may hold the GIL
  for (std::size_t ordinal = 0; ordinal < used.size(); ++ordinal) {
    if (!used[ordinal].load(std::memory_order_relaxed)) continue;
    reporting([&] {
      const cai_device device = gpu(static_cast<int32_t>(ordinal));
      cai_manager *manager = nullptr;
      call(cai_pending_flush, device);
      call(cai_manager_of, device, &manager);
      call(cai_manager_trim, Held<cai_manager>(manager).get(), std::uint64_t{0});
    });
  }
}

}  // namespace cai::adaptors
