// SPDX-License-Identifier: BSD-3-Clause
// Names of functions as people wrote them.
#pragma once

#include <string>

namespace simcuda::kernel {

// Of a mangled name what it says, without the tags in which a compiler keeps its own marks:
// "__main__::scale(Array<float, 1>)". Any other name as it is.
std::string spoken(const std::string &name);

}  // namespace simcuda::kernel
