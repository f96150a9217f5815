// SPDX-License-Identifier: BSD-3-Clause
// Nodes that are made one by one. Those of kernels are in api_graph_kernel.cpp.

#include "call.h"
#include "conditional.h"
#include "graph_work.h"

using namespace simcuda;

namespace {

// The graph and the dependencies of a new node.
struct Place {
  CUgraph graph;
  const CUgraphNode *dependencies;
  std::size_t count;
};

// To fill a graph's own memory, the current context is not enough; to copy it, it is.
NodeWorkPtr in_context(CUcontext handle, NodeWorkPtr work) {
  for (auto &access : work->accesses)
    if (!handle && access.allocation->of_graph) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return work;
}

CUgraphNode add(Session &s, const Place &place, NodeWorkPtr work) {
  auto graph = graph_of(s, place.graph);
  auto nodes = nodes_of(s, *graph, place.dependencies, place.count);
  return add_node(s.driver, *graph, nodes, std::move(work))->handle;
}

CUgraphNode add_event(Session &s, const Place &place, const char *what, CUevent handle) {
  auto event = s.made_event(handle);
  auto node = node_of(s, add(s, place, named_work(what)));
  node->event = event;
  return node->handle;
}

CUgraphNode add_child(Session &s, const Place &place, CUgraph handle, int ownership) {
  auto child = graph_of(s, handle);
  auto graph = graph_of(s, place.graph);
  const bool move = ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  if ((!move && ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) || child == graph ||
      child->moved)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (move && (child->of_node || !child->instance.expired() || child->holds(*graph)))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  // A copy of such a graph would share its memory.
  if ((!move && child->has_memory_nodes()) || child->has_conditional_nodes() || child->capturing)
    throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  auto nodes = nodes_of(s, *graph, place.dependencies, place.count);
  // A copy is without the node, which may be in the graph that is copied.
  if (!move) child = clone_graph(s.driver, *child);
  child->of_node = true;
  child->moved = move;
  auto node = add_node(s.driver, *graph, nodes, named_work("graph"));
  node->child = child;
  return node->handle;
}

CUgraphNode add_memory(Session &s, const Place &place, CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
  auto &p = required(parameters);
  auto graph = graph_of(s, place.graph);
  auto nodes = nodes_of(s, *graph, place.dependencies, place.count);
  const auto &properties = p.poolProps;
  const bool managed = properties.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
  const int place_type = properties.location.type;
  const bool on_host = place_type >= CU_MEM_LOCATION_TYPE_HOST &&
                       place_type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  const bool nowhere = managed && place_type == CU_MEM_LOCATION_TYPE_INVALID;
  if ((properties.allocType != CU_MEM_ALLOCATION_TYPE_PINNED && !managed) ||
      (managed && !Settings::get().is_since(13000)) || properties.handleTypes || !p.bytesize ||
      (place_type != CU_MEM_LOCATION_TYPE_DEVICE && !on_host && !nowhere))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (place_type == CU_MEM_LOCATION_TYPE_DEVICE)
    refuse_lost(s.driver.device(properties.location.id));
  if (p.accessDescCount) required(p.accessDescs);
  for (std::size_t i = 0; i < p.accessDescCount; ++i) {
    const CUmemAccessDesc &access = p.accessDescs[i];
    if (access.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        access.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    s.driver.device(access.location.id);
  }
  return add_allocation(s, *graph, nodes, p)->handle;
}

CUgraphNode add_free_of(Session &s, const Place &place, CUdeviceptr address) {
  auto graph = graph_of(s, place.graph);
  auto nodes = nodes_of(s, *graph, place.dependencies, place.count);
  auto allocation = s.driver.memory.find_base(address);
  if (!allocation) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return add_free(*graph, nodes, allocation)->handle;
}

CUgraphNode add_condition(Session &s, const Place &place, CUDA_CONDITIONAL_NODE_PARAMS &p) {
  auto graph = graph_of(s, place.graph);
  auto nodes = nodes_of(s, *graph, place.dependencies, place.count);
  return add_conditional(s, *graph, nodes, p)->handle;
}

CUgraphNode add_any(Session &s, const Place &place, CUgraphNodeParams &p) {
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return add(s, place,
                 kernel_work(s, s.context(p.kernel.func ? nullptr : p.kernel.ctx), &p.kernel));
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (p.memcpy.flags) throw Refused{CUDA_ERROR_INVALID_VALUE};
      return add(s, place, copy_work(s, s.context(p.memcpy.copyCtx), &p.memcpy.copyParams));
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return add(s, place,
                 in_context(p.memset.ctx, memset_work(s, s.context(p.memset.ctx), &p.memset.fill)));
    case CU_GRAPH_NODE_TYPE_HOST:
      return add(s, place, host_work(&p.host));
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return add_child(s, place, p.graph.graph, p.graph.ownership);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return add(s, place, named_work("empty"));
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return add_event(s, place, "event wait", p.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return add_event(s, place, "event record", p.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return add_memory(s, place, &p.alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return add_free_of(s, place, p.free);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return add_condition(s, place, p.conditional);
    default:
      if (p.type < 0 || p.type > CU_GRAPH_NODE_TYPE_CONDITIONAL)
        throw Refused{CUDA_ERROR_INVALID_VALUE};
      note_unsupported("cuGraphAddNode");
      throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  }
}

}  // namespace

NodeWorkPtr simcuda::named_work(const char *what) {
  Operation operation;
  operation.what = what;
  return node_work(std::move(operation));
}

NodeWorkPtr simcuda::host_work(const CUDA_HOST_NODE_PARAMS *parameters) {
  const auto p = required(parameters);
  if (!p.fn) throw Refused{CUDA_ERROR_INVALID_VALUE};
  Operation operation;
  operation.what = "host function";
  operation.host_function = [p] { p.fn(p.userData); };
  operation.parameters = std::make_shared<const NodeParameters>(NodeParameters{p, nullptr, {}});
  return node_work(std::move(operation));
}

SIM_API CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph,
                                     const CUgraphNode *dependencies, std::size_t count) {
  return call(__func__, {out, graph, dependencies, count}, [&](Session &s) {
    required(out);
    *out = add(s, {graph, dependencies, count}, named_work("empty"));
  });
}

SIM_API CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph,
                                      const CUgraphNode *dependencies, std::size_t count,
                                      const CUDA_MEMCPY3D *parameters, CUcontext context) {
  return call(__func__, {out, graph, dependencies, count, parameters, context}, [&](Session &s) {
    required(out);
    *out = add(s, {graph, dependencies, count}, copy_work(s, s.context(context), parameters));
  });
}

SIM_API CUresult cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph,
                                      const CUgraphNode *dependencies, std::size_t count,
                                      const CUDA_MEMSET_NODE_PARAMS *parameters,
                                      CUcontext context) {
  return call(__func__, {out, graph, dependencies, count, parameters, context}, [&](Session &s) {
    required(out);
    *out = add(s, {graph, dependencies, count},
               in_context(context, memset_work(s, s.context(context), parameters)));
  });
}

SIM_API CUresult cuGraphAddHostNode(CUgraphNode *out, CUgraph graph,
                                    const CUgraphNode *dependencies, std::size_t count,
                                    const CUDA_HOST_NODE_PARAMS *parameters) {
  return call(__func__, {out, graph, dependencies, count, parameters}, [&](Session &s) {
    required(out);
    *out = add(s, {graph, dependencies, count}, host_work(parameters));
  });
}

SIM_API CUresult cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph,
                                           const CUgraphNode *dependencies, std::size_t count,
                                           CUevent event) {
  return call(__func__, {out, graph, dependencies, count, event}, [&](Session &s) {
    required(out);
    *out = add_event(s, {graph, dependencies, count}, "event record", event);
  });
}

SIM_API CUresult cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph graph,
                                         const CUgraphNode *dependencies, std::size_t count,
                                         CUevent event) {
  return call(__func__, {out, graph, dependencies, count, event}, [&](Session &s) {
    required(out);
    *out = add_event(s, {graph, dependencies, count}, "event wait", event);
  });
}

SIM_API CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph,
                                          const CUgraphNode *dependencies, std::size_t count,
                                          CUgraph child) {
  return call(__func__, {out, graph, dependencies, count, child}, [&](Session &s) {
    required(out);
    *out = add_child(s, {graph, dependencies, count}, child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE);
  });
}

SIM_API CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph graph,
                                        const CUgraphNode *dependencies, std::size_t count,
                                        CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
  return call(__func__, {out, graph, dependencies, count, parameters}, [&](Session &s) {
    required(out);
    *out = add_memory(s, {graph, dependencies, count}, parameters);
  });
}

SIM_API CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph graph,
                                       const CUgraphNode *dependencies, std::size_t count,
                                       CUdeviceptr pointer) {
  return call(__func__, {out, graph, dependencies, count, pointer}, [&](Session &s) {
    required(out);
    *out = add_free_of(s, {graph, dependencies, count}, pointer);
  });
}

SIM_API CUresult cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies,
                                std::size_t count, CUgraphNodeParams *parameters) {
  return call(__func__, {out, graph, dependencies, count, parameters}, [&](Session &s) {
    required(out);
    *out = add_any(s, {graph, dependencies, count}, required(parameters));
  });
}

SIM_API CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies,
                                   const CUgraphEdgeData *edges, std::size_t count,
                                   CUgraphNodeParams *parameters) {
  return call(__func__, {out, graph, dependencies, edges, count, parameters}, [&](Session &s) {
    check_edges(edges, count);
    required(out);
    *out = add_any(s, {graph, dependencies, count}, required(parameters));
  });
}
