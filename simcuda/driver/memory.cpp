// SPDX-License-Identifier: BSD-3-Clause
#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "driver.h"
#include "race_report.h"
#include "written.h"

namespace simcuda {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t most_freed = 4096;  // how many are remembered, of stream-ordered frees
constexpr std::size_t most_gone = 256;    // and of all
// Each block that the host can access is a mapping of its own, between inaccessible pages, and a
// process may have some 65,000 mappings. So the page behind a block is inaccessible only for this
// many.
constexpr std::size_t most_guarded = 16384;
// As much address space as the process may reserve, within these bounds.
constexpr std::size_t largest_arena = std::size_t{256} << 30;
constexpr std::size_t smallest_arena = std::size_t{1} << 30;

// The driver's mapping becomes usable in pieces of this size, as allocations need it.
constexpr std::size_t growth = std::size_t{64} << 20;

// Valgrind keeps a record of each mapped page, so it gets as few as possible.
std::size_t most_address_space() {
  const char *preloaded = std::getenv("LD_PRELOAD");
  const bool valgrind = preloaded && std::strstr(preloaded, "vgpreload");
  return valgrind ? smallest_arena : largest_arena;
}

std::size_t whole_pages(std::size_t size) {
  return (size + page - 1) / page * page;
}

// Memory that the host or another process can write counts as written.
void track_written(Allocation &allocation) {
  if (allocation.kind == Allocation::Kind::device && Settings::get().checks.written)
    allocation.written = std::make_shared<Written>();
}

void note_written(const Place &place, std::size_t offset, std::size_t size) {
  const Allocation *allocation = place.allocation.get();
  if (!allocation || !allocation->written) return;
  allocation->written->add(static_cast<std::size_t>(place.bytes - allocation->bytes) + offset,
                           size);
}

// The kernel would give a page of memory to each address that it writes to a core file, though it
// was never used. Memory that the host can access is in there.
void keep_from_core(void *bytes, std::size_t size) {
  madvise(bytes, size, MADV_DONTDUMP);
}

// The driver's mapping is private: not in a child, and not in a core file.
void keep_to_driver(void *bytes, std::size_t size) {
  madvise(bytes, size, MADV_DONTFORK);
  keep_from_core(bytes, size);
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
    keep_to_driver(driver, size_);
    keep_from_core(client, size_);
    client_ = reinterpret_cast<std::uintptr_t>(client);
    driver_ = static_cast<std::byte *>(driver);
    return;
  }
  close(file_);
  throw std::bad_alloc{};
}

std::size_t Arena::find_room(std::size_t size) {
  if (size <= size_ - next_) {
    next_ += size;
    return next_ - size;
  }
  for (auto [offset, room] : released_) {
    if (room < size) continue;
    released_.erase(offset);
    if (room > size) released_.emplace(offset + size, room - size);
    return offset;
  }
  throw std::bad_alloc{};
}

Arena::Block Arena::take(std::size_t size, bool host_access) {
  const std::size_t pages = whole_pages(size);
  if (pages < size || pages > size_) throw std::bad_alloc{};
  const std::size_t offset = find_room(pages + page);
  const Block block{client_ + offset, driver_ + offset};
  if (host_access) {
    const std::size_t open = guarded_ < most_guarded ? pages : pages + page;
    void *client = reinterpret_cast<void *>(block.address);
    if (mprotect(client, open, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc{};
    madvise(client, open, MADV_DODUMP);
    ++guarded_;
  }
  while (usable_ < offset + pages) {
    if (mprotect(driver_ + usable_, growth, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc{};
    usable_ += growth;
  }
  return block;
}

Arena::Block Arena::map(int file, std::uint64_t offset, std::size_t size) {
  const Block block = take(size, false);
  const std::size_t pages = whole_pages(size);
  const auto at = static_cast<off_t>(offset);
  void *client = reinterpret_cast<void *>(block.address);
  if (mmap(client, pages, PROT_NONE, MAP_SHARED | MAP_FIXED, file, at) == MAP_FAILED ||
      mmap(block.bytes, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, at) ==
          MAP_FAILED)
    throw std::bad_alloc{};
  keep_to_driver(block.bytes, pages);
  keep_from_core(client, pages);
  return block;
}

void Arena::unmap(std::uintptr_t address, std::size_t size) {
  const std::size_t pages = whole_pages(size);
  const auto at = static_cast<off_t>(offset(address));
  void *client = reinterpret_cast<void *>(address);
  std::byte *bytes = driver_ + offset(address);
  mmap(client, pages, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_, at);
  mmap(bytes, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_, at);
  keep_to_driver(bytes, pages);
  keep_from_core(client, pages);
}

void Arena::empty(std::uintptr_t address, std::size_t size) {
  const std::size_t pages = whole_pages(size);
  void *client = reinterpret_cast<void *>(address);
  mprotect(client, pages + page, PROT_NONE);
  keep_from_core(client, pages + page);
  if (guarded_) --guarded_;
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset(address)),
            static_cast<off_t>(pages));
}

void Arena::release(std::uintptr_t address, std::size_t size) {
  empty(address, size);
  const auto at = static_cast<std::size_t>(offset(address));
  auto freed = released_.emplace(at, whole_pages(size) + page).first;
  auto next = std::next(freed);
  if (next != released_.end() && freed->first + freed->second == next->first) {
    freed->second += next->second;
    released_.erase(next);
  }
  if (freed == released_.begin()) return;
  auto before = std::prev(freed);
  if (before->first + before->second != freed->first) return;
  before->second += freed->second;
  released_.erase(freed);
}

void Memory::add(const AllocationPtr &allocation) {
  allocation->buffer_id = ++last_buffer_id_;
  allocation->made_at = thread_state().site;
  // Freed memory at these addresses is forgotten.
  auto old = freed_.lower_bound(allocation->address);
  if (old != freed_.begin() && freed(allocation->address)) --old;
  while (old != freed_.end() && old->first < allocation->address + allocation->size)
    old = freed_.erase(old);
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
  if (kind == Allocation::Kind::host && (flags & CU_MEMHOSTALLOC_WRITECOMBINED) &&
      Settings::get().two_addresses)
    allocation->alias = aliases_.take(size, false).address;
  std::memset(block.bytes, fresh_poison, size);
  track_written(*allocation);
  add(allocation);
  return allocation;
}

AllocationPtr Memory::allocate_hidden(int device, std::size_t size, Track track) {
  auto allocation = std::make_shared<Allocation>();
  const Arena::Block block = device_arenas_.at(static_cast<std::size_t>(device)).take(size, false);
  allocation->device = device;
  allocation->address = block.address;
  allocation->bytes = block.bytes;
  allocation->size = size;
  allocation->made_at = thread_state().site;
  std::memset(block.bytes, fresh_poison, size);
  if (track == Track::written) track_written(*allocation);
  return allocation;
}

void Memory::free_hidden(Allocation &allocation) {
  allocation.dead = true;
  arena_of(allocation).release(allocation.address, allocation.size);
}

std::uintptr_t Memory::reserve(std::size_t size) {
  return aliases_.take(size, false).address;
}

void Memory::end_reservation(std::uintptr_t address, std::size_t size) {
  aliases_.release(address, size);
}

AllocationPtr Memory::map_at(std::uintptr_t address, const Allocation &hidden, std::size_t size) {
  auto allocation = std::make_shared<Allocation>();
  allocation->device = hidden.device;
  allocation->address = address;
  allocation->bytes = hidden.bytes;
  allocation->size = size;
  add(allocation);
  return allocation;
}

void Memory::unmap(Allocation &allocation) {
  allocation.dead = true;
  by_address_.erase(allocation.address);
}

AllocationPtr Memory::reuse(const Allocation &before, std::size_t size) {
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = before.kind;
  allocation->device = before.device;
  allocation->address = before.address;
  allocation->bytes = before.bytes;
  allocation->size = size;
  if (allocation->kind != Allocation::Kind::device)
    mprotect(reinterpret_cast<void *>(before.address), whole_pages(size), PROT_READ | PROT_WRITE);
  track_written(*allocation);
  add(allocation);
  return allocation;
}

AllocationPtr Memory::map(int file, std::uint64_t offset, std::size_t size, int device) {
  auto allocation = std::make_shared<Allocation>();
  const Arena::Block block =
      device_arenas_.at(static_cast<std::size_t>(device)).map(file, offset, size);
  allocation->device = device;
  allocation->address = block.address;
  allocation->bytes = block.bytes;
  allocation->size = size;
  allocation->imported = true;
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
  if (Settings::get().two_addresses) {
    // The offset in the page stays, as it would for a mapped page.
    const std::size_t offset = allocation->address % page;
    allocation->alias = aliases_.take(offset + size, false).address + offset;
  }
  add(allocation);
  return allocation;
}

Arena &Memory::arena_of(const Allocation &allocation) {
  return allocation.kind == Allocation::Kind::device
             ? device_arenas_[static_cast<std::size_t>(allocation.device)]
             : shared_;
}

void Memory::free(Allocation &allocation, Address address) {
  allocation.dead = true;
  if (!allocation.imported) allocation.share = nullptr;  // other processes learn of it
  by_address_.erase(allocation.alias);
  if (allocation.alias) {
    const std::uintptr_t in_page = allocation.alias % page;
    aliases_.release(allocation.alias - in_page, in_page + allocation.size);
  }
  auto found = by_address_.find(allocation.address);
  // Memory that is reused before its free has run belongs to another allocation by now.
  if (found == by_address_.end() || found->second.get() != &allocation) return;
  remember(allocation);
  auto node = by_address_.extract(found);  // it stays alive until the end of this function
  Arena &arena = arena_of(allocation);
  if (allocation.imported) arena.unmap(allocation.address, allocation.size);
  if (address == Address::kept)
    arena.empty(allocation.address, allocation.size);
  else if (allocation.kind != Allocation::Kind::registered)
    arena.release(allocation.address, allocation.size);
  if (!allocation.free_submitted) return;
  freed_.insert(std::move(node));
  if (freed_.size() > most_freed) freed_.erase(freed_.begin());
}

void Memory::remember(const Allocation &allocation) {
  if (gone_.size() == most_gone) gone_.pop_front();
  gone_.push_back({allocation.kind, allocation.device_address(), allocation.size});
}

std::string Memory::describe(std::uintptr_t address) const {
  // If the memory was reused, the error more likely concerns the present allocation.
  for (auto gone = gone_.rbegin(); gone != gone_.rend(); ++gone)
    if (address - gone->address < gone->size && !overlaps(gone->address, gone->size))
      return "It lies in " + describe_memory(gone->kind, gone->size, gone->address) +
             ", which are freed.";
  if (const auto allocation = find(address))
    return "It lies in " + describe_memory(*allocation) +
           ", which have another address on the device.";
  const auto next = by_address_.upper_bound(address);
  const auto distance = [](std::uintptr_t bytes) { return std::to_string(bytes) + " bytes "; };
  const Allocation *below = next == by_address_.begin() ? nullptr : std::prev(next)->second.get();
  const Allocation *above = next == by_address_.end() ? nullptr : next->second.get();
  constexpr std::uintptr_t near = 1 << 20;  // bytes before the first, or after the last
  if (!is_ours(address) && !(above && above->device_address() - address < near) &&
      !(below && address - below->device_address() - below->size < near))
    return "It may be the host's own memory: no allocation is near.";
  if (below && (!above || address - (below->device_address() + below->size) <
                              above->device_address() - address))
    return "It is " + distance(address - (below->device_address() + below->size)) +
           "behind the end of " + describe_memory(*below) + '.';
  if (above)
    return "It is " + distance(above->device_address() - address) + "before " +
           describe_memory(*above) + '.';
  return {};
}

void Memory::give_back(const Allocation &allocation) {
  arena_of(allocation).release(allocation.address, allocation.size);
}

int Memory::file_of(const Allocation &allocation) const {
  return device_arenas_[static_cast<std::size_t>(allocation.device)].file();
}

std::uint64_t Memory::offset_of(const Allocation &allocation) const {
  return device_arenas_[static_cast<std::size_t>(allocation.device)].offset(allocation.address);
}

bool Memory::is_ours(std::uintptr_t address) const {
  return shared_.contains(address) || aliases_.contains(address) ||
         std::any_of(device_arenas_.begin(), device_arenas_.end(),
                     [&](auto &arena) { return arena.contains(address); });
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
    const bool freed = allocation->free_submitted && !(allocation->of_graph && at_launches_);
    if (freed) stale_(allocation, address, span);
    const bool gone = allocation->imported && !allocation->share->alive();  // in its own process
    if (span > allocation->size - offset || freed || gone) throw Refused{CUDA_ERROR_INVALID_VALUE};
    return {allocation, address, allocation->bytes + offset};
  }
  if (AllocationPtr allocation = freed(address)) stale_(allocation, address, span);
  if (is_ours(address) || !address) throw Refused{CUDA_ERROR_INVALID_VALUE};
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
  note_written(to, to_offset, size);
}

void fill_bytes(const Place &to, std::size_t offset, std::uint32_t value, unsigned width,
                std::size_t count) {
  if (to.allocation->dead) return;
  note_written(to, offset, width * count);
  if (width == 1)
    std::memset(to.bytes + offset, static_cast<int>(value), count);
  else
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(to.bytes + offset + i * width, &value, width);
}

}  // namespace simcuda
