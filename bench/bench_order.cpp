// SPDX-License-Identifier: BSD-3-Clause
// Order on the GPU: what libcai takes beside the driver calls that it makes. run.py runs it twice:
// on simcuda, for counts and for ratios to the same calls made by hand; and on stub/stub_driver.c,
// where what is measured is libcai's own time.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "bench.hpp"

namespace {

using bench::check, bench::Made, bench::mallocs;

// ---- The driver, as libcai finds it
// --------------------------------------------------------------

void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

template <class... Arguments>
struct Call {
  const char *name;
  int (*address)(Arguments...) = nullptr;

  Call(const char *function, int version) : name(function) {
    using GetAddress = int(const char *, void **, int, std::uint64_t, int *);
    const auto find =
        library ? reinterpret_cast<GetAddress *>(dlsym(library, "cuGetProcAddress_v2")) : nullptr;
    int status = 0;
    void *found = nullptr;
    check(find ? find(name, &found, version, 1, &status) : -1, "cuGetProcAddress_v2");
    address = reinterpret_cast<int (*)(Arguments...)>(found);
  }
  void operator()(Arguments... arguments) const { check(address(arguments...), name); }
};

using Handle = void *;

struct Driver {
  Call<unsigned> init{"cuInit", 2000};
  Call<Handle *, int> retain_primary{"cuDevicePrimaryCtxRetain", 7000};
  Call<Handle> set_current{"cuCtxSetCurrent", 4000};
  Call<Handle *, unsigned> create_stream{"cuStreamCreate", 2000};
  Call<std::uint64_t *, std::size_t> allocate{"cuMemAlloc", 3020};
  Call<Handle *, unsigned> create{"cuEventCreate", 2000};
  Call<Handle, Handle> record{"cuEventRecord", 2000};
  Call<Handle, Handle, unsigned> wait{"cuStreamWaitEvent", 3020};
  Call<Handle> destroy{"cuEventDestroy", 4000};
  Call<Handle, Handle *> context_of{"cuStreamGetCtx", 9020};
  Call<Handle, int *, std::uint64_t *, Handle *, const Handle **, std::size_t *> capture{
      "cuStreamGetCaptureInfo", 11030};

  // Of the first device's primary context, which becomes the thread's current one.
  Handle stream() const {
    Handle context = nullptr;
    retain_primary(&context, 0);
    set_current(context);
    static std::atomic<std::uintptr_t> next{0x10};  // the stub leaves it to us
    Handle made = reinterpret_cast<Handle>(next++);
    constexpr unsigned non_blocking = 1;
    create_stream(&made, non_blocking);
    return made;
  }
  Handle event() const {
    Handle made = nullptr;
    constexpr unsigned disable_timing = 2;
    create(&made, disable_timing);
    return made;
  }
};

const Driver &driver() {
  static const Driver made;
  return made;
}

std::uint64_t address_of(Handle handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

// Calls of driver functions since it was made, for each iteration; simcuda's alone are counted.
class Counts {
 public:
  explicit Counts(benchmark::State &state) : state_(state) {
    for (const auto &[name, function] : counted) before_.push_back(count(function));
    mallocs_ = mallocs;
  }
  Counts(const Counts &) = delete;
  Counts &operator=(const Counts &) = delete;
  ~Counts() {
    const auto each = static_cast<double>(state_.iterations());
    state_.counters["mallocs"] = {static_cast<double>(mallocs - mallocs_) / each,
                                  benchmark::Counter::kAvgThreads};
    if (!calls || state_.threads() > 1) return;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const std::uint64_t made = count(counted[i][1]) - before_[i];
      state_.counters[counted[i][0]] = static_cast<double>(made) / each;
    }
  }

 private:
  static constexpr const char *counted[][2] = {{"records", "cuEventRecord"},
                                               {"waits", "cuStreamWaitEvent"},
                                               {"creates", "cuEventCreate"},
                                               {"destroys", "cuEventDestroy"},
                                               {"probes", "cuStreamGetCaptureInfo"},
                                               {"contexts", "cuStreamGetCtx"},
                                               {"ids", "cuStreamGetId"},
                                               {"currents", "cuCtxGetCurrent"}};
  static std::uint64_t count(const char *name) { return calls ? calls(name) : 0; }
  static inline const auto calls = reinterpret_cast<std::uint64_t (*)(const char *)>(
      library ? dlsym(library, "simcuda_calls") : nullptr);

  benchmark::State &state_;
  std::vector<std::uint64_t> before_;
  std::uint64_t mallocs_ = 0;
};

// ---- Eight owned arrays of two producers' streams, used on a third ------------------------------

struct Owned {
  cai_array *array = nullptr;

  explicit Owned(Handle stream) {
    std::uint64_t memory = 0x7F0000001000;
    driver().allocate(&memory, 4096);
    const Made made(2, memory, address_of(stream));
    cai_error error;
    check(cai_array_own(&made.array, nullptr, nullptr, &array, &error), error);
  }
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() { cai_array_release(array); }
};

struct Eight {
  Handle producers[2] = {driver().stream(), driver().stream()};
  Handle consumer = driver().stream();
  std::vector<std::unique_ptr<Owned>> owned;
  std::array<const cai_array *, 8> arrays{};
  cai_use use{};

  Eight() {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      owned.push_back(std::make_unique<Owned>(producers[i % 2]));
      arrays[i] = owned.back()->array;
    }
  }

  void begin() {
    cai_error error;
    check(cai_use_begin(&use, arrays.data(), 8, address_of(consumer), nullptr, &error), error);
  }
  void end() {
    cai_error error;
    check(cai_use_end(&use, &error), error);
  }
};

void use(benchmark::State &state) {
  Eight eight;
  eight.begin(), eight.end();
  eight.begin(), eight.end();  // by now the pool has what it takes
  const Counts counts(state);
  for (auto _ : state) eight.begin(), eight.end();
}
BENCHMARK(use);

// Each thread its own arrays. Longer than a time slice, else threads that share a core would seem
// to run side by side.
void use_by_threads(benchmark::State &state) {
  use(state);
}
BENCHMARK(use_by_threads)->ThreadRange(1, 8)->UseRealTime()->MinTime(0.05);

void use_begin(benchmark::State &state) {
  Eight eight;
  eight.begin(), eight.end();
  const Counts counts(state);
  for (auto _ : state) eight.begin();
}
BENCHMARK(use_begin);

// The same records and waits; and for each half, of each stream, whether it captures and what its
// context is. Less than that no library can ask.
void by_hand(benchmark::State &state) {
  const Driver &cu = driver();
  const Eight eight;
  const Handle events[] = {cu.event(), cu.event(), cu.event()};
  const auto look = [&] {
    for (const Handle stream : {eight.producers[0], eight.producers[1], eight.consumer}) {
      int status = 0;
      std::uint64_t id = 0;
      Handle graph = nullptr, context = nullptr;
      cu.capture(stream, &status, &id, &graph, nullptr, nullptr);
      cu.context_of(stream, &context);
      benchmark::DoNotOptimize(context);
    }
  };
  const Counts counts(state);
  for (auto _ : state) {
    look();
    for (std::size_t i = 0; i < 2; ++i) {
      cu.record(events[i], eight.producers[i]);
      cu.wait(eight.consumer, events[i], 0);
    }
    look();
    cu.record(events[2], eight.consumer);
    for (const Handle producer : eight.producers) cu.wait(producer, events[2], 0);
  }
  for (const Handle event : events) cu.destroy(event);
}
BENCHMARK(by_hand);

// What cuda.core's StridedMemoryView does at the beginning, for each array; at the end, nothing.
void event_for_each(benchmark::State &state) {
  const Driver &cu = driver();
  const Eight eight;
  const Counts counts(state);
  for (auto _ : state) {
    for (std::size_t i = 0; i < eight.arrays.size(); ++i) {
      const Handle event = cu.event();
      cu.record(event, eight.producers[i % 2]);
      cu.wait(eight.consumer, event, 0);
      cu.destroy(event);
    }
  }
}
BENCHMARK(event_for_each);

// ---- One array that needs little, or nothing ----------------------------------------------------

enum class Half { begin, both };

void use(benchmark::State &state, Half half, Handle stream, Handle consumer, std::int64_t extent) {
  std::uint64_t memory = 0x7F0000001000;
  driver().allocate(&memory, 4096);
  Made made(2, memory, address_of(stream));
  made.shape[0] = extent;
  if (extent == 0) made.array.data = 0;
  cai_error error;
  cai_array *owned = nullptr;
  check(cai_array_own(&made.array, nullptr, nullptr, &owned, &error), error);
  const std::uint64_t on = address_of(consumer);
  const cai_array *const list = owned;
  cai_use use;
  const auto begin = [&] { check(cai_use_begin(&use, &list, 1, on, nullptr, &error), error); };
  const auto end = [&] { check(cai_use_end(&use, &error), error); };
  for (int i = 0; i < 2; ++i) begin(), end();  // what is made once is there
  {
    const Counts counts(state);
    for (auto _ : state) {
      begin();
      if (half == Half::both) end();
    }
  }
  cai_array_release(owned);
}

void none_begin(benchmark::State &state) {
  use(state, Half::begin, nullptr, driver().stream(), 2);
}
BENCHMARK(none_begin);
void none_use(benchmark::State &state) {
  use(state, Half::both, nullptr, driver().stream(), 2);
}
BENCHMARK(none_use);
void same_begin(benchmark::State &state) {
  const Handle stream = driver().stream();
  use(state, Half::begin, stream, stream, 2);
}
BENCHMARK(same_begin);
void same_use(benchmark::State &state) {
  const Handle stream = driver().stream();
  use(state, Half::both, stream, stream, 2);
}
BENCHMARK(same_use);
void empty_begin(benchmark::State &state) {
  use(state, Half::begin, driver().stream(), driver().stream(), 0);
}
BENCHMARK(empty_begin);
void empty_use(benchmark::State &state) {
  use(state, Half::both, driver().stream(), driver().stream(), 0);
}
BENCHMARK(empty_use);

// What these are beside: a call of the driver's, through a pointer as all of them are; the stub's
// does nothing.
void call(benchmark::State &state) {
  const Driver &cu = driver();
  const Handle stream = cu.stream(), event = cu.event();
  const auto wait = cu.wait.address;
  for (auto _ : state) check(wait(stream, event, 0), cu.wait.name);
}
BENCHMARK(call);

}  // namespace

int main(int argc, char **argv) {
  driver().init(0);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
