// SPDX-License-Identifier: BSD-3-Clause
// What a binding with a garbage collector asks for: whether uses are kept; and uses of memory that
// is reached by way of somebody else's view, or named by a default stream of another context.
#include <atomic>

#include "gpu.hpp"

namespace test {
namespace {

// An owner as a binding fills it in, and arrays of it.
struct Producer {
  explicit Producer(Address data, std::uint32_t kind = CAI_STREAM_NONE) : array(data, kind) {
    owner.struct_size = sizeof owner;
    owner.retain = [](cai_owner *self) { ++of(self).holders; };
    owner.release = [](cai_owner *self) {
      if (--of(self).holders == 0) {
        cai_owner_end(self, [](cai_owner *last) {
          of(last).ended = true;
          if (of(last).held) cai_array_release(&of(last).held->array.array);
        });
      }
    };
    owner.used_on = cai_owner_used_on;
    owner.await_uses = cai_owner_await_uses;
    array.array.owner = &owner;
  }
  static Producer &of(cai_owner *self) { return *reinterpret_cast<Producer *>(self); }

  std::int64_t pending(std::int32_t ask) {
    std::int64_t left = -1;
    cai_error error{};
    EXPECT_EQ(cai_owner_pending(&owner, ask, &left, &error), CAI_OK) << error.message;
    return left;
  }

  cai_owner owner{};
  std::atomic<int> holders{1};
  bool ended = false;
  Producer *held = nullptr;
  Array array;
};

class Pending : public OnGpu {};

TEST_F(Pending, NothingWasKept) {
  Producer producer(memory());
  gpu().simcuda_reset_counts();
  EXPECT_EQ(producer.pending(0), 0);
  EXPECT_EQ(producer.pending(1), 0);
  EXPECT_EQ(all_calls(), 0U);
  cai_array_release(&producer.array.array);
  EXPECT_TRUE(producer.ended);
}

TEST_F(Pending, UsesAreForgottenOnceTheyAreComplete) {
  const Address data = memory();
  const std::uint64_t mine = value(stream());
  const std::uint64_t other = value(stream());
  Producer producer(data);
  for (const std::uint64_t on : {mine, other}) {
    ASSERT_EQ(begin_use({&producer.array}, on), CAI_OK);
    fill(data, 1, on);
    ASSERT_EQ(end_use({&producer.array}, on), CAI_OK);
  }
  gpu().simcuda_reset_counts();
  EXPECT_EQ(producer.pending(0), 2);
  EXPECT_EQ(all_calls(), 0U);
  MUST(gpu().cuStreamSynchronize(handle(mine)));
  MUST(gpu().cuStreamSynchronize(handle(other)));
  EXPECT_EQ(producer.pending(0), 2);
  EXPECT_EQ(producer.pending(1), 0);
  EXPECT_EQ(producer.pending(0), 0);
  // It goes on keeping uses, and ends as any other.
  fill(data, 1, mine);
  ASSERT_EQ(end_use({&producer.array}, mine), CAI_OK);
  EXPECT_EQ(producer.pending(0), 1);
  cai_array_release(&producer.array.array);
  EXPECT_FALSE(producer.ended);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_TRUE(producer.ended);
}

TEST_F(Pending, DrainGoesOnWithWhatTheEndedHeld) {
  Producer inner(memory());
  Producer outer(memory());
  outer.held = &inner;
  const std::uint64_t mine = value(stream());
  for (Producer *const producer : {&inner, &outer}) {
    fill(producer->array.array.data, 1, mine);
    ASSERT_EQ(end_use({&producer->array}, mine), CAI_OK);
  }
  cai_array_release(&outer.array.array);
  EXPECT_FALSE(outer.ended);
  std::int64_t left = -1;
  EXPECT_EQ(cai_drain(1, &left, nullptr), CAI_OK);
  EXPECT_TRUE(outer.ended);
  EXPECT_TRUE(inner.ended);
  EXPECT_EQ(left, 0);
}

TEST_F(Pending, TheHostWaits) {
  Producer producer(memory());
  const std::uint64_t mine = value(stream());
  fill(producer.array.array.data, 1, mine);
  ASSERT_EQ(end_use({&producer.array}, mine), CAI_OK);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(producer.pending(2), 0);
  EXPECT_EQ(calls("cuEventSynchronize"), 1U);
  cai_array_release(&producer.array.array);
  EXPECT_TRUE(producer.ended);
}

TEST_F(Pending, BadArguments) {
  Producer producer(memory());
  std::int64_t left = 7;
  EXPECT_EQ(cai_owner_pending(nullptr, 0, &left, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(cai_owner_pending(&producer.owner, 0, nullptr, nullptr), CAI_ERR_ARGUMENT);
  producer.owner.struct_size = 24;
  EXPECT_EQ(cai_owner_pending(&producer.owner, 0, &left, nullptr), CAI_ERR_ARGUMENT);
  EXPECT_EQ(left, 7);
}

// A view by a binding names its keeper; a view of that one, by libcai, must name the same.
TEST_F(Pending, AViewOfAStrangersViewKeepsUsesAtTheRoot) {
  const Address data = memory();
  const std::uint64_t mine = value(stream());
  Producer root(data), view(data);
  view.owner.used_on = nullptr;
  view.owner.await_uses = nullptr;
  view.owner.keeper = &root.owner;
  cai_array *made = nullptr;
  ASSERT_EQ(cai_array_slice(&view.array.array, nullptr, 0, &made, nullptr), CAI_OK);
  EXPECT_EQ(made->owner->keeper, &root.owner);
  fill(data, 1, mine);
  const cai_array *const list[] = {made};
  ASSERT_EQ(cai_arrays_end_use(list, 1, mine, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(root.pending(0), 1);
  cai_array_release(made);
  cai_array_release(&root.array.array);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_TRUE(root.ended);
}

// An array that comes with 1 means its memory's context, whichever is current for who says so.
TEST_F(Pending, PublishingOnTheLegacyStreamOfTheMemorysContext) {
  const Address data = memory(context1);
  const std::uint64_t theirs = value(stream(non_blocking, context1));
  Producer producer(data);
  fill(data, 5, theirs);
  ASSERT_EQ(end_use({&producer.array}, theirs), CAI_OK);
  cai_array copy = producer.array.array;
  cai_error error{};
  ASSERT_EQ(cai_array_publish(&copy, nullptr, 0, 1, &error), CAI_OK) << error.message;
  EXPECT_EQ(copy.stream, 1U);
  const Address to = memory(context1);
  {
    const With with(context1);
    test::OnGpu::copy(to, data, 1);
    EXPECT_EQ(read(to, 1), 5);
  }
  cai_array_release(&producer.array.array);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  {
    const With with(context1);
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  }
  EXPECT_TRUE(producer.ended);
}

TEST_F(Pending, AnEmptyArrayMayLeaveWithoutAStream) {
  const Address data = memory();
  const std::uint64_t mine = value(stream());
  Producer producer(data);
  ASSERT_EQ(end_use({&producer.array}, mine), CAI_OK);
  cai_interface out{};
  std::uint64_t storage[64];
  EXPECT_EQ(cai_interface_write(&producer.array.array, 3, storage, sizeof storage, &out, nullptr),
            CAI_ERR_EXPORT);
  producer.array.empty();
  EXPECT_EQ(cai_interface_write(&producer.array.array, 3, storage, sizeof storage, &out, nullptr),
            CAI_OK);
  cai_array_release(&producer.array.array);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
}

}  // namespace
}  // namespace test
