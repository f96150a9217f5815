// SPDX-License-Identifier: BSD-3-Clause
// A stream of the CPU's on which what is queued stays pending for a while.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "memories.hpp"

namespace test {

class Slow {
 public:
  // Held, the while begins when it is let go: no sooner is anybody to wait for it.
  explicit Slow(bool held = false) : held_(held) {
    cai_error error{};
    EXPECT_EQ(cai_stream_enqueue(stream_, pause, nullptr, this, &error), CAI_OK) << error.message;
  }
  Slow(const Slow &) = delete;
  Slow &operator=(const Slow &) = delete;
  ~Slow() {
    let_go();
    cai_stream_synchronize(stream_, nullptr);  // it may have failed, which is the test's affair
  }

  operator cai_stream *() const { return stream_; }  // NOLINT(google-explicit-constructor)
  bool is_pending() const { return !passed_; }
  void let_go() {
    held_ = false;
    held_.notify_all();
  }

 private:
  static cai_status pause(void *context, cai_error *) {
    Slow &slow = *static_cast<Slow *>(context);
    slow.held_.wait(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    slow.passed_ = true;
    return CAI_OK;
  }

  std::atomic<bool> held_, passed_{false};
  const OwnStream stream_ = make_stream(cpu);
};

inline cai_status fail_work(void *, cai_error *error) {
  error->status = CAI_ERR_STATE;
  std::snprintf(error->message, sizeof error->message, "the work has failed");
  return CAI_ERR_STATE;
}

}  // namespace test
