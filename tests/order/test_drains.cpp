// SPDX-License-Identifier: BSD-3-Clause
// What cai_drain() waits for, beside other threads and in the ends of arrays.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#ifdef TEST_MEMORY
#include "cai/memory.h"
#endif
#include "releasing.hpp"

namespace test::drains_tests {
namespace {

class Drains : public Releasing {};

// Gates of several streams, to be opened in their order: a driver may have one thread for all.
template <std::size_t number>
std::vector<std::unique_ptr<Gate>> gates_on(const std::uint64_t (&streams)[number]) {
  std::vector<std::unique_ptr<Gate>> gates;
  for (std::size_t i = 0; i < number; ++i) {
    if (i > 0) {
      Handle event = nullptr;
      MUST(gpu().cuEventCreate(&event, 2));
      MUST(gpu().cuEventRecord(event, handle(streams[i - 1])));
      MUST(gpu().cuStreamWaitEvent(handle(streams[i]), event, 0));
      MUST(gpu().cuEventDestroy_v2(event));
    }
    gates.push_back(std::make_unique<Gate>(streams[i]));
  }
  return gates;
}

// An array that was used on a stream, with one reference. The caller releases it.
cai_array *used_on(Address data, std::uint64_t on) {
  cai_array *made = nullptr;
  const Array borrowed(data, CAI_STREAM_NONE);
  const auto nothing = [](void *) {};
  MUST(cai_array_own(&borrowed.array, nothing, nullptr, &made, nullptr));
  EXPECT_EQ(end_use({made}, on), CAI_OK);
  return made;
}

// Opens a gate after a while, until when the array has not ended.
std::thread opening_later(Gate &gate, Owned &array) {
  return std::thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(array.ended());
    gate.open();
  });
}

TEST_F(Drains, AwaitReleases) {
  const std::uint64_t consumer = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  Gate gate(consumer);
  EXPECT_EQ(end_use({array}, consumer), CAI_OK);
  array.release();
  std::thread opener = opening_later(gate, array);
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(array.ended());
  opener.join();
}

TEST_F(Drains, AwaitReleasesOnAnotherThread) {
  std::atomic<bool> runs{false}, is_over{false};
  Owned array(memory(), CAI_STREAM_NONE, 0, [&] {
    runs = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_over = true;
  });
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(end_use({array}, consumer), CAI_OK);
  array.release();
  std::thread other([&] {
    const With with(context0);
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  });
  while (!runs) std::this_thread::yield();
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(is_over);
  other.join();
}

// An end may run any code. What one end releases is drained, too.
TEST_F(Drains, AwaitWhatAnEndLetsGo) {
  Owned inner(memory(), CAI_STREAM_NONE);
  Owned outer(memory(), CAI_STREAM_NONE, 0, [&] { inner.release(); });
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(end_use({inner}, consumer), CAI_OK);
  EXPECT_EQ(end_use({outer}, consumer), CAI_OK);
  outer.release();
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(outer.ended());
  EXPECT_TRUE(inner.ended());
}

// However many ends drain, they do not run inside of each other; and what each releases has ended
// when it has drained.
TEST_F(Drains, InManyEnds) {
  constexpr int many = 100;
  int depth = 0, deepest = 0;
  const std::uint64_t consumer = value(stream());
  std::vector<std::unique_ptr<Owned>> arrays, inner;
  for (int i = 0; i < many; ++i) {
    inner.push_back(std::make_unique<Owned>(memory(), CAI_STREAM_NONE));
    arrays.push_back(std::make_unique<Owned>(memory(), CAI_STREAM_NONE, 0, [&, i] {
      deepest = std::max(deepest, ++depth);
      inner[static_cast<std::size_t>(i)]->release();
      EXPECT_EQ(left(1), 0);
      EXPECT_TRUE(inner[static_cast<std::size_t>(i)]->ended());
      --depth;
    }));
    for (const auto &each : {&arrays, &inner}) {
      EXPECT_EQ(end_use({*each->back()}, consumer), CAI_OK);
    }
  }
  for (const auto &array : arrays) array->release();
  EXPECT_EQ(left(1), 0);
  for (const auto &array : arrays) EXPECT_TRUE(array->ended());
  EXPECT_EQ(deepest, 1);
}

// Nor do they if they use other arrays, which looks for what may end.
TEST_F(Drains, OfManyEndsThatUseOtherArrays) {
  int depth = 0, deepest = 0;
  const std::uint64_t consumer = value(stream());
  Array other(memory(), CAI_STREAM_STREAM, value(stream()));
  std::vector<std::unique_ptr<Owned>> arrays;
  for (int i = 0; i < 100; ++i) {
    arrays.push_back(std::make_unique<Owned>(memory(), CAI_STREAM_NONE, 0, [&] {
      deepest = std::max(deepest, ++depth);
      EXPECT_EQ(begin_use({&other}, consumer), CAI_OK);
      EXPECT_EQ(end_use({&other}, consumer), CAI_OK);
      --depth;
    }));
    EXPECT_EQ(end_use({*arrays.back()}, consumer), CAI_OK);
  }
  for (const auto &array : arrays) array->release();
  EXPECT_EQ(left(1), 0);
  for (const auto &array : arrays) EXPECT_TRUE(array->ended());
  EXPECT_EQ(deepest, 1);
}

// What a drain has found complete ends before it waits for the next. It does not wait for what
// another thread releases meanwhile, but for what that end releases.
TEST_F(Drains, LetReleasesEndWhileTheyWaitForOthers) {
  const std::uint64_t streams[] = {value(stream()), value(stream()), value(stream())};
  Owned last(memory(), CAI_STREAM_NONE), later(memory(), CAI_STREAM_NONE);
  Owned second(memory(), CAI_STREAM_NONE, 0, [&] { last.release(); });
  Owned first(memory(), CAI_STREAM_NONE);
  EXPECT_EQ(end_use({last}, value(stream())), CAI_OK);
  const auto gates = gates_on(streams);
  EXPECT_EQ(end_use({first}, streams[0]), CAI_OK);
  EXPECT_EQ(end_use({second}, streams[1]), CAI_OK);
  EXPECT_EQ(end_use({later}, streams[2]), CAI_OK);
  first.release();
  second.release();
  std::thread drain([this] {
    MUST(gpu().cuCtxSetCurrent(context0));
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  });
  gates[0]->open();
  while (!first.ended()) std::this_thread::yield();
  EXPECT_FALSE(second.ended());
  later.release();
  gates[1]->open();
  drain.join();
  EXPECT_TRUE(second.ended() && last.ended());
  EXPECT_FALSE(later.ended());
  gates[2]->open();
  EXPECT_EQ(left(1), 0);
}

// However much another thread releases, a drain returns.
TEST_F(Drains, AreNotKeptByReleasesOfAnotherThread) {
  const std::uint64_t consumer = value(stream()), others = value(stream());
  const Address data = memory();
  std::atomic<bool> is_over{false};
  std::atomic<int> released{0};
  std::thread other([&] {
    MUST(gpu().cuCtxSetCurrent(context0));
    for (; !is_over; ++released) {
      cai_array *const array = used_on(data, others);
      cai_array_release(array);
    }
  });
  for (int i = 0; i < 20; ++i) {
    Owned array(memory(), CAI_STREAM_NONE);
    EXPECT_EQ(end_use({array}, consumer), CAI_OK);
    array.release();
    for (const int before = released; released < before + 5;) std::this_thread::yield();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_TRUE(array.ended());
  }
  is_over = true;
  other.join();
  EXPECT_EQ(left(1), 0);
}

// Two drains may wait for the same release.
TEST_F(Drains, AwaitWhatAnotherDrainWaitsFor) {
  const std::uint64_t consumer = value(stream());
  Owned array(memory(), CAI_STREAM_NONE);
  Gate gate(consumer);
  EXPECT_EQ(end_use({array}, consumer), CAI_OK);
  array.release();
  const std::uint64_t before = calls("cuEventSynchronize");
  std::thread other([this] {
    MUST(gpu().cuCtxSetCurrent(context0));
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  });
  while (calls("cuEventSynchronize") == before) std::this_thread::yield();
  std::thread opener = opening_later(gate, array);
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(array.ended());
  opener.join();
  other.join();
}

// Neither waits with the other, for what that was called for alone.
TEST_F(Drains, AreNotKeptByWhatAnotherDrainWaitsFor) {
  const std::uint64_t streams[] = {value(stream()), value(stream())};
  Owned first(memory(), CAI_STREAM_NONE), second(memory(), CAI_STREAM_NONE);
  const auto gates = gates_on(streams);
  EXPECT_EQ(end_use({first}, streams[0]), CAI_OK);
  EXPECT_EQ(end_use({second}, streams[1]), CAI_OK);
  const auto drain = [this] {
    MUST(gpu().cuCtxSetCurrent(context0));
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  };
  const std::uint64_t before = calls("cuEventSynchronize");
  const auto await_waits = [&](std::uint64_t count) {
    while (calls("cuEventSynchronize") < before + count) std::this_thread::yield();
  };
  first.release();
  std::thread one(drain);
  await_waits(1);
  second.release();
  std::thread two(drain);
  await_waits(2);
  gates[0]->open();
  one.join();
  EXPECT_TRUE(first.ended());
  EXPECT_FALSE(second.ended());
  gates[1]->open();
  two.join();
  EXPECT_TRUE(second.ended());
}

// What one drain has found complete, another may end; the first goes on all the same.
TEST_F(Drains, AwaitThoughAnotherThreadEndsSome) {
  const std::uint64_t streams[] = {value(stream()), value(stream()), value(stream())};
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    MUST(gpu().cuCtxSetCurrent(context0));
    while (!is_over) EXPECT_EQ(cai_drain(0, nullptr, nullptr), CAI_OK);
  });
  for (int i = 0; i < 200; ++i) {
    std::vector<std::unique_ptr<Owned>> arrays;
    for (const std::uint64_t on : streams) {
      arrays.push_back(std::make_unique<Owned>(memory(), CAI_STREAM_NONE));
      EXPECT_EQ(end_use({*arrays.back()}, on), CAI_OK);
    }
    for (const auto &array : arrays) array->release();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    for (const auto &array : arrays) EXPECT_TRUE(array->ended());
  }
  is_over = true;
  other.join();
}

// So may it what an end of its own has released, at once after that.
TEST_F(Drains, AwaitWhatAnEndOfAnotherThreadReleases) {
  const std::uint64_t on = value(stream());
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    MUST(gpu().cuCtxSetCurrent(context0));
    while (!is_over) EXPECT_EQ(cai_drain(0, nullptr, nullptr), CAI_OK);
  });
  for (int i = 0; i < 1000; ++i) {
    std::atomic<bool> is_inner_over{false};
    Owned inner(memory(), CAI_STREAM_NONE, 0, [&] {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      is_inner_over = true;
    });
    Owned outer(memory(), CAI_STREAM_NONE, 0, [&] { inner.release(); });
    EXPECT_EQ(end_use({inner}, on), CAI_OK);
    EXPECT_EQ(end_use({outer}, on), CAI_OK);
    outer.release();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_TRUE(outer.ended() && is_inner_over);
  }
  is_over = true;
  other.join();
}

// Whatever thread has released them, and however deep.
TEST_F(Drains, InAnEndRunNoEndsOfOthers) {
  const std::uint64_t idle = value(stream()), slow = value(stream());
  std::unique_ptr<Gate> gate;
  bool has_run = false;
  Owned before(memory(), CAI_STREAM_NONE), theirs(memory(), CAI_STREAM_NONE);
  Owned inner(memory(), CAI_STREAM_NONE, 0, [&] {
    gate->open();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_FALSE(before.ended());
  });
  Owned outer(memory(), CAI_STREAM_NONE, 0, [&] {
    std::thread([&] { theirs.release(); }).join();
    inner.release();
    MUST(gpu().cuStreamSynchronize(handle(idle)));
    EXPECT_EQ(cai_drain(0, nullptr, nullptr), CAI_OK);
    EXPECT_TRUE(inner.ended());
    EXPECT_FALSE(before.ended() || theirs.ended());
    has_run = true;
  });
  gate = std::make_unique<Gate>(slow);
  EXPECT_EQ(end_use({before}, slow), CAI_OK);
  for (const Owned *const array : {&theirs, &inner, &outer}) {
    EXPECT_EQ(end_use({*array}, idle), CAI_OK);
  }
  outer.release();
  before.release();
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(has_run && before.ended() && theirs.ended());
}

// Work in a context that is not known is waited for, too, if an end has released it.
TEST_F(Drains, AwaitWhatIsLostByAnEnd) {
  const Primary primary(1);
  const std::uint64_t on = value(stream(non_blocking, primary.context));
  Owned inner(memory(primary.context), CAI_STREAM_STREAM, on);
  EXPECT_EQ(end_use({inner}, on), CAI_OK);
  Owned outer(memory(), CAI_STREAM_NONE, 0, [&] {
    for (int nth = 1; nth <= 10; ++nth) MUST(gpu().simcuda_fail("cuStreamGetId", nth, 999));
    MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
    inner.release();
    MUST(gpu().simcuda_fail("cuStreamGetId", 0, 0));
    MUST(gpu().simcuda_fail("cuEventRecord", 0, 0));
    EXPECT_FALSE(inner.ended());
  });
  EXPECT_EQ(end_use({outer}, value(stream())), CAI_OK);
  outer.release();
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(inner.ended());
}

#ifdef TEST_MEMORY
// Nor do frees that release in turn.
TEST_F(Drains, AreNotKeptByFreesOfAnotherThread) {
  const std::uint64_t others = value(stream());
  const Address data = memory();
  std::atomic<bool> is_over{false};
  std::atomic<int> released{0};
  std::thread other([&] {
    MUST(gpu().cuCtxSetCurrent(context0));
    const cai_device cpu{CAI_DEVICE_CPU, 0};
    for (; !is_over; ++released) {
      cai_array *const array = used_on(data, others);
      const auto release = [](void *held, cai_error *) {
        cai_array_release(static_cast<cai_array *>(held));
        return cai_status{CAI_OK};
      };
      MUST(cai_pending_add(cpu, 0, release, array, nullptr));
      MUST(cai_pending_flush(cpu, nullptr));
    }
  });
  for (int i = 0; i < 20; ++i) {
    for (const int before = released; released < before + 5;) std::this_thread::yield();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  }
  is_over = true;
  other.join();
  EXPECT_EQ(left(1), 0);
}
#endif

}  // namespace
}  // namespace test::drains_tests
