// SPDX-License-Identifier: BSD-3-Clause
#include "stand_in.h"

#include <cstring>
#include <map>
#include <utility>

#include "call.h"
#include "check_report.h"
#include "race_report.h"
#include "written.h"

namespace simcuda {
namespace {

StandIn *&running() {
  static thread_local StandIn *here __attribute__((tls_model("initial-exec"))) = nullptr;
  return here;
}

// With the simulator's lock: those that have begun and not returned, and whether that was said.
std::map<const StandIn *, bool> &all_running() {
  static auto *all = new std::map<const StandIn *, bool>;
  return *all;
}

void note_running(const StandIn &stand_in, bool is_running) {
  Lock lock(simulator_mutex());
  if (is_running)
    all_running().emplace(&stand_in, false);
  else
    all_running().erase(&stand_in);
}

}  // namespace

void say_what_stands_in() {
  for (auto &[stand_in, is_said] : all_running()) {
    if (std::exchange(is_said, true)) continue;
    say("simcuda: kernel " + stand_in->name() +
        ": a call waits for its stand-in. If that is Python's, " +
        "it needs the GIL: release it around calls of the driver (docs/kernels.md)\n");
  }
}

std::shared_ptr<LaunchWork> StandIn::again() const {
  return std::shared_ptr<StandIn>(new StandIn(static_cast<const LaunchWork &>(*this)));
}

void StandIn::run(const Operation &operation) {
  operation_ = &operation;
  const simcuda_launch seen = launch_as_seen(*launch_);
  running() = this;
  note_running(*this, true);
  const CUresult result = launch_->code->stand_in(&seen, launch_->code->data);
  note_running(*this, false);
  running() = nullptr;
  if (result_ != CUDA_SUCCESS || result == CUDA_SUCCESS) return;
  result_ = result;
  tell_fault("Kernel " + name() + ": its stand-in failed: it returned " + std::to_string(result),
             operation);
}

void *StandIn::use(std::uint64_t address, std::uint64_t size, bool write) {
  static std::byte nothing;
  if (size == 0) return &nothing;
  Lock lock(simulator_mutex());
  auto [allocation, history] = seen_at(address);
  const std::uint64_t begin = allocation ? address - allocation->device_address() : 0;
  const bool is_there =
      allocation && size <= allocation->size - begin && in_reach(*launch_->context, *allocation);
  if (!is_there || (write && allocation->constant)) {
    const std::string why = is_there ? "It must not be written." : describe_unusable(address);
    lock.unlock();
    tell_fault("Kernel " + name() + ": its stand-in " + (write ? "writes " : "reads ") +
                   std::to_string(size) + " bytes at address " + hex(address) +
                   ", where it has no such memory. " + why,
               *operation_);
    result_ = CUDA_ERROR_ILLEGAL_ADDRESS;
    return nullptr;
  }
  Use &use = uses_.emplace_back(Use{allocation, history, begin, begin + size, write, nullptr});
  ++allocation->kernels;
  std::byte *bytes = allocation->bytes + begin;
  if (is_gone(*allocation)) {
    use.lost = std::make_unique<std::byte[]>(size);
    bytes = use.lost.get();
    std::memset(bytes, freed_poison, size);
  } else if (write && allocation->written) {
    allocation->written->add(begin, size);
  }
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
