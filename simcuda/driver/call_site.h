// SPDX-License-Identifier: BSD-3-Clause
// Where in the client's code a call comes from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simcuda {

// The calling thread's frames in Python, the innermost first, as JSON: [file, line, function] each;
// empty if Python does not run on it. It takes the interpreter's lock: no lock may be held here, as
// for a host function.
std::string python_frames();

// The return addresses above this library, the innermost first; and what they mean, as JSON:
// [file of the module, offset in it, name of the nearest symbol that it exports].
using Addresses = std::vector<std::uintptr_t>;
Addresses native_addresses();
std::string native_frames(const Addresses &addresses);

// As a string of JSON.
std::string quoted(const char *text);

}  // namespace simcuda
