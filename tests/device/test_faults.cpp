// SPDX-License-Identifier: BSD-3-Clause
// What fails on the way, a call of the driver or an allocation: each once. It is told, outputs and
// surroundings stay as they were, nothing is left over, and the next call does what this one should
// have done.
#include <cstddef>

#include "failing.hpp"
#include "scene.hpp"

namespace test::faults_tests {
namespace {

// What a scenario uses, and what it has made: all is released at the end.
struct Scene {
  Stream stream{gpu0, CAI_MODE_ASYNC}, other{gpu0, CAI_MODE_ASYNC};
  Stream queue{cpu, CAI_MODE_ASYNC}, second_queue{cpu, CAI_MODE_ASYNC};
  Stream pending{gpu0, CAI_MODE_ASYNC};
  Event event{gpu0, CAI_EVENT_TIMING}, end{gpu0, CAI_EVENT_TIMING}, behind{gpu0}, of_cpu{cpu};
  Door door, of_queue;  // what the queue's thread does is not this call's
  Work work, kept;
  int good = 0;  // calls that took `work` over

  cai_stream *made = nullptr;
  cai_event *made_event = nullptr;
  cai_device device{-1, -1};
  cai_device_guard guard{};
  cai_stream_guard stream_guard{};
  std::uint64_t number = 77;
  std::int32_t flag = 77;
  double time = 77;
  cai_device_info info{};
  cai_stream_info stream_info{};

  Scene() {
    info.struct_size = sizeof info;
    stream_info.struct_size = sizeof stream_info;
    EXPECT_EQ(cai_event_record(event, stream, nullptr), CAI_OK);
    EXPECT_EQ(cai_event_record(end, stream, nullptr), CAI_OK);
    EXPECT_EQ(cai_event_synchronize(end, nullptr), CAI_OK);
    EXPECT_EQ(door.work.enqueue(pending), CAI_OK);
    EXPECT_EQ(of_queue.work.enqueue(queue), CAI_OK);
    of_queue.await();
    EXPECT_EQ(cai_event_record(behind, pending, nullptr), CAI_OK);
  }
  Scene(const Scene &) = delete;
  Scene &operator=(const Scene &) = delete;
  ~Scene() {
    cai_error error{};
    door.open();
    of_queue.open();
    for (cai_stream *each : {stream.get(), other.get(), pending.get(), queue.get()}) {
      cai_stream_synchronize(each, nullptr);  // tells what is kept for later
      EXPECT_EQ(cai_stream_synchronize(each, &error), CAI_OK) << error.message;
    }
    drain();
    EXPECT_EQ(work.ends, good);
    EXPECT_EQ(door.work.ends, 1);
    if (guard.thread) {
      EXPECT_EQ(cai_device_leave(&guard, &error), CAI_OK) << error.message;
    }
    if (stream_guard.thread) {
      EXPECT_EQ(cai_stream_leave(&stream_guard, 0, &error), CAI_OK) << error.message;
    }
    cai_stream_release(made);
    cai_event_release(made_event);
  }

  // Outputs, to be as they were.
  bool is_untouched() const {
    return !made && !made_event && device.type == -1 && number == 77 && flag == 77 && time == 77 &&
           !guard.thread && !stream_guard.thread && info.total == 0 && stream_info.id == 0;
  }
};

struct Scenario {
  const char *name;
  std::function<cai_status(Scene &, cai_error *)> run;
};

const std::vector<Scenario> &scenarios() {
  static const std::vector<Scenario> all = {
      {"parse", [](Scene &s, cai_error *e) { return cai_device_parse("gpu:1", &s.device, e); }},
      {"free", [](Scene &s, cai_error *e) { return cai_device_parse("gpu:free", &s.device, e); }},
      {"count", [](Scene &s, cai_error *e) { return cai_device_count(2, &s.flag, e); }},
      {"current", [](Scene &s, cai_error *e) { return cai_device_current(2, &s.device, e); }},
      {"enter", [](Scene &s, cai_error *e) { return cai_device_enter(gpu1, &s.guard, e); }},
      {"describe", [](Scene &s, cai_error *e) { return cai_device_describe(gpu0, &s.info, e); }},
      {"summary",
       [](Scene &s, cai_error *e) { return cai_device_summary(gpu0, nullptr, 0, &s.number, e); }},
      {"memory",
       [](Scene &s, cai_error *e) { return cai_device_memory(gpu1, &s.number, nullptr, e); }},
      {"access",
       [](Scene &s, cai_error *e) { return cai_device_can_access(gpu0, gpu1, &s.flag, e); }},
      {"synchronize", [](Scene &, cai_error *e) { return cai_device_synchronize(gpu1, e); }},
      {"reset", [](Scene &, cai_error *e) { return cai_device_reset(gpu1, 0, e); }},
      {"cache", [](Scene &, cai_error *e) { return cai_device_set_cache(gpu0, 0, e); }},
      {"trim", [](Scene &, cai_error *e) { return cai_device_trim_cache(gpu0, 0, e); }},
      {"create", [](Scene &s, cai_error *e) { return cai_stream_create(gpu0, 2, -1, &s.made, e); }},
      {"create, of the CPU",
       [](Scene &s, cai_error *e) { return cai_stream_create(cpu, 2, 0, &s.made, e); }},
      {"wrap",
       [](Scene &s, cai_error *e) {
         return cai_stream_wrap(gpu0, s.stream.value(), nullptr, nullptr, &s.made, e);
       }},
      {"wrap 1",
       [](Scene &s, cai_error *e) {
         return cai_stream_wrap(gpu0, 1, nullptr, nullptr, &s.made, e);
       }},
      {"describe a stream",
       [](Scene &s, cai_error *e) { return cai_stream_describe(s.stream, &s.stream_info, e); }},
      {"enqueue",
       [](Scene &s, cai_error *e) {
         const cai_status status = s.work.enqueue(s.stream, e);
         s.good += status == CAI_OK;
         return status;
       }},
      {"enqueue, no end",
       [](Scene &s, cai_error *e) {
         return cai_stream_enqueue(s.stream, Work::run, nullptr, &s.kept, e);
       }},
      {"enqueue, on the CPU",
       [](Scene &s, cai_error *e) {
         const cai_status status = s.work.enqueue(s.queue, e);
         s.good += status == CAI_OK;
         return status;
       }},
      {"attach",
       [](Scene &s, cai_error *e) {
         const cai_status status = s.work.attach(s.stream, e);
         s.good += status == CAI_OK;
         return status;
       }},
      {"query", [](Scene &s, cai_error *e) { return cai_stream_query(s.other, &s.flag, e); }},
      {"synchronize a stream",
       [](Scene &s, cai_error *e) { return cai_stream_synchronize(s.stream, e); }},
      {"follow", [](Scene &s, cai_error *e) { return cai_stream_follow(s.other, s.stream, e); }},
      {"follow, CPU after GPU",
       [](Scene &s, cai_error *e) { return cai_stream_follow(s.queue, s.stream, e); }},
      {"follow, GPU after CPU",
       [](Scene &s, cai_error *e) { return cai_stream_follow(s.stream, s.second_queue, e); }},
      {"follow, on the CPU",
       [](Scene &s, cai_error *e) { return cai_stream_follow(s.queue, s.second_queue, e); }},
      {"enter a stream",
       [](Scene &s, cai_error *e) { return cai_stream_enter(s.stream, &s.stream_guard, e); }},
      {"create an event",
       [](Scene &s, cai_error *e) { return cai_event_create(gpu1, 1, &s.made_event, e); }},
      {"create an event, of the CPU",
       [](Scene &s, cai_error *e) { return cai_event_create(cpu, 1, &s.made_event, e); }},
      {"record", [](Scene &s, cai_error *e) { return cai_event_record(s.event, s.stream, e); }},
      {"record, on the CPU",
       [](Scene &s, cai_error *e) { return cai_event_record(s.of_cpu, s.queue, e); }},
      {"wait", [](Scene &s, cai_error *e) { return cai_event_wait(s.event, s.other, e); }},
      {"wait, on the CPU",
       [](Scene &s, cai_error *e) { return cai_event_wait(s.behind, s.queue, e); }},
      {"query an event",
       [](Scene &s, cai_error *e) { return cai_event_query(s.event, &s.flag, e); }},
      {"synchronize an event",
       [](Scene &s, cai_error *e) { return cai_event_synchronize(s.event, e); }},
      {"elapsed",
       [](Scene &s, cai_error *e) { return cai_event_elapsed(s.event, s.end, &s.time, e); }},
  };
  return all;
}

class DeviceFaults : public OnDevices {};

TEST_F(DeviceFaults, OfEveryCallOfTheDriver) {
  std::size_t injected = 0;
  for (const Scenario &scenario : scenarios()) {
    std::vector<std::uint64_t> counts;
    {
      Scene scene;
      gpu().simcuda_reset_counts();
      ASSERT_OK(scenario.run(scene, error));
      for (const char *name : driver_functions()) counts.push_back(calls(name));
    }
    for (std::size_t f = 0; f < counts.size(); ++f) {
      const char *const name = driver_functions()[f];
      for (std::uint64_t nth = 1; nth <= counts[f]; ++nth) {
        for (const std::int32_t status : {999, 400}) {
          SCOPED_TRACE(std::string(scenario.name) + ": " + name + " " + std::to_string(nth) +
                       " fails with " + std::to_string(status));
          Scene scene;
          const Surroundings before;
          MUST(gpu().simcuda_fail(name, nth, status));
          cai_error said{};
          const cai_status result = scenario.run(scene, &said);
          ++injected;
          MUST(gpu().simcuda_fail(name, 0, 0));
          if (result == CAI_OK) {
            // Work that has begun cannot be cancelled: the stream reports the failure later. And
            // a query for a deferred end may fail.
            EXPECT_TRUE(std::strstr(scenario.name, "enqueue") ||
                        std::strcmp(name, "cuEventQuery") == 0);
            continue;
          }
          EXPECT_TRUE(Surroundings() == before);
          EXPECT_EQ(result, CAI_ERR_CUDA) << said.message;
          EXPECT_EQ(said.native, status);
          EXPECT_TRUE(scene.is_untouched());
          ASSERT_OK(scenario.run(scene, error));
        }
      }
    }
  }
  EXPECT_GT(injected, 200U);
}

TEST_F(DeviceFaults, OfEveryAllocation) {
  long failed = 0;
  for (const Scenario &scenario : scenarios()) {
    for (long nth = 0;; ++nth) {
      SCOPED_TRACE(std::string(scenario.name) + ": allocation " + std::to_string(nth));
      Scene scene;
      const Surroundings before;
      cai_error said{};
      cai_status result = CAI_OK;
      const long seen = with_failing_new(nth, [&] { result = scenario.run(scene, &said); });
      if (seen <= nth) {
        EXPECT_EQ(result, CAI_OK) << said.message;
        break;
      }
      ++failed;
      if (result == CAI_OK) continue;  // it can do without
      EXPECT_TRUE(Surroundings() == before);
      EXPECT_EQ(result, CAI_ERR_MEMORY) << said.message;
      EXPECT_TRUE(scene.is_untouched());
      ASSERT_OK(scenario.run(scene, error));
    }
  }
  EXPECT_GT(failed, 30);
}

// The thread of a CPU stream waits for a GPU: that fails as work does.
TEST_F(DeviceFaults, OfWaitingInWork) {
  const Stream stream(gpu0, CAI_MODE_ASYNC), queue(cpu, CAI_MODE_ASYNC);
  Door door;
  Work after;
  ASSERT_OK(door.work.enqueue(queue, error));
  ASSERT_OK(cai_stream_follow(queue, stream, error));
  ASSERT_OK(after.enqueue(queue, error));
  MUST(gpu().simcuda_fail("cuEventSynchronize", 1, 999));
  door.open();
  EXPECT_FAILS(CAI_ERR_CUDA, "cuEventSynchronize", cai_stream_synchronize(queue, error));
  ASSERT_OK(cai_stream_synchronize(queue, error));
  EXPECT_EQ(after.runs, 0);
  EXPECT_EQ(after.ends, 1);
}

// A wait is not dropped for a failure that no call has returned yet: then its own one is told.
TEST_F(DeviceFaults, OfWaitingBehindAFailure) {
  const Stream stream(gpu0, CAI_MODE_ASYNC), queue(cpu, CAI_MODE_ASYNC);
  const auto fail = [](void *, cai_error *) { return cai_status{CAI_ERR_BOUNDS}; };
  Told told;
  Door door;
  ASSERT_OK(door.work.enqueue(queue, error));
  ASSERT_OK(cai_stream_enqueue(queue, fail, nullptr, nullptr, error));
  ASSERT_OK(cai_stream_follow(queue, stream, error));
  MUST(gpu().simcuda_fail("cuEventSynchronize", 1, 999));
  door.open();
  EXPECT_EQ(cai_stream_synchronize(queue, nullptr), CAI_ERR_BOUNDS);
  ASSERT_OK(cai_stream_synchronize(queue, error));
  const std::vector<std::string> messages = told.messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].rfind("[cuEventSynchronize]", 0), 0U);
}

// Releases cannot fail: they tell.
TEST_F(DeviceFaults, OfReleases) {
  EXPECT_EQ(cai_pending_flush(gpu0, nullptr), CAI_OK);  // what is left of others
  Told told;
  {
    Stream stream(gpu0, CAI_MODE_ASYNC);
    MUST(gpu().simcuda_fail("cuStreamDestroy", 1, 999));
  }
  {
    Event event(gpu0);
    MUST(gpu().simcuda_fail("cuEventDestroy", 1, 999));
  }
  EXPECT_EQ(cai_pending_flush(gpu0, nullptr), CAI_OK);  // they wait there for others
  const std::vector<std::string> messages = told.messages();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].rfind("[cuStreamDestroy]", 0), 0U);
  EXPECT_EQ(messages[1].rfind("[cuEventDestroy]", 0), 0U);
}

}  // namespace
}  // namespace test::faults_tests
