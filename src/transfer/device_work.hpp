// SPDX-License-Identifier: BSD-3-Clause
// Copies and fills on a GPU, with as few driver calls as the strides allow.
#pragma once

#include "driver/context.hpp"
#include "transfer/walk.hpp"

namespace cai::transfer {

// One side of a copy.
struct Side {
  bool on_host = false;                 // host memory that the driver may not know
  driver::CUcontext context = nullptr;  // the GPU that has the memory, if the other side's differs
};

// Queues a copy on a stream whose context must be current.
void copy_on_device(const driver::Driver &cu, const Walk &walk, const Side &to, const Side &from,
                    driver::CUstream stream);

// Queues filling with items, likewise.
void fill_on_device(const driver::Driver &cu, const Walk &walk, const void *item, uint32_t itemsize,
                    driver::CUstream stream);

}  // namespace cai::transfer
