// SPDX-License-Identifier: BSD-3-Clause
// Two threads call functions for the same memory at once, in random programs; each works on an
// array of its own half of it. A call succeeds, or fails as after the free, and work comes before
// the free: there is no race, nothing is lost, and nothing else fails, but where the driver does.
// When a thread has flushed, the frees that both had put off before are over; when it has drained,
// the ends, and those of what they have released.
//
// usage: meetings random COUNT SEED
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "by_seed.hpp"
#include "cai/memory.h"
#include "must.h"
#include "wide/driver.hpp"

namespace meetings {
namespace {

using by_seed::blame;
using by_seed::driver_fails;

constexpr cai_device gpu{CAI_DEVICE_CUDA, 0}, cpu{CAI_DEVICE_CPU, 0};
constexpr cai_dtype byte_type{'u', '|', 0, 0, 1, 0};
constexpr std::int64_t half = 64;

cai_stream *new_stream(cai_device device) {
  cai_stream *made = nullptr;
  MUST(cai_stream_create(device, CAI_MODE_ASYNC, 0, &made, nullptr));
  return made;
}

cai_memory *new_memory(cai_device device, std::uint32_t kind, std::uint64_t size,
                       cai_stream *stream) {
  cai_request wanted{};
  wanted.struct_size = sizeof wanted;
  wanted.kind = kind;
  wanted.size = size;
  wanted.stream = stream;
  cai_memory *made = nullptr;
  MUST(cai_memory_alloc(device, &wanted, &made, nullptr));
  return made;
}

cai_array *array_of(cai_memory *memory, std::uint64_t offset) {
  cai_array *made = nullptr;
  MUST(cai_memory_array(memory, offset, &byte_type, 1, &half, nullptr, &made, nullptr));
  return made;
}

cai_event *new_event(cai_device device) {
  cai_event *made = nullptr;
  MUST(cai_event_create(device, 0, &made, nullptr));
  return made;
}

// A stream that is destroyed as soon as it may be: with the view that comes with it.
class ShortStream {
 public:
  ShortStream() { MUST(wide::cu().cuStreamCreate(&handle_, 1)); }
  ShortStream(const ShortStream &) = delete;
  ShortStream &operator=(const ShortStream &) = delete;
  ~ShortStream() { MUST(wide::cu().cuStreamDestroy_v2(handle_)); }
  std::uint64_t value() const { return reinterpret_cast<std::uintptr_t>(handle_); }

 private:
  wide::Handle handle_ = nullptr;
};

// Of the driver, in drains and ends; no party calls them itself.
constexpr const char *functions_that_fail[] = {"cuCtxGetCurrent",
                                               "cuCtxPushCurrent",
                                               "cuCtxSynchronize",
                                               "cuEventQuery",
                                               "cuEventRecord",
                                               "cuEventSynchronize",
                                               "cuPointerGetAttributes",
                                               "cuStreamGetCaptureInfo",
                                               "cuStreamGetCtx",
                                               "cuStreamQuery",
                                               "cuStreamSynchronize",
                                               "cuStreamWaitEvent",
                                               "cuThreadExchangeStreamCaptureMode"};

bool is_right(cai_status status) {
  return status == CAI_OK || status == CAI_ERR_STATE ||
         (driver_fails && (status == CAI_ERR_CUDA || status == CAI_ERR_DRIVER));
}

void expect_right(cai_status status, const char *name, const cai_error &error) {
  if (!is_right(status)) blame(std::string(name) + ": " + error.message);
}

// If the driver fails, the host waits: other code uses the memory next.
cai_status end_use(cai_use *use, cai_error *error) {
  const cai_status status = cai_use_end(use, error);
  if (status != CAI_OK) MUST(cai_use_finish(use, 1, nullptr));
  return status;
}

// Releases an array of these bytes, in use on the stream, so that its end is put off.
cai_status release_used(const cai_array &bytes, cai_stream *stream, void (*end)(void *), void *what,
                        cai_error *error) {
  const std::uint64_t value = cai_stream_value(stream);
  cai_array borrowed = bytes;
  borrowed.owner = nullptr;
  cai_array *array = nullptr;
  MUST(cai_array_own(&borrowed, end, what, &array, nullptr));
  cai_use use{};
  cai_status status =
      cai_use_begin(&use, const_cast<const cai_array **>(&array), 1, value, nullptr, error);
  if (status == CAI_OK) {
    const auto handle = reinterpret_cast<wide::Handle>(static_cast<std::uintptr_t>(value));
    MUST(wide::cu().cuMemsetD8Async(bytes.data, 7, half, handle));
    status = end_use(&use, error);
  }
  if (status == CAI_OK) status = cai_array_release_on(array, value, error);
  if (status != CAI_OK) cai_array_release(array);
  return status;
}

// A free, or an end of an array, that is put off.
struct PutOff {
  std::atomic<bool> is_put_off{false}, is_over{false};
  bool asks = false;  // while it runs, as a manager may
  // Of an end:
  cai_array *bytes = nullptr;   // that the array is of
  cai_stream *again = nullptr;  // if not null, the end releases them once more, in use there

  void run() {
    for (int i = 0; i < 20; ++i) std::this_thread::yield();  // the other thread comes meanwhile
    cai_error error{};
    if (asks) {
      expect_right(cai_pending_flush(gpu, &error), "a flush in an end", error);
      expect_right(cai_drain(1, nullptr, &error), "a drain in an end", error);
    }
    if (cai_stream *const stream = std::exchange(again, nullptr)) {
      expect_right(release_used(*bytes, stream, end, this, &error), "in an end", error);
    } else {
      is_over = true;
    }
  }
  static void end(void *self) { static_cast<PutOff *>(self)->run(); }
};

// Those of one kind in a program.
class AllPutOff {
 public:
  PutOff &make(bool asks) {
    PutOff &made = all_[count_++];
    made.asks = asks;
    made.again = nullptr;
    return made;
  }
  static constexpr std::size_t most = 10;  // as many as a program has steps

  AllPutOff() = default;
  // Each has bytes of its own, of this memory.
  explicit AllPutOff(cai_memory *memory) {
    for (PutOff &each : all_) {
      each.bytes = array_of(memory, static_cast<std::uint64_t>(&each - all_) * half);
    }
  }
  // Those that `call`, if it succeeds, must not leave.
  template <class Call>
  cai_status expect_over_after(const char *name, Call &&call) {
    std::vector<PutOff *> before;
    for (PutOff &each : all_) {
      if (each.is_put_off) before.push_back(&each);
    }
    const cai_status status = call();
    const auto is_over = [](const PutOff *each) { return each->is_over.load(); };
    if (status == CAI_OK && !std::all_of(before.begin(), before.end(), is_over)) {
      blame(std::string(name) + " returned while another thread was running what was put off");
    }
    return status;
  }
  void begin_anew() {
    for (PutOff &each : all_) each.is_put_off = each.is_over = false;
    count_ = 0;
  }

 private:
  PutOff all_[most];
  std::atomic<std::size_t> count_{0};
};

// What the threads share. The streams and events outlive the programs.
struct Shared {
  cai_stream *const streams[3] = {new_stream(gpu), new_stream(gpu), new_stream(gpu)};
  cai_stream *const queues[2] = {new_stream(cpu), new_stream(cpu)};
  cai_event *const event = new_event(gpu), *const event_of_cpu = new_event(cpu);
  cai_memory *memory = nullptr;
  std::uint64_t address = 0;
  bool is_of_host = false;    // the host may work on it
  bool is_of_cpu = false;     // its device is the CPU
  bool is_worked_on = false;  // by the threads, on GPU streams, without libcai
  cai_memory *const lasting = new_memory(gpu, CAI_KIND_DEFAULT, AllPutOff::most *half, streams[0]);
  AllPutOff frees, ends{lasting};
  std::atomic<bool> has_failed{false};  // a call of the driver's
  wide::Handle context = [] {
    wide::Handle primary = nullptr;
    MUST(wide::cu().cuDevicePrimaryCtxRetain(&primary, 0));
    return primary;
  }();
  std::atomic<int> ready{0};    // threads
  std::atomic<int> at_work{0};  // threads whose steps end by themselves
};

class Party {
 public:
  Party(Shared &shared, unsigned seed, unsigned number)
      : shared_(shared), any_(seed), mine_(array_of(shared.memory, number * half)) {
    cai_memory_retain(shared.memory);
    if (any_() % 3 == 0) {
      other_memory_ = new_memory(cpu, CAI_KIND_DEFAULT, half, nullptr);
    } else {
      other_memory_ = new_memory(gpu, CAI_KIND_DEFAULT, half, shared.streams[draw(3)]);
      other_is_of_gpu_ = true;
    }
    other_ = array_of(other_memory_, 0);
    for (unsigned i = 0, count = 1 + draw(5); i < count; ++i) steps_.push_back(draw(number_of));
  }
  Party(const Party &) = delete;
  Party &operator=(const Party &) = delete;
  ~Party() {
    cai_array_release(other_);
    cai_memory_release(other_memory_);
    cai_array_release(mine_);
    cai_memory_release(shared_.memory);
  }

  bool has(cai_status (Party::*call)(cai_error *)) const {
    return std::any_of(steps_.begin(), steps_.end(),
                       [&](unsigned step) { return actions[step].call == call; });
  }
  bool frees() const { return has(&Party::free); }
  bool fails() const { return has(&Party::fail); }

  void run() {
    MUST(wide::cu().cuCtxSetCurrent(shared_.context));
    ++shared_.ready;
    while (shared_.ready != 2) {  // so that the calls meet
    }
    for (const unsigned step : steps_) {
      cai_error error{};
      const cai_status status = (this->*actions[step].call)(&error);
      expect_right(status, actions[step].name, error);
      // A use in it may have been abandoned, which no array's stream comes after.
      if (status == CAI_ERR_CUDA) MUST(cai_drain(1, nullptr, nullptr));
    }
    --shared_.at_work;
  }

  std::string told() const {
    std::string all;
    for (const unsigned step : steps_) all += std::string(" ") + actions[step].name;
    return all;
  }

 private:
  struct Action {
    const char *name;
    cai_status (Party::*call)(cai_error *error);
  };
  static const Action actions[];
  static const unsigned number_of;

  unsigned draw(unsigned below) { return static_cast<unsigned>(any_()) % below; }
  cai_stream *any_stream() { return shared_.streams[draw(3)]; }
  cai_stream *any_queue() { return shared_.queues[draw(2)]; }
  // That can work on the memory.
  cai_stream *any_worker() {
    const bool by_gpu = !shared_.is_of_cpu && (!shared_.is_of_host || draw(2));
    return by_gpu ? any_stream() : any_queue();
  }

  cai_status free(cai_error *error) { return cai_memory_free(shared_.memory, error); }
  cai_status set_stream(cai_error *error) {
    cai_stream *const next = shared_.is_of_cpu ? any_queue() : any_stream();
    return cai_memory_set_stream(shared_.memory, next, error);
  }
  cai_status record(cai_error *error) {
    return cai_memory_record(shared_.memory, draw(2) ? any_stream() : any_queue(), error);
  }
  cai_status fill(cai_error *error) {
    const unsigned char byte = 7;
    return cai_array_fill(mine_, &byte, any_worker(), error);
  }
  cai_status copy(cai_error *error) { return copy_between(mine_, other_, error); }
  cai_status copy_back(cai_error *error) { return copy_between(other_, mine_, error); }
  cai_status copy_between(const cai_array *from, const cai_array *to, cai_error *error) {
    const bool by_gpu = other_is_of_gpu_ || !shared_.is_of_host;
    return cai_array_copy(from, to, by_gpu ? any_stream() : any_queue(), error);
  }
  cai_status item(cai_error *error) {
    const std::int64_t index = draw(half);
    unsigned char byte = 0;
    return cai_array_item(mine_, &index, &byte, error);
  }
  cai_status sync_host(cai_error *error) { return cai_array_sync_host(mine_, error); }
  cai_status use(cai_error *error) { return use_of(mine_, error); }
  cai_status use_of(const cai_array *array, cai_error *error) {
    cai_use use{};
    const std::uint64_t stream = cai_stream_value(any_stream());
    const cai_status status = cai_use_begin(&use, &array, 1, stream, nullptr, error);
    if (status != CAI_OK) return status;
    work_on(stream);
    return end_use(&use, error);
  }
  // Work that nobody but libcai orders. A caller must not free what it uses.
  void work_on(std::uint64_t stream) {
    if (!shared_.is_worked_on) return;
    const auto handle = reinterpret_cast<wide::Handle>(static_cast<std::uintptr_t>(stream));
    MUST(wide::cu().cuMemsetD8Async(mine_->data, 7, half, handle));
  }
  cai_status publish(cai_error *error) { return publish(false, error); }
  cai_status publish_dict(cai_error *error) { return publish(true, error); }
  cai_status publish(bool by_dict, cai_error *error) {
    if (mine_->device_type == CAI_DEVICE_CPU) return CAI_OK;  // it has no stream to publish
    cai_array *view = nullptr;
    const ShortStream own;
    const std::uint64_t stream = draw(2) ? own.value() : cai_stream_value(any_stream());
    cai_status status = cai_array_publish(mine_, nullptr, 0, stream, &view, error);
    if (status != CAI_OK) return status;
    if (by_dict) {
      cai_interface dict{};
      dict.struct_size = sizeof dict;
      alignas(8) char storage[1024];
      status = cai_interface_write(view, 3, storage, sizeof storage, &dict, error);
      if (status == CAI_OK) work_on(stream);  // as a consumer of the dict does
    }
    if (status == CAI_OK && draw(2)) status = use_of(view, error);
    cai_array_release(view);
    return status;
  }
  cai_status publish_event(cai_error *error) {
    if (mine_->device_type == CAI_DEVICE_CPU) return CAI_OK;
    cai_array *view = nullptr;
    const ShortStream own;
    const std::uint64_t stream = draw(2) ? own.value() : cai_stream_value(any_stream());
    cai_status status = cai_array_publish_event(mine_, stream, &view, error);
    if (status != CAI_OK) return status;
    if (draw(2)) status = use_of(view, error);
    cai_array_release(view);
    return status;
  }
  // As a producer works on the array's own stream.
  cai_status reclaim(cai_error *error) {
    if (mine_->stream_kind != CAI_STREAM_STREAM) return CAI_OK;
    const cai_status status = cai_array_reclaim(mine_, mine_->stream, CAI_ACCESS_WRITE, error);
    if (status == CAI_OK) work_on(mine_->stream);
    return status;
  }
  cai_status same_stream(cai_error *error) {
    std::uint64_t stream = 0;
    const cai_array *const arrays[] = {mine_};
    const cai_status status = cai_arrays_same_stream(arrays, 1, &stream, error);
    if (status == CAI_OK && stream) work_on(stream);
    return status == CAI_ERR_ORDER ? cai_status{CAI_OK} : status;  // arrays come with others by now
  }
  cai_status make_array(cai_error *error) {
    cai_array *made = nullptr;
    const cai_status status =
        cai_memory_array(shared_.memory, 0, &byte_type, 1, &half, nullptr, &made, error);
    if (status == CAI_OK) cai_array_release(made);
    return status;
  }
  cai_status make_view(cai_error *error) {
    cai_memory *view = nullptr;
    const cai_status status = cai_memory_view(shared_.memory, 8, 16, &view, error);
    if (status == CAI_OK) cai_memory_release(view);
    return status;
  }
  cai_status find(cai_error *) {
    cai_memory *found = nullptr;
    if (cai_memory_find(shared_.address, &found, nullptr, nullptr) == CAI_OK) {
      cai_memory_release(found);
    }
    return CAI_OK;
  }
  cai_status memory_of(cai_error *error) {
    cai_memory *found = nullptr;
    const cai_status status = cai_memory_of(mine_, &found, nullptr, error);
    if (status == CAI_OK) cai_memory_release(found);
    return status;
  }
  cai_status describe(cai_error *error) {
    cai_memory_info info{};
    info.struct_size = sizeof info;
    return cai_memory_describe(shared_.memory, &info, error);
  }
  cai_status keep(cai_error *) {
    cai_memory_retain(shared_.memory);
    cai_memory_release(shared_.memory);
    return CAI_OK;
  }
  cai_status follow(cai_error *error) {
    return cai_stream_follow(draw(2) ? any_stream() : any_queue(), any_stream(), error);
  }
  cai_status synchronize(cai_error *error) {
    return cai_stream_synchronize(draw(2) ? any_stream() : any_queue(), error);
  }
  // A stream that is released with its work pending.
  cai_status short_stream(cai_error *error) {
    const cai_device device = shared_.is_of_host ? cpu : gpu;
    cai_stream *stream = nullptr;
    cai_status status = cai_stream_create(device, CAI_MODE_ASYNC, 0, &stream, error);
    if (status != CAI_OK) return status;
    const unsigned char byte = 7;
    status = cai_array_fill(mine_, &byte, stream, error);
    cai_stream_release(stream);
    return status;
  }
  cai_status work(cai_error *error) {
    const auto nothing = [](void *, cai_error *) { return cai_status{CAI_OK}; };
    cai_memory_retain(shared_.memory);
    const auto done = [](void *memory) { cai_memory_release(static_cast<cai_memory *>(memory)); };
    cai_stream *const stream = draw(2) ? any_stream() : any_queue();
    const cai_status status = cai_stream_enqueue(stream, nothing, done, shared_.memory, error);
    if (status != CAI_OK) done(shared_.memory);
    return status;
  }
  cai_status record_event(cai_error *error) {
    return draw(2) ? cai_event_record(shared_.event, any_stream(), error)
                   : cai_event_record(shared_.event_of_cpu, any_queue(), error);
  }
  cai_status wait_event(cai_error *error) {
    cai_event *const event = draw(2) ? shared_.event : shared_.event_of_cpu;
    return cai_event_wait(event, draw(2) ? any_stream() : any_queue(), error);
  }
  cai_status query_event(cai_error *error) {
    std::int32_t busy = 0;
    return cai_event_query(draw(2) ? shared_.event : shared_.event_of_cpu, &busy, error);
  }
  cai_status look(cai_error *error) { return cai_drain(0, nullptr, error); }
  cai_status drain(cai_error *error) {
    return shared_.ends.expect_over_after("cai_drain()",
                                          [&] { return cai_drain(1, nullptr, error); });
  }
  cai_status flush(cai_error *error) {
    return shared_.frees.expect_over_after("cai_pending_flush()",
                                           [&] { return cai_pending_flush(gpu, error); });
  }
  cai_status put_off_free(cai_error *error) {
    const auto free = [](void *what, cai_error *) {
      static_cast<PutOff *>(what)->run();
      return cai_status{CAI_OK};
    };
    PutOff &made = shared_.frees.make(draw(4) == 0);
    const cai_status status = cai_pending_add(gpu, 8, free, &made, error);
    made.is_put_off = status == CAI_OK;
    return status;
  }
  // The end of an array that is in use on a stream.
  cai_status put_off_end(cai_error *error) {
    PutOff &made = shared_.ends.make(draw(4) == 0);
    if (draw(2)) made.again = any_stream();
    const cai_status status = release_used(*made.bytes, any_stream(), PutOff::end, &made, error);
    made.is_put_off = status == CAI_OK;
    return status;
  }
  // A call of the driver's by either thread, once in a program: of what fails again, libcai may say
  // so and no more.
  cai_status fail(cai_error *) {
    if (shared_.has_failed.exchange(true)) return CAI_OK;
    const char *const function = functions_that_fail[draw(std::size(functions_that_fail))];
    const unsigned nth = 1 + draw(4);
    MUST(wide::cu().simcuda_fail(function, nth, draw(2) ? 2 : 999));
    return CAI_OK;
  }
  // For as long as the other thread is at work: it must come to its end all the same.
  cai_status keep_releasing(cai_error *error) {
    if (!other_is_of_gpu_) return CAI_OK;
    cai_status status = CAI_OK;
    --shared_.at_work;
    while (status == CAI_OK && shared_.at_work > 0) {
      status = release_used(*other_, any_stream(), [](void *) {}, nullptr, error);
    }
    ++shared_.at_work;
    return status;
  }

  Shared &shared_;
  std::mt19937 any_;
  cai_array *const mine_;
  cai_memory *other_memory_ = nullptr;
  cai_array *other_ = nullptr;
  bool other_is_of_gpu_ = false;
  std::vector<unsigned> steps_;
};

const Party::Action Party::actions[] = {
    {"free", &Party::free},
    {"set_stream", &Party::set_stream},
    {"record", &Party::record},
    {"fill", &Party::fill},
    {"copy", &Party::copy},
    {"copy_back", &Party::copy_back},
    {"item", &Party::item},
    {"sync_host", &Party::sync_host},
    {"use", &Party::use},
    {"publish", static_cast<cai_status (Party::*)(cai_error *)>(&Party::publish)},
    {"publish_dict", &Party::publish_dict},
    {"publish_event", &Party::publish_event},
    {"reclaim", &Party::reclaim},
    {"same_stream", &Party::same_stream},
    {"make_array", &Party::make_array},
    {"make_view", &Party::make_view},
    {"find", &Party::find},
    {"memory_of", &Party::memory_of},
    {"describe", &Party::describe},
    {"keep", &Party::keep},
    {"follow", &Party::follow},
    {"synchronize", &Party::synchronize},
    {"short_stream", &Party::short_stream},
    {"work", &Party::work},
    {"record_event", &Party::record_event},
    {"wait_event", &Party::wait_event},
    {"query_event", &Party::query_event},
    {"look", &Party::look},
    {"drain", &Party::drain},
    {"flush", &Party::flush},
    {"put_off_free", &Party::put_off_free},
    {"put_off_end", &Party::put_off_end},
    {"keep_releasing", &Party::keep_releasing},
    {"fail", &Party::fail},
};
const unsigned Party::number_of = std::size(Party::actions);

bool is_memory_left() {
  MUST(cai_drain(1, nullptr, nullptr));
  MUST(cai_pending_flush(gpu, nullptr));
  return wide::cu().simcuda_objects("CUdeviceptr") != 1;  // the lasting one
}

std::string play(std::uint64_t seed) {
  static Shared shared;
  std::mt19937 any(static_cast<unsigned>(seed));
  constexpr struct {
    cai_device device;
    std::uint32_t kind;
  } places[] = {{gpu, CAI_KIND_DEFAULT}, {gpu, CAI_KIND_ASYNC}, {gpu, CAI_KIND_MANAGED_GLOBAL},
                {gpu, CAI_KIND_PINNED},  {gpu, CAI_KIND_HOST},  {cpu, CAI_KIND_DEFAULT}};
  const auto &[device, kind] = places[(any()) % std::size(places)];
  shared.is_of_cpu = device.type == CAI_DEVICE_CPU;
  shared.is_of_host = shared.is_of_cpu || kind == CAI_KIND_PINNED || kind == CAI_KIND_HOST;
  shared.memory =
      new_memory(device, kind, 2 * half, shared.is_of_cpu ? shared.queues[0] : shared.streams[0]);
  cai_memory_info info{};
  info.struct_size = sizeof info;
  MUST(cai_memory_describe(shared.memory, &info, nullptr));
  shared.address = info.data;
  shared.ready = 0;
  shared.at_work = 2;
  shared.has_failed = false;
  shared.frees.begin_anew();
  shared.ends.begin_anew();
  std::string told;
  {
    Party first(shared, static_cast<unsigned>(any()), 0),
        second(shared, static_cast<unsigned>(any()), 1);
    told = first.told() + " beside" + second.told();
    driver_fails = first.fails() || second.fails();
    shared.is_worked_on = !shared.is_of_host && !first.frees() && !second.frees() && !driver_fails;
    std::thread other([&] { second.run(); });
    first.run();
    other.join();
  }
  for (const char *const each : functions_that_fail) MUST(wide::cu().simcuda_fail(each, 0, 0));
  cai_memory_release(shared.memory);
  const auto synchronize = [](cai_stream *each) {  // it reports what its work has met
    cai_error error{};
    expect_right(cai_stream_synchronize(each, &error), "cai_stream_synchronize()", error);
  };
  std::for_each(std::begin(shared.queues), std::end(shared.queues), synchronize);
  std::for_each(std::begin(shared.streams), std::end(shared.streams), synchronize);
  // It may report what that work has met, too, until it is recorded again.
  if (driver_fails) MUST(cai_event_record(shared.event_of_cpu, shared.queues[0], nullptr));
  MUST(cai_device_synchronize(gpu, nullptr));
  // The thread of a stream that was released may still have to free it.
  for (int i = 0; i < 5000 && is_memory_left(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (is_memory_left()) blame("memory is lost");
  if (wide::cu().simcuda_races() != 0) blame("a race");
  if (wide::cu().simcuda_findings() != 0) blame("a destroyed stream was used");
  const char *const place = shared.is_of_cpu ? " of the CPU:" : " of a GPU:";
  return std::string(", ") + cai_kind_name(kind) + place + told;
}

}  // namespace
}  // namespace meetings

int main(int argc, char **argv) {
  return by_seed::run(argc, argv, "meetings", meetings::play);
}
