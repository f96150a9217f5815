// SPDX-License-Identifier: BSD-3-Clause
// Launches: a kernel's arguments, checked and copied, as work of a stream or of a graph node.
#pragma once

#include "kernel.h"

namespace simcuda {

struct LaunchShape {
  std::uint32_t grid[3], block[3], shared_bytes;
  bool cooperative = false;
};

struct KernelLaunch {
  CUfunction handle = nullptr;  // a CUkernel's, if one was launched
  bool is_library_kernel = false;
  KernelCodePtr code;
  std::shared_ptr<Context> context;  // the context in which it runs
  std::shared_ptr<Globals> globals;
  LaunchShape shape;
  std::vector<std::byte> bytes;  // of the arguments
  std::vector<void *> pointers;  // to each of them
  // The memory that the arguments pointed to at the time of the call: by the time the launch runs,
  // a pool may have reused the addresses.
  std::vector<AllocationPtr> named;
};

// The work of a launch on this stream, not yet submitted. Rejects invalid launches.
Operation kernel_operation(Session &session, const Stream &stream, CUfunction function,
                           const LaunchShape &shape, void **parameters, void **extra);

// Whether a kernel on this context's device can access the memory. All can access host and managed
// memory.
bool in_reach(const Context &context, const Allocation &allocation);

simcuda_launch launch_as_seen(const KernelLaunch &launch);
// The work of a registered kernel, with the memory that it reads and writes.
void prepare_registered(Session &session, Operation &operation);

}  // namespace simcuda
