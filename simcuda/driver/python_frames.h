// SPDX-License-Identifier: BSD-3-Clause
// Where a thread is in Python, if this process runs it.
#pragma once

#include "call_site.h"

namespace simcuda {

// The calling thread's frames, the innermost first; empty if Python does not run on it, or does not
// answer soon. No lock of the simulator's may be held: it takes the interpreter's, as a host
// function may.
std::vector<Frame> python_frames();

}  // namespace simcuda
