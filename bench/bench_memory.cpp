// SPDX-License-Identifier: BSD-3-Clause
// Managers: what libcai takes beside the manager's own cost, and beside calling the driver alone.
// run.py runs it on simcuda; on stub/stub_driver.c what is measured is libcai's own time.
#include <benchmark/benchmark.h>
#include <cai/adaptors.h>
#include <dlfcn.h>

#include <array>
#include <deque>

#include "bench.hpp"

namespace {

using bench::check;

constexpr cai_device cpu{CAI_DEVICE_CPU, 0}, gpu{CAI_DEVICE_CUDA, 0};

// ---- A manager that costs next to nothing -------------------------------------------------------

cai_status create(const void *, cai_device, cai_manager *, void **self, cai_error *) {
  static int any;
  *self = &any;
  return CAI_OK;
}
void destroy(void *) {}
cai_status nothing(void *, cai_error *) {
  return CAI_OK;
}
cai_status memalloc(void *, std::uint64_t size, std::uint64_t, std::uint32_t, std::uint64_t,
                    cai_block *out, cai_error *) {
  *out = {0x7F0000000000, 0, size, 0};
  return CAI_OK;
}
cai_status memfree(void *, const cai_block *block, std::uint64_t, cai_error *) {
  benchmark::DoNotOptimize(block);
  return CAI_OK;
}

cai_manager_table trivial_table() {
  cai_manager_table table{};
  table.struct_size = sizeof table;
  table.version = CAI_MANAGER_VERSION;
  table.name = "trivial";
  table.create = create, table.destroy = destroy;
  table.initialize = nothing, table.reset = nothing;
  table.memalloc = memalloc, table.memfree = memfree;
  return table;
}
const cai_manager_table trivial = trivial_table();

cai_manager *make(const char *name, cai_device device) {
  cai_manager *made = nullptr;
  cai_error error{};
  check(cai_manager_create(name, nullptr, device, nullptr, &made, &error), error);
  return made;
}

void pairs(benchmark::State &state, cai_manager *manager, std::uint64_t stream) {
  cai_error error{};
  for (auto _ : state) {
    cai_block block;
    check(cai_manager_alloc(manager, 4096, 0, CAI_KIND_DEFAULT, stream, &block, &error), error);
    check(cai_manager_free(manager, &block, CAI_KIND_DEFAULT, stream, &error), error);
  }
}

void pair_by_hand(benchmark::State &state) {
  const cai_manager_table *table = &trivial;
  benchmark::DoNotOptimize(table);
  cai_error error{};
  for (auto _ : state) {
    cai_block block;
    check(table->memalloc(nullptr, 4096, 256, CAI_KIND_DEFAULT, 1, &block, &error), error);
    check(table->memfree(nullptr, &block, 1, &error), error);
  }
}
BENCHMARK(pair_by_hand);

void pair_cpu(benchmark::State &state) {
  static cai_manager *const manager = make("trivial", cpu);
  pairs(state, manager, 0);
}
BENCHMARK(pair_cpu);
BENCHMARK(pair_cpu)->Name("pair_by_threads")->ThreadRange(1, 8)->UseRealTime();

void pair_gpu(benchmark::State &state) {
  static cai_manager *const manager = make("trivial", gpu);
  cai_error error{};
  check(cai_device_set_current(gpu, &error), error);  // as it is in a program that uses it
  pairs(state, manager, 1);
}
BENCHMARK(pair_gpu);

// ---- Stream-ordered memory, beside the driver alone ---------------------------------------------

template <class... Arguments>
auto driver_function(const char *name) {
  static void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  using GetAddress = int(const char *, void **, int, std::uint64_t, int *);
  auto *const find = reinterpret_cast<GetAddress *>(dlsym(library, "cuGetProcAddress_v2"));
  void *found = nullptr;
  int status = 0;
  check(find(name, &found, 11020, 1, &status), name);
  return reinterpret_cast<int (*)(Arguments...)>(found);
}

void ordered_by_hand(benchmark::State &state) {
  cai_error error{};
  check(cai_device_set_current(gpu, &error), error);
  const auto allocate = driver_function<std::uint64_t *, std::size_t, void *>("cuMemAllocAsync");
  const auto free = driver_function<std::uint64_t, void *>("cuMemFreeAsync");
  void *const stream = reinterpret_cast<void *>(1);
  for (auto _ : state) {
    std::uint64_t address = 0x1000;
    check(allocate(&address, 4096, stream), "cuMemAllocAsync");
    check(free(address, stream), "cuMemFreeAsync");
  }
}
BENCHMARK(ordered_by_hand);

void ordered(benchmark::State &state, const char *name) {
  cai_error error{};
  check(cai_device_set_current(gpu, &error), error);
  cai_manager *const manager = make(name, gpu);
  pairs(state, manager, 1);
  cai_manager_release(manager);
}
BENCHMARK_CAPTURE(ordered, async, "async");
BENCHMARK_CAPTURE(ordered, pool, "pool");

// ---- By a handle, and as PyTorch and CuPy call
// ---------------------------------------------------

void handle(benchmark::State &state) {
  cai_error error{};
  check(cai_device_set_current(gpu, &error), error);
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = CAI_KIND_ASYNC;
  request.size = 4096;
  for (auto _ : state) {
    cai_memory *memory = nullptr;
    check(cai_memory_alloc(gpu, &request, &memory, &error), error);
    cai_memory_release(memory);
  }
}
BENCHMARK(handle);

void torch(benchmark::State &state) {
  cai_error error{};
  check(cai_device_set_current(gpu, &error), error);
  void *const stream = reinterpret_cast<void *>(1);
  for (auto _ : state) {
    void *const memory = cai_torch_alloc(4096, 0, stream);
    cai_torch_free(memory, 4096, 0, stream);
  }
}
BENCHMARK(torch);

// By the two pointers of a CFunctionAllocator.
void cupy(benchmark::State &state) {
  cai_error error{};
  check(cai_device_set_current(gpu, &error), error);
  void *(*allocate)(void *, std::size_t, int) = cai_cupy_alloc;
  void (*free)(void *, void *, int) = cai_cupy_free;
  benchmark::DoNotOptimize(allocate), benchmark::DoNotOptimize(free);
  void *const stream = reinterpret_cast<void *>(1);
  for (auto _ : state) free(stream, allocate(stream, 4096, 0), 0);
}
BENCHMARK(cupy);

// ---- Frees that are pending: the time of each, whatever went before -----------------------------

void pending(benchmark::State &state) {
  cai_error error{};
  const auto free = [](void *, cai_error *) { return cai_status{CAI_OK}; };
  for (auto _ : state) check(cai_pending_add(cpu, 1, free, nullptr, &error), error);
}
BENCHMARK(pending);

// So many at once.
void deferred(benchmark::State &state) {
  cai_error error{};
  const auto free = [](void *, cai_error *) { return cai_status{CAI_OK}; };
  while (state.KeepRunningBatch(state.range(0))) {
    check(cai_pending_defer(cpu, 1, &error), error);
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      check(cai_pending_add(cpu, 1, free, nullptr, &error), error);
    }
    check(cai_pending_defer(cpu, 0, &error), error);
    check(cai_pending_flush(cpu, &error), error);
  }
}
BENCHMARK(deferred)->Arg(1000)->Arg(1'000'000);

// What the machine takes to remember as much, page by page.
void remembered(benchmark::State &state) {
  while (state.KeepRunningBatch(state.range(0))) {
    std::deque<std::array<void *, 3>> items;
    for (std::int64_t i = 0; i < state.range(0); ++i) items.push_back({&items});
    for (const auto &item : items) benchmark::DoNotOptimize(item[0]);
  }
}
BENCHMARK(remembered)->Arg(1000)->Arg(1'000'000);

}  // namespace

int main(int argc, char **argv) {
  cai_error error{};
  check(cai_manager_register("trivial", &trivial, &error), error);
  check(cai_manager_choose("async", &error), error);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
