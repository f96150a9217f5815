// SPDX-License-Identifier: BSD-3-Clause
// The Python frames of a thread, if this process runs Python.
#pragma once

#include "call_site.h"

namespace simcuda {

// The calling thread's frames, the innermost first; empty if it does not run Python, or Python does
// not answer soon. No lock of the simulator may be held: this takes the GIL, as a host function
// may.
std::vector<Frame> python_frames();

// Whether the calling thread holds Python's lock, the GIL.
bool holds_gil();

}  // namespace simcuda
