// SPDX-License-Identifier: BSD-3-Clause
// Reads the names of the kernels in images of machine code (cubins).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace simcuda {

// Empty if it is no ELF image, or an incomplete one. If `room` is not known, the image's header is
// trusted.
std::vector<std::string> kernels_of_machine_code(const void *bytes, std::size_t room);

}  // namespace simcuda
