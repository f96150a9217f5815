/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs: their own edges, and launches among other work. A capture itself runs nothing. */
#include "pairs.h"

static CUgraphExec graph_that_fills(CUdeviceptr memory) {
  capture(three);
  fill(memory, three);
  return captured(three);
}

PAIR(captured_edge, LAUNCH, LAUNCH) {
  capture(one);
  after(two, one);
  fill(data, one);
  if (ordered) after(two, one);
  fill(data, two);
  after(one, two);
  launch(captured(one), one);
}

PAIR(captured_way_back, LAUNCH, LAUNCH) {
  capture(one);
  after(two, one);
  fill(data, two);
  if (ordered) after(one, two);
  fill(data, one);
  after(one, two);
  launch(captured(one), one);
}

PAIR(nodes_and_their_edge, LAUNCH, LAUNCH) {
  CUgraph graph;
  CUgraphNode first, second;
  CUgraphExec exec;
  const struct memset_node node = {data, BYTES, 1, 1, BYTES, 1};
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddMemsetNode(&first, graph, NULL, 0, &node, here));
  MUST(cuGraphAddMemsetNode(&second, graph, &first, ordered, &node, here));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  launch(exec, one);
}

PAIR(two_launches, LAUNCH, LAUNCH) {
  CUgraphExec first = graph_that_fills(data), second = graph_that_fills(data);
  launch(first, one);
  if (ordered) after(two, one);
  launch(second, two);
}

PAIR(launch_then_work, LAUNCH, TAKE) {
  launch(graph_that_fills(data), one);
  if (ordered) after(two, one);
  take(data, two);
}

PAIR(work_then_launch, TAKE, LAUNCH) {
  CUgraphExec exec = graph_that_fills(data);
  take(data, two);
  if (ordered) after(one, two);
  launch(exec, one);
}

PAIR(launch_then_host, LAUNCH, HOST) {
  launch(graph_that_fills(managed), one);
  if (ordered) finish(one);
  look(host(managed));
}

// The origin of a capture is not the stream of the launch.
PAIR(launch_elsewhere, FILL, LAUNCH) {
  CUgraphExec exec = graph_that_fills(data);
  fill(data, three);
  launch(exec, ordered ? three : one);
}

// An event outside, for which the graph waits at each launch.
PAIR(launch_waits_for_event, FILL, LAUNCH) {
  CUevent marked = event();
  enum { EXTERNAL = 1 };
  capture(three);
  if (ordered) MUST(cuStreamWaitEvent(three, marked, EXTERNAL));
  fill(data, three);
  CUgraphExec exec = captured(three);
  fill(data, two);
  record(marked, two);
  launch(exec, one);
}

// An event that the graph records at each launch.
PAIR(launch_records_event, LAUNCH, FILL) {
  CUevent marked = event();
  enum { EXTERNAL = 1 };
  capture(three);
  fill(data, three);
  if (ordered) MUST(cuEventRecordWithFlags(marked, three, EXTERNAL));
  CUgraphExec exec = captured(three);
  launch(exec, one);
  await(two, marked);
  fill(data, two);
}
