// SPDX-License-Identifier: BSD-3-Clause
// Arrays that are released while the driver fails, or says nothing, or there is no memory.
#include <string_view>
#include <vector>

#include "failing.hpp"
#include "releasing.hpp"

namespace test::failing_releases_tests {
namespace {

class FailingReleases : public Releasing {};

// A look in passing that fails has lost nothing.
TEST_F(FailingReleases, AfterALookThatFailed) {
  Owned array(memory(), CAI_STREAM_NONE);
  Array other(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t consumer = value(stream());
  Gate gate(consumer);
  EXPECT_EQ(end_use({array}, consumer), CAI_OK);
  array.release();
  EXPECT_EQ(end_use({&other}, consumer), CAI_OK);
  MUST(gpu().simcuda_fail("cuThreadExchangeStreamCaptureMode", 1, 999));
  EXPECT_EQ(end_use({&other}, consumer), CAI_ERR_CUDA);
  gate.open();
  EXPECT_EQ(left(1), 0);
  EXPECT_TRUE(array.ended());
}

// Work in a context that the driver says is destroyed, or unusable, never ends: an array that
// waited for it ends, and the caller is told. Other errors leave the array waiting.
TEST_F(FailingReleases, AfterAnEventThatFails) {
  struct Case {
    int status;
    bool is_gone;
  };
  constexpr Case cases[] = {{4, true},   {201, true}, {214, true}, {220, true},  {226, true},
                            {400, true}, {700, true}, {702, true}, {709, true},  {710, true},
                            {714, true}, {715, true}, {716, true}, {717, true},  {718, true},
                            {719, true}, {721, true}, {2, false},  {999, false}, {801, false}};
  for (const char *const name : {"cuEventQuery", "cuEventSynchronize"}) {
    for (const Case &each : cases) {
      SCOPED_TRACE(testing::Message() << name << " " << each.status);
      Handle primary = nullptr;  // which a failure may break for good
      MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
      Owned array(memory(primary), CAI_STREAM_NONE);
      EXPECT_EQ(end_use({array}, value(stream(non_blocking, primary))), CAI_OK);
      array.release();
      EXPECT_FALSE(array.ended());
      const bool waits = name == std::string_view("cuEventSynchronize");
      std::int64_t left_now = -1;
      cai_error error{};
      MUST(gpu().simcuda_fail(name, 1, each.status));
      EXPECT_EQ(cai_drain(waits, &left_now, &error), CAI_ERR_CUDA);
      EXPECT_EQ(error.native, each.status);
      EXPECT_NE(std::string_view(error.message).find(name), std::string_view::npos);
      EXPECT_EQ(array.ended(), each.is_gone);
      MUST(gpu().cuDevicePrimaryCtxReset_v2(1));
      MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
      EXPECT_EQ(left(1), 0);
      EXPECT_TRUE(array.ended());
      while (primary_active(1)) MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
    }
  }
}

// If no event can be recorded, only the waiting host knows when the work is complete.
TEST_F(FailingReleases, AfterARecordThatFailed) {
  const std::uint64_t producer = value(stream());
  for (const char *const name : {"cuEventRecord", "cuStreamGetCaptureInfo"}) {
    Owned array(memory(), CAI_STREAM_STREAM, producer);
    Gate gate(producer);
    EXPECT_EQ(end_use({array}, producer), CAI_OK);
    MUST(gpu().simcuda_fail(name, 1, 999));
    array.release();
    MUST(gpu().simcuda_fail(name, 0, 0));
    EXPECT_FALSE(array.ended()) << name;
    EXPECT_EQ(left(0), 1) << name;
    gate.open();
    EXPECT_EQ(left(1), 0) << name;
    EXPECT_TRUE(array.ended()) << name;
  }
}

// A reset ends what no event covered.
TEST_F(FailingReleases, AfterARecordThatFailedAndAReset) {
  Handle primary = nullptr;
  MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
  {
    const std::uint64_t on = value(stream(non_blocking, primary));
    Owned array(memory(primary), CAI_STREAM_STREAM, on);
    EXPECT_EQ(end_use({array}, on), CAI_OK);
    MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
    array.release();
    EXPECT_EQ(left(0), 1);
    EXPECT_FALSE(array.ended());
    MUST(gpu().cuDevicePrimaryCtxReset_v2(1));
    MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
    gpu().simcuda_reset_counts();
    EXPECT_EQ(left(0), 0);
    EXPECT_EQ(calls("cuCtxSynchronize"), 0U);
    EXPECT_TRUE(array.ended());
  }
  while (primary_active(1)) MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
}

// The host cannot wait for a context, and reports that; or learns that it was destroyed, with all
// that was in it.
TEST_F(FailingReleases, AfterAContextThatCannotBeWaitedFor) {
  struct Case {
    int status;
    bool is_gone, knows_context;
  };
  for (const auto &[status, is_gone, knows_context] :
       {Case{999, false, true}, Case{709, true, true}, Case{999, false, false}}) {
    SCOPED_TRACE(testing::Message() << status << " " << knows_context);
    Handle primary = nullptr;  // which a failure may break for good
    MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
    {
      const std::uint64_t on = value(stream(non_blocking, primary));
      Owned array(memory(primary), CAI_STREAM_STREAM, on);
      EXPECT_EQ(end_use({array}, on), CAI_OK);
      const char *const fails = knows_context ? "cuEventRecord" : "cuStreamGetId";
      for (int nth = 1; nth <= 10; ++nth) MUST(gpu().simcuda_fail(fails, nth, 999));
      if (!knows_context) MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
      array.release();
      MUST(gpu().simcuda_fail(fails, 0, 0));
      MUST(gpu().simcuda_fail("cuEventRecord", 0, 0));
      const Primary first(0);  // of which the host waits first
      const With there(knows_context ? primary : first.context);
      MUST(gpu().simcuda_fail("cuCtxSynchronize", 1, status));
      cai_error error{};
      EXPECT_EQ(cai_drain(1, nullptr, &error), is_gone ? CAI_OK : CAI_ERR_CUDA) << error.message;
      EXPECT_EQ(array.ended(), is_gone);
      if (!is_gone) {
        EXPECT_EQ(error.native, status);
      }
      MUST(gpu().simcuda_fail("cuCtxSynchronize", 0, 0));
      if (!knows_context) {  // nor when the contexts cannot even be counted
        MUST(gpu().simcuda_fail("cuDeviceGetCount", 1, 999));
        EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_ERR_CUDA);
        EXPECT_FALSE(array.ended());
      }
      if (!is_gone) {
        EXPECT_EQ(left(1), 0);
      }
      EXPECT_TRUE(array.ended());
    }
    MUST(gpu().cuDevicePrimaryCtxReset_v2(1));
    MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));  // a reset leaves the references
    while (primary_active(1)) MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
  }
}

// For an owner that has references, cai_owner_pending() asks the same.
TEST_F(FailingReleases, OfAnOwnerWhoseContextCannotBeWaitedFor) {
  const std::uint64_t on = value(stream());
  const Owned array(memory(), CAI_STREAM_STREAM, on);
  EXPECT_EQ(end_use({array}, on), CAI_OK);
  std::int64_t pending = -1;
  cai_error error{};
  MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
  EXPECT_EQ(cai_owner_pending(array->owner, 1, &pending, &error), CAI_OK) << error.message;
  EXPECT_EQ(pending, 1);
  MUST(gpu().simcuda_fail("cuCtxSynchronize", 1, 999));
  EXPECT_EQ(cai_owner_pending(array->owner, 2, &pending, &error), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, 999);
  EXPECT_EQ(cai_owner_pending(array->owner, 2, &pending, &error), CAI_OK) << error.message;
  EXPECT_EQ(pending, 0);
}

// The driver fails in all that a release asks of it: the memory goes when the host has waited in
// the stream's context, and no sooner.
TEST_F(FailingReleases, OfWhichTheDriverSaysNothing) {
  struct Case {
    const char *fails;
    bool per_thread, gives_up;
  };
  for (const auto &[fails, per_thread, gives_up] :
       {Case{"cuCtxGetCurrent", true, false}, Case{"cuCtxGetCurrent", true, true},
        Case{"cuCtxGetId", true, false}, Case{"cuEventRecord", false, false},
        Case{"cuEventRecord", false, true}, Case{"cuStreamGetId", false, false},
        Case{"cuStreamGetId", false, true}}) {
    const With there(context1);
    const std::uint64_t on = per_thread ? 2 : value(stream(non_blocking, context1));
    Owned array(memory(context1), CAI_STREAM_STREAM, on);
    Gate gate(on);
    cai_use use;
    const cai_array *const one = array;
    MUST(cai_use_begin(&use, &one, 1, on, nullptr, nullptr));
    if (!gives_up) MUST(cai_use_end(&use, nullptr));
    {
      const With here(context0);
      for (int nth = 1; nth <= 100; ++nth) MUST(gpu().simcuda_fail(fails, nth, 999));
      if (gives_up) cai_use_abandon(&use);
      array.release();
      MUST(gpu().simcuda_fail(fails, 0, 0));
      EXPECT_EQ(left(0), 1) << fails;
    }
    EXPECT_EQ(left(0), 1) << fails;
    EXPECT_FALSE(array.ended()) << fails;
    gate.open();
    EXPECT_EQ(left(1), 0) << fails;
    EXPECT_TRUE(array.ended()) << fails;
  }
}

// A stream of which the driver does not say whether it is being captured may be.
TEST_F(FailingReleases, AfterACaptureThatCouldNotBeAskedFor) {
  for (const std::uint64_t nth : {1, 2}) {
    const Handle on = stream();
    Owned array(memory(), CAI_STREAM_STREAM, value(on));
    array->owner->flags |= CAI_OWNER_STREAM_ORDERED;
    array->owner->freed_on = value(on);
    MUST(gpu().cuStreamBeginCapture_v2(on, 0));
    MUST(gpu().simcuda_fail("cuStreamGetCaptureInfo", nth, 999));
    array.release();
    MUST(gpu().simcuda_fail("cuStreamGetCaptureInfo", 0, 0));
    EXPECT_FALSE(array.ended()) << nth;
    Handle graph = nullptr;
    MUST(gpu().cuStreamEndCapture(on, &graph));
    MUST(gpu().cuGraphDestroy(graph));
    EXPECT_EQ(left(0), 0) << nth;
    EXPECT_TRUE(array.ended()) << nth;
  }
}

// Without memory to defer the end, the host waits; where it must not, the array stays forever.
TEST_F(FailingReleases, WithoutMemory) {
  for (const std::uint32_t flags : {uint32_t{0}, uint32_t{CAI_OWNER_STREAM_ORDERED}}) {
    for (const bool captures : {false, true}) {
      const Handle on = stream();
      auto *const ended = new bool(false);
      Array borrowed(memory(), CAI_STREAM_STREAM, value(on));
      cai_array *array = nullptr;
      MUST(cai_array_own(
          &borrowed.array, [](void *flag) { *static_cast<bool *>(flag) = true; }, ended, &array,
          nullptr));
      // By which LeakSanitizer finds them, to the very end.
      static auto *const staying = new std::vector<const void *>;
      staying->insert(staying->end(), {ended, array});
      array->owner->flags |= flags;
      if (flags) array->owner->freed_on = value(on);
      EXPECT_EQ(end_use({array}, value(on)), CAI_OK);
      if (captures) MUST(gpu().cuStreamBeginCapture_v2(on, 0));
      with_failing_new(0, [&] { cai_array_release(array); });
      EXPECT_EQ(*ended, !captures) << flags;
      Handle graph = nullptr;
      if (captures) MUST(gpu().cuStreamEndCapture(on, &graph));
      if (captures) MUST(gpu().cuGraphDestroy(graph));
    }
  }
}

}  // namespace
}  // namespace test::failing_releases_tests
