// SPDX-License-Identifier: BSD-3-Clause
// Kept uses where contexts matter: none current, another device's, a part of a device's, and
// primary ones that are not active and stay so.
#include <dlfcn.h>

#include "owned.hpp"

namespace test::devices_tests {
namespace {

class Devices : public OnGpu {
 protected:
  // A write here, then one there, both known to libcai.
  void expect_order(const cai_array *array, std::uint64_t first, std::uint64_t second) {
    const auto use = [&](std::uint64_t stream) {
      cai_error error{};
      EXPECT_EQ(begin_use({array}, stream, &error), CAI_OK) << error.message;
      fill(array->data, 1, stream);
      EXPECT_EQ(end_use({array}, stream, &error), CAI_OK) << error.message;
    };
    // In whatever context they are, the host has seen them complete before anything else.
    const auto wait = [&] {
      for (const std::uint64_t each : {first, second}) {
        MUST(gpu().cuStreamSynchronize(handle(each)));
      }
    };
    EXPECT_EQ(races([&] {
                fill(array->data, 1, first);
                fill(array->data, 2, second);
                wait();
              }),
              1U);
    EXPECT_EQ(races([&] {
                use(first);
                use(second);
                use(first);
                wait();
              }),
              0U);
  }

  void expect_default_streams_apart(Handle part, Handle primary, std::uint64_t regular);
  void expect_no_per_thread_stream(Handle part, Handle primary, std::uint64_t of_part);
};

// Stream 1 is that of the array's context, and of the consumer's current one: `part` is a green
// context of `primary`.
void Devices::expect_default_streams_apart(Handle part, Handle primary, std::uint64_t regular) {
  Owned array(memory(primary), CAI_STREAM_STREAM, 1);
  Owned pending(memory(primary), CAI_STREAM_NONE);
  cai_error error{};
  const auto use_there = [&](bool ordered) {
    {
      const With with(part);
      if (ordered) {
        EXPECT_EQ(begin_use({array}, 1, &error), CAI_OK) << error.message;
      }
      fill(array->data, 1, 1);
      if (ordered) {
        EXPECT_EQ(end_use({array}, 1, &error), CAI_OK) << error.message;
      }
    }
    const With with(primary);
    fill(array->data, 2, 1);
    MUST(gpu().cuCtxSynchronize());
  };
  EXPECT_EQ(races([&] { use_there(false); }), 1U);
  EXPECT_EQ(races([&] { use_there(true); }), 0U);
  EXPECT_EQ(races([&] {
              const std::uint64_t streams[] = {1};
              cai_array *view = nullptr;
              {
                const With with(part);
                fill(pending->data, 3, 1);
                EXPECT_EQ(cai_array_publish(pending, streams, 1, regular, &view, &error), CAI_OK)
                    << error.message;
              }
              const With with(primary);
              EXPECT_EQ(begin_use({view}, 1, &error), CAI_OK) << error.message;
              fill(pending->data, 4, 1);
              EXPECT_EQ(end_use({view}, 1, &error), CAI_OK) << error.message;
              cai_array_release(view);
              MUST(gpu().cuCtxSynchronize());
            }),
            0U);
  array.release();
  pending.release();
  for (const Handle context : {primary, part}) {
    const With with(context);
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  }
}

TEST_F(Devices, NoneIsCurrent) {
  Owned array(memory(), CAI_STREAM_NONE);
  Owned other(memory(), CAI_STREAM_NONE);
  const std::uint64_t streams[] = {value(stream()), value(stream())};
  const std::uint64_t target = value(stream());
  cai_error error{};
  const auto work = [&](Address data, std::uint64_t on) {
    const With with(context0);
    fill(data, 1, on);
  };
  {
    Handle popped = nullptr;
    MUST(gpu().cuCtxPopCurrent_v2(&popped));
    ASSERT_EQ(current(), nullptr);
    EXPECT_EQ(races([&] {
                EXPECT_EQ(begin_use({array}, target, &error), CAI_OK) << error.message;
                work(array->data, target);
                EXPECT_EQ(end_use({array}, target, &error), CAI_OK) << error.message;
                EXPECT_EQ(cai_array_reclaim(array, streams[0], CAI_ACCESS_WRITE, &error), CAI_OK)
                    << error.message;
                work(array->data, streams[0]);
              }),
              0U);
    const Published published(array, target, {streams[0], streams[1]});
    const Published copy = Published::event(published, target);
    EXPECT_EQ(cai_owner_used_on(array->owner, target, CAI_ACCESS_READ, &error), CAI_OK)
        << error.message;
    EXPECT_EQ(cai_owner_await_uses(array->owner, target, CAI_ACCESS_WRITE, &error), CAI_OK)
        << error.message;
    EXPECT_EQ(cai_owner_await_uses(array->owner, 0, CAI_ACCESS_WRITE, &error), CAI_OK)
        << error.message;
    EXPECT_EQ(cai_array_sync_host(array, &error), CAI_OK) << error.message;
    EXPECT_EQ(cai_array_release_on(other, target, &error), CAI_OK) << error.message;
    other.gone();
    EXPECT_EQ(cai_drain(0, nullptr, &error), CAI_OK) << error.message;
    for (const std::uint64_t one : {1U, 2U}) {
      EXPECT_EQ(cai_array_reclaim(array, one, CAI_ACCESS_WRITE, &error), CAI_ERR_ARGUMENT);
      const Published on_default(copy, one);  // of the memory's context
      cai_array *view = nullptr;
      EXPECT_EQ(cai_array_publish(copy, &one, 1, target, &view, &error), CAI_ERR_ARGUMENT);
      EXPECT_EQ(error.index, 0);
      EXPECT_EQ(cai_array_publish_event(copy, one, &view, &error), CAI_ERR_ARGUMENT);
      EXPECT_EQ(cai_array_release_on(array, one, &error), CAI_ERR_ARGUMENT);
      EXPECT_EQ(cai_owner_used_on(array->owner, one, CAI_ACCESS_READ, &error), CAI_ERR_ARGUMENT);
      EXPECT_EQ(end_use({array}, one, &error), CAI_ERR_ARGUMENT);
    }
    EXPECT_EQ(current(), nullptr);
    MUST(gpu().cuCtxPushCurrent_v2(context0));
  }
}

TEST_F(Devices, NoPrimaryContextIsMade) {
  ASSERT_FALSE(primary_active(0) || primary_active(1));
  const Owned array(memory(), CAI_STREAM_NONE);
  const Owned unstated(memory(), CAI_STREAM_UNSTATED);
  const std::uint64_t consumer = value(stream());
  gpu().simcuda_reset_counts();
  EXPECT_EQ(begin_use({array, unstated}, consumer), CAI_OK);
  EXPECT_EQ(end_use({array, unstated}, consumer), CAI_OK);
  EXPECT_EQ(cai_array_reclaim(unstated, 1, CAI_ACCESS_WRITE, nullptr), CAI_OK);
  const Published published(array, 1);
  Owned pending(memory(), CAI_STREAM_NONE);
  EXPECT_EQ(end_use({pending}, consumer), CAI_OK);
  pending.release();
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(calls("cuDevicePrimaryCtxRetain"), 0U);
  EXPECT_FALSE(primary_active(0) || primary_active(1));
}

// Events are waited for across devices, whether or not these see each other's memory.
TEST_F(Devices, TwoWithAndWithoutPeerAccess) {
  const auto enable = driver_function<int (*)(Handle, unsigned)>("cuCtxEnablePeerAccess");
  for (const bool peers : {false, true}) {
    if (peers) {
      MUST(enable(context1, 0));
      const With with(context1);
      MUST(enable(context0, 0));
    }
    Owned array(memory(), CAI_STREAM_NONE);
    Owned of_stream(memory(), CAI_STREAM_STREAM, value(stream(non_blocking, context1)));
    const std::uint64_t here = value(stream());
    const std::uint64_t there = value(stream(non_blocking, context1));
    expect_order(array, here, there);
    expect_order(of_stream, here, there);
    array.release();
    of_stream.release();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    const With with(context1);
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_TRUE(array.ended() && of_stream.ended());
  }
}

// The driver knows no stream 2 of a green context. One that an array came with is of its memory's
// context.
void Devices::expect_no_per_thread_stream(Handle part, Handle primary, std::uint64_t of_part) {
  Owned none(memory(primary), CAI_STREAM_NONE);
  Owned of_stream(memory(primary), CAI_STREAM_STREAM, of_part);
  Owned of_thread(memory(primary), CAI_STREAM_STREAM, 2);
  cai_error error{};
  cai_array *view = nullptr;
  const std::uint64_t per_thread[] = {2};
  const With with(part);
  const auto expect_refused = [&](cai_status status, std::int32_t index = -1) {
    EXPECT_EQ(status, CAI_ERR_ARGUMENT);
    EXPECT_EQ(error.entry, CAI_ENTRY_STREAM);
    EXPECT_EQ(error.index, index);
    EXPECT_NE(std::string(error.message).find("green context"), std::string::npos) << error.message;
    error = {};
  };
  expect_refused(begin_use({none}, 2, &error));
  expect_refused(begin_use({of_stream}, 2, &error));
  expect_refused(begin_use({of_thread}, 2, &error));
  expect_refused(cai_array_reclaim(of_stream, 2, CAI_ACCESS_READ, &error));
  expect_refused(cai_array_publish(none, per_thread, 1, of_part, &view, &error), 0);
  expect_refused(cai_array_publish_event(none, 2, &view, &error));
  expect_refused(cai_array_release_on(none, 2, &error));
  expect_refused(cai_owner_used_on(none->owner, 2, CAI_ACCESS_WRITE, &error));
  EXPECT_EQ(view, nullptr);
  EXPECT_EQ(begin_use({of_thread}, of_part, &error), CAI_OK) << error.message;
  fill(of_thread->data, 1, of_part);
  EXPECT_EQ(end_use({of_thread}, of_part, &error), CAI_OK) << error.message;
  of_thread.release();
  EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_OK) << error.message;
}

// A green context is a part of a device: its streams have its context, and the primary's memory.
TEST_F(Devices, PartOfOne) {
  struct Resource {
    int type;
    unsigned char own[92];
    unsigned count, least, alignment;
    unsigned char rest[28];
    void *next;
  };
  const auto find = []<class... Arguments>(int (*&function)(Arguments...), const char *name) {
    function = driver_function<int (*)(Arguments...)>(name);
  };
  int (*get_resource)(int, Resource *, int) = nullptr;
  int (*generate)(void **, Resource *, unsigned) = nullptr;
  int (*create)(Handle *, void *, int, unsigned) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*create_stream)(Handle *, Handle, unsigned, int) = nullptr;
  int (*convert)(Handle *, Handle) = nullptr;
  find(get_resource, "cuDeviceGetDevResource");
  find(generate, "cuDevResourceGenerateDesc");
  find(create, "cuGreenCtxCreate");
  find(destroy, "cuGreenCtxDestroy");
  find(create_stream, "cuGreenCtxStreamCreate");
  find(convert, "cuCtxFromGreenCtx");
  constexpr int sm = 1;
  constexpr unsigned default_stream = 1;

  Handle primary = nullptr;
  MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 0));
  {
    Resource all{};
    void *descriptor = nullptr;
    Handle green = nullptr;
    Handle of_green = nullptr;
    Handle context = nullptr;
    MUST(get_resource(0, &all, sm));
    MUST(generate(&descriptor, &all, 1));
    MUST(create(&green, descriptor, 0, default_stream));
    MUST(convert(&context, green));
    MUST(create_stream(&of_green, green, non_blocking, 0));
    const std::uint64_t regular = value(stream(non_blocking, primary));
    {
      Owned array(memory(primary), CAI_STREAM_NONE);
      Owned of_stream(memory(primary), CAI_STREAM_STREAM, value(of_green));
      expect_order(array, value(of_green), regular);
      expect_order(of_stream, value(of_green), regular);
      expect_default_streams_apart(context, primary, regular);
      expect_no_per_thread_stream(context, primary, value(of_green));
      array.release();
      of_stream.release();
      EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
      const With with(context);
      EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
      EXPECT_TRUE(array.ended() && of_stream.ended());
    }
    MUST(gpu().cuStreamDestroy_v2(of_green));
    MUST(destroy(green));
  }
  while (primary_active(0)) MUST(gpu().cuDevicePrimaryCtxRelease_v2(0));
}

}  // namespace
}  // namespace test::devices_tests
