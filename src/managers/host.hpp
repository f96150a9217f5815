// SPDX-License-Identifier: BSD-3-Clause
// The host's memory where a manager has no way of its own: the heap, and what the driver pins.
#pragma once

#include "cai/memory.h"

namespace cai::managers {

// Null if there is not so much.
void *heap_allocate(uint64_t size, uint64_t align) noexcept;

// As the table's functions, which throw here; with the GPU's context current, if it is a GPU's.
cai_block host_allocate(cai_device device, uint64_t size, uint64_t align, uint32_t kind,
                        uint32_t flags);
void host_free(const cai_block &block);
// What host_allocate() would take it from is short: frees what is pending. Whether anything was.
bool make_room_for_host(cai_device device, uint32_t kind) noexcept;
cai_block host_pin(cai_device device, void *host, uint64_t size, uint32_t kind, uint32_t flags);
void host_unpin(const cai_block &block);

}  // namespace cai::managers
