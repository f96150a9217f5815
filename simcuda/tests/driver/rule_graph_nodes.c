// SPDX-License-Identifier: BSD-3-Clause
// Rule: Nodes made one by one run in the order of their edges.
// Source: cuda.h, cuGraphAdd...Node
#include "driver_test.h"

struct copy_3d {
  size_t from_x, from_y, from_z, from_lod;
  int from_type;
  const void *from_host;
  CUdeviceptr from;
  void *from_array, *reserved0;
  size_t from_pitch, from_height;
  size_t to_x, to_y, to_z, to_lod;
  int to_type;
  void *to_host;
  CUdeviceptr to;
  void *to_array, *reserved1;
  size_t to_pitch, to_height;
  size_t width, height, depth;
};
struct memset_node {
  CUdeviceptr to;
  size_t pitch;
  unsigned value, element_size;
  size_t width, height;
};
struct host_node {
  void (*function)(void *);
  void *data;
};

static unsigned char result[16], seen;

static void look(void *data) { seen = *(unsigned char *)data; }

int main(void) {
  CUcontext context = start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GRAPHS;
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  USE(cuGraphAddMemsetNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const struct memset_node *, CUcontext);
  USE(cuGraphAddMemcpyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const struct copy_3d *, CUcontext);
  USE(cuGraphAddHostNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const struct host_node *);
  USE(cuGraphAddDependencies, 10000, CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
  USE(cuGraphNodeGetDependencies, 10000, CUgraphNode, CUgraphNode *, size_t *);
  USE(cuGraphNodeGetDependentNodes, 10000, CUgraphNode, CUgraphNode *, size_t *);
  enum { HOST = 1, DEVICE = 2 };
  CUdeviceptr data;
  CUgraph graph;
  CUgraphExec exec, none = NULL;
  CUgraphNode fill, copy, host, empty, told[4];
  CUstream stream;
  size_t count = 0;
  MUST(cuMemAlloc(&data, sizeof result));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuGraphCreate(&graph, 0));
  // Made in the wrong order on purpose: the edges decide.
  const struct host_node call = {look, result};
  MUST(cuGraphAddHostNode(&host, graph, NULL, 0, &call));
  const struct copy_3d get = {.from_type = DEVICE,
                              .from = data,
                              .to_type = HOST,
                              .to_host = result,
                              .width = sizeof result,
                              .height = 1,
                              .depth = 1};
  MUST(cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &get, context));
  struct memset_node set = {data, 0, 7, 3, sizeof result, 1};
  MUST_BE(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &set, context), INVALID_VALUE);
  set.element_size = 1;
  MUST(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &set, context));
  MUST(cuGraphAddEmptyNode(&empty, graph, &fill, 1));
  MUST(cuGraphAddDependencies(graph, &empty, &copy, 1));
  MUST(cuGraphAddDependencies(graph, &copy, &host, 1));

  MUST(cuGraphNodeGetDependencies(copy, NULL, &count));
  MUST_BE(count, 1);
  MUST(cuGraphNodeGetDependencies(copy, told, &count));
  MUST_BE(told[0] == empty, 1);
  MUST(cuGraphNodeGetDependentNodes(copy, NULL, &count));
  MUST_BE(count, 1);
  MUST(cuGraphNodeGetDependentNodes(copy, told, &count));
  MUST_BE(told[0] == host, 1);

  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(result[0], 7);
  MUST_BE(result[sizeof result - 1], 7);
  MUST_BE(seen, 7);

  CUresult ring = cuGraphAddDependencies(graph, &host, &fill, 1);  // may be found now or later
  if (ring == SUCCESS) ring = cuGraphInstantiateWithFlags(&none, graph, 0);
  MUST_BE(ring != SUCCESS, 1);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  return 0;
}
