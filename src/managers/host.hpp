// SPDX-License-Identifier: BSD-3-Clause
// Host memory if a manager has no functions for it: from the heap, or pinned by the driver.
#pragma once

#include "cai/memory.h"

namespace cai::managers {

// Returns null if there is not enough memory.
void *heap_allocate(uint64_t size, uint64_t align) noexcept;

// These do what the table's functions do, but throw. For a GPU its context must be current.
cai_block host_allocate(cai_device device, uint64_t size, uint64_t align, uint32_t kind,
                        uint32_t flags);
void host_free(const cai_block &block);
// Called if memory for host_allocate() is short: frees what is pending. Returns whether anything
// was freed.
bool make_room_for_host(cai_device device, uint32_t kind) noexcept;
cai_block host_pin(cai_device device, void *host, uint64_t size, uint32_t kind, uint32_t flags);
void host_unpin(const cai_block &block);

}  // namespace cai::managers
