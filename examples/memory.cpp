// SPDX-License-Identifier: BSD-3-Clause
// c++ -std=c++20 memory.cpp $(pkg-config --cflags --libs libcai-memory)
#include <cai/memory.hpp>
#include <cstdio>

// A manager is a class: this one takes its memory from the one that it is put around, and says so.
class telling {
 public:
  static constexpr const char *name = "telling";

  telling(cai::device, cai::manager upstream) : upstream_(std::move(upstream)) {}

  cai_block memalloc(std::uint64_t size, std::uint64_t align, std::uint32_t kind,
                     std::uint64_t stream) {
    const cai_block block = upstream_.alloc(size, align, kind, stream);  // may throw: that is fine
    std::printf("  %llu bytes\n", static_cast<unsigned long long>(size));
    return block;
  }
  void memfree(const cai_block &block, std::uint64_t stream) {
    upstream_.free(block, CAI_KIND_DEFAULT, stream);
  }

 private:
  cai::manager upstream_;
};

// The same on the CPU and on a GPU.
static void tour(const cai::device &device) {
  std::printf("%s:\n", device.format().c_str());

  // Managers around each other, for this device, until they are replaced.
  const cai::manager before = cai::manager::of(device);
  const cai::manager tracking = cai::manager::tracking(cai::manager("telling", device, before));
  cai::manager::limiting(tracking, 1 << 20).install();

  {
    // What follows is queued on a stream of its own; leaving waits for it, exceptions or not.
    const cai::stream_guard guard{cai::stream(device)};
    const cai::array x = cai::zeros<float>({3, 4}, device);
    cai::fill(x.slice({cai::index(1)}), 2.5F);
    for (const cai::allocation &out : tracking.outstanding()) {
      std::printf("  out: %llu bytes\n", static_cast<unsigned long long>(out.size));
    }
    std::printf("  %g %g\n", cai::item<float>(x, {0, 0}), cai::item<float>(x, {1, -1}));

    // Work of the host's in between, and an object that stays until the stream is past it.
    const cai::stream now = cai::stream::current(device);
    now.attach(std::make_shared<int>(7));
    now.enqueue([] { std::puts("  work"); });
    now.synchronize();
    now.enqueue([] { throw std::runtime_error("no more of it"); });
    try {
      now.synchronize();
    } catch (const cai::error &error) {
      std::printf("  %s\n", error.what());
    }
  }

  try {
    const cai::memory much = cai::memory::alloc(device, {.size = 2 << 20});
  } catch (const cai::error &error) {
    std::printf("  %s\n", cai_status_name(error.status()));
  }

  // Memory with its kind, as an array and as the host's bytes.
  const auto pinned = cai::memory::alloc(device, {.size = 64, .kind = CAI_KIND_PINNED});
  const cai::array numbers = pinned.to_array<std::int32_t>({16});
  cai::fill(numbers, 3);
  std::printf("  %d", cai::item<std::int32_t>(numbers, {15}));  // waits for what is queued
  std::printf(" %d\n", pinned.host<std::int32_t>()[0]);

  before.install();
}

int main() {
  cai::register_manager<telling>();
  tour(cai::device::cpu());
  for (const cai::device &gpu : cai::device::all()) {
    const cai::device_guard guard(gpu);
    tour(gpu);
  }
}
