// SPDX-License-Identifier: BSD-3-Clause
// CAI_USE_FORK: a use takes its stream into the capture that its array's stream is in, and back.
#include <thread>

#include "capturing.hpp"

namespace test::forks_tests {
namespace {

class Forks : public Capturing {
 protected:
  // A consumer of an array's dict counts as using the stream that it names.
  static void tell(const cai_array *array) {
    std::uint64_t storage[64];
    cai_interface said{};
    said.struct_size = sizeof said;
    EXPECT_EQ(cai_interface_write(array, 3, storage, sizeof storage, &said, nullptr), CAI_OK);
  }

  static void fork_and_read(const cai_array *array, std::uint64_t consumer, Address to) {
    const cai_use_options options = access(CAI_ACCESS_READ, CAI_USE_FORK);
    cai_error error{};
    cai_use use;
    EXPECT_EQ(cai_use_begin(&use, &array, 1, consumer, &options, &error), CAI_OK) << error.message;
    copy(to, array->data, consumer);
    EXPECT_EQ(cai_use_end(&use, &error), CAI_OK) << error.message;
  }
};

// Stream 2 captures, which no array of the use came with: a dict of the owner's other one said it.
TEST_F(Forks, AForkOfAStream2ThatADictSaidIsJoinedBack) {
  const cai_use_options options = access(CAI_ACCESS_READ, CAI_USE_FORK);
  const std::uint64_t other = value(stream());
  const std::uint64_t consumer = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, 2);
  const Published view = Published::event(array, other);
  tell(array);
  MUST(gpu().cuStreamSynchronize(handle(other)));
  MUST(gpu().cuStreamSynchronize(handle(2)));
  begin_capture(2, global);
  cai_error error{};
  const cai_array *const used = view;
  cai_use use;
  EXPECT_EQ(cai_use_begin(&use, &used, 1, consumer, &options, &error), CAI_OK) << error.message;
  EXPECT_EQ(cai_use_end(&use, &error), CAI_OK) << error.message;
  end_capture(2);
}

// Every use on a stream that an earlier one has taken into the capture is joined back, whatever its
// array says: a second use of an array whose stream does not wait, and of one that came with None.
TEST_F(Forks, LaterUsesOnAForkAreJoinedBack) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  const Owned reclaimed(memory(), CAI_STREAM_STREAM, producer);
  reclaimed->owner->flags |= CAI_OWNER_RECLAIMS;
  const Owned none(memory(), CAI_STREAM_NONE);
  const Address to = memory();
  const cai_array *const arrays[] = {reclaimed, none};
  for (const cai_array *const second : arrays) {
    begin_capture(producer, global);
    for (const cai_array *const used : {arrays[0], second}) fork_and_read(used, consumer, to);
    end_capture(producer);
  }
}

// The dict of a view has named a stream that an earlier use has taken into the capture, and that is
// the first one found there: the next use is joined back to where the capture began.
TEST_F(Forks, AForkAfterAForkIsJoinedBackToTheCapture) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t told = value(stream());
  const std::uint64_t other = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, producer);
  array->owner->flags |= CAI_OWNER_RECLAIMS;
  const Published view(array, told);
  tell(view);
  MUST(gpu().cuCtxSynchronize());
  const Address to = memory();
  begin_capture(producer, global);
  for (const std::uint64_t consumer : {told, other}) fork_and_read(array, consumer, to);
  end_capture(producer);
}

// Only the thread that a stream 2 is of could join others back to it.
TEST_F(Forks, AForkAfterAForkOfAnotherThreadsStream2IsRefused) {
  const cai_use_options options = access(CAI_ACCESS_READ, CAI_USE_FORK);
  const std::uint64_t own = value(stream());
  const std::uint64_t told = value(stream());
  const std::uint64_t other = value(stream());
  const Owned on_2(memory(), CAI_STREAM_STREAM, 2), array(memory(), CAI_STREAM_STREAM, own);
  const Published view(array, told);
  tell(view);
  MUST(gpu().cuCtxSynchronize());
  const Address to = memory();
  begin_capture(2, relaxed);
  fork_and_read(on_2, told, to);
  std::thread([&] {
    cai_error error{};
    const cai_array *const used = array;
    cai_use use;
    EXPECT_EQ(cai_use_begin(&use, &used, 1, other, &options, &error), CAI_ERR_CAPTURE);
    EXPECT_NE(std::string(error.message).find("stream 2 of another thread"), std::string::npos)
        << error.message;
    EXPECT_FALSE(capturing(other));
  }).join();
  end_capture(2);
}

// An owner that keeps uses by itself can only make the consumer wait before it is in the capture,
// and then the wait is not in the graph.
TEST_F(Forks, ForkWithAKeeperIsRefused) {
  const cai_use_options options = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  static int asked;
  asked = 0;
  cai_owner keeper{};
  keeper.struct_size = sizeof keeper;
  keeper.retain = keeper.release = [](cai_owner *) {};
  keeper.used_on = [](cai_owner *, std::uint64_t, std::uint32_t, cai_error *) {
    return CAI_OK + 0;
  };
  keeper.await_uses = [](cai_owner *, std::uint64_t, std::uint32_t, cai_error *) {
    ++asked;
    return CAI_OK + 0;
  };
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, producer);
  array.array.owner = &keeper;
  begin_capture(producer, global);
  cai_error error{};
  EXPECT_EQ(begin_use({&array}, consumer, &error, &options), CAI_ERR_CAPTURE);
  EXPECT_EQ(error.index, 0);
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(capturing(consumer));
  end_capture(producer);
}

// Once it has joined, stream 1 could not be made to wait at the end.
TEST_F(Forks, ForkOfABlockingStreamWithAnArrayOnStream1IsRefused) {
  const cai_use_options options = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  const std::uint64_t producer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, producer), legacy(memory(), CAI_STREAM_STREAM, 1);
  const std::uint64_t other = value(stream());
  for (const std::uint64_t consumer : {value(stream(blocking)), std::uint64_t{2}}) {
    begin_capture(producer, global);
    cai_error error{};
    EXPECT_EQ(begin_use({&array, &legacy}, consumer, &error, &options), CAI_ERR_CAPTURE);
    EXPECT_EQ(error.index, 1) << error.message;
    EXPECT_NE(std::string(error.message).find("stream 1"), std::string::npos) << error.message;
    EXPECT_FALSE(capturing(consumer));
    end_capture(producer);
  }
  begin_capture(producer, global);
  const cai_array *const arrays[] = {&array.array, &legacy.array};
  cai_use use;
  EXPECT_EQ(cai_use_begin(&use, arrays, 2, other, &options, nullptr), CAI_OK);
  EXPECT_EQ(cai_use_end(&use, nullptr), CAI_OK);
  end_capture(producer);
}

}  // namespace
}  // namespace test::forks_tests
