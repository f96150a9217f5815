// SPDX-License-Identifier: BSD-3-Clause
// The caller of a program can name a folder in which each of its processes writes a report.
#pragma once

#include <string>

namespace simcuda {

// The path of this process's file in the folder that an environment variable names; empty if it is
// not set. A process id may be used again, so the name contains the time, too.
std::string process_file(const char *variable, const char *suffix = "");

}  // namespace simcuda
