// SPDX-License-Identifier: BSD-3-Clause
// Events, and what follows what: on CPU and GPU, and between the two.
#include <thread>

#include "scene.hpp"

namespace test::events_tests {
namespace {

struct Kind {
  cai_device device;
  std::uint32_t mode;
};

const char *name_of(const Kind &kind) {
  if (kind.device.type == CAI_DEVICE_CUDA) return "Gpu";
  return kind.mode == CAI_MODE_ASYNC ? "CpuAsync" : "CpuSync";
}

const Kind kinds[] = {{cpu, CAI_MODE_SYNC}, {cpu, CAI_MODE_ASYNC}, {gpu0, CAI_MODE_ASYNC}};

bool at_once(const Kind &kind) {
  return kind.device.type == CAI_DEVICE_CPU && kind.mode != CAI_MODE_ASYNC;
}

class Events : public OnDevices, public testing::WithParamInterface<Kind> {
 protected:
  Kind kind = GetParam();
  Stream stream{kind.device, kind.mode};
  Event event{kind.device, CAI_EVENT_TIMING};
};

INSTANTIATE_TEST_SUITE_P(All, Events, testing::ValuesIn(kinds),
                         [](const auto &each) { return name_of(each.param); });

TEST_P(Events, IsCompleteUntilRecorded) {
  EXPECT_FALSE(is_busy(event));
  ASSERT_OK(cai_event_synchronize(event, error));
  ASSERT_OK(cai_event_wait(event, stream, error));
  EXPECT_EQ(cai_event_value(event) != 0, kind.device.type == CAI_DEVICE_CUDA);
}

TEST_P(Events, IsPassedAfterWhatWasQueued) {
  Door door, later;
  if (!at_once(kind)) {
    ASSERT_OK(door.work.enqueue(stream, error));
  }
  ASSERT_OK(cai_event_record(event, stream, error));
  if (!at_once(kind)) {
    ASSERT_OK(later.work.enqueue(stream, error));
  }
  EXPECT_EQ(is_busy(event), !at_once(kind));
  door.open();
  ASSERT_OK(cai_event_synchronize(event, error));
  EXPECT_FALSE(is_busy(event));
  if (!at_once(kind)) {
    EXPECT_TRUE(is_busy(stream));
  }
  later.open();
  ASSERT_OK(cai_stream_synchronize(stream, error));
}

TEST_P(Events, Elapsed) {
  const Event end(kind.device, CAI_EVENT_TIMING), timeless(kind.device);
  double time = -77;
  EXPECT_FAILS(CAI_ERR_STATE, "not recorded", cai_event_elapsed(event, end, &time, error));
  ASSERT_OK(cai_event_record(event, stream, error));
  EXPECT_FAILS(CAI_ERR_STATE, "not recorded", cai_event_elapsed(event, end, &time, error));
  Work work;
  ASSERT_OK(work.enqueue(stream, error));
  Door door;
  if (!at_once(kind)) {
    ASSERT_OK(door.work.enqueue(stream, error));
  }
  ASSERT_OK(cai_event_record(end, stream, error));
  if (!at_once(kind)) {
    EXPECT_FAILS(CAI_ERR_STATE, "not complete", cai_event_elapsed(event, end, &time, error));
  }
  EXPECT_EQ(time, -77);
  door.open();
  ASSERT_OK(cai_stream_synchronize(stream, error));
  ASSERT_OK(cai_event_elapsed(event, end, &time, error));
  EXPECT_GT(time, 0);
  double back = 0;
  ASSERT_OK(cai_event_elapsed(end, event, &back, error));
  EXPECT_DOUBLE_EQ(back, -time);
  ASSERT_OK(cai_event_elapsed(end, end, &back, error));
  EXPECT_EQ(back, 0);
  EXPECT_FAILS(CAI_ERR_VALUE, "end", cai_event_elapsed(event, timeless, &time, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "start", cai_event_elapsed(timeless, event, &time, error));
  const Event other(kind.device.type == CAI_DEVICE_CPU ? gpu0 : cpu, CAI_EVENT_TIMING);
  EXPECT_FAILS(CAI_ERR_DEVICE, "cpu", cai_event_elapsed(event, other, &time, error));
}

TEST_P(Events, BadArguments) {
  cai_event *out = nullptr;
  std::int32_t busy = 7;
  double time = 7;
  EXPECT_FAILS(CAI_ERR_VALUE, "flags are 0x2", cai_event_create(kind.device, 2, &out, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "type", cai_event_create({3, 0}, 0, &out, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_event_create(kind.device, 0, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "event", cai_event_record(nullptr, stream, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_event_record(event, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "event", cai_event_wait(nullptr, stream, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_event_wait(event, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "event", cai_event_query(nullptr, &busy, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "busy", cai_event_query(event, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "event", cai_event_synchronize(nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "start", cai_event_elapsed(nullptr, event, &time, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "end", cai_event_elapsed(event, nullptr, &time, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "milliseconds", cai_event_elapsed(event, event, nullptr, error));
  const Stream other(kind.device.type == CAI_DEVICE_CPU ? gpu1 : cpu, CAI_MODE_ASYNC);
  EXPECT_FAILS(CAI_ERR_DEVICE, "the stream of", cai_event_record(event, other, error));
  EXPECT_FALSE(is_busy(event));
  EXPECT_EQ(busy, 7);
  EXPECT_EQ(time, 7);
  EXPECT_EQ(out, nullptr);
  cai_event_retain(nullptr);
  cai_event_release(nullptr);
  EXPECT_EQ(cai_event_value(nullptr), 0U);
}

TEST_P(Events, EightThreads) {
  std::vector<std::thread> all;
  for (int i = 0; i < 8; ++i) {
    cai_event_retain(event);
    all.emplace_back([&, mine = static_cast<cai_event *>(event)] {
      const Stream own(kind.device, kind.mode);
      for (int n = 0; n < 30; ++n) {
        EXPECT_EQ(cai_event_record(mine, n % 2 ? own : stream, nullptr), CAI_OK);
        EXPECT_EQ(cai_event_wait(mine, own, nullptr), CAI_OK);
        is_busy(mine);
        EXPECT_EQ(cai_event_synchronize(mine, nullptr), CAI_OK);
      }
      cai_event_release(mine);
    });
  }
  for (std::thread &thread : all) thread.join();
}

// ---- One after another: all pairs, by an event or without ---------------------------------------

struct Pair {
  Kind before, after;
  bool by_event;
};

class Pairs : public OnDevices, public testing::WithParamInterface<Pair> {};

std::vector<Pair> pairs() {
  std::vector<Pair> all;
  for (const Kind &before : kinds) {
    for (const Kind &after : kinds) {
      for (const bool by_event : {false, true}) all.push_back({before, after, by_event});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Pairs, testing::ValuesIn(pairs()), [](const auto &each) {
  return std::string(name_of(each.param.after)) + "After" + name_of(each.param.before) +
         (each.param.by_event ? "ByEvent" : "");
});

TEST_P(Pairs, LaterWorkWaits) {
  const auto &[before, after, by_event] = GetParam();
  const Stream first(before.device, before.mode), second(after.device, after.mode);
  const Event event(before.device);
  std::atomic<bool> seen{false}, done{false};
  Door door;
  Work early([&](cai_error *) {
    done = true;
    return CAI_OK;
  });
  Work late([&](cai_error *) {
    seen = done.load();
    return CAI_OK;
  });
  // The host waits in these, so another thread must open.
  const bool host_waits = at_once(after) || (after.device.type == CAI_DEVICE_CUDA &&
                                             before.device.type == CAI_DEVICE_CPU);
  std::thread opener;
  if (!at_once(before)) {
    ASSERT_OK(door.work.enqueue(first, error));
    if (host_waits) opener = std::thread([&] { door.open(); });
  }
  ASSERT_OK(early.enqueue(first, error));
  if (by_event) {
    ASSERT_OK(cai_event_record(event, first, error));
    ASSERT_OK(cai_event_wait(event, second, error));
    // It is the earlier place that counts.
    ASSERT_OK(cai_event_record(event, first, error));
  } else {
    ASSERT_OK(cai_stream_follow(second, first, error));
  }
  ASSERT_OK(late.enqueue(second, error));
  door.open();
  ASSERT_OK(cai_stream_synchronize(second, error));
  EXPECT_TRUE(seen);
  ASSERT_OK(cai_stream_synchronize(first, error));
  if (opener.joinable()) opener.join();
}

// Nothing else is queued on the legacy stream between the two.
TEST_F(OnDevices, FollowsThroughTheLegacyStream) {
  const Stream first(gpu0, CAI_MODE_SYNC), last(gpu0, CAI_MODE_SYNC),
      legacy(gpu0, CAI_MODE_DEFAULT);
  const Address bytes = memory();
  fill(bytes, 1, cai_stream_value(first));
  ASSERT_OK(cai_stream_follow(legacy, first, error));
  ASSERT_OK(cai_stream_follow(last, legacy, error));
  fill(bytes, 2, cai_stream_value(last));
  ASSERT_OK(cai_stream_synchronize(last, error));
}

TEST_F(OnDevices, FollowTellsOfFailuresOnBoth) {
  const Stream first(cpu, CAI_MODE_ASYNC), second(cpu, CAI_MODE_ASYNC);
  const Stream of_gpu(gpu0, CAI_MODE_ASYNC), at_once_(cpu, CAI_MODE_SYNC);
  for (cai_stream *const after : {second.get(), of_gpu.get(), at_once_.get()}) {
    Work bad(say_seven);
    ASSERT_OK(bad.enqueue(first, error));
    while (bad.ends == 0) std::this_thread::yield();
    EXPECT_FAILS(CAI_ERR_BOUNDS, "seven", cai_stream_follow(after, first, error));
    ASSERT_OK(cai_stream_follow(after, first, error));
  }
  Work bad(say_seven);
  ASSERT_OK(bad.enqueue(of_gpu, error));
  Event event(gpu0);
  ASSERT_OK(cai_event_record(event, of_gpu, error));
  ASSERT_OK(cai_event_synchronize(event, error));
  EXPECT_FAILS(CAI_ERR_BOUNDS, "seven", cai_event_wait(event, of_gpu, error));
  ASSERT_OK(cai_event_wait(event, of_gpu, error));
  drain();
}

TEST_F(OnDevices, WaitIsForTheLastPlaceOnly) {
  // A CPU stream comes to its wait long after the event was recorded again, since it is blocked.
  const Stream of_cpu(cpu, CAI_MODE_ASYNC), of_gpu(gpu0, CAI_MODE_ASYNC);
  const Stream gate(gpu0, CAI_MODE_ASYNC);
  Event event(gpu0);
  Door of_first, of_second, of_third;
  Work after;
  ASSERT_OK(of_first.work.enqueue(of_gpu, error));
  ASSERT_OK(cai_event_record(event, of_gpu, error));
  ASSERT_OK(of_second.work.enqueue(of_cpu, error));
  ASSERT_OK(cai_event_wait(event, of_cpu, error));
  ASSERT_OK(after.enqueue(of_cpu, error));
  of_first.open();
  ASSERT_OK(cai_stream_synchronize(of_gpu, error));
  ASSERT_OK(of_third.work.enqueue(gate, error));
  ASSERT_OK(cai_event_record(event, gate, error));
  event.release();
  of_second.open();
  ASSERT_OK(cai_stream_synchronize(of_cpu, error));  // would hang
  EXPECT_EQ(after.runs, 1);
  of_third.open();
  ASSERT_OK(cai_stream_synchronize(gate, error));
}

TEST_F(OnDevices, EventOfAnArrayOrdersItsUses) {
  const Stream stream(gpu0, CAI_MODE_ASYNC), other(gpu0, CAI_MODE_ASYNC);
  const Event event(gpu0);
  const Address data = memory(), result = memory();
  fill(data, 9, stream.value());
  ASSERT_OK(cai_event_record(event, stream, error));
  Array array(data, CAI_STREAM_EVENT, cai_event_value(event));
  ASSERT_OK(begin_only({&array}, other.value(), error));
  copy(result, data, other.value());
  ASSERT_OK(cai_stream_synchronize(other, error));
  EXPECT_EQ(read(result), 9);
}

TEST_F(OnDevices, EventIsOfThePrimaryContext) {
  Handle context = nullptr, theirs = nullptr;
  MUST(gpu().cuCtxCreate_v2(&context, 0, 0));
  MUST(gpu().cuStreamCreate(&theirs, non_blocking));
  MUST(gpu().cuCtxPopCurrent_v2(&context));
  cai_stream *wrapped = nullptr;
  ASSERT_OK(cai_stream_wrap(gpu0, value(theirs), nullptr, nullptr, &wrapped, error));
  const Event event(gpu0);
  EXPECT_FAILS(CAI_ERR_DEVICE, "primary context", cai_event_record(event, wrapped, error));
  // It can still wait.
  const Stream stream(gpu0, CAI_MODE_ASYNC);
  ASSERT_OK(cai_event_record(event, stream, error));
  ASSERT_OK(cai_event_wait(event, wrapped, error));
  ASSERT_OK(cai_stream_synchronize(wrapped, error));
  cai_stream_release(wrapped);
  MUST(gpu().cuCtxDestroy_v2(context));
}

}  // namespace
}  // namespace test::events_tests
