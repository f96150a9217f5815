// SPDX-License-Identifier: BSD-3-Clause
#include "stand_in.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "call.h"
#include "check_report.h"
#include "ipc.h"
#include "race_report.h"
#include "spoken.h"
#include "written.h"

namespace simcuda {
namespace {

StandIn *&running() {
  static thread_local StandIn *here __attribute__((tls_model("initial-exec"))) = nullptr;
  return here;
}

bool is_gone(const Allocation &allocation) {
  return allocation.dead || (allocation.imported && !allocation.share->alive());
}

bool holds(const Allocation &allocation, std::uint64_t address, std::uint64_t size) {
  const std::uint64_t offset = address - allocation.device_address();
  return offset < allocation.size && size <= allocation.size - offset;
}

}  // namespace

StandIn::StandIn(std::shared_ptr<const KernelLaunch> launch) : launch_(std::move(launch)) {
  for (auto &allocation : launch_->named)
    named_.emplace_back(allocation, driver()->races.history_of(*allocation));
}

std::shared_ptr<LaunchWork> StandIn::again() const {
  return std::shared_ptr<StandIn>(new StandIn(launch_, named_));
}

std::string StandIn::name() const {
  return kernel::spoken(launch_->code->name);
}

void StandIn::run(const Operation &operation) {
  operation_ = &operation;
  const simcuda_launch seen = launch_as_seen(*launch_);
  running() = this;
  const CUresult result = launch_->code->stand_in(&seen, launch_->code->data);
  running() = nullptr;
  if (result_ == CUDA_SUCCESS) result_ = result;
}

void *StandIn::use(std::uint64_t address, std::uint64_t size, bool write) {
  Lock lock(simulator_mutex());
  Use use{};
  for (auto &[allocation, history] : named_)
    if (holds(*allocation, address, size)) use.allocation = allocation, use.history = history;
  if (!use.allocation) {
    use.allocation = driver()->memory.find(address);
    if (use.allocation) use.history = driver()->races.history_of(*use.allocation);
  }
  if (size == 0 || !use.allocation || !holds(*use.allocation, address, size) ||
      !in_reach(*launch_->context, *use.allocation)) {
    const std::string why = driver()->memory.describe(address);
    lock.unlock();
    tell_fault("Kernel " + name() + ": its stand-in " + (write ? "writes " : "reads ") +
                   std::to_string(size) + " bytes at address " + hex(address) +
                   ", where it has no memory. " + why,
               *operation_);
    result_ = CUDA_ERROR_ILLEGAL_ADDRESS;
    return nullptr;
  }
  Allocation &allocation = *use.allocation;
  use.begin = address - allocation.device_address();
  use.end = use.begin + size;
  use.write = write;
  std::byte *bytes = allocation.bytes + use.begin;
  if (is_gone(allocation)) {
    use.lost = std::make_unique<std::byte[]>(size);
    bytes = use.lost.get();
    std::memset(bytes, freed_poison, size);
  } else if (write && allocation.written) {
    allocation.written->add(use.begin, size);
  }
  ++allocation.kernels;
  uses_.push_back(std::move(use));
  return bytes;
}

void StandIn::ran(const Operation &operation) {
  std::vector<Races::Used> used;
  for (Use &use : uses_) {
    --use.allocation->kernels;
    used.push_back({use.allocation,
                    use.history,
                    use.write ? Effect::writes : Effect::reads,
                    nullptr,
                    {{use.begin, use.end}}});
  }
  auto &error = launch_->context->error;
  if (error == CUDA_SUCCESS && result_ != CUDA_SUCCESS) error = result_;
  driver()->races.ran(operation, used);
}

}  // namespace simcuda

using namespace simcuda;

SIM_API std::int32_t simcuda_stand_in(const char *name, const std::uint32_t *argument_sizes,
                                      std::uint32_t argument_count, simcuda_stand_in_run run,
                                      void *data) {
  if (!run) return CUDA_ERROR_INVALID_VALUE;
  return register_kernel(name, argument_sizes, argument_count, [&](KernelCode &code) {
    code.stand_in = run;
    code.data = data;
  });
}

SIM_API void *simcuda_use(std::uint64_t address, std::uint64_t size, std::int32_t write) {
  void *bytes = nullptr;
  if (StandIn *here = running())
    (void)guarded([&] { bytes = here->use(address, size, write != 0); });
  return bytes;
}
