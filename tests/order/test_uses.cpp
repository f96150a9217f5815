// SPDX-License-Identifier: BSD-3-Clause
// Uses that owners keep: a later use waits for those that it conflicts with, and for no other.
#include <thread>

#include "owned.hpp"

namespace test::uses_tests {
namespace {

constexpr std::uint32_t read_only = CAI_ACCESS_READ;
constexpr std::uint32_t write = CAI_ACCESS_WRITE;

class Uses : public OnGpu {
 protected:
  Uses() {
    for (Address &each : sinks_) each = memory();
  }

  void work(const cai_array *array, std::uint64_t stream, std::uint32_t how) {
    if (how == write) {
      fill(array->data, 7, stream);
    } else {
      copy(sinks_[next_++ % std::size(sinks_)], array->data, stream);
    }
  }

  // Work between the two halves. How many waits the first one took.
  std::uint64_t use(const cai_array *array, std::uint64_t stream, std::uint32_t how) {
    const cai_use_options options = access(how);
    cai_error error{};
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({array}, stream, &error, &options), CAI_OK) << error.message;
    const std::uint64_t waits = calls("cuStreamWaitEvent");
    work(array, stream, how);
    EXPECT_EQ(end_use({array}, stream, &error, &options), CAI_OK) << error.message;
    return waits;
  }

  // The first half alone.
  std::uint64_t begin(const cai_array *array, std::uint64_t stream, std::uint32_t how) {
    const cai_use_options options = access(how);
    cai_error error{};
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({array}, stream, &error, &options), CAI_OK) << error.message;
    return calls("cuStreamWaitEvent");
  }

 private:
  Address sinks_[64];  // for what is read: another place each time
  std::size_t next_ = 0;
};

TEST_F(Uses, OfNone) {
  for (const std::uint32_t first : {read_only, write}) {
    for (const std::uint32_t second : {read_only, write}) {
      SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(second));
      const Owned array(memory(), CAI_STREAM_NONE);
      const bool conflict = first == write || second == write;
      const std::uint64_t a = value(stream());
      const std::uint64_t b = value(stream());
      EXPECT_EQ(races([&] {
                  work(array, a, first);
                  work(array, b, second);
                }),
                conflict ? 1U : 0U);
      EXPECT_EQ(races([&] {
                  EXPECT_EQ(use(array, a, first), 0U);
                  EXPECT_EQ(use(array, b, second), conflict ? 1U : 0U);
                }),
                0U);
    }
  }
}

TEST_F(Uses, OfAnEvent) {
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  for (const std::uint32_t first : {read_only, write}) {
    for (const std::uint32_t second : {read_only, write}) {
      const Owned array(memory(), CAI_STREAM_EVENT, value(event));
      const bool conflict = first == write || second == write;
      const std::uint64_t producer = value(stream());
      const std::uint64_t a = value(stream());
      const std::uint64_t b = value(stream());
      EXPECT_EQ(races([&] {
                  fill(array->data, 1, producer);
                  MUST(gpu().cuEventRecord(event, handle(producer)));
                  EXPECT_EQ(use(array, a, first), 1U);
                  EXPECT_EQ(use(array, b, second), conflict ? 2U : 1U);
                  EXPECT_EQ(cai_array_reclaim(array, producer, write, nullptr), CAI_OK);
                  fill(array->data, 2, producer);
                }),
                0U);
    }
  }
  MUST(gpu().cuEventDestroy_v2(event));
}

// A view by another copy of libcai may be used on a stream of its own: it has to find this use.
TEST_F(Uses, OnTheOwnStreamAreKeptIfViewsHaveOthers) {
  for (const bool differ : {false, true}) {
    const std::uint64_t own = value(stream());
    const Owned array(memory(), CAI_STREAM_STREAM, own);
    if (differ) array->owner->flags |= CAI_OWNER_STREAMS_DIFFER;
    EXPECT_EQ(begin_use({array}, own), CAI_OK);
    work(array, own, write);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(end_use({array}, own), CAI_OK);
    EXPECT_EQ(calls("cuEventRecord"), differ ? 1U : 0U);
  }
}

// Uses that the array's stream waits for need no other order. But a use among them that it was
// never told of does, whichever came first.
TEST_F(Uses, ThatTheStreamWaitsForAndNot) {
  for (const bool told_first : {true, false}) {
    const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
    const std::uint64_t told = value(stream());
    const std::uint64_t untold = value(stream());
    EXPECT_EQ(races([&] {
                const auto use_told = [&] { use(array, told, read_only); };
                if (told_first) use_told();
                work(array, untold, read_only);
                EXPECT_EQ(cai_owner_used_on(array->owner, untold, read_only, nullptr), CAI_OK);
                if (!told_first) use_told();
                EXPECT_EQ(use(array, value(stream()), write), 2U);
              }),
              0U);
  }
}

// A thread's own stream means nothing on another one: it can neither begin a use there, nor end
// one.
TEST_F(Uses, OfAnotherThreadsStream) {
  const Owned array(memory(), CAI_STREAM_STREAM, 2);
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(
      races([&] {
        EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
        std::thread([&] {
          const With with(context0);
          cai_error error{};
          gpu().simcuda_reset_counts();
          cai_use use;
          const cai_array *const one = array;
          EXPECT_EQ(cai_use_begin(&use, &one, 1, consumer, nullptr, &error), CAI_ERR_ORDER);
          EXPECT_EQ(error.index, 0);
          EXPECT_NE(std::string(error.message).find("cai_array_publish_event"), std::string::npos)
              << error.message;
          EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
          EXPECT_EQ(cai_array_sync_host(array, nullptr), CAI_ERR_ORDER);
          work(array, consumer, write);
          EXPECT_EQ(end_use({array}, consumer, &error), CAI_ERR_ORDER);
          EXPECT_NE(std::string(error.message).find("end it there"), std::string::npos);
          EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
        }).join();
        EXPECT_EQ(end_use({array}, consumer), CAI_OK);
        fill(array->data, 2, 2);
      }),
      0U);
}

TEST_F(Uses, OfAProducerThatReclaims) {
  const Producer producer(CAI_OWNER_RECLAIMS);
  const std::uint64_t own = value(stream());
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, own);
  array.array.owner = producer.owner();
  const auto consume = [&] {
    fill(array.array.data, 1, own);
    EXPECT_EQ(begin_use({&array}, consumer), CAI_OK);
    work(&array.array, consumer, read_only);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(end_use({&array}, consumer), CAI_OK);
    EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);  // the producer's stream goes on
    EXPECT_EQ(calls("cuEventRecord"), 1U);
  };
  EXPECT_EQ(races([&] {
              consume();
              fill(array.array.data, 2, own);
            }),
            1U);
  EXPECT_EQ(races([&] {
              consume();
              gpu().simcuda_reset_counts();
              EXPECT_EQ(cai_array_reclaim(&array.array, own, write, nullptr), CAI_OK);
              EXPECT_EQ(calls("cuStreamWaitEvent"), 1U);
              fill(array.array.data, 2, own);
              // The array's stream has waited by now, so a stream that waits for it has, too.
              EXPECT_EQ(begin(&array.array, value(stream()), write), 1U);
            }),
            0U);
}

TEST_F(Uses, OfAProducerThatFreesInStreamOrder) {
  Producer producer(CAI_OWNER_STREAM_ORDERED);
  const std::uint64_t own = value(stream());
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, own);
  array.array.owner = producer.owner();
  EXPECT_EQ(begin_use({&array}, consumer), CAI_OK);
  const Gate gate(consumer);
  EXPECT_EQ(end_use({&array}, consumer), CAI_OK);
  producer.release();
  EXPECT_TRUE(producer.ended());  // the stream is behind the use, and so is the free
}

// Memory is one, whatever part of it is seen.
TEST_F(Uses, OfViewsAreThoseOfTheRoot) {
  const Owned root(memory(), CAI_STREAM_NONE);
  cai_slice half{};
  half.kind = CAI_SLICE_RANGE;
  half.stop = count;
  half.step = 1;
  cai_array *view = nullptr;
  cai_array *view_of_view = nullptr;
  ASSERT_EQ(cai_array_slice(root, &half, 1, &view, nullptr), CAI_OK);
  ASSERT_EQ(cai_array_slice(view, &half, 1, &view_of_view, nullptr), CAI_OK);
  const cai_array *const all[] = {root, view, view_of_view};
  for (const cai_array *first : all) {
    for (const cai_array *second : all) {
      const std::uint64_t a = value(stream());
      const std::uint64_t b = value(stream());
      EXPECT_EQ(races([&] {
                  begin(first, a, write);
                  fill(first->data, 1, a);
                  EXPECT_EQ(end_use({first}, a), CAI_OK);
                  begin(second, b, write);
                  fill(second->data, 2, b);
                  EXPECT_EQ(end_use({second}, b), CAI_OK);
                }),
                0U);
    }
  }
  cai_array_release(view);
  cai_array_release(view_of_view);
}

TEST_F(Uses, OfMasks) {
  Array array(memory(), CAI_STREAM_NONE);
  Array mask(memory(), CAI_STREAM_NONE);
  array.mask(mask);
  const Owned owned(array.array);
  const std::uint64_t consumer = value(stream());
  const std::uint64_t producer = value(stream());
  const Address to = memory();
  EXPECT_EQ(races([&] {
              EXPECT_EQ(begin(owned, consumer, write), 0U);
              copy(to, owned->mask->data, consumer);
              EXPECT_EQ(end_use({owned}, consumer), CAI_OK);
              EXPECT_EQ(cai_array_reclaim(owned, producer, write, nullptr), CAI_OK);
              fill(owned->mask->data, 1, producer);
            }),
            0U);
  EXPECT_EQ(begin(owned->mask, value(stream()), read_only), 1U);  // it was used as a whole
}

// The newest use of a stream replaces all the older ones.
TEST_F(Uses, OfOneStreamAreOne) {
  const Owned array(memory(), CAI_STREAM_NONE);
  const std::uint64_t a = value(stream());
  const std::uint64_t b = value(stream());
  EXPECT_EQ(races([&] {
              for (int i = 0; i < 5; ++i) EXPECT_EQ(use(array, a, write), 0U);
              EXPECT_EQ(begin(array, b, write), 1U);
              work(array, b, write);
            }),
            0U);
  for (const std::uint64_t default_stream : {1U, 2U}) {
    const Owned of_default(memory(), CAI_STREAM_NONE);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(use(of_default, default_stream, write), 0U);
    EXPECT_EQ(begin(of_default, value(stream()), write), 1U);
  }
}

// A read after a write: readers wait for the write alone, writers for both, which are one event.
TEST_F(Uses, ReadsAndWritesOfOneStream) {
  const Owned array(memory(), CAI_STREAM_NONE);
  const std::uint64_t a = value(stream());
  const Address to = memory();
  const std::uint64_t reader = value(stream());
  EXPECT_EQ(races([&] {
              EXPECT_EQ(use(array, a, write), 0U);
              EXPECT_EQ(use(array, a, read_only), 0U);
              EXPECT_EQ(begin(array, reader, read_only), 1U);
              copy(to, array->data, reader);
              EXPECT_EQ(end_use({array}, reader), CAI_OK);
              EXPECT_EQ(begin(array, value(stream()), write), 2U);
            }),
            0U);
}

TEST_F(Uses, OfManyStreams) {
  const Owned array(memory(), CAI_STREAM_NONE);
  constexpr std::uint64_t many = 12;
  const auto read_on_many = [&] {
    for (std::uint64_t i = 0; i < many; ++i) use(array, value(stream()), read_only);
  };
  {
    std::vector<std::unique_ptr<Gate>> gates;
    const cai_use_options options = access(read_only);
    for (std::uint64_t i = 0; i < many; ++i) {
      const std::uint64_t busy = value(stream());
      gates.push_back(std::make_unique<Gate>(busy));
      EXPECT_EQ(end_use({array}, busy, nullptr, &options), CAI_OK);
    }
    EXPECT_EQ(begin(array, value(stream()), write), many);
  }
  finish();
  // Completed uses are forgotten eventually, so that their number does not grow forever.
  for (int round = 0; round < 5; ++round) {
    read_on_many();
    finish();
  }
  EXPECT_LE(begin(array, value(stream()), write), many);
  EXPECT_EQ(races([&] {
              read_on_many();
              const std::uint64_t writer = value(stream());
              begin(array, writer, write);
              fill(array->data, 1, writer);
            }),
            0U);
}

// A stream's value is not what it is known by: SIMCUDA_REUSE_HANDLES makes it recur.
TEST_F(Uses, OfAStreamWhoseHandleRecurs) {
  const Owned array(memory(), CAI_STREAM_NONE);
  const Handle first = stream();
  EXPECT_EQ(races([&] {
              EXPECT_EQ(use(array, value(first), write), 0U);
              MUST(gpu().cuStreamDestroy_v2(first));
              const Handle second = stream();
              EXPECT_EQ(second == first, std::getenv("SIMCUDA_REUSE_HANDLES") != nullptr);
              EXPECT_EQ(begin(array, value(second), write), 1U);
              work(array, value(second), write);
            }),
            0U);
}

TEST_F(Uses, InTwoContexts) {
  Owned array(memory(), CAI_STREAM_NONE);
  const std::uint64_t here = value(stream());
  const std::uint64_t there = value(stream(non_blocking, context1));
  EXPECT_EQ(races([&] {
              EXPECT_EQ(use(array, here, write), 0U);
              EXPECT_EQ(begin(array, there, write), 1U);
              fill(array->data, 2, there);
              EXPECT_EQ(end_use({array}, there), CAI_OK);
              EXPECT_EQ(begin(array, here, write), 1U);
              fill(array->data, 3, here);
              EXPECT_EQ(end_use({array}, here), CAI_OK);
            }),
            0U);
  // One and the same default stream by its value, but not by its context.
  Owned of_default(memory(), CAI_STREAM_NONE);
  EXPECT_EQ(races([&] {
              EXPECT_EQ(use(of_default, 1, write), 0U);
              const With with(context1);
              EXPECT_EQ(begin(of_default, 1, write), 1U);
              fill(of_default->data, 2, 1);
              EXPECT_EQ(end_use({of_default}, 1), CAI_OK);
            }),
            0U);
  // Each context is asked for its own part, in any order.
  const std::int64_t others = left_after_drain();
  of_default.release();
  array.release();
  EXPECT_EQ(left_after_drain(1), others + 2);
  EXPECT_FALSE(array.ended());
  const With with(context1);
  EXPECT_EQ(left_after_drain(1), others);
  EXPECT_TRUE(array.ended());
}

// The host waits for all that has been kept, reads too.
TEST_F(Uses, AreWaitedForByTheHost) {
  Array plain(memory(), CAI_STREAM_NONE);
  Array marked(memory(), CAI_STREAM_NONE);
  marked.array.flags |= CAI_FLAG_READONLY;
  const cai_use_options host = order(CAI_ORDER_HOST);
  for (Array *each : {&plain, &marked}) {
    const Owned array(each->array);
    const std::uint64_t reader = value(stream());
    EXPECT_EQ(races([&] {
                use(array, reader, read_only);
                EXPECT_EQ(cai_array_sync_host(array, nullptr), CAI_OK);
                fill(array->data, 1, value(stream()));
              }),
              0U);
  }
  const Owned array(memory(), CAI_STREAM_NONE);
  EXPECT_EQ(races([&] {
              use(array, value(stream()), write);
              gpu().simcuda_reset_counts();
              EXPECT_EQ(begin_use({array}, value(stream()), nullptr, &host), CAI_OK);
              EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
              fill(array->data, 1, value(stream()));
            }),
            0U);
}

TEST_F(Uses, AreNoOrderThatOneStreamHas) {
  const std::uint64_t producer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  const Owned none(memory(), CAI_STREAM_NONE);
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(begin(array, consumer, write), 1U);
  EXPECT_EQ(end_use({array}, consumer), CAI_OK);
  const cai_array *one = array;
  std::uint64_t out = 0;
  EXPECT_EQ(cai_arrays_same_stream(&one, 1, &out, nullptr), CAI_OK);  // its stream has waited
  EXPECT_EQ(out, producer);
  EXPECT_EQ(end_use({none}, consumer), CAI_OK);
  one = none;
  cai_error error{};
  EXPECT_EQ(cai_arrays_same_stream(&one, 1, &out, &error), CAI_ERR_ORDER);
  EXPECT_EQ(error.index, 0);
}

// If arrays of one owner come with different streams, none of those is in order with all uses.
TEST_F(Uses, AreNoOrderThatAnotherStreamHas) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  const Published published(array, value(stream()));
  const cai_array *const all[] = {array, published};
  for (const cai_array *each : all) {
    std::uint64_t out = 0;
    EXPECT_EQ(cai_arrays_same_stream(&each, 1, &out, nullptr), CAI_ERR_ORDER);
  }
}

// Stream 1 of one context is not that of another, which shows only by the driver.
TEST_F(Uses, OfAProducerThatReclaimsADefaultStream) {
  for (const std::uint64_t own : {1U, 2U}) {
    Producer producer(CAI_OWNER_RECLAIMS);
    Array array(memory(), CAI_STREAM_STREAM, own);
    array.array.owner = producer.owner();
    EXPECT_EQ(races([&] {
                {
                  const With with(context1);
                  EXPECT_EQ(begin_use({&array}, own), CAI_OK);
                  work(&array.array, own, write);
                  EXPECT_EQ(end_use({&array}, own), CAI_OK);
                }
                EXPECT_EQ(cai_array_reclaim(&array.array, own, write, nullptr), CAI_OK);
                fill(array.array.data, 2, own);
              }),
              0U);
    const With with(context1);
    producer.release();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  }
}

// An owner that is too short to keep uses. Nothing beyond its 24 bytes is there to be read.
TEST_F(Uses, OfAnOldProducer) {
  const Producer producer(0, 24);
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  const std::uint64_t consumer = value(stream());
  Array none(memory(), CAI_STREAM_NONE);
  Array of_stream(memory(), CAI_STREAM_STREAM, value(stream()));
  Array per_thread(memory(), CAI_STREAM_STREAM, 2);
  Array of_event(memory(), CAI_STREAM_EVENT, value(event));
  for (Array *each : {&none, &of_stream, &per_thread, &of_event}) {
    each->array.owner = producer.owner();
    const cai_status expected = each == &of_event ? CAI_ERR_ORDER : CAI_OK;
    EXPECT_EQ(begin_use({each}, consumer), expected);
    EXPECT_EQ(end_use({each}, consumer), expected);
    EXPECT_EQ(cai_array_sync_host(&each->array, nullptr), CAI_OK);
  }
  EXPECT_EQ(producer.holders(), 1);
  MUST(gpu().cuEventDestroy_v2(event));
}

// Consumers of a view are ordered through the stream of the array, too.
TEST_F(Uses, OfAViewOfAnOldProducersArray) {
  const Producer producer(0, 24);
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  array.array.owner = producer.owner();
  cai_array *view = nullptr;
  MUST(cai_array_slice(&array.array, nullptr, 0, &view, nullptr));
  EXPECT_EQ(races([&] {
              const cai_array *const both[] = {view, &array.array};
              for (const cai_array *each : both) {
                const std::uint64_t consumer = value(stream());
                EXPECT_EQ(begin_use({each}, consumer), CAI_OK);
                fill(array.array.data, 1, consumer);
                EXPECT_EQ(end_use({each}, consumer), CAI_OK);
              }
            }),
            0U);
  cai_array_release(view);
  EXPECT_EQ(producer.holders(), 1);
}

// An owner that says its thread, and keeps nothing: there is no end, and so no beginning.
TEST_F(Uses, OfAnotherThreadsStreamThatNobodyKeeps) {
  const Producer producer;
  producer.owner()->used_on = nullptr;
  producer.owner()->await_uses = nullptr;
  producer.owner()->thread = 1;  // nobody here
  Array array(memory(), CAI_STREAM_STREAM, 2);
  array.array.owner = producer.owner();
  const std::uint64_t consumer = value(stream());
  cai_error error{};
  EXPECT_EQ(end_use({&array}, consumer, &error), CAI_ERR_ORDER);
  EXPECT_EQ(error.index, 0);
}

}  // namespace
}  // namespace test::uses_tests
