// SPDX-License-Identifier: BSD-3-Clause
// Kernel nodes of graphs, and changes to them in graphs and executable graphs.

#include "call.h"
#include "capture.h"
#include "graph_work.h"
#include "launch.h"

using namespace simcuda;

namespace {

template <class Parameters>
LaunchShape shape_of(const Parameters &p) {
  return {{p.gridDimX, p.gridDimY, p.gridDimZ},
          {p.blockDimX, p.blockDimY, p.blockDimZ},
          p.sharedMemBytes};
}

// What is launched, and in which context; null: the current one.
struct Target {
  CUfunction function;
  CUcontext context;
};

Target target_of(const CUDA_KERNEL_NODE_PARAMS_v1 &p) {
  return {p.func, nullptr};
}

Target target_of(const CUDA_KERNEL_NODE_PARAMS_v2 &p) {
  if (p.func) return {p.func, nullptr};
  return {reinterpret_cast<CUfunction>(p.kern), p.ctx};
}

template <class Parameters>
Operation operation_of(Session &s, const Stream &stream, const Parameters &p,
                       bool cooperative = false) {
  LaunchShape shape = shape_of(p);
  shape.cooperative = cooperative;
  return kernel_operation(s, stream, target_of(p).function, shape, p.kernelParams, p.extra);
}

template <class Parameters>
NodeWorkPtr work_of(Session &s, const std::shared_ptr<Context> &context, const Parameters &p,
                    bool cooperative = false) {
  return node_work(context, [&](auto &stream) {
    s.submit(stream, std::make_shared<Operation>(operation_of(s, *stream, p, cooperative)));
  });
}

template <class Parameters>
void add(Session &s, CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies,
         std::size_t count, const Parameters *parameters) {
  required(out);
  const auto &p = required(parameters);
  auto found = graph_of(s, graph);
  auto nodes = nodes_of(s, *found, dependencies, count);
  *out = add_node(s.driver, *found, nodes, work_of(s, s.context(target_of(p).context), p))->handle;
}

GraphNodePtr kernel_node(Session &s, CUgraphNode handle) {
  auto node = s.driver.graph_nodes.get(handle, CUDA_ERROR_INVALID_VALUE);
  if (!node->work->launch) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return node;
}

// The pointers to the arguments stay valid until the node is changed or destroyed.
void tell(const KernelLaunch &launch, CUDA_KERNEL_NODE_PARAMS_v1 &out) {
  const LaunchShape &shape = launch.shape;
  out = {launch.handle,  shape.grid[0],  shape.grid[1],      shape.grid[2], shape.block[0],
         shape.block[1], shape.block[2], shape.shared_bytes, nullptr,       nullptr};
  out.kernelParams = const_cast<void **>(launch.pointers.data());
}

void tell(const KernelLaunch &launch, CUDA_KERNEL_NODE_PARAMS_v2 &out) {
  CUDA_KERNEL_NODE_PARAMS_v1 first;
  tell(launch, first);
  out = {first.func,         first.gridDimX,  first.gridDimY,  first.gridDimZ,
         first.blockDimX,    first.blockDimY, first.blockDimZ, first.sharedMemBytes,
         first.kernelParams, nullptr,         nullptr,         launch.context->handle};
  if (!launch.is_library_kernel) return;
  out.kern = reinterpret_cast<CUkernel>(out.func);
  out.func = nullptr;
}

// The node's context stays, unless another one is named. It also stays cooperative.
template <class Parameters>
NodeWorkPtr new_work(Session &s, const KernelLaunch &before, const Parameters *parameters) {
  const auto &p = required(parameters);
  const auto context = target_of(p).context;
  return work_of(s, context ? s.context(context) : before.context, p, before.shape.cooperative);
}

template <class Parameters>
void set(Session &s, CUgraphNode handle, const Parameters *parameters) {
  auto node = kernel_node(s, handle);
  node->work = new_work(s, *node->work->launch, parameters);
}

template <class Parameters>
void set(Session &s, CUgraphExec handle, CUgraphNode node_handle, const Parameters *parameters) {
  auto exec = s.driver.graph_execs.get(handle, CUDA_ERROR_INVALID_VALUE);
  auto node = kernel_node(s, node_handle);
  const auto found = exec->plan->step_of.find(node.get());
  if (found == exec->plan->step_of.end()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const std::size_t step = found->second;
  auto work = new_work(s, *exec->plan->steps[step].work->launch, parameters);
  exec->own_plan().steps[step].work = std::move(work);
}

}  // namespace

NodeWorkPtr simcuda::kernel_work(Session &s, const std::shared_ptr<Context> &context,
                                 const CUDA_KERNEL_NODE_PARAMS_v2 *parameters) {
  return work_of(s, context, required(parameters));
}

NodeWorkPtr simcuda::kernel_work(Session &s, const NodeWork &before,
                                 const CUDA_KERNEL_NODE_PARAMS_v2 *parameters) {
  return new_work(s, *before.launch, parameters);
}

SIM_API CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph,
                                      const CUgraphNode *dependencies, std::size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  return call(__func__, {out, graph, dependencies, count, parameters},
              [&](Session &s) { add(s, out, graph, dependencies, count, parameters); });
}

SIM_API CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph,
                                         const CUgraphNode *dependencies, std::size_t count,
                                         const CUDA_KERNEL_NODE_PARAMS_v2 *parameters) {
  return call(__func__, {out, graph, dependencies, count, parameters},
              [&](Session &s) { add(s, out, graph, dependencies, count, parameters); });
}

SIM_API CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out) {
  return call(__func__, {node, out},
              [&](Session &s) { tell(*kernel_node(s, node)->work->launch, required(out)); });
}

SIM_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *out) {
  return call(__func__, {node, out},
              [&](Session &s) { tell(*kernel_node(s, node)->work->launch, required(out)); });
}

SIM_API CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  return call(__func__, {node, parameters}, [&](Session &s) { set(s, node, parameters); });
}

SIM_API CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS_v2 *parameters) {
  return call(__func__, {node, parameters}, [&](Session &s) { set(s, node, parameters); });
}

SIM_API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  return call(__func__, {exec, node, parameters},
              [&](Session &s) { set(s, exec, node, parameters); });
}

SIM_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v2 *parameters) {
  return call(__func__, {exec, node, parameters},
              [&](Session &s) { set(s, exec, node, parameters); });
}
