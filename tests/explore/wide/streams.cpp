// SPDX-License-Identifier: BSD-3-Clause
// The party that owns streams: captures on them, graphs, and streams that are destroyed.
#include "must.h"
#include "parties.hpp"

namespace wide {

void begin_capture(World &world, const Step &step) {
  const int stream = world.stream(step[2]);
  Capture *const capture = world.free_capture(step[1]);
  if (!capture || stream == kLegacy || world.is_capturing(stream) || world.is_forked(stream))
    return;
  if (is_of_guest(stream)) return;
  const int mode = static_cast<int>(step[3]);
  world.say("a capture begins on %s, mode %d", kStreamNames[stream], mode);
  MUST(cu().cuStreamBeginCapture_v2(machine().streams[stream], mode));
  *capture = {true, ++world.captures_begun, stream, world.thread, {}, {}};
}

// Another stream joins a capture, as the capturing code may allow; it is joined back at the end.
void join(World &world, const Step &step) {
  const int stream = world.stream(step[2]);
  Capture &capture = world.captures[step[1]];
  if (!capture.on || stream == kLegacy || world.is_capturing(stream) || is_of_guest(stream)) return;
  world.say("%s joins the capture on %s", kStreamNames[stream], kStreamNames[capture.stream]);
  world.follow(stream, capture.stream);
  capture.joined.push_back(stream);
}

void end_capture(World &world, const Step &step) {
  Capture *const capture = &world.captures[step[1]];
  if (!capture->on) return;
  // All streams that have joined it must have been joined back.
  for (const Use &use : world.uses) {
    if (use.open && use.is_forked) return;
  }
  world.on_thread(capture->thread, [&] { close_capture(world, *capture); });
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
  if (step[1] >= world.graphs.size()) return;
  Graph &graph = world.graphs[step[1]];
  const int stream = world.stream(step[2]);
  if (!graph.runnable || !world.may_work(stream) || world.is_capturing(stream) ||
      world.is_forked(stream))
    return;
  std::vector<const cai_array *> list;
  for (const int number : graph.touched) {
    if (world.conflicts(number, true) || !world.may_launch(number)) return;
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
  for (const int number : graph.touched) {
    world.make_stale(world.arrays[number].block, world.arrays[number].tensor);
  }
  MUST(cu().cuGraphExecDestroy(graph.runnable));  // it runs once
  graph.runnable = nullptr;
  world.quietly([&] { status = cai_use_end(&use, &world.error); });
  if (status == CAI_OK) return;
  // A producer is being captured: later, as other uses.
  Use late{true, use, stream, CAI_ORDER_BOTH, graph.touched, {}, false, world.thread, 0, -1};
  late.accesses.assign(graph.touched.size(), CAI_ACCESS_WRITE);
  Use *const open = world.free_use(step[3]);
  if (!world.is_taken(status) && open) {
    *open = late;
  } else {
    give_up(world, late);
  }
}

// A stream that nobody names any more goes; another one may get its handle.
void replace_stream(World &world, const Step &step) {
  const int stream = world.stream(step[1]);
  if (stream < kFirstHandle || is_of_guest(stream)) return;
  if (world.is_capturing(stream) || world.is_forked(stream)) return;
  for (const Array &array : world.arrays) {
    if (array.there && array.said == stream) return;
  }
  for (const Use &use : world.uses) {
    if (use.open && use.stream == stream) return;  // it outlives the use, also one given up
  }
  for (int b = 0; b < kBlocks; ++b) {
    const Block &block = world.blocks[b];
    const bool names = block.freed_on == stream ||
                       (block.said == stream && block.is_used_on_said) ||
                       ((block.pending | world.told(b)) >> stream & 1);
    if (block.alive && names) return;
  }
  world.say("stream %s is destroyed, and another one made", kStreamNames[stream]);
  if (stream >= kFirstOfLibcai) {
    cai_stream_release(machine().made[stream - kFirstOfLibcai]);
  } else {
    MUST(cu().cuStreamDestroy_v2(machine().streams[stream]));
  }
  machine().make_stream(stream);
}

void open_guest(World &world, const Step &) {
  if (machine().guest || world.any_captures()) return;
  world.say("a second context is made");
  machine().open_guest();
}

void enter_guest(World &world, const Step &) {
  if (!machine().guest) return;
  world.is_in_guest = !world.is_in_guest;
  world.say("the %s context is current", world.is_in_guest ? "second" : "first");
}

// What cai.h requires before a context is destroyed. Owners remain. Some of their memory was in it,
// and their arrays are not used any more.
void end_guest(World &world, const Step &) {
  if (!machine().guest || world.any_captures()) return;
  if (world.blocks[kGuestBlock].lost) return;  // in whose order it was to be freed, nobody waits
  world.is_in_guest = false;
  for (const Array &array : world.arrays) {
    const bool is_there = array.there && array.block == kGuestBlock;
    if (is_there && array.graphs) return;
    if (array.there && !is_there && (is_of_guest(array.said) || array.of_event_of_guest)) return;
  }
  for (const Use &use : world.uses) {
    if (!use.open) continue;
    if (is_of_guest(use.stream) || is_of_guest(use.told) || is_of_guest(use.told_of_mask)) return;
    for (const int number : use.arrays) {
      if (world.arrays[number].block == kGuestBlock) return;
    }
  }
  for (int b = 0; b < kBlocks; ++b) {
    const Block &block = world.blocks[b];
    const bool names = is_of_guest(block.freed_on) || of_guest(block.pending | world.told(b)) != 0;
    if (block.alive && names && b != kGuestBlock) return;
  }
  // Who holds a tensor has no owner to ask for its uses; an array of another import is not of that.
  for (const Tensor &tensor : world.tensors) {
    if (!tensor.there) continue;
    const bool has_owner =
        world.has_array_of(tensor.block) && world.blocks[tensor.block].owners <= 1;
    if (tensor.block == kGuestBlock || !has_owner) return;
  }
  // Nor does a party that holds libcai's memory, except through an array of it.
  for (int b = 0; b < kBlocks; ++b) {
    if (world.blocks[b].memory && !world.has_array_of(b)) return;
  }
  // Its memory goes, and so all work on that is complete.
  for (int i = 0; i < World::kArrays; ++i) {
    if (world.array(static_cast<unsigned>(i)) < 0 || world.arrays[i].block != kGuestBlock) continue;
    cai_status status = CAI_OK;
    world.loudly([&] { status = cai_array_sync_host(world.pointer(i), &world.error); });
    if (!world.is_taken(status)) return;
  }
  world.say("the second context is drained, and destroyed");
  machine().in_guest([&] {
    world.expect(cai_drain(1, nullptr, &world.error));
    for (int i = 0; i < World::kArrays; ++i) {
      if (world.array(static_cast<unsigned>(i)) >= 0 && !world.is_borrowed(i)) await_uses(world, i);
    }
  });
  for (const auto &events : {world.blocks[kGuestBlock].own_work, world.freed_after[kGuestBlock]}) {
    for (const Handle event : events) MUST(cu().cuEventSynchronize(event));
  }
  world.blocks[kGuestBlock].is_gone = true;
  for (Array &array : world.arrays) {
    if (array.there && array.block == kGuestBlock) array.is_dead = true;
  }
  for (Block &block : world.blocks) block.is_abandoned_in_guest = false;  // that work was destroyed
  world.end_guest();
}

void change_thread(World &world, const Step &) {
  world.thread = 1 - world.thread;
  world.has_second = true;
  machine().threads.run(world.thread, [] { MUST(cu().cuCtxSetCurrent(machine().context)); });
  world.say("it is the turn of thread %d", world.thread);
}

// Thread 1 ends, and so does the name of its stream 2. What others count on there, and what only it
// can end, ends before.
void end_thread(World &world, const Step &) {
  constexpr int stream = kPerThread + 1;
  if (!world.has_second || world.thread == 1 || world.is_capturing(stream)) return;
  for (const Capture &capture : world.captures) {
    if (capture.on && capture.thread == 1) return;
  }
  for (const Block &block : world.blocks) {
    if (block.alive && (block.freed_on == stream || block.pending >> stream & 1)) return;
  }
  for (const Tensor &tensor : world.tensors) {
    if (tensor.there && tensor.stream == stream) return;
  }
  for (const Use &use : world.uses) {
    const bool has_borrowed = std::any_of(use.arrays.begin(), use.arrays.end(),
                                          [&](int array) { return world.is_borrowed(array); });
    if (use.open && use.thread == 1 && (has_borrowed || use.told >= 0)) return;
  }
  world.say("thread 1 ends, and another one will be thread 1");
  machine().threads.end();
  world.has_second = false;
  world.has_lost_thread = true;
  for (Array &array : world.arrays) {
    if (array.said == stream) array.said = kGone;
  }
  for (Block &block : world.blocks) {
    block.told &= ~(1U << stream);
    if (block.unstated == stream) block.unstated = kGone;
    if (block.said == stream) block.said = kGone;
    if (block.memory_stream == stream) block.memory_stream = kGone;
  }
  for (Use &use : world.uses) {
    if (use.stream == stream) use.stream = kGone;
    if (use.thread == 1) use.thread = kGoneThread;
  }
}

void fail(World &world, const Step &step) {
  const Failing failing{step[1], 1 + step[2], step[3], step[4] == 3 ? 1000 : 1 + step[4],
                        1 + step[5]};
  const char *const name = world.fault.choose(failing);
  world.say("%s fails in the %u. call from now on, at the %u. one of it, %u times, each %u.", name,
            failing.calls + 1, failing.nth, failing.times, failing.every);
}

}  // namespace wide
