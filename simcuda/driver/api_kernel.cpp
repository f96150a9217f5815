// SPDX-License-Identifier: BSD-3-Clause
// Launches of kernels.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "call.h"
#include "launch.h"

using namespace simcuda;

namespace {

// Attributes that do not affect order: priorities, caches, memory domains.
constexpr int harmless_attributes[] = {0, 1, 4, 5, 8, 9, 10, 11, 14};

// Whether the launch is cooperative.
bool check_attributes(const CUlaunchConfig &config) {
  bool cooperative = false;
  if (config.numAttrs) required(config.attrs);
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute &attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      int value;
      std::memcpy(&value, attribute.value, sizeof value);
      cooperative = value != 0;
    } else if (!std::count(std::begin(harmless_attributes), std::end(harmless_attributes),
                           attribute.id)) {
      note_unsupported("cuLaunchKernelEx");
      throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    }
  }
  return cooperative;
}

void launch(Session &s, CUstream handle, CUfunction function, const LaunchShape &shape,
            void **parameters, void **extra) {
  const auto stream = s.stream(handle);
  s.submit(stream, std::make_shared<Operation>(
                       kernel_operation(s, *stream, function, shape, parameters, extra)));
}

}  // namespace

SIM_API CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                unsigned block_z, unsigned shared_bytes, CUstream stream,
                                void **parameters, void **extra) {
  return call(__func__,
              {function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
               parameters, extra},
              [&](Session &s) {
                launch(s, stream, function,
                       {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
                       parameters, extra);
              });
}

SIM_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                  void **parameters, void **extra) {
  return call(__func__, {config, function, parameters, extra}, [&](Session &s) {
    const auto &c = required(config);
    launch(s, c.hStream, function,
           {{c.gridDimX, c.gridDimY, c.gridDimZ},
            {c.blockDimX, c.blockDimY, c.blockDimZ},
            c.sharedMemBytes,
            check_attributes(c)},
           parameters, extra);
  });
}

SIM_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                           unsigned grid_z, unsigned block_x, unsigned block_y,
                                           unsigned block_z, unsigned shared_bytes, CUstream stream,
                                           void **parameters) {
  return call(__func__,
              {function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
               parameters},
              [&](Session &s) {
                launch(s, stream, function,
                       {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, true},
                       parameters, nullptr);
              });
}
