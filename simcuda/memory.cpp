// SPDX-License-Identifier: BSD-3-Clause
#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace simcuda {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t most_freed = 4096;  // that are remembered
// As much address space as the process may reserve, between these bounds.
constexpr std::size_t largest_arena = std::size_t{256} << 30;
constexpr std::size_t smallest_arena = std::size_t{1} << 30;

// The driver's side becomes usable in pieces of this size, as allocations need it.
constexpr std::size_t step = std::size_t{64} << 20;

// Valgrind keeps a record of every page that is mapped, so it gets as few as will do.
std::size_t most_address_space() {
  const char *preloaded = std::getenv("LD_PRELOAD");
  const bool valgrind = preloaded && std::strstr(preloaded, "vgpreload");
  return valgrind ? smallest_arena : largest_arena;
}

std::size_t whole_pages(std::size_t size) {
  return (size + page - 1) / page * page;
}

}  // namespace

Arena::Arena() {
  file_ = memfd_create("simcuda", MFD_CLOEXEC);
  if (file_ < 0) throw std::bad_alloc{};
  for (size_ = most_address_space(); size_ >= smallest_arena; size_ /= 2) {
    if (ftruncate(file_, static_cast<off_t>(size_)) != 0) continue;
    void *client = mmap(nullptr, size_, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (client == MAP_FAILED) continue;
    void *driver = mmap(nullptr, size_, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (driver == MAP_FAILED) {
      munmap(client, size_);
      continue;
    }
    // The driver's side is nobody else's business: not a child's, not a core file's.
    madvise(driver, size_, MADV_DONTFORK);
    madvise(driver, size_, MADV_DONTDUMP);
    client_ = reinterpret_cast<std::uintptr_t>(client);
    driver_ = static_cast<std::byte *>(driver);
    return;
  }
  close(file_);
  throw std::bad_alloc{};
}

Arena::Block Arena::take(std::size_t size, bool host_access) {
  const std::size_t pages = whole_pages(size);
  if (pages < size || pages > size_ || next_ > size_ - pages) throw std::bad_alloc{};
  Block block{client_ + next_, driver_ + next_};
  if (host_access &&
      mprotect(reinterpret_cast<void *>(block.address), pages, PROT_READ | PROT_WRITE) != 0)
    throw std::bad_alloc{};
  while (usable_ < next_ + pages) {
    if (mprotect(driver_ + usable_, step, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc{};
    usable_ += step;
  }
  next_ += pages + page;
  return block;
}

void Arena::release(std::uintptr_t address, std::size_t size) {
  const std::size_t pages = whole_pages(size);
  mprotect(reinterpret_cast<void *>(address), pages, PROT_NONE);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(address - client_), static_cast<off_t>(pages));
}

void Memory::add(const AllocationPtr &allocation) {
  allocation->buffer_id = ++last_buffer_id_;
  by_address_[allocation->address] = allocation;
  if (allocation->alias) by_address_[allocation->alias] = allocation;
}

AllocationPtr Memory::allocate(Allocation::Kind kind, int device, std::size_t size,
                               unsigned flags) {
  const bool host_access = kind != Allocation::Kind::device;
  Arena &arena = host_access ? shared_ : device_arenas_.at(static_cast<std::size_t>(device));
  auto allocation = std::make_shared<Allocation>();
  const Arena::Block block = arena.take(size, host_access);
  allocation->kind = kind;
  allocation->device = device;
  allocation->address = block.address;
  allocation->bytes = block.bytes;
  allocation->size = size;
  allocation->flags = flags;
  // Write-combined host memory has another address on the device.
  if (kind == Allocation::Kind::host && (flags & CU_MEMHOSTALLOC_WRITECOMBINED))
    allocation->alias = aliases_.take(size, false).address;
  std::memset(block.bytes, fresh_poison, size);
  add(allocation);
  return allocation;
}

AllocationPtr Memory::reuse(std::uintptr_t address, std::byte *bytes, int device,
                            std::size_t size) {
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = Allocation::Kind::device;
  allocation->device = device;
  allocation->address = address;
  allocation->bytes = bytes;
  allocation->size = size;
  freed_.erase(address);
  add(allocation);
  return allocation;
}

AllocationPtr Memory::register_host(void *pointer, std::size_t size, int device, unsigned flags) {
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = Allocation::Kind::registered;
  allocation->device = device;
  allocation->address = reinterpret_cast<std::uintptr_t>(pointer);
  allocation->bytes = static_cast<std::byte *>(pointer);
  allocation->size = size;
  allocation->flags = flags;
  // The offset in the page stays, as it would for a mapped page.
  const std::size_t offset = allocation->address % page;
  allocation->alias = aliases_.take(offset + size, false).address + offset;
  add(allocation);
  return allocation;
}

void Memory::free(Allocation &allocation) {
  if (allocation.dead) return;
  allocation.dead = true;
  by_address_.erase(allocation.alias);
  const auto address = allocation.address;  // erasing may end the allocation's life
  const auto size = allocation.size;
  const auto kind = allocation.kind;
  const auto device = static_cast<std::size_t>(allocation.device);
  auto found = by_address_.find(address);
  // What is handed out again before its free has run belongs to somebody else by now.
  if (found == by_address_.end() || found->second.get() != &allocation) return;
  auto node = by_address_.extract(found);
  if (allocation.free_submitted) {
    freed_.insert(std::move(node));
    if (freed_.size() > most_freed) freed_.erase(freed_.begin());
  }
  if (kind == Allocation::Kind::device)
    device_arenas_[device].release(address, size);
  else if (kind != Allocation::Kind::registered)
    shared_.release(address, size);
}

AllocationPtr Memory::find(std::uintptr_t address) const {
  auto it = by_address_.upper_bound(address);
  if (it == by_address_.begin()) return nullptr;
  --it;
  return address - it->first < it->second->size ? it->second : nullptr;
}

AllocationPtr Memory::find_base(std::uintptr_t address) const {
  auto it = by_address_.find(address);
  return it == by_address_.end() ? nullptr : it->second;
}

bool Memory::overlaps(std::uintptr_t address, std::size_t size) const {
  auto it = by_address_.lower_bound(address);
  return find(address) || (it != by_address_.end() && it->first - address < size);
}

std::vector<AllocationPtr> Memory::all() const {
  std::vector<AllocationPtr> found;
  for (auto &[address, allocation] : by_address_)
    if (address == allocation->address) found.push_back(allocation);
  return found;
}

Place Memory::place(std::uintptr_t address, std::size_t span) const {
  if (AllocationPtr allocation = find(address)) {
    const bool by_alias = allocation->alias && address - allocation->alias < allocation->size;
    const std::size_t offset = address - (by_alias ? allocation->alias : allocation->address);
    if (allocation->free_submitted) stale_(allocation, address, span);
    if (span > allocation->size - offset || allocation->free_submitted)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    return {allocation, address, allocation->bytes + offset};
  }
  if (AllocationPtr allocation = freed(address)) stale_(allocation, address, span);
  bool ours = shared_.contains(address) || aliases_.contains(address);
  for (auto &arena : device_arenas_) ours = ours || arena.contains(address);
  if (ours || !address) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return {nullptr, address, reinterpret_cast<std::byte *>(address)};
}

AllocationPtr Memory::freed(std::uintptr_t address) const {
  auto it = freed_.upper_bound(address);
  if (it == freed_.begin()) return nullptr;
  --it;
  return address - it->first < it->second->size ? it->second : nullptr;
}

Place Memory::device_place(std::uintptr_t address, std::size_t span) const {
  Place found = place(address, span);
  if (found.pageable()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return found;
}

void copy_bytes(const Place &to, std::size_t to_offset, const Place &from, std::size_t from_offset,
                std::size_t size) {
  if (to.allocation && to.allocation->dead) return;
  if (from.allocation && from.allocation->dead)
    std::memset(to.bytes + to_offset, freed_poison, size);
  else
    std::memmove(to.bytes + to_offset, from.bytes + from_offset, size);
}

void fill_bytes(const Place &to, std::size_t offset, std::uint32_t value, unsigned width,
                std::size_t count) {
  if (to.allocation && to.allocation->dead) return;
  if (width == 1)
    std::memset(to.bytes + offset, static_cast<int>(value), count);
  else
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(to.bytes + offset + i * width, &value, width);
}

}  // namespace simcuda
