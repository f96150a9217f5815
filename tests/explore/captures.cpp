// SPDX-License-Identifier: BSD-3-Clause
// One thread allocates, uses and frees memory on streams of its own, in random programs, while
// another captures streams that the first one does not know of. No capture comes to harm, and no
// call fails. Pinned memory, whose free asks the legacy stream, is left out where blocking streams
// are captured.
// In every fourth program one capture goes on from its beginning to its end. Then the host waits in
// drains, too: they end all but the arrays that no event covers, also while the driver fails.
//
// usage: captures random COUNT SEED
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
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

// An array that the worker has released, which has ended or not.
struct Released {
  std::atomic<bool> is_over{false};
  static void end(void *self) { static_cast<Released *>(self)->is_over = true; }
};

// Of memory of its own.
cai_array *new_array(cai_stream *stream) {
  cai_request wanted{};
  wanted.struct_size = sizeof wanted;
  wanted.kind = CAI_KIND_DEFAULT;
  wanted.size = size;
  wanted.stream = stream;
  cai_memory *memory = nullptr;
  cai_array *made = nullptr;
  const std::int64_t shape[] = {size};
  MUST(cai_memory_alloc(gpu, &wanted, &memory, nullptr));
  MUST(cai_memory_array(memory, 0, &byte_type, 1, shape, nullptr, &made, nullptr));
  cai_memory_release(memory);
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
  Worker(std::uint64_t seed, bool pins, bool drains) : any_(seed), pins_(pins), drains_(drains) {
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
    for (const auto &each : lost_) {
      if (!each->is_over) blame("a drain has left an array, although nothing is captured any more");
    }
    cai_array_release(lasting_);
    for (cai_manager *const each : managers_) cai_manager_release(each);
    for (cai_stream *const each : streams_) cai_stream_release(each);
    cai_stream_release(of_cpu_);
  }

  void step() {
    if (drains_ && draw(4) == 0) return draw(3) ? release_used(draw(2)) : drain();
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

  // An array that is used on a stream. If it is `lost`, a function on another stream releases it,
  // which must not call the driver to record an event.
  void release_used(bool lost) {
    const std::uint64_t stream = cai_stream_value(streams_[0]);
    cai_array borrowed = *lasting_;
    borrowed.owner = nullptr;
    borrowed.stream_kind = lost ? CAI_STREAM_STREAM : CAI_STREAM_NONE;
    borrowed.stream = lost ? stream : 0;
    auto &all = lost ? lost_ : released_;
    all.push_back(std::make_unique<Released>());
    cai_array *array = nullptr;
    MUST(cai_array_own(&borrowed, Released::end, all.back().get(), &array, nullptr));
    use({nullptr, array, false}, streams_[0]);
    if (!lost) return cai_array_release(array);
    const auto release = [](void *held, cai_error *) {
      cai_array_release(static_cast<cai_array *>(held));
      return cai_status{CAI_OK};
    };
    MUST(cai_stream_enqueue(streams_[1], release, nullptr, array, nullptr));
    MUST(cai_stream_synchronize(streams_[1], nullptr));
  }

  void drain() {
    constexpr const char *functions[] = {"cuCtxGetCurrent", "cuCtxGetId", "cuCtxPushCurrent",
                                         "cuEventQuery", "cuStreamGetCaptureInfo"};
    if (draw(2)) {
      const char *const function = functions[draw(5)];
      const unsigned nth = 1 + draw(6);
      by_seed::driver_fails = true;
      MUST(wide::cu().simcuda_fail(function, nth, draw(2) ? 2 : 999));
      static_cast<void>(cai_drain(1, nullptr, nullptr));
      MUST(wide::cu().simcuda_fail(function, 0, 0));
      static_cast<void>(cai_stream_synchronize(of_cpu_, nullptr));  // whose work may have met it
      by_seed::driver_fails = false;
    }
    ask("drain with wait", [&](cai_error *error) { return cai_drain(1, nullptr, error); });
    const auto is_over = [](const auto &each) { return each->is_over.load(); };
    std::erase_if(released_, is_over);
    if (!released_.empty()) blame("a drain has left an array whose use has an event");
    if (std::any_of(lost_.begin(), lost_.end(), is_over)) {
      blame("a drain has ended an array beside a capture, without a wait");
    }
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
  const bool pins_, drains_;
  cai_stream *const streams_[2] = {new_stream(gpu, CAI_MODE_ASYNC),
                                   new_stream(gpu, CAI_MODE_ASYNC)};
  cai_stream *const of_cpu_ = new_stream(cpu, CAI_MODE_ASYNC);
  std::vector<cai_manager *> managers_;
  std::vector<Block> blocks_;
  cai_array *const lasting_ = new_array(streams_[0]);
  std::vector<std::unique_ptr<Released>> lost_, released_;
};

template <class Meanwhile>
void capture(cai_stream *stream, int mode, Meanwhile &&meanwhile) {
  const auto handle =
      reinterpret_cast<wide::Handle>(static_cast<std::uintptr_t>(cai_stream_value(stream)));
  MUST(wide::cu().cuStreamBeginCapture_v2(handle, mode));
  meanwhile();
  wide::Handle graph = nullptr;
  const int result = wide::cu().cuStreamEndCapture(handle, &graph);
  if (result != 0) blame("a capture has come to harm: " + std::to_string(result));
  if (graph) MUST(wide::cu().cuGraphDestroy(graph));
}

std::string play(std::uint64_t seed) {
  const bool pins = seed % 3 == 0, is_one = seed % 4 == 0;
  cai_stream *const captured[] = {new_stream(gpu, pins ? CAI_MODE_ASYNC : CAI_MODE_SYNC),
                                  new_stream(gpu, CAI_MODE_ASYNC)};
  std::atomic<bool> has_begun{!is_one}, has_worked{false}, has_ended{!is_one}, is_over{false};
  std::thread working([&] {
    {
      Worker worker(seed, pins, is_one);
      while (!has_begun) std::this_thread::yield();
      for (int i = 0; i < 300; ++i) worker.step();
      has_worked = true;
      while (!has_ended) std::this_thread::yield();
    }
    is_over = true;
  });
  if (is_one) {
    capture(captured[seed / 4 % 2], static_cast<int>(seed / 8 % 3), [&] {
      has_begun = true;
      while (!has_worked) std::this_thread::yield();
    });
    has_ended = true;
  } else {
    for (unsigned i = 0; !is_over; ++i)
      capture(captured[i % 2], static_cast<int>(i / 2 % 3), [] {});
  }
  working.join();
  for (cai_stream *const each : captured) cai_stream_release(each);
  return {};  // the seed says it
}

}  // namespace
}  // namespace captures

int main(int argc, char **argv) {
  return by_seed::run(argc, argv, "captures", captures::play);
}
