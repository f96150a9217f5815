// SPDX-License-Identifier: BSD-3-Clause
// Random programs of work, failures, waits and events on streams of the CPU, without a driver. A
// failure is returned once, by a call for its stream. It drops what was queued behind it, and
// nothing else. What follows a stream or an event comes after its work, whatever has failed.
//
// usage: queues random COUNT SEED | replay SEED
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cai/device.h"
#include "must.h"

namespace {

constexpr cai_device cpu{CAI_DEVICE_CPU, 0};

void sleep_for(unsigned microseconds) {
  if (microseconds) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

struct Work {
  std::size_t number;
  std::size_t stream;
  std::vector<const Work *> before;  // all of it must be over when this runs
  bool fails;
  unsigned pause;
  bool is_dropped = false;
  int told = 0;
  std::atomic<bool> has_run{false}, is_early{false};
  std::atomic<int> ended{0};

  static cai_status run(void *self, cai_error *error) {
    Work &work = *static_cast<Work *>(self);
    for (const Work *const each : work.before) {
      if (each->ended == 0) work.is_early = true;
    }
    sleep_for(work.pause);
    work.has_run = true;
    if (!work.fails) return CAI_OK;
    std::snprintf(error->message, sizeof error->message, "%zu", work.number);
    return error->status = CAI_ERR_BOUNDS;
  }
  static void end(void *self) { ++static_cast<Work *>(self)->ended; }
};

struct Stream {
  cai_stream *handle = nullptr;
  std::vector<Work *> queued;        // since its last failure was told, or all was seen to be over
  std::vector<const Work *> before;  // its next work
};

struct Event {
  cai_event *handle = nullptr;
  std::vector<const Work *> before;  // what it was recorded after
};

void join(std::vector<const Work *> &to, const std::vector<const Work *> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

class Program {
 public:
  explicit Program(std::uint64_t seed) : any_(seed) {
    for (Stream &each : streams_)
      MUST(cai_stream_create(cpu, CAI_MODE_ASYNC, 0, &each.handle, nullptr));
    for (Event &each : events_) MUST(cai_event_create(cpu, 0, &each.handle, nullptr));
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program() {
    for (const Stream &each : streams_) {  // whose threads use the work, if it is wrong, too
      while (cai_stream_synchronize(each.handle, nullptr) != CAI_OK) continue;
      cai_stream_release(each.handle);
    }
    for (const Event &each : events_) cai_event_release(each.handle);
  }

  // Returns what is wrong.
  std::string run() {
    for (unsigned left = 10 + draw(30); left && wrong_.empty(); --left) step();
    for (Stream &each : streams_) {
      while (wrong_.empty() && !synchronize(each)) continue;
    }
    if (!wrong_.empty()) return wrong_;
    for (const auto &each : works_) judge(*each);
    return wrong_;
  }

 private:
  unsigned draw(unsigned below) { return static_cast<unsigned>(any_() >> 8) % below; }
  template <class Of, std::size_t count>
  Of &draw(Of (&all)[count]) {
    return all[draw(count)];
  }

  void step() {
    Stream &stream = draw(streams_);
    Event &event = draw(events_);
    switch (draw(20)) {
      case 0:
      case 1:
        return follow(stream, draw(streams_));
      case 2:
        return record(event, stream);
      case 3:
        return wait(event, stream);
      case 4:
        return await(event);
      case 5:
        return static_cast<void>(synchronize(stream));
      case 6:
        return query(stream);
      case 7:
      case 8:
        return sleep_for(draw(60));
      default:
        return enqueue(stream);
    }
  }

  void enqueue(Stream &stream) {
    const auto which = static_cast<std::size_t>(&stream - streams_);
    const bool fails = draw(4) == 0;
    auto work =
        std::make_unique<Work>(works_.size(), which, stream.before, fails, draw(3) * draw(30));
    const bool done = ask(stream, stream, [&](cai_error *error) {
      return cai_stream_enqueue(stream.handle, Work::run, Work::end, work.get(), error);
    });
    if (!done) return;
    stream.queued.push_back(work.get());
    stream.before = {work.get()};
    works_.push_back(std::move(work));
  }

  void follow(Stream &stream, Stream &other) {
    if (ask(stream, other, [&](cai_error *error) {
          return cai_stream_follow(stream.handle, other.handle, error);
        })) {
      join(stream.before, other.before);
    }
  }

  void record(Event &event, Stream &stream) {
    if (ask(stream, stream, [&](cai_error *error) {
          return cai_event_record(event.handle, stream.handle, error);
        })) {
      event.before = stream.before;
    }
  }

  void wait(const Event &event, Stream &stream) {
    if (ask(stream, stream,
            [&](cai_error *error) { return cai_event_wait(event.handle, stream.handle, error); })) {
      join(stream.before, event.before);
    }
  }

  void await(const Event &event) {
    MUST(cai_event_synchronize(event.handle, nullptr));
    for (const Work *const each : event.before) {
      if (each->ended == 0) blame("an event is over before work", *each);
    }
  }

  bool synchronize(Stream &stream) {
    const bool done = ask(stream, stream, [&](cai_error *error) {
      return cai_stream_synchronize(stream.handle, error);
    });
    if (done) see_over(stream);
    return done;
  }

  void query(Stream &stream) {
    std::int32_t busy = 1;
    const bool done = ask(stream, stream, [&](cai_error *error) {
      return cai_stream_query(stream.handle, &busy, error);
    });
    if (done && !busy) see_over(stream);
  }

  void see_over(Stream &stream) {
    for (const Work *const each : stream.queued) {
      if (!each->has_run || each->ended != 1) blame("the stream is idle before work", *each);
      if (each->fails) blame("nobody is told of the failure of work", *each);
    }
    stream.queued.clear();
  }

  // Whether the call succeeds. Otherwise it must tell the failure of one of its streams.
  template <class Call>
  bool ask(Stream &stream, Stream &other, Call &&call) {
    cai_error error{};
    if (call(&error) == CAI_OK) return true;
    const std::size_t number = std::strtoul(error.message, nullptr, 10);
    if (error.status != CAI_ERR_BOUNDS || number >= works_.size()) {
      wrong_ = std::string("a call fails: ") + error.message;
      return false;
    }
    Work &failed = *works_[number];
    ++failed.told;
    Stream &of = streams_[failed.stream];
    if (&of != &stream && &of != &other)
      blame("another stream's call returns the failure of work", failed);
    bool is_behind = false;
    for (Work *const each : of.queued) {
      if (is_behind) each->is_dropped = true;
      if (!is_behind && each != &failed && each->fails)
        blame("nobody is told of the failure of work", *each);
      is_behind |= each == &failed;
    }
    if (!is_behind) blame("a call returns the former failure of work", failed);
    of.queued.clear();
    return false;
  }

  void judge(const Work &work) {
    if (work.ended != 1) blame("the end is not called once, of work", work);
    if (work.is_early) blame("too early is work", work);
    if (work.has_run == work.is_dropped)
      blame(work.is_dropped ? "behind a failure runs work" : "dropped is work", work);
    if (work.told != (work.fails && work.has_run))
      blame("a failure is not told once, of work", work);
  }

  void blame(const char *what, const Work &work) {
    if (wrong_.empty()) wrong_ = std::string(what) + " " + std::to_string(work.number);
  }

  std::minstd_rand any_;
  Stream streams_[3];
  Event events_[2];
  std::vector<std::unique_ptr<Work>> works_;
  std::string wrong_;
};

// Whether the program is right.
bool is_right(std::uint64_t seed) {
  alarm(100);  // a hang is a failure
  const std::string wrong = Program(seed).run();
  if (!wrong.empty())
    std::printf("# queues replay %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
  return wrong.empty();
}

}  // namespace

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto fail = [](void *, const cai_error *error) {
    std::printf("# the hook hears: %s\n", error->message);
    std::exit(1);
  };
  MUST(cai_on_failure(fail, nullptr, nullptr));
  if (what == "random" && argc == 4) {
    const std::uint64_t count = std::stoull(argv[2]), first = std::stoull(argv[3]) * 1000000000;
    std::printf("1..1\n");
    std::uint64_t seed = first;
    while (seed < first + count && is_right(seed)) ++seed;
    std::printf("%s 1 - %s programs\n", seed == first + count ? "ok" : "not ok", argv[2]);
    return seed != first + count;
  }
  if (what == "replay" && argc == 3) {  // it depends on time
    for (int times = 0; times < 1000; ++times) {
      if (!is_right(std::stoull(argv[2]))) return 1;
    }
    return 0;
  }
  std::fprintf(stderr, "usage: queues random COUNT SEED | replay SEED\n");
  return 2;
}
