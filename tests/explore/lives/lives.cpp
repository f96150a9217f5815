// SPDX-License-Identifier: BSD-3-Clause
// Explores memory's life: random programs that allocate, pin, wrap, view, use on streams of GPU and
// CPU, free, defer, reset and fork, beside a model of what is alive and what is in it. A program is
// right if
//
// - libcai refuses what is dead, read-only, out of bounds or over a limit, and nothing else;
// - what is read is what was written last, whoever wrote it;
// - nothing races, the memory's reuse among it;
// - every block comes back to its manager once, in its own epoch; every owner ends once;
// - what is told of usage, of addresses and of pending frees is right.
//
//   lives random COUNT SEED   COUNT programs; one that is wrong is shrunk, and printed
//   lives replay PROGRAM      one, as it was printed; says what each step does
//
// A step is five numbers; what they mean depends on what there is by then, and one that means
// nothing by then is left out. So every part of a program is a program.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>

#include "../wide/driver.hpp"
#include "../wide/fault.hpp"
#include "managers.hpp"
#include "must.h"

extern char **environ;

namespace lives {
namespace {

using Step = std::array<unsigned, 5>;
using Program = std::vector<Step>;

constexpr cai_device gpu{CAI_DEVICE_CUDA, 0}, cpu{CAI_DEVICE_CPU, 0};
constexpr cai_dtype byte_type{'u', '|', 0, 0, 1, 0};
constexpr std::uint64_t limit = 400;
constexpr int unknown = -1;
constexpr std::size_t most = 8;  // of each kind of object
bool speaks = false;

bool is_cpu(cai_device device) {
  return device.type == CAI_DEVICE_CPU;
}
bool is_pinned(std::uint32_t kind) {
  return kind == CAI_KIND_PINNED || kind == CAI_KIND_MAPPED;
}

// ---- The model ----------------------------------------------------------------------------------

// Bytes as they were written last, or unknown.
using Bytes = std::vector<int>;

// Somebody's memory of the host's, which ends once.
struct Owner {
  std::vector<unsigned char> bytes;
  int ended = 0;

  static void end(void *self) {
    Owner &owner = *static_cast<Owner *>(self);
    ++owner.ended;
    std::fill(owner.bytes.begin(), owner.bytes.end(), poison);
  }
  bool is_untouched() const {
    return std::all_of(bytes.begin(), bytes.end(),
                       [](unsigned char byte) { return byte == poison; });
  }
};

struct Memory {
  cai_memory *handle = nullptr;
  int holders = 1;  // arrays and views among them
  int ours = 1;     // explicit ones
  std::shared_ptr<Memory> whole;
  std::shared_ptr<Bytes> bytes;
  std::uint64_t start = 0, size = 0;  // in those
  cai_device device = cpu;
  std::uint32_t kind = CAI_KIND_DEFAULT;
  std::uint64_t epoch = 0;  // of the GPU's context; 0: outlives it
  bool is_counted = false, is_found = false, read_only = false, is_foreign = false;
  bool freed = false;
  const Judge *judge = nullptr;

  const Memory &root() const { return whole ? *whole : *this; }
  bool is_dead() const { return root().epoch != 0 && root().epoch != Judge::now; }
  bool is_alive() const { return !root().freed && !is_dead(); }
  bool is_of_host() const { return kind == CAI_KIND_HOST || (is_cpu(device) && !epoch); }
};
using Shared = std::shared_ptr<Memory>;

struct Array {
  cai_array *handle = nullptr;
  Shared memory;  // the root; none: somebody else's
  std::shared_ptr<Bytes> bytes;
  std::uint64_t start = 0, count = 0;
  bool read_only = false;

  bool is_alive() const { return !memory || memory->is_alive(); }
  bool is_of_host() const { return handle->device_type == CAI_DEVICE_CPU; }
  bool is_for_host() const { return is_of_host() || handle->device_type == CAI_DEVICE_CUDA_HOST; }
};

struct Stream {
  cai_stream *handle;
  cai_device device;
};

struct Manager {
  Judge *judge;
  cai_manager *handle;
  cai_device device;
  bool limits;
};

struct Sum {
  std::uint64_t bytes = 0, count = 0;
};

class World {
 public:
  World();
  void run(const Program &program);

 private:
  using Party = void (World::*)(const Step &step);
  static const Party parties[];

  void allocate(const Step &step);
  void pin(const Step &step);
  void wrap(const Step &step);
  void own(const Step &step);
  void view(const Step &step);
  void retain(const Step &step);
  void release(const Step &step);
  void free(const Step &step);
  void array(const Step &step);
  void memory_of(const Step &step);
  void drop(const Step &step);
  void fill(const Step &step);
  void copy(const Step &step);
  void read(const Step &step);
  void set_stream(const Step &step);
  void record(const Step &step);
  void defer(const Step &step);
  void flush(const Step &step);
  void trim(const Step &step);
  void install(const Step &step);
  void reset(const Step &step);
  void find(const Step &step);
  void share(const Step &step);
  void synchronize(const Step &step);
  void fork_here(const Step &step);
  void fail(const Step &step);

  void check();
  void close();
  void let_go(Memory &memory);
  void end_array(std::size_t which);
  void sync_cpu();
  void make_gpu();
  void end_gpu();
  void count(const Memory &memory, int sign);
  void add(cai_memory *handle, Memory made);
  Owner &new_owner(unsigned size, unsigned value);

  // Calls libcai, which is to say this. Whether it has done what it was asked for: a fault may have
  // struck.
  template <class Call>
  bool ask(const char *what, cai_status expected, Call &&call) {
    fault_.arm();
    return judge_call(what, expected, call);
  }
  // The same where none may.
  template <class Call>
  bool must(const char *what, cai_status expected, Call &&call) {
    wide::Fault none;
    std::swap(none, fault_);
    const bool done = judge_call(what, expected, call);
    std::swap(none, fault_);
    return done;
  }
  template <class Call>
  bool judge_call(const char *what, cai_status expected, Call &&call) {
    cai_error error{};
    const cai_status status = call(&error);
    fault_.disarm();
    if (speaks) std::printf("  %s: %s %s\n", what, cai_status_name(status), error.message);
    if (!fault_.has_struck() && status != expected) {
      blame(std::string(what) + " says " + cai_status_name(status) + ", not " +
            cai_status_name(expected) + ": " + error.message);
    }
    return status == CAI_OK;
  }

  Shared memory(unsigned which) {
    return memories_.empty() ? nullptr : memories_[which % memories_.size()];
  }
  Array *array(unsigned which) {
    return arrays_.empty() ? nullptr : &arrays_[which % arrays_.size()];
  }
  cai_stream *stream(bool of_cpu, unsigned which) const {
    for (;; ++which) {
      const Stream &found = streams_[which % streams_.size()];
      if (is_cpu(found.device) == of_cpu) return found.handle;
    }
  }

  static World *only;

  std::vector<Shared> memories_;
  std::vector<Array> arrays_;
  std::vector<Stream> streams_;
  std::vector<Manager> managers_;
  std::vector<std::unique_ptr<Judge>> judges_;
  std::vector<std::unique_ptr<Owner>> owners_;
  Sum sums_[2];  // of the CPU, and of the GPU
  unsigned deferred_ = 0;
  wide::Fault fault_;
  std::uint64_t races_ = 0;
};

cai_usage usage_of(cai_device device) {
  cai_usage usage{};
  usage.struct_size = sizeof usage;
  MUST(cai_memory_usage(device, &usage, nullptr));
  return usage;
}

cai_memory_info info_of(const cai_memory *memory) {
  cai_memory_info info{};
  info.struct_size = sizeof info;
  MUST(cai_memory_describe(memory, &info, nullptr));
  return info;
}

World *World::only = nullptr;

World::World() {
  only = this;
  on_entry = [] { only->fault_.disarm(); };
  races_ = wide::cu().simcuda_races();
  for (int i = 0; i < 2; ++i) {
    const cai_usage usage = usage_of(i ? gpu : cpu);
    sums_[i] = {usage.bytes, usage.count};
  }
  for (const std::uint32_t mode : {CAI_MODE_ASYNC, CAI_MODE_ASYNC, CAI_MODE_SYNC}) {
    cai_stream *made = nullptr;
    MUST(cai_stream_create(cpu, mode, 0, &made, nullptr));
    streams_.push_back({made, cpu});
  }
  for (const Way way : {Way::plain, Way::caching, Way::reentrant}) {
    judges_.push_back(std::make_unique<Judge>(cpu, way, 0));
    managers_.push_back({judges_.back().get(), judges_.back()->make(), cpu, false});
  }
  make_gpu();
}

void World::make_gpu() {
  for (const std::uint32_t mode : {CAI_MODE_ASYNC, CAI_MODE_ASYNC, CAI_MODE_SYNC}) {
    cai_stream *made = nullptr;
    MUST(cai_stream_create(gpu, mode, 0, &made, nullptr));
    streams_.push_back({made, gpu});
  }
  for (const Way way : {Way::plain, Way::caching, Way::reentrant, Way::failing, Way::plain}) {
    judges_.push_back(std::make_unique<Judge>(gpu, way, Judge::now));
    managers_.push_back({judges_.back().get(), judges_.back()->make(), gpu, false});
  }
  Manager &last = managers_.back();
  cai_manager *const upstream = last.handle;
  const cai_limit_params params{sizeof params, 0, limit};
  MUST(cai_manager_create("limiting", &params, gpu, upstream, &last.handle, nullptr));
  cai_manager_release(upstream);
  last.limits = true;
}

void World::end_gpu() {
  for (const Stream &stream : streams_) {
    if (!is_cpu(stream.device)) cai_stream_release(stream.handle);
  }
  for (const Manager &manager : managers_) {
    if (!is_cpu(manager.device)) cai_manager_release(manager.handle);
  }
  std::erase_if(streams_, [](const Stream &stream) { return !is_cpu(stream.device); });
  std::erase_if(managers_, [](const Manager &manager) { return !is_cpu(manager.device); });
}

// What is counted where, as the header says it.
void World::count(const Memory &memory, int sign) {
  if (!memory.is_counted) return;
  const auto add = [&](Sum &sum) {
    sum.bytes += sign > 0 ? memory.size : -memory.size;
    sum.count += static_cast<std::uint64_t>(sign);
  };
  if (!is_cpu(memory.device)) add(sums_[1]);
  if (cai_is_dereferenceable(memory.device, memory.kind)) add(sums_[0]);
}

void World::add(cai_memory *handle, Memory made) {
  made.handle = handle;
  memories_.push_back(std::make_shared<Memory>(std::move(made)));
  count(*memories_.back(), 1);
}

Owner &World::new_owner(unsigned size, unsigned value) {
  owners_.push_back(std::make_unique<Owner>());
  owners_.back()->bytes.assign(size, static_cast<unsigned char>(value));
  return *owners_.back();
}

void World::let_go(Memory &memory) {
  if (--memory.holders != 0) return;
  if (memory.whole) return let_go(*memory.whole);
  if (memory.freed) return;
  memory.freed = true;
  count(memory, -1);
}

void World::sync_cpu() {
  for (const Stream &stream : streams_) {
    if (is_cpu(stream.device)) MUST(cai_stream_synchronize(stream.handle, nullptr));
  }
}

// ---- Where memory comes from --------------------------------------------------------------------

void World::allocate(const Step &step) {
  if (memories_.size() >= most) return;
  constexpr std::uint32_t kinds[] = {CAI_KIND_DEFAULT, CAI_KIND_DEFAULT,        CAI_KIND_ASYNC,
                                     CAI_KIND_PINNED,  CAI_KIND_MANAGED_GLOBAL, CAI_KIND_MAPPED,
                                     CAI_KIND_HOST};
  Memory made;
  made.device = step[1] % 3 ? gpu : cpu;
  made.kind = kinds[step[2] % std::size(kinds)];
  made.size = step[3] % 9 == 0 ? 0 : 16 + step[3] % 100;
  made.bytes = std::make_shared<Bytes>(made.size, unknown);
  made.is_counted = made.is_found = made.size != 0;
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = made.kind;
  request.size = made.size;
  if (is_pinned(made.kind) && step[3] % 2) request.flags = CAI_HOST_WRITE_COMBINED;
  if (step[1] % 2) request.stream = stream(is_cpu(made.device), step[4]);
  if (!is_cpu(made.device) || (is_pinned(made.kind) && made.size)) made.epoch = Judge::now;
  cai_status expected = CAI_OK;
  if (!is_pinned(made.kind) && made.kind != CAI_KIND_HOST && step[4] % 3) {
    const Manager &manager = managers_[step[4] % managers_.size()];
    if (is_cpu(manager.device) == is_cpu(made.device)) {
      request.manager = manager.handle;
      made.judge = manager.judge;
      if (manager.limits) sync_cpu();  // who may have a claim
      const bool is_over = manager.limits && manager.judge->out() + made.size > limit;
      if (made.size && (manager.judge->fails() || is_over)) expected = CAI_ERR_MEMORY;
    }
  }
  cai_memory *handle = nullptr;
  if (ask("alloc", expected, [&](cai_error *error) {
        return cai_memory_alloc(made.device, &request, &handle, error);
      })) {
    add(handle, std::move(made));
  }
}

void World::pin(const Step &step) {
  if (memories_.size() >= most) return;
  Memory made;
  made.device = step[1] % 2 ? gpu : cpu;
  made.kind = step[2] % 2 ? CAI_KIND_PINNED : CAI_KIND_MAPPED;
  made.size = 32;
  made.epoch = Judge::now;
  made.is_counted = true;
  made.bytes = std::make_shared<Bytes>(made.size, step[3] % 256);
  Owner &owner = new_owner(32, step[3]);
  cai_memory *handle = nullptr;
  const bool done = ask("pin", CAI_OK, [&](cai_error *error) {
    return cai_memory_pin(made.device, owner.bytes.data(), made.size, made.kind, 0, Owner::end,
                          &owner, &handle, error);
  });
  if (!done) return Owner::end(&owner);
  add(handle, std::move(made));
}

void World::wrap(const Step &step) {
  if (memories_.size() >= most) return;
  Memory made;
  made.kind = CAI_KIND_HOST;
  made.size = 48;
  made.read_only = step[1] % 3 == 0;
  made.is_foreign = true;
  made.bytes = std::make_shared<Bytes>(made.size, step[2] % 256);
  Owner &owner = new_owner(48, step[2]);
  cai_memory_info info{};
  info.struct_size = sizeof info;
  info.flags = made.read_only ? CAI_MEMORY_READONLY : 0;
  info.device = cpu;
  info.kind = made.kind;
  info.data = info.host = reinterpret_cast<std::uintptr_t>(owner.bytes.data());
  info.size = made.size;
  cai_memory *handle = nullptr;
  const bool done = ask("wrap", CAI_OK, [&](cai_error *error) {
    return cai_memory_wrap(&info, Owner::end, &owner, &handle, error);
  });
  if (!done) return Owner::end(&owner);
  add(handle, std::move(made));
}

// An array of somebody else's.
void World::own(const Step &step) {
  if (arrays_.size() >= most) return;
  Owner &owner = new_owner(40, step[1]);
  const std::int64_t extent = 40, stride = 1;
  cai_array given{};
  given.abi_major = CAI_ABI_MAJOR;
  given.abi_minor = CAI_ABI_MINOR;
  given.version = 3;
  given.device_type = CAI_DEVICE_CPU;
  given.stream_kind = CAI_STREAM_NONE;
  given.dtype = byte_type;
  given.ndim = 1;
  given.shape = &extent;
  given.strides = &stride;
  given.data = reinterpret_cast<std::uintptr_t>(owner.bytes.data());
  Array made;
  made.read_only = step[2] % 3 == 0;
  if (made.read_only) given.flags = CAI_FLAG_READONLY;
  made.bytes = std::make_shared<Bytes>(40, step[1] % 256);
  made.count = 40;
  const bool done = ask("own", CAI_OK, [&](cai_error *error) {
    return cai_array_own(&given, Owner::end, &owner, &made.handle, error);
  });
  done ? arrays_.push_back(made) : Owner::end(&owner);
}

void World::view(const Step &step) {
  const Shared from = memory(step[1]);
  if (!from || memories_.size() >= most) return;
  const std::uint64_t start = step[2] % (from->size + 1), stop = step[3] % (from->size + 3);
  cai_status expected = CAI_OK;
  if (start > stop || stop > from->size) expected = CAI_ERR_BOUNDS;
  if (!from->is_alive()) expected = CAI_ERR_STATE;
  cai_memory *handle = nullptr;
  if (!ask("view", expected, [&](cai_error *error) {
        return cai_memory_view(from->handle, start, stop, &handle, error);
      })) {
    return;
  }
  Memory made = *from;
  made.whole = from->whole ? from->whole : from;
  made.holders = made.ours = 1;
  made.start += start;
  made.size = stop - start;
  made.is_counted = false;
  ++made.whole->holders;
  add(handle, std::move(made));
}

void World::memory_of(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from || memories_.size() >= most) return;
  cai_memory *handle = nullptr;
  std::uint64_t offset = 0;
  if (!ask("of", CAI_OK, [&](cai_error *error) {
        return cai_memory_of(from->handle, &handle, &offset, error);
      })) {
    return;
  }
  if (!from->memory) {
    Memory made;
    made.bytes = from->bytes;
    made.size = from->count;
    made.read_only = from->read_only;
    made.is_foreign = true;
    return add(handle, std::move(made));
  }
  if (offset != from->start && from->count) blame("cai_memory_of() says another offset");
  if (from->read_only && !from->memory->read_only) {
    Memory made = *from->memory;
    made.whole = from->memory;
    made.holders = made.ours = 1;
    made.is_counted = false;
    made.read_only = true;
    ++made.whole->holders;
    return add(handle, std::move(made));
  }
  if (handle != from->memory->handle) blame("cai_memory_of() finds other memory");
  ++from->memory->holders;
  const auto known = std::find(memories_.begin(), memories_.end(), from->memory);
  if (known == memories_.end()) {
    from->memory->ours = 1;
    memories_.push_back(from->memory);
  } else {
    ++from->memory->ours;
  }
}

void World::array(const Step &step) {
  const Shared from = memory(step[1]);
  if (!from || arrays_.size() >= most) return;
  std::uint64_t start = step[2] % 4 ? 0 : step[3] % (from->size + 1);
  std::uint64_t count =
      step[2] % 3 ? std::min<std::uint64_t>(16, from->size - start) : step[4] % (from->size + 2);
  cai_status expected = start + count > from->size ? CAI_ERR_BOUNDS : CAI_OK;
  if (!from->is_alive()) expected = CAI_ERR_STATE;
  const auto extent = static_cast<std::int64_t>(count);
  Array made;
  if (!ask("array", expected, [&](cai_error *error) {
        return cai_memory_array(from->handle, start, &byte_type, 1, &extent, nullptr, &made.handle,
                                error);
      })) {
    return;
  }
  made.memory = from->whole ? from->whole : from;
  ++made.memory->holders;
  made.bytes = from->bytes;
  made.start = from->start + start;
  made.count = count;
  made.read_only = from->read_only;
  if (made.read_only != bool(made.handle->flags & CAI_FLAG_READONLY)) blame("a mark is lost");
  arrays_.push_back(made);
}

// ---- Who holds it -------------------------------------------------------------------------------

void World::retain(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  cai_memory_retain(found->handle);
  ++found->holders;
  ++found->ours;
}

void World::release(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  if (--found->ours == 0) std::erase(memories_, found);
  cai_memory_release(found->handle);
  let_go(*found);
}

void World::free(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  cai_status expected = CAI_OK;
  if (found->freed) expected = CAI_ERR_STATE;
  if (found->whole) expected = CAI_ERR_UNSUPPORTED;
  if (!must("free", expected,
            [&](cai_error *error) { return cai_memory_free(found->handle, error); })) {
    return;
  }
  found->freed = true;
  count(*found, -1);
}

void World::end_array(std::size_t which) {
  const Array gone = arrays_[which];
  arrays_.erase(arrays_.begin() + static_cast<std::ptrdiff_t>(which));
  cai_array_release(gone.handle);
  if (gone.memory) let_go(*gone.memory);
}

void World::drop(const Step &step) {
  if (!arrays_.empty()) end_array(step[1] % arrays_.size());
}

// ---- Who uses it --------------------------------------------------------------------------------

void World::fill(const Step &step) {
  Array *const to = array(step[1]);
  if (!to) return;
  const auto value = static_cast<unsigned char>(step[2]);
  const bool by_cpu = to->is_of_host() || (to->is_for_host() && step[3] % 2);
  cai_status expected = to->read_only ? CAI_ERR_VALUE : CAI_OK;
  if (!to->is_alive()) expected = CAI_ERR_STATE;
  const bool done = ask("fill", expected, [&](cai_error *error) {
    return cai_array_fill(to->handle, &value, step[3] % 5 ? stream(by_cpu, step[4]) : nullptr,
                          error);
  });
  if (!done && !fault_.has_struck()) return;
  const auto begin = to->bytes->begin() + static_cast<std::ptrdiff_t>(to->start);
  if (!done && to->read_only) return;
  std::fill_n(begin, to->count, done ? value : unknown);
}

void World::copy(const Step &step) {
  Array *const from = array(step[1]), *const to = array(step[2]);
  if (!from || from->bytes == to->bytes) return;
  cai_status expected = CAI_OK;
  if (to->read_only || from->count != to->count) expected = CAI_ERR_VALUE;
  if (!from->is_alive() || !to->is_alive()) expected = CAI_ERR_STATE;
  const bool by_host = from->is_for_host() && to->is_for_host();
  const bool by_cpu = by_host && ((from->is_of_host() && to->is_of_host()) || step[3] % 2);
  const bool done = ask("copy", expected, [&](cai_error *error) {
    return cai_array_copy(from->handle, to->handle, step[3] % 5 ? stream(by_cpu, step[4]) : nullptr,
                          error);
  });
  if (to->read_only || from->count != to->count || (!done && !fault_.has_struck())) return;
  const auto end = to->bytes->begin() + static_cast<std::ptrdiff_t>(to->start);
  if (done) {
    std::copy_n(from->bytes->begin() + static_cast<std::ptrdiff_t>(from->start), to->count, end);
  } else {
    std::fill_n(end, to->count, unknown);
  }
}

void World::read(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from || from->count == 0) return;
  const auto at = static_cast<std::int64_t>(step[2] % from->count);
  unsigned char byte = 0;
  if (!ask("item", from->is_alive() ? CAI_OK : CAI_ERR_STATE,
           [&](cai_error *error) { return cai_array_item(from->handle, &at, &byte, error); })) {
    return;
  }
  const int expected = (*from->bytes)[from->start + static_cast<std::uint64_t>(at)];
  if (expected == unknown || expected == byte) return;
  blame("an element is " + std::to_string(byte) + ", not " + std::to_string(expected));
}

void World::set_stream(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  const bool of_cpu = is_cpu(found->device) != (step[2] % 8 == 0);
  cai_status expected = CAI_OK;
  if (of_cpu != is_cpu(found->device)) expected = CAI_ERR_DEVICE;
  if (found->whole) expected = CAI_ERR_UNSUPPORTED;
  if (!found->is_alive()) expected = CAI_ERR_STATE;
  must("set_stream", expected, [&](cai_error *error) {
    return cai_memory_set_stream(found->handle, stream(of_cpu, step[3]), error);
  });
}

void World::record(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  must("record", found->is_alive() ? CAI_OK : CAI_ERR_STATE, [&](cai_error *error) {
    return cai_memory_record(found->handle, stream(step[2] % 2, step[3]), error);
  });
}

// ---- What becomes of it -------------------------------------------------------------------------

void World::defer(const Step &step) {
  const std::int32_t begins = step[1] % 2;
  const bool done = must("defer", begins || deferred_ ? CAI_OK : CAI_ERR_STATE,
                         [&](cai_error *error) { return cai_pending_defer(gpu, begins, error); });
  if (done) begins ? ++deferred_ : --deferred_;
}

void World::flush(const Step &) {
  sync_cpu();  // whose frees come from their threads
  must("flush", CAI_OK, [&](cai_error *error) { return cai_pending_flush(gpu, error); });
  if (deferred_ == 0 && usage_of(gpu).pending_count) blame("frees are pending after a flush");
}

void World::trim(const Step &step) {
  const Manager &manager = managers_[step[1] % managers_.size()];
  must("trim", CAI_OK,
       [&](cai_error *error) { return cai_manager_trim(manager.handle, 0, error); });
}

// Not those that refuse: what libcai takes for itself could fail.
void World::install(const Step &step) {
  const Manager &manager = managers_[step[1] % managers_.size()];
  const bool is_none =
      step[2] % 3 == 0 || is_cpu(manager.device) || manager.limits || manager.judge->fails();
  must("install", CAI_OK, [&](cai_error *error) {
    return cai_manager_install(gpu, is_none ? nullptr : manager.handle, error);
  });
}

void World::reset(const Step &step) {
  const bool of_context = step[1] % 2;
  sync_cpu();
  must("reset", CAI_OK, [&](cai_error *error) {
    return cai_device_reset(gpu, of_context ? CAI_RESET_CONTEXT : 0, error);
  });
  if (usage_of(gpu).pending_count) blame("frees are pending after a reset");
  if (!of_context) return;
  ++Judge::now;
  end_gpu();
  make_gpu();
}

void World::find(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found || found->size == 0 || found->whole) return;
  const std::uint64_t data = info_of(found->handle).data, at = step[2] % found->size;
  const bool is_there = found->is_alive() && found->is_found;
  cai_memory *out = nullptr;
  std::uint64_t offset = 0;
  const cai_status status = cai_memory_find(data + at, &out, &offset, nullptr);
  if (is_there && (out != found->handle || offset != at)) blame("memory is not found");
  if (!is_there && out == found->handle) blame("memory is found that is not there");
  if (status == CAI_OK && info_of(out).flags & CAI_MEMORY_FREED) blame("dead memory is found");
  if (out) cai_memory_release(out);
}

void World::share(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  cai_status expected = CAI_OK;
  const bool is_plain = found->kind == CAI_KIND_DEFAULT && !is_cpu(found->device);
  if (!is_plain || found->read_only || found->root().size == 0) expected = CAI_ERR_UNSUPPORTED;
  if (!found->is_alive()) expected = CAI_ERR_STATE;
  cai_ipc_handle handle{};
  std::int32_t fd = -1;
  if (!must("share", expected, [&](cai_error *error) {
        return cai_memory_share(found->handle, &handle, &fd, error);
      })) {
    return;
  }
  if (handle.size != found->size) blame("a handle says another size");
  cai_memory *out = nullptr;
  must("open", handle.size ? CAI_ERR_STATE : CAI_ERR_VALUE, [&](cai_error *error) {
    return cai_memory_open(&handle, fd, gpu, nullptr, CAI_OPEN_AUTO, &out, error);
  });
}

void World::synchronize(const Step &step) {
  if (step[1] % 2) return MUST(cai_drain(step[2] % 2, nullptr, nullptr));
  MUST(cai_stream_synchronize(stream(step[2] % 2, step[3]), nullptr));
}

// The child lets go of all that it has: nothing of it is the child's to free.
void World::fork_here(const Step &step) {
  if (step[1] % 16) return;
  std::fflush(nullptr);
  const pid_t child = fork();
  MUST_HOLD(child >= 0);
  if (child == 0) {
    alarm(20);
    for (const Array &array : arrays_) cai_array_release(array.handle);
    for (const Shared &memory : memories_) {
      for (; memory->ours > 0; --memory->ours) cai_memory_release(memory->handle);
    }
    _exit(wrong().empty() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0) blame("a forked child says " + std::to_string(status));
}

void World::fail(const Step &step) {
  constexpr unsigned functions = std::size(wide::kFailWords) - wide::kAllocations;
  wide::Failing failing;
  if (step[4] % 2 == 0) failing.what = wide::kAllocations + step[1] % functions;
  failing.nth = 1 + step[2] % 4;
  failing.calls = step[3] % 2;
  fault_.choose(failing);
}

// ---- Programs -----------------------------------------------------------------------------------

// What is drawn more often than the rest stands here more often.
const World::Party World::parties[] = {
    &World::allocate, &World::allocate,    &World::allocate,   &World::allocate,  &World::pin,
    &World::wrap,     &World::own,         &World::view,       &World::retain,    &World::release,
    &World::release,  &World::release,     &World::release,    &World::free,      &World::array,
    &World::array,    &World::array,       &World::array,      &World::memory_of, &World::drop,
    &World::drop,     &World::fill,        &World::fill,       &World::fill,      &World::fill,
    &World::copy,     &World::copy,        &World::copy,       &World::read,      &World::read,
    &World::read,     &World::record,      &World::set_stream, &World::defer,     &World::flush,
    &World::trim,     &World::install,     &World::reset,      &World::find,      &World::find,
    &World::share,    &World::synchronize, &World::fork_here,  &World::fail,      &World::fail};
constexpr const char *names[] = {
    "allocate",   "allocate",    "allocate",  "allocate", "pin",     "wrap",  "own",   "view",
    "retain",     "release",     "release",   "release",  "release", "free",  "array", "array",
    "array",      "array",       "memory_of", "drop",     "drop",    "fill",  "fill",  "fill",
    "fill",       "copy",        "copy",      "copy",     "read",    "read",  "read",  "record",
    "set_stream", "defer",       "flush",     "trim",     "install", "reset", "find",  "find",
    "share",      "synchronize", "fork",      "fail",     "fail"};

void World::check() {
  for (int i = 0; i < 2; ++i) {
    const auto is_right = [&](const cai_usage &usage) {
      return usage.bytes == sums_[i].bytes && usage.count == sums_[i].count;
    };
    if (is_right(usage_of(i ? gpu : cpu))) continue;
    sync_cpu();  // whose work holds what it works on
    const cai_usage usage = usage_of(i ? gpu : cpu);
    if (is_right(usage)) continue;
    blame("usage of " + std::string(i ? "the GPU" : "the CPU") + " is " +
          std::to_string(usage.bytes) + " in " + std::to_string(usage.count) + ", not " +
          std::to_string(sums_[i].bytes) + " in " + std::to_string(sums_[i].count));
  }
  if (usage_of(gpu).deferred != deferred_) blame("the deferrals are miscounted");
  for (const Shared &each : memories_) {
    const cai_memory_info info = info_of(each->handle);
    const auto differs = [&](std::uint32_t flag, bool is) { return is != bool(info.flags & flag); };
    if (differs(CAI_MEMORY_FREED, !each->is_alive()) ||
        differs(CAI_MEMORY_READONLY, each->read_only) ||
        differs(CAI_MEMORY_FOREIGN, each->root().is_foreign) ||
        differs(CAI_MEMORY_VIEW, bool(each->whole)) || info.size != each->size) {
      blame("memory says flags " + std::to_string(info.flags) + " and size " +
            std::to_string(info.size));
    }
  }
  if (wide::cu().simcuda_races() != races_) blame("something races");
}

void World::close() {
  fault_.forget();
  while (!arrays_.empty()) end_array(arrays_.size() - 1);
  while (!memories_.empty()) release({});
  check();
  for (; deferred_ > 0; --deferred_) MUST(cai_pending_defer(gpu, 0, nullptr));
  MUST(cai_manager_install(gpu, nullptr, nullptr));
  for (int i = 0; i < 2; ++i) {
    MUST(cai_drain(1, nullptr, nullptr));
    sync_cpu();
    MUST(cai_pending_flush(gpu, nullptr));
  }
  check();
  if (usage_of(gpu).pending_count) blame("frees are left pending");
  for (const auto &judge : judges_) {
    judge->look_at_what_came_back();
    if (judge->is_alive() && judge->out()) blame("memory has not come back to its manager");
  }
  end_gpu();
  for (const Manager &manager : managers_) cai_manager_release(manager.handle);
  for (const Stream &stream : streams_) cai_stream_release(stream.handle);
  MUST(cai_drain(1, nullptr, nullptr));
  MUST(cai_pending_flush(gpu, nullptr));
  for (const auto &judge : judges_) {
    if (judge->made != judge->destroyed) blame("a manager has not ended, or twice");
  }
  for (const auto &owner : owners_) {
    if (owner->ended != 1) blame("an owner has ended " + std::to_string(owner->ended) + " times");
    if (!owner->is_untouched()) blame("an owner's memory is used after its end");
  }
  if (wide::cu().simcuda_races() != races_) blame("something races");
}

void World::run(const Program &program) {
  for (const Step &step : program) {
    const std::size_t which = step[0] % std::size(parties);
    if (speaks) {
      std::printf("%s %u %u %u %u\n", names[which], step[1], step[2], step[3], step[4]);
    }
    (this->*parties[which])(step);
    check();
    if (speaks) std::fflush(stdout);
    if (!wrong().empty()) return;
  }
  close();
}

void run(const Program &program) {
  // Where something is wrong it is not ended: nobody knows what is left.
  auto *const world = new World;
  world->run(program);
  if (!wrong().empty()) return;
  delete world;
  wide::cu().simcuda_forget();
}

Program draw(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Program program(6 + random() % 30);
  for (Step &step : program) {
    for (unsigned &number : step) number = static_cast<unsigned>(random() % 1000);
  }
  return program;
}

std::string text_of(const Program &program) {
  std::ostringstream out;
  for (const Step &step : program) {
    for (std::size_t i = 0; i < step.size(); ++i) out << (i ? "." : "") << step[i];
    out << ' ';
  }
  return out.str();
}

Program program_of(const std::string &text) {
  std::istringstream in(text);
  Program program;
  Step step;
  char dot;
  while (in >> step[0]) {
    for (std::size_t i = 1; i < step.size(); ++i) in >> dot >> step[i];
    program.push_back(step);
  }
  return program;
}

// ---- The program --------------------------------------------------------------------------------

// Runs this program again; a wait status.
int run_again(std::vector<std::string> arguments) {
  std::vector<char *> list;
  for (std::string &argument : arguments) list.push_back(argument.data());
  list.push_back(nullptr);
  std::fflush(nullptr);
  pid_t child = 0;
  MUST(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, list.data(), environ));
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

bool is_wrong(const Program &program) {
  return run_again({"lives", "try", text_of(program)}) != 0;
}

// Leaves out what a program is wrong without.
Program shrunk(Program program) {
  for (std::size_t length = program.size() / 2; length > 0; length /= 2) {
    for (std::size_t at = 0; at + length <= program.size();) {
      Program shorter = program;
      const auto begin = shorter.begin() + static_cast<std::ptrdiff_t>(at);
      shorter.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
      if (is_wrong(shorter)) {
        program = shorter;
      } else {
        at += length;
      }
    }
  }
  return program;
}

std::uint64_t running;  // its seed
void tell_and_die(int signal) {
  char text[96];
  const int length = std::snprintf(text, sizeof text, "lives: signal %d in seed %llu\n", signal,
                                   static_cast<unsigned long long>(running));
  static_cast<void>(!write(STDERR_FILENO, text, static_cast<std::size_t>(length)));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int explore(std::uint64_t count, std::uint64_t seed) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) std::signal(signal, tell_and_die);
  for (std::uint64_t i = 0; i < count; ++i) {
    running = seed * 1000000000 + i;
    run(draw(running));
    if (wrong().empty()) continue;
    std::printf("# seed %llu: %s\n", static_cast<unsigned long long>(running), wrong().c_str());
    return run_again({"lives", "shrink", std::to_string(running)}), 1;
  }
  return 0;
}

int main_of(const std::vector<std::string> &arguments) {
  MUST(wide::cu().cuInit(0));
  const std::string what = arguments.empty() ? "" : arguments[0];
  if (what == "random" && arguments.size() == 3) {
    std::printf("1..1\n");
    const int result = explore(std::stoull(arguments[1]), std::stoull(arguments[2]));
    std::printf("%s 1 - %s programs\n", result ? "not ok" : "ok", arguments[1].c_str());
    return result;
  }
  if (what == "shrink" && arguments.size() == 2) {
    const Program program = shrunk(draw(std::stoull(arguments[1])));
    run_again({"lives", "replay", text_of(program)});
    std::printf("# lives replay '%s'\n", text_of(program).c_str());
    return 0;
  }
  if ((what == "replay" || what == "try") && arguments.size() == 2) {
    speaks = what == "replay";
    run(program_of(arguments[1]));
    if (speaks) std::printf("%s\n", wrong().empty() ? "right" : wrong().c_str());
    return !wrong().empty();
  }
  std::fprintf(stderr, "usage: lives random COUNT SEED | shrink SEED | replay PROGRAM\n");
  return 2;
}

}  // namespace
}  // namespace lives

int main(int argc, char **argv) {
  return lives::main_of({argv + 1, argv + argc});
}
