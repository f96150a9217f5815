// SPDX-License-Identifier: BSD-3-Clause
// The used memory of devices, and the memory that pools hold.
#pragma once

#include <optional>

#include "driver.h"

namespace simcuda {

// Counts an allocation as used if there is room for it.
void charge(Driver &driver, Allocation &allocation);
void discharge(Driver &driver, Allocation &allocation);
// Whether the device can access the pool's memory.
bool is_accessible(const Pool &pool, int device);
// Pools take memory from the device in chunks.
std::uint64_t in_chunks(std::uint64_t bytes, std::uint64_t chunk = 2u << 20);
// For a copy or a memset by this device.
void refuse_inaccessible(const Allocation &allocation, int device);
// Makes room for an allocation in a device or a pool: if there is too little, finishes
// stream-ordered frees, and lets pools return unused memory; throws OUT_OF_MEMORY if that is not
// enough. Releases the simulator's lock while it waits for kernels.
void make_room(Session &session, Device &device, std::size_t bytes);
void make_room(Session &session, Pool &pool, std::size_t bytes);

// Returns the pool's unused memory above `keep` bytes to the device.
void trim(Driver &driver, Pool &pool, std::uint64_t keep);
// The same for all pools, above their thresholds: for calls that synchronise.
void release_unused(Driver &driver);

// Adds memory of the pool that was freed in a stream, perhaps not yet.
void add_block(Driver &driver, Pool &pool, FreeBlock block);
// Takes a block that work of this stream may reuse: one that the same stream freed, or that was
// freed before work that the stream comes after, or that is free by now. Otherwise any block, if
// the pool may add an edge, which orders only this block.
std::optional<FreeBlock> take_block(Driver &driver, Pool &pool, Stream &stream, std::size_t bytes);
// Forgets the blocks that are free by now, and frees their addresses.
void drop_blocks(Driver &driver, Pool &pool);

}  // namespace simcuda
