// SPDX-License-Identifier: BSD-3-Clause
// CUDA arrays: memory of a device without an address, stored here row by row.
#pragma once

#include "objects.h"

namespace simcuda {

struct Driver;
struct MipmappedArray;

struct Array {
  CUarray handle = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  AllocationPtr allocation;
  std::size_t offset = 0;            // in the allocation
  std::size_t row = 0, pitch = 0;    // bytes of one, and from one to the next
  std::size_t rows = 1, slices = 1;  // that there are
  std::shared_ptr<Context> context;
  bool is_level = false;  // of an array with mipmaps: it goes with that
};

// Levels in one allocation, each of half the size of the one before it.
struct MipmappedArray {
  CUmipmappedArray handle = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  AllocationPtr allocation;
  std::vector<std::shared_ptr<Array>> levels;
  std::shared_ptr<Context> context;
};

// Of one channel; refuses what is no format, and what is not imitated.
std::size_t channel_bytes(int format);
void remove_arrays_of(Driver &driver, const Context &context);

}  // namespace simcuda
