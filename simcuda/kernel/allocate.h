// SPDX-License-Identifier: BSD-3-Clause
// Where the registers of a function lie in its frame.
#pragma once

#include <vector>

#include "program.h"

namespace simcuda::kernel {

// By register, the byte at which its lanes begin. Registers that are never live at once share it.
std::vector<std::uint32_t> allocate_registers(const Function &function, std::uint32_t &frame_bytes);
// Of 32 bits each, as a compiler would count them.
std::uint32_t registers_wanted(const Function &function);

}  // namespace simcuda::kernel
