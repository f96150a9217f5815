// SPDX-License-Identifier: BSD-3-Clause
// Green contexts: a part of a device's multiprocessors, with streams of its own. Its memory,
// events, modules and errors belong to the primary context that it is a part of.
#pragma once

#include "driver.h"

namespace simcuda {

struct GreenContext {
  CUgreenCtx handle = nullptr;
  std::shared_ptr<Context> context;  // the context that clients can make current
  CUdevResource resource{};
};

struct ResourceDescriptor {
  CUdevResourceDesc handle = nullptr;
  int device = 0;
  CUdevResource resource{};
};

// Its streams stay, but can do nothing any more.
void end_green(Driver &driver, const std::shared_ptr<GreenContext> &green);
// Destroys those of the primary context.
void end_green_of(Driver &driver, const Context &primary);

}  // namespace simcuda
