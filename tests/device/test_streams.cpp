// SPDX-License-Identifier: BSD-3-Clause
// What streams promise, on CPU and GPU alike: a table of devices and modes; and the current stream.
#include <unistd.h>

#include <thread>

#include "scene.hpp"

namespace test::streams_tests {
namespace {

struct Kind {
  cai_device device;
  std::uint32_t mode;

  bool at_once() const { return device.type == CAI_DEVICE_CPU && mode != CAI_MODE_ASYNC; }
  bool on_gpu() const { return device.type == CAI_DEVICE_CUDA; }
};

std::string name(const testing::TestParamInfo<Kind> &info) {
  const char *const modes[] = {"Default", "Sync", "Async"};
  return std::string(info.param.on_gpu() ? "Gpu" : "Cpu") + modes[info.param.mode];
}

class Streams : public OnDevices, public testing::WithParamInterface<Kind> {
 protected:
  Kind kind = GetParam();
  Stream stream{kind.device, kind.mode};
};

INSTANTIATE_TEST_SUITE_P(All, Streams,
                         testing::Values(Kind{cpu, CAI_MODE_DEFAULT}, Kind{cpu, CAI_MODE_SYNC},
                                         Kind{cpu, CAI_MODE_ASYNC}, Kind{gpu0, CAI_MODE_DEFAULT},
                                         Kind{gpu0, CAI_MODE_SYNC}, Kind{gpu1, CAI_MODE_ASYNC}),
                         name);

TEST_P(Streams, Describe) {
  const cai_stream_info info = describe(stream);
  EXPECT_EQ(info.struct_size, sizeof info);
  EXPECT_EQ(info.mode, kind.mode);
  EXPECT_EQ(info.device.type, kind.device.type);
  EXPECT_EQ(info.device.id, kind.device.id);
  EXPECT_EQ(info.value, stream.value());
  EXPECT_EQ(info.wrapped, 0U);
  EXPECT_EQ(info.capture, unsigned{CAI_CAPTURE_NONE});
  EXPECT_EQ(info.capture_id, 0U);
  EXPECT_EQ(info.reserved, 0U);
  if (kind.on_gpu()) {
    EXPECT_EQ(info.thread_limit, 0);
    EXPECT_EQ(info.value == 1, kind.mode == CAI_MODE_DEFAULT);
    EXPECT_NE(info.value, 0U);
  } else {
    EXPECT_EQ(info.thread_limit, sysconf(_SC_NPROCESSORS_ONLN));
    EXPECT_EQ(info.value, 0U);
  }
  // Two handles are of one stream where they are of the legacy one.
  const Stream other(kind.device, kind.mode);
  EXPECT_EQ(describe(other).id == info.id, kind.on_gpu() && kind.mode == CAI_MODE_DEFAULT);

  cai_stream_info part;
  std::memset(&part, 0x55, sizeof part);
  part.struct_size = 8;
  ASSERT_OK(cai_stream_describe(stream, &part, error));
  EXPECT_EQ(part.mode, kind.mode);
  EXPECT_EQ(part.id, 0x5555555555555555U);
}

TEST_P(Streams, BadArguments) {
  cai_stream *out = nullptr;
  std::int32_t busy = 7;
  EXPECT_FAILS(CAI_ERR_VALUE, "mode is 3", cai_stream_create(kind.device, 3, 0, &out, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "type", cai_stream_create({4, 0}, kind.mode, 0, &out, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out",
               cai_stream_create(kind.device, kind.mode, 0, nullptr, error));
  if (!kind.on_gpu() || kind.mode == CAI_MODE_DEFAULT) {
    EXPECT_FAILS(CAI_ERR_VALUE, "priority is -1",
                 cai_stream_create(kind.device, kind.mode, -1, &out, error));
  }
  EXPECT_EQ(out, nullptr);
  cai_stream_info info{};
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "struct_size", cai_stream_describe(stream, &info, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_stream_describe(stream, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_stream_describe(nullptr, &info, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream",
               cai_stream_enqueue(nullptr, nullptr, nullptr, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_stream_attach(nullptr, Work::done, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "release", cai_stream_attach(stream, nullptr, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "busy", cai_stream_query(stream, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_stream_query(nullptr, &busy, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_stream_synchronize(nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "other", cai_stream_follow(stream, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_stream_follow(nullptr, stream, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_stream_set_current(nullptr, error));
  EXPECT_EQ(busy, 7);
  cai_stream_retain(nullptr);
  cai_stream_release(nullptr);
  EXPECT_EQ(cai_stream_value(nullptr), 0U);
}

TEST_P(Streams, WorkRunsInOrder) {
  std::vector<int> order;
  std::vector<std::unique_ptr<Work>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(std::make_unique<Work>([&order, i](cai_error *) {
      order.push_back(i);
      return CAI_OK;
    }));
    ASSERT_OK(all.back()->enqueue(stream, error));
    if (kind.at_once()) {
      EXPECT_EQ(all.back()->ends, 1);
    }
  }
  ASSERT_OK(cai_stream_synchronize(stream, error));
  ASSERT_EQ(order.size(), 20U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  for (const auto &work : all) {
    EXPECT_EQ(work->runs, 1);
    EXPECT_EQ(work->ends, 1);
  }
  EXPECT_FALSE(is_busy(stream));
}

TEST_P(Streams, NothingToDo) {
  Work work;
  ASSERT_OK(cai_stream_enqueue(stream, nullptr, nullptr, nullptr, error));
  ASSERT_OK(cai_stream_enqueue(stream, nullptr, Work::done, &work, error));
  ASSERT_OK(cai_stream_synchronize(stream, error));
  EXPECT_EQ(work.ends, 1);
  EXPECT_EQ(work.runs, 0);
}

TEST_P(Streams, BusyWhileWorkIsPending) {
  if (kind.at_once()) {
    EXPECT_FALSE(is_busy(stream));
    return;
  }
  Door door;
  ASSERT_OK(door.work.enqueue(stream, error));
  EXPECT_TRUE(is_busy(stream));
  EXPECT_EQ(door.work.ends, 0);
  door.open();
  ASSERT_OK(cai_stream_synchronize(stream, error));
  EXPECT_FALSE(is_busy(stream));
  EXPECT_EQ(door.work.ends, 1);
}

TEST_P(Streams, FailureIsToldOnce) {
  const auto tell_by = [&](int which, cai_error *error) {
    std::int32_t busy = 7;
    switch (which) {
      case 0:
        return cai_stream_synchronize(stream, error);
      case 1:
        return cai_stream_query(stream, &busy, error);
      case 2:
        return cai_stream_follow(stream, stream, error);
      default:
        return cai_stream_enqueue(stream, Work::run, Work::done, nullptr, error);  // not queued
    }
  };
  for (int which = 0; which < 4; ++which) {
    Work bad(say_seven);
    if (kind.at_once()) {
      // It is this call's own, and nothing was taken over.
      EXPECT_FAILS(CAI_ERR_BOUNDS, "seven", bad.enqueue(stream, error));
      EXPECT_EQ(bad.ends, 0);
      continue;
    }
    ASSERT_OK(bad.enqueue(stream, error));
    // Not by a call that returns failures.
    Event event(kind.device);
    if (kind.on_gpu()) {
      ASSERT_OK(cai_event_record(event, stream, error));
      ASSERT_OK(cai_event_synchronize(event, error));
    } else {
      while (bad.ends == 0) std::this_thread::yield();
    }
    cai_error said{};
    EXPECT_EQ(tell_by(which, &said), CAI_ERR_BOUNDS) << which;
    EXPECT_STREQ(said.message, "seven");
    EXPECT_EQ(said.native, 7);
    ASSERT_OK(cai_stream_synchronize(stream, error));
    EXPECT_EQ(bad.ends, 1);
  }
  Work good;
  ASSERT_OK(good.enqueue(stream, error));
  ASSERT_OK(cai_stream_synchronize(stream, error));
  EXPECT_EQ(good.runs, 1);
}

TEST_P(Streams, FailureWithoutAWord) {
  Work bad([](cai_error *) { return CAI_ERR_LAYOUT; });
  cai_error error{};
  cai_status status = bad.enqueue(stream, &error);
  if (!kind.at_once()) {
    ASSERT_EQ(status, CAI_OK);
    status = cai_stream_synchronize(stream, &error);
  }
  EXPECT_EQ(status, CAI_ERR_LAYOUT);
  EXPECT_EQ(error.status, CAI_ERR_LAYOUT);
  EXPECT_STREQ(error.message, "work on the stream returned CAI_ERR_LAYOUT");
}

TEST_P(Streams, FailureThatNobodyAsksFor) {
  Told told;
  Work bad(say_seven);
  EXPECT_EQ(bad.enqueue(stream), kind.at_once() ? CAI_ERR_BOUNDS : CAI_OK);
  if (kind.on_gpu()) {
    Event event(kind.device);
    ASSERT_OK(cai_event_record(event, stream, error));
    ASSERT_OK(cai_event_synchronize(event, error));
  }
  stream.release();
  if (kind.at_once()) return;
  drain();
  while (bad.ends == 0 || told.messages().empty()) std::this_thread::yield();
  EXPECT_EQ(told.messages(), std::vector<std::string>{"seven"});
}

TEST_P(Streams, FailureAfterTheHandleHasGone) {
  if (kind.at_once()) return;  // the call has returned it by then
  Told told;
  Door door;
  Work bad(say_seven);
  ASSERT_OK(door.work.enqueue(stream, error));
  ASSERT_OK(bad.enqueue(stream, error));
  stream.release();
  door.open();
  if (kind.on_gpu()) ASSERT_OK(cai_device_synchronize(kind.device, error));
  drain();
  while (bad.ends == 0 || told.messages().empty()) std::this_thread::yield();
  EXPECT_EQ(told.messages(), std::vector<std::string>{"seven"});
}

TEST_P(Streams, WorkOutlivesTheHandle) {
  Door door;
  Work last;
  if (!kind.at_once()) {
    ASSERT_OK(door.work.enqueue(stream, error));
  }
  ASSERT_OK(last.enqueue(stream, error));
  const Event passed(kind.device);
  ASSERT_OK(cai_event_record(passed, stream, error));
  stream.release();  // waits for nothing
  EXPECT_EQ(is_busy(passed), !kind.at_once());
  door.open();
  ASSERT_OK(cai_event_synchronize(passed, error));
  drain();
  EXPECT_EQ(last.runs, 1);
  EXPECT_EQ(last.ends, 1);
}

TEST_P(Streams, AttachmentsEndWhenTheStreamHasPassed) {
  Door door;
  Work kept, later;
  if (!kind.at_once()) {
    ASSERT_OK(door.work.enqueue(stream, error));
  }
  ASSERT_OK(kept.attach(stream, error));
  EXPECT_EQ(kept.ends, kind.at_once() ? 1 : 0);
  door.open();
  ASSERT_OK(cai_stream_synchronize(stream, error));
  EXPECT_EQ(kept.ends, 1);
  if (kind.on_gpu()) {
    EXPECT_TRUE(pthread_equal(kept.done_by, pthread_self()));
    EXPECT_TRUE(pthread_equal(door.work.done_by, pthread_self()));
  }
  for (int i = 0; i < 100; ++i) ASSERT_OK(later.attach(stream, error));
  ASSERT_OK(cai_stream_synchronize(stream, error));
  EXPECT_EQ(later.ends, 100);
}

TEST_P(Streams, HoldersOfEightThreads) {
  std::vector<std::thread> all;
  std::atomic<int> ran{0};
  std::vector<std::unique_ptr<Work>> works;
  for (int i = 0; i < 8 * 50; ++i) {
    works.push_back(std::make_unique<Work>([&](cai_error *) {
      ++ran;
      return CAI_OK;
    }));
  }
  for (std::size_t thread = 0; thread < 8; ++thread) {
    cai_stream_retain(stream);
    all.emplace_back([&, thread, mine = stream.get()] {
      for (std::size_t i = 0; i < 50; ++i) {
        EXPECT_EQ(works[thread * 50 + i]->enqueue(mine), CAI_OK);
        if (i % 16 == 0) {
          EXPECT_EQ(cai_stream_synchronize(mine, nullptr), CAI_OK);
        }
      }
      cai_stream_release(mine);
    });
  }
  for (std::thread &thread : all) thread.join();
  ASSERT_OK(cai_stream_synchronize(stream, error));
  drain();
  EXPECT_EQ(ran, 8 * 50);
  for (const auto &work : works) EXPECT_EQ(work->ends, 1);
}

TEST_P(Streams, ThreadLimit) {
  if (kind.on_gpu()) {
    EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:", cai_stream_set_thread_limit(stream, 1, error));
    return;
  }
  ASSERT_OK(cai_stream_set_thread_limit(stream, 3, error));
  EXPECT_EQ(describe(stream).thread_limit, 3);
  EXPECT_FAILS(CAI_ERR_VALUE, "threads is 0", cai_stream_set_thread_limit(stream, 0, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_stream_set_thread_limit(nullptr, 1, error));
  EXPECT_EQ(describe(stream).thread_limit, 3);
}

// ---- The current stream -------------------------------------------------------------------------

TEST_P(Streams, CurrentIsTheThreads) {
  const Stream before = current_stream(kind.device);
  EXPECT_EQ(describe(before).mode, unsigned{CAI_MODE_DEFAULT});
  EXPECT_EQ(current_stream(kind.device).get(), before.get());
  ASSERT_OK(cai_stream_set_current(stream, error));
  EXPECT_EQ(current_stream(kind.device).get(), stream.get());
  std::thread([&] {
    const Stream theirs = current_stream(kind.device);
    EXPECT_NE(theirs.get(), stream.get());
    EXPECT_EQ(describe(theirs).mode, unsigned{CAI_MODE_DEFAULT});
    EXPECT_EQ(cai_stream_set_current(stream, nullptr), CAI_OK);
  }).join();  // releases its own
  const Stream other = current_stream(kind.on_gpu() ? cpu : gpu0);
  EXPECT_NE(other.get(), stream.get());
  ASSERT_OK(cai_stream_set_current(before, error));
}

TEST_P(Streams, GuardsAreLeftInTheReverseOrder) {
  const Stream before = current_stream(kind.device);
  const Stream second(kind.device, kind.mode);
  cai_stream_guard outer{}, inner{};
  ASSERT_OK(cai_stream_enter(stream, &outer, error));
  EXPECT_EQ(outer.depth, 0U);
  ASSERT_OK(cai_stream_enter(second, &inner, error));
  EXPECT_EQ(inner.depth, 1U);
  EXPECT_EQ(current_stream(kind.device).get(), second.get());

  EXPECT_FAILS(CAI_ERR_STATE, "reverse order", cai_stream_leave(&outer, 0, error));
  std::thread([&] {
    EXPECT_FAILS(CAI_ERR_STATE, "another thread", cai_stream_leave(&inner, 0, error));
  }).join();
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "flags", cai_stream_leave(&inner, 2, error));
  EXPECT_EQ(current_stream(kind.device).get(), second.get());

  // It has waited when it is left.
  Work work;
  ASSERT_OK(work.enqueue(second, error));
  ASSERT_OK(cai_stream_leave(&inner, 0, error));
  EXPECT_EQ(work.runs, 1);
  EXPECT_EQ(current_stream(kind.device).get(), stream.get());
  EXPECT_FAILS(CAI_ERR_STATE, "left already", cai_stream_leave(&inner, 0, error));

  // Unless leaving with CAI_LEAVE_QUEUED.
  Door door;
  if (!kind.at_once()) {
    ASSERT_OK(door.work.enqueue(stream, error));
  }
  ASSERT_OK(cai_stream_leave(&outer, CAI_LEAVE_QUEUED, error));
  EXPECT_EQ(is_busy(stream), !kind.at_once());
  door.open();
  EXPECT_EQ(current_stream(kind.device).get(), before.get());
  ASSERT_OK(cai_stream_synchronize(stream, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "guard", cai_stream_leave(nullptr, 0, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "guard", cai_stream_enter(stream, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "stream", cai_stream_enter(nullptr, &outer, error));
}

TEST_P(Streams, GuardIsLeftThoughWorkFailed) {
  if (kind.at_once()) return;  // it has no earlier work
  const Stream before = current_stream(kind.device);
  cai_stream_guard guard{};
  ASSERT_OK(cai_stream_enter(stream, &guard, error));
  Work bad(say_seven);
  ASSERT_OK(bad.enqueue(stream, error));
  EXPECT_FAILS(CAI_ERR_BOUNDS, "seven", cai_stream_leave(&guard, 0, error));
  EXPECT_EQ(guard.thread, 0U);
  EXPECT_EQ(current_stream(kind.device).get(), before.get());
  EXPECT_FAILS(CAI_ERR_STATE, "left already", cai_stream_leave(&guard, 0, error));
  drain();
}

TEST_P(Streams, GuardHoldsWhatItNeeds) {
  std::thread([&] {
    cai_stream_guard guard{};
    cai_stream *mine = nullptr;
    ASSERT_OK(cai_stream_create(kind.device, kind.mode, 0, &mine, error));
    ASSERT_OK(cai_stream_enter(mine, &guard, error));
    cai_stream_release(mine);
    ASSERT_OK(cai_stream_set_current(stream, error));  // in between
    Work work;
    ASSERT_OK(work.enqueue(mine, error));
    ASSERT_OK(cai_stream_leave(&guard, 0, error));
    EXPECT_EQ(work.ends, 1);
    EXPECT_NE(current_stream(kind.device).get(), stream.get());
  }).join();
}

TEST_P(Streams, AThreadThatEndsHasTheDefaultOne) {
  std::thread([&] {
    at_the_end([&] {
      const Stream found = current_stream(kind.device);
      EXPECT_NE(found.get(), stream.get());
      EXPECT_EQ(describe(found).mode, unsigned{CAI_MODE_DEFAULT});
      cai_stream_guard guard{};
      EXPECT_FAILS(CAI_ERR_STATE, "pass the stream", cai_stream_set_current(stream, error));
      EXPECT_FAILS(CAI_ERR_STATE, "pass the stream", cai_stream_enter(stream, &guard, error));
      EXPECT_EQ(guard.thread, 0U);
    });
    ASSERT_OK(cai_stream_set_current(stream, error));
  }).join();
}

TEST_P(Streams, GuardsAreLeftAtTheThreadsEnd) {
  const Stream second(kind.device, kind.mode);
  Work work([](cai_error *) {
    usleep(20'000);
    return CAI_OK;
  });
  Door door;
  cai_stream_guard outer{}, inner{};
  cai_device_guard on_device{};
  std::thread([&] {
    at_the_end([&] {
      std::thread([&] {
        EXPECT_FAILS(CAI_ERR_STATE, "another thread", cai_stream_leave(&outer, 0, error));
      }).join();
      EXPECT_FAILS(CAI_ERR_ARGUMENT, "flags", cai_stream_leave(&outer, 2, error));
      // In any order. It has waited when it is left, unless with CAI_LEAVE_QUEUED.
      ASSERT_OK(cai_stream_leave(&outer, 0, error));
      EXPECT_EQ(work.runs, 1);
      EXPECT_FAILS(CAI_ERR_STATE, "left already", cai_stream_leave(&outer, 0, error));
      if (!kind.at_once()) {
        ASSERT_OK(door.work.enqueue(second, error));
      }
      ASSERT_OK(cai_stream_leave(&inner, CAI_LEAVE_QUEUED, error));
      EXPECT_EQ(is_busy(second), !kind.at_once());
      door.open();
      ASSERT_OK(cai_device_leave(&on_device, error));
    });
    ASSERT_OK(cai_device_enter(kind.device, &on_device, error));
    ASSERT_OK(cai_stream_enter(stream, &outer, error));
    ASSERT_OK(cai_stream_enter(second, &inner, error));
    ASSERT_OK(work.enqueue(stream, error));
  }).join();
  EXPECT_EQ(on_device.thread, 0U);
  ASSERT_OK(cai_stream_synchronize(second, error));
}

TEST_F(OnDevices, GuardsOfAThreadThatEndsHoldNoStream) {
  std::atomic<int> released{0};
  Handle theirs = nullptr;
  {
    const With with(primary(0));
    MUST(gpu().cuStreamCreate(&theirs, non_blocking));
  }
  cai_stream_guard outer{}, inner{};
  std::thread([&] {
    at_the_end([&] {
      ASSERT_OK(cai_stream_leave(&inner, 0, error));
      ASSERT_OK(cai_stream_leave(&outer, 0, error));
    });
    const auto release = [](void *context) { ++*static_cast<std::atomic<int> *>(context); };
    cai_stream *wrapped = nullptr;
    ASSERT_OK(cai_stream_wrap(gpu0, value(theirs), release, &released, &wrapped, error));
    const Stream held(wrapped);
    ASSERT_OK(cai_stream_enter(held, &outer, error));
    ASSERT_OK(cai_stream_enter(held, &inner, error));
  }).join();
  current_stream(gpu0);  // a later call ends what the thread's end has left
  EXPECT_EQ(released, 1);
  const With with(primary(0));
  MUST(gpu().cuStreamDestroy_v2(theirs));
}

TEST_F(OnDevices, ThreadEndsWithoutTheDriver) {
  std::atomic<int> released{0};
  Handle theirs = nullptr;
  {
    const With with(primary(0));
    MUST(gpu().cuStreamCreate(&theirs, non_blocking));
  }
  std::thread([&] {
    const auto release = [](void *context) { ++*static_cast<std::atomic<int> *>(context); };
    cai_stream *wrapped = nullptr;
    ASSERT_OK(cai_stream_wrap(gpu0, value(theirs), release, &released, &wrapped, error));
    ASSERT_OK(cai_stream_set_current(wrapped, error));
    cai_stream_release(wrapped);
    const Stream own(gpu1, CAI_MODE_ASYNC);
    ASSERT_OK(cai_stream_set_current(own, error));
    gpu().simcuda_reset_counts();
  }).join();
  EXPECT_EQ(all_calls(), 0U);
  EXPECT_EQ(released, 0);
  current_stream(gpu0);  // a later call ends what is left
  EXPECT_EQ(cai_pending_flush(gpu1, nullptr), CAI_OK);
  EXPECT_EQ(calls("cuStreamDestroy"), 1U);
  EXPECT_EQ(released, 1);
  MUST(gpu().cuStreamDestroy_v2(theirs));
}

// ---- Only on a GPU, only on the CPU -------------------------------------------------------------

TEST_F(OnDevices, PrioritiesAreClipped) {
  for (const auto &[asked, given] : {std::pair{0, 0}, {-3, -3}, {-100, -5}, {100, 0}}) {
    const Stream stream(gpu0, CAI_MODE_ASYNC, asked);
    EXPECT_EQ(describe(stream).priority, given);
  }
}

TEST_F(OnDevices, WrappedStreams) {
  Handle blocking_one = nullptr, free_one = nullptr, of_other = nullptr, context = nullptr;
  {
    const With with(primary(0));
    MUST(gpu().cuStreamCreate(&blocking_one, blocking));
    MUST(gpu().cuStreamCreate(&free_one, non_blocking));
    MUST(gpu().cuCtxCreate_v2(&context, 0, 0));
    MUST(gpu().cuStreamCreate(&of_other, non_blocking));
    MUST(gpu().cuCtxPopCurrent_v2(&context));
  }
  const struct {
    std::uint64_t value;
    std::uint32_t mode;
  } cases[] = {{1, CAI_MODE_DEFAULT},
               {2, CAI_MODE_SYNC},
               {value(blocking_one), CAI_MODE_SYNC},
               {value(free_one), CAI_MODE_ASYNC},
               {value(of_other), CAI_MODE_ASYNC}};
  for (const auto &[number, mode] : cases) {
    int released = 0;
    const auto release = [](void *context_) { ++*static_cast<int *>(context_); };
    cai_stream *first = nullptr, *second = nullptr;
    ASSERT_OK(cai_stream_wrap(gpu0, number, release, &released, &first, error));
    ASSERT_OK(cai_stream_wrap(gpu0, number, nullptr, nullptr, &second, error));
    const cai_stream_info info = describe(first);
    EXPECT_EQ(info.mode, mode);
    EXPECT_EQ(info.value, number);
    EXPECT_EQ(info.wrapped, 1U);
    EXPECT_EQ(info.id, describe(second).id);  // the same for any handle
    Work work, kept;
    ASSERT_OK(work.enqueue(first, error));
    ASSERT_OK(kept.attach(first, error));
    ASSERT_OK(cai_stream_follow(second, first, error));
    ASSERT_OK(cai_stream_synchronize(second, error));
    EXPECT_EQ(work.ends, 1);
    EXPECT_EQ(kept.ends, 1);
    cai_stream_retain(first);
    cai_stream_release(first);
    EXPECT_EQ(released, 0);
    cai_stream_release(first);
    EXPECT_EQ(released, 1);
    cai_stream_release(second);
  }
  cai_stream *out = nullptr;
  EXPECT_FAILS(CAI_ERR_VALUE, "0", cai_stream_wrap(gpu0, 0, nullptr, nullptr, &out, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "CPU", cai_stream_wrap(cpu, 1, nullptr, nullptr, &out, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "stream: expected one of gpu:1, got one of gpu:0, 0x",
               cai_stream_wrap(gpu1, value(free_one), nullptr, nullptr, &out, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:2", cai_stream_wrap({2, 2}, 1, nullptr, nullptr, &out, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_stream_wrap(gpu0, 1, nullptr, nullptr, nullptr, error));
  EXPECT_FAILS(CAI_ERR_CUDA, "cuStream",
               cai_stream_wrap(gpu0, 0x1234, nullptr, nullptr, &out, error));
  EXPECT_EQ(out, nullptr);
  for (const Handle each : {blocking_one, free_one, of_other}) MUST(gpu().cuStreamDestroy_v2(each));
  MUST(gpu().cuCtxDestroy_v2(context));
}

TEST_F(OnDevices, StreamTwoIsOneThreads) {
  cai_stream *two = nullptr;
  ASSERT_OK(cai_stream_wrap(gpu0, 2, nullptr, nullptr, &two, error));
  std::thread([&] {
    EXPECT_FAILS(CAI_ERR_STATE, "this thread", cai_stream_synchronize(two, error));
    EXPECT_FAILS(CAI_ERR_STATE, "this thread", cai_stream_attach(two, Work::done, nullptr, error));
    cai_stream *mine = nullptr;
    ASSERT_OK(cai_stream_wrap(gpu0, 2, nullptr, nullptr, &mine, error));
    EXPECT_NE(describe(mine).id, 0U);
    cai_stream_release(mine);
  }).join();
  ASSERT_OK(cai_stream_synchronize(two, error));
  cai_stream_release(two);
}

TEST_F(OnDevices, WorkOnTheGpuIsInOrderWithItsMemory) {
  const Address data = memory(), result = memory();
  const Stream stream(gpu0, CAI_MODE_ASYNC), other(gpu0, CAI_MODE_ASYNC);
  fill(data, 7, stream.value());
  ASSERT_OK(cai_stream_follow(other, stream, error));
  copy(result, data, other.value());
  ASSERT_OK(cai_stream_synchronize(other, error));
  EXPECT_EQ(read(result), 7);
}

// The driver orders what is queued on them next, but neither a host that waits nor, through an idle
// legacy stream, a second blocking one.
TEST_F(OnDevices, LegacyAndBlockingStreamsTakeAnEventToo) {
  const Stream legacy(gpu0, CAI_MODE_DEFAULT), sync(gpu0, CAI_MODE_SYNC);
  const Stream async(gpu0, CAI_MODE_ASYNC);
  gpu().simcuda_reset_counts();
  ASSERT_OK(cai_stream_follow(legacy, sync, error));
  ASSERT_OK(cai_stream_follow(sync, legacy, error));
  EXPECT_EQ(calls("cuEventRecord"), 2U);
  ASSERT_OK(cai_stream_follow(legacy, async, error));
  EXPECT_EQ(calls("cuEventRecord"), 3U);
}

TEST_F(OnDevices, FailureDropsWhatWaitsOnTheCpu) {
  Stream stream(cpu, CAI_MODE_ASYNC);
  Door door;
  Work bad(say_seven), waits, kept, after;
  Event event(cpu);
  ASSERT_OK(door.work.enqueue(stream, error));
  ASSERT_OK(bad.enqueue(stream, error));
  ASSERT_OK(waits.enqueue(stream, error));
  ASSERT_OK(kept.attach(stream, error));
  ASSERT_OK(cai_event_record(event, stream, error));
  door.open();
  ASSERT_OK(cai_event_synchronize(event, error));  // it is passed anyway
  while (kept.ends == 0) std::this_thread::yield();
  EXPECT_FAILS(CAI_ERR_BOUNDS, "seven", after.enqueue(stream, error));
  ASSERT_OK(after.enqueue(stream, error));
  ASSERT_OK(cai_stream_synchronize(stream, error));
  EXPECT_EQ(waits.runs, 0);
  EXPECT_EQ(waits.ends, 1);
  EXPECT_EQ(kept.ends, 1);
  EXPECT_EQ(after.runs, 1);
  EXPECT_EQ(after.ends, 1);
}

TEST_F(OnDevices, WorkMayLetGoOfItsOwnStream) {
  for (int i = 0; i < 100; ++i) {
    Stream stream(cpu, CAI_MODE_ASYNC);
    cai_stream *const itself = stream.get();
    Work last([&](cai_error *) {
      cai_stream_release(itself);
      return CAI_OK;
    });
    cai_stream_retain(itself);
    ASSERT_OK(last.enqueue(stream, error));
    stream.release();
    while (last.ends == 0) std::this_thread::yield();
  }
}

// The idle stream's thread may end as soon as it has the last reference.
TEST_F(OnDevices, AStreamMayBeLeftToItself) {
  for (int i = 0; i < 1000; ++i) {
    cai_stream *stream = nullptr;
    ASSERT_OK(cai_stream_create(cpu, CAI_MODE_ASYNC, 0, &stream, error));
    const auto release = [](void *last) { cai_stream_release(static_cast<cai_stream *>(last)); };
    ASSERT_OK(cai_stream_attach(stream, release, stream, error));
  }
}

// The last release reports a failure that no call has returned.
TEST_F(OnDevices, AFailureThatNobodyAskedForIsReported) {
  Told told;
  Stream stream(cpu, CAI_MODE_ASYNC);
  Work bad(say_seven);
  ASSERT_OK(bad.enqueue(stream, error));
  while (bad.ends == 0) std::this_thread::yield();
  stream.release();
  EXPECT_EQ(told.messages(), std::vector<std::string>({"seven"}));
}

// Another thread's stream 2 has no name here: nobody asks whether it is in a capture.
TEST_F(OnDevices, StreamsOfOtherThreadsAreNotAskedAbout) {
  const auto wrap = [] {
    cai_stream *made = nullptr;
    EXPECT_EQ(cai_stream_wrap(gpu0, 2, nullptr, nullptr, &made, nullptr), CAI_OK);
    return Stream(made);
  };
  const Stream mine = wrap();
  const auto asked = [] {
    gpu().simcuda_reset_counts();
    EXPECT_EQ(cai_device_synchronize(gpu0, nullptr), CAI_OK);
    return calls("cuStreamGetCaptureInfo");
  };
  const std::uint64_t of_mine = asked();
  std::atomic<bool> there{false}, done{false};
  std::thread other([&] {
    const Stream theirs = wrap();
    there = true;
    there.notify_all();
    done.wait(false);
  });
  there.wait(false);
  EXPECT_EQ(asked(), of_mine);
  done = true;
  done.notify_all();
  other.join();
}

// A stream of a context that is not libcai's own: no reset of libcai's ends it.
TEST_F(OnDevices, TheHostFollowsAStreamOfAnotherContext) {
  Handle context = nullptr, popped = nullptr, made = nullptr;
  MUST(gpu().cuCtxCreate_v2(&context, 0, 0));
  MUST(gpu().cuStreamCreate(&made, non_blocking));
  MUST(gpu().cuCtxPopCurrent_v2(&popped));
  {
    cai_stream *wrapped = nullptr;
    ASSERT_OK(cai_stream_wrap(gpu0, value(made), nullptr, nullptr, &wrapped, error));
    const Stream theirs(wrapped), stream(cpu, CAI_MODE_ASYNC);
    Work work;
    {
      const Gate gate(value(made));
      ASSERT_OK(cai_stream_follow(stream, theirs, error));
      ASSERT_OK(work.enqueue(stream, error));
      EXPECT_EQ(work.runs, 0);
    }
    ASSERT_OK(cai_stream_synchronize(stream, error));
    EXPECT_EQ(work.runs, 1);
  }
  drain();
  MUST(gpu().cuCtxDestroy_v2(context));
}

// The driver does not even say which context is current: the caller's is made so.
TEST_F(OnDevices, NoContextIsLeftBehindByADriverThatSaysNothing) {
  cai_stream *made = nullptr;
  MUST(gpu().simcuda_fail("cuCtxPopCurrent", 1, 999));
  MUST(gpu().simcuda_fail("cuCtxGetCurrent", 2, 998));
  EXPECT_FAILS(CAI_ERR_CUDA, "cuCtxPopCurrent",
               cai_stream_create(gpu0, CAI_MODE_ASYNC, 0, &made, error));
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(current(), nullptr);
}

TEST_F(OnDevices, WorkCannotWaitForItsOwnStream) {
  const Stream stream(cpu, CAI_MODE_ASYNC), at_once(cpu, CAI_MODE_SYNC);
  const Stream of_gpu(gpu0, CAI_MODE_ASYNC);
  const Event event(cpu);
  Work more;
  Work work([&](cai_error *) {
    EXPECT_TRUE(is_busy(stream));
    EXPECT_FAILS(CAI_ERR_STATE, "wait for itself", cai_stream_synchronize(stream, error));
    EXPECT_FAILS(CAI_ERR_STATE, "wait for itself", cai_stream_follow(at_once, stream, error));
    EXPECT_FAILS(CAI_ERR_STATE, "wait for itself", cai_stream_follow(of_gpu, stream, error));
    EXPECT_EQ(cai_event_record(event, stream, nullptr), CAI_OK);
    EXPECT_FAILS(CAI_ERR_STATE, "must complete it", cai_event_synchronize(event, error));
    EXPECT_FAILS(CAI_ERR_STATE, "must complete it", cai_event_wait(event, at_once, error));
    EXPECT_EQ(more.enqueue(stream), CAI_OK);
    return CAI_OK;
  });
  ASSERT_OK(work.enqueue(stream, error));
  while (more.ends == 0) std::this_thread::yield();
  ASSERT_OK(cai_stream_synchronize(stream, error));
  EXPECT_EQ(more.runs, 1);
}

}  // namespace
}  // namespace test::streams_tests
