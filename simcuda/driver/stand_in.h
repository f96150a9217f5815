// SPDX-License-Identifier: BSD-3-Clause
// One launch of a kernel whose work a function of the test's does: simcuda_stand_in().
#pragma once

#include "launch.h"

namespace simcuda {

class StandIn final : public KernelWork {
 public:
  // When the launch is submitted: what it names is remembered as it is now.
  explicit StandIn(std::shared_ptr<const KernelLaunch> launch);

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

  const std::shared_ptr<const KernelLaunch> launch_;
  std::vector<std::pair<AllocationPtr, std::shared_ptr<History>>> named_;
  const Operation *operation_ = nullptr;  // while it runs
  std::vector<Use> uses_;
  CUresult result_ = CUDA_SUCCESS;
};

}  // namespace simcuda
