// SPDX-License-Identifier: BSD-3-Clause
// A launch as work of the schedule, by any engine: its name, its memory, its time limit.
#pragma once

#include <atomic>

#include "launch.h"
#include "texture.h"

namespace simcuda {

// How long work has run.
class Patience {
 public:
  explicit Patience(const KernelWork &work) : work_(work) {}
  void begin() { began_ = Clock::now(); }
  // Others may begin beside it. Called without the simulator's lock.
  void goes_on();
  // Whether the work must end now, because of its time or an error of its context.
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
  // It is part of other work, and shares its time limit.
  virtual void share(Patience &patience) = 0;
  // The same launch, to be executed again.
  virtual std::shared_ptr<LaunchWork> again() const = 0;

 protected:
  struct Seen {
    AllocationPtr allocation;
    std::shared_ptr<History> history;
  };

  // Called when the launch is submitted: stores the memory that it names now.
  explicit LaunchWork(std::shared_ptr<const KernelLaunch> launch);
  LaunchWork(const LaunchWork &) = default;
  ~LaunchWork() override = default;

  // These need the simulator's lock. seen_at(): the memory at a device address for this launch,
  // accessible or not; null: none.
  Seen seen_at(std::uintptr_t address) const;
  // Why it cannot use that memory: a sentence.
  std::string describe_unusable(std::uintptr_t address) const;
  // The texture or surface of a handle that this launch can use; null: none.
  TextureObjectPtr texture_of(std::uint64_t handle) const;
  // Why there is none: a sentence.
  std::string describe_unusable_handle(std::uint64_t handle) const;

  const std::shared_ptr<const KernelLaunch> launch_;

 private:
  TextureObjectPtr object_of(std::uint64_t handle) const;

  std::vector<Seen> named_;
  const DestroyedTextures::Since destroyed_;
};

// Why a launch cannot use what is at an address on the device: a sentence. `allocation`: what was
// found there, or null. The simulator's lock is needed.
std::string describe_unusable(const KernelLaunch &launch, AllocationPtr allocation,
                              std::uintptr_t address);

// Whether the memory was freed, so that it reads as poison and keeps no writes.
bool is_gone(const Allocation &allocation);

}  // namespace simcuda
