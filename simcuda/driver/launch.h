// SPDX-License-Identifier: BSD-3-Clause
// Launches: what a kernel is given, checked and copied, as work of a stream or of a graph's node.
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
  std::shared_ptr<Context> context;  // that it runs in
  std::shared_ptr<Globals> globals;
  LaunchShape shape;
  std::vector<std::byte> bytes;  // of the arguments
  std::vector<void *> pointers;  // to each of them
  // Memory that the arguments lead to, as of the call: by the time the launch runs, a pool may
  // have handed the address out again.
  std::vector<AllocationPtr> named;
};

// The work of a launch on this stream, not yet submitted. Refuses what does not fit.
Operation kernel_operation(Session &session, const Stream &stream, CUfunction function,
                           const LaunchShape &shape, void **parameters, void **extra);

// Whether a kernel on this context's device can reach the memory. Host and managed memory is in
// reach of all.
bool in_reach(const Context &context, const Allocation &allocation);

simcuda_launch launch_as_seen(const KernelLaunch &launch);
// The work of a registered kernel; what it reads and writes is stated.
void prepare_registered(Session &session, Operation &operation);

}  // namespace simcuda
