// SPDX-License-Identifier: BSD-3-Clause
// cai/device.h: devices, streams and events, of a GPU and of the CPU.
#include <array>

#include "../device/scene.hpp"
#include "../exchange/tensors.hpp"
#include "scenario.hpp"

namespace test::faults_of_device {
namespace {

void pop() {
  Handle popped = nullptr;
  MUST(gpu().cuCtxPopCurrent_v2(&popped));
}

void nothing_at_reset(void *, cai_device) {}

void tell_device(Trial &trial, const cai_device &device) {
  trial.tell(device.type, device.id);
}

// Streams that wait for nobody; with work that pends.
struct Streams {
  Stream gpu{gpu0, CAI_MODE_ASYNC}, other{gpu0, CAI_MODE_ASYNC};
  Stream queue{cpu, CAI_MODE_ASYNC}, second{cpu, CAI_MODE_ASYNC};
};

// A piece of work that the call took over, or not. If it failed anyway, the stream reports that
// later.
struct Given {
  Stream stream;
  Work work;

  explicit Given(cai_device device) : stream(device, CAI_MODE_ASYNC) {}
  void finish(Trial &trial) {
    cai_stream_synchronize(stream, nullptr);
    drain();
    trial.tell(work.runs, work.ends);
  }
};

void create(Trial &trial, cai_device device, std::uint32_t mode) {
  cai_stream *out = nullptr;
  trial.call([&](cai_error *error) { return cai_stream_create(device, mode, 0, &out, error); },
             out);
  trial.tell(describe(out).mode);
  cai_stream_release(out);
}

void wrap(Trial &trial, std::uint64_t value, const Stream &of) {
  static int ends;
  ends = 0;
  cai_stream *out = nullptr;
  trial.call(
      [&](cai_error *error) {
        return cai_stream_wrap(
            gpu0, value ? value : of.value(), [](void *) { ++ends; }, nullptr, &out, error);
      },
      out);
  trial.tell(ends, describe(out).wrapped);
  cai_stream_release(out);
  drain();
  trial.tell(ends);
}

// Keeps the thread of a CPU's stream out of the call: what fails there is not the call's.
class HeldUp {
 public:
  explicit HeldUp(cai_stream *stream) : is_cpu_(cai_stream_value(stream) == 0) {
    if (!is_cpu_) return;
    EXPECT_EQ(door_.work.enqueue(stream), CAI_OK);
    door_.await();
  }
  void let_go() { door_.open(); }

 private:
  bool is_cpu_;
  Door door_;
};

// `follower` comes after `leader`'s work.
void follow(Trial &trial, cai_stream *follower, cai_stream *leader) {
  Work first, second;
  HeldUp held(follower);
  EXPECT_EQ(first.enqueue(leader), CAI_OK);
  trial.call([&](cai_error *error) { return cai_stream_follow(follower, leader, error); });
  held.let_go();
  EXPECT_EQ(second.enqueue(follower), CAI_OK);
  EXPECT_EQ(cai_stream_synchronize(follower, nullptr), CAI_OK);
  EXPECT_EQ(cai_stream_synchronize(leader, nullptr), CAI_OK);
  drain();
  trial.tell(first.runs, second.runs);
}

void create_event(Trial &trial, cai_device device) {
  cai_event *out = nullptr;
  trial.call([&](cai_error *error) { return cai_event_create(device, 0, &out, error); }, out);
  trial.tell((cai_event_value(out) != 0) == (device.type == CAI_DEVICE_CUDA));
  cai_event_release(out);
}

void record(Trial &trial, cai_device device) {
  const Stream stream(device, CAI_MODE_ASYNC);
  const Event event(device);
  Work work;
  EXPECT_EQ(work.enqueue(stream), CAI_OK);
  trial.call([&](cai_error *error) { return cai_event_record(event, stream, error); });
  EXPECT_EQ(cai_event_synchronize(event, nullptr), CAI_OK);
  trial.tell(work.runs);
  EXPECT_EQ(cai_stream_synchronize(stream, nullptr), CAI_OK);
  drain();
}

void wait_for_event(Trial &trial, cai_device device, cai_device waiter) {
  const Stream stream(device, CAI_MODE_ASYNC), after(waiter, CAI_MODE_ASYNC);
  const Event event(device);
  Work work;
  HeldUp held(after);
  EXPECT_EQ(work.enqueue(stream), CAI_OK);
  EXPECT_EQ(cai_event_record(event, stream, nullptr), CAI_OK);
  trial.call([&](cai_error *error) { return cai_event_wait(event, after, error); });
  held.let_go();
  EXPECT_EQ(cai_stream_synchronize(after, nullptr), CAI_OK);
  trial.tell(work.runs);
  EXPECT_EQ(cai_stream_synchronize(stream, nullptr), CAI_OK);
  drain();
}

template <class Call>
void finding(Trial &trial, Call &&call) {
  auto out = marked<cai_device>();
  trial.call([&](cai_error *error) { return call(&out, error); }, out);
  tell_device(trial, out);
}

}  // namespace

}  // namespace test::faults_of_device

namespace test {

std::vector<Scenario> device_scenarios() {
  using namespace faults_of_device;
  return {
      {"cai_device_parse", "by number",
       [](Trial &trial) {
         finding(trial, [](cai_device *out, cai_error *error) {
           return cai_device_parse(" gpu : 1", out, error);
         });
       }},
      {"cai_device_parse", "the one with the most free memory",
       [](Trial &trial) {
         auto out = marked<cai_device>();
         trial.call([&](cai_error *error) { return cai_device_parse("gpu:free", &out, error); },
                    out);
         trial.tell(out.type);
       }},
      {"cai_device_format", "",
       [](Trial &trial) {
         auto out = marked<std::array<char, CAI_DEVICE_TEXT_SIZE>>();
         trial.call([&](cai_error *error) { return cai_device_format(gpu1, out.data(), error); },
                    out);
         trial.tell(out.data());
       }},
      {"cai_device_count", "",
       [](Trial &trial) {
         std::int32_t out = 77;
         trial.call(
             [&](cai_error *error) { return cai_device_count(CAI_DEVICE_CUDA, &out, error); }, out);
         trial.tell(out);
       }},
      {"cai_device_current", "none",
       [](Trial &trial) {
         finding(trial, [](cai_device *out, cai_error *error) {
           return cai_device_current(CAI_DEVICE_CUDA, out, error);
         });
       }},
      {"cai_device_current", "of a context",
       [](Trial &trial) {
         const Primary second(1);
         const With with(second.context);
         finding(trial, [](cai_device *out, cai_error *error) {
           return cai_device_current(CAI_DEVICE_CUDA, out, error);
         });
       }},
      // These change what a Trial looks at, which is put back at once.
      {"cai_device_set_current", "",
       [](Trial &trial) {
         cai_device_guard guard{};
         MUST(cai_device_enter(gpu0, &guard, nullptr));
         const Handle before = current();
         trial.then([&] {
           EXPECT_NE(current(), before);
           pop();
           MUST(gpu().cuCtxPushCurrent_v2(before));
         });
         trial.call([](cai_error *error) { return cai_device_set_current(gpu1, error); });
         MUST(cai_device_leave(&guard, nullptr));
       }},
      {"cai_device_enter", "",
       [](Trial &trial) {
         auto guard = marked<cai_device_guard>();
         trial.then([] { pop(); });
         trial.call([&](cai_error *error) { return cai_device_enter(gpu1, &guard, error); }, guard);
         trial.tell(guard.device.id, guard.previous);
       }},
      {"cai_device_leave", "",
       [](Trial &trial) {
         cai_device_guard guard{};
         MUST(cai_device_enter(gpu1, &guard, nullptr));
         const Handle entered = current();
         trial.then([&] { MUST(gpu().cuCtxPushCurrent_v2(entered)); });
         trial.call([&](cai_error *error) { return cai_device_leave(&guard, error); }, guard);
         pop();
         trial.tell(guard.thread);
       }},
      {"cai_device_describe", "",
       [](Trial &trial) {
         auto out = marked<cai_device_info>();
         out.struct_size = sizeof out;
         trial.call([&](cai_error *error) { return cai_device_describe(gpu1, &out, error); }, out);
         trial.tell(out.flags, out.pci_domain, out.pci_bus, out.pci_slot, out.total, out.name);
       }},
      {"cai_device_summary", "",
       [](Trial &trial) {
         auto out = marked<std::array<char, 512>>();
         std::uint64_t length = 77;
         trial.call(
             [&](cai_error *error) {
               return cai_device_summary(gpu1, out.data(), out.size(), &length, error);
             },
             out, length);
         trial.tell(out.data(), length);
       }},
      {"cai_device_find", "",
       [](Trial &trial) {
         cai_device_info info{};
         info.struct_size = sizeof info;
         MUST(cai_device_describe(gpu1, &info, nullptr));
         finding(trial, [&](cai_device *out, cai_error *error) {
           return cai_device_find(info.uuid, out, error);
         });
       }},
      {"cai_device_memory", "",
       [](Trial &trial) {
         std::uint64_t free = 77, total = 77;
         trial.call([&](cai_error *error) { return cai_device_memory(gpu1, &free, &total, error); },
                    free, total);
         trial.tell(total);
       }},
      {"cai_device_memory", "of the CPU",
       [](Trial &trial) {
         std::uint64_t free = 77, total = 77;
         trial.call([&](cai_error *error) { return cai_device_memory(cpu, &free, &total, error); },
                    free, total);
         trial.tell(total);
       }},
      {"cai_device_most_free", "",
       [](Trial &trial) {
         auto out = marked<cai_device>();
         trial.call(
             [&](cai_error *error) { return cai_device_most_free(CAI_DEVICE_CUDA, &out, error); },
             out);
         trial.tell(out.type);
       }},
      {"cai_device_can_access", "",
       [](Trial &trial) {
         std::int32_t yes = 77;
         trial.call(
             [&](cai_error *error) { return cai_device_can_access(gpu0, gpu1, &yes, error); }, yes);
         trial.tell(yes);
       }},
      {"cai_device_synchronize", "",
       [](Trial &trial) {
         Given given(gpu0);
         EXPECT_EQ(given.work.enqueue(given.stream), CAI_OK);
         trial.call([&](cai_error *error) { return cai_device_synchronize(gpu0, error); });
         trial.tell(given.work.runs);
         given.finish(trial);
       }},
      {"cai_device_on_reset", "",
       [](Trial &trial) {
         static int key;
         trial.call(
             [&](cai_error *error) { return cai_device_on_reset(nothing_at_reset, &key, error); });
         EXPECT_EQ(cai_device_off_reset(nothing_at_reset, &key, nullptr), CAI_OK);
       }},
      {"cai_device_off_reset", "",
       [](Trial &trial) {
         static int key;
         EXPECT_EQ(cai_device_on_reset(nothing_at_reset, &key, nullptr), CAI_OK);
         trial.call(
             [&](cai_error *error) { return cai_device_off_reset(nothing_at_reset, &key, error); });
       }},
      {"cai_device_reset", "of libcai's alone",
       [](Trial &trial) {
         trial.call([&](cai_error *e) { return cai_device_reset(gpu1, 0, e); });
       }},
      {"cai_device_reset", "of the context",
       [](Trial &trial) {
         OwnStream stream = make_stream(gpu1);
         OwnMemory memory = allocate(gpu1, CAI_KIND_DEFAULT, 4096, stream);
         trial.call([&](cai_error *e) { return cai_device_reset(gpu1, CAI_RESET_CONTEXT, e); });
         trial.tell(describe(memory).flags & CAI_MEMORY_FREED);
       }},
      {"cai_device_reset", "of the context, and of memory from a pool",
       [](Trial &trial) {
         OwnMemory memory = allocate(gpu1, CAI_KIND_ASYNC, 4096);
         trial.call([&](cai_error *e) { return cai_device_reset(gpu1, CAI_RESET_CONTEXT, e); });
         trial.tell(describe(memory).flags & CAI_MEMORY_FREED);
       }},
      {"cai_device_set_cache", "",
       [](Trial &trial) {
         trial.call([&](cai_error *e) { return cai_device_set_cache(gpu0, 0, e); });
       }},
      {"cai_device_trim_cache", "",
       [](Trial &trial) {
         trial.call([&](cai_error *e) { return cai_device_trim_cache(gpu0, 0, e); });
       }},
      {"cai_on_failure", "",
       [](Trial &trial) {
         trial.call([&](cai_error *error) {
           return cai_on_failure([](void *, const cai_error *) {}, nullptr, error);
         });
         Reports::listen();
       },
       Scenario::for_ever},
      {"cai_stream_create", "default", [](Trial &trial) { create(trial, gpu0, CAI_MODE_DEFAULT); }},
      {"cai_stream_create", "sync", [](Trial &trial) { create(trial, gpu1, CAI_MODE_SYNC); }},
      {"cai_stream_create", "async", [](Trial &trial) { create(trial, gpu0, CAI_MODE_ASYNC); }},
      {"cai_stream_create", "of the CPU", [](Trial &trial) { create(trial, cpu, CAI_MODE_ASYNC); }},
      {"cai_stream_wrap", "a CUstream",
       [](Trial &trial) { wrap(trial, 0, Stream(gpu0, CAI_MODE_SYNC)); }},
      {"cai_stream_wrap", "2", [](Trial &trial) { wrap(trial, 2, Stream(gpu0, CAI_MODE_SYNC)); }},
      {"cai_stream_retain", "",
       [](Trial &trial) {
         const Stream stream(gpu0, CAI_MODE_ASYNC);
         trial.call([&] { cai_stream_retain(stream); });
         cai_stream_release(stream);
         trial.tell(describe(stream).mode);
       }},
      {"cai_stream_release", "",
       [](Trial &trial) {
         Stream stream(gpu0, CAI_MODE_ASYNC);
         Work work;
         EXPECT_EQ(work.enqueue(stream), CAI_OK);
         trial.call([&] { stream.release(); });
         EXPECT_EQ(cai_device_synchronize(gpu0, nullptr), CAI_OK);
         drain();
         trial.tell(work.runs, work.ends);
       }},
      {"cai_stream_release", "of the CPU",
       [](Trial &trial) {
         Work work;
         {
           Stream stream(cpu, CAI_MODE_ASYNC);
           const Event event(cpu);
           EXPECT_EQ(work.enqueue(stream), CAI_OK);
           EXPECT_EQ(cai_event_record(event, stream, nullptr), CAI_OK);
           trial.call([&] { stream.release(); });
           EXPECT_EQ(cai_event_synchronize(event, nullptr), CAI_OK);
         }
         trial.tell(work.runs);
       }},
      {"cai_stream_value", "",
       [](Trial &trial) {
         const Stream stream(gpu0, CAI_MODE_DEFAULT);
         trial.call([&] { trial.tell(cai_stream_value(stream)); });
       }},
      {"cai_stream_describe", "",
       [](Trial &trial) {
         const Stream stream(gpu0, CAI_MODE_ASYNC);
         auto out = marked<cai_stream_info>();
         out.struct_size = sizeof out;
         trial.call([&](cai_error *error) { return cai_stream_describe(stream, &out, error); },
                    out);
         trial.tell(out.mode, out.device.id, out.priority, out.capture, out.wrapped);
       }},
      {"cai_stream_set_thread_limit", "",
       [](Trial &trial) {
         const Stream stream(cpu, CAI_MODE_ASYNC);
         trial.call(
             [&](cai_error *error) { return cai_stream_set_thread_limit(stream, 3, error); });
         trial.tell(describe(stream).thread_limit);
       }},
      {"cai_stream_enqueue", "",
       [](Trial &trial) {
         Given given(gpu0);
         trial.call([&](cai_error *error) { return given.work.enqueue(given.stream, error); });
         given.finish(trial);
       }},
      {"cai_stream_enqueue", "on the CPU",
       [](Trial &trial) {
         Given given(cpu);
         trial.call([&](cai_error *error) { return given.work.enqueue(given.stream, error); });
         given.finish(trial);
       }},
      {"cai_stream_attach", "",
       [](Trial &trial) {
         Given given(gpu0);
         trial.call([&](cai_error *error) { return given.work.attach(given.stream, error); });
         given.finish(trial);
       }},
      {"cai_stream_attach", "on the CPU",
       [](Trial &trial) {
         Given given(cpu);
         trial.call([&](cai_error *error) { return given.work.attach(given.stream, error); });
         given.finish(trial);
       }},
      {"cai_stream_query", "",
       [](Trial &trial) {
         const Stream stream(gpu0, CAI_MODE_ASYNC);
         std::int32_t busy = 77;
         trial.call([&](cai_error *error) { return cai_stream_query(stream, &busy, error); }, busy);
         trial.tell(busy);
       }},
      {"cai_stream_synchronize", "",
       [](Trial &trial) {
         Given given(gpu0);
         EXPECT_EQ(given.work.enqueue(given.stream), CAI_OK);
         trial.call([&](cai_error *error) { return cai_stream_synchronize(given.stream, error); });
         given.finish(trial);
       }},
      {"cai_stream_follow", "",
       [](Trial &trial) {
         const Streams s;
         follow(trial, s.other, s.gpu);
       }},
      {"cai_stream_follow", "GPU after CPU",
       [](Trial &trial) {
         const Streams s;
         follow(trial, s.gpu, s.queue);
       }},
      {"cai_stream_follow", "CPU after GPU",
       [](Trial &trial) {
         const Streams s;
         follow(trial, s.queue, s.gpu);
       }},
      {"cai_stream_follow", "on the CPU",
       [](Trial &trial) {
         const Streams s;
         follow(trial, s.queue, s.second);
       }},
      {"cai_stream_current", "",
       [](Trial &trial) {
         cai_stream *out = nullptr;
         trial.call([&](cai_error *error) { return cai_stream_current(gpu1, &out, error); }, out);
         trial.tell(cai_stream_value(out));
         cai_stream_release(out);
       }},
      {"cai_stream_set_current", "",
       [](Trial &trial) {
         Stream before = current_stream(gpu0);
         const Stream stream(gpu0, CAI_MODE_ASYNC);
         trial.call([&](cai_error *error) { return cai_stream_set_current(stream, error); });
         trial.tell(current_stream(gpu0).get() == stream.get());
         EXPECT_EQ(cai_stream_set_current(before, nullptr), CAI_OK);
       }},
      {"cai_stream_enter", "",
       [](Trial &trial) {
         const Stream stream(gpu0, CAI_MODE_ASYNC);
         auto guard = marked<cai_stream_guard>();
         trial.call([&](cai_error *error) { return cai_stream_enter(stream, &guard, error); },
                    guard);
         trial.tell(current_stream(gpu0).get() == stream.get());
         EXPECT_EQ(cai_stream_leave(&guard, 0, nullptr), CAI_OK);
       }},
      {"cai_stream_leave", "",
       [](Trial &trial) {
         const Stream stream(gpu0, CAI_MODE_ASYNC);
         Work work;
         cai_stream_guard guard{};
         EXPECT_EQ(cai_stream_enter(stream, &guard, nullptr), CAI_OK);
         EXPECT_EQ(work.enqueue(stream), CAI_OK);
         // It is left even if it fails.
         trial.call_once([&](cai_error *error) { return cai_stream_leave(&guard, 0, error); });
         trial.tell(guard.thread, current_stream(gpu0).get() == stream.get());
         EXPECT_EQ(cai_stream_synchronize(stream, nullptr), CAI_OK);
         drain();
       }},
      {"cai_event_create", "", [](Trial &trial) { create_event(trial, gpu1); }},
      {"cai_event_create", "of the CPU", [](Trial &trial) { create_event(trial, cpu); }},
      {"cai_event_retain", "",
       [](Trial &trial) {
         const Event event(gpu0);
         trial.call([&] { cai_event_retain(event); });
         cai_event_release(event);
         trial.tell(cai_event_value(event) != 0);
       }},
      {"cai_event_release", "",
       [](Trial &trial) {
         Event event(gpu0);
         trial.call([&] { event.release(); });
       }},
      {"cai_event_value", "",
       [](Trial &trial) {
         const Event event(cpu);
         trial.call([&] { trial.tell(cai_event_value(event)); });
       }},
      {"cai_event_record", "", [](Trial &trial) { record(trial, gpu0); }},
      {"cai_event_record", "on the CPU", [](Trial &trial) { record(trial, cpu); }},
      {"cai_event_wait", "", [](Trial &trial) { wait_for_event(trial, gpu0, gpu1); }},
      {"cai_event_wait", "CPU after GPU", [](Trial &trial) { wait_for_event(trial, gpu0, cpu); }},
      {"cai_event_wait", "GPU after CPU", [](Trial &trial) { wait_for_event(trial, cpu, gpu0); }},
      {"cai_event_query", "",
       [](Trial &trial) {
         const Event event(gpu0);
         const Stream stream(gpu0, CAI_MODE_ASYNC);
         EXPECT_EQ(cai_event_record(event, stream, nullptr), CAI_OK);
         EXPECT_EQ(cai_event_synchronize(event, nullptr), CAI_OK);
         std::int32_t busy = 77;
         trial.call([&](cai_error *error) { return cai_event_query(event, &busy, error); }, busy);
         trial.tell(busy);
       }},
      {"cai_event_synchronize", "",
       [](Trial &trial) {
         Given given(gpu0);
         const Event event(gpu0);
         EXPECT_EQ(given.work.enqueue(given.stream), CAI_OK);
         EXPECT_EQ(cai_event_record(event, given.stream, nullptr), CAI_OK);
         trial.call([&](cai_error *error) { return cai_event_synchronize(event, error); });
         trial.tell(given.work.runs);
         given.finish(trial);
       }},
      {"cai_event_elapsed", "",
       [](Trial &trial) {
         const Stream stream(gpu0, CAI_MODE_ASYNC);
         const Event start(gpu0, CAI_EVENT_TIMING), stop(gpu0, CAI_EVENT_TIMING);
         EXPECT_EQ(cai_event_record(start, stream, nullptr), CAI_OK);
         EXPECT_EQ(cai_event_record(stop, stream, nullptr), CAI_OK);
         EXPECT_EQ(cai_event_synchronize(stop, nullptr), CAI_OK);
         double time = 77;
         trial.call([&](cai_error *error) { return cai_event_elapsed(start, stop, &time, error); },
                    time);
         trial.tell(time >= 0);
       }},
  };
}

}  // namespace test
