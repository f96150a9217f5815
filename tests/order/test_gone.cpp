// SPDX-License-Identifier: BSD-3-Clause
// Uses that were kept in a context which was destroyed before they were drained: they are over, and
// nothing waits for them.
#include <functional>

#include "owned.hpp"

namespace test::gone_tests {
namespace {

class Gone : public OnGpu {
 protected:
  // A use on a stream of a device's primary context, which is then destroyed with all in it.
  void leave_use_behind(const cai_array *array, int device) {
    const Primary primary(device);
    const std::uint64_t user = value(stream(non_blocking, primary.context));
    const Gate gate(user);  // so that nobody finds the use complete
    MUST(cai_owner_used_on(array->owner, user, CAI_ACCESS_WRITE, nullptr));
  }
};

TEST_F(Gone, NobodyWaitsForTheirUses) {
  const std::uint64_t mine = value(stream());
  const std::uint64_t other = value(stream());
  const std::function<cai_status(const cai_array *, cai_error *)> calls[] = {
      [&](const cai_array *array, cai_error *error) -> cai_status {
        return begin_use({array}, mine, error);
      },
      [&](const cai_array *array, cai_error *error) -> cai_status {
        return cai_array_reclaim(array, mine, CAI_ACCESS_WRITE, error);
      },
      [&](const cai_array *array, cai_error *error) -> cai_status {
        cai_array *view = nullptr;
        const cai_status status = cai_array_publish(array, nullptr, 0, mine, &view, error);
        cai_array_release(view);
        return status;
      },
      [&](const cai_array *array, cai_error *error) -> cai_status {
        cai_array *view = nullptr;
        const cai_status status = cai_array_publish_event(array, mine, &view, error);
        cai_array_release(view);
        return status;
      },
      [&](const cai_array *array, cai_error *error) -> cai_status {
        return cai_array_sync_host(array, error);
      },
      [&](const cai_array *array, cai_error *error) -> cai_status {
        return cai_owner_await_uses(array->owner, mine, CAI_ACCESS_WRITE, error);
      },
      [&](const cai_array *array, cai_error *error) -> cai_status {
        return cai_owner_await_uses(array->owner, 0, CAI_ACCESS_WRITE, error);
      },
      [&](const cai_array *array, cai_error *error) -> cai_status {
        // A dict of NONE is refused as long as uses are kept.
        if (array->stream_kind == CAI_STREAM_NONE) return CAI_OK;
        std::uint64_t storage[64];
        cai_interface out{};
        out.struct_size = sizeof out;
        return cai_interface_write(array, 3, storage, sizeof storage, &out, error);
      },
      [&](const cai_array *array, cai_error *error) -> cai_status {
        // There is no such stream.
        if (array->stream_kind == CAI_STREAM_NONE) return CAI_OK;
        std::uint64_t out = 0;
        return cai_arrays_same_stream(&array, 1, &out, error);
      },
      [&](const cai_array *array, cai_error *error) -> cai_status {
        cai_array_retain(array);
        return cai_array_release_on(array, mine, error);
      },
  };
  for (const std::uint32_t kind : {CAI_STREAM_NONE, CAI_STREAM_STREAM}) {
    for (const auto &call : calls) {
      for (const int device : {0, 1}) {
        SCOPED_TRACE("call " + std::to_string(&call - calls) + ", stream kind " +
                     std::to_string(kind) + ", device " + std::to_string(device));
        Owned array(memory(), kind, kind == CAI_STREAM_NONE ? 0 : other);
        leave_use_behind(array, device);
        ASSERT_FALSE(primary_active(device));
        gpu().simcuda_reset_counts();
        cai_error error{};
        EXPECT_EQ(call(array, &error), CAI_OK) << error.message;
        EXPECT_EQ(test::calls("cuEventQuery"), 0U);
        // The next context with the handle shows it to cai_drain(), too.
        const Primary next(device);
        array.release();
        EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_OK) << error.message;
        EXPECT_TRUE(array.ended());
      }
    }
  }
}

// Nor does a capture query whether they are pending.
TEST_F(Gone, ACaptureDoesNotAskForTheirUses) {
  const std::uint64_t mine = value(stream());
  Owned array(memory(), CAI_STREAM_NONE);
  leave_use_behind(array, 1);
  MUST(gpu().cuStreamBeginCapture_v2(handle(mine), 0));
  cai_error error{};
  EXPECT_EQ(begin_use({array}, mine, &error), CAI_OK) << error.message;
  EXPECT_EQ(end_use({array}, mine, &error), CAI_OK) << error.message;
  Handle graph = nullptr;
  MUST(gpu().cuStreamEndCapture(handle(mine), &graph));
  MUST(gpu().cuGraphDestroy(graph));
  const Primary next(1);
  array.release();
  EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_OK) << error.message;
}

// A use of a context that lives, and is not the stream's, is waited for as ever.
TEST_F(Gone, UsesOfOtherContextsThatLiveAreWaitedFor) {
  const Address data = memory();
  const std::uint64_t mine = value(stream());
  const std::uint64_t theirs = value(stream(non_blocking, context1));
  Owned array(data, CAI_STREAM_NONE);
  EXPECT_EQ(races([&] {
              MUST(begin_use({array}, theirs));
              fill(data, 1, theirs);
              MUST(end_use({array}, theirs));
              MUST(begin_use({array}, mine));
              fill(data, 2, mine);
              MUST(end_use({array}, mine));
            }),
            0U);
  EXPECT_EQ(read(data, mine), 2);
  array.release();
  const With with(context1);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
}

}  // namespace
}  // namespace test::gone_tests
