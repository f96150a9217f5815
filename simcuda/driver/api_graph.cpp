// SPDX-License-Identifier: BSD-3-Clause
// Graphs as a whole: making, asking about, instantiating and launching them.

#include <algorithm>

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

std::shared_ptr<Graph> graph_of(Session &s, CUgraph handle) {
  return s.driver.graphs.get(handle, CUDA_ERROR_INVALID_VALUE);
}

GraphNodePtr node_of(Session &s, CUgraphNode handle) {
  return s.driver.graph_nodes.get(handle, CUDA_ERROR_INVALID_VALUE);
}

std::shared_ptr<GraphExec> exec_of(Session &s, CUgraphExec handle) {
  return s.driver.graph_execs.get(handle, CUDA_ERROR_INVALID_VALUE);
}

struct Edge {
  CUgraphNode from, to;
};

std::vector<Edge> edges_of(const Graph &graph) {
  std::vector<Edge> edges;
  for (auto &node : graph.nodes)
    for (auto &before : node->depends_on) edges.push_back({before->handle, node->handle});
  return edges;
}

// As many as there is room for; the rest of the room is nulls. Without room only the count.
template <class Item, class Get>
void tell(const std::vector<Item> &items, CUgraphNode *out, std::size_t room, const Get &get) {
  for (std::size_t i = 0; out && i < room; ++i) out[i] = i < items.size() ? get(items[i]) : nullptr;
}

void tell_nodes(const std::vector<GraphNodePtr> &nodes, CUgraphNode *out, std::size_t *count) {
  const std::size_t room = required(count);
  tell(nodes, out, room, [](auto &node) { return node->handle; });
  *count = out ? std::min(room, nodes.size()) : nodes.size();
}

void tell_edges(const std::vector<Edge> &edges, CUgraphNode *from, CUgraphNode *to,
                CUgraphEdgeData *data, std::size_t *count) {
  if (!from != !to || (data && !from)) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const std::size_t room = required(count);
  tell(edges, from, room, [](auto &edge) { return edge.from; });
  tell(edges, to, room, [](auto &edge) { return edge.to; });
  if (data) std::fill_n(data, std::min(room, edges.size()), CUgraphEdgeData{});
  *count = from ? std::min(room, edges.size()) : edges.size();
}

void tell_dependencies(Session &s, CUgraphNode handle, CUgraphNode *out, CUgraphEdgeData *data,
                       std::size_t *count) {
  auto node = node_of(s, handle);
  if (data && !out) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (data)
    std::fill_n(data, std::min(required(count), node->depends_on.size()), CUgraphEdgeData{});
  tell_nodes(node->depends_on, out, count);
}

void tell_dependents(Session &s, CUgraphNode handle, CUgraphNode *out, CUgraphEdgeData *data,
                     std::size_t *count) {
  auto node = node_of(s, handle);
  std::vector<GraphNodePtr> found;
  for (auto &other : node->graph->nodes)
    if (std::find(other->depends_on.begin(), other->depends_on.end(), node) !=
        other->depends_on.end())
      found.push_back(other);
  if (data && !out) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (data) std::fill_n(data, std::min(required(count), found.size()), CUgraphEdgeData{});
  tell_nodes(found, out, count);
}

void add_dependencies(Session &s, CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                      const CUgraphEdgeData *data, std::size_t count) {
  auto graph = graph_of(s, handle);
  if (!count) return;
  required(from);
  required(to);
  check_edges(data, count);
  std::vector<std::pair<GraphNodePtr, GraphNodePtr>> edges;
  std::set<std::pair<CUgraphNode, CUgraphNode>> seen;
  for (std::size_t i = 0; i < count; ++i) {
    auto before = node_of(s, from[i]), after = node_of(s, to[i]);
    const auto &known = after->depends_on;
    if (before->graph != graph.get() || after->graph != graph.get() || before == after ||
        std::find(known.begin(), known.end(), before) != known.end() ||
        !seen.emplace(from[i], to[i]).second)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    edges.emplace_back(std::move(before), std::move(after));
  }
  for (auto &[before, after] : edges) after->depends_on.push_back(before);
}

void instantiate(Session &s, CUgraphExec *out, CUgraph graph, std::uint64_t flags) {
  required(out);
  *out = simcuda::instantiate(s, graph_of(s, graph), flags)->handle;
}

// There is nothing to bring to the device: it takes its place in the order, and no more.
void upload(Session &s, GraphExec &exec, CUstream handle) {
  auto stream = s.stream(handle);
  refuse_capturing(*stream);
  auto operation = std::make_shared<Operation>();
  operation->what = "graph upload";
  if (exec.last) operation->waits_for.push_back(exec.last);
  s.submit(stream, std::move(operation));
}

}  // namespace

SIM_API CUresult cuGraphCreate(CUgraph *out, unsigned flags) {
  return call(__func__, {out, flags}, [&](Session &s) {
    if (flags) throw Refused{CUDA_ERROR_INVALID_VALUE};
    required(out) = new_graph(s.driver)->handle;
  });
}

SIM_API CUresult cuGraphDestroy(CUgraph handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto graph = graph_of(s, handle);
    if (graph->capturing) throw Refused{CUDA_ERROR_INVALID_VALUE};
    destroy_graph(s.driver, *graph);
  });
}

SIM_API CUresult cuGraphClone(CUgraph *out, CUgraph handle) {
  return call(__func__, {out, handle}, [&](Session &s) {
    required(out);
    auto graph = graph_of(s, handle);
    if (graph->has_memory_nodes()) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    *out = clone_graph(s.driver, *graph)->handle;
  });
}

SIM_API CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original, CUgraph handle) {
  return call(__func__, {out, original, handle}, [&](Session &s) {
    required(out);
    auto node = node_of(s, original);
    const auto &nodes = graph_of(s, handle)->nodes;
    auto found = std::find_if(nodes.begin(), nodes.end(),
                              [&](auto &other) { return other->original.lock() == node; });
    if (found == nodes.end()) throw Refused{CUDA_ERROR_INVALID_VALUE};
    *out = (*found)->handle;
  });
}

SIM_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, std::size_t *count) {
  return call(__func__, {graph, nodes, count},
              [&](Session &s) { tell_nodes(graph_of(s, graph)->nodes, nodes, count); });
}

SIM_API CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, std::size_t *count) {
  return call(__func__, {graph, nodes, count}, [&](Session &s) {
    auto roots = graph_of(s, graph)->nodes;
    std::erase_if(roots, [](auto &node) { return !node->depends_on.empty(); });
    tell_nodes(roots, nodes, count);
  });
}

SIM_API CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                                 std::size_t *count) {
  return call(__func__, {graph, from, to, count}, [&](Session &s) {
    tell_edges(edges_of(*graph_of(s, graph)), from, to, nullptr, count);
  });
}

SIM_API CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                                    CUgraphEdgeData *data, std::size_t *count) {
  return call(__func__, {graph, from, to, data, count}, [&](Session &s) {
    tell_edges(edges_of(*graph_of(s, graph)), from, to, data, count);
  });
}

SIM_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *out,
                                            std::size_t *count) {
  return call(__func__, {node, out, count},
              [&](Session &s) { tell_dependencies(s, node, out, nullptr, count); });
}

SIM_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *out,
                                               CUgraphEdgeData *data, std::size_t *count) {
  return call(__func__, {node, out, data, count},
              [&](Session &s) { tell_dependencies(s, node, out, data, count); });
}

SIM_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *out,
                                              std::size_t *count) {
  return call(__func__, {node, out, count},
              [&](Session &s) { tell_dependents(s, node, out, nullptr, count); });
}

SIM_API CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *out,
                                                 CUgraphEdgeData *data, std::size_t *count) {
  return call(__func__, {node, out, data, count},
              [&](Session &s) { tell_dependents(s, node, out, data, count); });
}

SIM_API CUresult cuGraphNodeGetType(CUgraphNode node, int *type) {
  return call(__func__, {node, type}, [&](Session &s) { required(type) = node_of(s, node)->type; });
}

SIM_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from,
                                        const CUgraphNode *to, std::size_t count) {
  return call(__func__, {graph, from, to, count},
              [&](Session &s) { add_dependencies(s, graph, from, to, nullptr, count); });
}

SIM_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                           const CUgraphNode *to, const CUgraphEdgeData *data,
                                           std::size_t count) {
  return call(__func__, {graph, from, to, data, count},
              [&](Session &s) { add_dependencies(s, graph, from, to, data, count); });
}

SIM_API CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node,
                                    char *log, std::size_t log_size) {
  return call(__func__, {out, graph, error_node, log, log_size}, [&](Session &s) {
    if (error_node) *error_node = nullptr;
    if (log && log_size) *log = '\0';
    instantiate(s, out, graph, 0);
  });
}

SIM_API CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node,
                                       char *log, std::size_t log_size) {
  return cuGraphInstantiate(out, graph, error_node, log, log_size);
}

SIM_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                             unsigned long long flags) {
  return call(__func__, {out, graph, flags},
              [&](Session &s) { instantiate(s, out, graph, flags); });
}

SIM_API CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
  return call(__func__, {out, graph, parameters}, [&](Session &s) {
    auto &p = required(parameters);
    p.hErrNode_out = nullptr;
    p.result_out = 1;  // an error, which the call's own result describes
    instantiate(s, out, graph, p.flags);
    if (p.flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) upload(s, *exec_of(s, *out), p.hUploadStream);
    p.result_out = 0;
  });
}

SIM_API CUresult cuGraphExecGetFlags(CUgraphExec exec, std::uint64_t *flags) {
  return call(__func__, {exec, flags},
              [&](Session &s) { required(flags) = exec_of(s, exec)->flags; });
}

SIM_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return call(__func__, {exec, stream}, [&](Session &s) { upload(s, *exec_of(s, exec), stream); });
}

SIM_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return call(__func__, {exec, stream},
              [&](Session &s) { launch(s, exec_of(s, exec), s.stream(stream)); });
}

SIM_API CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return call(__func__, {handle}, [&](Session &s) {
    exec_of(s, handle);
    s.driver.graph_execs.remove(handle);
  });
}
