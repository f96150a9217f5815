// SPDX-License-Identifier: BSD-3-Clause
// When an array ends: not before the uses of its memory are complete, however the memory then goes,
// and without anybody waiting.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "cai/dlpack.h"
#include "releasing.hpp"

namespace test::releases_tests {
namespace {

class Releases : public Releasing {
 protected:
  Address pool_memory(std::uint64_t on) {
    Address made = 0;
    MUST(gpu().cuMemAllocAsync(&made, static_cast<std::size_t>(count), handle(on)));
    fill(made, 0, on);
    MUST(gpu().cuStreamSynchronize(handle(on)));
    return made;
  }
};

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

// The same of a stream that a dict has said.
TEST_F(Releases, AfterADictThatSaysWhatIsNoPointer) {
  const std::uint64_t on = std::uint64_t{1} << 62;
  Owned array(memory(), CAI_STREAM_STREAM, on);
  std::uint64_t storage[64];
  cai_interface said{};
  said.struct_size = sizeof said;
  MUST(cai_interface_write(array, 3, storage, sizeof storage, &said, nullptr));
  EXPECT_EQ(static_cast<std::uint64_t>(said.stream.integer), on);
  array.release();
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(array.ended());
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
