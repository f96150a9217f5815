// SPDX-License-Identifier: BSD-3-Clause
// Which bytes of device memory have been written: as ranges, and as bits once a kernel runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "byte_set.h"

namespace simcuda {

// Needs the simulator's lock, except for the bits, which kernels set, too.
class Written {
 public:
  void add(std::size_t begin, std::size_t size);
  // New memory: nothing has been written.
  void clear();
  // The bits for an allocation of `size` bytes. Kernels that hold these continue to use them.
  std::shared_ptr<kernel::Zeros> bits(std::size_t size);

 private:
  void set(std::size_t begin, std::size_t end) const;

  std::vector<std::pair<std::size_t, std::size_t>> ranges_;  // that neither overlap nor touch
  std::shared_ptr<kernel::Zeros> bits_;
};

}  // namespace simcuda
