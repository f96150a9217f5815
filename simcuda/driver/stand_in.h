// SPDX-License-Identifier: BSD-3-Clause
// One launch of a kernel whose work a test's function does: simcuda_stand_in().
#pragma once

#include "launch_work.h"

namespace simcuda {

class StandIn final : public LaunchWork {
 public:
  explicit StandIn(std::shared_ptr<const KernelLaunch> launch) : LaunchWork(std::move(launch)) {}

  void share(Patience &) override {}  // nothing can stop it
  std::shared_ptr<LaunchWork> again() const override;
  void run(const Operation &operation) override;
  void ran(const Operation &operation) override;

  // Called while it runs, on its thread: returns where the bytes that it uses are. Returns null,
  // and the launch has failed, if it can access no memory there.
  void *use(std::uint64_t address, std::uint64_t size, bool write);

 private:
  struct Use {
    AllocationPtr allocation;
    std::shared_ptr<History> history;
    std::size_t begin, end;  // offsets in the allocation
    bool write;
    std::unique_ptr<std::byte[]> lost;  // replaces freed memory
  };

  explicit StandIn(const LaunchWork &same) : LaunchWork(same) {}

  const Operation *operation_ = nullptr;  // while it runs
  std::vector<Use> uses_;
  CUresult result_ = CUDA_SUCCESS;
};

// With the simulator's lock, where a call has waited for long: says, once for each stand-in that
// has not returned, what it may wait for.
void say_what_stands_in();

}  // namespace simcuda
