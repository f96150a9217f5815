// SPDX-License-Identifier: BSD-3-Clause
// What a run of a program adds up over its processes: whether it has used the driver at all.
#pragma once

#include <atomic>
#include <cstdint>

namespace simcuda {

struct Tally {
  std::atomic<std::uint64_t> calls{0};    // but for those that merely load the driver
  std::atomic<std::uint64_t> kernels{0};  // launched, in graphs too
};

// It lies in a file of the folder SIMCUDA_COUNT_DIR, if that is set: it stays, however the process
// ends.
Tally &tally();
// Leaves the name of what the program has called, and simcuda does not implement.
void tally_unsupported(const char *symbol);

}  // namespace simcuda
