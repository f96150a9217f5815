// SPDX-License-Identifier: BSD-3-Clause
// Memory of an exporter's, who keeps no uses: each import of it has an owner of its own, others may
// have it from the exporter, and it is freed after what is queued on the stream that was said.
#include <memory>
#include <thread>

#include "cai/dlpack.h"
#include "capturing.hpp"
#include "kept.hpp"
#include "owned.hpp"

namespace test::imports_tests {
namespace {

class Imports : public Capturing {
 protected:
  struct Import : Owned {
    Import(Address data, std::uint64_t said, std::function<void()> then = nullptr)
        : Owned(data, CAI_STREAM_STREAM, said, std::move(then)) {
      get()->owner->flags |= CAI_OWNER_IMPORTED;
    }
  };

  // The stream that a dict says.
  static std::uint64_t told_by(const cai_array *array) {
    std::uint64_t storage[64];
    cai_interface said{};
    said.struct_size = sizeof said;
    EXPECT_EQ(cai_interface_write(array, 3, storage, sizeof storage, &said, nullptr), CAI_OK);
    return said.stream.integer;
  }

  static void use(const cai_array *array, std::uint64_t on, unsigned char value) {
    EXPECT_EQ(begin_use({array}, on), CAI_OK);
    fill(array->data, value, on);
    EXPECT_EQ(end_use({array}, on), CAI_OK);
  }
};

// One import publishes on another stream. Consumers of the other import continue on the stream that
// both have named, and so do consumers of its dict.
TEST_F(Imports, WhatOnePublishesComesAfterTheStreamThatBothSay) {
  enum Way { by_use, by_same_stream, by_dict, ways };
  for (int way = 0; way < ways; ++way) {
    for (const bool as_event : {false, true}) {
      for (const std::uint64_t own : {value(stream()), std::uint64_t{1}, std::uint64_t{2}}) {
        SCOPED_TRACE(testing::Message() << way << ", " << as_event << ", stream " << own);
        const Address data = memory();
        const std::uint64_t target = value(stream()), consumer = value(stream());
        const std::uint64_t reader = value(stream());
        EXPECT_EQ(races([&] {
                    const Import first(data, own), second(data, own);
                    // Who was told before the other one publishes works, and ends, after that.
                    if (way == by_dict) {
                      EXPECT_EQ(told_by(first), own);
                      fork(own, reader);
                    }
                    const Published view =
                        as_event ? Published::event(second, target) : Published(second, target);
                    if (way == by_use) use(first, own, 1);
                    if (way == by_same_stream) {
                      const cai_array *const all[] = {first};
                      std::uint64_t same = 0;
                      EXPECT_EQ(cai_arrays_same_stream(all, 1, &same, nullptr), CAI_OK);
                      EXPECT_EQ(same, own);
                      fill(data, 1, same);
                    }
                    if (way == by_dict) {
                      fill(data, 1, reader);
                      fork(reader, own);
                    }
                    use(view, consumer, 2);
                    use(first, own, 3);
                  }),
                  0U);
      }
    }
  }
}

// An exporter that was asked for stream 1 may have done nothing, if its work is on a blocking
// stream. A consumer told 1 by the import's dict, or its tensor, works on another blocking one.
TEST_F(Imports, OnStreamOneAreToldAfterBlockingStreams) {
  const Address data = memory();
  const std::uint64_t exporters = value(stream(0)), readers = value(stream(0));
  for (const bool asked : {true, false}) {
    for (const bool by_dict : {true, false}) {
      SCOPED_TRACE(testing::Message() << asked << by_dict);
      EXPECT_EQ(races([&] {
                  fill(data, 1, exporters);
                  const Import array(data, 1);
                  if (asked) array.get()->owner->flags |= CAI_OWNER_ASKED;
                  if (by_dict) {
                    EXPECT_EQ(told_by(array), 1U);
                  } else {
                    DLManagedTensorVersioned *tensor = nullptr;
                    ASSERT_EQ(cai_dlpack_write(array, 1, &tensor, nullptr), CAI_OK);
                    tensor->deleter(tensor);
                  }
                  fill(data, 2, readers);
                }),
                asked ? 0U : 1U);
    }
  }
  const Array borrowed(data, CAI_STREAM_STREAM, 1);  // whose lender knows of its work
  EXPECT_EQ(told_by(&borrowed.array), 1U);
}

// Two imports of one memory, of which one comes with a mask, are not the same; a use by one is
// found by the other.
TEST_F(Imports, OfOneMemoryDifferByTheirMasks) {
  const Address data = memory(), of_mask = memory();
  const std::uint64_t own = value(stream()), user = value(stream()), other = value(stream());
  EXPECT_EQ(races([&] {
              Array whole(data, CAI_STREAM_STREAM, own), mask(of_mask, CAI_STREAM_STREAM, own);
              const Owned masked(whole.mask(mask).array);
              masked->owner->flags |= CAI_OWNER_IMPORTED;
              const Import plain(data, own);
              for (const cai_array *first : {masked.get(), plain.get()}) {
                const cai_array *const second = first == plain.get() ? masked.get() : plain.get();
                use(first, user, 1);
                use(second, other, 2);
              }
            }),
            0U);
}

// Memory that is freed on another stream than the one that it was used on: an import names none.
TEST_F(Imports, AreFreedOnAnyStreamIfTheirOwnerNamesNone) {
  for (const bool imported : {true, false}) {
    const Address data = memory();
    const std::uint64_t own = value(stream()), freeing = value(stream());
    EXPECT_EQ(races([&] {
                Owned array(data, CAI_STREAM_STREAM, own, [&] { fill(data, 9, freeing); });
                array->owner->flags |= imported ? CAI_OWNER_IMPORTED : CAI_OWNER_STREAM_ORDERED;
                array->owner->freed_on = imported ? UINT64_MAX : freeing;
                use(array, own, 1);
              }),
              0U);
  }
}

// A 2 has no name on another thread, for which its array was published: stream 1 has, and comes
// after it.
TEST_F(Imports, OfAThreadsOwnStreamArePublishedForOthers) {
  constexpr std::uint64_t own = 2;
  const Address data = memory();
  const std::uint64_t target = value(stream()), consumer = value(stream());
  EXPECT_EQ(races([&] {
              const Import first(data, own), second(data, own);
              const Published view = Published::event(second, target);
              use(first, own, 1);
              std::thread([&] {
                const With with(context0);
                use(view, consumer, 2);
              }).join();
              use(first, own, 3);
            }),
            0U);
}

// An order that nothing needs is not paid for.
TEST_F(Imports, TakeNoMoreThanTheyNeed) {
  const Address data = memory();
  const std::uint64_t own = value(stream()), target = value(stream()), consumer = value(stream());
  const Import first(data, own), second(data, own);
  gpu().simcuda_reset_counts();
  use(first, own, 1);
  use(second, own, 1);
  EXPECT_EQ(all_calls() - calls("cuMemsetD8Async"), 0U);
  const Published view(second, target);
  gpu().simcuda_reset_counts();
  use(first, own, 1);
  EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
  // For the view's stream, and for the one that the exporter has named.
  EXPECT_EQ(begin_use({view}, consumer), CAI_OK);
  EXPECT_EQ(calls("cuEventRecord"), 2U);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 2U);
  EXPECT_EQ(end_use({view}, consumer), CAI_OK);
}

// Uses kept without a known array are found, too: by the array's bytes if the owner says that an
// array follows it; else by all imports.
TEST_F(Imports, FindWhatTheOwnerAloneIsTold) {
  const Address data = memory(), elsewhere = memory();
  const std::uint64_t user = value(stream()), other = value(stream());
  Owned made(data, CAI_STREAM_NONE), second(data, CAI_STREAM_NONE);
  Owned apart(elsewhere, CAI_STREAM_NONE);
  for (const Owned *const each : {&made, &second, &apart}) {
    each->get()->owner->flags |= CAI_OWNER_IMPORTED;
  }
  struct {
    cai_owner owner;
    cai_array array;
  } block{};
  const auto stay = [](cai_owner *) {};
  MUST(cai_owner_init(&block.owner, stay, stay, nullptr));
  block.owner.flags = CAI_OWNER_IMPORTED | CAI_OWNER_ARRAY_FOLLOWS;
  block.array = *made;
  block.array.owner = &block.owner;
  Producer unknown(CAI_OWNER_IMPORTED);
  for (cai_owner *const owner : {made->owner, &block.owner, unknown.owner()}) {
    EXPECT_EQ(races([&] {
                fill(data, 1, user);
                EXPECT_EQ(owner->used_on(owner, user, CAI_ACCESS_WRITE, nullptr), CAI_OK);
                use(second, other, 2);
              }),
              0U);
    fill(data, 1, user);
    EXPECT_EQ(owner->used_on(owner, user, CAI_ACCESS_WRITE, nullptr), CAI_OK);
    gpu().simcuda_reset_counts();
    use(apart, other, 1);
    EXPECT_EQ(calls("cuStreamWaitEvent"), owner == unknown.owner() ? 1U : 0U);
    std::int64_t left = 0;
    EXPECT_EQ(cai_owner_pending(owner, 2, &left, nullptr), CAI_OK);
    EXPECT_EQ(left, 0);
  }
  cai_owner_end(&block.owner, stay);
}

// Each import says the stream that it asked the exporter to put in order: uses there are found, and
// hold the tensor.
TEST_F(Imports, FindUsesOnTheStreamsThatTheExporterWasAskedFor) {
  struct Tensor : Import {
    Tensor(Address data, std::uint64_t asked) : Import(data, asked) {
      get()->owner->flags |= CAI_OWNER_ASKED;
      get()->owner->freed_on = UINT64_MAX;
    }
  };
  const Address data = memory();
  const std::uint64_t one = value(stream()), other = value(stream());
  EXPECT_EQ(races([&] {
              Tensor first(data, one);
              use(first, one, 1);
              first.release();
              EXPECT_FALSE(first.ended());
              const Tensor second(data, other);
              use(second, other, 2);
            }),
            0U);
  // Readers do not wait for each other.
  const Tensor first(data, one), second(data, other);
  const cai_use_options reads = access(CAI_ACCESS_READ);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(begin_use({first}, one, nullptr, &reads), CAI_OK);
  EXPECT_EQ(end_use({first}, one, nullptr, &reads), CAI_OK);
  EXPECT_EQ(begin_use({second}, other, nullptr, &reads), CAI_OK);
  EXPECT_EQ(end_use({second}, other, nullptr, &reads), CAI_OK);
  EXPECT_EQ(calls("cuEventRecord"), 2U);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
  const cai_array *const all[] = {first};
  std::uint64_t same = 0;
  cai_error error{};
  EXPECT_EQ(cai_arrays_same_stream(all, 1, &same, &error), CAI_ERR_ORDER);
  EXPECT_STREQ(error.message,
               "the stream is one that the exporter was asked for, and not its own: begin a use "
               "instead");
}

// The exporter frees on the stream that it said, and so not while that is being captured.
TEST_F(Imports, EndOutsideOfTheCaptureThatTheirStreamHasJoined) {
  const std::uint64_t own = value(stream()), producer = value(stream());
  const std::uint64_t target = value(stream()), other = value(stream());
  bool was_captured = false;
  Import array(memory(), own, [&] { was_captured = capturing(own); });
  Gate gate(producer);
  {
    const Published view(array, target, {producer});
    array.release();
    begin_capture(other, relaxed);
  }
  fork(other, own);
  gate.open();
  MUST(gpu().cuStreamSynchronize(handle(producer)));
  static_cast<void>(left_after_drain());
  EXPECT_FALSE(array.ended());
  fork(own, other);
  end_capture(other);
  static_cast<void>(left_after_drain());
  EXPECT_TRUE(array.ended());
  EXPECT_FALSE(was_captured);
}

// Work queued on the stream of a view's dict, which could not be recorded while that stream was
// being captured, is waited for: the exporter does not know of it.
TEST_F(Imports, EndAfterWhatAViewsDictHasTold) {
  const Address data = memory();
  const std::uint64_t own = value(stream()), target = value(stream());
  EXPECT_EQ(races([&] {
              Import array(data, own,
                           [&] { MUST(gpu().cuMemsetD8Async(data, 0, 1, handle(own))); });
              {
                const Published view(array, target);
                const std::uint64_t told = told_by(view);
                EXPECT_EQ(told, target);
                fill(data, 1, told);
                begin_capture(target, relaxed);
              }
              end_capture(target);
              array.release();
            }),
            0U);
}

// A view that comes back says the stream of its import, and the exporter frees the memory there.
TEST_F(Imports, EndAtOnceAfterTheDictOfAViewThatComesBack) {
  const Address data = memory();
  const std::uint64_t own = value(stream()), target = value(stream());
  EXPECT_EQ(races([&] {
              Import array(data, own,
                           [&] { MUST(gpu().cuMemsetD8Async(data, 0, 1, handle(own))); });
              {
                const Published away(array, target), back(away, own);
                EXPECT_EQ(told_by(back), own);
                fill(data, 1, own);
              }
              array.release();
              EXPECT_TRUE(array.ended());
            }),
            0U);
}

// Imports end within captures, of which each has uses that the next import comes after: they are
// forgotten as their stream captures anew, and, where it never does, once there are many.
TEST_F(Imports, ThatHaveEndedForgetTheCapturesThatAreOver) {
  constexpr std::size_t more_than_remembered = 100;
  const std::uint64_t producer = value(stream());
  for (const bool on_one_stream : {true, false}) {
    SCOPED_TRACE(on_one_stream ? "one stream" : "a stream for each");
    std::vector<Address> memories;
    std::vector<std::uint64_t> users;
    while (memories.size() < 2 * more_than_remembered) {
      memories.push_back(memory());
      users.push_back(on_one_stream && !users.empty() ? users.front() : value(stream()));
    }
    const auto capture = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        begin_capture(users[i], relaxed);
        Import ending(memories[i], producer);
        use(ending, users[i], 1);
        ending.release();
        end_capture(users[i]);
      }
      return Kept::now();
    };
    const std::size_t warm = on_one_stream ? 2 : more_than_remembered;
    static_cast<void>(Kept::now());  // it counts from the first time on
    const Kept before = capture(0, warm);
    EXPECT_EQ(capture(warm, warm + more_than_remembered).since(before), std::set<std::string>{});
  }
}

// A use that is kept of some import is no reason to ask the driver about arrays on which nothing
// can be pending.
TEST_F(Imports, AsksNoDriverForWhatIsNotOnTheGpu) {
  const std::uint64_t own = value(stream());
  const Import used(memory(), own);
  const auto import_of = [](const Array &borrowed) {
    auto made = std::make_unique<Owned>(borrowed.array);
    made->get()->owner->flags |= CAI_OWNER_IMPORTED;
    return made;
  };
  char bytes[count];
  Array host(reinterpret_cast<std::uintptr_t>(bytes), CAI_STREAM_NONE);
  host.array.device_type = CAI_DEVICE_CPU;
  host.array.device_id = 0;
  Array empty(0, CAI_STREAM_STREAM, own);
  empty.empty();
  const auto of_host = import_of(host), without_elements = import_of(empty);
  const cai_use_options chosen = access(CAI_ACCESS_READ);
  for (const std::uint64_t on : {std::uint64_t{1}, std::uint64_t{2}, value(stream())}) {
    SCOPED_TRACE(testing::Message() << "stream " << on);
    use(used, value(stream()), 1);
    for (const cai_use_options *options :
         {static_cast<const cai_use_options *>(nullptr), &chosen}) {
      const std::initializer_list<const cai_array *> both = {*of_host, *without_elements};
      gpu().simcuda_reset_counts();
      EXPECT_EQ(begin_use(both, on, nullptr, options), CAI_OK);
      EXPECT_EQ(end_use(both, on, nullptr, options), CAI_OK);
      EXPECT_EQ(all_calls(), 0U);
    }
  }
}

}  // namespace
}  // namespace test::imports_tests
