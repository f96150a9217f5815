// SPDX-License-Identifier: BSD-3-Clause
// Finds the memory that contains an address.
#pragma once

#include <cstdint>

struct cai_memory;

namespace cai::memory {

// Adds the memory with the bytes [address, address + size); size is not 0. Replaces an entry at the
// same address: that memory was freed by a reset.
void enter(uint64_t address, uint64_t size, cai_memory *memory);

// Removes it. Does nothing if other memory has replaced it.
void take_out(uint64_t address, uint64_t size, const cai_memory *memory) noexcept;

// The memory that contains an address, with a new reference, and the offset of the address. Null if
// there is none, or its last reference has been released.
cai_memory *look_up(uint64_t address, uint64_t *offset) noexcept;

// The same for memory without an address, whose context may be destroyed. Removing memory that was
// never added does nothing.
void enter_unaddressed(cai_memory &memory) noexcept;
void take_out_unaddressed(cai_memory &memory) noexcept;

// Removes all memory with an address for which `gone` returns true; calls it with the lock held.
// Memory without an address stays.
void take_out_if(bool (*gone)(cai_memory &memory) noexcept) noexcept;

}  // namespace cai::memory
