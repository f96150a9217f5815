// SPDX-License-Identifier: BSD-3-Clause
// Graph capture: refused before anything has happened, and never harmed.
#include <chrono>
#include <optional>
#include <thread>

#include "cai/dlpack.h"
#include "capturing.hpp"

namespace test::capture_tests {
namespace {

class Capture : public Capturing {
 protected:
  // `others` are the arrays that an end still orders.
  static void expect_refused(const std::vector<Array *> &arrays, std::uint64_t consumer,
                             std::int32_t index, std::uint64_t others = 0) {
    const cai_use_options host = order(CAI_ORDER_HOST);
    for (const cai_use_options *options : {static_cast<const cai_use_options *>(nullptr), &host}) {
      const auto check = [&](cai_status status, const cai_error &error, std::uint64_t ordered) {
        EXPECT_EQ(status, CAI_ERR_CAPTURE);
        EXPECT_EQ(error.index, index) << error.message;
        EXPECT_NE(std::string(error.message).find("captur"), std::string::npos) << error.message;
        EXPECT_EQ(calls("cuEventRecord"), ordered);
        EXPECT_EQ(calls("cuStreamWaitEvent"), ordered);
        EXPECT_EQ(calls("cuStreamSynchronize") + calls("cuEventSynchronize"), 0U);
      };
      cai_error error{};
      gpu().simcuda_reset_counts();
      check(begin_use(arrays, consumer, &error, options), error, 0);
      if (options && index >= 0) continue;  // at the end the host waits for the consumer alone
      error = {};
      gpu().simcuda_reset_counts();
      check(end_use(arrays, consumer, &error, options), error, others);
    }
  }
};

TEST_F(Capture, ProducerIsCapturing) {
  for (const int mode : {global, thread_local_mode, relaxed}) {
    const std::uint64_t free_one = value(stream());
    const std::uint64_t producer = value(stream());
    Array first(memory(), CAI_STREAM_STREAM, free_one);
    Array second(memory(), CAI_STREAM_STREAM, producer);
    const std::uint64_t consumer = value(stream());
    begin_capture(producer, mode);
    expect_refused({&first, &second}, consumer, 1, 1);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(cai_array_sync_host(&second.array, nullptr), CAI_ERR_CAPTURE);
    EXPECT_EQ(calls("cuStreamSynchronize"), 0U);
    end_capture(producer);
  }
}

// Work pending outside cannot be waited for in a capture; completed work need not be.
TEST_F(Capture, ConsumerIsCapturing) {
  for (const int mode : {global, thread_local_mode, relaxed}) {
    const std::uint64_t producer = value(stream());
    Handle event = nullptr;
    MUST(gpu().cuEventCreate(&event, 2));
    Array array(memory(), CAI_STREAM_STREAM, producer);
    Array legacy(memory(), CAI_STREAM_STREAM, 1);
    Array of_event(memory(), CAI_STREAM_EVENT, value(event));
    const std::uint64_t consumer = value(stream());
    for (Array *each : {&array, &legacy, &of_event}) {
      const std::uint64_t busy = each == &legacy ? 1 : producer;
      begin_capture(consumer, mode);
      {
        const Gate gate(busy);
        if (each == &of_event) MUST(gpu().cuEventRecord(event, handle(producer)));
        gpu().simcuda_reset_counts();
        cai_error error{};
        EXPECT_EQ(begin_only({each}, consumer, &error), CAI_ERR_CAPTURE);
        EXPECT_EQ(error.index, 0);
        EXPECT_NE(std::string(error.message).find("pending"), std::string::npos) << error.message;
        EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
      }
      end_capture(consumer);
      MUST(gpu().cuStreamSynchronize(handle(busy)));
    }
    begin_capture(consumer, mode);
    gpu().simcuda_reset_counts();
    for (Array *each : {&array, &legacy, &of_event}) {
      cai_error error{};
      EXPECT_EQ(begin_only({each}, consumer, &error), CAI_OK) << error.message;
    }
    EXPECT_EQ(end_use({&array, &legacy}, consumer), CAI_OK);
    EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
    const cai_use_options host = order(CAI_ORDER_HOST);
    EXPECT_EQ(begin_use({&array}, consumer, nullptr, &host), CAI_ERR_CAPTURE);
    end_capture(consumer);
    MUST(gpu().cuEventDestroy_v2(event));
  }
}

// The work is already queued when a use ends. If one producer's capture forbids the order, the
// others must still be ordered, and its owner be told.
TEST_F(Capture, ProducerBeginsOneBeforeTheEnd) {
  const std::uint64_t captured = value(stream()), other = value(stream());
  const std::uint64_t consumer = value(stream()), late = value(stream());
  Owned first(memory(), CAI_STREAM_STREAM, captured);
  Owned second(memory(), CAI_STREAM_STREAM, other);
  const auto use = [&](auto function, cai_error *error) {
    const cai_array *const both[] = {first, second};
    return function(both, 2, consumer, nullptr, error);
  };
  EXPECT_EQ(races([&] {
              EXPECT_EQ(use(test::begin_arrays, nullptr), CAI_OK);
              fill(first->data, 1, consumer);
              fill(second->data, 1, consumer);
              begin_capture(captured, relaxed);
              cai_error error{};
              EXPECT_EQ(use(test::end_arrays, &error), CAI_ERR_CAPTURE);
              EXPECT_EQ(error.index, 0);
              end_capture(captured);
              fill(second->data, 2, other);
              EXPECT_EQ(begin_use({first}, late), CAI_OK);
              fill(first->data, 2, late);
              EXPECT_EQ(end_use({first}, late), CAI_OK);
              EXPECT_EQ(use(test::end_arrays, nullptr), CAI_OK);  // and it can be tried again
              fill(first->data, 3, captured);
            }),
            0U);
}

// An end that was deferred runs its producer's code on an unrelated thread. There, freeing memory
// must not ruin a capture, this thread's or another's.
TEST_F(Capture, EndsThatWerePutOffDoItNoHarm) {
  const std::uint64_t capturing_stream = value(stream()), consumer = value(stream());
  const Address data = memory();
  int freed = -1;
  Owned array(data, CAI_STREAM_NONE, 0, [&] { freed = gpu().cuMemFree_v2(data); });
  Array other(memory(), CAI_STREAM_STREAM, value(stream()));
  {
    const Gate gate(consumer);
    EXPECT_EQ(end_use({array}, consumer), CAI_OK);
    array.release();
    EXPECT_FALSE(array.ended());
  }
  finish();
  begin_capture(capturing_stream, global);
  for (int i = 0; i < 2; ++i) {  // a query says so once more that it is pending
    EXPECT_EQ(begin_use({&other}, consumer), CAI_OK);
    EXPECT_EQ(end_use({&other}, consumer), CAI_OK);
  }
  EXPECT_EQ(freed, 0);
  end_capture(capturing_stream);
}

TEST_F(Capture, PerThreadStreamIsCapturing) {
  Array array(memory(), CAI_STREAM_STREAM, 2);
  const std::uint64_t consumer = value(stream());
  begin_capture(2, global);
  expect_refused({&array}, consumer, 0);
  end_capture(2);
}

// The legacy stream cannot be used while a blocking stream of its context is capturing.
TEST_F(Capture, LegacyStreamWhileABlockingStreamIsCapturing) {
  const std::uint64_t other = value(stream(blocking));
  Array legacy(memory(), CAI_STREAM_STREAM, 1);
  Array unstated(memory(), CAI_STREAM_UNSTATED);
  Array of_stream(memory(), CAI_STREAM_STREAM, value(stream()));
  Array there(memory(context1), CAI_STREAM_STREAM, 1);
  const std::uint64_t consumer = value(stream());
  begin_capture(other, global);
  expect_refused({&legacy}, consumer, 0);
  expect_refused({&unstated}, consumer, 0);
  expect_refused({&of_stream}, 1, -1);
  cai_error error{};
  EXPECT_EQ(begin_use({&legacy}, other, &error), CAI_ERR_CAPTURE);  // else in order
  EXPECT_EQ(error.index, 0);
  EXPECT_EQ(begin_use({&legacy}, consumer, &error), CAI_ERR_CAPTURE);
  EXPECT_EQ(error.native, 906);
  EXPECT_EQ(begin_use({&there}, consumer, &error), CAI_OK) << error.message;  // another context's
  end_capture(other);
}

TEST_F(Capture, InvalidatedCapture) {
  const std::uint64_t producer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, producer);
  begin_capture(producer, global);
  EXPECT_NE(gpu().cuStreamSynchronize(handle(producer)), 0);
  cai_error error{};
  EXPECT_EQ(begin_use({&array}, value(stream()), &error), CAI_ERR_CAPTURE);
  EXPECT_NE(std::string(error.message).find("invalidated"), std::string::npos);
  Handle graph = nullptr;
  EXPECT_NE(gpu().cuStreamEndCapture(handle(producer), &graph), 0);
}

// If nothing needs order, a capture does not matter.
TEST_F(Capture, NothingToOrder) {
  const std::uint64_t consumer = value(stream());
  Array same(memory(), CAI_STREAM_STREAM, consumer);
  Array stated(memory(), CAI_STREAM_NONE);
  begin_capture(consumer, global);
  EXPECT_EQ(begin_use({&same, &stated}, consumer), CAI_OK);
  EXPECT_EQ(end_use({&same, &stated}, consumer), CAI_OK);
  end_capture(consumer);

  Array per_thread(memory(), CAI_STREAM_STREAM, 2);
  begin_capture(2, global);
  EXPECT_EQ(begin_use({&per_thread}, 2), CAI_OK);
  EXPECT_EQ(end_use({&per_thread}, 2), CAI_OK);
  end_capture(2);
}

// Streams that are in no capture are ordered, and a capture of other code goes on: this thread's or
// another's, in any mode.
TEST_F(Capture, SomebodyElseIsCapturing) {
  const std::uint64_t other = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  Array legacy(memory(), CAI_STREAM_STREAM, 1);
  Array there(memory(context1), CAI_STREAM_UNSTATED);
  const std::uint64_t consumer = value(stream());
  const cai_use_options host = order(CAI_ORDER_HOST);
  const auto use = [&] {
    const With with(context0);
    const int mode = capture_mode();
    cai_error error{};
    EXPECT_EQ(begin_use({&array, &legacy, &there}, consumer, &error), CAI_OK) << error.message;
    EXPECT_EQ(end_use({&array, &legacy, &there}, consumer, &error), CAI_OK) << error.message;
    // Once the events are in the pool there is nothing that a capture forbids; what it forbids is
    // done in relaxed mode, which is left again.
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({&array}, consumer), CAI_OK);
    EXPECT_EQ(calls("cuThreadExchangeStreamCaptureMode"), 0U);
    EXPECT_EQ(begin_use({&array, &legacy}, consumer, &error, &host), CAI_OK) << error.message;
    EXPECT_EQ(end_use({&array, &legacy}, consumer, &error, &host), CAI_OK) << error.message;
    EXPECT_EQ(cai_array_sync_host(&array.array, &error), CAI_OK) << error.message;
    cai_location where{};
    where.struct_size = sizeof where;
    EXPECT_EQ(cai_array_locate(&array.array, &where, &error), CAI_OK) << error.message;
    EXPECT_EQ(capture_mode(), mode);
  };
  for (const int mode : {global, thread_local_mode, relaxed}) {
    begin_capture(other, mode);
    use();
    std::thread(use).join();
    end_capture(other);
  }
}

// Two streams of one capture are in order within it, both ways.
TEST_F(Capture, OneForBoth) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  const Address to = memory();
  EXPECT_EQ(races([&] {
              begin_capture(producer, global);
              fill(array->data, 1, producer);
              fork(producer, consumer);
              EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
              copy(to, array->data, consumer);
              EXPECT_EQ(end_use({array}, consumer), CAI_OK);
              fill(array->data, 2, producer);
              launch(producer);
            }),
            0U);
  EXPECT_EQ(read(to), 1);
  EXPECT_EQ(read(array->data), 2);
}

TEST_F(Capture, OfTwoStreamsByThemselves) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, producer);
  begin_capture(producer, global);
  begin_capture(consumer, global);
  for (const std::uint32_t flags : {0, int{CAI_USE_FORK}, int{CAI_USE_EXTERNAL}}) {
    const cai_use_options options = access(CAI_ACCESS_DEFAULT, flags);
    cai_error error{};
    EXPECT_EQ(begin_use({&array}, consumer, &error, &options), CAI_ERR_CAPTURE);
    EXPECT_EQ(error.index, 0);
    EXPECT_EQ(end_use({&array}, consumer, &error, &options), CAI_ERR_CAPTURE);
  }
  end_capture(consumer);
  end_capture(producer);
}

// A failure suggests only what the call can be given: a flag if it takes flags and lacks this one.
TEST_F(Capture, FailuresAdviseWhatTheCallTakes) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  const cai_use_options no_flags{offsetof(cai_use_options, flags), 0, 0, 0, nullptr};
  cai_array *view = nullptr;
  cai_error error{};
  const auto advises = [&](cai_status status, const char *flag) {
    EXPECT_EQ(status, CAI_ERR_CAPTURE);
    const std::string message = error.message;
    EXPECT_EQ(message.find(flag ? flag : "CAI_USE") != std::string::npos, flag != nullptr)
        << message;
  };
  const auto all_advise = [&](const char *flag) {
    advises(begin_use({array}, consumer, &error), flag);
    advises(begin_use({array}, consumer, &error, &no_flags), nullptr);
    advises(cai_array_reclaim(array, consumer, CAI_ACCESS_WRITE, &error), nullptr);
    advises(cai_array_publish(array, nullptr, 0, consumer, &view, &error), nullptr);
  };
  {
    const Gate gate(producer);
    fill(array->data, 1, producer);
    begin_capture(consumer, global);
    all_advise("CAI_USE_EXTERNAL");
    const Published view_of_event = Published::event(array, producer);
    advises(begin_use({view_of_event}, consumer, &error), "CAI_USE_EXTERNAL");
    advises(cai_array_publish(view_of_event, nullptr, 0, consumer, &view, &error), nullptr);
    end_capture(consumer);
  }
  begin_capture(producer, global);
  all_advise("CAI_USE_FORK");
  advises(cai_array_release_on(array, consumer, &error), nullptr);
  const cai_use_options fork_at_end{sizeof fork_at_end, CAI_ORDER_END, CAI_ACCESS_DEFAULT,
                                    CAI_USE_FORK, nullptr};
  advises(end_use({array}, consumer, &error, &fork_at_end), nullptr);
  EXPECT_NE(std::string(error.message).find("once the capture has ended"), std::string::npos);
  end_capture(producer);
}

// The producer captures: the consumer's stream is taken along, and joined back.
TEST_F(Capture, TheProducersTakesTheConsumerAlong) {
  const cai_use_options options = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  for (const int mode : {global, thread_local_mode, relaxed}) {
    const std::uint64_t producer = value(stream());
    const std::uint64_t consumer = value(stream());
    const Owned array(memory(), CAI_STREAM_STREAM, producer);
    const Address to = memory();
    EXPECT_EQ(races([&] {
                begin_capture(producer, mode);
                fill(array->data, 1, producer);
                cai_error error{};
                EXPECT_EQ(begin_use({array}, consumer, &error, &options), CAI_OK) << error.message;
                EXPECT_TRUE(capturing(consumer));
                copy(to, array->data, consumer);
                EXPECT_EQ(end_use({array}, consumer, &error, &options), CAI_OK) << error.message;
                fill(array->data, 2, producer);
                launch(producer);
              }),
              0U);
    EXPECT_EQ(read(to), 1);
    EXPECT_FALSE(capturing(consumer));
  }
}

TEST_F(Capture, TheConsumerIsJoinedBackOnFailure) {
  const cai_use_options options = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  for (const char *name : {"cuStreamWaitEvent", "cuEventRecord"}) {
    const std::uint64_t producer = value(stream());
    const std::uint64_t consumer = value(stream());
    const std::uint64_t other = value(stream());
    Array array(memory(), CAI_STREAM_STREAM, producer);
    Array second(memory(), CAI_STREAM_STREAM, other);
    begin_capture(producer, global);
    fork(producer, other);
    MUST(gpu().simcuda_fail(name, 2, 999));
    cai_error error{};
    EXPECT_EQ(begin_use({&array, &second}, consumer, &error, &options), CAI_ERR_CUDA);
    EXPECT_EQ(error.native, 999);
    EXPECT_EQ(error.index, 1);
    // Joined, the capture can end.
    fork(other, producer);
    end_capture(producer);
  }
}

// The consumer captures, and the producer is busy: the graph waits for what was pending.
TEST_F(Capture, TheConsumersWaitsForWhatIsOutside) {
  const cai_use_options options = access(CAI_ACCESS_DEFAULT, CAI_USE_EXTERNAL);
  const cai_use_options without_end{sizeof options, CAI_ORDER_BEGIN, CAI_ACCESS_DEFAULT,
                                    CAI_USE_EXTERNAL, nullptr};
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  Array of_stream(memory(), CAI_STREAM_STREAM, producer);
  Array of_event(memory(), CAI_STREAM_EVENT, value(event));
  for (Array *each : {&of_stream, &of_event}) {
    const Address to = memory();
    EXPECT_EQ(
        races([&] {
          Gate gate(producer);
          fill(each->array.data, 1, producer);
          MUST(gpu().cuEventRecord(event, handle(producer)));
          begin_capture(consumer, global);
          cai_error error{};
          const bool ends = each == &of_stream;
          EXPECT_EQ(begin_use({each}, consumer, &error, ends ? &options : &without_end), CAI_OK)
              << error.message;
          copy(to, each->array.data, consumer);
          if (ends) {
            EXPECT_EQ(end_use({each}, consumer, &error, &options), CAI_OK) << error.message;
          }
          gate.open();
          launch(consumer);
        }),
        0U);
    EXPECT_EQ(read(to), 1);
  }
  MUST(gpu().cuEventDestroy_v2(event));
}

// The graph waits for the array's own event, so the owner must not reuse it.
TEST_F(Capture, AGraphHoldsTheEventThatItWaitsFor) {
  const cai_use_options options = access(CAI_ACCESS_DEFAULT, CAI_USE_EXTERNAL);
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Owned array(memory(), CAI_STREAM_NONE);
  Handle graph = nullptr;
  {
    const Gate gate(producer);
    fill(array->data, 1, producer);
    const Published view = Published::event(array, producer);
    begin_capture(consumer, global);
    cai_error error{};
    ASSERT_EQ(begin_use({view}, consumer, &error, &options), CAI_OK) << error.message;
    MUST(gpu().cuStreamEndCapture(handle(consumer), &graph));
  }
  array.release();
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_FALSE(array.ended());
  MUST(gpu().cuGraphDestroy(graph));
  for (int i = 0; i < 2000 && !array.ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  }
  EXPECT_TRUE(array.ended());
}

// Uses that are kept are uses outside, too.
TEST_F(Capture, KeptUses) {
  const std::uint64_t user = value(stream());
  const std::uint64_t consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_NONE);
  begin_capture(consumer, global);
  {
    const Gate gate(user);
    EXPECT_EQ(end_use({array}, user), CAI_OK);
    for (const std::uint32_t flags : {0, int{CAI_USE_EXTERNAL}}) {
      const cai_use_options options = access(CAI_ACCESS_DEFAULT, flags);
      cai_error error{};
      EXPECT_EQ(begin_use({array}, consumer, &error, &options), CAI_ERR_CAPTURE);
      EXPECT_EQ(error.index, 0);
      EXPECT_NE(std::string(error.message).find("pending"), std::string::npos) << error.message;
    }
    EXPECT_EQ(cai_array_reclaim(array, consumer, CAI_ACCESS_WRITE, nullptr), CAI_ERR_CAPTURE);
    EXPECT_EQ(cai_owner_used_on(array->owner, consumer, CAI_ACCESS_READ, nullptr), CAI_ERR_CAPTURE);
    EXPECT_EQ(cai_owner_await_uses(array->owner, consumer, CAI_ACCESS_READ, nullptr),
              CAI_ERR_CAPTURE);
  }
  end_capture(consumer);
  finish();
  begin_capture(consumer, global);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
  EXPECT_EQ(end_use({array}, consumer), CAI_OK);  // nothing is kept of it
  EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
  end_capture(consumer);
}

// Others in a capture come after what the owner's functions are told in it.
TEST_F(Capture, UsesThatTheOwnerIsTold) {
  const Owned array(memory(), CAI_STREAM_NONE);
  const std::uint64_t first = value(stream());
  const std::uint64_t second = value(stream());
  EXPECT_EQ(
      races([&] {
        begin_capture(first, global);
        fork(first, second);
        fill(array->data, 1, first);
        EXPECT_EQ(
            cai_owner_used_on(array->owner, first, CAI_ACCESS_WRITE | CAI_ACCESS_CAPTURED, nullptr),
            CAI_OK);
        EXPECT_EQ(cai_owner_await_uses(array->owner, second, CAI_ACCESS_READ, nullptr), CAI_OK);
        fill(array->data, 2, second);
        fork(second, first);
        launch(first);
      }),
      0U);
  EXPECT_EQ(read(array->data), 2);
  EXPECT_EQ(cai_owner_await_uses(array->owner, second, CAI_ACCESS_WRITE, nullptr), CAI_OK);
}

// A stream that joins a capture after a use there does not come after that by itself.
TEST_F(Capture, ProducerReclaimsOnAStreamThatHasJoined) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t origin = value(stream());
  const std::uint64_t consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  EXPECT_EQ(races([&] {
              begin_capture(origin, global);
              fork(origin, consumer);
              EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
              fill(array->data, 1, consumer);
              EXPECT_EQ(end_use({array}, consumer), CAI_OK);
              fork(origin, producer);
              EXPECT_EQ(cai_array_reclaim(array, producer, CAI_ACCESS_WRITE, nullptr), CAI_OK);
              fill(array->data, 2, producer);
              fork(consumer, origin);
              fork(producer, origin);
              launch(origin);
            }),
            0U);
  EXPECT_EQ(read(array->data), 2);
}

// Users of the view outside of the capture come after what was pending before it on the streams of
// the array and its mask; also after the arrays that came with those streams were released.
TEST_F(Capture, PublishedThereWhatWasPendingBefore) {
  enum From { original, published, mask, borrowed, froms };
  for (int from = original; from < froms; ++from) {
    const std::uint64_t own = value(stream());
    const std::uint64_t target = value(stream());
    const std::uint64_t consumer = value(stream());
    Array of_mask(memory(), CAI_STREAM_STREAM, own);
    const std::uint64_t said = from == mask ? target : from == published ? consumer : own;
    Array plain(memory(), CAI_STREAM_STREAM, said);
    if (from == mask) {
      plain.array.mask = &of_mask.array;
      plain.array.flags |= CAI_FLAG_MASKED;
    }
    const Address pending = from == mask ? of_mask.array.data : plain.array.data;
    const Owned array(plain.array);
    EXPECT_EQ(races([&] {
                const cai_array *it = from == borrowed ? &plain.array : array.get();
                cai_array *view = nullptr;
                cai_array *first = nullptr;
                if (from == published) {
                  ASSERT_EQ(cai_array_publish(it, nullptr, 0, own, &first, nullptr), CAI_OK);
                  it = first;
                }
                const Gate gate(own);
                fill(pending, 1, own);
                begin_capture(target, global);
                fork(target, own);
                ASSERT_EQ(cai_array_publish(it, nullptr, 0, target, &view, nullptr), CAI_OK);
                fork(own, target);
                end_capture(target);
                if (first) cai_array_release(first);
                EXPECT_EQ(begin_use({view}, consumer), CAI_OK);
                fill(pending, 2, consumer);
                EXPECT_EQ(end_use({view}, consumer), CAI_OK);
                cai_array_release(view);
              }),
              0U)
        << from;
    EXPECT_EQ(read(pending), 2) << from;
  }
}

// ---- Arrays that come with another stream while a use is open
// ------------------------------------

enum class Gives { view, tensor, masked };

// An array, and everything that is made of it for another stream.
struct Given {
  Owned array;
  std::optional<Published> view;
  DLManagedTensorVersioned *tensor = nullptr;

  explicit Given(const cai_array &borrowed) : array(borrowed) {}
  ~Given() {
    if (tensor) tensor->deleter(tensor);
  }
  void give(Gives what, std::uint64_t target) {
    if (what == Gives::tensor) {
      cai_error error{};
      EXPECT_EQ(cai_dlpack_write(array, target, &tensor, &error), CAI_OK) << error.message;
    } else {
      view.emplace(array, target);
    }
  }
};

// The beginning needed no order, and so did not ask for the capture that its stream was in.
TEST_F(Capture, AUseEndsThereThoughTheArrayIsPublishedMeanwhile) {
  for (const Gives what : {Gives::view, Gives::tensor, Gives::masked}) {
    SCOPED_TRACE(static_cast<int>(what));
    const std::uint64_t own = value(stream());
    const std::uint64_t target = value(stream());
    Array elements(memory(), CAI_STREAM_STREAM, own);
    Array mask(memory(), CAI_STREAM_STREAM, value(stream()));
    if (what == Gives::masked) elements.mask(mask);
    Given given(elements.array);
    cai_array used = *given.array.get();  // without its mask
    used.mask = nullptr;
    used.flags &= ~std::uint32_t{CAI_FLAG_MASKED};
    const cai_array *const array = what == Gives::masked ? &used : given.array.get();
    EXPECT_EQ(races([&] {
                MUST(gpu().cuCtxSynchronize());
                begin_capture(own, global);
                fork(own, target);
                gpu().simcuda_reset_counts();
                cai_use use{};
                cai_error error{};
                ASSERT_EQ(cai_use_begin(&use, &array, 1, own, nullptr, &error), CAI_OK);
                EXPECT_EQ(all_calls(), 0U);
                given.give(what, target);
                fill(array->data, 1, own);
                EXPECT_EQ(cai_use_end(&use, &error), CAI_OK) << error.message;
                if (what == Gives::view) {  // a consumer comes after the use
                  EXPECT_EQ(begin_use({*given.view}, target), CAI_OK);
                  fill(array->data, 2, target);
                  EXPECT_EQ(end_use({*given.view}, target), CAI_OK);
                }
                fork(target, own);
                launch(own);
              }),
              0U);
    EXPECT_EQ(read(array->data), what == Gives::view ? 2 : 1);
  }
}

// If the capture began after the use, earlier work is pending. A consumer that was told another
// stream within the capture waits for it, and so does the memory's release.
TEST_F(Capture, NothingIsLostThatWasPendingBeforeOneInWhichTheArrayIsPublished) {
  const std::uint64_t own = value(stream());
  const std::uint64_t target = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, own);
  const cai_array *const used = array;
  const Address data = array->data;
  EXPECT_EQ(races([&] {
              cai_use use{};
              cai_error error{};
              ASSERT_EQ(cai_use_begin(&use, &used, 1, own, nullptr, &error), CAI_OK);
              Gate gate(own);
              fill(data, 1, own);
              begin_capture(own, global);
              fork(own, target);
              std::optional<Published> view(std::in_place, array, target);
              EXPECT_EQ(cai_use_end(&use, &error), CAI_OK) << error.message;
              fork(target, own);
              end_capture(own);
              EXPECT_EQ(begin_use({*view}, target), CAI_OK);
              fill(data, 2, target);
              EXPECT_EQ(end_use({*view}, target), CAI_OK);
              view.reset();
              array.release();
              EXPECT_EQ(cai_drain(0, nullptr, nullptr), CAI_OK);
              EXPECT_FALSE(array.ended());
              gate.open();
            }),
            0U);
  EXPECT_EQ(read(data), 2);
}

// If it were published outside of it, no one would learn of what was queued before the capture.
TEST_F(Capture, ThatBeginsAfterTheArrayWasPublishedPutsTheEndOff) {
  const std::uint64_t own = value(stream());
  const std::uint64_t target = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, own);
  const cai_array *const used = array;
  EXPECT_EQ(races([&] {
              cai_use use{};
              cai_error error{};
              ASSERT_EQ(cai_use_begin(&use, &used, 1, own, nullptr, &error), CAI_OK);
              const Published view(array, target);
              fill(array->data, 1, own);
              begin_capture(own, global);
              EXPECT_EQ(cai_use_end(&use, &error), CAI_ERR_CAPTURE);
              EXPECT_EQ(error.index, -1);
              end_capture(own);
              EXPECT_EQ(cai_use_end(&use, &error), CAI_OK) << error.message;
              EXPECT_EQ(begin_use({view}, target), CAI_OK);
              fill(array->data, 2, target);
              EXPECT_EQ(end_use({view}, target), CAI_OK);
            }),
            0U);
}

// The graph holds a reference, and so does what was made of it.
TEST_F(Capture, ReleaseOnTheStream) {
  const std::uint64_t consumer = value(stream());
  Owned array(memory(), CAI_STREAM_NONE);
  const auto drained = [&] {
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    return array.ended();
  };
  begin_capture(consumer, global);
  fill(array->data, 1, consumer);
  cai_error error{};
  ASSERT_EQ(cai_array_release_on(array, consumer, &error), CAI_OK) << error.message;
  array.gone();
  Handle graph = nullptr;
  Handle runnable = nullptr;
  MUST(gpu().cuStreamEndCapture(handle(consumer), &graph));
  EXPECT_FALSE(drained());
  MUST(gpu().cuGraphInstantiateWithFlags(&runnable, graph, 0));
  MUST(gpu().cuGraphDestroy(graph));
  MUST(gpu().cuGraphLaunch(runnable, handle(consumer)));
  MUST(gpu().cuStreamSynchronize(handle(consumer)));
  EXPECT_FALSE(drained());
  MUST(gpu().cuGraphExecDestroy(runnable));
  // User objects go on a thread of the driver's.
  for (int i = 0; i < 2000 && !drained(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(array.ended());

  Owned kept(memory(), CAI_STREAM_NONE);
  for (const char *name : {"cuUserObjectCreate", "cuGraphRetainUserObject"}) {
    begin_capture(consumer, global);
    MUST(gpu().simcuda_fail(name, 1, 999));
    EXPECT_EQ(cai_array_release_on(kept, consumer, &error), CAI_ERR_CUDA) << name;
    end_capture(consumer);
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_FALSE(kept.ended());
  }
}

}  // namespace
}  // namespace test::capture_tests
