// SPDX-License-Identifier: BSD-3-Clause
// A thread that calls libcai beside a program's steps: it flushes, drains, and finds memory, which
// it may be the last to release.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace lives {

class Bystander {
 public:
  Bystander();
  Bystander(const Bystander &) = delete;
  Bystander &operator=(const Bystander &) = delete;
  ~Bystander();

  // It calls while one of these exists.
  class Turn {
   public:
    explicit Turn(Bystander *of);
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;
    ~Turn();

   private:
    Bystander *const of_;
  };

  // None of its calls is running while the lock is held.
  std::unique_lock<std::mutex> hold() { return std::unique_lock(calling_); }

  // An address that it looks up.
  void show(std::uint64_t address) { address_ = address; }

 private:
  enum State : int { holds, calls, ends };

  void serve();
  void call(unsigned which);

  std::atomic<State> state_{holds};
  std::atomic<bool> is_busy_{false};
  std::atomic<std::uint64_t> address_{0};
  std::mutex calling_;
  std::thread thread_;
};

}  // namespace lives
