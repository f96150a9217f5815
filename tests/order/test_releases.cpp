// SPDX-License-Identifier: BSD-3-Clause
// When an array ends: not before the uses of its memory are complete, however the memory then goes,
// and without anybody waiting.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#ifdef TEST_MEMORY
#include "cai/memory.h"
#endif
#include "cai/dlpack.h"
#include "failing.hpp"
#include "owned.hpp"

namespace test::releases_tests {
namespace {

class Releases : public OnGpu {
 protected:
  const std::int64_t left_before_ = left_after_drain();

  std::int64_t left(std::int32_t wait = 0) const { return left_after_drain(wait) - left_before_; }

  Address pool_memory(std::uint64_t on) {
    Address made = 0;
    MUST(gpu().cuMemAllocAsync(&made, static_cast<std::size_t>(count), handle(on)));
    fill(made, 0, on);
    MUST(gpu().cuStreamSynchronize(handle(on)));
    return made;
  }
};

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

TEST_F(Releases, ArePutOffUntilTheUsesAreComplete) {
  const std::uint64_t consumer = value(stream());
  for (const bool in_passing : {false, true}) {
    Owned array(memory(), CAI_STREAM_NONE);
    Gate gate(consumer);
    EXPECT_EQ(end_use({array}, consumer), CAI_OK);
    gpu().simcuda_reset_counts();
    array.release();
    EXPECT_EQ(all_calls(), 0U);
    EXPECT_FALSE(array.ended());
    EXPECT_EQ(left(), 1);
    EXPECT_FALSE(array.ended());
    gate.open();
    finish();
    if (in_passing) {
      Array other(memory(), CAI_STREAM_STREAM, value(stream()));
      EXPECT_EQ(begin_use({&other}, consumer), CAI_OK);
      EXPECT_EQ(end_use({&other}, consumer), CAI_OK);
    } else {
      EXPECT_EQ(left(), 0);
    }
    EXPECT_TRUE(array.ended());
  }
}

TEST_F(Releases, AreAtOnceWithNothingPending) {
  const std::uint64_t own = value(stream());
  Owned unused(memory(), CAI_STREAM_NONE);
  Owned unused_on_stream(memory(), CAI_STREAM_STREAM, own);
  Owned freed_there(memory(), CAI_STREAM_STREAM, own);
  freed_there->owner->flags |= CAI_OWNER_STREAM_ORDERED;
  EXPECT_EQ(begin_use({freed_there}, own), CAI_OK);
  EXPECT_EQ(end_use({freed_there}, own), CAI_OK);  // in order anyway
  gpu().simcuda_reset_counts();
  unused.release();
  unused_on_stream.release();
  freed_there.release();
  EXPECT_TRUE(unused.ended());
  EXPECT_TRUE(unused_on_stream.ended());
  EXPECT_TRUE(freed_there.ended());
  std::int64_t nothing = -1;
  EXPECT_EQ(cai_drain(1, &nothing, nullptr), CAI_OK);
  EXPECT_EQ(nothing, left_before_);
  if (left_before_ == 0) {  // except for a query whether the stream that it is freed on is captured
    EXPECT_EQ(calls("cuStreamGetCaptureInfo"), 1U);
    EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent") + calls("cuEventQuery"), 0U);
  }
}

// Work in order with the array's stream takes one event, however often it was used.
TEST_F(Releases, WaitForTheArraysStream) {
  const std::uint64_t own = value(stream());
  const std::uint64_t consumer = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, own);
  Gate gate(own);
  for (const std::uint64_t user : {own, consumer, own}) {
    EXPECT_EQ(begin_use({array}, user), CAI_OK);
    EXPECT_EQ(end_use({array}, user), CAI_OK);
  }
  gpu().simcuda_reset_counts();
  array.release();
  EXPECT_EQ(calls("cuEventRecord"), 1U);
  EXPECT_FALSE(array.ended());
  gate.open();
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(array.ended());
}

TEST_F(Releases, AreWaitedForByDrain) {
  const std::uint64_t consumer = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  Gate gate(consumer);
  EXPECT_EQ(end_use({array}, consumer), CAI_OK);
  array.release();
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(array.ended());
    gate.open();
  });
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(array.ended());
  opener.join();
}

TEST_F(Releases, OnAnotherThreadAreWaitedForByDrain) {
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

// A context that was reset has taken the uses with it. Its events are not to be touched.
TEST_F(Releases, AfterAReset) {
  Handle primary = nullptr;
  MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
  {
    Owned array(memory(primary), CAI_STREAM_NONE);
    EXPECT_EQ(end_use({array}, value(stream(non_blocking, primary))), CAI_OK);
    array.release();
    EXPECT_FALSE(array.ended());
    MUST(gpu().cuDevicePrimaryCtxReset_v2(1));
    EXPECT_FALSE(primary_active(1));
    EXPECT_EQ(left(1), 1);  // nobody may be asked
    EXPECT_FALSE(primary_active(1));
    Handle again = nullptr;
    MUST(gpu().cuDevicePrimaryCtxRetain(&again, 1));
    gpu().simcuda_reset_counts();
    EXPECT_EQ(left(1), 0);
    EXPECT_EQ(calls("cuEventQuery") + calls("cuEventSynchronize"), 0U);
    EXPECT_TRUE(array.ended());
  }
  while (primary_active(1)) MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
}

// It is no reason to leave the others out.
TEST_F(Releases, WhileAContextThatHasGoneIsCurrent) {
  const std::uint64_t consumer = value(stream());
  Owned array(memory(), CAI_STREAM_NONE);
  {
    const Primary gone(1);
    const With with(gone.context);
    MUST(gpu().cuDevicePrimaryCtxReset_v2(1));
    EXPECT_EQ(end_use({array}, consumer), CAI_OK);
    array.release();
    EXPECT_EQ(left(1), 1);  // in a context that is neither primary nor current
    const With again(context0);
    EXPECT_EQ(left(1), 0);
  }
  EXPECT_TRUE(array.ended());
}

TEST_F(Releases, OnAStream) {
  const std::uint64_t consumer = value(stream());
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  Owned of_event(memory(), CAI_STREAM_EVENT, value(event));
  Producer producer;
  Producer old(0, 24);
  Array of_producer(memory(), CAI_STREAM_NONE);
  Array of_old(memory(), CAI_STREAM_STREAM, value(stream()));
  of_producer.array.owner = producer.owner();
  of_old.array.owner = old.owner();
  {
    const Gate gate(consumer);
    for (const cai_array *array : {of_event.get(), &of_producer.array, &of_old.array}) {
      gpu().simcuda_reset_counts();
      cai_error error{};
      EXPECT_EQ(cai_array_release_on(array, consumer, &error), CAI_OK) << error.message;
      EXPECT_EQ(calls("cuEventRecord"), 1U);
      // As at the end of a use, the array's stream comes after it.
      EXPECT_EQ(calls("cuStreamWaitEvent"), array == &of_old.array ? 1U : 0U);
      EXPECT_EQ(calls("cuLaunchHostFunc"), 0U);
    }
    of_event.gone();
    producer.gone();
    old.gone();
    EXPECT_EQ(left(), 3);
    EXPECT_FALSE(of_event.ended() || producer.ended() || old.ended());
  }
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(of_event.ended() && producer.ended() && old.ended());
  MUST(gpu().cuEventDestroy_v2(event));
}

TEST_F(Releases, OnAStreamOfWhatHasNothingPending) {
  Array empty(0, CAI_STREAM_STREAM, value(stream()));
  empty.empty();
  char bytes[count];
  Array host(reinterpret_cast<std::uintptr_t>(bytes), CAI_STREAM_NONE);
  host.array.device_type = CAI_DEVICE_CPU;
  host.array.device_id = 0;
  const std::uint64_t consumer = value(stream());
  for (const Array *each : {&empty, &host}) {
    Owned array(each->array);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(cai_array_release_on(array, consumer, nullptr), CAI_OK);
    array.gone();
    EXPECT_TRUE(array.ended());
    EXPECT_EQ(all_calls(), 0U);
  }
}

// On failure the holder is still the caller's.
TEST_F(Releases, OnAStreamMayFail) {
  const std::uint64_t consumer = value(stream());
  Array borrowed(memory(), CAI_STREAM_NONE);
  cai_error error{};
  EXPECT_EQ(cai_array_release_on(&borrowed.array, consumer, &error), CAI_ERR_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("borrowed"), std::string::npos);
  Producer old(0, 24);
  Array of_old(memory(), CAI_STREAM_NONE);
  of_old.array.owner = old.owner();
  Owned array(memory(), CAI_STREAM_NONE);
  for (const cai_array *each : {array.get(), &of_old.array}) {
    for (const char *name : {"cuStreamGetCaptureInfo", "cuEventRecord"}) {
      MUST(gpu().simcuda_fail(name, 1, 999));
      EXPECT_EQ(cai_array_release_on(each, consumer, &error), CAI_ERR_CUDA) << name;
      EXPECT_EQ(left(1), 0);
      EXPECT_FALSE(array.ended() || old.ended());
    }
    EXPECT_EQ(cai_array_release_on(each, 0, &error), CAI_ERR_ARGUMENT);
  }
  EXPECT_EQ(old.holders(), 1);
}

// What may happen to memory once a use has ended, was reclaimed, or released, as the header says.
TEST_F(Releases, MemoryMayGoInAnyOrder) {
  const std::uint64_t own = value(stream());
  const std::uint64_t consumer = value(stream());
  const std::uint64_t unrelated = value(stream());
  const Address to[] = {memory(), memory(), memory(), memory(), memory(), memory()};
  struct Way {
    const char *name;
    std::function<Address()> make;
    std::function<void(Address)> go;
  };
  const std::vector<Way> ways = {
      {"freed on another stream", [&] { return pool_memory(own); },
       [&](Address data) { MUST(gpu().cuMemFreeAsync(data, handle(unrelated))); }},
      {"freed at once, of a pool", [&] { return pool_memory(own); },
       [](Address data) { MUST(gpu().cuMemFree_v2(data)); }},
      {"freed at once", [&] { return memory(); },
       [](Address data) { MUST(gpu().cuMemFree_v2(data)); }},
      {"used again on another stream", [&] { return memory(); },
       [&](Address data) { fill(data, 1, unrelated); }},
  };
  for (const Way &way : ways) {
    SCOPED_TRACE(way.name);
    // cuMemFree() of plain memory waits, so that nothing can go wrong there.
    const bool waits = std::string(way.name) == "freed at once";
    const Address bare = way.make();
    EXPECT_EQ(races([&] {
                copy(to[0], bare, consumer);
                way.go(bare);
              }),
              waits ? 0U : 1U);
    for (const std::uint32_t kind : {CAI_STREAM_NONE, CAI_STREAM_STREAM}) {
      for (const bool by_release_on : {false, true}) {
        const Address data = way.make();
        EXPECT_EQ(races([&] {
                    Owned array(data, kind, kind == CAI_STREAM_NONE ? 0 : own,
                                [&] { way.go(data); });
                    EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
                    copy(to[by_release_on ? 1 : 2], data, consumer);
                    if (by_release_on) {
                      EXPECT_EQ(cai_array_release_on(array, consumer, nullptr), CAI_OK);
                      array.gone();
                    } else {
                      EXPECT_EQ(end_use({array}, consumer), CAI_OK);
                      array.release();
                    }
                    while (left() > 0) std::this_thread::yield();
                  }),
                  0U);
      }
    }
  }
}

TEST_F(Releases, MemoryMayGoInTheOrderOfItsStream) {
  const std::uint64_t own = value(stream());
  const std::uint64_t other = value(stream());
  const std::uint64_t consumer = value(stream());
  const Address to = memory();
  // After the end of a use, in the order of the array's stream; in the release, too.
  const Address freed = pool_memory(own);
  EXPECT_EQ(races([&] {
              Array array(freed, CAI_STREAM_STREAM, own);
              EXPECT_EQ(begin_use({&array}, consumer), CAI_OK);
              copy(to, freed, consumer);
              EXPECT_EQ(end_use({&array}, consumer), CAI_OK);
              MUST(gpu().cuMemFreeAsync(freed, handle(own)));
            }),
            0U);
  const Address ordered = pool_memory(own);
  EXPECT_EQ(races([&] {
              Owned array(ordered, CAI_STREAM_STREAM, own,
                          [&] { MUST(gpu().cuMemFreeAsync(ordered, handle(own))); });
              array->owner->flags |= CAI_OWNER_STREAM_ORDERED;
              EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
              copy(to, ordered, consumer);
              EXPECT_EQ(end_use({array}, consumer), CAI_OK);
              array.release();
              EXPECT_TRUE(array.ended());
            }),
            0U);
  // After reclaiming, in the order of the stream that it was reclaimed for.
  const Address reclaimed = pool_memory(own);
  EXPECT_EQ(races([&] {
              const Owned array(reclaimed, CAI_STREAM_NONE);
              EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
              copy(to, reclaimed, consumer);
              EXPECT_EQ(end_use({array}, consumer), CAI_OK);
              EXPECT_EQ(cai_array_reclaim(array, other, CAI_ACCESS_WRITE, nullptr), CAI_OK);
              MUST(gpu().cuMemFreeAsync(reclaimed, handle(other)));
            }),
            0U);
}

// The same value of a default stream, in another context: this stream is not in order.
TEST_F(Releases, WaitForUsesOnADefaultStreamOfAnotherContext) {
  Owned array(memory(context1), CAI_STREAM_STREAM, 1);
  const Gate gate(1);
  EXPECT_EQ(end_use({array}, 1), CAI_OK);
  array.release();
  EXPECT_FALSE(array.ended());
}

// An end may run any code. What one end releases is drained, too.
TEST_F(Releases, OfWhatAnEndLetsGo) {
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
TEST_F(Releases, OfManyThatDrain) {
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
TEST_F(Releases, OfManyThatUseOtherArrays) {
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
TEST_F(Releases, EndWhileADrainWaitsForOthers) {
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
TEST_F(Releases, OfAnotherThreadKeepNoDrain) {
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

// Nor does it wait with another drain, for what that was called for.
TEST_F(Releases, ThatAnotherDrainWaitsForKeepNoDrain) {
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
TEST_F(Releases, AreAwaitedThoughAnotherThreadEndsSome) {
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
TEST_F(Releases, OfAnEndOfAnotherThreadAreAwaited) {
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
TEST_F(Releases, OfOthersDoNotRunWithinAnEnd) {
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
TEST_F(Releases, OfWhatIsLostByAnEnd) {
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
TEST_F(Releases, OfFreesOfAnotherThreadKeepNoDrain) {
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

// A look in passing that fails has lost nothing.
TEST_F(Releases, AfterALookThatFailed) {
  Owned array(memory(), CAI_STREAM_NONE);
  Array other(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t consumer = value(stream());
  Gate gate(consumer);
  EXPECT_EQ(end_use({array}, consumer), CAI_OK);
  array.release();
  EXPECT_EQ(end_use({&other}, consumer), CAI_OK);
  MUST(gpu().simcuda_fail("cuThreadExchangeStreamCaptureMode", 1, 999));
  EXPECT_EQ(end_use({&other}, consumer), CAI_ERR_CUDA);
  gate.open();
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(array.ended());
}

// Work in a context that the driver says is destroyed, or unusable, never ends: an array that
// waited for it ends, and the caller is told. Other errors leave the array waiting.
TEST_F(Releases, AfterAnEventThatFails) {
  struct Case {
    int status;
    bool is_gone;
  };
  constexpr Case cases[] = {{4, true},   {201, true}, {214, true}, {220, true},  {226, true},
                            {400, true}, {700, true}, {702, true}, {709, true},  {710, true},
                            {714, true}, {715, true}, {716, true}, {717, true},  {718, true},
                            {719, true}, {721, true}, {2, false},  {999, false}, {801, false}};
  for (const char *const name : {"cuEventQuery", "cuEventSynchronize"}) {
    for (const Case &each : cases) {
      SCOPED_TRACE(testing::Message() << name << " " << each.status);
      Handle primary = nullptr;  // which a failure may break for good
      MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
      Owned array(memory(primary), CAI_STREAM_NONE);
      EXPECT_EQ(end_use({array}, value(stream(non_blocking, primary))), CAI_OK);
      array.release();
      EXPECT_FALSE(array.ended());
      const bool waits = name == std::string_view("cuEventSynchronize");
      std::int64_t left_now = -1;
      cai_error error{};
      MUST(gpu().simcuda_fail(name, 1, each.status));
      EXPECT_EQ(cai_drain(waits, &left_now, &error), CAI_ERR_CUDA);
      EXPECT_EQ(error.native, each.status);
      EXPECT_NE(std::string_view(error.message).find(name), std::string_view::npos);
      EXPECT_EQ(array.ended(), each.is_gone);
      MUST(gpu().cuDevicePrimaryCtxReset_v2(1));
      MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
      EXPECT_EQ(left(1), 0);
      EXPECT_TRUE(array.ended());
      while (primary_active(1)) MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
    }
  }
}

// If no event can be recorded, only the waiting host knows when the work is complete.
TEST_F(Releases, AfterARecordThatFailed) {
  const std::uint64_t producer = value(stream());
  for (const char *const name : {"cuEventRecord", "cuStreamGetCaptureInfo"}) {
    Owned array(memory(), CAI_STREAM_STREAM, producer);
    Gate gate(producer);
    EXPECT_EQ(end_use({array}, producer), CAI_OK);
    MUST(gpu().simcuda_fail(name, 1, 999));
    array.release();
    MUST(gpu().simcuda_fail(name, 0, 0));
    EXPECT_FALSE(array.ended()) << name;
    EXPECT_EQ(left(0), 1) << name;
    gate.open();
    EXPECT_EQ(left(1), 0) << name;
    EXPECT_TRUE(array.ended()) << name;
  }
}

// A reset ends what no event covered.
TEST_F(Releases, AfterARecordThatFailedAndAReset) {
  Handle primary = nullptr;
  MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
  {
    const std::uint64_t on = value(stream(non_blocking, primary));
    Owned array(memory(primary), CAI_STREAM_STREAM, on);
    EXPECT_EQ(end_use({array}, on), CAI_OK);
    MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
    array.release();
    EXPECT_EQ(left(0), 1);
    EXPECT_FALSE(array.ended());
    MUST(gpu().cuDevicePrimaryCtxReset_v2(1));
    MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
    gpu().simcuda_reset_counts();
    EXPECT_EQ(left(0), 0);
    EXPECT_EQ(calls("cuCtxSynchronize"), 0U);
    EXPECT_TRUE(array.ended());
  }
  while (primary_active(1)) MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
}

// The host cannot wait for a context, and reports that; or learns that it was destroyed, with all
// that was in it.
TEST_F(Releases, AfterAContextThatCannotBeWaitedFor) {
  struct Case {
    int status;
    bool is_gone, knows_context;
  };
  for (const auto &[status, is_gone, knows_context] :
       {Case{999, false, true}, Case{709, true, true}, Case{999, false, false}}) {
    SCOPED_TRACE(testing::Message() << status << " " << knows_context);
    Handle primary = nullptr;  // which a failure may break for good
    MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
    {
      const std::uint64_t on = value(stream(non_blocking, primary));
      Owned array(memory(primary), CAI_STREAM_STREAM, on);
      EXPECT_EQ(end_use({array}, on), CAI_OK);
      const char *const fails = knows_context ? "cuEventRecord" : "cuStreamGetId";
      for (int nth = 1; nth <= 10; ++nth) MUST(gpu().simcuda_fail(fails, nth, 999));
      if (!knows_context) MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
      array.release();
      MUST(gpu().simcuda_fail(fails, 0, 0));
      MUST(gpu().simcuda_fail("cuEventRecord", 0, 0));
      const Primary first(0);  // of which the host waits first
      const With there(knows_context ? primary : first.context);
      MUST(gpu().simcuda_fail("cuCtxSynchronize", 1, status));
      cai_error error{};
      EXPECT_EQ(cai_drain(1, nullptr, &error), is_gone ? CAI_OK : CAI_ERR_CUDA) << error.message;
      EXPECT_EQ(array.ended(), is_gone);
      if (!is_gone) {
        EXPECT_EQ(error.native, status);
      }
      MUST(gpu().simcuda_fail("cuCtxSynchronize", 0, 0));
      if (!knows_context) {  // nor when the contexts cannot even be counted
        MUST(gpu().simcuda_fail("cuDeviceGetCount", 1, 999));
        EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_ERR_CUDA);
        EXPECT_FALSE(array.ended());
      }
      if (!is_gone) {
        EXPECT_EQ(left(1), 0);
      }
      EXPECT_TRUE(array.ended());
    }
    MUST(gpu().cuDevicePrimaryCtxReset_v2(1));
    while (primary_active(1)) MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
  }
}

// For an owner that has references, cai_owner_pending() asks the same.
TEST_F(Releases, OfAnOwnerWhoseContextCannotBeWaitedFor) {
  const std::uint64_t on = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, on);
  EXPECT_EQ(end_use({array}, on), CAI_OK);
  std::int64_t pending = -1;
  cai_error error{};
  MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
  EXPECT_EQ(cai_owner_pending(array->owner, 1, &pending, &error), CAI_OK) << error.message;
  EXPECT_EQ(pending, 1);
  MUST(gpu().simcuda_fail("cuCtxSynchronize", 1, 999));
  EXPECT_EQ(cai_owner_pending(array->owner, 2, &pending, &error), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, 999);
  EXPECT_EQ(cai_owner_pending(array->owner, 2, &pending, &error), CAI_OK) << error.message;
  EXPECT_EQ(pending, 0);
}

// An invalid stream: whatever was said to be on it, the host finds out by waiting for all.
TEST_F(Releases, OfAUseOnWhatIsNoPointer) {
  for (const std::uint64_t on : {std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    Owned array(memory(), CAI_STREAM_STREAM, on);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({array}, on), CAI_OK);
    EXPECT_EQ(end_use({array}, on), CAI_OK);
    EXPECT_EQ(all_calls(), 0U);
    std::int64_t pending = -1;
    EXPECT_EQ(cai_owner_pending(array->owner, 0, &pending, nullptr), CAI_OK);
    EXPECT_EQ(pending, 1);
    array.release();
    EXPECT_EQ(left(1), 0);
    EXPECT_TRUE(array.ended());
  }
}

// The memory is freed in the order of a stream, and used on another: the one does not come after
// the other.
TEST_F(Releases, OfAUseOnAnotherStreamThanTheMemorysIsFreedOn) {
  for (const bool imported : {false, true}) {
    const std::uint64_t own = value(stream());
    Owned array(memory(), CAI_STREAM_STREAM, own);
    if (imported) {
      array->owner->flags |= CAI_OWNER_IMPORTED;
      std::uint64_t storage[64];
      cai_interface dict{};
      dict.struct_size = sizeof dict;
      array->owner->freed_on = value(stream());
      MUST(cai_interface_write(array, 3, storage, sizeof storage, &dict, nullptr));
    } else {
      array->owner->flags |= CAI_OWNER_STREAM_ORDERED;
      array->owner->freed_on = value(stream());
      EXPECT_EQ(begin_use({array}, own), CAI_OK);
      EXPECT_EQ(end_use({array}, own), CAI_OK);
    }
    {
      const Gate gate(own);
      array.release();
      EXPECT_FALSE(array.ended()) << imported;
      EXPECT_EQ(left(), 1);
    }
    EXPECT_EQ(left(1), 0);
    EXPECT_TRUE(array.ended()) << imported;
  }
}

// A mask has work of its own, though the elements have none; and another thread's stream cannot be
// queried for a capture.
TEST_F(Releases, OnAStreamOfWhatHasParts) {
  const std::uint64_t consumer = value(stream());
  Array nothing(0, CAI_STREAM_STREAM, value(stream()));
  Array all(memory(), CAI_STREAM_STREAM, value(stream()));
  all.shape[0] = 1;
  Owned masked(nothing.empty().mask(all).array);
  {
    const Gate gate(consumer);
    EXPECT_EQ(cai_array_release_on(masked, consumer, nullptr), CAI_OK);
    masked.gone();
    EXPECT_EQ(left(), 1);
    EXPECT_FALSE(masked.ended());
  }
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(masked.ended());
  Array no_flags(0, CAI_STREAM_STREAM, value(stream()));
  Owned empty(nothing.mask(no_flags.empty()).array);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(cai_array_release_on(empty, consumer, nullptr), CAI_OK);
  empty.gone();
  EXPECT_TRUE(empty.ended());
  EXPECT_EQ(all_calls(), 0U);

  const Address data = memory();
  auto *theirs = static_cast<Owned *>(nullptr);
  std::thread([&] {
    const With with(context0);
    theirs = new Owned(data, CAI_STREAM_STREAM, 2);
  }).join();
  theirs->get()->owner->flags |= CAI_OWNER_STREAM_ORDERED;
  const std::unique_ptr<Owned> deleted(theirs);
  {
    const Gate gate(consumer);
    EXPECT_EQ(cai_array_release_on(*theirs, consumer, nullptr), CAI_OK);
    theirs->gone();
    EXPECT_FALSE(theirs->ended());
  }
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(theirs->ended());
}

// The driver served the parent, and nothing is pending in its child: what is released ends.
TEST_F(Releases, InAForkedChild) {
  const std::uint64_t on = value(stream());
  Owned used(memory(), CAI_STREAM_NONE);
  Owned in_use(memory(), CAI_STREAM_STREAM, value(stream()));
  Owned legacy(memory(), CAI_STREAM_STREAM, 1);
  EXPECT_EQ(end_use({used}, on), CAI_OK);
  cai_use use;
  const cai_array *const one = in_use;
  MUST(cai_use_begin(&use, &one, 1, on, nullptr, nullptr));
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    used.release();
    EXPECT_TRUE(used.ended());
    cai_use_abandon(&use);
    in_use.release();
    EXPECT_TRUE(in_use.ended());
    std::uint64_t storage[64];
    cai_interface dict{};
    dict.struct_size = sizeof dict;
    EXPECT_EQ(cai_interface_write(legacy, 3, storage, sizeof storage, &dict, nullptr), CAI_OK);
    EXPECT_EQ(dict.stream.integer, 1U);
    legacy.release();
    EXPECT_TRUE(legacy.ended());
    Array none(8, CAI_STREAM_NONE);
    none.array.device_id = 0;
    const Owned idle(none.array);
    DLManagedTensor *tensor = nullptr;
    EXPECT_EQ(cai_dlpack_write_legacy(idle, 1, &tensor, nullptr), CAI_OK);
    tensor->deleter(tensor);
    _exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cai_use_end(&use, nullptr), CAI_OK);
}

// The child has no part in what its parent's threads were ending; this end goes on there.
TEST_F(Releases, InAnEndThatForks) {
  const std::uint64_t on = value(stream());
  pid_t child = -1;
  std::fflush(nullptr);
  Owned array(memory(), CAI_STREAM_NONE, 0, [&] { child = ::fork(); });
  EXPECT_EQ(end_use({array}, on), CAI_OK);
  array.release();
  const cai_status drained = cai_drain(1, nullptr, nullptr);
  if (child == 0) _exit(cai_drain(1, nullptr, nullptr) == CAI_OK ? 0 : 1);  // nothing is left
  EXPECT_EQ(drained, CAI_OK);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The driver fails in all that a release asks of it: the memory goes when the host has waited in
// the stream's context, and no sooner.
TEST_F(Releases, OfWhichTheDriverSaysNothing) {
  struct Case {
    const char *fails;
    bool per_thread, gives_up;
  };
  for (const auto &[fails, per_thread, gives_up] :
       {Case{"cuCtxGetCurrent", true, false}, Case{"cuCtxGetCurrent", true, true},
        Case{"cuCtxGetId", true, false}, Case{"cuEventRecord", false, false},
        Case{"cuEventRecord", false, true}, Case{"cuStreamGetId", false, false},
        Case{"cuStreamGetId", false, true}}) {
    const With there(context1);
    const std::uint64_t on = per_thread ? 2 : value(stream(non_blocking, context1));
    Owned array(memory(context1), CAI_STREAM_STREAM, on);
    Gate gate(on);
    cai_use use;
    const cai_array *const one = array;
    MUST(cai_use_begin(&use, &one, 1, on, nullptr, nullptr));
    if (!gives_up) MUST(cai_use_end(&use, nullptr));
    {
      const With here(context0);
      for (int nth = 1; nth <= 100; ++nth) MUST(gpu().simcuda_fail(fails, nth, 999));
      if (gives_up) cai_use_abandon(&use);
      array.release();
      MUST(gpu().simcuda_fail(fails, 0, 0));
      EXPECT_EQ(left(0), 1) << fails;
    }
    EXPECT_EQ(left(0), 1) << fails;
    EXPECT_FALSE(array.ended()) << fails;
    gate.open();
    EXPECT_EQ(left(1), 0) << fails;
    EXPECT_TRUE(array.ended()) << fails;
  }
}

// A stream of which the driver does not say whether it is being captured may be.
TEST_F(Releases, AfterACaptureThatCouldNotBeAskedFor) {
  for (const std::uint64_t nth : {1, 2}) {
    const Handle on = stream();
    Owned array(memory(), CAI_STREAM_STREAM, value(on));
    array->owner->flags |= CAI_OWNER_STREAM_ORDERED;
    array->owner->freed_on = value(on);
    MUST(gpu().cuStreamBeginCapture_v2(on, 0));
    MUST(gpu().simcuda_fail("cuStreamGetCaptureInfo", nth, 999));
    array.release();
    MUST(gpu().simcuda_fail("cuStreamGetCaptureInfo", 0, 0));
    EXPECT_FALSE(array.ended()) << nth;
    Handle graph = nullptr;
    MUST(gpu().cuStreamEndCapture(on, &graph));
    MUST(gpu().cuGraphDestroy(graph));
    EXPECT_EQ(left(0), 0) << nth;
    EXPECT_TRUE(array.ended()) << nth;
  }
}

// Without memory to defer the end, the host waits; where it must not, the array stays forever.
TEST_F(Releases, WithoutMemory) {
  for (const std::uint32_t flags : {uint32_t{0}, uint32_t{CAI_OWNER_STREAM_ORDERED}}) {
    for (const bool captures : {false, true}) {
      const Handle on = stream();
      auto *const ended = new bool(false);
      Array borrowed(memory(), CAI_STREAM_STREAM, value(on));
      cai_array *array = nullptr;
      MUST(cai_array_own(
          &borrowed.array, [](void *flag) { *static_cast<bool *>(flag) = true; }, ended, &array,
          nullptr));
      // By which LeakSanitizer finds them, to the very end.
      static auto *const staying = new std::vector<const void *>;
      staying->insert(staying->end(), {ended, array});
      array->owner->flags |= flags;
      if (flags) array->owner->freed_on = value(on);
      EXPECT_EQ(end_use({array}, value(on)), CAI_OK);
      if (captures) MUST(gpu().cuStreamBeginCapture_v2(on, 0));
      with_failing_new(0, [&] { cai_array_release(array); });
      EXPECT_EQ(*ended, !captures) << flags;
      Handle graph = nullptr;
      if (captures) MUST(gpu().cuStreamEndCapture(on, &graph));
      if (captures) MUST(gpu().cuGraphDestroy(graph));
    }
  }
}

TEST_F(Releases, MayCallLibcaiAgain) {
  const std::uint64_t consumer = value(stream());
  Array other(memory(), CAI_STREAM_STREAM, value(stream()));
  Owned inner(memory(), CAI_STREAM_NONE);
  EXPECT_EQ(end_use({inner}, consumer), CAI_OK);
  bool ran = false;
  Owned outer(memory(), CAI_STREAM_NONE, 0, [&] {
    EXPECT_EQ(begin_use({&other}, consumer), CAI_OK);
    EXPECT_EQ(end_use({&other}, consumer), CAI_OK);
    inner.release();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_TRUE(inner.ended());
    ran = true;
  });
  EXPECT_EQ(end_use({outer}, consumer), CAI_OK);
  outer.release();
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(ran);
}

// A holder that is a view's holds the root.
TEST_F(Releases, OfAView) {
  const std::uint64_t consumer = value(stream());
  Owned root(memory(), CAI_STREAM_NONE);
  cai_array *view = nullptr;
  ASSERT_EQ(cai_array_slice(root, nullptr, 0, &view, nullptr), CAI_OK);
  root.release();
  EXPECT_FALSE(root.ended());
  {
    const Gate gate(consumer);
    EXPECT_EQ(cai_array_release_on(view, consumer, nullptr), CAI_OK);
    EXPECT_EQ(left(), 1);
    EXPECT_FALSE(root.ended());
  }
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(root.ended());
}

TEST_F(Releases, OnManyThreads) {
  constexpr int rounds = 50;
  std::atomic<int> ended{0};
  const Owned shared(memory(), CAI_STREAM_NONE);
  const Address data = memory();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, mine = value(stream())] {
      const With with(context0);
      for (int round = 0; round < rounds; ++round) {
        Array borrowed(data, CAI_STREAM_STREAM, mine);
        cai_array *array = nullptr;
        MUST(cai_array_own(
            &borrowed.array, [](void *n) { ++*static_cast<std::atomic<int> *>(n); }, &ended, &array,
            nullptr));
        EXPECT_EQ(begin_use({array, shared}, mine), CAI_OK);
        EXPECT_EQ(end_use({array, shared}, 1), CAI_OK);
        EXPECT_EQ(end_use({array, shared}, mine), CAI_OK);
        if (round % 3 == 0) {
          EXPECT_EQ(cai_array_release_on(array, mine, nullptr), CAI_OK);
        } else {
          cai_array_release(array);
        }
        if (round % 10 == 0) {
          EXPECT_EQ(cai_drain(round % 20 == 0, nullptr, nullptr), CAI_OK);
        }
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(left(1), 0);
  EXPECT_EQ(ended, 4 * rounds);
}

}  // namespace
}  // namespace test::releases_tests
