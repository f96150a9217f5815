// SPDX-License-Identifier: BSD-3-Clause
// Finding the memory around an address, beside a look-up in a B-tree alone.
#include <absl/container/btree_map.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "bench.hpp"
#include "cai/memory.h"

namespace {

constexpr std::uint64_t size = 64;

// So many live blocks of the host's, and addresses within them in random order.
struct Blocks {
  std::vector<cai_memory *> memories;
  absl::btree_map<std::uint64_t, std::pair<std::uint64_t, cai_memory *>> tree;
  std::vector<std::uint64_t> addresses;

  explicit Blocks(std::int64_t count) {
    std::mt19937_64 random(1);
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
      addresses.push_back(info.data + random() % size);
    }
    std::shuffle(addresses.begin(), addresses.end(), random);
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

// Calls `body` with the addresses in turn, each thread from an eighth of its own, and each run from
// where the last one has stopped.
template <class Body>
void for_addresses(benchmark::State &state, const Blocks &blocks, std::size_t &first, Body &&body) {
  const std::vector<std::uint64_t> &all = blocks.addresses;
  std::size_t next =
      (first + all.size() / 8 * static_cast<std::size_t>(state.thread_index())) % all.size();
  for (auto _ : state) {
    body(all[next]);
    next = next + 1 < all.size() ? next + 1 : 0;
  }
  if (state.thread_index() == 0) first = next;
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
BENCHMARK(tree_alone)->RangeMultiplier(10)->Range(1000, 1'000'000);

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
BENCHMARK(tree_and_holder)->RangeMultiplier(10)->Range(1000, 1'000'000);

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
BENCHMARK(memory_find)->RangeMultiplier(10)->Range(1000, 1'000'000);
BENCHMARK(memory_find)->Name("find_by_threads")->Arg(1'000'000)->ThreadRange(1, 8)->UseRealTime();

}  // namespace

int main(int count, char **arguments) {
  Blocks::of(1'000'000);  // before there are threads
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
}
