// SPDX-License-Identifier: BSD-3-Clause
// What debug information says of an instruction.
#pragma once

#include "call_site.h"

namespace simcuda {

// As addr2line (binutils) says it; without that, nothing is known.
struct DebugInformation {
  std::vector<Frame> lines;  // of the instruction, and of what it was inlined into, outwards
  std::string function;      // which has a symbol without any lines, too
};
DebugInformation debug_information(const Frame &native);

}  // namespace simcuda
