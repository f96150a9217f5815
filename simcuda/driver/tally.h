// SPDX-License-Identifier: BSD-3-Clause
// The totals over all processes of a program: whether it has used the driver at all.
#pragma once

#include <atomic>
#include <cstdint>

namespace simcuda {

struct Tally {
  std::atomic<std::uint64_t> calls{0};    // except those that merely load the driver
  std::atomic<std::uint64_t> kernels{0};  // includes those in launched graphs
};

// In a file of the folder SIMCUDA_COUNT_DIR, if that is set, so that it survives the process,
// however that ends.
Tally &tally();
// Records the name of a function that the program has called and simcuda does not implement.
void tally_unsupported(const char *symbol);

}  // namespace simcuda
