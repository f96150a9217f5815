// SPDX-License-Identifier: BSD-3-Clause
// Finding the memory around an address, beside a look-up in a B-tree alone.
#include <absl/container/btree_map.h>
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "bench.hpp"
#include "cai/memory.h"

namespace {

constexpr std::uint64_t size = 64;

// A processor learns an order of 1000 look-ups that recurs, as no program's does, and then predicts
// the tree's branches. So a million addresses are drawn; `the_same_1000` shows the difference.
constexpr std::int64_t drawn = 1 << 20, the_same_1000 = 1000;

// So many live blocks of the host's, and random addresses within them.
struct Blocks {
  std::vector<cai_memory *> memories;
  absl::btree_map<std::uint64_t, std::pair<std::uint64_t, cai_memory *>> tree;
  std::vector<std::uint64_t> addresses;

  explicit Blocks(std::int64_t count) {
    std::vector<std::uint64_t> starts;
    cai_request request{};
    request.struct_size = sizeof request;
    request.kind = CAI_KIND_HOST;
    request.size = size;
    for (std::int64_t i = 0; i < count; ++i) {
      cai_error error;
      cai_memory *memory = nullptr;
      bench::check(cai_memory_alloc({CAI_DEVICE_CPU, 0}, &request, &memory, &error), error);
      cai_memory_info info{};
      info.struct_size = sizeof info;
      bench::check(cai_memory_describe(memory, &info, &error), error);
      memories.push_back(memory);
      tree.emplace(info.data, std::pair(size, memory));
      starts.push_back(info.data);
    }
    std::mt19937_64 random(1);
    for (std::int64_t i = 0; i < drawn; ++i) {
      addresses.push_back(starts[random() % starts.size()] + random() % size);
    }
  }
  Blocks(const Blocks &) = delete;
  Blocks &operator=(const Blocks &) = delete;
  ~Blocks() {
    for (cai_memory *const memory : memories) cai_memory_release(memory);
  }

  static Blocks &of(std::int64_t count) {
    static std::vector<std::pair<std::int64_t, Blocks *>> made;
    for (const auto &[its_count, blocks] : made) {
      if (its_count == count) return *blocks;
    }
    return *made.emplace_back(count, new Blocks(count)).second;
  }
};

// Calls `body` with the first addresses in turn, each thread from an eighth of its own, and each
// run from where the last one has stopped.
template <class Body>
void for_addresses(benchmark::State &state, const Blocks &blocks, std::size_t &first, Body &&body) {
  const auto length = static_cast<std::size_t>(state.range(1));
  const auto thread = static_cast<std::size_t>(state.thread_index());
  std::size_t next = (first + length / 8 * thread) % length;
  for (auto _ : state) {
    body(blocks.addresses[next]);
    next = next + 1 < length ? next + 1 : 0;
  }
  if (state.thread_index() == 0) first = next;
}

void counts(benchmark::internal::Benchmark *of) {
  for (std::int64_t count = 1000; count <= 1'000'000; count *= 10) of->Args({count, drawn});
  of->Args({1000, the_same_1000});
}

void tree_alone(benchmark::State &state) {
  const Blocks &blocks = Blocks::of(state.range(0));
  static std::size_t first = 0;
  for_addresses(state, blocks, first, [&](std::uint64_t address) {
    auto found = blocks.tree.upper_bound(address);
    --found;
    benchmark::DoNotOptimize(address - found->first < found->second.first);
  });
}
BENCHMARK(tree_alone)->Apply(counts);

// What nobody can do without who gives a holder.
void tree_and_holder(benchmark::State &state) {
  const Blocks &blocks = Blocks::of(state.range(0));
  static std::size_t first = 0;
  for_addresses(state, blocks, first, [&](std::uint64_t address) {
    auto found = blocks.tree.upper_bound(address);
    --found;
    const auto &[bytes, memory] = found->second;
    if (address - found->first >= bytes) return;
    cai_memory_retain(memory);
    cai_memory_release(memory);
  });
}
BENCHMARK(tree_and_holder)->Apply(counts);

void memory_find(benchmark::State &state) {
  const Blocks &blocks = Blocks::of(state.range(0));
  static std::size_t first = 0;
  for_addresses(state, blocks, first, [](std::uint64_t address) {
    cai_memory *memory = nullptr;
    std::uint64_t offset = 0;
    benchmark::DoNotOptimize(cai_memory_find(address, &memory, &offset, nullptr));
    cai_memory_release(memory);
  });
}
BENCHMARK(memory_find)->Apply(counts);
BENCHMARK(memory_find)
    ->Name("find_by_threads")
    ->Args({1'000'000, drawn})
    ->ThreadRange(1, 8)
    ->UseRealTime();

}  // namespace

int main(int count, char **arguments) {
  Blocks::of(1'000'000);  // before there are threads
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
}
