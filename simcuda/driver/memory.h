// SPDX-License-Identifier: BSD-3-Clause
// Memory of the simulated devices, and the registry of all addresses that the driver knows.
//
// Each byte of an arena is mapped twice: where the client sees it, inaccessible unless the host may
// access that kind of memory, and where the driver works on it.
#pragma once

#include "objects.h"

namespace simcuda {

inline constexpr int fresh_poison = 0xCB;  // the contents of memory that nobody has written
inline constexpr int freed_poison = 0xDB;  // the result of reading freed memory

class Arena {
 public:
  Arena();

  struct Block {
    std::uintptr_t address = 0;
    std::byte *bytes = nullptr;
  };
  // An unused page lies between any two blocks. Addresses are used again only once all have been
  // used.
  Block take(std::size_t size, bool host_access);
  // The same for memory in a file of another process, or in another arena.
  Block map(int file, std::uint64_t offset, std::size_t size);
  // Discards the bytes, and keeps the address,
  void empty(std::uintptr_t address, std::size_t size);
  // or frees it, too.
  void release(std::uintptr_t address, std::size_t size);
  // After `map`: restores the arena's own bytes.
  void unmap(std::uintptr_t address, std::size_t size);
  bool contains(std::uintptr_t address) const { return address - client_ < size_; }
  int file() const { return file_; }
  std::uint64_t offset(std::uintptr_t address) const { return address - client_; }

 private:
  std::size_t find_room(std::size_t size);

  std::uintptr_t client_ = 0;
  std::byte *driver_ = nullptr;
  std::size_t size_ = 0, next_ = 0, usable_ = 0;
  std::size_t guarded_ = 0;                      // blocks that the host can access
  std::map<std::size_t, std::size_t> released_;  // sizes by offset, each with the page behind it
  int file_ = -1;
};

// One end of a copy, or the target of a memset.
struct Place {
  AllocationPtr allocation;  // null: pageable host memory
  std::uintptr_t address = 0;
  std::byte *bytes = nullptr;

  bool pageable() const { return !allocation; }
  bool on_host() const { return !allocation || allocation->on_host(); }
  // Whether plain code of the host could see a memset at once, so that it must not be late.
  bool host_visible() const { return !allocation || allocation->kind != Allocation::Kind::device; }
};

class Memory {
 public:
  // Called if an address is rejected because the memory was freed in stream order.
  using Stale = std::function<void(const AllocationPtr &, std::uintptr_t, std::size_t)>;

  Memory(int devices, Stale stale) : stale_(std::move(stale)), device_arenas_(devices) {}

  AllocationPtr allocate(Allocation::Kind kind, int device, std::size_t size, unsigned flags);
  // Device memory without an address. `track`: whether to note which bytes are written.
  enum class Track { nothing, written };
  AllocationPtr allocate_hidden(int device, std::size_t size, Track track = Track::nothing);
  void free_hidden(Allocation &allocation);
  // Addresses without memory, of no particular device.
  std::uintptr_t reserve(std::size_t size);
  void end_reservation(std::uintptr_t address, std::size_t size);
  // Maps hidden memory at such an address; unmap() ends that.
  AllocationPtr map_at(std::uintptr_t address, const Allocation &hidden, std::size_t size);
  void unmap(Allocation &allocation);
  // Allocates at the place of memory that was freed, or will have been.
  AllocationPtr reuse(const Allocation &before, std::size_t size);
  // Device memory of another process.
  AllocationPtr map(int file, std::uint64_t offset, std::size_t size, int device);
  AllocationPtr register_host(void *pointer, std::size_t size, int device, unsigned flags);
  // Ends an allocation. Later reads of it return poison, and writes are dropped. A pool may keep
  // its address.
  enum class Address { given_back, kept };
  void free(Allocation &allocation, Address address = Address::given_back);
  // Frees an address that was kept.
  void give_back(const Allocation &allocation);
  // The file and offset of device memory, for other processes.
  int file_of(const Allocation &allocation) const;
  std::uint64_t offset_of(const Allocation &allocation) const;

  AllocationPtr find(std::uintptr_t address) const;
  AllocationPtr find_base(std::uintptr_t address) const;
  bool overlaps(std::uintptr_t address, std::size_t size) const;
  // The allocation that was there until it was freed in stream order; null if unknown.
  AllocationPtr freed(std::uintptr_t address) const;
  std::vector<AllocationPtr> all() const;
  // Describes an address that a kernel cannot use, in a sentence.
  std::string describe(std::uintptr_t address) const;
  // Forgets the allocations that freed() finds.
  void forget_freed() { freed_.clear(); }

  // The memory of an address that a copy may use for `span` bytes. Unknown addresses are pageable
  // host memory, unless they are the driver's: then they were freed, or never allocated.
  Place place(std::uintptr_t address, std::size_t span) const;
  // While one exists, graph memory that a launch has freed counts as allocated: the address will be
  // used at launches.
  class AtLaunches {
   public:
    explicit AtLaunches(Memory &memory) : memory_(memory) { ++memory_.at_launches_; }
    ~AtLaunches() { --memory_.at_launches_; }
    AtLaunches(const AtLaunches &) = delete;
    AtLaunches &operator=(const AtLaunches &) = delete;

   private:
    Memory &memory_;
  };
  // The same for an argument that must be accessible by the device.
  Place device_place(std::uintptr_t address, std::size_t span) const;

 private:
  void add(const AllocationPtr &allocation);
  // Whether the address is in the range of the driver's allocations.
  bool is_ours(std::uintptr_t address) const;
  Arena &arena_of(const Allocation &allocation);
  void remember(const Allocation &allocation);

  struct Gone {
    Allocation::Kind kind;
    std::uintptr_t address;
    std::size_t size;
  };

  const Stale stale_;
  // The last allocations freed in stream order. Their addresses grow.
  std::map<std::uintptr_t, AllocationPtr> freed_;
  std::deque<Gone> gone_;  // the last of all freed allocations
  std::vector<Arena> device_arenas_;
  Arena shared_;   // managed and host memory, which the host can access
  Arena aliases_;  // device addresses of host memory that has another address there
  std::map<std::uintptr_t, AllocationPtr> by_address_;
  std::uint64_t last_buffer_id_ = 0;
  int at_launches_ = 0;
};

void copy_bytes(const Place &to, std::size_t to_offset, const Place &from, std::size_t from_offset,
                std::size_t size);
void fill_bytes(const Place &to, std::size_t offset, std::uint32_t value, unsigned width,
                std::size_t count);

}  // namespace simcuda
