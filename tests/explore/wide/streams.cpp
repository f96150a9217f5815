// SPDX-License-Identifier: BSD-3-Clause
// Whoever has streams: captures on them, graphs, and streams that go.
#include "must.h"
#include "parties.hpp"

namespace wide {

void begin_capture(World &world, const Step &step) {
  const int stream = kPerThread + static_cast<int>(step[1] % (kStreams - kPerThread));
  Capture *const capture = world.free_capture();
  if (!capture || world.is_capturing(stream) || world.is_forked(stream)) return;
  const int mode = static_cast<int>(step[2] % 3);
  world.say("a capture begins on %s, mode %d", kStreamNames[stream], mode);
  MUST(cu().cuStreamBeginCapture_v2(machine().streams[stream], mode));
  *capture = {true, stream, {}, {}};
}

// Another stream joins a capture, as whoever captures may let it; it is joined back at the end.
void join(World &world, const Step &step) {
  const int stream = kPerThread + static_cast<int>(step[1] % (kStreams - kPerThread));
  Capture &capture = world.captures[step[2] % 2];
  if (!capture.on || world.is_capturing(stream)) return;
  for (const Use &use : world.uses) {
    if (use.open && use.stream == stream) return;
  }
  world.say("%s joins the capture on %s", kStreamNames[stream], kStreamNames[capture.stream]);
  world.follow(stream, capture.stream);
  capture.joined.push_back(stream);
}

void end_capture(World &world, const Step &step) {
  Capture *capture = nullptr;
  for (Capture &other : world.captures) {
    if (other.on && (!capture || step[1] % 2)) capture = &other;
  }
  if (!capture) return;
  // What has joined it must have been joined back.
  for (const Use &use : world.uses) {
    if (use.open && use.is_forked) return;
  }
  close_capture(world, *capture);
}

void close_capture(World &world, Capture &capture) {
  world.say("the capture on %s ends", kStreamNames[capture.stream]);
  for (const int stream : capture.joined) world.follow(capture.stream, stream);
  capture.on = false;
  Handle graph = nullptr;
  if (cu().cuStreamEndCapture(machine().streams[capture.stream], &graph) || !graph) {
    return world.fail("a capture was lost");
  }
  Graph made{graph, nullptr, capture.touched};
  MUST(cu().cuGraphInstantiateWithFlags(&made.runnable, graph, 0));
  world.graphs.push_back(made);
}

// Each launch is a use of its own.
void launch(World &world, const Step &step) {
  if (world.graphs.empty()) return;
  Graph &graph = world.graphs[step[1] % world.graphs.size()];
  const int stream = static_cast<int>(step[2] % kStreams);
  if (!graph.runnable || !world.may_work(stream) || world.is_capturing(stream) ||
      world.is_forked(stream))
    return;
  std::vector<const cai_array *> list;
  for (const int number : graph.touched) {
    if (world.conflicts(number, true)) return;
    list.push_back(world.pointer(number));
  }
  world.say("a graph that touches %zu arrays is launched on %s", list.size(), kStreamNames[stream]);
  cai_use use;
  cai_status status = CAI_OK;
  world.quietly([&] {
    status = cai_use_begin(&use, list.data(), static_cast<std::int32_t>(list.size()),
                           machine().value(stream), nullptr, &world.error);
  });
  if (!world.is_taken(status)) return;
  MUST(cu().cuGraphLaunch(graph.runnable, machine().streams[stream]));
  MUST(cu().cuGraphExecDestroy(graph.runnable));  // it runs once
  graph.runnable = nullptr;
  world.quietly([&] { status = cai_use_end(&use, &world.error); });
  if (status == CAI_OK) return;
  // A producer is being captured: later, as other uses.
  Use late{true, use, stream, CAI_ORDER_BOTH, graph.touched, {}, false};
  late.accesses.assign(graph.touched.size(), CAI_ACCESS_WRITE);
  Use *const open = world.free_use();
  if (!world.is_taken(status) && open) {
    *open = late;
  } else {
    give_up(world, late);
  }
}

// A stream that nobody names any more goes; another one may get its handle.
void replace_stream(World &world, const Step &step) {
  const int stream = kFirstHandle + static_cast<int>(step[1] % (kStreams - kFirstHandle));
  if (world.is_capturing(stream) || world.is_forked(stream)) return;
  for (const Array &array : world.arrays) {
    if (array.there && array.said == stream) return;
  }
  for (const Use &use : world.uses) {
    if (use.open && use.stream == stream) return;
  }
  for (const Block &block : world.blocks) {
    const bool names = block.freed_on == stream || ((block.pending | block.told) >> stream & 1);
    if (block.alive && names) return;
  }
  world.say("stream %s is destroyed, and another one made", kStreamNames[stream]);
  MUST(cu().cuStreamDestroy_v2(machine().streams[stream]));
  machine().make_stream(stream);
}

}  // namespace wide
