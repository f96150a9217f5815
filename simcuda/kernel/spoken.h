// SPDX-License-Identifier: BSD-3-Clause
// Demangled names of functions.
#pragma once

#include <string>

namespace simcuda::kernel {

// The demangled name, without the tags that a compiler adds: "__main__::scale(Array<float, 1>)".
// Any other name is unchanged.
std::string spoken(const std::string &name);

}  // namespace simcuda::kernel
