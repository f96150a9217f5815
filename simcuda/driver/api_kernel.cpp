// SPDX-License-Identifier: BSD-3-Clause
// Launches of kernels, at once or as nodes of a graph.

#include <algorithm>
#include <iterator>

#include "call.h"
#include "capture.h"
#include "kernel.h"

using namespace simcuda;

namespace {

// Attributes that change no order: clusters, priorities, caches, memory domains.
constexpr int harmless_attributes[] = {0, 1, 2, 4, 5, 8, 9, 10, 11, 14};

void check_attributes(const CUlaunchConfig &config) {
  if (config.numAttrs) required(config.attrs);
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (!std::count(std::begin(harmless_attributes), std::end(harmless_attributes),
                    config.attrs[i].id)) {
      note_unsupported("cuLaunchKernelEx");
      throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    }
}

template <class Parameters>
LaunchShape shape_of(const Parameters &p) {
  return {{p.gridDimX, p.gridDimY, p.gridDimZ},
          {p.blockDimX, p.blockDimY, p.blockDimZ},
          p.sharedMemBytes};
}

template <class Parameters>
CUgraphNode add_node(Session &s, CUgraph graph, const CUgraphNode *dependencies, std::size_t count,
                     const Parameters &p, CUfunction function, CUcontext context) {
  auto stream = node_stream(s, graph, dependencies, count, context);
  launch_kernel(s, stream, function, shape_of(p), p.kernelParams, p.extra);
  return made_node(*stream);
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
                launch_kernel(s, s.stream(stream), function,
                              {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
                              parameters, extra);
              });
}

SIM_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                  void **parameters, void **extra) {
  return call(__func__, {config, function, parameters, extra}, [&](Session &s) {
    check_attributes(required(config));
    launch_kernel(s, s.stream(config->hStream), function, shape_of(*config), parameters, extra);
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
                launch_kernel(s, s.stream(stream), function,
                              {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
                              parameters, nullptr);
              });
}

SIM_API CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph,
                                      const CUgraphNode *dependencies, std::size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  return call(__func__, {out, graph, dependencies, count, parameters}, [&](Session &s) {
    required(out);
    const auto &p = required(parameters);
    *out = add_node(s, graph, dependencies, count, p, p.func, nullptr);
  });
}

SIM_API CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph,
                                         const CUgraphNode *dependencies, std::size_t count,
                                         const CUDA_KERNEL_NODE_PARAMS_v2 *parameters) {
  return call(__func__, {out, graph, dependencies, count, parameters}, [&](Session &s) {
    required(out);
    const auto &p = required(parameters);
    const auto function = p.func ? p.func : reinterpret_cast<CUfunction>(p.kern);
    *out = add_node(s, graph, dependencies, count, p, function, p.func ? nullptr : p.ctx);
  });
}
