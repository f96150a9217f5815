// SPDX-License-Identifier: BSD-3-Clause
// Devices waited for, and reset; and processes that fork.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "scene.hpp"

namespace test::reset_tests {
namespace {

class Resets : public OnDevices {};

TEST_F(Resets, SynchronizeWaitsForAll) {
  for (const cai_device device : {cpu, gpu0}) {
    const Stream before = current_stream(device);
    const Stream mine(device, CAI_MODE_ASYNC), other(device, CAI_MODE_ASYNC);
    ASSERT_OK(cai_stream_set_current(mine, error));
    Work work, elsewhere, bad(say_seven);
    ASSERT_OK(work.enqueue(mine, error));
    ASSERT_OK(elsewhere.enqueue(other, error));
    ASSERT_OK(cai_device_synchronize(device, error));
    EXPECT_EQ(work.runs, 1);
    if (device.type == CAI_DEVICE_CUDA) {
      EXPECT_EQ(elsewhere.runs, 1);
    }
    ASSERT_OK(bad.enqueue(mine, error));
    EXPECT_FAILS(CAI_ERR_BOUNDS, "seven", cai_device_synchronize(device, error));
    ASSERT_OK(cai_device_synchronize(device, error));
    ASSERT_OK(cai_stream_synchronize(other, error));
    ASSERT_OK(cai_stream_set_current(before, error));
  }
  EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:2", cai_device_synchronize({CAI_DEVICE_CUDA, 2}, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "type", cai_device_synchronize({0, 0}, error));
}

// A foreign stream that fails was not destroyed.
TEST_F(Resets, TellOfAFailureOfSomebodysStream) {
  const Stream before = current_stream(gpu0);
  Handle handle = nullptr;
  {
    const With with(primary(0));
    MUST(gpu().cuStreamCreate(&handle, non_blocking));
  }
  {
    cai_stream *made = nullptr;
    ASSERT_OK(cai_stream_wrap(gpu0, value(handle), nullptr, nullptr, &made, error));
    const Stream wrapped(made);
    ASSERT_OK(cai_stream_set_current(wrapped, error));
    MUST(gpu().simcuda_fail("cuStreamSynchronize", 1, 999));
    EXPECT_FAILS(CAI_ERR_CUDA, "cuStreamSynchronize", cai_device_reset(gpu0, 0, error));
    MUST(gpu().simcuda_fail("cuStreamSynchronize", 1, 12345));  // what has no name
    EXPECT_FAILS(CAI_ERR_CUDA, "unknown error (12345)", cai_device_reset(gpu0, 0, error));
    ASSERT_OK(cai_stream_set_current(before, error));
  }
  const With with(primary(0));
  MUST(gpu().cuStreamDestroy_v2(handle));
}

// What is called after the end of the thread's current streams finds none.
TEST_F(Resets, AThreadThatEndsHasNoCurrentStream) {
  std::atomic<int> asked{0};
  std::thread([&] {
    at_the_end([&] {
      EXPECT_EQ(cai_device_synchronize(cpu, nullptr), CAI_OK);
      EXPECT_EQ(cai_device_reset(cpu, 0, nullptr), CAI_OK);
      const auto count = [](void *runs) { ++*static_cast<std::atomic<int> *>(runs); };
      EXPECT_EQ(cai_spare_captures(0, count, &asked), 1);
    });
  }).join();
  EXPECT_EQ(asked, 1);
}

// Callbacks of a reset, distinguished by their context.
class Log {
 public:
  static void note(void *context, cai_device device) {
    const auto *const entry = static_cast<Entry *>(context);
    entry->log->calls.push_back(entry->name + (device.type == CAI_DEVICE_CPU ? " cpu" : " gpu"));
    if (entry->log->then) entry->log->then(device);
  }
  explicit Log(std::initializer_list<const char *> names) {
    for (const char *name : names) entries.push_back({this, name});
  }
  ~Log() {
    for (Entry &entry : entries) EXPECT_EQ(cai_device_off_reset(note, &entry, nullptr), CAI_OK);
  }

  struct Entry {
    Log *log;
    std::string name;
  };
  std::vector<Entry> entries;
  std::vector<std::string> calls;
  std::function<void(cai_device)> then;
};

TEST_F(Resets, ResetCallsBack) {
  Log log{"a", "b", "c"};
  for (Log::Entry &entry : log.entries) {
    for (int twice = 0; twice < 2; ++twice)
      ASSERT_OK(cai_device_on_reset(Log::note, &entry, error));
  }
  ASSERT_OK(cai_device_off_reset(Log::note, &log.entries[1], error));
  ASSERT_OK(cai_device_off_reset(Log::note, &log.entries[1], error));
  for (const cai_device device : {cpu, gpu1}) {
    const Stream stream(device, CAI_MODE_ASYNC);
    ASSERT_OK(cai_stream_set_current(stream, error));
    Work work;
    ASSERT_OK(work.enqueue(stream, error));
    log.calls.clear();
    log.then = [&](cai_device of) {
      EXPECT_EQ(work.runs, 1);  // after it has synchronised
      EXPECT_EQ(current_stream(of).get(), stream.get());
      EXPECT_FAILS(CAI_ERR_STATE, "reset", cai_device_reset(of, 0, error));
    };
    ASSERT_OK(cai_device_reset(device, 0, error));
    const char *const which = device.type == CAI_DEVICE_CPU ? " cpu" : " gpu";
    EXPECT_EQ(log.calls,
              (std::vector<std::string>{std::string("a") + which, std::string("c") + which}));
    EXPECT_NE(current_stream(device).get(), stream.get());
    ASSERT_OK(cai_stream_synchronize(stream, error));  // it lives on
  }

  // One callback takes the next one away, which this reset may call still, and adds another.
  log.calls.clear();
  log.then = [&](cai_device) {
    EXPECT_EQ(cai_device_off_reset(Log::note, &log.entries[2], nullptr), CAI_OK);
    EXPECT_EQ(cai_device_on_reset(Log::note, &log.entries[1], nullptr), CAI_OK);
  };
  ASSERT_OK(cai_device_reset(cpu, 0, error));
  EXPECT_EQ(std::count(log.calls.begin(), log.calls.end(), "b cpu"), 0);
  log.calls.clear();
  ASSERT_OK(cai_device_reset(cpu, 0, error));
  EXPECT_EQ(log.calls, (std::vector<std::string>{"a cpu", "b cpu"}));

  // No callback runs if the device cannot be synchronised.
  const Stream stream(cpu, CAI_MODE_ASYNC);
  ASSERT_OK(cai_stream_set_current(stream, error));
  Work bad(say_seven);
  ASSERT_OK(bad.enqueue(stream, error));
  log.calls.clear();
  EXPECT_FAILS(CAI_ERR_BOUNDS, "seven", cai_device_reset(cpu, 0, error));
  EXPECT_TRUE(log.calls.empty());
  EXPECT_EQ(current_stream(cpu).get(), stream.get());

  EXPECT_FAILS(CAI_ERR_ARGUMENT, "flags are 0x2", cai_device_reset(cpu, 2, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "type", cai_device_reset({0, 0}, 0, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:2", cai_device_reset({CAI_DEVICE_CUDA, 2}, 0, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "callback", cai_device_on_reset(nullptr, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "callback", cai_device_off_reset(nullptr, nullptr, error));
  ASSERT_OK(cai_device_reset(cpu, 0, error));
}

TEST(Reset, KillsWhatTheContextHad) {
  Work kept, work;
  std::vector<Work> more(8);
  Stream old(gpu0, CAI_MODE_ASYNC), legacy(gpu0, CAI_MODE_DEFAULT);
  const Stream elsewhere(gpu1, CAI_MODE_ASYNC);
  Event event(gpu0, CAI_EVENT_TIMING);
  int released = 0;
  cai_stream *wrapped = nullptr;
  const auto release = [](void *context) { ++*static_cast<int *>(context); };
  ASSERT_OK(cai_stream_wrap(gpu0, 1, release, &released, &wrapped, error));
  ASSERT_OK(kept.attach(old, error));
  ASSERT_OK(cai_event_record(event, old, error));
  cai_stream_guard guard{};
  const Stream queue(cpu, CAI_MODE_ASYNC);
  Door door;
  ASSERT_OK(door.work.enqueue(queue, error));
  ASSERT_OK(cai_stream_follow(queue, old, error));  // waits for what is gone by then
  std::thread other([&] {
    ASSERT_OK(cai_stream_set_current(old, error));
    ASSERT_OK(cai_stream_enter(legacy, &guard, error));
    ASSERT_OK(cai_device_reset(gpu0, CAI_RESET_CONTEXT, error));
    EXPECT_EQ(kept.ends, 1);
    EXPECT_FAILS(CAI_ERR_STATE, "reset", cai_stream_leave(&guard, 0, error));
    EXPECT_EQ(guard.thread, 0U);
    // The current stream is dead; a new one replaces it.
    const Stream fresh = current_stream(gpu0);
    Work again;
    ASSERT_OK(again.enqueue(fresh, error));
    ASSERT_OK(cai_stream_synchronize(fresh, error));
    EXPECT_EQ(again.ends, 1);
  });
  other.join();
  door.open();
  ASSERT_OK(cai_stream_synchronize(queue, error));

  gpu().simcuda_reset_counts();
  std::int32_t busy = 7;
  double time = 7;
  cai_stream_info info{};
  info.struct_size = sizeof info;
  for (cai_stream *const dead : {old.get(), legacy.get(), wrapped}) {
    EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset",
                 cai_stream_enqueue(dead, Work::run, nullptr, &work, error));
    EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", work.attach(dead, error));
    EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_stream_query(dead, &busy, error));
    EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_stream_synchronize(dead, error));
    EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_stream_follow(dead, elsewhere, error));
    EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_stream_follow(elsewhere, dead, error));
    EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_stream_follow(queue, dead, error));
    EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_stream_describe(dead, &info, error));
    EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_stream_set_current(dead, error));
    EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_stream_enter(dead, &guard, error));
  }
  EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_event_query(event, &busy, error));
  EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_event_synchronize(event, error));
  EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_event_wait(event, elsewhere, error));
  EXPECT_FAILS(CAI_ERR_STATE, "gpu:0 was reset", cai_event_elapsed(event, event, &time, error));
  EXPECT_EQ(work.runs + work.ends, 0);
  EXPECT_EQ(busy, 7);
  old.release();
  legacy.release();
  event.release();
  cai_stream_release(wrapped);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(all_calls(), 0U);

  ASSERT_OK(cai_stream_synchronize(elsewhere, error));
  const Stream fresh(gpu0, CAI_MODE_ASYNC);
  Work again;
  ASSERT_OK(again.enqueue(fresh, error));
  ASSERT_OK(cai_device_synchronize(gpu0, error));
  EXPECT_EQ(again.runs, 1);
  ASSERT_OK(cai_stream_synchronize(fresh, error));  // or it ends later, when `again` is no more
  EXPECT_EQ(again.ends, 1);
  ASSERT_OK(cai_device_reset(cpu, CAI_RESET_CONTEXT, error));
}

// Whether "gpu" is this GPU, and usable, even if its context was destroyed while it was current.
void expect_usable(cai_device gpu) {
  cai_device found{};
  ASSERT_OK(cai_device_current(CAI_DEVICE_CUDA, &found, error));
  EXPECT_EQ(found.id, gpu.id);
  ASSERT_OK(cai_device_parse("gpu", &found, error));
  EXPECT_EQ(found.id, gpu.id);
  ASSERT_OK(cai_drain(1, nullptr, error));
  cai_request request{};
  request.struct_size = sizeof request;
  request.size = 64;
  for (const std::uint32_t kind : {CAI_KIND_PINNED, CAI_KIND_DEFAULT}) {
    request.kind = kind;
    cai_memory *memory = nullptr;
    ASSERT_OK(cai_memory_alloc(kind == CAI_KIND_PINNED ? cpu : found, &request, &memory, error));
    cai_memory_release(memory);
  }
  const Stream stream(found, CAI_MODE_ASYNC);
  Work work;
  ASSERT_OK(work.enqueue(stream, error));
  ASSERT_OK(cai_stream_synchronize(stream, error));
  EXPECT_EQ(work.ends, 1);
}

TEST_F(Resets, DestroyAContextThatStaysCurrent) {
  cai_device_guard guard{};
  ASSERT_OK(cai_device_enter(gpu1, &guard, error));
  ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  expect_usable(gpu1);
  ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  ASSERT_OK(cai_device_leave(&guard, error));
  expect_usable(gpu0);

  // Under another one, which is left later.
  cai_device_guard outer{};
  ASSERT_OK(cai_device_enter(gpu1, &outer, error));
  ASSERT_OK(cai_device_enter(gpu0, &guard, error));
  ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error));
  ASSERT_OK(cai_device_leave(&guard, error));
  expect_usable(gpu1);
  ASSERT_OK(cai_device_leave(&outer, error));

  // On a thread that nobody has asked.
  std::thread([&] {
    ASSERT_OK(cai_device_set_current(gpu1, error));
    std::thread([&] { ASSERT_OK(cai_device_reset(gpu1, CAI_RESET_CONTEXT, error)); }).join();
    expect_usable(gpu1);
  }).join();
}

// ---- A child ------------------------------------------------------------------------------------

// The result of a call in a child: its exit status, 0 if all was well.
template <class Body>
int in_child(Body &&body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(600);  // a hang is a failure
    std::forward<Body>(body)();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(Fork, ChildCannotUseWhatItsParentHad) {
  Stream of_gpu(gpu0, CAI_MODE_ASYNC), of_cpu(cpu, CAI_MODE_ASYNC), at_once(cpu, CAI_MODE_SYNC);
  Event of_gpu_too(gpu0), pending(cpu), complete(cpu);
  Door door;
  const Stream before = current_stream(cpu);
  ASSERT_OK(cai_stream_set_current(of_cpu, error));
  ASSERT_OK(cai_stream_set_current(of_gpu, error));
  ASSERT_OK(cai_event_record(complete, of_cpu, error));
  ASSERT_OK(cai_event_synchronize(complete, error));
  ASSERT_OK(door.work.enqueue(of_cpu, error));
  ASSERT_OK(cai_event_record(pending, of_cpu, error));
  door.await();
  EXPECT_EQ(in_child([&] {
              Work work;
              std::int32_t busy = 7, number = 7;
              cai_device device{};
              cai_stream *out = nullptr;
              cai_event *made = nullptr;
              for (cai_stream *const stream : {of_gpu.get(), of_cpu.get()}) {
                EXPECT_FAILS(CAI_ERR_STATE, "forked", work.enqueue(stream, error));
                EXPECT_FAILS(CAI_ERR_STATE, "forked", work.attach(stream, error));
                EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_stream_query(stream, &busy, error));
                EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_stream_synchronize(stream, error));
                EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_stream_follow(at_once, stream, error));
                EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_stream_set_current(stream, error));
              }
              EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_stream_create(gpu0, 2, 0, &out, error));
              EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_stream_current(gpu0, &out, error));
              EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_event_create(gpu0, 0, &made, error));
              EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_event_query(of_gpu_too, &busy, error));
              EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_event_synchronize(pending, error));
              EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_event_query(pending, &busy, error));
              EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_event_wait(pending, at_once, error));
              EXPECT_FAILS(CAI_ERR_STATE, "forked",
                           cai_device_count(CAI_DEVICE_CUDA, &number, error));
              EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_device_parse("gpu:0", &device, error));
              EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_device_set_current(gpu0, error));
              EXPECT_FAILS(CAI_ERR_STATE, "forked", cai_device_reset(gpu0, 0, error));
              EXPECT_EQ(work.runs + work.ends, 0);
              // The CPU is still there.
              ASSERT_OK(work.enqueue(at_once, error));
              EXPECT_EQ(work.ends, 1);
              EXPECT_EQ(describe(current_stream(cpu)).mode, unsigned{CAI_MODE_DEFAULT});
              EXPECT_FALSE(is_busy(complete));
              of_gpu.release();
              of_cpu.release();
              of_gpu_too.release();
              pending.release();
            }),
            0);
  door.open();
  ASSERT_OK(cai_stream_synchronize(of_cpu, error));
  ASSERT_OK(cai_stream_synchronize(of_gpu, error));
  ASSERT_OK(cai_stream_set_current(before, error));
}

}  // namespace
}  // namespace test::reset_tests
