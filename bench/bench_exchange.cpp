// SPDX-License-Identifier: BSD-3-Clause
// DLPack and Arrow, both ways, and what no code could do without: a block for what is owned.
#include <benchmark/benchmark.h>
#include <cai/arrow.h>
#include <cai/dlpack.h>

#include "bench.hpp"

namespace {

using bench::check, bench::Made, bench::mallocs;

// A tensor of Made's array.
struct Tensor {
  std::array<std::int64_t, 4> shape{2, 3, 4, 5}, strides{60, 20, 5, 1};
  DLManagedTensorVersioned managed{};

  explicit Tensor(std::int32_t ndim) {
    managed.version = {1, 3};
    managed.deleter = [](DLManagedTensorVersioned *) {};
    managed.dl_tensor.data = reinterpret_cast<void *>(std::uintptr_t{0x7F0000001000});
    managed.dl_tensor.device = {kDLCUDA, 0};
    managed.dl_tensor.ndim = ndim;
    managed.dl_tensor.dtype = {kDLFloat, 32, 1};
    managed.dl_tensor.shape = shape.data() + 4 - ndim;
    managed.dl_tensor.strides = strides.data() + 4 - ndim;
  }
  Tensor(const Tensor &) = delete;
  Tensor &operator=(const Tensor &) = delete;
};

constexpr std::uint64_t stream = 7;  // the stub takes any number for a stream

void dlpack_read(benchmark::State &state) {
  const Tensor tensor(static_cast<std::int32_t>(state.range(0)));
  std::int64_t strides[CAI_MAX_NDIM];
  cai_array array;
  cai_error error;
  for (auto _ : state) {
    check(cai_dlpack_read(&tensor.managed.dl_tensor, stream, strides, &array, &error), error);
    benchmark::DoNotOptimize(array);
  }
}
BENCHMARK(dlpack_read)->Arg(2)->Arg(4);

void dlpack_own(benchmark::State &state) {
  Tensor tensor(static_cast<std::int32_t>(state.range(0)));
  cai_array *array = nullptr;
  cai_error error;
  const std::uint64_t before = mallocs;
  for (auto _ : state) {
    check(cai_dlpack_own(&tensor.managed, stream, &array, &error), error);
    cai_array_release(array);
  }
  state.counters["mallocs"] =
      static_cast<double>(mallocs - before) / static_cast<double>(state.iterations());
}
BENCHMARK(dlpack_own)->Arg(2)->Arg(4);

// Runs `body` with an owned array that needs no order.
template <class Body>
void with_owned(benchmark::State &state, std::int32_t ndim, Body &&body) {
  const Made made(ndim);
  cai_array *array = nullptr;
  cai_error error;
  check(cai_array_own(&made.array, nullptr, nullptr, &array, &error), error);
  for (auto _ : state) body(array, error);
  cai_array_release(array);
}

void dlpack_write(benchmark::State &state) {
  with_owned(state, static_cast<std::int32_t>(state.range(0)),
             [](const cai_array *array, cai_error &error) {
               DLManagedTensorVersioned *tensor = nullptr;
               check(cai_dlpack_write(array, stream, &tensor, &error), error);
               tensor->deleter(tensor);
             });
}
BENCHMARK(dlpack_write)->Arg(2)->Arg(4);

void dlpack_lend(benchmark::State &state) {
  const Made made(static_cast<std::int32_t>(state.range(0)));
  std::int64_t strides[CAI_MAX_NDIM];
  DLTensor tensor;
  cai_error error;
  for (auto _ : state) {
    check(cai_dlpack_lend(&made.array, strides, &tensor, &error), error);
    benchmark::DoNotOptimize(tensor);
  }
}
BENCHMARK(dlpack_lend)->Arg(4);

void arrow_there_and_back(benchmark::State &state) {
  with_owned(state, 1, [](const cai_array *array, cai_error &error) {
    ArrowSchema schema;
    ArrowDeviceArray column;
    cai_array *back = nullptr;
    check(cai_arrow_write(array, stream, &schema, &column, &error), error);
    check(cai_arrow_own(&schema, &column, &back, &error), error);
    schema.release(&schema);
    cai_array_release(back);
  });
}
BENCHMARK(arrow_there_and_back);

// As large as the block of an array of 4 dimensions.
void malloc_and_free(benchmark::State &state) {
  for (auto _ : state) {
    void *block = std::malloc(320);
    benchmark::DoNotOptimize(block);
    std::free(block);
  }
}
BENCHMARK(malloc_and_free);

}  // namespace

BENCHMARK_MAIN();
