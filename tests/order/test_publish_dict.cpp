// SPDX-License-Identifier: BSD-3-Clause
// What a dict says of an array that others may have used.
#include <cstring>
#include <thread>

#include "capturing.hpp"
#include "owned.hpp"

namespace test::publish_dict_tests {
namespace {

cai_interface room_for_a_dict() {
  cai_interface room{};
  room.struct_size = sizeof room;
  return room;
}

// Who reads a dict knows of no owner, so the stream that it says comes after what the owner keeps.
class PublishADict : public Capturing {
 protected:
  cai_status write(const cai_array *array) {
    storage_.resize(cai_interface_write_storage(array));
    error = {};
    return cai_interface_write(array, 3, storage_.data(), storage_.size(), &dict, &error);
  }

  // What the reader of the dict does, in the context of the memory.
  void read_and_consume(const cai_array *array) {
    dict = room_for_a_dict();
    EXPECT_EQ(write(array), CAI_OK) << error.message;
    fill(array->data, 9, dict.stream.integer);
  }

  cai_interface dict = room_for_a_dict();
  cai_error error{};

 private:
  std::vector<unsigned char> storage_;
};

TEST_F(PublishADict, OfAProducerThatReclaims) {
  const Producer producer(CAI_OWNER_RECLAIMS);
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  array.array.owner = producer.owner();
  const std::uint64_t consumer = value(stream());
  const auto use = [&] {
    EXPECT_EQ(begin_use({&array}, consumer), CAI_OK);
    fill(array.array.data, 1, consumer);
    EXPECT_EQ(end_use({&array}, consumer), CAI_OK);
  };
  EXPECT_EQ(races([&] {
              use();
              read_and_consume(&array.array);
            }),
            0U);
  use();
  EXPECT_EQ(write(&array.array), CAI_OK);
  // Once its stream has waited, nothing is left to wait for.
  gpu().simcuda_reset_counts();
  EXPECT_EQ(write(&array.array), CAI_OK);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
}

// The view is released while the driver records no event. The host waits for its stream, which may
// be destroyed then; not for stream 1, since that is no wait for blocking streams: others wait
// for it, as long as the array lives.
TEST_F(PublishADict, WhoseViewGoesWithoutAnEvent) {
  for (const bool is_legacy : {false, true}) {
    Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
    const Handle blocking = stream(0);
    Handle own = nullptr;
    MUST(gpu().cuStreamCreate(&own, non_blocking));
    cai_array *view = nullptr;
    const std::uint64_t target = is_legacy ? 1 : value(own);
    EXPECT_EQ(cai_array_publish(array, nullptr, 0, target, &view, nullptr), CAI_OK);
    EXPECT_EQ(write(view), CAI_OK);
    fill(array->data, 1, is_legacy ? value(blocking) : target);  // who reads it, without the owner
    MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
    cai_array_release(view);
    MUST(gpu().simcuda_fail("cuEventRecord", 0, 0));
    MUST(gpu().cuStreamDestroy_v2(own));
    const std::uint64_t next = value(stream());
    EXPECT_EQ(races([&] {
                EXPECT_EQ(begin_use({array}, next), CAI_OK);
                fill(array->data, 2, next);
                EXPECT_EQ(end_use({array}, next), CAI_OK);
              }),
              0U);
  }
}

TEST_F(PublishADict, OfUsesThatTheOwnerWasTold) {
  const std::uint64_t user = value(stream());
  for (const std::uint32_t kind : {CAI_STREAM_STREAM, CAI_STREAM_UNSTATED}) {
    Array borrowed(memory(), kind, kind == CAI_STREAM_STREAM ? value(stream()) : 0);
    const Owned array(borrowed.array);
    EXPECT_EQ(races([&] {
                fill(array->data, 1, user);
                ASSERT_EQ(cai_owner_used_on(array->owner, user, CAI_ACCESS_WRITE, nullptr), CAI_OK);
                read_and_consume(array);
              }),
              0U);
    EXPECT_EQ(dict.stream.integer, kind == CAI_STREAM_STREAM ? array->stream : 1);
  }
}

TEST_F(PublishADict, OfAnArrayWhoseCopyHasAnotherStream) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  const Published copy(array, value(stream()));
  EXPECT_EQ(races([&] {
              read_and_consume(copy);
              read_and_consume(array);
              read_and_consume(copy);
            }),
            0U);
}

TEST_F(PublishADict, OfAMask) {
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  Array mask(memory(), CAI_STREAM_STREAM, value(stream()));
  const Owned owned(array.mask(mask).array);
  const std::uint64_t user = value(stream());
  EXPECT_EQ(races([&] {
              fill(owned->mask->data, 1, user);
              ASSERT_EQ(cai_owner_used_on(owned->owner, user, CAI_ACCESS_WRITE, nullptr), CAI_OK);
              EXPECT_EQ(write(owned), CAI_OK) << error.message;
              fill(owned->mask->data, 2, dict.mask_interface->stream.integer);
            }),
            0U);
}

// Stream 1 is that of the memory's context, whichever is current.
TEST_F(PublishADict, OfTheLegacyStreamOfAnotherContext) {
  Owned array(memory(context1), CAI_STREAM_STREAM, 1);
  const std::uint64_t user = value(stream(non_blocking, context1));
  EXPECT_EQ(races([&] {
              fill(array->data, 1, user);
              ASSERT_EQ(cai_owner_used_on(array->owner, user, CAI_ACCESS_WRITE, nullptr), CAI_OK);
              EXPECT_EQ(write(array), CAI_OK) << error.message;
              const With with(context1);
              fill(array->data, 2, 1);
            }),
            0U);
  array.release();
  const With with(context1);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
}

// A thread's own stream means another one where a dict would say it.
TEST_F(PublishADict, OfAnotherThreadsStream) {
  const Owned array(memory(), CAI_STREAM_STREAM, 2);
  EXPECT_EQ(write(array), CAI_OK);
  std::thread([&] {
    EXPECT_EQ(write(array), CAI_ERR_EXPORT);
    EXPECT_EQ(error.entry, CAI_ENTRY_STREAM);
    EXPECT_NE(std::string(error.message).find("cai_array_publish_event"), std::string::npos)
        << error.message;
  }).join();
}

// Nothing is written if the stream cannot wait.
TEST_F(PublishADict, MayFail) {
  const Owned array(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t user = value(stream());
  Gate gate(user);
  ASSERT_EQ(cai_owner_used_on(array->owner, user, CAI_ACCESS_WRITE, nullptr), CAI_OK);
  const cai_interface before = dict;
  MUST(gpu().simcuda_fail("cuStreamWaitEvent", 1, 999));
  EXPECT_EQ(write(array), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, 999);
  EXPECT_EQ(std::memcmp(&before, &dict, sizeof before), 0);
  MUST(gpu().cuStreamBeginCapture_v2(handle(array->stream), 0));
  EXPECT_EQ(write(array), CAI_ERR_CAPTURE);
  Handle graph = nullptr;
  MUST(gpu().cuStreamEndCapture(handle(array->stream), &graph));
  MUST(gpu().cuGraphDestroy(graph));
  gate.open();
  EXPECT_EQ(write(array), CAI_OK) << error.message;
}

TEST_F(PublishADict, CannotSayNoneOfWhatIsInUse) {
  const Owned array(memory(), CAI_STREAM_NONE);
  EXPECT_EQ(write(array), CAI_OK) << error.message;
  EXPECT_EQ(end_use({array}, value(stream())), CAI_OK);
  EXPECT_EQ(write(array), CAI_ERR_EXPORT);
  EXPECT_EQ(error.entry, CAI_ENTRY_STREAM);
  const std::uint64_t target = value(stream());
  const Published view(array, target);
  EXPECT_EQ(write(view), CAI_OK) << error.message;
  EXPECT_EQ(dict.stream.integer, target);
  // An event is nothing that a dict could carry.
  EXPECT_EQ(write(Published::event(view, target)), CAI_ERR_EXPORT);
}

// A consumer of the dict may use the mask alone, and is told only of the mask's stream.
TEST_F(PublishADict, OfAMaskThatIsUsedAlone) {
  const std::uint64_t of_mask = value(stream()), target = value(stream());
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  Array mask(memory(), CAI_STREAM_STREAM, of_mask);
  const Owned owned(array.mask(mask).array);
  EXPECT_EQ(races([&] {
              ASSERT_EQ(write(owned), CAI_OK) << error.message;
              const Published view(owned, target);
              fill(owned->mask->data, 1, dict.mask_interface->stream.integer);
              EXPECT_EQ(begin_use({view}, consumer), CAI_OK);
              fill(view->mask->data, 2, consumer);
              EXPECT_EQ(end_use({view}, consumer), CAI_OK);
            }),
            0U);
}

// Two imports of one exporter's memory have owners of their own, which find what the other keeps.
TEST_F(PublishADict, OfAnImportThatIsNotTheOnlyOne) {
  enum Way { by_dict_of_a_view, by_dict, published, as_an_event, captured, let_go, ways };
  for (int way = 0; way < ways; ++way) {
    SCOPED_TRACE(way);
    const Address data = memory();
    const std::uint64_t own = value(stream()), target = value(stream());
    const std::uint64_t producer = value(stream()), consumer = value(stream());
    const Owned first(data, CAI_STREAM_STREAM, own);
    Owned second(data, CAI_STREAM_NONE);
    first->owner->flags |= CAI_OWNER_IMPORTED;
    second->owner->flags |= CAI_OWNER_IMPORTED;
    EXPECT_EQ(races([&] {
                std::optional<Published> view;
                if (way == by_dict) {
                  EXPECT_EQ(begin_use({second}, producer, &error), CAI_OK) << error.message;
                  fill(data, 1, producer);
                  EXPECT_EQ(end_use({second}, producer), CAI_OK);
                  read_and_consume(first);
                  return finish();
                }
                if (way == captured || way == let_go) {
                  begin_capture(own, relaxed);
                  fork(own, producer);
                  fork(own, consumer);
                  EXPECT_EQ(begin_use({second}, producer, &error), CAI_OK) << error.message;
                  fill(data, 1, producer);
                  if (way == captured) {
                    EXPECT_EQ(end_use({second}, producer), CAI_OK);
                  } else {
                    cai_array_retain(second);
                    EXPECT_EQ(cai_array_release_on(second, producer, &error), CAI_OK)
                        << error.message;
                  }
                  EXPECT_EQ(begin_use({first}, consumer, &error), CAI_OK) << error.message;
                  fill(data, 2, consumer);
                  EXPECT_EQ(end_use({first}, consumer), CAI_OK);
                  fork(producer, own);
                  fork(consumer, own);
                  return launch(own);
                }
                if (way == by_dict_of_a_view) {
                  view.emplace(first, target);
                  read_and_consume(*view);
                }
                if (way == published || way == as_an_event) fill(data, 1, producer);
                if (way == published)
                  view.emplace(first, target, std::initializer_list<std::uint64_t>{producer});
                if (way == as_an_event) view.emplace(Published::event(first, producer));
                EXPECT_EQ(begin_use({second}, consumer, &error), CAI_OK) << error.message;
                fill(data, 2, consumer);
                EXPECT_EQ(end_use({second}, consumer), CAI_OK);
                finish();
              }),
              0U);
    second.release();
    // What a graph held is released on a thread of the driver.
    while (!second.ended()) static_cast<void>(left_after_drain(1));
  }
}

}  // namespace
}  // namespace test::publish_dict_tests
