// SPDX-License-Identifier: BSD-3-Clause
// The threads of the parties. One of them runs at a time, so that a program runs as it did before.
#pragma once

#include <atomic>
#include <thread>

namespace wide {

class Threads {
 public:
  // Runs `body` on thread 0, which made this, or on thread 1, which begins when it is needed. The
  // caller waits, and meanwhile does what it is asked to.
  template <class Body>
  void run(int thread, const Body &body) {
    if (thread == me_) return body();
    if (thread == 1 && !second_.joinable()) begin();
    Task task{[](void *context) { (*static_cast<const Body *>(context))(); },
              const_cast<Body *>(&body), me_};
    give(thread, &task);
    while (serve()) {
    }
  }
  // Thread 1 ends, if there is one. Called by thread 0.
  void end();

 private:
  struct Task {
    void (*run)(void *context);
    void *context;
    int from;
  };

  void begin();
  void give(int thread, Task *task);
  // Waits for the turn; runs what it came with. False if that is nothing: an answer, or
  // the end.
  bool serve();

  static inline thread_local int me_ = 0;
  std::thread second_;
  Task *next_ = nullptr;
  std::atomic<int> turn_{0};
};

}  // namespace wide
