// SPDX-License-Identifier: BSD-3-Clause
// cai::stream, cai::event and the guard of the current stream, on every device.
#include <chrono>
#include <thread>

#include "each.hpp"

namespace test::streams_tests {
namespace {

static_assert(std::is_nothrow_default_constructible_v<cai::stream>);
static_assert(std::is_nothrow_copy_constructible_v<cai::stream>);
static_assert(std::is_nothrow_move_constructible_v<cai::stream>);
static_assert(std::is_nothrow_copy_assignable_v<cai::stream>);
static_assert(std::is_nothrow_move_assignable_v<cai::stream>);
static_assert(std::is_nothrow_move_constructible_v<cai::event>);
static_assert(std::is_nothrow_move_assignable_v<cai::event>);
static_assert(!std::is_move_constructible_v<cai::stream_guard>);
static_assert(!std::is_copy_constructible_v<cai::stream_guard>);
static_assert(std::is_nothrow_destructible_v<cai::stream_guard>);
static_assert(!std::is_convertible_v<cai::device, cai::stream>);

class OnStream : public OnEach {
 protected:
  std::vector<cai::stream> of_each_mode() const {
    return {cai::stream(device, CAI_MODE_DEFAULT), cai::stream(device, CAI_MODE_SYNC),
            cai::stream(device, CAI_MODE_ASYNC)};
  }
};
ON_EACH_DEVICE(OnStream);

TEST(Stream, NoneIsHeld) {
  const cai::stream none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.value(), 0U);
  EXPECT_EQ(none, cai::stream());
  EXPECT_EQ(status_of([&] { none.synchronize(); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { none.enqueue([] {}); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { none.attach(1); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { static_cast<void>(none.device()); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { cai::stream_guard{none}; }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { cai::event().record(none); }), CAI_ERR_ARGUMENT);
  EXPECT_EQ(status_of([&] { none.follow(cai::event()); }), CAI_ERR_ARGUMENT);
}

TEST_P(OnStream, CountsItsHolders) {
  cai::stream first(device);
  const cai::stream copy = first;
  EXPECT_EQ(copy, first);
  cai::stream moved = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is promised
  cai::stream &same = moved;
  moved = std::move(same);
  EXPECT_EQ(moved, copy);
  moved = same;
  EXPECT_EQ(moved, copy);
  cai_stream *const raw = moved.release();
  EXPECT_FALSE(moved);
  const cai::stream held = cai::stream::retain(raw), adopted = cai::stream::adopt(raw);
  EXPECT_EQ(held, adopted);
  moved = cai::stream(device, CAI_MODE_DEFAULT);
  EXPECT_NE(moved, adopted);
  moved.reset();
  EXPECT_FALSE(moved);
  EXPECT_EQ(adopted.device(), device);
}

TEST_P(OnStream, SaysWhatItIs) {
  for (const cai::stream &stream : of_each_mode()) {
    const cai_stream_info info = stream.info();
    EXPECT_EQ(info.struct_size, sizeof info);
    EXPECT_EQ(stream.device(), device);
    EXPECT_EQ(stream.value() == 0, device.is_cpu());
    EXPECT_EQ(info.value, stream.value());
    EXPECT_EQ(info.wrapped, 0U);
    EXPECT_FALSE(stream.is_busy());
  }
  EXPECT_EQ(status_of([&] { cai::stream(device, 3); }), CAI_ERR_VALUE);
  EXPECT_EQ(status_of([&] { cai::stream(device, CAI_MODE_DEFAULT, 1); }), CAI_ERR_VALUE);
}

TEST_P(OnStream, LimitsThreads) {
  const cai::stream stream(device);
  if (device.is_gpu()) {
    EXPECT_EQ(status_of([&] { stream.set_thread_limit(2); }), CAI_ERR_DEVICE);
    return;
  }
  EXPECT_GE(stream.thread_limit(), 1);
  stream.set_thread_limit(3);
  EXPECT_EQ(stream.thread_limit(), 3);
  EXPECT_EQ(status_of([&] { stream.set_thread_limit(0); }), CAI_ERR_VALUE);
}

TEST_P(OnStream, RunsWorkInOrder) {
  for (const cai::stream &stream : of_each_mode()) {
    std::string done;
    const auto alive = std::make_shared<int>();
    stream.enqueue([&done, alive] { done += 'a'; });
    stream.enqueue([&done, only = std::make_unique<char>('b')] { done += *only; });
    const auto c_like = [&done, alive](cai_error *) -> cai_status {
      done += 'c';
      return CAI_OK;
    };
    stream.enqueue(c_like);
    stream.synchronize();
    EXPECT_EQ(done, "abc");
    EXPECT_FALSE(stream.is_busy());
    EXPECT_EQ(alive.use_count(), 2);  // alive, c_like
  }
}

TEST_P(OnStream, WaitsForItsWork) {
  Barrier barrier;
  const cai::stream stream(device);
  stream.enqueue(barrier.work());
  EXPECT_TRUE(stream.is_busy());
  const auto kept = std::make_shared<int>();
  stream.attach(kept, std::make_unique<int>(), std::string("and more"));
  EXPECT_EQ(kept.use_count(), 2);
  barrier.open();
  stream.synchronize();
  EXPECT_EQ(kept.use_count(), 1);
}

// The next call throws the work's exception, once; work queued after it on the CPU is dropped.
TEST_P(OnStream, WorkThatThrows) {
  const auto alive = std::make_shared<int>();
  const auto work = [alive] { throw std::runtime_error("the work is bad"); };
  for (const cai::stream &stream : of_each_mode()) {
    for (const bool query : {false, true}) {
      const cai_error error = thrown([&] {
        stream.enqueue(work);
        if (!query) stream.synchronize();
        while (stream.is_busy()) std::this_thread::yield();
      });
      EXPECT_EQ(error.status, CAI_ERR_ARGUMENT);
      EXPECT_NE(std::string(error.message).find("the work is bad"), std::string::npos);
      stream.synchronize();
      EXPECT_FALSE(stream.is_busy());
      EXPECT_EQ(alive.use_count(), 2);
    }
  }
}

TEST_P(OnStream, WorkThatFailsKeepsItsStatus) {
  const auto fails_with = [&](auto work) {
    const cai::stream stream(device);
    return thrown([&] {
      stream.enqueue(work);
      stream.synchronize();
    });
  };
  EXPECT_EQ(fails_with([] { throw cai::error({CAI_ERR_LAYOUT, 7, 0, 3, "mine"}); }).native, 7);
  EXPECT_EQ(fails_with([] { throw cai::error({CAI_ERR_LAYOUT, 7, 0, 3, "mine"}); }).status,
            CAI_ERR_LAYOUT);
  EXPECT_EQ(fails_with([] { throw cai::error({CAI_OK, 0, 0, 0, "fine"}); }).status,
            CAI_ERR_ARGUMENT);
  EXPECT_EQ(fails_with([] { throw std::bad_alloc(); }).status, CAI_ERR_MEMORY);
  EXPECT_EQ(fails_with([] { throw 1; }).status, CAI_ERR_ARGUMENT);
  EXPECT_STREQ(fails_with([](cai_error *error) -> cai_status {
                 *error = {CAI_ERR_BOUNDS, 0, 0, 0, "as C says it"};
                 return CAI_ERR_BOUNDS;
               }).message,
               "as C says it");
}

TEST_P(OnStream, AFailureThatNobodyAsksFor) {
  {
    const cai::stream stream(device);
    const cai::event behind(device);
    stream.enqueue([] { throw std::runtime_error("unheard"); });
    if (device.is_gpu()) {
      behind.record(stream);
      behind.synchronize();
    }
  }
  device.synchronize();
  for (int i = 0; i < 1000 && Failures::count() == 0; ++i) {  // the CPU stream's own thread
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_EQ(Failures::count(), 1U);
  EXPECT_NE(std::string(Failures::seen()[0].message).find("unheard"), std::string::npos);
  Failures::seen().clear();
}

TEST(Stream, WorkOnTheCpuThatFailsDropsWhatWaits) {
  Barrier barrier;
  const auto alive = std::make_shared<int>();
  const cai::stream stream(cai::device::cpu());
  bool ran = false;
  stream.enqueue(barrier.work());
  stream.enqueue([] { throw Thrown(); });
  stream.enqueue([&ran, alive] { ran = true; });
  EXPECT_EQ(alive.use_count(), 2);
  barrier.open();
  EXPECT_EQ(status_of([&] { stream.synchronize(); }), CAI_ERR_ARGUMENT);
  EXPECT_FALSE(ran);
  EXPECT_EQ(alive.use_count(), 1);
  stream.enqueue([&ran] { ran = true; });
  stream.synchronize();
  EXPECT_TRUE(ran);
}

// The stream has one holder, which its own work has.
TEST_P(OnStream, WorkMayHoldItsStream) {
  const auto ran = std::make_shared<std::atomic<bool>>(false);
  {
    cai::stream stream(device);
    const cai::stream &mine = stream;
    mine.enqueue([stream, ran] {
      *ran = true;
      ran->notify_all();
    });
  }
  device.synchronize();
  ran->wait(false);
}

TEST_P(OnStream, FollowsStreamsAndEvents) {
  Barrier barrier;
  const cai::stream first(device), second(device), third(device);
  const cai::event event(device);
  EXPECT_FALSE(event.is_busy());
  std::atomic<int> step{0};
  int seen_by_second = 0, seen_by_third = 0;
  first.enqueue(barrier.work());
  first.enqueue([&] { step = 1; });
  event.record(first);
  EXPECT_TRUE(event.is_busy());
  second.follow(first);
  second.enqueue([&] { seen_by_second = step; });
  third.follow(event);
  third.enqueue([&] { seen_by_third = step; });
  EXPECT_TRUE(second.is_busy());
  barrier.open();
  event.synchronize();
  EXPECT_FALSE(event.is_busy());
  second.synchronize();
  third.synchronize();
  EXPECT_EQ(seen_by_second, 1);
  EXPECT_EQ(seen_by_third, 1);
}

TEST_P(OnStream, EventsKeepTime) {
  const cai::stream stream(device);
  const cai::event start(device, CAI_EVENT_TIMING), end(device, CAI_EVENT_TIMING), plain(device);
  EXPECT_EQ(start.value() == 0, device.is_cpu());
  EXPECT_EQ(status_of([&] { static_cast<void>(end.milliseconds_since(start)); }), CAI_ERR_STATE);
  for (const cai::event &each : {start, end, plain}) {
    each.record(stream);
    stream.synchronize();
  }
  EXPECT_GE(end.milliseconds_since(start), 0.0);
  EXPECT_EQ(status_of([&] { static_cast<void>(plain.milliseconds_since(start)); }), CAI_ERR_VALUE);
  EXPECT_EQ(status_of([&] { cai::event(device, 8); }), CAI_ERR_VALUE);
  const cai::event copy = cai::event::retain(end.get()),
                   adopted = cai::event::adopt(cai::event(end).release());
  EXPECT_EQ(copy, adopted);
}

TEST_P(OnStream, WrapsSomebodyElses) {
  int calls = 0;
  const auto ended = [&calls] { ++calls; };
  if (device.is_cpu()) {
    EXPECT_EQ(status_of([&] { static_cast<void>(cai::stream::wrap(device, 1, ended)); }),
              CAI_ERR_DEVICE);
    EXPECT_EQ(calls, 0);
    return;
  }
  const auto alive = std::make_shared<int>();
  {
    const cai::stream theirs(device);
    EXPECT_EQ(status_of([&] { static_cast<void>(cai::stream::wrap(device, 0, ended)); }),
              CAI_ERR_VALUE);
    EXPECT_EQ(calls, 0);
    const cai::stream plain = cai::stream::wrap(device, theirs.value());
    const cai::stream owned = cai::stream::wrap(device, theirs.value(), ended);
    const cai::stream kept = cai::stream::wrap(device, theirs.value(), alive);
    EXPECT_EQ(owned.value(), theirs.value());
    EXPECT_EQ(owned.info().wrapped, 1U);
    EXPECT_EQ(alive.use_count(), 2);
    bool ran = false;
    kept.enqueue([&] { ran = true; });
    plain.synchronize();
    EXPECT_TRUE(ran);
    EXPECT_EQ(calls, 0);
  }
  cai::flush_pending(device);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(alive.use_count(), 1);
}

TEST_P(OnStream, IsCurrentForAWhile) {
  const cai::stream before = cai::stream::current(device);
  Barrier barrier;
  bool ran = false;
  {
    const cai::stream_guard guard{cai::stream(device)};
    EXPECT_TRUE(guard);
    const cai::stream now = cai::stream::current(device);
    EXPECT_NE(now, before);
    now.enqueue(barrier.work());
    now.enqueue([&] { ran = true; });
    barrier.open();
  }
  EXPECT_TRUE(ran);  // leaving has waited
  EXPECT_EQ(cai::stream::current(device), before);
}

TEST_P(OnStream, GuardsAreLeftWhateverIsThrown) {
  const cai::stream before = cai::stream::current(device);
  const auto alive = std::make_shared<int>();
  try {
    const cai::stream_guard outer{cai::stream(device)};
    const cai::device_guard entered(device);
    const cai::stream_guard inner{cai::stream(device)};
    cai::stream::current(device).enqueue([alive] {});
    cai::stream::current(device).attach(alive);
    throw Thrown();
  } catch (const Thrown &) {
  }
  EXPECT_EQ(cai::stream::current(device), before);
  EXPECT_EQ(alive.use_count(), 1);
}

TEST_P(OnStream, LeavesWithoutWaiting) {
  Barrier barrier;
  const cai::stream stream(device);
  {
    const cai::stream_guard guard(stream, CAI_LEAVE_QUEUED);
    stream.enqueue(barrier.work());
  }
  EXPECT_NE(cai::stream::current(device), stream);
  EXPECT_TRUE(stream.is_busy());
  barrier.open();
  stream.synchronize();
}

// leave() throws what failed on the stream; the destructor tells on_failure(). Left are both.
TEST_P(OnStream, LeavingAStreamThatHasFailed) {
  const cai::stream before = cai::stream::current(device), stream(device);
  const auto fail = [] { throw std::runtime_error("the work is bad"); };
  {
    cai::stream_guard guard(stream);
    stream.enqueue(fail);
    EXPECT_EQ(status_of([&] { guard.leave(); }), CAI_ERR_ARGUMENT);
    EXPECT_FALSE(guard);
    EXPECT_EQ(cai::stream::current(device), before);
  }
  EXPECT_TRUE(Failures::seen().empty());
  {
    const cai::stream_guard guard(stream);
    stream.enqueue(fail);
  }
  EXPECT_EQ(cai::stream::current(device), before);
  ASSERT_EQ(Failures::seen().size(), 1U);
  EXPECT_NE(std::string(Failures::seen()[0].message).find("the work is bad"), std::string::npos);
  Failures::seen().clear();
}

TEST_P(OnStream, GuardsAreLeftInTurnAndWhereTheyWereEntered) {
  cai_error error{};
  cai::stream_guard outer, inner;
  ASSERT_EQ(outer.try_enter(cai::stream(device), 0, &error), CAI_OK) << error.message;
  EXPECT_EQ(outer.try_enter(cai::stream(device), 0, &error), CAI_ERR_STATE);
  ASSERT_EQ(inner.try_enter(cai::stream(device), 0, &error), CAI_OK) << error.message;
  EXPECT_EQ(status_of([&] { outer.leave(); }), CAI_ERR_STATE);
  std::thread([&] { EXPECT_EQ(inner.try_leave(nullptr), CAI_ERR_STATE); }).join();
  EXPECT_TRUE(outer);
  EXPECT_TRUE(inner);
  inner.leave();
  outer.leave();
  EXPECT_EQ(inner.try_leave(&error), CAI_OK);
}

TEST_P(OnStream, IsTheThreadsForGood) {
  std::thread([&] {
    const cai::stream mine(device);
    mine.set_current();
    EXPECT_EQ(cai::stream::current(device), mine);
  }).join();
}

}  // namespace
}  // namespace test::streams_tests
