// SPDX-License-Identifier: BSD-3-Clause
// Reads the debug information of an instruction.
#pragma once

#include "call_site.h"

namespace simcuda {

// The answer of addr2line (binutils); empty if there is no such program.
struct DebugInformation {
  std::vector<Frame> lines;  // of the instruction, and of what it was inlined into, outwards
  std::string function;      // also set if a symbol without lines was found
};
DebugInformation debug_information(const Frame &native);

}  // namespace simcuda
