// SPDX-License-Identifier: BSD-3-Clause
// One launch of a kernel whose work a function of the test's does: simcuda_stand_in().
#pragma once

#include "execution.h"

namespace simcuda {

class StandIn final : public LaunchWork {
 public:
  // When the launch is submitted: what it names is remembered as it is now.
  explicit StandIn(std::shared_ptr<const KernelLaunch> launch);

  void share(Patience &) override {}  // nobody can stop it
  std::shared_ptr<LaunchWork> again() const override;
  std::string name() const override;
  void run(const Operation &operation) override;
  void ran(const Operation &operation) override;

  // While it runs, on its thread: where the bytes are that it wants to use. Null, and the launch
  // has failed, if no memory is there within its reach.
  void *use(std::uint64_t address, std::uint64_t size, bool write);

 private:
  struct Use {
    AllocationPtr allocation;
    std::shared_ptr<History> history;
    std::size_t begin, end;  // offsets in the allocation
    bool write;
    std::unique_ptr<std::byte[]> lost;  // in place of memory that is gone
  };

  using Named = std::vector<std::pair<AllocationPtr, std::shared_ptr<History>>>;

  StandIn(std::shared_ptr<const KernelLaunch> launch, Named named)
      : launch_(std::move(launch)), named_(std::move(named)) {}

  const std::shared_ptr<const KernelLaunch> launch_;
  Named named_;
  const Operation *operation_ = nullptr;  // while it runs
  std::vector<Use> uses_;
  CUresult result_ = CUDA_SUCCESS;
};

}  // namespace simcuda
