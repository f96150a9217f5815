// SPDX-License-Identifier: BSD-3-Clause
// One thread allocates, uses and frees memory on streams of its own, in random programs, while
// another captures streams that the first one does not know of. No capture comes to harm, and no
// call fails. Pinned memory, whose free asks the legacy stream, is left out where blocking streams
// are captured.
//
// usage: captures random COUNT SEED
#include <atomic>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "by_seed.hpp"
#include "cai/memory.h"
#include "must.h"
#include "wide/driver.hpp"

namespace captures {
namespace {

using by_seed::blame;

constexpr cai_device gpu{CAI_DEVICE_CUDA, 0}, cpu{CAI_DEVICE_CPU, 0};
constexpr cai_dtype byte_type{'u', '|', 0, 0, 1, 0};
constexpr std::int64_t size = 64;

cai_stream *new_stream(cai_device device, std::uint32_t mode) {
  cai_stream *made = nullptr;
  MUST(cai_stream_create(device, mode, 0, &made, nullptr));
  return made;
}

struct Block {
  cai_memory *memory = nullptr;
  cai_array *array = nullptr;
  bool is_pinned = false;
};

// The thread that uses memory.
class Worker {
 public:
  Worker(std::uint64_t seed, bool pins) : any_(seed), pins_(pins) {
    MUST(cai_stream_set_current(streams_[0], nullptr));
    for (const char *name : {"default", "async", "pool", "managed"}) {
      cai_manager *made = nullptr;
      MUST(cai_manager_create(name, nullptr, gpu, nullptr, &made, nullptr));
      managers_.push_back(made);
    }
  }
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;
  ~Worker() {
    while (!blocks_.empty()) release(0);
    MUST(cai_stream_synchronize(of_cpu_, nullptr));
    MUST(cai_drain(1, nullptr, nullptr));
    for (cai_manager *const each : managers_) cai_manager_release(each);
    for (cai_stream *const each : streams_) cai_stream_release(each);
    cai_stream_release(of_cpu_);
  }

  void step() {
    const std::size_t which = blocks_.empty() ? 0 : any_() % blocks_.size();
    const unsigned what = draw(16);
    if (what < 4 || blocks_.empty()) return allocate();
    const Block &block = blocks_[which];
    cai_stream *const stream = streams_[draw(2)];
    unsigned char byte = 7;
    switch (what) {
      case 4:
      case 5:
        return ask("fill", [&](cai_error *error) {
          return cai_array_fill(block.array, &byte, stream, error);
        });
      case 6:
        if (!block.is_pinned) return;
        return ask("fill by the CPU", [&](cai_error *error) {
          return cai_array_fill(block.array, &byte, of_cpu_, error);
        });
      case 7: {
        const std::int64_t index[] = {draw(size)};
        return ask("item", [&](cai_error *error) {
          return cai_array_item(block.array, index, &byte, error);
        });
      }
      case 8: {
        const Block &other = blocks_[draw(static_cast<unsigned>(blocks_.size()))];
        if (&other == &block) return;
        return ask("copy", [&](cai_error *error) {
          return cai_array_copy(block.array, other.array, stream, error);
        });
      }
      case 9:
        return use(block, stream);
      case 10:
        return ask("record", [&](cai_error *error) {
          return cai_memory_record(block.memory, draw(3) ? stream : of_cpu_, error);
        });
      case 11:
        return ask("drain", [&](cai_error *error) { return cai_drain(0, nullptr, error); });
      default:
        return release(which);
    }
  }

 private:
  unsigned draw(unsigned below) { return static_cast<unsigned>(any_() >> 8) % below; }

  template <class Call>
  void ask(const char *name, Call &&call) {
    cai_error error{};
    if (call(&error) != CAI_OK) blame(std::string(name) + ": " + error.message);
  }

  void allocate() {
    if (blocks_.size() == 12) return release(draw(12));
    constexpr std::uint32_t kinds[] = {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_MANAGED_GLOBAL,
                                       CAI_KIND_PINNED};
    Block block;
    cai_request wanted{};
    wanted.struct_size = sizeof wanted;
    wanted.kind = kinds[draw(pins_ ? 4 : 3)];
    wanted.size = size;
    wanted.stream = streams_[draw(2)];
    wanted.manager = managers_[draw(static_cast<unsigned>(managers_.size()))];
    block.is_pinned = wanted.kind == CAI_KIND_PINNED;
    ask("alloc",
        [&](cai_error *error) { return cai_memory_alloc(gpu, &wanted, &block.memory, error); });
    if (!block.memory) return;
    const std::int64_t shape[] = {size};
    MUST(cai_memory_array(block.memory, 0, &byte_type, 1, shape, nullptr, &block.array, nullptr));
    blocks_.push_back(block);
  }

  void use(const Block &block, cai_stream *stream) {
    cai_use use{};
    const cai_array *const arrays[] = {block.array};
    const std::uint64_t value = cai_stream_value(stream);
    cai_error error{};
    if (cai_use_begin(&use, arrays, 1, value, nullptr, &error) != CAI_OK)
      return blame(std::string("begin: ") + error.message);
    ask("end", [&](cai_error *e) { return cai_use_end(&use, e); });
  }

  void release(std::size_t which) {
    const Block block = blocks_[which];
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(which));
    const bool array_first = draw(2);
    if (array_first) cai_array_release(block.array);
    cai_memory_release(block.memory);
    if (!array_first) cai_array_release(block.array);
  }

  std::minstd_rand any_;
  const bool pins_;
  cai_stream *const streams_[2] = {new_stream(gpu, CAI_MODE_ASYNC),
                                   new_stream(gpu, CAI_MODE_ASYNC)};
  cai_stream *const of_cpu_ = new_stream(cpu, CAI_MODE_ASYNC);
  std::vector<cai_manager *> managers_;
  std::vector<Block> blocks_;
};

void capture(cai_stream *stream, int mode) {
  const auto handle =
      reinterpret_cast<wide::Handle>(static_cast<std::uintptr_t>(cai_stream_value(stream)));
  MUST(wide::cu().cuStreamBeginCapture_v2(handle, mode));
  wide::Handle graph = nullptr;
  const int result = wide::cu().cuStreamEndCapture(handle, &graph);
  if (result != 0) blame("a capture has come to harm: " + std::to_string(result));
  if (graph) MUST(wide::cu().cuGraphDestroy(graph));
}

std::string play(std::uint64_t seed) {
  const bool pins = seed % 3 == 0;
  cai_stream *const captured[] = {new_stream(gpu, pins ? CAI_MODE_ASYNC : CAI_MODE_SYNC),
                                  new_stream(gpu, CAI_MODE_ASYNC)};
  std::atomic<bool> is_over{false};
  std::thread working([&] {
    {
      Worker worker(seed, pins);
      for (int i = 0; i < 300; ++i) worker.step();
    }
    is_over = true;
  });
  for (unsigned i = 0; !is_over; ++i) capture(captured[i % 2], static_cast<int>(i / 2 % 3));
  working.join();
  for (cai_stream *const each : captured) cai_stream_release(each);
  return {};  // the seed says it
}

}  // namespace
}  // namespace captures

int main(int argc, char **argv) {
  return by_seed::run(argc, argv, "captures", captures::play);
}
