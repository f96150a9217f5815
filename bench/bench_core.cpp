// SPDX-License-Identifier: BSD-3-Clause
// The C API: time, and what is allocated and asked of the driver. Run it by bench/run.py, which
// gives it simcuda; without a driver the functions under "Order" are left out.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "bench.hpp"

namespace {

using bench::check, bench::Made, bench::mallocs, bench::malloc_bytes;

void validate(benchmark::State &state) {
  const Made made(static_cast<std::int32_t>(state.range(0)));
  cai_error error;
  for (auto _ : state) {
    check(cai_array_validate(&made.array, &error), error);
  }
}
BENCHMARK(validate)->Arg(2)->Arg(4);

void own(benchmark::State &state) {
  const Made made(static_cast<std::int32_t>(state.range(0)));
  cai_error error;
  cai_array *owned = nullptr;
  const std::uint64_t mallocs_before = mallocs, bytes_before = malloc_bytes;
  for (auto _ : state) {
    check(cai_array_own(&made.array, nullptr, nullptr, &owned, &error), error);
    cai_array_release(owned);
  }
  const auto each = static_cast<double>(state.iterations());
  state.counters["mallocs"] = static_cast<double>(mallocs - mallocs_before) / each;
  state.counters["bytes"] = static_cast<double>(malloc_bytes - bytes_before) / each;
}
BENCHMARK(own)->Arg(2)->Arg(4);

void retain_release(benchmark::State &state) {
  const Made made(4);
  cai_error error;
  cai_array *owned = nullptr;
  check(cai_array_own(&made.array, nullptr, nullptr, &owned, &error), error);
  for (auto _ : state) {
    cai_array_retain(owned);
    cai_array_release(owned);
  }
  cai_array_release(owned);
}
BENCHMARK(retain_release);

// ---- With a driver ------------------------------------------------------------------------------

struct Driver {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  std::uint64_t (*calls)(const char *) = nullptr;  // simcuda's: how often a function was called

  template <typename Function>
  Function *find(const char *name) const {
    return reinterpret_cast<Function *>(dlsym(library, name));
  }

  template <typename... Arguments>
  void call(const char *name, Arguments... arguments) const {
    check(find<int(Arguments...)>(name)(arguments...), name);
  }

  void *stream() const {
    constexpr unsigned non_blocking = 1;
    void *made = nullptr;
    call("cuStreamCreate", &made, non_blocking);
    return made;
  }

  std::uint64_t memory(std::size_t bytes) const {
    std::uint64_t made = 0;
    call("cuMemAlloc_v2", &made, bytes);
    return made;
  }

  bool open() {
    if (!library || find<int(unsigned)>("cuInit")(0U) != 0) return false;
    void *context = nullptr;
    call("cuDevicePrimaryCtxRetain", &context, 0);
    call("cuCtxSetCurrent", context);
    calls = find<std::uint64_t(const char *)>("simcuda_calls");
    return true;
  }
};

Driver driver;

std::uint64_t count(const char *name) {
  return driver.calls ? driver.calls(name) : 0;
}

// Eight arrays of one producer's stream, used on another one: the beginning, or all of it.
void use(benchmark::State &state, bool ends) {
  const auto producer = reinterpret_cast<std::uintptr_t>(driver.stream());
  const auto consumer = reinterpret_cast<std::uintptr_t>(driver.stream());
  const std::uint64_t memory = driver.memory(4096);
  const Made made(2, memory, producer);
  std::array<const cai_array *, 8> arrays{};
  arrays.fill(&made.array);
  cai_error error;
  cai_use use;
  const std::uint64_t records = count("cuEventRecord"), waits = count("cuStreamWaitEvent");
  for (auto _ : state) {
    check(cai_use_begin(&use, arrays.data(), 8, consumer, nullptr, &error), error);
    if (ends) check(cai_use_end(&use, &error), error);
  }
  const auto each = static_cast<double>(state.iterations());
  state.counters["records"] = static_cast<double>(count("cuEventRecord") - records) / each;
  state.counters["waits"] = static_cast<double>(count("cuStreamWaitEvent") - waits) / each;
}
void use_begin(benchmark::State &state) {
  use(state, false);
}
void use_whole(benchmark::State &state) {
  use(state, true);
}

// The driver's own share of it: an event made, recorded, waited for and destroyed.
void event_calls(benchmark::State &state) {
  void *const producer = driver.stream(), *const consumer = driver.stream();
  const auto create = driver.find<int(void **, unsigned)>("cuEventCreate");
  const auto record = driver.find<int(void *, void *)>("cuEventRecord");
  const auto wait = driver.find<int(void *, void *, unsigned)>("cuStreamWaitEvent");
  const auto destroy = driver.find<int(void *)>("cuEventDestroy_v2");
  void *event = nullptr;
  for (auto _ : state) {
    check(create(&event, 2U), "cuEventCreate");
    check(record(event, producer), "cuEventRecord");
    check(wait(consumer, event, 0U), "cuStreamWaitEvent");
    check(destroy(event), "cuEventDestroy");
  }
}

void same_stream_use(benchmark::State &state) {
  const auto stream = reinterpret_cast<std::uintptr_t>(driver.stream());
  const Made made(2, driver.memory(4096), stream);
  const cai_array *const array = &made.array;
  cai_error error;
  cai_use use;
  for (auto _ : state) {
    check(cai_use_begin(&use, &array, 1, stream, nullptr, &error), error);
    check(cai_use_end(&use, &error), error);
  }
}

void locate(benchmark::State &state) {
  const Made made(2, driver.memory(4096));
  cai_error error;
  cai_location where{};
  where.struct_size = sizeof where;
  for (auto _ : state) {
    check(cai_array_locate(&made.array, &where, &error), error);
  }
}

void attribute_query(benchmark::State &state) {
  constexpr int device_ordinal = 9;
  const std::uint64_t memory = driver.memory(4096);
  const auto query = driver.find<int(void *, int, std::uint64_t)>("cuPointerGetAttribute");
  int device = 0;
  for (auto _ : state) {
    check(query(&device, device_ordinal, memory), "cuPointerGetAttribute");
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (driver.open()) {
    BENCHMARK(use_begin);
    BENCHMARK(use_whole);
    BENCHMARK(same_stream_use);
    BENCHMARK(locate);
    BENCHMARK(event_calls);
    BENCHMARK(attribute_query);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
