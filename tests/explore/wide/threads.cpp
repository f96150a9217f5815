// SPDX-License-Identifier: BSD-3-Clause
#include "threads.hpp"

#include <utility>

namespace wide {

void Threads::begin() {
  second_ = std::thread([this] {
    me_ = 1;
    while (serve()) {
    }
  });
}

void Threads::end() {
  if (!second_.joinable()) return;
  give(1, nullptr);
  second_.join();
  turn_ = 0;
}

void Threads::give(int thread, Task *task) {
  next_ = task;
  turn_ = thread;
  turn_.notify_all();
}

bool Threads::serve() {
  turn_.wait(1 - me_);
  Task *const task = std::exchange(next_, nullptr);
  if (!task) return false;
  task->run(task->context);
  give(task->from, nullptr);
  return true;
}

}  // namespace wide
