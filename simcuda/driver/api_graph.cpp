// SPDX-License-Identifier: BSD-3-Clause
// Graphs as a whole: making, changing and querying them.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

struct Edge {
  CUgraphNode from, to;
};

std::vector<Edge> edges_of(const Graph &graph) {
  std::vector<Edge> edges;
  for (auto &node : graph.nodes)
    for (auto &before : node->depends_on) edges.push_back({before->handle, node->handle});
  return edges;
}

// As many as fit; the rest of the array is filled with nulls. Without an array, only the count.
template <class Item, class Get>
void tell(const std::vector<Item> &items, CUgraphNode *out, std::size_t room, const Get &get) {
  for (std::size_t i = 0; out && i < room; ++i) out[i] = i < items.size() ? get(items[i]) : nullptr;
}

template <class Nodes>
void tell_nodes(const Nodes &nodes, CUgraphNode *out, std::size_t *count) {
  const std::vector<typename Nodes::value_type> all(nodes.begin(), nodes.end());
  const std::size_t room = required(count);
  tell(all, out, room, [](auto &node) { return node->handle; });
  *count = out ? std::min(room, all.size()) : all.size();
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
  const auto &found = node->dependents;
  if (data && !out) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (data) std::fill_n(data, std::min(required(count), found.size()), CUgraphEdgeData{});
  tell_nodes(found, out, count);
}

using Edges = std::vector<std::pair<GraphNodePtr, GraphNodePtr>>;

// Each must occur once, be of this graph, and exist or not, as stated.
Edges edges_between(Session &s, const Graph &graph, const CUgraphNode *from, const CUgraphNode *to,
                    std::size_t count, bool there) {
  required(from);
  required(to);
  Edges edges;
  std::set<std::pair<CUgraphNode, CUgraphNode>> seen;
  for (std::size_t i = 0; i < count; ++i) {
    auto before = node_of(s, from[i]), after = node_of(s, to[i]);
    const auto &known = after->depends_on;
    if (before->graph != &graph || after->graph != &graph || before == after ||
        (std::find(known.begin(), known.end(), before) != known.end()) != there ||
        !seen.emplace(from[i], to[i]).second)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    edges.emplace_back(std::move(before), std::move(after));
  }
  return edges;
}

void add_dependencies(Session &s, CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                      const CUgraphEdgeData *data, std::size_t count) {
  auto graph = graph_of(s, handle);
  if (!count) return;
  check_edges(data, count);
  for (auto &[before, after] : edges_between(s, *graph, from, to, count, false))
    add_edge(before, *after);
}

void remove_dependencies(Session &s, CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                         const CUgraphEdgeData *data, std::size_t count) {
  auto graph = graph_of(s, handle);
  if (!count) return;
  if (graph->has_memory_nodes()) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  check_edges(data, count);
  for (auto &[before, after] : edges_between(s, *graph, from, to, count, true))
    remove_edge(*before, *after);
}

// Draws child graphs beside it, each as a cluster.
void print(std::FILE *out, const Graph &graph, const char *kind) {
  std::fprintf(out, "%s \"cluster_%p\" {\n", kind, static_cast<const void *>(graph.handle));
  for (auto &node : graph.nodes)
    std::fprintf(out, "\"%p\" [label=\"%s\"];\n", static_cast<const void *>(node->handle),
                 node->work->what);
  for (auto &edge : edges_of(graph))
    std::fprintf(out, "\"%p\" -> \"%p\";\n", static_cast<const void *>(edge.from),
                 static_cast<const void *>(edge.to));
  for (auto &node : graph.nodes)
    if (node->child) print(out, *node->child, "subgraph");
  for (auto &node : graph.nodes)
    for (auto &body : node->bodies) print(out, *body, "subgraph");
  std::fprintf(out, "}\n");
}

}  // namespace

SIM_API CUresult cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned flags) {
  return call(__func__, {handle, path, flags}, [&](Session &s) {
    auto graph = graph_of(s, handle);
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> out(std::fopen(&required(path), "w"),
                                                               std::fclose);
    if (!out) throw Refused{CUDA_ERROR_OPERATING_SYSTEM};
    print(out.get(), *graph, "digraph");
  });
}

SIM_API CUresult cuGraphCreate(CUgraph *out, unsigned flags) {
  return call(__func__, {out, flags}, [&](Session &s) {
    if (flags) throw Refused{CUDA_ERROR_INVALID_VALUE};
    required(out) = new_graph(s.driver)->handle;
  });
}

SIM_API CUresult cuGraphDestroy(CUgraph handle) {
  return call(__func__, {handle}, [&](Session &s) {
    const EndsHere ends_here(s.thread);
    auto graph = graph_of(s, handle);
    if (graph->capturing) throw Refused{CUDA_ERROR_ILLEGAL_STATE};
    if (graph->of_node) throw Refused{CUDA_ERROR_INVALID_VALUE};
    destroy_graph(s.driver, *graph);
  });
}

SIM_API CUresult cuGraphClone(CUgraph *out, CUgraph handle) {
  return call(__func__, {out, handle}, [&](Session &s) {
    required(out);
    auto graph = graph_of(s, handle);
    if (!graph->can_be_copied()) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
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
    std::vector<GraphNodePtr> roots;
    for (auto &node : graph_of(s, graph)->nodes)
      if (node->depends_on.empty()) roots.push_back(node);
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

SIM_API CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
                                           const CUgraphNode *to, std::size_t count) {
  return call(__func__, {graph, from, to, count},
              [&](Session &s) { remove_dependencies(s, graph, from, to, nullptr, count); });
}

SIM_API CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                              const CUgraphNode *to, const CUgraphEdgeData *data,
                                              std::size_t count) {
  return call(__func__, {graph, from, to, data, count},
              [&](Session &s) { remove_dependencies(s, graph, from, to, data, count); });
}

SIM_API CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto node = node_of(s, handle);
    if (node->graph->capturing) throw Refused{CUDA_ERROR_INVALID_VALUE};
    if (node->graph->has_memory_nodes()) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    remove_node(s.driver, *node);
  });
}
