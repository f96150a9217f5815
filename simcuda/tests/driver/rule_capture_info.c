// SPDX-License-Identifier: BSD-3-Clause
// Rule: Each form of cuStreamGetCaptureInfo reports the capture, its graph and the nodes that the
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
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST_BE(info_1(stream, NULL, &first), INVALID_VALUE);
  MUST(info_3(stream, &status, NULL, NULL, NULL, NULL, NULL));
  MUST_BE(status, NONE);

  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(info_1(stream, &status, &first));
  MUST_BE(status, ACTIVE);
  MUST(info_2(stream, &status, &second, &told, &nodes, &count));
  MUST_BE(count, 0);
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  MUST(cuMemsetD8Async(data, 2, 1, stream));
  MUST(info_2(stream, &status, &second, &told, &nodes, &count));
  MUST_BE(status, ACTIVE);
  MUST_BE(first == second, 1);
  MUST_BE(count, 1);
  const CUgraphNode last = nodes[0];
  MUST(info_3(stream, &status, &third, &told, &nodes, &edges, &count));
  MUST_BE(first == third, 1);
  MUST_BE(count, 1);
  MUST_BE(nodes[0] == last, 1);
  size_t all_count = 2;
  MUST(cuGraphGetNodes(told, all, &all_count));
  MUST_BE(all_count, 2);
  MUST_BE(last == all[0] || last == all[1], 1);
  MUST(cuStreamEndCapture(stream, &graph));
  MUST_BE(graph == told, 1);
  MUST(info_2(stream, &status, &second, NULL, NULL, NULL));
  MUST_BE(status, NONE);
  return 0;
}
