// SPDX-License-Identifier: BSD-3-Clause
// Memory that others free, beside captures: in passing, at a drain, and by who puts releases off.
#include <thread>

#include "capturing.hpp"
#include "owned.hpp"

namespace test::freeing_tests {
namespace {

class Freeing : public Capturing {};

// Memory freed by code without a stream: nothing of it ends in a capture that libcai sees, and
// elsewhere the thread may free.
TEST_F(Freeing, DoesNotTakePlaceInACaptureThatIsSeen) {
  for (const int mode : {global, thread_local_mode, relaxed}) {
    for (const bool seen : {true, false}) {
      const std::uint64_t consumer = value(stream()), other = value(stream());
      Address freed = 0;
      MUST(gpu().cuMemAlloc_v2(&freed, static_cast<std::size_t>(count)));
      Owned ending(freed, CAI_STREAM_NONE, 0, [&] { EXPECT_EQ(gpu().cuMemFree_v2(freed), 0); });
      const Owned array(memory(), CAI_STREAM_NONE);
      for (const cai_array *each : {ending.get(), array.get()}) {
        EXPECT_EQ(end_use({each}, value(stream())), CAI_OK);
      }
      ending.release();
      finish();
      EXPECT_FALSE(ending.ended());
      begin_capture(consumer, mode);
      const std::uint64_t on = seen ? consumer : other;
      EXPECT_EQ(begin_use({array.get()}, on), CAI_OK);
      EXPECT_EQ(end_use({array.get()}, on), CAI_OK);
      EXPECT_EQ(ending.ended(), !seen);
      end_capture(consumer);
      EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
      EXPECT_TRUE(ending.ended());
    }
  }
}

TEST_F(Freeing, ByOneselfSparesCaptures) {
  const std::uint64_t on = value(stream());
  Address freed = 0;
  const auto free = [](void *address) {
    EXPECT_EQ(gpu().cuMemFree_v2(*static_cast<Address *>(address)), 0);
  };
  const auto allocate = [&] { MUST(gpu().cuMemAlloc_v2(&freed, static_cast<std::size_t>(count))); };
  const auto none = [](void *) { ADD_FAILURE(); };
  for (const int mode : {global, thread_local_mode, relaxed}) {
    allocate();
    begin_capture(on, mode);
    EXPECT_EQ(cai_spare_captures(on, none, nullptr), 0);
    EXPECT_EQ(cai_spare_captures(0, free, &freed), 1);  // it sees no capture
    int kept = relaxed;
    MUST(gpu().cuThreadExchangeStreamCaptureMode(&kept));
    EXPECT_EQ(kept, global);  // the thread's own is back
    MUST(gpu().cuThreadExchangeStreamCaptureMode(&kept));
    end_capture(on);
  }
  EXPECT_EQ(cai_spare_captures(on, nullptr, nullptr), 0);  // there is nothing to call
  for (const std::uint64_t stream : {std::uint64_t{1}, std::uint64_t{2}, on}) {
    allocate();
    EXPECT_EQ(cai_spare_captures(stream, free, &freed), 1);
    int calls = 0;
    const auto count_it = [](void *it) { ++*static_cast<int *>(it); };
    // Without a current context, which 1 and 2 need to have a meaning.
    std::thread([&] { EXPECT_EQ(cai_spare_captures(stream, count_it, &calls), 1); }).join();
    MUST(gpu().simcuda_fail("cuThreadExchangeStreamCaptureMode", 1, 999));
    EXPECT_EQ(cai_spare_captures(stream, count_it, &calls), 1);
    MUST(gpu().simcuda_fail("cuThreadExchangeStreamCaptureMode", 0, 0));
    EXPECT_EQ(calls, 2);
  }
}

}  // namespace
}  // namespace test::freeing_tests
