// SPDX-License-Identifier: BSD-3-Clause
// Memory of other processes, mapped by the driver: each allocation is mapped once.
#pragma once

#include "cai/memory.h"
#include "driver/context.hpp"

namespace cai::ipc {

// What a handle names: the driver's bytes, of a process. To be compared as it is.
struct MappingKey {
  uint32_t kind;
  int32_t device;  // that uses it
  uint64_t process, process_start, pool;
  uint8_t data[64];

  bool operator==(const MappingKey &) const = default;
};

struct Mapping;

// Maps an allocation for a GPU, whose primary context is current, or shares the mapping that there
// is; `owner` is the GPU that it is on. Throws.
Mapping *open_mapping(driver::Session &session, const MappingKey &key, int32_t fd,
                      driver::CUdevice owner, uint64_t epoch);

// Where the allocation begins, and how many bytes of it are mapped.
uint64_t address_of(const Mapping &mapping) noexcept;
uint64_t size_of(const Mapping &mapping) noexcept;

// Ends a share; with the last one the memory is unmapped. All work that uses it is complete.
void close_mapping(Mapping *mapping);

}  // namespace cai::ipc
