// SPDX-License-Identifier: BSD-3-Clause
// Memory of the simulated devices, and the registry of every address the driver knows.
//
// Each byte of an arena is mapped twice: where the client sees it, out of reach unless the host may
// touch that kind of memory, and where the driver itself works on it.
#pragma once

#include "objects.h"

namespace simcuda {

inline constexpr int fresh_poison = 0xCB;  // what memory holds that nobody has written yet
inline constexpr int freed_poison = 0xDB;  // what a read of freed memory yields

class Arena {
 public:
  Arena();

  struct Block {
    std::uintptr_t address = 0;
    std::byte *bytes = nullptr;
  };
  // A page without an owner lies between any two blocks. Addresses are used again only once all
  // have been used.
  Block take(std::size_t size, bool host_access);
  // The same, for memory that lies in a file of another process, or in another arena.
  Block map(int file, std::uint64_t offset, std::size_t size);
  // The bytes are gone; the address is kept,
  void empty(std::uintptr_t address, std::size_t size);
  // or given back with them.
  void release(std::uintptr_t address, std::size_t size);
  // After `map`: the arena's own bytes are there again.
  void unmap(std::uintptr_t address, std::size_t size);
  bool contains(std::uintptr_t address) const { return address - client_ < size_; }
  int file() const { return file_; }
  std::uint64_t offset(std::uintptr_t address) const { return address - client_; }

 private:
  std::size_t find_room(std::size_t size);

  std::uintptr_t client_ = 0;
  std::byte *driver_ = nullptr;
  std::size_t size_ = 0, next_ = 0, usable_ = 0;
  std::size_t guarded_ = 0;                      // blocks that the host may touch
  std::map<std::size_t, std::size_t> released_;  // sizes by offset, with the page behind each
  int file_ = -1;
};

// One end of a copy, or the target of a memset.
struct Place {
  AllocationPtr allocation;  // null: pageable host memory
  std::uintptr_t address = 0;
  std::byte *bytes = nullptr;

  bool pageable() const { return !allocation; }
  bool on_host() const { return !allocation || allocation->on_host(); }
  // What a plain write of the host would see at once: memset must not be late there.
  bool host_visible() const { return !allocation || allocation->kind != Allocation::Kind::device; }
};

class Memory {
 public:
  // Told of an address that is refused because a stream was told to free it.
  using Stale = std::function<void(const AllocationPtr &, std::uintptr_t, std::size_t)>;

  Memory(int devices, Stale stale) : stale_(std::move(stale)), device_arenas_(devices) {}

  AllocationPtr allocate(Allocation::Kind kind, int device, std::size_t size, unsigned flags);
  // Device memory that no address names.
  AllocationPtr allocate_hidden(int device, std::size_t size);
  void free_hidden(Allocation &allocation);
  // Addresses without memory; they are not a device's.
  std::uintptr_t reserve(std::size_t size);
  void end_reservation(std::uintptr_t address, std::size_t size);
  // Hidden memory at such an address, and its end.
  AllocationPtr map_at(std::uintptr_t address, const Allocation &hidden, std::size_t size);
  void unmap(Allocation &allocation);
  // Memory where some was freed, or will have been.
  AllocationPtr reuse(const Allocation &before, std::size_t size);
  // Device memory of another process.
  AllocationPtr map(int file, std::uint64_t offset, std::size_t size, int device);
  AllocationPtr register_host(void *pointer, std::size_t size, int device, unsigned flags);
  // Ends an allocation. What still refers to it reads poison and writes nowhere. Its address may be
  // kept, for a pool.
  enum class Address { given_back, kept };
  void free(Allocation &allocation, Address address = Address::given_back);
  // An address that was kept.
  void give_back(const Allocation &allocation);
  // Where device memory is in a file, for other processes.
  int file_of(const Allocation &allocation) const;
  std::uint64_t offset_of(const Allocation &allocation) const;

  AllocationPtr find(std::uintptr_t address) const;
  AllocationPtr find_base(std::uintptr_t address) const;
  bool overlaps(std::uintptr_t address, std::size_t size) const;
  // What was there until it was freed in stream order; null if that is not known.
  AllocationPtr freed(std::uintptr_t address) const;
  std::vector<AllocationPtr> all() const;
  // Where an address leads that a kernel cannot use: a sentence.
  std::string describe(std::uintptr_t address) const;
  // These are not reported any more.
  void forget_freed() { freed_.clear(); }

  // An address that a copy may use for `span` bytes. Unknown addresses are pageable host memory,
  // unless they are the driver's own: then they were freed, or never allocated.
  Place place(std::uintptr_t address, std::size_t span) const;
  // While one of these lives, memory of graphs is there that a launch has freed: what is named will
  // be used at launches.
  class AtLaunches {
   public:
    explicit AtLaunches(Memory &memory) : memory_(memory) { ++memory_.at_launches_; }
    ~AtLaunches() { --memory_.at_launches_; }
    AtLaunches(const AtLaunches &) = delete;
    AtLaunches &operator=(const AtLaunches &) = delete;

   private:
    Memory &memory_;
  };
  // The same for an argument that must be device-accessible.
  Place device_place(std::uintptr_t address, std::size_t span) const;

 private:
  void add(const AllocationPtr &allocation);
  // Whether it lies where allocations do.
  bool is_ours(std::uintptr_t address) const;
  Arena &arena_of(const Allocation &allocation);
  void remember(const Allocation &allocation);

  struct Gone {
    Allocation::Kind kind;
    std::uintptr_t address;
    std::size_t size;
  };

  const Stale stale_;
  // The last of those that were freed in the order of a stream. Addresses grow.
  std::map<std::uintptr_t, AllocationPtr> freed_;
  std::deque<Gone> gone_;  // the last of all that were freed
  std::vector<Arena> device_arenas_;
  Arena shared_;   // managed and host memory: the host may touch it
  Arena aliases_;  // device addresses of host memory that has another one there
  std::map<std::uintptr_t, AllocationPtr> by_address_;
  std::uint64_t last_buffer_id_ = 0;
  int at_launches_ = 0;
};

void copy_bytes(const Place &to, std::size_t to_offset, const Place &from, std::size_t from_offset,
                std::size_t size);
void fill_bytes(const Place &to, std::size_t offset, std::uint32_t value, unsigned width,
                std::size_t count);

}  // namespace simcuda
