// SPDX-License-Identifier: BSD-3-Clause
// Assigns registers of a function to places in its frame.
#pragma once

#include <vector>

#include "program.h"

namespace simcuda::kernel {

// For each register, the byte at which its lanes begin. Registers that are never live at the same
// time share it.
std::vector<std::uint32_t> allocate_registers(const Function &function, std::uint32_t &frame_bytes);
// In units of 32 bits, as a compiler would count them.
std::uint32_t registers_wanted(const Function &function);

}  // namespace simcuda::kernel
