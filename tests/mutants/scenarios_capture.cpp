// SPDX-License-Identifier: BSD-3-Clause
// Orders within a capture, and those of a capture with what is outside. What races is the launch.
// Some calls that are dropped leave a stream in the capture, and then its end is refused.
#include "scenario.hpp"

namespace mutants {
namespace {

void capture(Stream origin) {
  constexpr int relaxed = 2;  // for the scenario's own memory
  answered(gpu().cuStreamBeginCapture_v2(handle(origin), relaxed));
}

void launch(Stream origin) {
  Handle graph = nullptr, exec = nullptr;
  answered(gpu().cuStreamEndCapture(handle(origin), &graph));
  if (!graph) return;
  answered(gpu().cuGraphInstantiateWithFlags(&exec, graph, 0));
  answered(gpu().cuGraphLaunch(exec, handle(origin)));
}

// The scenario's own edge, by which libcai's is not needed to leave or join the capture.
void edge(Stream from, Stream to) {
  answered(gpu().cuStreamWaitEvent(handle(to), recorded(from), 0));
}

SCENARIO(use_within_capture) {
  const Stream p = stream(), c = stream();
  Array x(memory(), CAI_STREAM_STREAM, p);
  capture(p);
  edge(p, c);
  writes(x.array.data, p);
  begin({&x.array}, c);
  reads(x.array.data, c);
  end({&x.array}, c);
  writes(x.array.data, p);
  edge(c, p);
  launch(p);
}

SCENARIO(release_on_within_capture) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  const auto data = x->data;
  capture(p);
  edge(p, c);
  writes(data, p);
  edge(p, c);
  reads(data, c);
  release_on(x, c);
  writes(data, p);
  edge(c, p);
  launch(p);
}

// No stream of the array's comes after the first use: the owner alone knows of it.
template <class Next>
void after_use_within_capture(cai_array *x, Stream d, Next &&next) {
  const Stream c = stream();
  capture(c);
  edge(c, d);
  begin({x}, c);
  writes(x->data, c);
  end({x}, c);
  next(x, d);
  edge(d, c);
  launch(c);
}

SCENARIO(use_after_use_within_capture) {
  after_use_within_capture(owned(memory(), CAI_STREAM_NONE), stream(), [](cai_array *x, Stream d) {
    begin({x}, d);
    writes(x->data, d);
    end({x}, d);
  });
}

SCENARIO(reclaim_after_use_within_capture) {
  after_use_within_capture(owned(memory(), CAI_STREAM_NONE), stream(), [](cai_array *x, Stream d) {
    reclaim(x, d);
    writes(x->data, d);
  });
}

SCENARIO(same_stream_after_use_within_capture) {
  const Stream own = stream();
  cai_array *const made = owned(memory(), CAI_STREAM_STREAM, own);
  made->owner->flags |= CAI_OWNER_RECLAIMS;
  implied(0);  // the array's stream has come after the other one just so
  implied(1);
  after_use_within_capture(made, own, [](const cai_array *x, Stream) {
    Stream same = 0;
    answered(cai_arrays_same_stream(&x, 1, &same, nullptr));
    writes(x->data, same);
  });
}

SCENARIO(use_forks_capture) {
  const Stream p = stream(), c = stream();
  const cai_use_options fork = use(CAI_ORDER_BOTH, CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  Array x(memory(), CAI_STREAM_STREAM, p);
  capture(p);
  writes(x.array.data, p);
  refuses_later(0);  // the consumer is not in the capture, and the use cannot end there
  refuses_later(1);
  begin({&x.array}, c, fork);
  reads(x.array.data, c);
  end({&x.array}, c, fork);
  writes(x.array.data, p);
  edge(c, p);
  launch(p);
}

// The second wait fails: the consumer must not stay in the capture. Where that wait is dropped, or
// is another one, the beginning succeeds and nobody ends the use.
SCENARIO(fork_that_fails) {
  const Stream p = stream(), q = stream(), c = stream();
  const cai_use_options fork = use(CAI_ORDER_BOTH, CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  Array x(memory(), CAI_STREAM_STREAM, p), y(memory(), CAI_STREAM_STREAM, q);
  const cai_array *const arrays[] = {&x.array, &y.array};
  capture(p);
  edge(p, q);
  answered(gpu().simcuda_fail("cuStreamWaitEvent", 2, 1));
  for (int nth = 0; nth < 4; ++nth) refuses_later(nth);
  implied(4);  // the way back: the consumer has added nothing to the graph, which simcuda lets pass
  implied(5);
  cai_use use;
  if (cai_use_begin(&use, arrays, 2, c, &fork, nullptr) == CAI_OK) reads(x.array.data, c);
  answered(gpu().simcuda_fail("cuStreamWaitEvent", 0, 0));
  edge(q, p);
  launch(p);
}

// A use that has joined a capture is over in this way, and its stream is joined back.
template <class End>
void use_in_fork(std::uint32_t order, End &&end_it) {
  const Stream p = stream(), c = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_STREAM, p);
  capture(p);
  writes(x->data, p);
  begin({x}, c, use(order, CAI_ACCESS_DEFAULT, CAI_USE_FORK));
  reads(x->data, c);
  refuses_later(0);
  refuses_later(1);
  end_it(x, c);
  writes(x->data, p);
  launch(p);
}

SCENARIO(end_of_nothing_joins_capture_back) {
  use_in_fork(CAI_ORDER_BEGIN, [](cai_array *x, Stream c) { end({x}, c, use(CAI_ORDER_BEGIN)); });
}

SCENARIO(finish_joins_capture_back) {
  use_in_fork(CAI_ORDER_BOTH, [](cai_array *, Stream) { finish(false); });
}

SCENARIO(abandon_joins_capture_back) {
  use_in_fork(CAI_ORDER_BOTH, [](cai_array *, Stream) { abandon(); });
}

// The beginning fails once it has joined: its stream must not stay in the capture.
SCENARIO(failed_begin_joins_capture_back) {
  const Stream p = stream(), c = stream();
  Array x(memory(), CAI_STREAM_STREAM, p);
  const cai_array *const one = &x.array;
  const cai_use_options fork = use(CAI_ORDER_BOTH, CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  capture(p);
  answered(gpu().simcuda_fail("cuEventDestroy", 1, 1));
  for (int nth = 0; nth < 4; ++nth) implied(nth);  // the consumer has added nothing to the graph
  cai_use use;
  static_cast<void>(cai_use_begin(&use, &one, 1, c, &fork, nullptr));
  answered(gpu().simcuda_fail("cuEventDestroy", 0, 0));
  launch(p);
}

SCENARIO(capture_waits_for_stream_outside) {
  const Stream p = stream(), c = stream();
  Array x(memory(), CAI_STREAM_STREAM, p);
  capture(c);
  writes(x.array.data, p);
  begin({&x.array}, c, use(CAI_ORDER_BOTH, CAI_ACCESS_DEFAULT, CAI_USE_EXTERNAL));
  reads(x.array.data, c);
  launch(c);
}

SCENARIO(capture_waits_for_event_outside) {
  const Stream p = stream(), c = stream();
  Array x(memory(), CAI_STREAM_EVENT);
  writes(x.array.data, p);
  x.array.stream = value(recorded(p));
  capture(c);
  begin({&x.array}, c, use(CAI_ORDER_BEGIN, CAI_ACCESS_DEFAULT, CAI_USE_EXTERNAL));
  reads(x.array.data, c);
  launch(c);
}

// Work pending outside is rejected until it is complete.
void begin_once_complete(const cai_array *array, Stream on) {
  const cai_use_options options = test::order(CAI_ORDER_BEGIN);
  cai_use use;
  while (cai_use_begin(&use, &array, 1, on, &options, nullptr) == CAI_ERR_CAPTURE) continue;
}

SCENARIO(capture_after_stream_outside) {
  const Stream p = stream(), c = stream();
  Array x(memory(), CAI_STREAM_STREAM, p);
  writes(x.array.data, p);
  capture(c);
  begin_once_complete(&x.array, c);
  reads(x.array.data, c);
  launch(c);
}

SCENARIO(capture_after_event_outside) {
  const Stream p = stream(), c = stream();
  Array x(memory(), CAI_STREAM_EVENT);
  writes(x.array.data, p);
  x.array.stream = value(recorded(p));
  capture(c);
  begin_once_complete(&x.array, c);
  reads(x.array.data, c);
  launch(c);
}

SCENARIO(capture_after_kept_use) {
  const Stream c = stream(), d = stream();
  cai_array *const x = owned(memory(), CAI_STREAM_NONE);
  writes(x->data, d);
  end({x}, d);
  capture(c);
  begin_once_complete(x, c);
  reads(x->data, c);
  launch(c);
}

}  // namespace
}  // namespace mutants
