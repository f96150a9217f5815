// SPDX-License-Identifier: BSD-3-Clause
// CUDA arrays: memory of a device without an address, stored here row by row.
#pragma once

#include "objects.h"

namespace simcuda {

struct Driver;

struct Array {
  CUarray handle = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  AllocationPtr allocation;
  std::size_t row = 0;               // bytes
  std::size_t rows = 1, slices = 1;  // that there are
  std::shared_ptr<Context> context;
};

void remove_arrays_of(Driver &driver, const Context &context);

}  // namespace simcuda
