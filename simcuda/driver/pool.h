// SPDX-License-Identifier: BSD-3-Clause
// What memory of a device is used, and what pools hold of it.
#pragma once

#include <optional>

#include "driver.h"

namespace simcuda {

// Counts an allocation as used, where there is room for it; and no more.
void charge(Driver &driver, Allocation &allocation);
void discharge(Driver &driver, Allocation &allocation);
// Whether the device has access to what the pool holds.
bool is_accessible(const Pool &pool, int device);
// Pools take memory from the device in pieces of some size.
std::uint64_t in_chunks(std::uint64_t bytes, std::uint64_t chunk = 2u << 20);
// For a copy or a memset by this device.
void refuse_inaccessible(const Allocation &allocation, int device);
// Room for so many bytes of a device, or of a pool: where there is too little, stream-ordered frees
// are done and pools give back what they hold unused; OUT_OF_MEMORY if that is not enough. The
// simulator's lock is let go while kernels come first.
void make_room(Session &session, Device &device, std::size_t bytes);
void make_room(Session &session, Pool &pool, std::size_t bytes);

// Gives back to the device what the pool holds unused above so many bytes.
void trim(Driver &driver, Pool &pool, std::uint64_t keep);
// The same for all pools, above their thresholds: for calls that synchronise.
void release_unused(Driver &driver);

// Memory of the pool that was freed in a stream, perhaps not yet.
void add_block(Driver &driver, Pool &pool, FreeBlock block);
// One that work of this stream may have once the free is done, taken from the pool: freed in the
// same stream, or by what the stream comes after, or by now; else by anything, where the pool may
// put in an edge that orders this block alone.
std::optional<FreeBlock> take_block(Driver &driver, Pool &pool, Stream &stream, std::size_t bytes);
// Forgets what is free by now, and its addresses.
void drop_blocks(Driver &driver, Pool &pool);

}  // namespace simcuda
