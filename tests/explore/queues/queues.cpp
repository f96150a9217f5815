// SPDX-License-Identifier: BSD-3-Clause
// Random programs of work, failures, waits, events and memory on streams of the CPU, by one thread
// or by up to three, without a driver. A failure is told once: by a call for its stream, or by one
// that waits for memory on which that stream's work was recorded. It drops what was queued behind
// it, and nothing else. What follows a stream or an event comes after its work, whatever has
// failed.
//
// usage: queues random COUNT SEED | replay SEED
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "cai/memory.h"
#include "history.hpp"
#include "must.h"

namespace queues {
namespace {

constexpr cai_device cpu{CAI_DEVICE_CPU, 0};
constexpr cai_dtype byte_type{'u', '|', 0, 0, 1, 0};
constexpr std::size_t most_threads = 3, most_works = 256;

void sleep_for(unsigned microseconds) {
  if (microseconds) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

// Memory of the host.
class Block {
 public:
  explicit Block(int value) {
    cai_request wanted{};
    wanted.struct_size = sizeof wanted;
    wanted.kind = CAI_KIND_HOST;
    wanted.size = most_works;
    MUST(cai_memory_alloc(cpu, &wanted, &memory_, nullptr));
    cai_memory_info info{};
    info.struct_size = sizeof info;
    MUST(cai_memory_describe(memory_, &info, nullptr));
    bytes_ = reinterpret_cast<unsigned char *>(static_cast<std::uintptr_t>(info.host));
    std::memset(bytes_, value, most_works);
  }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  ~Block() { cai_memory_release(memory_); }

  cai_memory *memory() const { return memory_; }
  unsigned char at(std::size_t i) const { return bytes_[i]; }
  // An array of one byte.
  cai_array *array(std::size_t i) const {
    const std::int64_t shape[] = {1};
    cai_array *made = nullptr;
    MUST(cai_memory_array(memory_, i, &byte_type, 1, shape, nullptr, &made, nullptr));
    return made;
  }

 private:
  cai_memory *memory_ = nullptr;
  unsigned char *bytes_ = nullptr;
};

cai_status run_work(void *context, cai_error *error) {
  Work &work = *static_cast<Work *>(context);
  work.started = tick();
  sleep_for(work.pause);
  if (!work.fails) return CAI_OK;
  std::snprintf(error->message, sizeof error->message, "%zu", work.number);
  return error->status = CAI_ERR_BOUNDS;
}

void end_work(void *context) {
  Work &work = *static_cast<Work *>(context);
  ++work.ends;
  work.ended = tick();  // the program may look as soon as it sees this
}

class Program {
 public:
  explicit Program(std::uint64_t seed);
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program();

  // Returns what is wrong.
  std::string run();
  // Told of failures that no call returns.
  void hear(const cai_error &error);

 private:
  struct Thread {
    std::size_t number;
    std::minstd_rand any;
    Log log;
    std::string wrong;
    cai_array *arrays[2] = {};  // its own, of the blocks

    unsigned draw(unsigned below) { return static_cast<unsigned>(any() >> 8) % below; }
  };
  bool is_alone() const { return threads_.size() == 1; }
  using Asked = std::function<cai_status(cai_error *)>;

  void step(Thread &by);
  Work &new_work(std::size_t stream);
  void enqueue(Thread &by, std::size_t stream);
  void copy(Thread &by, std::size_t block, std::size_t stream);
  void follow(Thread &by, std::size_t stream, std::size_t other);
  void record(Thread &by, std::size_t stream);
  void wait(Thread &by, std::size_t stream, std::size_t event);
  void await(Thread &by, std::size_t event);
  bool synchronize(Thread &by, std::size_t stream);
  void query(Thread &by, std::size_t stream);
  void use(Thread &by, std::size_t block, std::size_t stream);
  void await_block(Thread &by, std::size_t block);
  void replace(std::size_t &stream);
  std::size_t new_stream();
  // Whether the call succeeds, and when it was. It may tell of failures of the streams, or of what
  // the block waits for.
  std::optional<Call> ask(Thread &by, std::vector<std::size_t> streams,
                          std::optional<std::size_t> block, const Asked &call);
  Log::Told told(const cai_error &error, const Call &call);

  std::array<Work, most_works> works_;
  std::atomic<std::size_t> count_{0};
  std::vector<Stream> streams_;
  std::vector<cai_stream *> handles_;
  std::array<std::size_t, 3> in_use_;
  cai_event *events_[most_threads] = {};  // each thread records its own
  const Block ones_{1}, blocks_[2]{Block(0), Block(0)};
  std::vector<Thread> threads_;
  std::mutex mutex_;  // of what the hook hears
  Log heard_;
  std::string wrong_;
};

Program *running = nullptr;

Program::Program(std::uint64_t seed) {
  running = this;
  std::minstd_rand any(seed);
  for (std::size_t i = 0; i < works_.size(); ++i) works_[i].number = i;
  for (std::size_t &each : in_use_) each = new_stream();
  for (cai_event *&each : events_) MUST(cai_event_create(cpu, 0, &each, nullptr));
  const std::size_t threads = 1 + (seed % 2 ? 0 : 1 + any() % 2);
  for (std::size_t i = 0; i < threads; ++i) {
    Thread &thread = threads_.emplace_back(Thread{i, std::minstd_rand(seed * 4 + i), {}, {}});
    for (std::size_t k = 0; k < 2; ++k) thread.arrays[k] = blocks_[k].array(0);
  }
}

Program::~Program() {
  for (const Thread &thread : threads_) {
    for (cai_array *const each : thread.arrays) cai_array_release(each);
  }
  for (const std::size_t each : in_use_) {  // its thread uses the work, if it is wrong, too
    while (cai_stream_synchronize(handles_[each], nullptr) != CAI_OK) continue;
    cai_stream_release(handles_[each]);
  }
  for (cai_event *const each : events_) cai_event_release(each);
}

std::string Program::run() {
  const auto steps = [this](Thread &by) {
    for (unsigned left = 10 + by.draw(30); left && by.wrong.empty(); --left) step(by);
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads_.size(); ++i)
    others.emplace_back(steps, std::ref(threads_[i]));
  Thread &first = threads_[0];
  steps(first);
  for (std::thread &each : others) each.join();
  for (const std::size_t stream : in_use_) {
    while (first.wrong.empty() && !synchronize(first, stream)) continue;
  }
  std::vector<const Work *> works;
  for (std::size_t i = 0; i < count_; ++i) {
    Work &work = works_[i];
    while (work.is_queued && !work.ended) std::this_thread::yield();  // on one that is released
    if (work.block && blocks_[*work.block].at(i)) work.started = work.ended.load();
    works.push_back(&work);
  }
  const std::lock_guard lock(mutex_);
  Log all = heard_;
  for (const Thread &thread : threads_) {
    if (!thread.wrong.empty()) return thread.wrong;
    all.add(thread.log);
  }
  return wrong_.empty() ? judge(works, streams_, all) : wrong_;
}

void Program::hear(const cai_error &error) {
  const Time begin = tick();
  const std::lock_guard lock(mutex_);
  Log::Told told = this->told(error, {begin, tick()});
  told.by_hook = true;
  told.work < count_ ? heard_.told.push_back(told) : void(wrong_ = error.message);
}

void Program::step(Thread &by) {
  std::size_t &drawn = in_use_[by.draw(3)];
  const std::size_t stream = drawn, block = by.draw(2);
  const std::size_t event = by.draw(static_cast<unsigned>(threads_.size()));
  switch (by.draw(26)) {
    case 0:
    case 1:
      return follow(by, stream, in_use_[by.draw(3)]);
    case 2:
      return record(by, stream);
    case 3:
      return wait(by, stream, event);
    case 4:
      return await(by, event);
    case 5:
      return static_cast<void>(synchronize(by, stream));
    case 6:
      return query(by, stream);
    case 7:
    case 8:
      return use(by, block, stream);
    case 9:
    case 10:
      return await_block(by, block);
    case 11:
      if (is_alone()) replace(drawn);
      return;
    case 12:
    case 13:
      if (is_alone()) copy(by, block, stream);
      return;
    case 14:
    case 15:
      return sleep_for(by.draw(60));
    default:
      return enqueue(by, stream);
  }
}

Work &Program::new_work(std::size_t stream) {
  Work &work = works_[count_++];
  work.stream = stream;
  return work;
}

void Program::enqueue(Thread &by, std::size_t stream) {
  Work &work = new_work(stream);
  work.fails = by.draw(4) == 0;
  work.pause = by.draw(3) * by.draw(30);
  work.asked.begin = tick();
  work.is_queued = ask(by, {stream}, {}, [&](cai_error *error) {
                     return cai_stream_enqueue(handles_[stream], run_work, end_work, &work, error);
                   }).has_value();
  work.asked.end = tick();
}

// A 1, to a byte of its own.
void Program::copy(Thread &by, std::size_t block, std::size_t stream) {
  Work &work = new_work(stream);
  work.block = block;
  work.asked.begin = tick();
  cai_array *const one = ones_.array(0), *const to = blocks_[block].array(work.number);
  work.is_queued = ask(by, {stream}, {}, [&](cai_error *error) {
                     return cai_array_copy(one, to, handles_[stream], error);
                   }).has_value();
  work.asked.end = tick();
  cai_array_release(one);
  cai_array_release(to);
  if (!work.is_queued) return;
  MUST(cai_stream_attach(handles_[stream], end_work, &work, nullptr));
  by.log.uses.push_back({block, stream, work.asked});
}

void Program::follow(Thread &by, std::size_t stream, std::size_t other) {
  if (const std::optional<Call> call = ask(by, {stream, other}, {}, [&](cai_error *error) {
        return cai_stream_follow(handles_[stream], handles_[other], error);
      })) {
    by.log.joins.push_back({stream, other, {}, *call});
  }
}

void Program::record(Thread &by, std::size_t stream) {
  if (const std::optional<Call> call = ask(by, {stream}, {}, [&](cai_error *error) {
        return cai_event_record(events_[by.number], handles_[stream], error);
      })) {
    by.log.records.push_back({by.number, stream, *call});
  }
}

void Program::wait(Thread &by, std::size_t stream, std::size_t event) {
  if (const std::optional<Call> call = ask(by, {stream}, {}, [&](cai_error *error) {
        return cai_event_wait(events_[event], handles_[stream], error);
      })) {
    by.log.joins.push_back({stream, {}, event, *call});
  }
}

void Program::await(Thread &by, std::size_t event) {
  if (const std::optional<Call> call = ask(by, {}, {}, [&](cai_error *error) {
        return cai_event_synchronize(events_[event], error);
      })) {
    by.log.seen.push_back({{}, event, {}, *call});
  }
}

bool Program::synchronize(Thread &by, std::size_t stream) {
  const std::optional<Call> call = ask(by, {stream}, {}, [&](cai_error *error) {
    return cai_stream_synchronize(handles_[stream], error);
  });
  if (call) by.log.seen.push_back({stream, {}, {}, *call});
  return call.has_value();
}

void Program::query(Thread &by, std::size_t stream) {
  std::int32_t busy = 1;
  const std::optional<Call> call = ask(by, {stream}, {}, [&](cai_error *error) {
    return cai_stream_query(handles_[stream], &busy, error);
  });
  if (call && !busy) by.log.seen.push_back({stream, {}, {}, *call});
}

void Program::use(Thread &by, std::size_t block, std::size_t stream) {
  if (const std::optional<Call> call = ask(by, {}, {}, [&](cai_error *error) {
        return cai_memory_record(blocks_[block].memory(), handles_[stream], error);
      })) {
    by.log.uses.push_back({block, stream, *call});
  }
}

void Program::await_block(Thread &by, std::size_t block) {
  if (const std::optional<Call> call = ask(by, {}, block, [&](cai_error *error) {
        return cai_array_sync_host(by.arrays[block], error);
      })) {
    by.log.seen.push_back({{}, {}, block, *call});
  }
}

void Program::replace(std::size_t &stream) {
  streams_[stream].released = tick();
  cai_stream_release(handles_[stream]);
  stream = new_stream();
}

std::size_t Program::new_stream() {
  cai_stream *made = nullptr;
  MUST(cai_stream_create(cpu, CAI_MODE_ASYNC, 0, &made, nullptr));
  handles_.push_back(made);
  streams_.emplace_back();
  return streams_.size() - 1;
}

std::optional<Call> Program::ask(Thread &by, std::vector<std::size_t> streams,
                                 std::optional<std::size_t> block, const Asked &call) {
  cai_error error{};
  const Time begin = tick();
  const cai_status status = call(&error);
  const Call when{begin, tick()};
  if (status == CAI_OK) return when;
  Log::Told told = this->told(error, when);
  told.streams = std::move(streams);
  told.block = block;
  told.work < count_ ? by.log.told.push_back(told) : void(by.wrong = error.message);
  return {};
}

Log::Told Program::told(const cai_error &error, const Call &call) {
  const bool is_ours = error.status == CAI_ERR_BOUNDS;
  return {is_ours ? std::strtoul(error.message, nullptr, 10) : SIZE_MAX, call, {}, {}, false};
}

// Whether the program is right.
bool is_right(std::uint64_t seed) {
  alarm(100);  // a hang is a failure
  const std::string wrong = Program(seed).run();
  if (!wrong.empty())
    std::printf("# queues replay %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
  return wrong.empty();
}

int main_of(const std::vector<std::string> &arguments) {
  const auto hear = [](void *, const cai_error *error) { running->hear(*error); };
  MUST(cai_on_failure(hear, nullptr, nullptr));
  const std::string what = arguments.empty() ? "" : arguments[0];
  if (what == "random" && arguments.size() == 3) {
    const std::uint64_t count = std::stoull(arguments[1]);
    const std::uint64_t first = std::stoull(arguments[2]) * 1000000000;
    std::printf("1..1\n");
    std::uint64_t seed = first;
    while (seed < first + count && is_right(seed)) ++seed;
    std::printf("%s 1 - %s programs\n", seed == first + count ? "ok" : "not ok",
                arguments[1].c_str());
    return seed != first + count;
  }
  if (what == "replay" && arguments.size() == 2) {  // it depends on time
    for (int times = 0; times < 1000; ++times) {
      if (!is_right(std::stoull(arguments[1]))) return 1;
    }
    return 0;
  }
  std::fprintf(stderr, "usage: queues random COUNT SEED | replay SEED\n");
  return 2;
}

}  // namespace
}  // namespace queues

int main(int argc, char **argv) {
  return queues::main_of({argv + 1, argv + argc});
}
