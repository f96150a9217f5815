// SPDX-License-Identifier: BSD-3-Clause
// Many operations of all kinds, good and refused, on several threads, in turn and at once: when all
// that they made has gone, there is no more of libcai's blocks and of the driver's objects than
// there was.
#include <array>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>

#include "../memory/memories.hpp"
#include "cai/dlpack.h"
#include "kept.hpp"
#include "owned.hpp"

namespace test {
namespace {

constexpr int rounds = 10;
constexpr std::size_t most_alive = 8;  // of each kind, on a thread
constexpr std::int64_t width = 64;

// Where threads get arrays, and addresses of memory, that others have made.
struct Market {
  std::mutex mutex;
  std::vector<OwnArray> arrays;
  std::vector<std::uint64_t> addresses;
};

class Life {
 public:
  explicit Life(std::uint64_t seed, bool has_threads, Market *market = nullptr)
      : random_(seed), has_threads_(has_threads), market_(market) {}

  void step() {
    static constexpr void (Life::*operations[])() = {
        &Life::allocate_some, &Life::allocate_some, &Life::make_array,   &Life::make_array,
        &Life::use,           &Life::use,           &Life::view,         &Life::copy,
        &Life::fill,          &Life::publish,       &Life::exchange,     &Life::change_stream,
        &Life::add_stream,    &Life::work,          &Life::record,       &Life::own,
        &Life::read,          &Life::refuse,        &Life::end,          &Life::end,
        &Life::end_on,        &Life::begin_thread,  &Life::make_texture, &Life::trade,
        &Life::use_others,    &Life::drain,
    };
    (this->*operations[any(std::size(operations))])();
  }

 private:
  std::size_t any(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }
  cai_device any_device() { return std::array{cpu, gpu0, gpu1}[any(3)]; }
  template <class T>
  T *any_of(std::vector<T> &all) {
    return all.empty() ? nullptr : &all[any(all.size())];
  }
  // Keeps one more, in the place of another if there are many.
  template <class T>
  void keep(std::vector<T> &all, T &&one) {
    if (all.size() < most_alive) {
      all.push_back(std::move(one));
    } else {
      all[any(all.size())] = std::move(one);
    }
  }

  void allocate_some() {
    constexpr std::uint32_t kinds[] = {CAI_KIND_DEFAULT, CAI_KIND_ASYNC, CAI_KIND_MANAGED,
                                       CAI_KIND_PINNED, CAI_KIND_HOST};
    keep(memories_, allocate(any_device(), kinds[any(std::size(kinds))],
                             static_cast<std::uint64_t>(width) * (1 + any(3))));
  }

  // No address finds it.
  void make_texture() {
    cai_request wanted = request(CAI_KIND_CUDA_ARRAY, static_cast<std::uint64_t>(width));
    wanted.dtype = bytes_type;
    wanted.channels = 1;
    cai_memory *made = nullptr;
    ASSERT_OK(cai_memory_alloc(any(2) ? gpu0 : gpu1, &wanted, &made, error));
    cai_memory_release(made);
  }

  // Gives one array to the others, and takes one of theirs, to read; and finds memory of theirs.
  void trade() {
    if (!market_) return;
    OwnArray *const mine = any_of(arrays_);
    std::uint64_t address = 0;
    {
      const std::lock_guard lock(market_->mutex);
      if (OwnArray *const theirs = any_of(market_->arrays)) others_ = again(*theirs);
      if (mine) keep(market_->arrays, again(*mine));
      if (mine) keep(market_->addresses, std::uint64_t{(*mine)->data});
      if (std::uint64_t *const found = any_of(market_->addresses)) address = *found;
    }
    cai_memory *found = nullptr;
    if (cai_memory_find(address, &found, nullptr, nullptr) == CAI_OK) cai_memory_release(found);
  }
  OwnArray again(const OwnArray &array) {
    cai_array_retain(array);
    return OwnArray(array.get());
  }

  void use_others() {
    OwnStream *const stream = gpu_stream();
    if (!others_.get() || !stream) return;
    const std::uint64_t on = cai_stream_value(*stream);
    const cai_use_options how = access(any(2) ? CAI_ACCESS_READ : CAI_ACCESS_WRITE);
    ASSERT_OK(begin_use({others_}, on, error, &how));
    ASSERT_OK(end_use({others_}, on, error, &how));
    cai_memory *found = nullptr;
    ASSERT_OK(cai_memory_of(others_, &found, nullptr, error));
    cai_memory_release(found);
    if (any(2)) others_ = OwnArray();
  }

  void drain() {
    if (!any(4)) ASSERT_OK(cai_drain(0, nullptr, error));
  }

  void make_array() {
    if (OwnMemory *const memory = any_of(memories_)) keep(arrays_, array_of(*memory, {width}));
  }

  // A stream of a GPU, if the one that comes up is one.
  OwnStream *gpu_stream() {
    OwnStream *const stream = any_of(streams_);
    return stream && cai_stream_value(*stream) > 2 ? stream : nullptr;
  }

  void use() {
    OwnArray *const array = any_of(arrays_);
    OwnStream *const stream = gpu_stream();
    if (!array || !stream) return;
    const std::uint64_t on = cai_stream_value(*stream);
    const cai_use_options how = access(any(2) ? CAI_ACCESS_READ : CAI_ACCESS_WRITE);
    ASSERT_OK(begin_use({*array}, on, error, &how));
    ASSERT_OK(end_use({*array}, on, error, &how));
  }

  void view() {
    OwnArray *const array = any_of(arrays_);
    if (!array) return;
    cai_slice slice{};
    slice.kind = CAI_SLICE_RANGE;
    slice.start = 0;
    slice.stop = (*array)->ndim ? (*array)->shape[0] : 0;
    slice.step = 1;
    cai_array *made = nullptr;
    ASSERT_OK(cai_array_slice(*array, &slice, (*array)->ndim ? 1 : 0, &made, error));
    keep(arrays_, OwnArray(made));
  }

  void copy() {
    OwnArray *const from = any_of(arrays_), *const to = any_of(arrays_);
    if (!from || !to) return;
    const cai_status status = cai_array_copy(*from, *to, nullptr, nullptr);
    EXPECT_TRUE(status == CAI_OK || status == CAI_ERR_LAYOUT || status == CAI_ERR_VALUE) << status;
  }

  void fill() {
    OwnArray *const array = any_of(arrays_);
    const unsigned char seven = 7;
    if (!array) return;
    const cai_status status = cai_array_fill(*array, &seven, nullptr, nullptr);
    EXPECT_TRUE(status == CAI_OK || status == CAI_ERR_VALUE) << status;  // published: read-only
  }

  void publish() {
    OwnArray *const array = any_of(arrays_);
    OwnStream *const stream = gpu_stream();
    if (!array || !stream || (*array)->device_type == CAI_DEVICE_CPU) return;
    const std::uint64_t on = cai_stream_value(*stream);
    cai_array *made = nullptr;
    ASSERT_OK(cai_array_publish(*array, &on, 1, on, &made, error));
    cai_array_release(made);  // before the stream, whose number it bears
  }

  void exchange() {
    OwnArray *const array = any_of(arrays_);
    if (!array) return;
    DLManagedTensorVersioned *tensor = nullptr;
    const std::uint64_t on = (*array)->device_type == CAI_DEVICE_CPU ? 0 : 1;
    ASSERT_OK(cai_dlpack_write(*array, on, &tensor, error));
    if (any(2)) return tensor->deleter(tensor);
    cai_array *made = nullptr;
    ASSERT_OK(cai_dlpack_own(tensor, on, &made, error));
    keep(arrays_, OwnArray(made));
  }

  void change_stream() {
    OwnMemory *const memory = any_of(memories_);
    OwnStream *const stream = any_of(streams_);
    if (!memory || !stream) return;
    const cai_status status = cai_memory_set_stream(*memory, *stream, nullptr);
    EXPECT_TRUE(status == CAI_OK || status == CAI_ERR_DEVICE) << status;
  }

  void add_stream() { keep(streams_, make_stream(any_device())); }

  void work() {
    OwnStream *const stream = any_of(streams_);
    if (!stream) return;
    const auto nothing = [](void *, cai_error *) -> cai_status { return CAI_OK; };
    const auto done = [](void *block) { std::free(block); };
    void *const block = std::malloc(8);
    ASSERT_OK(cai_stream_enqueue(*stream, nothing, done, block, error));
  }

  void record() {
    OwnStream *const stream = any_of(streams_);
    if (!stream) return;
    cai_stream_info info{};
    info.struct_size = sizeof info;
    ASSERT_OK(cai_stream_describe(*stream, &info, error));
    cai_event *event = nullptr;
    ASSERT_OK(cai_event_create(info.device, 0, &event, error));
    ASSERT_OK(cai_event_record(event, *stream, error));
    if (OwnStream *const other = any_of(streams_))
      ASSERT_OK(cai_stream_follow(*other, *stream, error));
    if (any(2)) ASSERT_OK(cai_event_synchronize(event, error));
    cai_event_release(event);
  }

  void own() {
    Array borrowed(0x7F0000000000, CAI_STREAM_NONE);
    cai_array *made = nullptr;
    ASSERT_OK(cai_array_own(&borrowed.array, std::free, std::malloc(8), &made, error));
    cai_array_release(made);  // unused: it is no memory of this driver's
  }

  void read() {
    OwnArray *const array = any_of(arrays_);
    if (!array) return;
    cai_memory *found = nullptr;
    ASSERT_OK(cai_memory_of(*array, &found, nullptr, error));
    cai_memory_release(found);
    if (!any(4)) ASSERT_OK(cai_array_sync_host(*array, error));
  }

  void refuse() {
    cai_request wanted = request(CAI_KIND_DEFAULT, std::uint64_t{1} << 60);
    cai_memory *none = nullptr;
    // Sanitizers end the process if the heap is asked for so much.
    EXPECT_NE(cai_memory_alloc(any(2) ? gpu0 : gpu1, &wanted, &none, nullptr), CAI_OK);
    wanted.kind = 99;
    EXPECT_EQ(cai_memory_alloc(any_device(), &wanted, &none, nullptr), CAI_ERR_VALUE);
    cai_stream *no_stream = nullptr;
    EXPECT_NE(cai_stream_create(any_device(), 99, 0, &no_stream, nullptr), CAI_OK);
    if (OwnArray *const array = any_of(arrays_)) {
      const std::int64_t shape[] = {7, 7};
      cai_array *made = nullptr;
      EXPECT_NE(cai_array_reshape(*array, shape, 2, &made, nullptr), CAI_OK);
    }
  }

  void end() {
    switch (any(3)) {
      case 0:
        if (!memories_.empty()) memories_.erase(memories_.begin());
        break;
      case 1:
        if (!arrays_.empty()) arrays_.erase(arrays_.begin());
        break;
      default:
        if (!streams_.empty()) streams_.erase(streams_.begin());
    }
  }

  void end_on() {
    OwnStream *const stream = gpu_stream();
    if (arrays_.empty() || !stream) return;
    OwnArray last = std::move(arrays_.back());
    arrays_.pop_back();
    if (last->device_type == CAI_DEVICE_CPU) return;
    const cai_status status = cai_array_release_on(last, cai_stream_value(*stream), nullptr);
    if (status == CAI_OK) last.let_go();
  }

  void begin_thread() {
    if (!has_threads_ || any(16)) return;
    std::thread([seed = random_()] {
      Life other(seed, false);
      for (int i = 0; i < 50; ++i) other.step();
    }).join();
  }

  std::mt19937_64 random_;
  bool has_threads_;
  Market *market_;
  OwnArray others_;
  std::vector<OwnMemory> memories_;
  std::vector<OwnArray> arrays_;
  std::vector<OwnStream> streams_;
};

void live(std::uint64_t seed, int operations) {
  Life life(seed, true);
  for (int i = 0; i < operations; ++i) life.step();
}

constexpr int threads = 4;

// The order of the threads differs each time, for sanitizers to check.
void live_together(std::uint64_t seed, int operations) {
  Market market;
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, mine = seed * threads + static_cast<std::uint64_t>(thread)] {
      Life life(mine, false, &market);
      for (int i = 0; i < operations / threads; ++i) life.step();
    });
  }
  for (std::thread &each : all) each.join();
}

Kept level_after(void (*lives)(std::uint64_t seed, int operations), std::uint64_t seed,
                 int operations) {
  lives(seed, operations);
  settle();
  for (const cai_device device : {cpu, gpu0, gpu1}) {
    EXPECT_EQ(cai_device_synchronize(device, nullptr), CAI_OK);
  }
  settle();
  return Kept::now();
}

// Libcai keeps events to use them again, as many as there were at once, which differs with the
// programs, and with the threads. Each operation is done in each round, so one that leaves
// something leaves more.
constexpr std::uint64_t spare = 64;

void expect_level(void (*lives)(std::uint64_t seed, int operations), std::uint64_t most_more) {
  const char *const said = std::getenv("SOAK_OPERATIONS");
  const int operations = said ? std::atoi(said) : 20000;
  Kept::now();  // from here on, blocks are counted
  const Kept first = level_after(lives, 0, operations / rounds);
  std::cout << first << '\n';
  Kept most = first;
  for (std::uint64_t &each : most.counts) each += most_more;
  for (int round = 1; round < rounds; ++round) {
    const Kept now = level_after(lives, static_cast<std::uint64_t>(round), operations / rounds);
    std::cout << now << '\n';
    EXPECT_TRUE(now.since(most).empty()) << "in round " << round;
  }
}

TEST(Soak, LeavesNothing) {
  expect_level(live, spare);
}

TEST(Soak, LeavesNothingOfManyThreads) {
  expect_level(live_together, threads * spare);
}

}  // namespace
}  // namespace test
