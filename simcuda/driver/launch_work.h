// SPDX-License-Identifier: BSD-3-Clause
// A launch as work of the schedule, by the engine or a stand-in: its name, its memory, its time.
#pragma once

#include <atomic>

#include "launch.h"

namespace simcuda {

// How long work has gone on.
class Patience {
 public:
  explicit Patience(const KernelWork &work) : work_(work) {}
  void begin() { began_ = Clock::now(); }
  // Others may begin beside it; without the simulator's lock.
  void goes_on();
  // Whether it is to end now, for its time or for an error of its context's.
  bool is_over(const Context &context);
  bool is_out_of_time() const { return out_of_time_; }
  // "It had run for more than 600 seconds ..."
  static std::string end_of_time();

 private:
  const KernelWork &work_;
  Clock::time_point began_;
  std::atomic<bool> goes_on_{false}, out_of_time_{false};  // several threads may ask
};

class LaunchWork : public KernelWork {
 public:
  std::string name() const override;
  // It is a part of other work, whose time it takes.
  virtual void share(Patience &patience) = 0;
  // The same launch, to be executed once more.
  virtual std::shared_ptr<LaunchWork> again() const = 0;

 protected:
  struct Seen {
    AllocationPtr allocation;
    std::shared_ptr<History> history;
  };

  // When the launch is submitted: what it names is remembered as it is now.
  explicit LaunchWork(std::shared_ptr<const KernelLaunch> launch);
  LaunchWork(const LaunchWork &) = default;
  ~LaunchWork() override = default;

  // These with the simulator's lock. What is at an address of the device for this launch, within
  // its reach or not; null: nothing.
  Seen seen_at(std::uintptr_t address) const;
  // Why it cannot use what is there: a sentence.
  std::string describe_unusable(std::uintptr_t address) const;

  const std::shared_ptr<const KernelLaunch> launch_;

 private:
  std::vector<Seen> named_;
};

// Whether it reads as poison, and keeps nothing.
bool is_gone(const Allocation &allocation);

}  // namespace simcuda
