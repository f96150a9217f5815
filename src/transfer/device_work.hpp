// SPDX-License-Identifier: BSD-3-Clause
// Copying and filling by a GPU: as few calls of the driver as the strides allow.
#pragma once

#include "driver/context.hpp"
#include "transfer/walk.hpp"

namespace cai::transfer {

// One side of a copy.
struct Side {
  bool on_host = false;                 // memory that the driver may know nothing of
  driver::CUcontext context = nullptr;  // of the GPU whose own it is, if the other side's differs
};

// Queues a copy on a stream whose context is current.
void copy_on_device(const driver::Driver &cu, const Walk &walk, const Side &to, const Side &from,
                    driver::CUstream stream);

// Queues the filling with items, likewise.
void fill_on_device(const driver::Driver &cu, const Walk &walk, const void *item, uint32_t itemsize,
                    driver::CUstream stream);

}  // namespace cai::transfer
