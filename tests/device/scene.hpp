// SPDX-License-Identifier: BSD-3-Clause
// Devices, streams and events as a client holds them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cai/memory.h"
#include "gpu.hpp"
#include "statuses.hpp"

namespace test {

class Stream {
 public:
  Stream(cai_device device, std::uint32_t mode, std::int32_t priority = 0) {
    MUST(cai_stream_create(device, mode, priority, &stream_, nullptr));
  }
  explicit Stream(cai_stream *taken) : stream_(taken) {}
  Stream(Stream &&other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream &operator=(Stream &&) = delete;
  ~Stream() { release(); }

  void release() { cai_stream_release(std::exchange(stream_, nullptr)); }
  cai_stream *get() const { return stream_; }
  operator cai_stream *() const { return stream_; }  // NOLINT(google-explicit-constructor)
  std::uint64_t value() const { return cai_stream_value(stream_); }

 private:
  cai_stream *stream_ = nullptr;
};

inline Stream current_stream(cai_device device) {
  cai_stream *found = nullptr;
  cai_error error{};
  EXPECT_EQ(cai_stream_current(device, &found, &error), CAI_OK) << error.message;
  return Stream(found);
}

// Calls it as the calling thread ends, after its current streams: it was made before them, so this
// must come before all else that the thread does with streams.
inline void at_the_end(std::function<void()> last) {
  struct Last {
    ~Last() { run(); }
    std::function<void()> run;
  };
  static thread_local Last of_thread;
  of_thread.run = std::move(last);
  current_stream(cpu);
}

inline cai_stream_info describe(cai_stream *stream) {
  cai_stream_info info{};
  info.struct_size = sizeof info;
  cai_error error{};
  EXPECT_EQ(cai_stream_describe(stream, &info, &error), CAI_OK) << error.message;
  return info;
}

class Event {
 public:
  explicit Event(cai_device device, std::uint32_t flags = 0) {
    MUST(cai_event_create(device, flags, &event_, nullptr));
  }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  ~Event() { release(); }

  void release() { cai_event_release(std::exchange(event_, nullptr)); }
  operator cai_event *() const { return event_; }  // NOLINT(google-explicit-constructor)

 private:
  cai_event *event_ = nullptr;
};

inline bool is_busy(cai_stream *stream) {
  std::int32_t busy = -1;
  cai_error error{};
  EXPECT_EQ(cai_stream_query(stream, &busy, &error), CAI_OK) << error.message;
  return busy != 0;
}
inline bool is_busy(cai_event *event) {
  std::int32_t busy = -1;
  cai_error error{};
  EXPECT_EQ(cai_event_query(event, &busy, &error), CAI_OK) << error.message;
  return busy != 0;
}

// Work for a stream, with what becomes of it.
class Work {
 public:
  explicit Work(std::function<cai_status(cai_error *)> body) : body_(std::move(body)) {}
  Work() : Work([](cai_error *) { return CAI_OK; }) {}
  Work(const Work &) = delete;
  Work &operator=(const Work &) = delete;

  static cai_status run(void *context, cai_error *error) {
    Work &work = *static_cast<Work *>(context);
    ++work.runs;
    return work.body_(error);
  }
  static void done(void *context) {
    Work &work = *static_cast<Work *>(context);
    work.done_by = pthread_self();
    ++work.ends;
  }

  cai_status enqueue(cai_stream *stream, cai_error *error = nullptr) {
    return cai_stream_enqueue(stream, run, done, this, error);
  }
  cai_status attach(cai_stream *stream, cai_error *error = nullptr) {
    return cai_stream_attach(stream, done, this, error);
  }

  std::atomic<int> runs{0}, ends{0};
  pthread_t done_by{};

 private:
  std::function<cai_status(cai_error *)> body_;
};

inline cai_status say_seven(cai_error *error) {
  *error = {CAI_ERR_BOUNDS, 7, 0, -1, "seven"};
  return CAI_ERR_BOUNDS;
}

// Work that holds a stream up until it is opened.
class Door {
 public:
  Door()
      : work([this](cai_error *) {
          began = true;
          began.notify_all();
          open_.wait(false);
          return CAI_OK;
        }) {}
  ~Door() { open(); }
  void open() {
    open_ = true;
    open_.notify_all();
  }
  void await() { began.wait(false); }

  std::atomic<bool> began{false};

 private:
  std::atomic<bool> open_{false};

 public:
  Work work;
};

// Collects the failures of cai_on_failure() while it exists.
class Told {
 public:
  Told() {
    const auto hear = [](void *context, const cai_error *error) {
      Told &told = *static_cast<Told *>(context);
      const std::lock_guard lock(told.mutex_);
      told.messages_.emplace_back(error->message);
    };
    EXPECT_EQ(cai_on_failure(hear, this, nullptr), CAI_OK);
  }
  Told(const Told &) = delete;
  Told &operator=(const Told &) = delete;
  ~Told() { EXPECT_EQ(cai_on_failure(nullptr, nullptr, nullptr), CAI_OK); }

  std::vector<std::string> messages() {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> messages_;
};

inline void drain() {
  cai_error error{};
  EXPECT_EQ(cai_drain(1, nullptr, &error), CAI_OK) << error.message;
}

// libcai has both primary contexts from the beginning; each test leaves the thread's contexts and
// capture mode as they were, and no race.
class OnDevices : public testing::Test {
 protected:
  OnDevices() {
    for (const cai_device device : {gpu0, gpu1}) {
      MUST(cai_device_memory(device, nullptr, nullptr, nullptr));
    }
    before_ = Surroundings();
    gpu().simcuda_reset_counts();
  }
  ~OnDevices() override {
    EXPECT_EQ(gpu().simcuda_races(), 0U);
    EXPECT_EQ(gpu().simcuda_findings(), 0U) << "uses of destroyed streams";
    EXPECT_TRUE(Surroundings() == before_) << "the context stack or the capture mode has changed";
  }

  static Handle primary(int device) {
    Handle context = nullptr;
    MUST(gpu().cuDevicePrimaryCtxRetain(&context, device));
    MUST(gpu().cuDevicePrimaryCtxRelease_v2(device));
    return context;
  }

  static Address memory(int device = 0) {
    const With with(primary(device));
    Address made = 0;
    MUST(gpu().cuMemAlloc_v2(&made, static_cast<std::size_t>(count)));
    MUST(gpu().cuMemsetD8Async(made, 0, static_cast<std::size_t>(count), nullptr));
    MUST(gpu().cuCtxSynchronize());
    return made;
  }
  static void fill(Address data, unsigned char byte, std::uint64_t on) {
    const With with(primary(0));
    MUST(gpu().cuMemsetD8Async(data, byte, static_cast<std::size_t>(count), handle(on)));
  }
  static void copy(Address to, Address from, std::uint64_t on) {
    const With with(primary(0));
    MUST(gpu().cuMemcpyDtoDAsync_v2(to, from, static_cast<std::size_t>(count), handle(on)));
  }
  static int read(Address data) {
    const With with(primary(0));
    unsigned char byte = 0;
    MUST(gpu().cuMemcpyDtoH_v2(&byte, data, 1));
    return byte;
  }

 private:
  Surroundings before_{};
};

}  // namespace test
