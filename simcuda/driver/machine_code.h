// SPDX-License-Identifier: BSD-3-Clause
// What can be read in images of machine code (cubins): the names of their kernels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace simcuda {

// Empty if it is no ELF image, or one that is cut off. Without a known room its own header is
// believed.
std::vector<std::string> kernels_of_machine_code(const void *bytes, std::size_t room);

}  // namespace simcuda
