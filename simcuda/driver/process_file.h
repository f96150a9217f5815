// SPDX-License-Identifier: BSD-3-Clause
// The command that starts a program may name a folder: each process writes there what it found.
#pragma once

#include <string>

namespace simcuda {

// The path of this process's own file in the folder that an environment variable names; empty if it
// names none. A number may be another process's later, so that the time is in the name, too.
std::string process_file(const char *variable, const char *suffix = "");

}  // namespace simcuda
