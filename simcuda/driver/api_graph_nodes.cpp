// SPDX-License-Identifier: BSD-3-Clause
// Nodes made one by one, but for those that api_copy.cpp and api_memset.cpp make of their own work.

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

CUgraphNode add(Session &s, CUgraph graph, const CUgraphNode *dependencies, std::size_t count,
                Operation &&operation, const std::shared_ptr<Event> &event = nullptr,
                std::shared_ptr<const GraphPlan> child = nullptr) {
  auto found = s.driver.graphs.get(graph, CUDA_ERROR_INVALID_VALUE);
  auto node =
      add_node(s.driver, *found, nodes_of(s, *found, dependencies, count), std::move(operation));
  node->event = event;
  node->child = std::move(child);
  return node->handle;
}

Operation named(const char *what) {
  Operation operation;
  operation.what = what;
  return operation;
}

CUevent event_of(Session &s, CUgraphNode handle, int type) {
  auto node = s.driver.graph_nodes.get(handle, CUDA_ERROR_INVALID_VALUE);
  if (node->type != type) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return node->event->handle;
}

}  // namespace

SIM_API CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph,
                                     const CUgraphNode *dependencies, std::size_t count) {
  return call(__func__, {out, graph, dependencies, count}, [&](Session &s) {
    required(out);
    *out = add(s, graph, dependencies, count, named("empty"));
  });
}

SIM_API CUresult cuGraphAddHostNode(CUgraphNode *out, CUgraph graph,
                                    const CUgraphNode *dependencies, std::size_t count,
                                    const CUDA_HOST_NODE_PARAMS *parameters) {
  return call(__func__, {out, graph, dependencies, count, parameters}, [&](Session &s) {
    required(out);
    const auto p = required(parameters);
    if (!p.fn) throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto operation = named("host function");
    operation.host_function = [p] { p.fn(p.userData); };
    *out = add(s, graph, dependencies, count, std::move(operation));
  });
}

SIM_API CUresult cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph,
                                           const CUgraphNode *dependencies, std::size_t count,
                                           CUevent event) {
  return call(__func__, {out, graph, dependencies, count, event}, [&](Session &s) {
    required(out);
    *out = add(s, graph, dependencies, count, named("event record"), s.driver.events.get(event));
  });
}

SIM_API CUresult cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph graph,
                                         const CUgraphNode *dependencies, std::size_t count,
                                         CUevent event) {
  return call(__func__, {out, graph, dependencies, count, event}, [&](Session &s) {
    required(out);
    *out = add(s, graph, dependencies, count, named("event wait"), s.driver.events.get(event));
  });
}

SIM_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event) {
  return call(__func__, {node, event}, [&](Session &s) {
    required(event) = event_of(s, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  });
}

SIM_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event) {
  return call(__func__, {node, event}, [&](Session &s) {
    required(event) = event_of(s, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  });
}

SIM_API CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph,
                                          const CUgraphNode *dependencies, std::size_t count,
                                          CUgraph child) {
  return call(__func__, {out, graph, dependencies, count, child}, [&](Session &s) {
    required(out);
    auto inner = s.driver.graphs.get(child, CUDA_ERROR_INVALID_VALUE);
    // Such a graph's memory would have to change hands.
    if (inner->has_memory_nodes() || inner->capturing) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    *out = add(s, graph, dependencies, count, named("graph"), nullptr,
               std::make_shared<GraphPlan>(*inner));
  });
}
