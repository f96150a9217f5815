// SPDX-License-Identifier: BSD-3-Clause
// No driver, or one that libcai cannot use: there are no GPUs, and the CPU serves in full. Driver
// and library path are the environment's.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "cai/device.h"

namespace test::cpu_alone_tests {
namespace {

constexpr cai_device cpu{CAI_DEVICE_CPU, 0};
constexpr cai_device gpu{CAI_DEVICE_CUDA, 0};

TEST(CpuAlone, ThereAreNoGpus) {
  cai_error error{};
  std::int32_t count = -1;
  ASSERT_EQ(cai_device_count(CAI_DEVICE_CUDA, &count, &error), CAI_OK) << error.message;
  EXPECT_EQ(count, 0);
  ASSERT_EQ(cai_device_count(CAI_DEVICE_CPU, &count, &error), CAI_OK);
  EXPECT_EQ(count, 1);

  cai_device device{-1, -1};
  cai_device_guard guard{};
  cai_device_info info{};
  info.struct_size = sizeof info;
  cai_stream *stream = nullptr;
  cai_event *event = nullptr;
  std::int32_t yes = -1;
  const std::uint8_t uuid[16]{};
  const cai_status statuses[] = {
      cai_device_parse("gpu", &device, &error),
      cai_device_parse("gpu:0", &device, &error),
      cai_device_parse("gpu:free", &device, &error),
      cai_device_current(CAI_DEVICE_CUDA, &device, &error),
      cai_device_set_current(gpu, &error),
      cai_device_enter(gpu, &guard, &error),
      cai_device_describe(gpu, &info, &error),
      cai_device_summary(gpu, nullptr, 0, nullptr, &error),
      cai_device_find(uuid, &device, &error),
      cai_device_memory(gpu, nullptr, nullptr, &error),
      cai_device_most_free(CAI_DEVICE_CUDA, &device, &error),
      cai_device_can_access(cpu, gpu, &yes, &error),
      cai_device_synchronize(gpu, &error),
      cai_device_reset(gpu, 0, &error),
      cai_device_set_cache(gpu, 0, &error),
      cai_device_trim_cache(gpu, 0, &error),
      cai_stream_create(gpu, CAI_MODE_ASYNC, 0, &stream, &error),
      cai_stream_wrap(gpu, 1, nullptr, nullptr, &stream, &error),
      cai_stream_current(gpu, &stream, &error),
      cai_event_create(gpu, 0, &event, &error),
  };
  for (const cai_status status : statuses) EXPECT_EQ(status, CAI_ERR_DRIVER);
  EXPECT_EQ(device.type, -1);
  EXPECT_EQ(stream, nullptr);
  EXPECT_EQ(event, nullptr);
  EXPECT_EQ(yes, -1);
}

TEST(CpuAlone, Devices) {
  cai_error error{};
  cai_device device{};
  EXPECT_EQ(cai_device_parse("cpu", &device, &error), CAI_OK);
  EXPECT_EQ(cai_device_current(CAI_DEVICE_CPU, &device, &error), CAI_OK);
  EXPECT_EQ(cai_device_most_free(CAI_DEVICE_CPU, &device, &error), CAI_OK);
  EXPECT_EQ(device.type, int{CAI_DEVICE_CPU});
  EXPECT_EQ(cai_device_set_current(cpu, &error), CAI_OK);
  cai_device_guard guard{};
  EXPECT_EQ(cai_device_enter(cpu, &guard, &error), CAI_OK);
  EXPECT_EQ(cai_device_leave(&guard, &error), CAI_OK);
  std::uint64_t length = 0;
  EXPECT_EQ(cai_device_summary(cpu, nullptr, 0, &length, &error), CAI_OK);
  EXPECT_GT(length, 5U);
  EXPECT_EQ(cai_device_set_cache(cpu, 1, &error), CAI_OK);
  EXPECT_EQ(cai_device_trim_cache(cpu, 1, &error), CAI_OK);
}

TEST(CpuAlone, StreamsAndEvents) {
  for (const std::uint32_t mode : {CAI_MODE_DEFAULT, CAI_MODE_SYNC, CAI_MODE_ASYNC}) {
    cai_error error{};
    cai_stream *stream = nullptr, *other = nullptr;
    cai_event *event = nullptr;
    ASSERT_EQ(cai_stream_create(cpu, mode, 0, &stream, &error), CAI_OK) << error.message;
    ASSERT_EQ(cai_stream_create(cpu, CAI_MODE_ASYNC, 0, &other, &error), CAI_OK);
    ASSERT_EQ(cai_event_create(cpu, CAI_EVENT_TIMING, &event, &error), CAI_OK);
    std::atomic<int> runs{0};
    const auto work = [](void *context, cai_error *) -> cai_status {
      ++*static_cast<std::atomic<int> *>(context);
      return CAI_OK;
    };
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(cai_stream_enqueue(stream, work, nullptr, &runs, &error), CAI_OK);
    }
    EXPECT_EQ(cai_event_record(event, stream, &error), CAI_OK);
    EXPECT_EQ(cai_event_wait(event, other, &error), CAI_OK);
    EXPECT_EQ(cai_stream_follow(other, stream, &error), CAI_OK);
    EXPECT_EQ(cai_stream_enqueue(other, work, nullptr, &runs, &error), CAI_OK);
    EXPECT_EQ(cai_stream_synchronize(other, &error), CAI_OK);
    EXPECT_EQ(runs, 11);
    double time = -1;
    EXPECT_EQ(cai_event_elapsed(event, event, &time, &error), CAI_OK) << error.message;
    EXPECT_EQ(time, 0);
    cai_stream_guard guard{};
    EXPECT_EQ(cai_stream_enter(stream, &guard, &error), CAI_OK);
    EXPECT_EQ(cai_device_synchronize(cpu, &error), CAI_OK);
    EXPECT_EQ(cai_stream_leave(&guard, 0, &error), CAI_OK);
    EXPECT_EQ(cai_device_reset(cpu, 0, &error), CAI_OK) << error.message;
    cai_event_release(event);
    cai_stream_release(other);
    cai_stream_release(stream);
  }
}

// The parent had found no driver, so the child has no less than that.
TEST(CpuAlone, AForkedChildIsToldTheSame) {
  std::int32_t count = -1;
  ASSERT_EQ(cai_device_count(CAI_DEVICE_CUDA, &count, nullptr), CAI_OK);
  const pid_t child = fork();
  if (child == 0) {
    const bool same = cai_device_count(CAI_DEVICE_CUDA, &count, nullptr) == CAI_OK && count == 0 &&
                      cai_device_synchronize(gpu, nullptr) == CAI_ERR_DRIVER;
    _exit(same ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace test::cpu_alone_tests
