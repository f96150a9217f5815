// SPDX-License-Identifier: BSD-3-Clause
#include "kernel.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "call.h"

namespace simcuda {
namespace {

constexpr std::string_view image_begins = "simcuda module\n";
constexpr unsigned most_threads = 1024;  // of a block

std::map<std::string, std::shared_ptr<const KernelCode>, std::less<>> &registered() {
  static auto *all = new std::map<std::string, std::shared_ptr<const KernelCode>, std::less<>>;
  return *all;
}

// While a kernel's code runs, its thread may not call CUDA.
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

// A launch, with its own copy of the arguments.
struct Launch {
  std::vector<std::vector<std::byte>> arguments;
  std::vector<const void *> pointers;
  simcuda_launch seen{};

  void add(const void *argument, std::size_t size) {
    auto bytes = static_cast<const std::byte *>(argument);
    arguments.emplace_back(bytes, bytes + size);
  }
};

// The arguments in one buffer, each at the next multiple of its own alignment.
struct Packed {
  const std::byte *bytes = nullptr;
  std::size_t size = 0;
};

Packed read_extra(void **extra) {
  const std::uintptr_t end = 0, buffer_pointer = 1, buffer_size = 2;
  Packed packed;
  for (; address_of(*extra) != end; extra += 2) {
    if (address_of(extra[0]) == buffer_pointer)
      packed.bytes = static_cast<const std::byte *>(extra[1]);
    else if (address_of(extra[0]) == buffer_size)
      std::memcpy(&packed.size, &required(static_cast<const char *>(extra[1])), sizeof packed.size);
    else
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  }
  return packed;
}

void take_arguments(Launch &launch, const KernelCode &code, void **parameters, void **extra) {
  if (parameters && extra) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (extra) {
    const Packed packed = read_extra(extra);
    std::size_t offset = 0;
    for (const std::size_t size : code.argument_sizes) {
      const std::size_t alignment = argument_alignment(size);
      offset = (offset + alignment - 1) / alignment * alignment;
      if (!packed.bytes || packed.size < offset || packed.size - offset < size)
        throw Refused{CUDA_ERROR_INVALID_VALUE};
      launch.add(packed.bytes + offset, size);
      offset += size;
    }
  } else {
    for (std::size_t i = 0; i < code.argument_sizes.size(); ++i) {
      if (!parameters || !parameters[i]) throw Refused{CUDA_ERROR_INVALID_VALUE};
      launch.add(parameters[i], code.argument_sizes[i]);
    }
  }
  for (auto &argument : launch.arguments) launch.pointers.push_back(argument.data());
  launch.seen.argument_count = static_cast<std::uint32_t>(launch.pointers.size());
  launch.seen.arguments = launch.pointers.data();
}

std::vector<simcuda_range> ranges_of(const KernelCode &code, const Launch &launch) {
  const OnDevice scope;
  std::vector<simcuda_range> ranges(16);
  const auto ask = [&] {
    return code.ranges(&launch.seen, ranges.data(), static_cast<std::uint32_t>(ranges.size()));
  };
  std::uint32_t count = code.ranges ? ask() : 0;
  if (count > ranges.size()) {
    ranges.resize(count);
    count = std::min(count, ask());
  }
  ranges.resize(count);
  return ranges;
}

// What a kernel on this context's device can reach. Host and managed memory is in reach of all.
bool in_reach(const Context &context, const Allocation &allocation) {
  if (allocation.kind != Allocation::Kind::device || allocation.device == context.device ||
      (allocation.is_opened_handle() && allocation.context.get() == &context))
    return true;
  if (allocation.pool) {
    auto stated = allocation.pool->access.find(context.device);
    return stated != allocation.pool->access.end() &&
           stated->second == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return allocation.context && context.peers.contains(allocation.context->handle);
}

// A kernel sees what there is by the time it runs.
void run(const KernelCode &code, const Launch &launch, std::vector<simcuda_range> ranges,
         const std::vector<Place> &places, const Context &context) {
  std::vector<std::vector<std::byte>> lost;  // what was freed: it reads as poison
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Place &place = places[i];
    ranges[i].bytes = nullptr;
    if (ranges[i].size == 0) continue;
    if (!place.allocation || !in_reach(context, *place.allocation))
      throw Refused{CUDA_ERROR_ILLEGAL_ADDRESS};
    if (place.allocation->dead)
      ranges[i].bytes = lost.emplace_back(ranges[i].size, std::byte{freed_poison}).data();
    else
      ranges[i].bytes = place.bytes;
  }
  if (!code.run) return;
  const OnDevice scope;
  const CUresult result =
      code.run(&launch.seen, ranges.data(), static_cast<std::uint32_t>(ranges.size()));
  if (result != CUDA_SUCCESS) throw Refused{result};
}

void check_shape(const LaunchShape &shape) {
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (!shape.grid[i] || !shape.block[i]) throw Refused{CUDA_ERROR_INVALID_VALUE};
    threads *= std::min(shape.block[i], most_threads + 1);
  }
  if (threads > most_threads) throw Refused{CUDA_ERROR_INVALID_VALUE};
}

}  // namespace

Code read_image(const char *symbol, const void *image) {
  const char *text = &required(static_cast<const char *>(image));
  if (std::strncmp(text, image_begins.data(), image_begins.size()) != 0) {
    note_unsupported(symbol);
    throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  }
  Code code;
  std::string_view rest = text + image_begins.size();
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    auto found = registered().find(name);
    if (found == registered().end()) throw Refused{CUDA_ERROR_INVALID_IMAGE};
    code.push_back(found->second);
  }
  return code;
}

std::shared_ptr<Module> add_module(Session &session, const Code &code) {
  auto module = std::make_shared<Module>();
  module->context = owner_of(session.current());
  for (auto &kernel : code) {
    auto function = std::make_shared<Function>();
    function->code = kernel;
    function->module = module;
    session.driver.functions.add(function);
    module->functions[kernel->name] = function;
  }
  session.driver.modules.add(module);
  return module;
}

void remove_module(Driver &driver, const std::shared_ptr<Module> &module) {
  for (auto &[name, function] : module->functions) driver.functions.remove(function->handle);
  driver.modules.remove(module->handle);
}

void remove_modules_of(Driver &driver, const Context &context) {
  for (auto &library : driver.libraries.all()) library->modules.erase(&context);
  for (auto &module : driver.modules.all())
    if (module->context.get() == &context) remove_module(driver, module);
}

void launch_kernel(Session &session, const std::shared_ptr<Stream> &stream, CUfunction handle,
                   const LaunchShape &shape, void **parameters, void **extra) {
  auto function = session.driver.functions.get(handle);
  const auto module = function->module.lock();
  if (module && module->context != owner_of(stream->context))
    throw Refused{CUDA_ERROR_INVALID_HANDLE};
  check_shape(shape);
  auto launch = std::make_shared<Launch>();
  take_arguments(*launch, *function->code, parameters, extra);
  std::copy_n(shape.grid, 3, launch->seen.grid);
  std::copy_n(shape.block, 3, launch->seen.block);
  launch->seen.shared_bytes = shape.shared_bytes;

  auto ranges = ranges_of(*function->code, *launch);
  std::vector<Place> places;
  std::vector<Access> accesses;
  for (auto &range : ranges) {
    Place place;  // nowhere: an illegal address
    try {
      if (range.size == 0) throw Refused{CUDA_ERROR_INVALID_VALUE};
      place = session.driver.memory.device_place(range.address, range.size);
      accesses.push_back({place.allocation, place.address, range.size, range.write != 0});
    } catch (const Refused &) {
    }
    places.push_back(std::move(place));
  }
  session.submit(
      stream, "kernel", std::move(accesses),
      [code = function->code, launch, ranges = std::move(ranges), places = std::move(places),
       context = owner_of(stream->context)] { run(*code, *launch, ranges, places, *context); });
}

}  // namespace simcuda

using namespace simcuda;

SIM_API std::int32_t simcuda_kernel(const char *name, const std::uint32_t *argument_sizes,
                                    std::uint32_t argument_count, simcuda_kernel_ranges ranges,
                                    simcuda_kernel_run run) {
  if (!name || !*name || std::strchr(name, '\n') || (argument_count && !argument_sizes))
    return CUDA_ERROR_INVALID_VALUE;
  auto code = std::make_shared<KernelCode>();
  code->name = name;
  code->argument_sizes.assign(argument_sizes, argument_sizes + argument_count);
  if (std::count(code->argument_sizes.begin(), code->argument_sizes.end(), 0u))
    return CUDA_ERROR_INVALID_VALUE;
  code->ranges = ranges;
  code->run = run;
  if (process_was_forked()) return CUDA_ERROR_NOT_INITIALIZED;
  Lock lock(simulator_mutex());
  registered()[name] = std::move(code);
  return CUDA_SUCCESS;
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
