// SPDX-License-Identifier: BSD-3-Clause
// Kernels that tests register in the place of compiled ones: see simcuda.h.

#include <algorithm>
#include <cstring>

#include "call.h"
#include "launch.h"
#include "launch_work.h"
#include "race_report.h"
#include "written.h"

namespace simcuda {
namespace {

using Registered = std::map<std::string, KernelCodePtr, std::less<>>;

Registered &registered() {
  static auto *all = new Registered;
  return *all;
}

// While a kernel's code runs, its thread must not call CUDA.
class OnDevice {
 public:
  OnDevice() : thread_(thread_state()), before_(thread_.driver_thread) {
    thread_.driver_thread = true;
  }
  ~OnDevice() { thread_.driver_thread = before_; }
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;

 private:
  ThreadState &thread_;
  bool before_;
};

std::vector<simcuda_range> ranges_of(const KernelLaunch &launch, const simcuda_launch &seen) {
  const KernelCode &code = *launch.code;
  const OnDevice scope;
  std::vector<simcuda_range> ranges(16);
  const auto ask = [&] {
    return code.ranges(&seen, ranges.data(), static_cast<std::uint32_t>(ranges.size()));
  };
  std::uint32_t count = code.ranges ? ask() : 0;
  if (count > ranges.size()) {
    ranges.resize(count);
    count = std::min(count, ask());
  }
  ranges.resize(count);
  return ranges;
}

// A kernel sees the memory as it is when the kernel runs.
void run(const KernelLaunch &launch, const simcuda_launch &seen, std::vector<simcuda_range> ranges,
         const std::vector<Place> &places) {
  std::vector<std::vector<std::byte>> lost;  // freed memory: it reads as poison
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Place &place = places[i];
    ranges[i].bytes = nullptr;
    if (ranges[i].size == 0) continue;
    const bool is_there = place.allocation && in_reach(*launch.context, *place.allocation);
    if (!is_there || (ranges[i].write && place.allocation->constant))
      throw Faulted{
          {CUDA_ERROR_ILLEGAL_ADDRESS},
          "Kernel " + launch.code->name + ": its range " + std::to_string(i) + " has " +
              std::to_string(ranges[i].size) + " bytes at address " + hex(ranges[i].address) +
              ", where it has no such memory. " +
              (is_there ? "It must not be written."
                        : describe_unusable(launch, place.allocation, ranges[i].address))};
    if (place.allocation->dead)
      ranges[i].bytes = lost.emplace_back(ranges[i].size, std::byte{freed_poison}).data();
    else
      ranges[i].bytes = place.bytes;
    if (ranges[i].write && place.allocation->written)
      place.allocation->written->add(
          static_cast<std::size_t>(place.bytes - place.allocation->bytes), ranges[i].size);
  }
  if (!launch.code->run) return;
  const OnDevice scope;
  const CUresult result =
      launch.code->run(&seen, ranges.data(), static_cast<std::uint32_t>(ranges.size()));
  if (result != CUDA_SUCCESS) throw Refused{result};
}

// Arguments in one buffer are aligned to this.
std::size_t argument_alignment(std::size_t size) {
  return std::min<std::size_t>(size & (~size + 1), 16);
}

}  // namespace

KernelCodePtr registered_kernel(std::string_view name) {
  const auto found = registered().find(name);
  return found == registered().end() ? nullptr : found->second;
}

bool are_kernels_registered() {
  return !registered().empty();
}

CUresult register_kernel(const char *name, const std::uint32_t *argument_sizes,
                         std::uint32_t argument_count,
                         const std::function<void(KernelCode &)> &complete) {
  if (!name || !*name || std::strchr(name, '\n') || (argument_count && !argument_sizes))
    return CUDA_ERROR_INVALID_VALUE;
  auto code = std::make_shared<KernelCode>();
  code->name = name;
  for (std::uint32_t i = 0; i < argument_count; ++i) {
    const std::size_t size = argument_sizes[i], alignment = argument_alignment(size);
    if (!size) return CUDA_ERROR_INVALID_VALUE;
    code->argument_bytes = (code->argument_bytes + alignment - 1) / alignment * alignment;
    code->arguments.push_back({code->argument_bytes, size});
    code->argument_bytes += size;
  }
  complete(*code);
  if (process_was_forked()) return CUDA_ERROR_NOT_INITIALIZED;
  Lock lock(simulator_mutex());
  registered()[name] = std::move(code);
  return CUDA_SUCCESS;
}

simcuda_launch launch_as_seen(const KernelLaunch &launch) {
  simcuda_launch seen{};
  std::copy_n(launch.shape.grid, 3, seen.grid);
  std::copy_n(launch.shape.block, 3, seen.block);
  seen.shared_bytes = launch.shape.shared_bytes;
  seen.argument_count = static_cast<std::uint32_t>(launch.pointers.size());
  seen.arguments = launch.pointers.data();
  return seen;
}

void prepare_registered(Session &session, Operation &operation) {
  const auto launch = operation.launch;
  const simcuda_launch seen = launch_as_seen(*launch);
  auto ranges = ranges_of(*launch, seen);
  std::vector<Place> places;
  for (auto &range : ranges) {
    Place place;  // nowhere: an illegal address
    try {
      if (range.size == 0) throw Refused{CUDA_ERROR_INVALID_VALUE};
      place = session.driver.memory.device_place(range.address, range.size);
      operation.accesses.push_back({place.allocation, place.address, range.size, range.write != 0});
    } catch (const Refused &) {
    }
    places.push_back(std::move(place));
  }
  operation.run = [launch, seen, ranges = std::move(ranges), places = std::move(places)] {
    run(*launch, seen, ranges, places);
  };
}

}  // namespace simcuda

using namespace simcuda;

SIM_API std::int32_t simcuda_kernel(const char *name, const std::uint32_t *argument_sizes,
                                    std::uint32_t argument_count, simcuda_kernel_ranges ranges,
                                    simcuda_kernel_run run) {
  return register_kernel(name, argument_sizes, argument_count, [&](KernelCode &code) {
    code.ranges = ranges;
    code.run = run;
  });
}

SIM_API std::int32_t simcuda_busy(void *stream, std::uint64_t nanoseconds) {
  return guarded([&] {
    if (!driver() || process_was_forked()) throw Refused{CUDA_ERROR_NOT_INITIALIZED};
    if (thread_state().driver_thread) throw Refused{CUDA_ERROR_NOT_PERMITTED};
    Session s(thread_state());
    auto operation = std::make_shared<Operation>();
    operation->what = "busy";
    operation->duration_ns = operation->busy_ns = nanoseconds;
    s.submit(s.stream(static_cast<CUstream>(stream)), std::move(operation));
  });
}
