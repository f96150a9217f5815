// SPDX-License-Identifier: BSD-3-Clause
// Memory of other processes that the driver maps, each allocation once.
#pragma once

#include "cai/memory.h"
#include "driver/context.hpp"

namespace cai::ipc {

// Identifies an allocation: the driver's bytes, and the process. Compared bytewise.
struct MappingKey {
  uint32_t kind;
  int32_t device;  // the GPU that uses it
  uint64_t process, process_start, pool;
  uint8_t data[64];

  bool operator==(const MappingKey &) const = default;
};

struct Mapping;

// Maps an allocation for a GPU, whose primary context is current, or shares an existing mapping.
// Throws on failure.
Mapping *open_mapping(driver::Session &session, const MappingKey &key, int32_t fd, uint64_t epoch);

// Where the allocation begins, and how many of its bytes are mapped.
uint64_t address_of(const Mapping &mapping) noexcept;
uint64_t size_of(const Mapping &mapping) noexcept;

// Whether no reset ends it, as those of pools: it must be closed before.
bool outlives_contexts(const Mapping &mapping) noexcept;

// Ends a share of the GPU `device`. The last one unmaps the memory. All work that uses it must be
// complete. Throws managers::NotAsked if the driver fails before it is asked to: the share is still
// there.
void close_mapping(Mapping *mapping, int32_t device);

}  // namespace cai::ipc
