// SPDX-License-Identifier: BSD-3-Clause
// Parameters of nodes, read and changed, in graphs and executable graphs. Those of kernels are in
// api_graph_kernel.cpp; what all types have in common is here.

#include "call.h"
#include "graph_work.h"

using namespace simcuda;

namespace {

GraphNodePtr node_of_type(Session &s, CUgraphNode handle, int type) {
  auto node = node_of(s, handle);
  if (node->type != type) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return node;
}

// A node, or its counterpart in an executable graph.
struct Target {
  GraphNodePtr node;
  std::shared_ptr<GraphExec> exec;
  std::size_t step = 0;

  const NodeWorkPtr &work() const { return exec ? exec->plan->steps[step].work : node->work; }
  void set(NodeWorkPtr work) const {
    (exec ? exec->own_plan().steps[step].work : node->work) = std::move(work);
  }
  void set(const std::shared_ptr<Event> &event) const {
    (exec ? exec->own_plan().steps[step].event : node->event) = event;
  }
};

Target target(Session &s, CUgraphNode handle, int type) {
  return {node_of_type(s, handle, type), nullptr};
}

Target target(Session &s, CUgraphExec exec_handle, CUgraphNode handle, int type) {
  auto exec = exec_of(s, exec_handle);
  auto node = node_of_type(s, handle, type);
  const auto step = exec->plan->step_of.find(node.get());
  if (step == exec->plan->step_of.end()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return {node, exec, step->second};
}

// The context that is named, or the former one.
std::shared_ptr<Context> context_of(Session &s, const Target &target, CUcontext handle) {
  return handle ? s.context(handle) : target.work()->parameters->context;
}

void set_copy(Session &s, const Target &target, const CUDA_MEMCPY3D *p, CUcontext context) {
  target.set(copy_work(s, context_of(s, target, context), p));
}

void set_memset(Session &s, const Target &target, const CUDA_MEMSET_NODE_PARAMS *p,
                CUcontext context) {
  target.set(memset_work(s, context_of(s, target, context), p));
}

void set_event(Session &s, const Target &target, CUevent event) {
  target.set(s.made_event(event));
}

void set_child_of(Session &s, const Target &target, CUgraph handle) {
  const auto graph = graph_of(s, handle);
  if (!graph->can_be_copied()) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  if (update_child(*target.exec, *target.node, *graph).result)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
}

void set_any(Session &s, const Target &target, const CUgraphNodeParams &p) {
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return target.set(kernel_work(s, *target.work(), &p.kernel));
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return set_copy(s, target, &p.memcpy.copyParams, p.memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return set_memset(s, target, &p.memset.fill, p.memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST:
      return target.set(host_work(&p.host));
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return set_event(s, target, p.event);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      if (target.exec) return set_child_of(s, target, p.graph.graph);
      [[fallthrough]];
    default:
      throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  }
}

template <class Parameters>
void tell(Session &s, CUgraphNode node, int type, Parameters *out) {
  required(out) = std::get<Parameters>(node_of_type(s, node, type)->work->parameters->of);
}

void tell_event(Session &s, CUgraphNode node, int type, CUevent *out) {
  required(out) = node_of_type(s, node, type)->event->handle;
}

// Copies, memsets and kernels can be disabled in launches.
Target switched(Session &s, CUgraphExec exec, CUgraphNode node) {
  const int type = node_of(s, node)->type;
  if (type > CU_GRAPH_NODE_TYPE_MEMSET) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return target(s, exec, node, type);
}

}  // namespace

SIM_API CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *out) {
  return call(__func__, {node, out},
              [&](Session &s) { tell(s, node, CU_GRAPH_NODE_TYPE_MEMCPY, out); });
}

SIM_API CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *out) {
  return call(__func__, {node, out},
              [&](Session &s) { tell(s, node, CU_GRAPH_NODE_TYPE_MEMSET, out); });
}

SIM_API CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *out) {
  return call(__func__, {node, out},
              [&](Session &s) { tell(s, node, CU_GRAPH_NODE_TYPE_HOST, out); });
}

// The access descriptions stay valid as long as the node.
SIM_API CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *out) {
  return call(__func__, {node, out}, [&](Session &s) {
    tell(s, node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, out);
    out->accessDescs =
        out->accessDescCount ? node_of(s, node)->work->parameters->access.data() : nullptr;
  });
}

SIM_API CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *out) {
  return call(__func__, {node, out}, [&](Session &s) {
    required(out) = node_of_type(s, node, CU_GRAPH_NODE_TYPE_MEM_FREE)->memory->allocation->address;
  });
}

SIM_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event) {
  return call(__func__, {node, event},
              [&](Session &s) { tell_event(s, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event); });
}

SIM_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event) {
  return call(__func__, {node, event},
              [&](Session &s) { tell_event(s, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event); });
}

// It belongs to the node, and is destroyed with it.
SIM_API CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out) {
  return call(__func__, {node, out}, [&](Session &s) {
    required(out) = node_of_type(s, node, CU_GRAPH_NODE_TYPE_GRAPH)->child->handle;
  });
}

SIM_API CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *parameters) {
  return call(__func__, {node, parameters}, [&](Session &s) {
    set_copy(s, target(s, node, CU_GRAPH_NODE_TYPE_MEMCPY), parameters, nullptr);
  });
}

SIM_API CUresult cuGraphMemsetNodeSetParams(CUgraphNode node,
                                            const CUDA_MEMSET_NODE_PARAMS *parameters) {
  return call(__func__, {node, parameters}, [&](Session &s) {
    set_memset(s, target(s, node, CU_GRAPH_NODE_TYPE_MEMSET), parameters, nullptr);
  });
}

SIM_API CUresult cuGraphHostNodeSetParams(CUgraphNode node,
                                          const CUDA_HOST_NODE_PARAMS *parameters) {
  return call(__func__, {node, parameters}, [&](Session &s) {
    target(s, node, CU_GRAPH_NODE_TYPE_HOST).set(host_work(parameters));
  });
}

SIM_API CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return call(__func__, {node, event}, [&](Session &s) {
    set_event(s, target(s, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD), event);
  });
}

SIM_API CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return call(__func__, {node, event}, [&](Session &s) {
    set_event(s, target(s, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT), event);
  });
}

SIM_API CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *parameters) {
  return call(__func__, {node, parameters}, [&](Session &s) {
    const auto &p = required(parameters);
    set_any(s, target(s, node, p.type), p);
  });
}

SIM_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_MEMCPY3D *parameters,
                                                CUcontext context) {
  return call(__func__, {exec, node, parameters, context}, [&](Session &s) {
    set_copy(s, target(s, exec, node, CU_GRAPH_NODE_TYPE_MEMCPY), parameters, context);
  });
}

SIM_API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_MEMSET_NODE_PARAMS *parameters,
                                                CUcontext context) {
  return call(__func__, {exec, node, parameters, context}, [&](Session &s) {
    set_memset(s, target(s, exec, node, CU_GRAPH_NODE_TYPE_MEMSET), parameters, context);
  });
}

SIM_API CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                              const CUDA_HOST_NODE_PARAMS *parameters) {
  return call(__func__, {exec, node, parameters}, [&](Session &s) {
    target(s, exec, node, CU_GRAPH_NODE_TYPE_HOST).set(host_work(parameters));
  });
}

SIM_API CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                    CUevent event) {
  return call(__func__, {exec, node, event}, [&](Session &s) {
    set_event(s, target(s, exec, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD), event);
  });
}

SIM_API CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                  CUevent event) {
  return call(__func__, {exec, node, event}, [&](Session &s) {
    set_event(s, target(s, exec, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT), event);
  });
}

SIM_API CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                    CUgraph child) {
  return call(__func__, {exec, node, child}, [&](Session &s) {
    set_child_of(s, target(s, exec, node, CU_GRAPH_NODE_TYPE_GRAPH), child);
  });
}

SIM_API CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          CUgraphNodeParams *parameters) {
  return call(__func__, {exec, node, parameters}, [&](Session &s) {
    const auto &p = required(parameters);
    set_any(s, target(s, exec, node, p.type), p);
  });
}

SIM_API CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  return call(__func__, {exec, node, enabled}, [&](Session &s) {
    const Target found = switched(s, exec, node);
    found.exec->own_plan().steps[found.step].enabled = enabled != 0;
  });
}

SIM_API CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *enabled) {
  return call(__func__, {exec, node, enabled}, [&](Session &s) {
    const Target found = switched(s, exec, node);
    required(enabled) = found.exec->plan->steps[found.step].enabled;
  });
}
