// SPDX-License-Identifier: BSD-3-Clause
// Device memory and addresses, each by itself: the client says what is mapped where, and which
// device has access.
#pragma once

#include "objects.h"

namespace simcuda {

using PhysicalHandle = struct PhysicalHandle_st *;  // of the driver; an integer for the client

struct PhysicalMemory {
  PhysicalHandle handle = nullptr;
  CUmemAllocationProp properties{};
  AllocationPtr bytes;               // without an address
  std::shared_ptr<History> history;  // of its uses, at any address
  std::size_t references = 0;        // of the client
  std::size_t mappings = 0;
};

struct Reservation {
  std::size_t size = 0;
  std::uintptr_t block = 0;  // of the arena
  std::size_t block_size = 0;
};

struct VirtualMapping {
  std::shared_ptr<PhysicalMemory> physical;
  std::uintptr_t reserved = 0;
  std::size_t reserved_size = 0;
  std::map<int, int> access;  // by device
};

inline bool is_accessible(const VirtualMapping &mapping, int device) {
  auto stated = mapping.access.find(device);
  return stated != mapping.access.end() && stated->second != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

}  // namespace simcuda
