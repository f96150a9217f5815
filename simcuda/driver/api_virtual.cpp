// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory management: reserving addresses, creating memory, and mapping it.

#include <cstring>

#include "call.h"
#include "capture.h"
#include "pool.h"

using namespace simcuda;

namespace {

constexpr std::size_t granularity = 2u << 20;

using PhysicalPtr = std::shared_ptr<PhysicalMemory>;

void check_properties(Session &s, const CUmemAllocationProp &p) {
  if (p.type != CU_MEM_ALLOCATION_TYPE_PINNED || p.location.type == CU_MEM_LOCATION_TYPE_INVALID)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (p.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      (p.requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
    throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  refuse_lost(s.driver.device(p.location.id));
}

PhysicalPtr physical_of(Session &s, CUmemGenericAllocationHandle handle) {
  auto physical = s.driver.physical_memory.get(reinterpret_cast<PhysicalHandle>(handle),
                                               CUDA_ERROR_INVALID_VALUE);
  if (!physical->references) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return physical;
}

CUmemGenericAllocationHandle handle_of(const PhysicalMemory &physical) {
  return reinterpret_cast<CUmemGenericAllocationHandle>(physical.handle);
}

void end_if_unused(Session &s, PhysicalMemory &physical) {
  if (physical.references || physical.mappings) return;
  discharge(s.driver, *physical.bytes);
  s.driver.memory.free_hidden(*physical.bytes);
  s.driver.physical_memory.remove(physical.handle);
}

// The mappings from one address to another, each whole and without a gap.
std::vector<AllocationPtr> mapped(Session &s, CUdeviceptr address, std::size_t size) {
  std::vector<AllocationPtr> found;
  std::size_t done = 0;
  while (done < size) {
    auto allocation = s.driver.memory.find_base(address + done);
    if (!allocation || !allocation->mapping || allocation->size > size - done)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    done += allocation->size;
    found.push_back(std::move(allocation));
  }
  if (found.empty()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return found;
}

AllocationPtr mapping_at(Session &s, CUdeviceptr address) {
  auto allocation = s.driver.memory.find(address);
  if (!allocation || !allocation->mapping) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return allocation;
}

// The reservation that contains all of it.
const auto &reservation_of(Session &s, CUdeviceptr address, std::size_t size) {
  const auto next = s.driver.reservations.upper_bound(address);
  if (next == s.driver.reservations.begin()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const auto &found = *std::prev(next);
  const std::size_t offset = address - found.first;
  if (offset > found.second.size || size > found.second.size - offset)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  return found;
}

void check_size(std::size_t size) {
  if (!size || size % granularity) throw Refused{CUDA_ERROR_INVALID_VALUE};
}

}  // namespace

SIM_API CUresult cuMemGetAllocationGranularity(std::size_t *out,
                                               const CUmemAllocationProp *properties, int option) {
  return call(__func__, {out, properties, option}, [&](Session &) {
    required(properties);  // the same for all memory, of any kind and location
    if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
        option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    required(out) = granularity;
  });
}

SIM_API CUresult cuMemAddressReserve(CUdeviceptr *out, std::size_t size, std::size_t alignment,
                                     CUdeviceptr hint, unsigned long long flags) {
  return call(__func__, {out, size, alignment, hint, flags}, [&](Session &s) {
    required(out);
    check_size(size);
    if (flags || (alignment & (alignment - 1))) throw Refused{CUDA_ERROR_INVALID_VALUE};
    const std::size_t aligned = std::max(alignment, granularity);
    const std::size_t block_size = size + aligned;
    if (block_size < size) throw Refused{CUDA_ERROR_OUT_OF_MEMORY};
    const std::uintptr_t block = s.driver.memory.reserve(block_size);
    const std::uintptr_t address = (block + aligned - 1) / aligned * aligned;
    s.driver.reservations[address] = {size, block, block_size};
    *out = address;
  });
}

SIM_API CUresult cuMemAddressFree(CUdeviceptr address, std::size_t size) {
  return call(__func__, {address, size}, [&](Session &s) {
    auto found = s.driver.reservations.find(address);
    if (found == s.driver.reservations.end() || found->second.size != size ||
        s.driver.memory.overlaps(address, size))
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    s.driver.memory.end_reservation(found->second.block, found->second.block_size);
    s.driver.reservations.erase(found);
  });
}

SIM_API CUresult cuMemCreate(CUmemGenericAllocationHandle *out, std::size_t size,
                             const CUmemAllocationProp *properties, unsigned long long flags) {
  return call(__func__, {out, size, properties, flags}, [&](Session &s) {
    required(out);
    refuse_unsafe(s);
    const auto &p = required(properties);
    check_properties(s, p);
    check_size(size);
    if (flags) throw Refused{CUDA_ERROR_INVALID_VALUE};
    make_room(s, s.driver.device(p.location.id), size);
    auto physical = std::make_shared<PhysicalMemory>();
    physical->properties = p;
    physical->bytes = s.driver.memory.allocate_hidden(p.location.id, size);
    physical->references = 1;
    charge(s.driver, *physical->bytes);
    s.driver.physical_memory.add(physical);
    *out = handle_of(*physical);
  });
}

SIM_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto physical = physical_of(s, handle);
    --physical->references;
    end_if_unused(s, *physical);
  });
}

SIM_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address) {
  return call(__func__, {out, address}, [&](Session &s) {
    required(out);
    PhysicalMemory &physical = *mapping_at(s, address_of(address))->mapping->physical;
    ++physical.references;
    *out = handle_of(physical);
  });
}

SIM_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out,
                                                        CUmemGenericAllocationHandle handle) {
  return call(__func__, {out, handle},
              [&](Session &s) { required(out) = physical_of(s, handle)->properties; });
}

SIM_API CUresult cuMemMap(CUdeviceptr address, std::size_t size, std::size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return call(__func__, {address, size, offset, handle, flags}, [&](Session &s) {
    auto physical = physical_of(s, handle);
    check_size(size);
    if (flags || offset || size > physical->bytes->size || address % granularity)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    const auto &[begin, reserved] = reservation_of(s, address, size);
    if (s.driver.memory.overlaps(address, size)) throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto allocation = s.driver.memory.map_at(address, *physical->bytes, size);
    allocation->mapping = std::make_shared<VirtualMapping>();
    allocation->mapping->physical = physical;
    allocation->mapping->reserved = begin;
    allocation->mapping->reserved_size = reserved.size;
    // The same bytes have the same history at all their addresses.
    if (!physical->history) physical->history = s.driver.races.history_of(*allocation);
    allocation->history = physical->history;
    ++physical->mappings;
  });
}

// Does not wait for what still uses the memory: the client must. If nothing is mapped there is
// nothing to do.
SIM_API CUresult cuMemUnmap(CUdeviceptr address, std::size_t size) {
  return call(__func__, {address, size}, [&](Session &s) {
    reservation_of(s, address, size);
    if (size && !s.driver.memory.overlaps(address, size)) return;
    for (auto &allocation : mapped(s, address, size)) {
      s.driver.races.host_uses({allocation, allocation->address, allocation->size, true});
      s.driver.memory.unmap(*allocation);
      PhysicalMemory &physical = *allocation->mapping->physical;
      --physical.mappings;
      end_if_unused(s, physical);
    }
  });
}

SIM_API CUresult cuMemSetAccess(CUdeviceptr address, std::size_t size,
                                const CUmemAccessDesc *access, std::size_t count) {
  return call(__func__, {address, size, access, count}, [&](Session &s) {
    const auto found = mapped(s, address, size);
    for (std::size_t i = 0; i < count; ++i) {
      const CUmemAccessDesc &each = (&required(access))[i];
      if (each.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
          (each.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
           each.flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
           each.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
        throw Refused{CUDA_ERROR_INVALID_VALUE};
      s.driver.device(each.location.id);
    }
    for (auto &allocation : found)
      for (std::size_t i = 0; i < count; ++i)
        allocation->mapping->access[access[i].location.id] = access[i].flags;
  });
}

SIM_API CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                CUdeviceptr address) {
  return call(__func__, {flags, location, address}, [&](Session &s) {
    required(flags);
    if (required(location).type != CU_MEM_LOCATION_TYPE_DEVICE)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    s.driver.device(location->id);
    const auto &access = mapping_at(s, address)->mapping->access;
    auto stated = access.find(location->id);
    *flags = stated == access.end() ? 0 : static_cast<unsigned long long>(stated->second);
  });
}
