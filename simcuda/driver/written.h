// SPDX-License-Identifier: BSD-3-Clause
// Which bytes of device memory somebody has written: as ranges, and as bits once a kernel looks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "byte_set.h"

namespace simcuda {

// With the simulator's lock held, but for the bits: kernels set those, too.
class Written {
 public:
  void add(std::size_t begin, std::size_t size);
  // New memory: nobody has written there.
  void clear();
  // Of an allocation of so many bytes. Kernels that hold on to these go on to use them.
  std::shared_ptr<kernel::Zeros> bits(std::size_t size);

 private:
  void set(std::size_t begin, std::size_t end) const;

  std::vector<std::pair<std::size_t, std::size_t>> ranges_;  // that neither overlap nor touch
  std::shared_ptr<kernel::Zeros> bits_;
};

}  // namespace simcuda
