// SPDX-License-Identifier: BSD-3-Clause
// What a binding with a garbage collector asks for: whether uses are kept; and uses of memory that
// is reached through a foreign view, or named by a default stream of another context.
#include <atomic>

#include "gpu.hpp"
#include "owned.hpp"

namespace test::pending_tests {
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

// A use in order with the array's own stream is not kept, but still pending.
TEST_F(Pending, AStreamThatUsesAreInOrderWithCounts) {
  const Address data = memory();
  const std::uint64_t own = value(stream());
  Producer producer(data);
  producer.array.array.stream_kind = CAI_STREAM_STREAM;
  producer.array.array.stream = own;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(begin_use({&producer.array}, own), CAI_OK);
    Gate gate(own);
    fill(data, 1, own);
    ASSERT_EQ(end_use({&producer.array}, own), CAI_OK);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(producer.pending(0), 1);
    EXPECT_EQ(all_calls(), 0U);
    EXPECT_EQ(producer.pending(1), 1);
    EXPECT_EQ(calls("cuEventRecord"), 1U);
    EXPECT_EQ(producer.pending(1), 1);
    EXPECT_EQ(calls("cuEventRecord"), 1U);
    gate.open();
    if (i == 0) MUST(gpu().cuStreamSynchronize(handle(own)));
    EXPECT_EQ(producer.pending(i + 1), 0);
  }
  cai_array_release(&producer.array.array);
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

// Only an error that says that the context was destroyed means that nothing is pending any more.
TEST_F(Pending, AFailureIsNoCompletion) {
  const std::uint64_t mine = value(stream());
  Producer producer(memory());
  const auto use = [&] {
    fill(producer.array.array.data, 1, mine);
    ASSERT_EQ(end_use({&producer.array}, mine), CAI_OK);
  };
  for (const auto &[status, gone] : std::initializer_list<std::pair<std::int32_t, bool>>{
           {2, false},    // CUDA_ERROR_OUT_OF_MEMORY
           {304, false},  // CUDA_ERROR_OPERATING_SYSTEM
           {900, false},  // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
           {999, false},  // CUDA_ERROR_UNKNOWN
           {4, true},     // CUDA_ERROR_DEINITIALIZED
           {201, true},   // CUDA_ERROR_INVALID_CONTEXT
           {400, true},   // CUDA_ERROR_INVALID_HANDLE
           {709, true}}) {
    for (const std::int32_t ask : {1, 2}) {
      SCOPED_TRACE("status " + std::to_string(status) + ", ask " + std::to_string(ask));
      use();
      MUST(gpu().simcuda_fail(ask == 1 ? "cuEventQuery" : "cuEventSynchronize", 1, status));
      std::int64_t left = -1;
      cai_error error{};
      EXPECT_EQ(cai_owner_pending(&producer.owner, ask, &left, &error), CAI_ERR_CUDA);
      EXPECT_EQ(error.native, status);
      EXPECT_EQ(left, -1);
      EXPECT_EQ(producer.pending(0), gone ? 0 : 1);
      EXPECT_EQ(producer.pending(2), 0);
    }
  }
  cai_array_release(&producer.array.array);
  EXPECT_TRUE(producer.ended);
}

// Nor does a failure in another call end an array, and it is not that caller's.
TEST_F(Pending, AFailureInPassingIsNoEnd) {
  const std::uint64_t mine = value(stream());
  const Address other_data = memory();
  for (const bool with_context : {true, false}) {
    for (const std::int32_t status : {201, 999}) {
      if (with_context && status == 201) continue;
      Producer producer(memory());
      fill(producer.array.array.data, 1, mine);
      ASSERT_EQ(end_use({&producer.array}, mine), CAI_OK);
      cai_array_release(&producer.array.array);
      Array other(other_data, CAI_STREAM_STREAM, value(stream()));
      const Handle current = with_context ? context0 : nullptr;
      MUST(gpu().cuCtxSetCurrent(current));
      MUST(gpu().simcuda_fail("cuEventQuery", 1, status));
      cai_error error{};
      EXPECT_EQ(end_use({&other}, mine, &error), CAI_OK) << error.message;
      EXPECT_FALSE(producer.ended);
      MUST(gpu().simcuda_fail("cuEventQuery", 0, 0));
      MUST(gpu().cuCtxSetCurrent(context0));
      EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
      EXPECT_TRUE(producer.ended);
    }
  }
}

// After an error of the device nothing in its context will ever be pending again.
TEST_F(Pending, AnErrorOfTheDeviceEndsItAll) {
  Handle broken = nullptr;
  MUST(gpu().cuCtxCreate_v2(&broken, 0, 0));
  Producer producer(memory(broken));
  fill(producer.array.array.data, 1, 1);
  ASSERT_EQ(end_use({&producer.array}, 1), CAI_OK);
  EXPECT_EQ(producer.pending(0), 1);
  MUST(gpu().simcuda_fail("cuEventQuery", 1, 700));  // CUDA_ERROR_ILLEGAL_ADDRESS
  std::int64_t left = -1;
  EXPECT_EQ(cai_owner_pending(&producer.owner, 1, &left, nullptr), CAI_ERR_CUDA);
  EXPECT_EQ(producer.pending(0), 0);
  MUST(gpu().cuCtxDestroy_v2(broken));
  cai_array_release(&producer.array.array);
  EXPECT_TRUE(producer.ended);
}

// No event can be recorded on the stream that uses are in order with, so the host waits for its
// context, which the driver does not know any more.
TEST_F(Pending, AContextThatTheDriverDoesNotKnowHasNoWork) {
  const std::uint64_t own = value(stream());
  Producer producer(memory(), CAI_STREAM_STREAM);
  producer.array.array.stream = own;
  ASSERT_EQ(begin_use({&producer.array}, own), CAI_OK);
  ASSERT_EQ(end_use({&producer.array}, own), CAI_OK);
  MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
  std::int64_t left = -1;
  EXPECT_EQ(cai_owner_pending(&producer.owner, 1, &left, nullptr), CAI_OK);
  EXPECT_EQ(left, 1);
  MUST(gpu().simcuda_fail("cuCtxSynchronize", 1, 201));  // CUDA_ERROR_INVALID_CONTEXT
  EXPECT_EQ(producer.pending(2), 0);
  cai_array_release(&producer.array.array);
  EXPECT_TRUE(producer.ended);
}

TEST_F(Pending, StreamsGoWithTheMemorysContext) {
  Handle context = nullptr;
  MUST(gpu().cuCtxCreate_v2(&context, 0, 0));
  const std::uint64_t own = value(stream(non_blocking, context));
  Owned array(memory(context), CAI_STREAM_STREAM, own);
  ASSERT_EQ(begin_use({array}, own), CAI_OK);
  ASSERT_EQ(end_use({array}, own), CAI_OK);
  std::int64_t left = -1;
  EXPECT_EQ(cai_owner_pending(array->owner, 0, &left, nullptr), CAI_OK);
  EXPECT_EQ(left, 1);
  MUST(gpu().cuCtxDestroy_v2(context));
  EXPECT_EQ(cai_owner_pending(array->owner, 1, &left, nullptr), CAI_OK);
  EXPECT_EQ(left, 0);
}

// Uses go with their context, of which another one with the same handle tells: a context that was
// reset has the handle of the one before, one that is made may have that of one that was destroyed.
TEST_F(Pending, UsesGoWithTheirContexts) {
  Producer producer(memory());
  const bool handles_recur = std::getenv("SIMCUDA_REUSE_HANDLES") != nullptr;
  constexpr int rounds = 60;
  std::int64_t most = 0;
  const auto leave_use_in = [&](Handle context) {
    const std::uint64_t user = value(stream(non_blocking, context));
    const Gate gate(user);  // so that nobody finds the use complete
    ASSERT_EQ(cai_owner_used_on(&producer.owner, user, CAI_ACCESS_READ, nullptr), CAI_OK);
    most = std::max(most, producer.pending(0));
  };
  Handle context = nullptr;
  for (int i = 0; i < rounds; ++i) {
    MUST(gpu().cuDevicePrimaryCtxRetain(&context, 1));
    leave_use_in(context);
    MUST(gpu().cuDevicePrimaryCtxReset_v2(1));
  }
  // A later use does not wait for those that went.
  MUST(gpu().cuDevicePrimaryCtxRetain(&context, 1));
  const std::uint64_t user = value(stream(non_blocking, context));
  gpu().simcuda_reset_counts();
  EXPECT_EQ(begin_use({&producer.array}, user), CAI_OK);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
  while (primary_active(1)) MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));

  for (int i = 0; handles_recur && i < rounds; ++i) {
    MUST(gpu().cuCtxCreate_v2(&context, 0, 1));
    MUST(gpu().cuCtxPopCurrent_v2(&context));
    leave_use_in(context);
    MUST(gpu().cuCtxDestroy_v2(context));
  }
  EXPECT_LT(most, 20);

  // The last ones go as soon as the next context has the handle.
  MUST(gpu().cuDevicePrimaryCtxRetain(&context, 1));
  if (handles_recur) {
    MUST(gpu().cuCtxCreate_v2(&context, 0, 1));
  }
  EXPECT_EQ(producer.pending(1), 0);
  if (handles_recur) {
    MUST(gpu().cuCtxDestroy_v2(context));
  }
  MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
  cai_array_release(&producer.array.array);
  EXPECT_TRUE(producer.ended);
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
  for (const std::int32_t ask : {-1, 3}) {
    EXPECT_EQ(cai_owner_pending(&producer.owner, ask, &left, nullptr), CAI_ERR_VALUE);
  }
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
  ASSERT_EQ(test::end_arrays(list, 1, mine, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(root.pending(0), 1);
  cai_array_release(made);
  cai_array_release(&root.array.array);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_TRUE(root.ended);
}

// An array that comes with 1 means its memory's context, whichever is current for the caller.
TEST_F(Pending, PublishingOnTheLegacyStreamOfTheMemorysContext) {
  const Address data = memory(context1);
  const std::uint64_t theirs = value(stream(non_blocking, context1));
  Producer producer(data);
  fill(data, 5, theirs);
  ASSERT_EQ(end_use({&producer.array}, theirs), CAI_OK);
  EXPECT_EQ(Published(&producer.array.array, 1)->stream, 1U);
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
  out.struct_size = sizeof out;
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
}  // namespace test::pending_tests
