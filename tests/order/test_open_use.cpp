// SPDX-License-Identifier: BSD-3-Clause
// What a use holds from its beginning to its end, and the other ways for it to end.
#include <cstring>
#include <optional>
#include <thread>

#include "capturing.hpp"
#include "failing.hpp"
#include "hook.hpp"

namespace test::open_use_tests {
namespace {

constexpr std::uint32_t read_only = CAI_ACCESS_READ;
constexpr std::uint32_t write = CAI_ACCESS_WRITE;

class OpenUse : public Capturing {
 protected:
  cai_status begin(std::initializer_list<const cai_array *> arrays, std::uint64_t stream,
                   const cai_use_options *options = nullptr) {
    return cai_use_begin(&use, arrays.begin(), static_cast<std::int32_t>(arrays.size()), stream,
                         options, &error);
  }
  cai_status end() { return cai_use_end(&use, &error); }
  cai_status finish(bool wait) { return cai_use_finish(&use, wait, &error); }

  // What a graph held is released on a thread of the driver.
  static void drain_until_ended(const Owned &array) {
    while (!array.ended()) static_cast<void>(left_after_drain(1));
  }

  cai_use use{};
  cai_error error{};
};

cai_use_options each(const std::uint32_t *accesses) {
  return {sizeof(cai_use_options), CAI_ORDER_BOTH, CAI_ACCESS_DEFAULT, 0, accesses};
}

TEST_F(OpenUse, EndsOnce) {
  const std::uint64_t producer = value(stream()), consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  ASSERT_EQ(begin({array}, consumer), CAI_OK) << error.message;
  gpu().simcuda_reset_counts();
  EXPECT_EQ(end(), CAI_OK) << error.message;
  EXPECT_EQ(calls("cuStreamWaitEvent"), 1U);
  EXPECT_EQ(end(), CAI_OK);
  EXPECT_EQ(finish(true), CAI_OK);
  cai_use_abandon(&use);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 1U);
}

// Whatever was there before; and after a failure there is nothing to end.
TEST_F(OpenUse, AFailedBeginningLeavesNothing) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  std::memset(&use, 0xff, sizeof use);
  EXPECT_EQ(begin({array, nullptr}, value(stream())), CAI_ERR_ARGUMENT);
  EXPECT_EQ(end(), CAI_OK);
  std::memset(&use, 0xff, sizeof use);
  EXPECT_EQ(begin({array}, 0), CAI_ERR_ARGUMENT);
  EXPECT_EQ(end(), CAI_OK);
  MUST(gpu().simcuda_fail("cuStreamWaitEvent", 1, 999));
  EXPECT_EQ(begin({array}, value(stream())), CAI_ERR_CUDA);
  EXPECT_EQ(end(), CAI_OK);
}

TEST_F(OpenUse, IsMovedAsBytesAndToAnotherThread) {
  const std::uint64_t producer = value(stream()), consumer = value(stream());
  std::vector<std::unique_ptr<Owned>> arrays;
  for (int many : {1, 8, 9, 40}) {
    std::vector<const cai_array *> list;
    while (arrays.size() < static_cast<std::size_t>(many)) {
      arrays.push_back(std::make_unique<Owned>(memory(), CAI_STREAM_STREAM, producer));
    }
    for (const auto &array : arrays) list.push_back(*array);
    EXPECT_EQ(races([&] {
                ASSERT_EQ(cai_use_begin(&use, list.data(), many, consumer, nullptr, &error),
                          CAI_OK);
                fill(list.back()->data, 1, consumer);
                cai_use moved;
                std::memcpy(&moved, &use, sizeof use);
                std::memset(&use, 0xff, sizeof use);
                std::thread([&] {
                  EXPECT_EQ(cai_use_end(&moved, &error), CAI_OK) << error.message;
                }).join();
                fill(list.back()->data, 2, producer);
              }),
              0U);
  }
}

// The consumer's own 2 is of the thread that began, too.
TEST_F(OpenUse, OnStream2EndsWhereItBegan) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  ASSERT_EQ(begin({array}, 2), CAI_OK) << error.message;
  std::thread([&] {
    const With with(context0);
    EXPECT_EQ(end(), CAI_ERR_ORDER);
    EXPECT_EQ(finish(true), CAI_ERR_ORDER);
  }).join();
  EXPECT_EQ(end(), CAI_OK) << error.message;
}

// ---- An access for each array -------------------------------------------------------------------

// Two that read one input, and write an output of their own, do not wait for each other.
TEST_F(OpenUse, ReadersOfOneInputAreNotSerialised) {
  const Owned in(memory(), CAI_STREAM_NONE);
  const Owned out1(memory(), CAI_STREAM_NONE), out2(memory(), CAI_STREAM_NONE);
  const std::uint32_t accesses[] = {read_only, write};
  const cai_use_options options = each(accesses);
  const std::uint64_t a = value(stream()), b = value(stream());
  EXPECT_EQ(races([&] {
              ASSERT_EQ(begin({in, out1}, a, &options), CAI_OK);
              copy(out1->data, in->data, a);
              EXPECT_EQ(end(), CAI_OK);
              gpu().simcuda_reset_counts();
              ASSERT_EQ(begin({in, out2}, b, &options), CAI_OK);
              EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
              copy(out2->data, in->data, b);
              EXPECT_EQ(end(), CAI_OK);
              // Who writes the input waits for both.
              gpu().simcuda_reset_counts();
              const std::uint64_t c = value(stream());
              ASSERT_EQ(begin({in}, c), CAI_OK);
              EXPECT_EQ(calls("cuStreamWaitEvent"), 2U);
              fill(in->data, 1, c);
              EXPECT_EQ(end(), CAI_OK);
            }),
            0U);
}

TEST_F(OpenUse, BadAccessesAreNamed) {
  const Owned array(memory(), CAI_STREAM_NONE);
  Array marked(memory(), CAI_STREAM_NONE);
  marked.array.flags |= CAI_FLAG_READONLY;
  const std::uint32_t unknown[] = {read_only, 3};
  cai_use_options options = each(unknown);
  EXPECT_EQ(begin({array, array}, value(stream()), &options), CAI_ERR_ARGUMENT);
  EXPECT_EQ(error.index, 1);
  EXPECT_NE(std::string(error.message).find("3"), std::string::npos) << error.message;
  const std::uint32_t writes[] = {write, write};
  options = each(writes);
  EXPECT_EQ(begin({array, &marked.array}, value(stream()), &options), CAI_ERR_VALUE);
  EXPECT_EQ(error.index, 1);
}

// ---- Captures -----------------------------------------------------------------------------------

// Work queued before is not in the graph: the end waits for the capture's end, and keeps it.
TEST_F(OpenUse, ACaptureThatBeginsInBetweenPutsTheEndOff) {
  const std::uint64_t producer = value(stream()), consumer = value(stream());
  const Owned none(memory(), CAI_STREAM_NONE), of_stream(memory(), CAI_STREAM_STREAM, producer);
  const std::uint64_t later = value(stream());
  for (const cai_array *array :
       {static_cast<const cai_array *>(none), static_cast<const cai_array *>(of_stream)}) {
    EXPECT_EQ(races([&] {
                ASSERT_EQ(begin({array}, consumer), CAI_OK) << error.message;
                fill(array->data, 1, consumer);
                begin_capture(consumer, relaxed);
                EXPECT_EQ(end(), CAI_ERR_CAPTURE);
                EXPECT_EQ(error.index, -1);
                end_capture(consumer);
                EXPECT_EQ(end(), CAI_OK) << error.message;
                ASSERT_EQ(begin({array}, later), CAI_OK) << error.message;
                fill(array->data, 2, later);
                EXPECT_EQ(end(), CAI_OK);
              }),
              0U);
  }
}

// One that was there at the beginning, however little had to be asked then.
TEST_F(OpenUse, WithinACaptureEndsThere) {
  const std::uint64_t own = value(stream()), target = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, own);
  const Published published(array, target);
  MUST(gpu().cuCtxSynchronize());
  begin_capture(own, global);
  ASSERT_EQ(begin({array}, own), CAI_OK) << error.message;
  fill(array->data, 1, own);
  EXPECT_EQ(end(), CAI_OK) << error.message;
  end_capture(own);
}

// Whatever else the end has to do, or cannot: what has joined a capture is joined back.
TEST_F(OpenUse, AForkIsJoinedBackOnEveryPath) {
  const cai_use_options fork = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  enum Way { reclaims, published, refused, finished, abandoned, ways };
  for (int way = 0; way < ways; ++way) {
    SCOPED_TRACE(way);
    const std::uint64_t producer = value(stream()), other = value(stream());
    const std::uint64_t consumer = value(stream());
    Owned array(memory(), CAI_STREAM_STREAM, producer);
    Owned second(memory(), CAI_STREAM_STREAM, other);
    if (way == reclaims) array->owner->flags |= CAI_OWNER_RECLAIMS;
    std::optional<Published> view;
    if (way == published) {
      view.emplace(array, other);
      MUST(gpu().cuCtxSynchronize());
    }
    const cai_array *const used = view ? *view : array;
    const std::uint64_t captured = way == published ? other : producer;
    begin_capture(captured, relaxed);
    fill(array->data, 1, captured);
    ASSERT_EQ(begin({used, second}, consumer, &fork), CAI_OK) << error.message;
    EXPECT_TRUE(capturing(consumer));
    fill(array->data, 2, consumer);
    if (way == refused) begin_capture(other, relaxed);
    if (way == finished) {
      EXPECT_EQ(finish(false), CAI_OK) << error.message;
    } else if (way == abandoned) {
      cai_use_abandon(&use);
    } else {
      EXPECT_EQ(end(), way == refused ? CAI_ERR_CAPTURE : CAI_OK) << error.message;
    }
    fill(array->data, 3, captured);
    launch(captured);
    if (way == refused) {
      end_capture(other);
      EXPECT_EQ(end(), CAI_OK) << error.message;
    }
    view.reset();
    array.release();
    second.release();
    drain_until_ended(array);
    drain_until_ended(second);
  }
}

// The legacy stream cannot be in a capture: it is refused before any harm is done.
TEST_F(OpenUse, StreamOneJoinsNoCapture) {
  const cai_use_options fork = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  const std::uint64_t producer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  begin_capture(producer, relaxed);
  EXPECT_EQ(begin({array}, 1, &fork), CAI_ERR_CAPTURE);
  EXPECT_EQ(error.index, 0);
  end_capture(producer);
}

// Uses that conflict come after each other in a capture, too, though no producer is in it.
TEST_F(OpenUse, TwoStreamsOfOneCaptureAreInOrder) {
  const std::uint64_t producer = value(stream());
  const Owned none(memory(), CAI_STREAM_NONE), of_stream(memory(), CAI_STREAM_STREAM, producer);
  const Owned reclaims(memory(), CAI_STREAM_STREAM, producer);
  reclaims->owner->flags |= CAI_OWNER_RECLAIMS;
  const Address to = memory();
  for (const Owned *array : {&none, &of_stream, &reclaims}) {
    const std::uint64_t first = value(stream()), second = value(stream());
    EXPECT_EQ(races([&] {
                begin_capture(first, global);
                fork(first, second);
                ASSERT_EQ(begin({*array}, first), CAI_OK) << error.message;
                fill((*array)->data, 1, first);
                EXPECT_EQ(end(), CAI_OK);
                ASSERT_EQ(begin({*array, *array}, second), CAI_OK) << error.message;
                copy(to, (*array)->data, second);
                EXPECT_EQ(end(), CAI_OK);
                fork(second, first);
                launch(first);
              }),
              0U);
    EXPECT_EQ(read(to), 1);
  }
}

// The producer's own work there, too: what it publishes, what it reclaims, and what is released.
TEST_F(OpenUse, AProducersWorkInACaptureIsInOrder) {
  enum Way { published, published_before, reclaimed, released, abandoned, same_stream, ways };
  for (int way = 0; way < ways; ++way) {
    SCOPED_TRACE(way);
    const std::uint64_t first = value(stream()), second = value(stream()), third = value(stream());
    const bool none = way < same_stream;
    Owned array(memory(), none ? CAI_STREAM_NONE : CAI_STREAM_STREAM, none ? 0 : third);
    if (!none) array->owner->flags |= CAI_OWNER_RECLAIMS;
    const Address data = array->data;
    EXPECT_EQ(races([&] {
                std::optional<Published> before, after;
                if (way == published_before) before.emplace(array, third);
                begin_capture(first, relaxed);
                fork(first, second);
                fork(first, third);
                switch (way) {
                  case published:
                  case published_before:
                    fill(data, 1, second);
                    after.emplace(array, first, std::initializer_list<std::uint64_t>{second});
                    break;
                  case released:
                    cai_array_retain(array);
                    ASSERT_EQ(begin({array}, second), CAI_OK) << error.message;
                    fill(data, 1, second);
                    EXPECT_EQ(cai_array_release_on(array, second, &error), CAI_OK) << error.message;
                    break;
                  default:
                    ASSERT_EQ(begin({array}, second), CAI_OK) << error.message;
                    fill(data, 1, second);
                    way == abandoned ? cai_use_abandon(&use) : static_cast<void>(end());
                }
                if (way == same_stream) {
                  const cai_array *const it = array;
                  std::uint64_t on = 0;
                  EXPECT_EQ(cai_arrays_same_stream(&it, 1, &on, &error), CAI_OK) << error.message;
                  EXPECT_EQ(on, third);
                } else if (way == reclaimed) {
                  EXPECT_EQ(cai_array_reclaim(array, third, CAI_ACCESS_WRITE, &error), CAI_OK)
                      << error.message;
                } else {
                  const cai_array *const it =
                      before ? *before : static_cast<const cai_array *>(array);
                  ASSERT_EQ(begin({it}, third), CAI_OK) << error.message;
                }
                fill(data, 2, third);
                if (way != same_stream && way != reclaimed) {
                  EXPECT_EQ(end(), CAI_OK) << error.message;
                }
                fork(second, first);
                fork(third, first);
                launch(first);
              }),
              0U);
    array.release();
    drain_until_ended(array);
  }
}

// The array's own stream, if it is in that capture, waits for what is released, as at an end.
TEST_F(OpenUse, TheArraysStreamWaitsInACaptureForWhatIsLetGoOf) {
  const std::uint64_t own = value(stream()), other = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, own);
  EXPECT_EQ(races([&] {
              begin_capture(own, relaxed);
              fork(own, other);
              cai_array_retain(array);
              ASSERT_EQ(begin({array}, other), CAI_OK) << error.message;
              fill(array->data, 1, other);
              EXPECT_EQ(cai_array_release_on(array, other, &error), CAI_OK) << error.message;
              fill(array->data, 2, own);
              fork(other, own);
              launch(own);
            }),
            0U);
  array.release();
  drain_until_ended(array);
}

// What earlier captures have left with the owner is forgotten eventually, and the newest is not.
TEST_F(OpenUse, ManyCapturesOfOneArray) {
  const Owned array(memory(), CAI_STREAM_NONE);
  const Address to = memory();
  for (int round = 0; round < 80; ++round) {
    const std::uint64_t first = value(stream()), second = value(stream());
    EXPECT_EQ(races([&] {
                begin_capture(first, global);
                fork(first, second);
                ASSERT_EQ(begin({array}, first), CAI_OK) << error.message;
                fill(array->data, 1, first);
                EXPECT_EQ(end(), CAI_OK);
                ASSERT_EQ(begin({array}, second), CAI_OK) << error.message;
                copy(to, array->data, second);
                EXPECT_EQ(end(), CAI_OK);
                fork(second, first);
                launch(first);
              }),
              0U);
  }
}

// A blocking stream that joins a capture closes stream 1, which so is asked before.
TEST_F(OpenUse, AForkWithStreamOnePendingIsRefused) {
  const cai_use_options options = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK | CAI_USE_EXTERNAL);
  const std::uint64_t producer = value(stream()), consumer = value(stream(blocking));
  const Owned array(memory(), CAI_STREAM_STREAM, producer), legacy(memory(), CAI_STREAM_STREAM, 1);
  {
    const Gate gate(1);
    begin_capture(producer, relaxed);
    EXPECT_EQ(begin({array, legacy}, consumer, &options), CAI_ERR_CAPTURE);
    EXPECT_EQ(error.index, 1);
    EXPECT_FALSE(capturing(consumer));
  }
  end_capture(producer);
}

// Also where the beginning fails after that, or was all that was asked for.
TEST_F(OpenUse, AForkOfAFailedBeginningIsJoinedBack) {
  cai_use_options options = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  for (const char *name : {"cuEventDestroy", "cuThreadExchangeStreamCaptureMode", ""}) {
    const std::uint64_t producer = value(stream()), consumer = value(stream());
    const Owned array(memory(), CAI_STREAM_STREAM, producer);
    begin_capture(producer, relaxed);
    fill(array->data, 1, producer);
    options.order = *name ? CAI_ORDER_BOTH : CAI_ORDER_BEGIN;
    if (*name) MUST(gpu().simcuda_fail(name, 1, 999));
    const cai_status status = begin({array}, consumer, &options);
    MUST(gpu().simcuda_fail("cuEventDestroy", 0, 0));
    MUST(gpu().simcuda_fail("cuThreadExchangeStreamCaptureMode", 0, 0));
    if (status == CAI_OK) {
      fill(array->data, 2, consumer);
      EXPECT_EQ(end(), CAI_OK);
    }
    end_capture(producer);
  }
}

// ---- Who has to know of a use -------------------------------------------------------------------

// Nobody keeps the use of a borrowed array: stream 1 itself comes after it, and the next stream.
TEST_F(OpenUse, OfABorrowedArrayOnStreamOne) {
  Array array(memory(), CAI_STREAM_STREAM, 1);
  const Address to = memory();
  for (const std::uint64_t first : {value(stream(blocking)), std::uint64_t{2}}) {
    const std::uint64_t second = value(stream(blocking));
    EXPECT_EQ(races([&] {
                ASSERT_EQ(begin({&array.array}, first), CAI_OK);
                fill(array.array.data, 1, first);
                EXPECT_EQ(end(), CAI_OK);
                ASSERT_EQ(begin({&array.array}, second), CAI_OK);
                copy(to, array.array.data, second);
                EXPECT_EQ(end(), CAI_OK);
              }),
              0U);
  }
}

// An array that came with None is used on the others' stream: later users are told, and so is the
// release.
TEST_F(OpenUse, OfNoneOnTheOthersOwnStream) {
  const std::uint64_t producer = value(stream()), later = value(stream());
  Owned none(memory(), CAI_STREAM_NONE);
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  const cai_array *const both[] = {none, array};
  EXPECT_EQ(races([&] {
              for (int twice = 0; twice < 2; ++twice) {
                std::uint64_t out = 0;
                ASSERT_EQ(cai_arrays_same_stream(both, 2, &out, &error), CAI_OK) << error.message;
                ASSERT_EQ(out, producer);
                fill(none->data, 1, producer);
              }
              ASSERT_EQ(begin({none}, later), CAI_OK);
              fill(none->data, 2, later);
              EXPECT_EQ(end(), CAI_OK);
            }),
            0U);
  const Gate gate(producer);
  none.release();
  EXPECT_FALSE(none.ended());
}

// No end of the work there is known, so a call that asks what is pending does not end the order.
TEST_F(OpenUse, OfTheirStreamThatTheOwnerAsksAbout) {
  const std::uint64_t own = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, own);
  cai_owner *const owner = array->owner;
  const cai_array *const one = array;
  std::uint64_t out = 0;
  ASSERT_EQ(cai_arrays_same_stream(&one, 1, &out, &error), CAI_OK);
  for (int twice = 0; twice < 2; ++twice) {
    fill(array->data, 1, own);
    std::int64_t left = -1;
    ASSERT_EQ(cai_owner_pending(owner, 2, &left, &error), CAI_OK) << error.message;
    EXPECT_EQ(left, 0);
  }
  Gate gate(own);
  array.release();
  EXPECT_FALSE(array.ended());
  gate.open();
}

// If the call is refused, nothing of the array that came with None was used on the others' stream.
TEST_F(OpenUse, OfNoneOnTheOthersCapturedStream) {
  const std::uint64_t producer = value(stream()), earlier = value(stream()),
                      later = value(stream());
  const Owned none(memory(), CAI_STREAM_NONE);
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  const cai_array *const both[] = {array, none};
  ASSERT_EQ(begin({none}, earlier), CAI_OK);
  Gate gate(earlier);
  ASSERT_EQ(end(), CAI_OK);
  MUST(gpu().cuStreamBeginCapture_v2(handle(producer), 2));
  std::uint64_t out = 0;
  EXPECT_EQ(cai_arrays_same_stream(both, 2, &out, &error), CAI_ERR_CAPTURE);
  EXPECT_EQ(begin({none}, later), CAI_OK) << error.message;
  EXPECT_EQ(end(), CAI_OK);
  Handle graph = nullptr;
  MUST(gpu().cuStreamEndCapture(handle(producer), &graph));
  MUST(gpu().cuGraphDestroy(graph));
  gate.open();
}

// An import's owner cannot be told of a future stream.
TEST_F(OpenUse, OfAnImportedNoneOnTheOthersOwnStream) {
  const Owned none(memory(), CAI_STREAM_NONE), array(memory(), CAI_STREAM_STREAM, value(stream()));
  none->owner->flags |= CAI_OWNER_IMPORTED;
  const cai_array *const both[] = {array, none};
  std::uint64_t out = 0;
  EXPECT_EQ(cai_arrays_same_stream(both, 2, &out, &error), CAI_ERR_ORDER);
  EXPECT_EQ(error.index, 1);
}

// A used_on that does more than libcai's is no reason to forget what is in order with the stream.
TEST_F(OpenUse, OfAnOwnerWithItsOwnUsedOn) {
  const std::uint64_t own = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, own);
  array->owner->used_on = [](cai_owner *self, std::uint64_t on, std::uint32_t how,
                             cai_error *problem) {
    return cai_owner_used_on(self, on, how, problem);
  };
  ASSERT_EQ(begin({array}, own), CAI_OK);
  Gate gate(own);
  EXPECT_EQ(end(), CAI_OK);
  array.release();
  EXPECT_FALSE(array.ended());
  gate.open();
  EXPECT_EQ(left_after_drain(1), 0);
  EXPECT_TRUE(array.ended());
}

// Without memory for one owner's use, the others keep theirs; and the end can be tried again.
TEST_F(OpenUse, AnEndWithoutMemoryGoesOn) {
  const auto kept = [](const Owned &array) {
    std::int64_t left = 0;
    EXPECT_EQ(cai_owner_pending(array->owner, 0, &left, nullptr), CAI_OK);
    return left;
  };
  for (long nth = 0;; ++nth) {
    const std::uint64_t consumer = value(stream());
    const Owned first(memory(), CAI_STREAM_NONE), second(memory(), CAI_STREAM_NONE);
    ASSERT_EQ(begin({first, second}, consumer), CAI_OK);
    const Gate gate(consumer);
    cai_status status = CAI_OK;
    const long made = with_failing_new(nth, [&] { status = end(); });
    if (made <= nth) {
      EXPECT_EQ(status, CAI_OK);
      EXPECT_GT(nth, 1);
      break;
    }
    if (status != CAI_OK) {
      EXPECT_EQ(status, CAI_ERR_MEMORY) << error.message;
      EXPECT_GE(kept(first) + kept(second), 1) << nth;
      EXPECT_EQ(end(), CAI_OK) << error.message;
    }
    EXPECT_EQ(kept(first), 1);
    EXPECT_EQ(kept(second), 1);
  }
}

// A failed call has not named a thread.
TEST_F(OpenUse, AFailedPublishIsOfNoThread) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  cai_array *view = nullptr;
  MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
  EXPECT_EQ(cai_array_publish(array, nullptr, 0, 2, &view, &error), CAI_ERR_CUDA);
  std::thread([&] {
    const With with(context0);
    const Published published(array, 2);
  }).join();
}

// ---- Memory that is freed on a stream -----------------------------------------------------------

// Not while that is being captured: not by the last release, nor by an end that was deferred.
TEST_F(OpenUse, MemoryIsNotFreedIntoACapture) {
  for (const std::uint64_t own : {value(stream()), std::uint64_t{2}}) {
    for (const bool is_used : {false, true}) {
      Owned array(memory(), CAI_STREAM_STREAM, own);
      array->owner->flags |= CAI_OWNER_STREAM_ORDERED;
      if (is_used) {
        ASSERT_EQ(begin({array}, value(stream())), CAI_OK);
        EXPECT_EQ(end(), CAI_OK);
      }
      begin_capture(own, relaxed);
      array.release();
      static_cast<void>(left_after_drain(1));
      EXPECT_FALSE(array.ended());
      end_capture(own);
      EXPECT_EQ(left_after_drain(1), 0);
      EXPECT_TRUE(array.ended());
    }
  }
}

// A stream may go once its arrays have; what was pending there stays so until the host has waited.
TEST_F(OpenUse, AMarkedStreamThatHasGoneIsNotIdle) {
  Handle gone = nullptr;
  MUST(gpu().cuStreamCreate(&gone, non_blocking));
  Owned array(memory(), CAI_STREAM_STREAM, value(gone));
  ASSERT_EQ(begin({array}, value(gone)), CAI_OK);
  fill(array->data, 1, value(gone));
  EXPECT_EQ(end(), CAI_OK);
  begin_capture(value(gone), relaxed);
  array.release();
  end_capture(value(gone));
  MUST(gpu().cuStreamDestroy_v2(gone));
  static_cast<void>(left_after_drain());
  EXPECT_FALSE(array.ended());
  EXPECT_EQ(left_after_drain(1), 0);
  EXPECT_TRUE(array.ended());
}

// A device that has failed is no reason to keep the arrays of the others.
TEST_F(OpenUse, ALostDeviceDoesNotStopTheDrain) {
  const Primary lost(1);
  Owned array(memory(), CAI_STREAM_NONE);
  ASSERT_EQ(begin({array}, value(stream())), CAI_OK);
  EXPECT_EQ(end(), CAI_OK);
  array.release();
  MUST(gpu().simcuda_fail("cuDevicePrimaryCtxRetain", 1, 999));
  EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_ERR_CUDA);
  EXPECT_TRUE(array.ended());
  EXPECT_EQ(capture_mode(), 0);
  EXPECT_EQ(current(), context0);
}

// Nor to stop after those that are complete first.
TEST_F(OpenUse, ALostDeviceDoesNotStopTheDrainBetweenTwo) {
  const Primary lost(1);
  Owned first(memory(), CAI_STREAM_NONE), second(memory(), CAI_STREAM_NONE);
  const std::uint64_t slow = value(stream());
  Gate gate(slow);
  for (Owned *array : {&first, &second}) {
    ASSERT_EQ(begin({*array}, array == &first ? value(stream()) : slow), CAI_OK);
    EXPECT_EQ(end(), CAI_OK);
    array->release();
  }
  std::thread opening([&] {
    while (!first.ended()) std::this_thread::yield();
    gate.open();
  });
  MUST(gpu().simcuda_fail("cuDevicePrimaryCtxRetain", 1, 999));
  EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_ERR_CUDA);
  EXPECT_TRUE(second.ended());
  opening.join();
}

// ---- Without an end -----------------------------------------------------------------------------

TEST_F(OpenUse, FinishedKeepsNothing) {
  const std::uint64_t consumer = value(stream());
  Owned array(memory(), CAI_STREAM_NONE);
  ASSERT_EQ(begin({array}, consumer), CAI_OK);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(finish(false), CAI_OK);
  EXPECT_EQ(all_calls(), 0U);
  array.release();
  EXPECT_TRUE(array.ended());
}

TEST_F(OpenUse, FinishedByTheHost) {
  const std::uint64_t consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_NONE);
  EXPECT_EQ(races([&] {
              ASSERT_EQ(begin({array}, consumer), CAI_OK);
              fill(array->data, 1, consumer);
              EXPECT_EQ(finish(true), CAI_OK) << error.message;
              fill(array->data, 2, value(stream()));
            }),
            0U);
  ASSERT_EQ(begin({array}, consumer), CAI_OK);
  begin_capture(consumer, relaxed);
  EXPECT_EQ(finish(true), CAI_ERR_CAPTURE);
  end_capture(consumer);
  EXPECT_EQ(finish(true), CAI_OK) << error.message;
}

// With no array to put in order at the end, nothing is kept; but what has joined a capture is
// joined back.
TEST_F(OpenUse, AbandonedWithNothingToEnd) {
  const cai_use_options begins = order(CAI_ORDER_BEGIN);
  cai_use_options forks = begins;
  forks.flags = CAI_USE_FORK;
  const std::uint64_t producer = value(stream()), consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  ASSERT_EQ(begin({array}, consumer, &begins), CAI_OK) << error.message;
  gpu().simcuda_reset_counts();
  cai_use_abandon(&use);
  EXPECT_EQ(all_calls(), 0U);
  MUST(gpu().cuCtxSynchronize());
  begin_capture(producer, relaxed);
  ASSERT_EQ(begin({array}, consumer, &forks), CAI_OK) << error.message;
  EXPECT_TRUE(capturing(consumer));
  cai_use_abandon(&use);
  end_capture(producer);
  EXPECT_FALSE(capturing(consumer));
}

// The capture that the stream had joined has ended, and another one has begun there: that one has
// nothing to do with it.
TEST_F(OpenUse, FinishedInAnotherCaptureThanThatOfTheFork) {
  const cai_use_options forks = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  const std::uint64_t producer = value(stream()), consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  begin_capture(producer, relaxed);
  ASSERT_EQ(begin({array}, consumer, &forks), CAI_OK) << error.message;
  fork(consumer, producer);
  end_capture(producer);
  begin_capture(consumer, relaxed);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(finish(false), CAI_OK) << error.message;
  EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
  end_capture(consumer);
}

// Two threads have a stream 2 each: one thread must not join back what the other has taken into a
// capture; nor a stream of another context.
TEST_F(OpenUse, AForkOfAStream2IsThatThreadsOwn) {
  const cai_use_options forks = access(CAI_ACCESS_READ, CAI_USE_FORK);
  const std::uint64_t producer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  const Owned none(memory(), CAI_STREAM_NONE);
  begin_capture(producer, relaxed);
  ASSERT_EQ(begin({array}, 2, &forks), CAI_OK) << error.message;
  std::thread([&] {
    const With with(context0);
    fork(producer, 2);
    cai_use theirs;
    const cai_array *const used = none;
    EXPECT_EQ(cai_use_begin(&theirs, &used, 1, 2, nullptr, nullptr), CAI_OK);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(cai_use_end(&theirs, nullptr), CAI_OK);
    EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);  // it is not joined back
    fork(2, producer);
  }).join();
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  MUST(gpu().cuEventRecord(event, handle(producer)));
  {
    const With with(context1);
    MUST(gpu().cuStreamWaitEvent(handle(2), event, 0));
    cai_use theirs;
    const cai_array *const used = none;
    EXPECT_EQ(cai_use_begin(&theirs, &used, 1, 2, nullptr, nullptr), CAI_OK);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(cai_use_end(&theirs, nullptr), CAI_OK);
    EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
    fork(2, producer);
  }
  EXPECT_EQ(end(), CAI_OK) << error.message;
  end_capture(producer);
  MUST(gpu().cuEventDestroy_v2(event));
}

// A stream joins a capture, and the graph waits for what others have pending outside of it: of
// stream 1 only if that is in order with the one that joins.
TEST_F(OpenUse, AForkWithOthersPendingOutside) {
  const cai_use_options options = access(CAI_ACCESS_READ, CAI_USE_FORK | CAI_USE_EXTERNAL);
  for (const bool of_legacy : {false, true}) {
    const std::uint64_t producer = value(stream()), consumer = value(stream());
    const std::uint64_t other = of_legacy ? 1 : value(stream());
    const Owned array(memory(), CAI_STREAM_STREAM, producer);
    const Owned second(memory(), CAI_STREAM_STREAM, other);
    const Gate gate(other);
    begin_capture(producer, relaxed);
    ASSERT_EQ(begin({array, second}, consumer, &options), CAI_OK) << error.message;
    EXPECT_TRUE(capturing(consumer));
    EXPECT_EQ(calls("cuUserObjectCreate"), of_legacy ? 2U : 1U);
    EXPECT_EQ(end(), CAI_OK) << error.message;
    end_capture(producer);
  }
}

TEST_F(OpenUse, AbandonedIsKept) {
  const std::uint64_t consumer = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  ASSERT_EQ(begin({array}, consumer), CAI_OK);
  Gate gate(consumer);
  fill(array->data, 1, consumer);
  cai_use_abandon(&use);
  gpu().simcuda_reset_counts();
  ASSERT_EQ(begin({array}, value(stream())), CAI_OK);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 2U);  // for the array's stream, and for the use
  EXPECT_EQ(finish(false), CAI_OK);
  array.release();
  EXPECT_FALSE(array.ended());
  gate.open();
  EXPECT_EQ(left_after_drain(1), 0);
  EXPECT_TRUE(array.ended());
}

// An owner that keeps no uses is held until they are complete; a borrowed array cannot be.
TEST_F(OpenUse, AbandonedHoldsWhoKeepsNothing) {
  const std::uint64_t consumer = value(stream());
  Producer producer(0, 24);
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  array.array.owner = producer.owner();
  Array borrowed(memory(), CAI_STREAM_STREAM, value(stream()));
  ASSERT_EQ(begin({&array.array, &borrowed.array}, consumer), CAI_OK);
  Gate gate(consumer);
  cai_use_abandon(&use);
  producer.release();
  EXPECT_FALSE(producer.ended());
  EXPECT_EQ(left_after_drain(), 1);
  gate.open();
  EXPECT_EQ(left_after_drain(1), 0);
  EXPECT_TRUE(producer.ended());
}

// The producer works on the stream of its array, and asks no owner.
TEST_F(OpenUse, AbandonedIsOverOnceDrained) {
  const std::uint64_t own = value(stream()), consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, own);
  EXPECT_EQ(races([&] {
              ASSERT_EQ(begin({array}, consumer), CAI_OK);
              fill(array->data, 1, consumer);
              cai_use_abandon(&use);
              EXPECT_EQ(left_after_drain(1), 0);
              fill(array->data, 2, own);
            }),
            0U);
}

// Work queued before a capture is not in the graph, which may run earlier; and only waiting for
// everything shows when it is complete.
TEST_F(OpenUse, AbandonedInALateCaptureStaysUntilDrained) {
  const std::uint64_t consumer = value(stream());
  Owned array(memory(), CAI_STREAM_NONE);
  ASSERT_EQ(begin({array}, consumer), CAI_OK);
  fill(array->data, 1, consumer);
  begin_capture(consumer, relaxed);
  fill(array->data, 2, consumer);
  cai_use_abandon(&use);
  array.release();
  end_capture(consumer);
  EXPECT_FALSE(array.ended());
  static_cast<void>(left_after_drain());
  EXPECT_FALSE(array.ended());
  drain_until_ended(array);
}

// No event can cover a destroyed stream.
TEST_F(OpenUse, AbandonedOnAStreamThatHasGoneStaysUntilDrained) {
  use_stale_streams();
  Handle gone = nullptr;
  MUST(gpu().cuStreamCreate(&gone, non_blocking));
  Owned array(memory(), CAI_STREAM_NONE);
  ASSERT_EQ(begin({array}, value(gone)), CAI_OK);
  fill(array->data, 1, value(gone));
  MUST(gpu().cuStreamDestroy_v2(gone));
  EXPECT_NE(end(), CAI_OK);
  cai_use_abandon(&use);
  array.release();
  EXPECT_EQ(left_after_drain(), 1);
  EXPECT_FALSE(array.ended());
  EXPECT_EQ(left_after_drain(1), 0);
  EXPECT_TRUE(array.ended());
}

// The call returns nothing, so that the hook has to receive what the program cannot see.
TEST_F(OpenUse, AForkThatCannotBeJoinedBackIsReported) {
  constexpr std::int32_t fails = 999, unjoined = 904;
  const cai_use_options forks = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  for (const char *const function :
       {"", "cuEventRecord", "cuStreamWaitEvent", "cuStreamGetCaptureInfo"}) {
    SCOPED_TRACE(function);
    const bool is_joined = !*function;
    const Failures failures;
    const Handle taking = stream();
    const std::uint64_t consumer = value(stream());
    Owned array(memory(), CAI_STREAM_STREAM, value(taking));
    begin_capture(value(taking), relaxed);
    ASSERT_EQ(begin({array}, consumer, &forks), CAI_OK) << error.message;
    fill(array->data, 1, consumer);
    if (!is_joined) MUST(gpu().simcuda_fail(function, 1, fails));
    cai_use_abandon(&use);
    ASSERT_EQ(failures.messages.size(), is_joined ? 0U : 1U);
    if (!is_joined) {
      EXPECT_NE(failures.messages[0].find("cannot be joined back"), std::string::npos);
    }
    Handle graph = nullptr;
    EXPECT_EQ(gpu().cuStreamEndCapture(taking, &graph), is_joined ? 0 : unjoined);
    if (graph) MUST(gpu().cuGraphDestroy(graph));
    array.release();
    drain_until_ended(array);
  }
}

// The stream stays one on which work may be pending.
TEST_F(OpenUse, AnEventThatIsNotPublishedCoversNothing) {
  const std::uint64_t own = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, own);
  ASSERT_EQ(begin({array}, own), CAI_OK) << error.message;
  Gate gate(own);
  ASSERT_EQ(end(), CAI_OK) << error.message;
  MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
  cai_array *view = nullptr;
  EXPECT_EQ(cai_array_publish_event(array, own, &view, &error), CAI_ERR_CUDA);
  array.release();
  static_cast<void>(left_after_drain());
  EXPECT_FALSE(array.ended());
  gate.open();
  drain_until_ended(array);
}

// Whether the host may wait depends on what is captured: it has not waited if the driver does not
// say that. What does not depend on it ends all the same.
TEST_F(OpenUse, ADrainThatHasNotWaitedFails) {
  const std::uint64_t consumer = value(stream());
  Owned other(memory(), CAI_STREAM_NONE);
  Owned array(memory(), CAI_STREAM_NONE);
  ASSERT_EQ(begin({array}, consumer), CAI_OK);
  fill(array->data, 1, consumer);
  begin_capture(consumer, relaxed);
  cai_use_abandon(&use);
  end_capture(consumer);
  array.release();
  const std::uint64_t another = value(stream());
  ASSERT_EQ(begin({other}, another), CAI_OK) << error.message;
  fill(other->data, 1, another);
  ASSERT_EQ(end(), CAI_OK) << error.message;
  other.release();
  EXPECT_FALSE(other.ended());
  MUST(gpu().simcuda_fail("cuStreamGetCaptureInfo", 1, 999));
  EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, 999);
  EXPECT_FALSE(array.ended());
  EXPECT_TRUE(other.ended());
  drain_until_ended(array);
}

}  // namespace
}  // namespace test::open_use_tests
