// SPDX-License-Identifier: BSD-3-Clause
// Streams that are being captured into a graph: what cannot be done is refused, and no capture is
// harmed by it.
#include <chrono>
#include <thread>

#include "scene.hpp"

namespace test::stream_capture_tests {
namespace {

class Captures : public OnDevices {
 protected:
  void begin(int mode = 0) {
    MUST(gpu().cuStreamBeginCapture_v2(handle(stream.value()), mode));
    capturing_ = true;
  }
  // The capture must have come to no harm.
  Handle end() {
    Handle graph = nullptr;
    EXPECT_EQ(gpu().cuStreamEndCapture(handle(stream.value()), &graph), 0);
    capturing_ = false;
    return graph;
  }
  void launch(Handle graph) {
    const With with(primary(0));
    Handle executable = nullptr;
    MUST(gpu().cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 2; ++i) MUST(gpu().cuGraphLaunch(executable, handle(stream.value())));
    MUST(gpu().cuStreamSynchronize(handle(stream.value())));
    MUST(gpu().cuGraphExecDestroy(executable));
    MUST(gpu().cuGraphDestroy(graph));
  }

  Stream stream{gpu0, CAI_MODE_ASYNC}, other{gpu0, CAI_MODE_ASYNC};
  Stream blocking_one{gpu0, CAI_MODE_SYNC}, legacy{gpu0, CAI_MODE_DEFAULT};

 private:
  bool capturing_ = false;
};

TEST_F(Captures, AreSaid) {
  begin();
  const cai_stream_info info = describe(stream);
  EXPECT_EQ(info.capture, unsigned{CAI_CAPTURE_ACTIVE});
  EXPECT_NE(info.capture_id, 0U);
  EXPECT_EQ(describe(other).capture, unsigned{CAI_CAPTURE_NONE});
  // Invalidated by other code.
  EXPECT_NE(gpu().cuStreamSynchronize(handle(stream.value())), 0);
  EXPECT_EQ(describe(stream).capture, unsigned{CAI_CAPTURE_INVALIDATED});
  Work work;
  EXPECT_FAILS(CAI_ERR_CAPTURE, "invalidated", work.attach(stream, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "invalidated", work.enqueue(stream, error));
  const auto without_end = [](void *, cai_error *) { return cai_status{CAI_OK}; };
  EXPECT_FAILS(CAI_ERR_CAPTURE, "invalidated",
               cai_stream_enqueue(stream, without_end, nullptr, nullptr, error));
  const Event event(gpu0);
  EXPECT_FAILS(CAI_ERR_CAPTURE, "invalidated", cai_event_record(event, stream, error));
  Handle graph = nullptr;
  EXPECT_NE(gpu().cuStreamEndCapture(handle(stream.value()), &graph), 0);
}

// The driver ends a capture in which a stream is asked for its id, or its flags.
TEST_F(Captures, AreNotAskedForIds) {
  const std::uint64_t id = describe(stream).id;
  begin();
  EXPECT_EQ(describe(stream).id, id);
  cai_stream *wrapped = nullptr;
  ASSERT_OK(cai_stream_wrap(gpu0, stream.value(), nullptr, nullptr, &wrapped, error));
  EXPECT_EQ(describe(wrapped).id, 0U);
  EXPECT_EQ(describe(wrapped).mode, unsigned{CAI_MODE_ASYNC});
  MUST(gpu().cuGraphDestroy(end()));
  EXPECT_EQ(describe(wrapped).id, id);
  cai_stream_release(wrapped);
}

TEST_F(Captures, RefuseWhatWouldEndThem) {
  Work work;
  std::int32_t busy = 7;
  const Stream at_once(cpu, CAI_MODE_SYNC), queue(cpu, CAI_MODE_ASYNC);
  begin();
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", cai_stream_query(stream, &busy, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", cai_stream_synchronize(stream, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", work.enqueue(stream, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", cai_stream_follow(at_once, stream, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", cai_stream_follow(queue, stream, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "join", cai_stream_follow(legacy, stream, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", cai_device_synchronize(gpu0, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", cai_device_reset(gpu0, CAI_RESET_CONTEXT, error));
  Door door;
  ASSERT_OK(door.work.enqueue(other, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "wait for it before", cai_stream_follow(stream, other, error));
  // Work that is in no capture goes on, even on the thread that captures.
  {
    const Stream more(gpu0, CAI_MODE_ASYNC);
    const Event event(gpu0);
    ASSERT_OK(cai_event_record(event, more, error));
    EXPECT_TRUE(is_busy(other));
    ASSERT_OK(cai_event_synchronize(event, error));
    ASSERT_OK(cai_event_wait(event, stream, error));  // complete: it needs no order
    ASSERT_OK(cai_event_record(event, other, error));
    EXPECT_FAILS(CAI_ERR_CAPTURE, "recorded outside", cai_event_wait(event, stream, error));
    door.open();
    ASSERT_OK(cai_stream_synchronize(other, error));
    ASSERT_OK(cai_stream_follow(stream, other, error));
  }
  EXPECT_EQ(busy, 7);
  EXPECT_EQ(work.ends + work.runs, 0);
  launch(end());
}

TEST_F(Captures, OfBlockingStreamsForbidTheLegacyOne) {
  MUST(gpu().cuStreamBeginCapture_v2(handle(blocking_one.value()), 0));
  std::int32_t busy = 7;
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", cai_stream_query(legacy, &busy, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", cai_stream_synchronize(legacy, error));
  EXPECT_EQ(describe(legacy).capture, unsigned{CAI_CAPTURE_NONE});
  Work work;
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", work.enqueue(legacy, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "captured", cai_device_synchronize(gpu0, error));
  ASSERT_OK(cai_device_synchronize(gpu1, error));
  Handle graph = nullptr;
  MUST(gpu().cuStreamEndCapture(handle(blocking_one.value()), &graph));
  MUST(gpu().cuGraphDestroy(graph));
}

// libcai cannot see a capture of a stream that is neither its own nor ordered with the legacy one:
// waiting for the device ends it, as the driver's own call would. A handle of the stream saves it.
TEST_F(Captures, OfStreamsThatAreNotKnownAreEndedByTheDriver) {
  const auto capture_during = [&](auto &&body) {
    Handle foreign = nullptr, graph = nullptr;
    {
      const With with(primary(0));
      MUST(gpu().cuStreamCreate(&foreign, 1));
    }
    MUST(gpu().cuStreamBeginCapture_v2(foreign, 2));
    const bool survives = body(value(foreign));
    EXPECT_EQ(gpu().cuStreamEndCapture(foreign, &graph) == 0, survives);
    if (graph) MUST(gpu().cuGraphDestroy(graph));
    MUST(gpu().cuStreamDestroy_v2(foreign));
  };
  constexpr std::int32_t capture_unsupported = 900;
  capture_during([&](std::uint64_t) {
    cai_error said{};
    EXPECT_EQ(cai_device_synchronize(gpu0, &said), CAI_ERR_CUDA);
    EXPECT_EQ(said.native, capture_unsupported);
    return false;
  });
  capture_during([&](std::uint64_t foreign) {
    cai_stream *wrapped = nullptr;
    EXPECT_EQ(cai_stream_wrap(gpu0, foreign, nullptr, nullptr, &wrapped, nullptr), CAI_OK);
    EXPECT_EQ(cai_device_synchronize(gpu0, nullptr), CAI_ERR_CAPTURE);
    EXPECT_EQ(cai_device_reset(gpu0, 0, nullptr), CAI_ERR_CAPTURE);
    cai_stream_release(wrapped);
    return true;
  });
  EXPECT_EQ(cai_device_synchronize(gpu0, nullptr), CAI_OK);
}

// Code that frees memory on an unknown stream checks the thread's current streams.
TEST_F(Captures, OfTheCurrentStreamAreSpared) {
  int freed = 0;
  const auto free = [](void *count) { ++*static_cast<int *>(count); };
  const Stream before = current_stream(gpu0);
  ASSERT_OK(cai_stream_set_current(stream, error));
  begin();
  EXPECT_EQ(cai_spare_captures(0, free, &freed), 0);
  EXPECT_EQ(freed, 0);
  MUST(gpu().cuGraphDestroy(end()));
  EXPECT_EQ(cai_spare_captures(0, free, &freed), 1);
  EXPECT_EQ(freed, 1);
  ASSERT_OK(cai_stream_set_current(before, error));
}

TEST_F(Captures, TakeWorkThatHasNoEnd) {
  Work work;
  begin();
  ASSERT_OK(cai_stream_enqueue(stream, Work::run, nullptr, &work, error));
  EXPECT_EQ(work.runs, 0);
  launch(end());
  EXPECT_EQ(work.runs, 2);
}

TEST_F(Captures, FailureInAGraphIsToldToo) {
  Work bad(say_seven);
  begin();
  ASSERT_OK(cai_stream_enqueue(stream, Work::run, nullptr, &bad, error));
  launch(end());
  EXPECT_FAILS(CAI_ERR_BOUNDS, "seven", cai_stream_synchronize(stream, error));
  ASSERT_OK(cai_stream_synchronize(stream, error));
}

TEST_F(Captures, KeepWhatIsAttached) {
  Work kept;
  begin();
  ASSERT_OK(kept.attach(stream, error));
  const Handle graph = end();
  ASSERT_OK(cai_stream_synchronize(stream, error));
  drain();
  EXPECT_EQ(kept.ends, 0);
  launch(graph);
  // The driver releases a graph later, on a thread of its own.
  for (int i = 0; i < 10000 && kept.ends == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    drain();
  }
  EXPECT_EQ(kept.ends, 1);
  EXPECT_TRUE(pthread_equal(kept.done_by, pthread_self()));
}

TEST_F(Captures, AreJoinedByFollowing) {
  const Address data = memory(), result = memory();
  begin();
  fill(data, 5, stream.value());
  ASSERT_OK(cai_stream_follow(other, stream, error));
  EXPECT_EQ(describe(other).capture_id, describe(stream).capture_id);
  copy(result, data, other.value());
  ASSERT_OK(cai_stream_follow(stream, other, error));
  launch(end());
  EXPECT_EQ(read(result), 5);
}

TEST_F(Captures, AreJoinedByEvents) {
  const Address data = memory(), result = memory();
  Event event(gpu0), back(gpu0);
  begin();
  fill(data, 6, stream.value());
  ASSERT_OK(cai_event_record(event, stream, error));
  ASSERT_OK(cai_event_wait(event, other, error));
  copy(result, data, other.value());
  ASSERT_OK(cai_event_record(back, other, error));
  ASSERT_OK(cai_event_wait(back, stream, error));
  std::int32_t busy = 7;
  EXPECT_FAILS(CAI_ERR_CAPTURE, "in a capture", cai_event_query(event, &busy, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "in a capture", cai_event_synchronize(event, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "cannot join", cai_event_wait(event, legacy, error));
  const Stream queue(cpu, CAI_MODE_ASYNC);
  EXPECT_FAILS(CAI_ERR_CAPTURE, "in a capture", cai_event_wait(event, queue, error));
  // Another capture.
  MUST(gpu().cuStreamBeginCapture_v2(handle(blocking_one.value()), 0));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "cannot join", cai_event_wait(event, blocking_one, error));
  EXPECT_FAILS(CAI_ERR_CAPTURE, "another", cai_stream_follow(blocking_one, stream, error));
  Handle second = nullptr;
  MUST(gpu().cuStreamEndCapture(handle(blocking_one.value()), &second));
  MUST(gpu().cuGraphDestroy(second));
  launch(end());
  EXPECT_EQ(read(result), 6);
  EXPECT_FAILS(CAI_ERR_CAPTURE,
               "the event was recorded in a capture that has ended or was invalidated: record it "
               "again: [cuStreamWaitEvent]",
               cai_event_wait(event, other, error));
  // Recorded outside, it serves again.
  ASSERT_OK(cai_event_record(event, stream, error));
  ASSERT_OK(cai_event_wait(event, other, error));
  ASSERT_OK(cai_event_synchronize(event, error));
}

}  // namespace
}  // namespace test::stream_capture_tests
