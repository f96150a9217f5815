// SPDX-License-Identifier: BSD-3-Clause
// What an array comes with: one stream for work on several, or an event.
#include <optional>
#include <thread>

#include "cai/dlpack.h"
#include "capturing.hpp"
#include "failing.hpp"
#include "owned.hpp"

namespace test::publish_tests {
namespace {

class Publish : public Capturing {
 protected:
  // A consumer that knows nothing of libcai's owners: it has the dict's stream alone.
  void consume(const cai_array *array, std::uint64_t on) {
    std::uint64_t storage[64];
    cai_interface said{};
    said.struct_size = sizeof said;
    EXPECT_EQ(cai_interface_write(array, 3, storage, sizeof storage, &said, nullptr), CAI_OK);
    Array dict(array->data, CAI_STREAM_STREAM, said.stream.integer);
    EXPECT_EQ(begin_use({&dict}, on), CAI_OK);
    fill(array->data, 9, on);
    EXPECT_EQ(end_use({&dict}, on), CAI_OK);
  }
};

// The example of the text.
TEST_F(Publish, SevenNineAndFifteenAsThree) {
  const std::uint64_t streams[] = {value(stream()), value(stream()), value(stream())};
  const std::uint64_t three = value(stream());
  const std::uint64_t consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_NONE);
  const auto produce = [&] {
    for (unsigned i = 0; i < 3; ++i) {
      MUST(gpu().cuMemsetD8Async(array->data + 8 * i, 1, 8, handle(streams[i])));
    }
  };
  EXPECT_EQ(races([&] {
              produce();
              array.get()->stream = three;
              array.get()->stream_kind = CAI_STREAM_STREAM;
              consume(array, consumer);
            }),
            3U);
  EXPECT_EQ(races([&] {
              produce();
              gpu().simcuda_reset_counts();
              const Published published(array, three, {streams[0], streams[1], streams[2]});
              EXPECT_EQ(calls("cuEventRecord"), 3U);
              EXPECT_EQ(calls("cuStreamWaitEvent"), 3U);
              EXPECT_EQ(published->stream, three);
              EXPECT_EQ(published->stream_kind, std::uint32_t{CAI_STREAM_STREAM});
              EXPECT_EQ(published->version, 3U);
              consume(published, consumer);
              // The producer's own streams know nothing of the consumer until they are told.
              for (const std::uint64_t own : streams) {
                EXPECT_EQ(cai_array_reclaim(published, own, CAI_ACCESS_WRITE, nullptr), CAI_OK);
              }
              produce();
            }),
            0U);
}

// The array's own stream is waited for once, whether or not it is named.
TEST_F(Publish, ItsOwnStreamToo) {
  const std::uint64_t own = value(stream());
  const std::uint64_t other = value(stream());
  const std::uint64_t target = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, own);
  gpu().simcuda_reset_counts();
  const Published published(&array.array, target, {own, other, target, own});
  EXPECT_EQ(calls("cuEventRecord"), 2U);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 2U);
  gpu().simcuda_reset_counts();
  const Published again(published, target);
  EXPECT_EQ(all_calls(), 0U);
}

// A view of a view says nothing new, either: arrays come with one stream, and no use is kept.
TEST_F(Publish, AViewOfAViewOnItsOwnStream) {
  const std::uint64_t own = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, own);
  const Published view(array, own);
  const Published again(view, own);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(begin_use({again}, own), CAI_OK);
  EXPECT_EQ(end_use({again}, own), CAI_OK);
  EXPECT_EQ(all_calls(), 0U);
}

// A consumer of the original learns of work on the stream of a view that was released.
TEST_F(Publish, ACopyOfWhatOthersHave) {
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  const std::uint64_t own = value(stream());
  MUST(gpu().cuEventRecord(event, handle(own)));
  const Owned of_stream(memory(), CAI_STREAM_STREAM, own);
  const Owned of_event(memory(), CAI_STREAM_EVENT, value(event));
  const Owned none(memory(), CAI_STREAM_NONE);
  const std::uint64_t early = value(stream());
  for (const cai_array *array : {of_stream.get(), of_event.get(), none.get()}) {
    const std::uint64_t target = value(stream());
    const std::uint64_t consumer = value(stream());
    const std::uint64_t late = value(stream());
    const auto publish_and_consume = [&] {
      EXPECT_EQ(begin_use({array}, early), CAI_OK);
      fill(array->data, 1, early);
      EXPECT_EQ(end_use({array}, early), CAI_OK);
      consume(Published(array, target), consumer);
    };
    EXPECT_EQ(races([&] {
                publish_and_consume();
                EXPECT_EQ(begin_use({array}, late), CAI_OK);
                fill(array->data, 2, late);
                EXPECT_EQ(end_use({array}, late), CAI_OK);
              }),
              0U);
    EXPECT_EQ(races([&] {
                publish_and_consume();
                EXPECT_EQ(cai_array_sync_host(array, nullptr), CAI_OK);
                fill(array->data, 3, value(stream()));
                finish();
              }),
              0U);
  }
  MUST(gpu().cuEventDestroy_v2(event));
}

// Work that was pending on another stream when a copy was published is news to consumers of the
// array or a view of it, although nobody had used it before.
TEST_F(Publish, ACopyOfWhatOthersHaveAndNobodyUsed) {
  for (const bool of_view : {false, true}) {
    const Owned array(memory(), CAI_STREAM_NONE);
    const cai_array theirs = *array.get();
    cai_array *view = nullptr;
    ASSERT_EQ(cai_array_slice(array, nullptr, 0, &view, nullptr), CAI_OK);
    const std::uint64_t producer = value(stream());
    const std::uint64_t target = value(stream());
    EXPECT_EQ(races([&] {
                fill(array->data, 1, producer);
                const Published published(of_view ? view : array, target, {producer});
                consume(published, value(stream()));
                const cai_array *const all[] = {&theirs, array, view};
                for (const cai_array *each : all) {
                  const std::uint64_t other = value(stream());
                  EXPECT_EQ(begin_use({each}, other), CAI_OK);
                  fill(array->data, 2, other);
                  EXPECT_EQ(end_use({each}, other), CAI_OK);
                }
              }),
              0U);
    cai_array_release(view);
  }
}

// A consumer of the array is not told of a copy's stream: a use on it is kept.
TEST_F(Publish, ACopyThatIsUsedOnItsOwnStream) {
  const Owned array(memory(), CAI_STREAM_NONE);
  const std::uint64_t target = value(stream());
  const std::uint64_t consumer = value(stream());
  const Published copy(array, target);
  EXPECT_EQ(races([&] {
              gpu().simcuda_reset_counts();
              EXPECT_EQ(begin_use({copy}, target), CAI_OK);
              fill(copy->data, 1, target);
              EXPECT_EQ(end_use({copy}, target), CAI_OK);
              EXPECT_EQ(calls("cuEventRecord"), 1U);
              EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
              EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
              fill(copy->data, 2, consumer);
              EXPECT_EQ(end_use({array}, consumer), CAI_OK);
            }),
            0U);
}

// Its event is nobody else's as long as the array lives, and then serves again.
TEST_F(Publish, AnEvent) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  const std::uint64_t busy = value(stream());
  const Address to = memory();
  Array other(memory(), CAI_STREAM_STREAM, busy);
  const auto do_something_else = [&] {
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(begin_use({&other}, value(stream())), CAI_OK);
      EXPECT_EQ(end_use({&other}, value(stream())), CAI_OK);
    }
  };
  std::uint64_t event = 0;
  EXPECT_EQ(races([&] {
              const Owned owned(memory(), CAI_STREAM_NONE);
              fill(owned->data, 1, producer);
              const Published array = Published::event(owned, producer);
              EXPECT_EQ(array->stream_kind, std::uint32_t{CAI_STREAM_EVENT});
              EXPECT_EQ(array->version, 3U);
              event = array->stream;
              MUST(gpu().cuStreamDestroy_v2(handle(producer)));  // it may go
              do_something_else();
              gpu().simcuda_reset_counts();
              EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
              EXPECT_EQ(calls("cuStreamWaitEvent"), 1U);
              EXPECT_EQ(calls("cuEventRecord"), 0U);
              copy(to, array->data, consumer);
              EXPECT_EQ(end_use({array}, consumer), CAI_OK);
              finish();
            }),
            0U);
  gpu().simcuda_reset_counts();
  do_something_else();
  EXPECT_EQ(calls("cuEventCreate") + calls("cuEventDestroy"), 0U);
}

// Others have the array already, under another stream or none.
TEST_F(Publish, AnEventOfACopy) {
  const Owned fresh(memory(), CAI_STREAM_NONE);
  const Owned streamed(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t producer = value(stream()), consumer = value(stream());
  for (const Owned *array : {&fresh, &streamed}) {
    EXPECT_EQ(races([&] {
                fill((*array)->data, 1, producer);
                const Published view = Published::event(*array, producer);
                for (const cai_array *each : {static_cast<const cai_array *>(*array),
                                              static_cast<const cai_array *>(view)}) {
                  EXPECT_EQ(begin_use({each}, consumer), CAI_OK);
                  fill(each->data, 2, consumer);
                  EXPECT_EQ(end_use({each}, consumer), CAI_OK);
                }
                const std::uint64_t another = value(stream());
                EXPECT_EQ(begin_use({*array}, another), CAI_OK);
                fill((*array)->data, 3, another);
                EXPECT_EQ(end_use({*array}, another), CAI_OK);
              }),
              0U);
  }
}

// The way to another thread for what is on a thread's own stream.
TEST_F(Publish, AnEventForAnotherThread) {
  const Owned array(memory(), CAI_STREAM_STREAM, 2);
  const std::uint64_t consumer = value(stream());
  const Address to = memory();
  EXPECT_EQ(races([&] {
              fill(array->data, 1, 2);
              const Published published = Published::event(array, 2);
              std::thread([&] {
                const With with(context0);
                EXPECT_EQ(begin_use({published}, consumer), CAI_OK);
                copy(to, published->data, consumer);
                EXPECT_EQ(end_use({published}, consumer), CAI_OK);
              }).join();
              EXPECT_EQ(cai_array_reclaim(array, 2, CAI_ACCESS_WRITE, nullptr), CAI_OK);
              fill(array->data, 2, 2);
            }),
            0U);
}

// A consumer of the array, and not of the event, still learns of the work on that stream.
TEST_F(Publish, AFreshCopyOnAThreadsOwnStream) {
  const Owned array(memory(), CAI_STREAM_NONE);
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(races([&] {
              fill(array->data, 1, 2);
              const Published view = Published::event(Published(array, 2), 2);
              std::thread([&] {
                const With with(context0);
                for (const cai_array *each : {static_cast<const cai_array *>(view),
                                              static_cast<const cai_array *>(array)}) {
                  EXPECT_EQ(begin_use({each}, consumer), CAI_OK);
                  fill(each->data, 2, consumer);
                  EXPECT_EQ(end_use({each}, consumer), CAI_OK);
                }
                const std::uint64_t another = value(stream());
                EXPECT_EQ(begin_use({array}, another), CAI_OK);
                fill(array->data, 3, another);
                EXPECT_EQ(end_use({array}, another), CAI_OK);
              }).join();
            }),
            0U);
}

// Stream 2 is one thread's, and the owner can say whose.
TEST_F(Publish, AThreadsOwnStream) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  const Published published(array, 2);
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(begin_use({published}, consumer), CAI_OK);
  std::thread([&] {
    const With with(context0);
    cai_error error{};
    EXPECT_EQ(begin_use({published}, consumer), CAI_ERR_ORDER);
    cai_array *again = nullptr;
    EXPECT_EQ(cai_array_publish(array, nullptr, 0, 2, &again, &error), CAI_ERR_ORDER);
    EXPECT_NE(std::string(error.message).find("cai_array_publish_event"), std::string::npos);
  }).join();
}

// A copy's stream does not come after what the array's own stream comes after.
TEST_F(Publish, ACopyLearnsOfUsesOnTheArraysOwnStream) {
  for (const std::uint32_t flags : {uint32_t{0}, uint32_t{CAI_OWNER_STREAM_ORDERED}}) {
    const Producer producer(flags);
    const std::uint64_t own = value(stream());
    const std::uint64_t consumer = value(stream());
    Array array(memory(), CAI_STREAM_STREAM, own);
    array.array.owner = producer.owner();
    const Published copy(&array.array, value(stream()));
    for (const std::uint64_t user : {own, value(stream())}) {
      EXPECT_EQ(races([&] {
                  EXPECT_EQ(begin_use({&array}, user), CAI_OK);
                  fill(copy->data, 1, user);
                  EXPECT_EQ(end_use({&array}, user), CAI_OK);
                  EXPECT_EQ(begin_use({copy}, consumer), CAI_OK);
                  fill(copy->data, 2, consumer);
                  EXPECT_EQ(end_use({copy}, consumer), CAI_OK);
                }),
                0U);
    }
  }
}

// Work that a dict sent to a thread's own stream cannot be waited for on another thread. A consumer
// of the copy has its uses kept.
TEST_F(Publish, ACopyOnAThreadsOwnStream) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  const Published copy(array, 2);
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
  std::thread([&] {
    const With with(context0);
    EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
  }).join();
  consume(copy, consumer);
  std::thread([&] {
    const With with(context0);
    cai_error error{};
    EXPECT_EQ(begin_use({array}, consumer, &error), CAI_ERR_ORDER);
    EXPECT_EQ(error.index, 0);
    EXPECT_EQ(cai_array_reclaim(array, consumer, CAI_ACCESS_WRITE, nullptr), CAI_ERR_ORDER);
    EXPECT_EQ(cai_owner_await_uses(array->owner, consumer, CAI_ACCESS_READ, nullptr),
              CAI_ERR_ORDER);
  }).join();
}

// On failure the array is as it was, to the byte, and there is no view.
TEST_F(Publish, NothingOnFailure) {
  const std::uint64_t target = value(stream());
  const std::uint64_t capturing = value(stream());
  const std::uint64_t streams[] = {value(stream()), 0, value(stream())};
  const std::uint64_t sound[] = {streams[0], streams[2]};
  const std::uint64_t captured[] = {streams[0], capturing};
  const Owned owned(memory(), CAI_STREAM_STREAM, value(stream()));
  const Owned kept(memory(), CAI_STREAM_NONE);
  EXPECT_EQ(end_use({kept}, value(stream())), CAI_OK);
  Array borrowed(memory(), CAI_STREAM_NONE);
  const Producer old(0, 24);
  Array of_old(memory(), CAI_STREAM_NONE);
  of_old.array.owner = old.owner();
  cai_error error{};
  const auto expect = [&](const cai_array &array, cai_status status, std::int32_t index,
                          const std::function<cai_status(const cai_array *, cai_array **)> &call) {
    const cai_array before = array;
    cai_array *view = nullptr;
    error = {};
    EXPECT_EQ(call(&array, &view), status) << error.message;
    EXPECT_EQ(error.index, index) << error.message;
    EXPECT_EQ(view, nullptr);
    EXPECT_EQ(std::memcmp(&before, &array, sizeof before), 0);
  };
  for (const cai_array *array : {owned.get(), kept.get(), &borrowed.array}) {
    expect(*array, CAI_ERR_ARGUMENT, 1, [&](const cai_array *a, cai_array **view) {
      return cai_array_publish(a, streams, 3, target, view, &error);
    });
    expect(*array, CAI_ERR_ARGUMENT, -1, [&](const cai_array *a, cai_array **view) {
      return cai_array_publish(a, sound, 2, 0, view, &error);
    });
    expect(*array, CAI_ERR_ARGUMENT, -1, [&](const cai_array *a, cai_array **view) {
      return cai_array_publish(a, sound, -1, target, view, &error);
    });
    expect(*array, CAI_ERR_ARGUMENT, -1, [&](const cai_array *a, cai_array **view) {
      return cai_array_publish(a, nullptr, 1, target, view, &error);
    });
    expect(*array, CAI_ERR_ARGUMENT, -1, [&](const cai_array *a, cai_array **view) {
      return cai_array_publish_event(a, 0, view, &error);
    });
    MUST(gpu().simcuda_fail("cuStreamWaitEvent", array == kept.get() ? 3 : 2, 999));
    expect(*array, CAI_ERR_CUDA,
           array == kept.get()    ? -1
           : array == owned.get() ? 0
                                  : 1,
           [&](const cai_array *a, cai_array **view) {
             return cai_array_publish(a, sound, 2, target, view, &error);
           });
    MUST(gpu().cuStreamBeginCapture_v2(handle(capturing), 0));
    expect(*array, CAI_ERR_CAPTURE, 1, [&](const cai_array *a, cai_array **view) {
      return cai_array_publish(a, captured, 2, target, view, &error);
    });
    expect(*array, CAI_ERR_CAPTURE, -1, [&](const cai_array *a, cai_array **view) {
      return cai_array_publish_event(a, capturing, view, &error);
    });
    Handle graph = nullptr;
    MUST(gpu().cuStreamEndCapture(handle(capturing), &graph));
    MUST(gpu().cuGraphDestroy(graph));
    MUST(gpu().simcuda_fail("cuEventRecord", array == owned.get() ? 2 : 1, 999));
    expect(*array, CAI_ERR_CUDA, -1, [&](const cai_array *a, cai_array **view) {
      return cai_array_publish_event(a, target, view, &error);
    });
  }
  const Published of_stream(&of_old.array, target, {sound[0], sound[1]});
  const Published of_event = Published::event(&of_old.array, target);
}

// In the capture that the array's stream is in, too: then the graph has no new edge.
TEST_F(Publish, NoEventOfACapture) {
  const Handle own = stream(), joined = stream();
  const Owned array(memory(), CAI_STREAM_STREAM, value(own));
  Handle event = nullptr, graph = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  MUST(gpu().cuStreamBeginCapture_v2(own, 2));
  MUST(gpu().cuEventRecord(event, own));
  MUST(gpu().cuStreamWaitEvent(joined, event, 0));
  gpu().simcuda_reset_counts();
  cai_array *view = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_array_publish_event(array, value(joined), &view, &error), CAI_ERR_CAPTURE);
  EXPECT_EQ(view, nullptr);
  EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
  MUST(gpu().cuEventRecord(event, joined));
  MUST(gpu().cuStreamWaitEvent(own, event, 0));
  MUST(gpu().cuStreamEndCapture(own, &graph));
  MUST(gpu().cuGraphDestroy(graph));
  MUST(gpu().cuEventDestroy_v2(event));
}

// The stream is remembered as long as any view says it, also one that was made of another.
TEST_F(Publish, AViewOfAViewThatGoes) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t target = value(stream()), consumer = value(stream());
  std::optional<Published> first(std::in_place, array, target);
  const Published second(*first, target);
  first.reset();
  EXPECT_EQ(races([&] {
              EXPECT_EQ(begin_use({second}, target), CAI_OK);
              fill(array->data, 1, target);
              EXPECT_EQ(end_use({second}, target), CAI_OK);
              EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
              fill(array->data, 2, consumer);
              EXPECT_EQ(end_use({array}, consumer), CAI_OK);
            }),
            0U);
}

// Once a view was released, its stream may be destroyed; nothing waits for it any more.
TEST_F(Publish, AStreamIsForgottenWithItsView) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(races([&] {
              for (int round = 0; round < 40; ++round) {
                const std::uint64_t target = value(stream());
                {
                  const Published view(array, target);
                  consume(view, target);  // by a dict
                }
                MUST(gpu().cuStreamSynchronize(handle(target)));
                MUST(gpu().cuStreamDestroy_v2(handle(target)));
              }
              gpu().simcuda_reset_counts();
              EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
              EXPECT_EQ(calls("cuEventRecord"), 1U);
              EXPECT_LE(calls("cuStreamWaitEvent"), 10U);  // of events not known to be complete
              fill(array->data, 1, consumer);
              EXPECT_EQ(end_use({array}, consumer), CAI_OK);
            }),
            0U);
}

// The array's own, too, which is used again after that: the memory does not go meanwhile.
TEST_F(Publish, AStreamIsUsedAgainAfterItsViewHasGone) {
  const std::uint64_t own = value(stream());
  Owned array(memory(), CAI_STREAM_STREAM, own);
  const auto use_there = [&] {
    EXPECT_EQ(begin_use({array}, own), CAI_OK);
    fill(array->data, 1, own);
    EXPECT_EQ(end_use({array}, own), CAI_OK);
  };
  use_there();
  {
    const Published first(array, own);
    const Published second(first, own);
    consume(second, own);  // by a dict
  }
  MUST(gpu().cuStreamSynchronize(handle(own)));
  Gate gate(own);
  use_there();
  array.release();
  EXPECT_EQ(cai_drain(0, nullptr, nullptr), CAI_OK);
  EXPECT_FALSE(array.ended());
  gate.open();
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
}

// The same where the work on it is still pending.
TEST_F(Publish, AViewGoesWhileItsStreamIsBusy) {
  for (const bool by_dict : {false, true}) {
    const Owned array(memory(), CAI_STREAM_NONE);
    const std::uint64_t target = value(stream()), consumer = value(stream());
    EXPECT_EQ(races([&] {
                const Gate gate(target);
                {
                  const Published view(array, target);
                  if (by_dict) {
                    consume(view, target);
                  } else {
                    EXPECT_EQ(begin_use({view}, target), CAI_OK);
                    fill(array->data, 1, target);
                    EXPECT_EQ(end_use({view}, target), CAI_OK);
                  }
                }
                MUST(gpu().cuStreamDestroy_v2(handle(target)));  // its work goes on
                EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
                fill(array->data, 2, consumer);
                EXPECT_EQ(end_use({array}, consumer), CAI_OK);
              }),
              0U);
  }
}

// The mask comes with the view's stream, which has waited for the mask's own.
TEST_F(Publish, AMaskToo) {
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t of_mask = value(stream()), target = value(stream());
  Array mask(memory(), CAI_STREAM_STREAM, of_mask);
  const Owned owned(array.mask(mask).array);
  const Address to = memory();
  EXPECT_EQ(races([&] {
              fill(owned->mask->data, 1, of_mask);
              const Published view(owned, target);
              EXPECT_EQ(view->mask->stream, target);
              EXPECT_EQ(owned->mask->stream, of_mask);
              copy(to, view->mask->data, target);
              EXPECT_EQ(begin_use({view}, target), CAI_OK);
              EXPECT_EQ(end_use({view}, target), CAI_OK);
            }),
            0U);
}

// Nothing can be recorded on a stream while it is being captured: then it stays told.
TEST_F(Publish, AViewGoesWhileItsStreamIsCaptured) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t target = value(stream()), consumer = value(stream());
  EXPECT_EQ(races([&] {
              {
                const Published view(array, target);
                consume(view, target);
                MUST(gpu().cuStreamBeginCapture_v2(handle(target), 2));
              }
              Handle graph = nullptr;
              MUST(gpu().cuStreamEndCapture(handle(target), &graph));
              MUST(gpu().cuGraphDestroy(graph));
              EXPECT_EQ(begin_use({array}, consumer), CAI_OK);
              fill(array->data, 2, consumer);
              EXPECT_EQ(end_use({array}, consumer), CAI_OK);
            }),
            0U);
}

// A stream that is named twice is one; what has no elements needs no order, whatever the target.
TEST_F(Publish, WhatIsNamedTwiceAndWhatIsEmpty) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t target = value(stream());
  const Owned array(memory(), CAI_STREAM_NONE);
  EXPECT_EQ(races([&] {
              fill(array->data, 1, producer);
              gpu().simcuda_reset_counts();
              const Published view(array, target, {producer, producer});
              EXPECT_EQ(calls("cuEventRecord"), 1U);
              consume(view, value(stream()));
              EXPECT_EQ(begin_use({array}, producer), CAI_OK);
              fill(array->data, 2, producer);
              EXPECT_EQ(end_use({array}, producer), CAI_OK);
            }),
            0U);

  Array nothing(0, CAI_STREAM_STREAM, producer);
  nothing.empty();
  const Owned empty(nothing.array);
  for (const std::uint64_t each : {target, std::uint64_t{1}}) {
    gpu().simcuda_reset_counts();
    const Published view(empty, each);
    EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
    EXPECT_EQ(view->stream, each);
    std::uint64_t storage[64];
    cai_interface dict{};
    dict.struct_size = sizeof dict;
    EXPECT_EQ(cai_interface_write(view, 3, storage, sizeof storage, &dict, nullptr), CAI_OK);
  }
}

// In a capture, for an array that is idle outside of it: nothing is pending, so nothing is kept.
TEST_F(Publish, InACaptureOfWhatIsIdleOutside) {
  const std::uint64_t idle = value(stream());
  const std::uint64_t target = value(stream());
  const Owned array(memory(), CAI_STREAM_NONE);
  begin_capture(target, relaxed);
  gpu().simcuda_reset_counts();
  {
    const Published view(array, target, {idle});
    EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
  }
  end_capture(target);
}

// An array on the host has no stream that it could come with.
TEST_F(Publish, NothingOfTheHosts) {
  char bytes[count];
  Array host(reinterpret_cast<std::uintptr_t>(bytes), CAI_STREAM_NONE);
  host.array.device_type = CAI_DEVICE_CPU;
  host.array.device_id = 0;
  const Owned owned(host.array);
  const std::uint64_t target = value(stream());
  cai_array *none = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_array_publish(owned, nullptr, 0, target, &none, &error), CAI_ERR_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("on the host"), std::string::npos) << error.message;
  EXPECT_EQ(error.entry, CAI_ENTRY_STREAM);
  EXPECT_EQ(cai_array_publish_event(owned, target, &none, &error), CAI_ERR_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

// A borrowed array has no owner to say whose stream 2 it comes with: the view's own owner does.
TEST_F(Publish, ABorrowedArrayOnAThreadsStream) {
  Array array(memory(), CAI_STREAM_NONE);
  const Published view(&array.array, 2);
  EXPECT_EQ(view->owner->thread, cai_this_thread());
  EXPECT_EQ(begin_use({view}, value(stream())), CAI_OK);
  std::thread([&] {
    const With with(context0);
    cai_error error{};
    EXPECT_EQ(begin_use({view}, value(stream()), &error), CAI_ERR_ORDER);
    EXPECT_EQ(error.entry, CAI_ENTRY_STREAM);
  }).join();
}

// An owner that is too short to say who keeps its uses: the view still holds it.
TEST_F(Publish, OfAnOldProducer) {
  Producer old(0, 24);
  const std::uint64_t own = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, own);
  array.array.owner = old.owner();
  {
    gpu().simcuda_reset_counts();
    const Published same(&array.array, own);
    EXPECT_EQ(all_calls(), 0U);
    const Published other(&array.array, value(stream()));
    EXPECT_EQ(calls("cuStreamWaitEvent"), 1U);
    EXPECT_EQ(old.holders(), 3);
    consume(&array.array, value(stream()));
  }
  EXPECT_EQ(old.holders(), 1);
}

// The context that gives 1 and 2 their meaning cannot be found.
TEST_F(Publish, AsATensorOnADefaultStreamOfAFailingDriver) {
  const Owned array(memory(), CAI_STREAM_NONE);
  int failed = 0;
  for (const std::uint64_t target : {1, 2}) {
    for (const char *const call : {"cuCtxGetCurrent", "cuPointerGetAttributes"}) {
      for (std::uint64_t nth = 1; nth <= 3; ++nth) {
        DLManagedTensorVersioned *tensor = nullptr;
        cai_error error{};
        MUST(gpu().simcuda_fail(call, nth, 999));
        const cai_status status = cai_dlpack_write(array, target, &tensor, &error);
        MUST(gpu().simcuda_fail(call, 0, 0));
        EXPECT_EQ(tensor == nullptr, status != CAI_OK);
        if (tensor) {
          tensor->deleter(tensor);
        } else {
          ++failed;
          EXPECT_EQ(status, CAI_ERR_CUDA);
          EXPECT_EQ(error.native, 999);
        }
      }
    }
  }
  EXPECT_GE(failed, 2);
}

TEST_F(Publish, WithoutMemory) {
  Array borrowed(memory(), CAI_STREAM_STREAM, value(stream()));
  const Owned owned(borrowed.array);
  const std::uint64_t target = value(stream());
  const cai_array *const arrays[] = {&borrowed.array, owned};
  for (const cai_array *const each : arrays) {
    cai_array *view = nullptr;
    with_each_failing([&] { return cai_array_publish(each, nullptr, 0, target, &view, nullptr); },
                      [&] { EXPECT_EQ(view, nullptr); });
    ASSERT_NE(view, nullptr);
    EXPECT_EQ(view->stream, target);
    cai_array_release(view);
  }
}

// It is read-only for the others, and the producer waits for their reads.
TEST_F(Publish, ReclaimsWhatIsReadOnlyForOthers) {
  const std::uint64_t reader = value(stream());
  const std::uint64_t writer = value(stream());
  const Address to = memory();
  Array borrowed(memory(), CAI_STREAM_NONE);
  borrowed.array.flags |= CAI_FLAG_READONLY;
  const Owned array(borrowed.array);
  EXPECT_EQ(races([&] {
              EXPECT_EQ(begin_use({array}, reader), CAI_OK);
              copy(to, array->data, reader);
              EXPECT_EQ(end_use({array}, reader), CAI_OK);
              cai_error error{};
              EXPECT_EQ(cai_array_reclaim(array, writer, CAI_ACCESS_WRITE, &error), CAI_OK)
                  << error.message;
              fill(array->data, 3, writer);
            }),
            0U);
}

}  // namespace
}  // namespace test::publish_tests
