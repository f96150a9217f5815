// SPDX-License-Identifier: BSD-3-Clause
// Rule: Each form of cuStreamGetCaptureInfo tells of the capture, its graph and the nodes that the
// next one will depend on.
// Source: cuda.h, cuStreamGetCaptureInfo
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  CUresult (*info_1)(CUstream, int *, uint64_t *);
  CUresult (*info_2)(CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **, size_t *);
  CUresult (*info_3)(CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **, const void **,
                     size_t *);
  *(void **)&info_1 = find("cuStreamGetCaptureInfo", 10010);
  *(void **)&info_2 = find("cuStreamGetCaptureInfo", 11030);
  *(void **)&info_3 = find("cuStreamGetCaptureInfo", 12030);
  CUdeviceptr data;
  CUstream stream;
  CUgraph graph = NULL, told = NULL;
  const CUgraphNode *nodes = NULL;
  CUgraphNode all[2];
  const void *edges = NULL;
  uint64_t first = 0, second = 0, third = 0;
  size_t count = 9;
  int status = -1;
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  EXPECT(info_1(stream, NULL, &first), INVALID_VALUE);
  OK(info_3(stream, &status, NULL, NULL, NULL, NULL, NULL));
  EXPECT(status, NONE);

  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(info_1(stream, &status, &first));
  EXPECT(status, ACTIVE);
  OK(info_2(stream, &status, &second, &told, &nodes, &count));
  EXPECT(count, 0);
  OK(cuMemsetD8Async(data, 1, 1, stream));
  OK(cuMemsetD8Async(data, 2, 1, stream));
  OK(info_2(stream, &status, &second, &told, &nodes, &count));
  EXPECT(status, ACTIVE);
  EXPECT(first == second, 1);
  EXPECT(count, 1);
  const CUgraphNode last = nodes[0];
  OK(info_3(stream, &status, &third, &told, &nodes, &edges, &count));
  EXPECT(first == third, 1);
  EXPECT(count, 1);
  EXPECT(nodes[0] == last, 1);
  size_t all_count = 2;
  OK(cuGraphGetNodes(told, all, &all_count));
  EXPECT(all_count, 2);
  EXPECT(last == all[0] || last == all[1], 1);
  OK(cuStreamEndCapture(stream, &graph));
  EXPECT(graph == told, 1);
  OK(info_2(stream, &status, &second, NULL, NULL, NULL));
  EXPECT(status, NONE);
  return 0;
}
