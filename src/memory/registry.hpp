// SPDX-License-Identifier: BSD-3-Clause
// Which memory an address is in.
#pragma once

#include <cstdint>

struct cai_memory;

namespace cai::memory {

// Enters the memory under the bytes [address, address + size), size not 0. What has been entered
// under the same address has died without being taken out, and is replaced.
void enter(uint64_t address, uint64_t size, cai_memory *memory);

// Takes it out again. Does nothing if other memory has replaced it.
void take_out(uint64_t address, uint64_t size, const cai_memory *memory) noexcept;

// The memory around an address, with a new reference, and the offset of the address. Also null if
// its last reference was released.
cai_memory *look_up(uint64_t address, uint64_t *offset) noexcept;

// Likewise memory that no address finds, but whose context may go. Nothing is taken out of what was
// never entered.
void enter_unaddressed(cai_memory &memory) noexcept;
void take_out_unaddressed(cai_memory &memory) noexcept;

// Takes out all of which `gone` is true; called with the lock held. What no address finds stays in.
void take_out_if(bool (*gone)(cai_memory &memory) noexcept) noexcept;

}  // namespace cai::memory
