// SPDX-License-Identifier: BSD-3-Clause
// A program's world: what libcai has made for it, and the model of it.
#pragma once

#include <cai/memory.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../wide/driver.hpp"
#include "../wide/fault.hpp"
#include "bystander.hpp"
#include "bytes.hpp"
#include "managers.hpp"
#include "must.h"
#include "peer.hpp"

namespace lives {

using Step = std::array<unsigned, 5>;
struct Program {
  std::uint64_t seed = 0;  // of the schedule, too, if that is random
  std::vector<Step> steps;
};

inline constexpr cai_device gpus[] = {{CAI_DEVICE_CUDA, 0}, {CAI_DEVICE_CUDA, 1}};
inline constexpr cai_device cpu{CAI_DEVICE_CPU, 0};
inline constexpr std::uint64_t limit = 400;
inline constexpr int unknown = -1;
inline constexpr std::size_t most = 8;            // of each kind of object
inline bool speaks = false;                       // says what each step does
inline thread_local bool is_in_function = false;  // on a stream of the GPU
inline bool has_bystander = false;                // another thread calls libcai, too

inline bool is_cpu(cai_device device) {
  return device.type == CAI_DEVICE_CPU;
}
inline bool are_same(cai_device a, cai_device b) {
  return a.type == b.type && a.id == b.id;
}
inline bool is_pinned(std::uint32_t kind) {
  return kind == CAI_KIND_PINNED || kind == CAI_KIND_MAPPED;
}

// ---- The model ----------------------------------------------------------------------------------

// Bytes as they were written last, or unknown.
using Bytes = std::vector<int>;

struct Memory;

// Foreign memory, of the host or the GPU, which ends once.
struct Owner {
  std::vector<unsigned char> bytes;
  wide::Address data = 0;   // of a GPU, or for it; 0: there is none, or not any more
  void *host = nullptr;     // of that, if it is pinned
  std::int32_t home = 0;    // which
  std::uint64_t epoch = 0;  // of that
  int ended = 0;
  bool lost = false;  // its references must not use it any more
  bool was_imported = false;
  const int process = getpid();
  std::weak_ptr<const Memory> found;  // on the GPU, that libcai made of an array of it

  static void end(void *self);
  // Who uses it after that is found out.
  void take_bytes();
  bool is_dead() const { return epoch != 0 && epoch != Judge::now[home]; }
  bool is_found() const;
  bool is_untouched() const {
    return std::all_of(bytes.begin(), bytes.end(),
                       [](unsigned char byte) { return byte == poison; });
  }
};

// Memory of the other process.
struct Lent {
  unsigned place = 0;  // there
  std::int32_t gpu = 0;
  bool is_of_pool = false;
  bool is_freed = false, has_ended = false;  // by its process, or with it
  std::shared_ptr<Bytes> bytes;
  unsigned user = nobody;  // the memory, of those that were opened, whose arrays were used last

  static constexpr unsigned nobody = 0, a_copy = 1, first = 2;
};

// A part of it that the other process has shared.
struct Offer {
  std::shared_ptr<Lent> of;
  std::uint64_t start = 0, stop = 0;
  Ticket ticket;
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
  std::int32_t home = 0;    // the GPU whose context it depends on
  std::uint64_t epoch = 0;  // of that; 0: outlives it
  bool is_counted = false, is_found = false, read_only = false, is_foreign = false;
  bool is_ordered = false;  // from a pool, in the order of a stream
  bool is_of_pool = false;  // the same, and libcai itself frees it before it destroys a context
  bool was_imported = false;
  bool freed = false;
  bool freed_by_reset = false;  // and not by a call since
  const Judge *judge = nullptr;
  const Owner *owner = nullptr;  // of an array that it was found by
  std::shared_ptr<Lent> lent;    // that was opened in place,
  unsigned opening = 0;          // and when: which of all that were

  const Memory &root() const { return whole ? *whole : *this; }
  bool is_dead() const { return root().epoch != 0 && root().epoch != Judge::now[home]; }
  bool is_lost() const { return root().owner && root().owner->lost; }
  bool is_alive() const { return !root().freed && !is_lost() && !is_dead(); }
  bool is_of_host() const { return kind == CAI_KIND_HOST || (is_cpu(device) && !epoch); }
};
using Shared = std::shared_ptr<Memory>;

inline bool Owner::is_found() const {
  const std::shared_ptr<const Memory> memory = found.lock();
  return memory && memory->holders > 0;
}

struct Array {
  cai_array *handle = nullptr;
  Shared memory;  // the root; empty: foreign memory
  std::shared_ptr<Bytes> bytes;
  std::uint64_t start = 0, count = 0;
  std::uint64_t mask_start = 0, mask_count = 0;  // in the same bytes; 0: there is no mask
  bool read_only = false;
  Owner *owner = nullptr;  // for foreign memory
  bool is_import = false;  // from a consumer that knows only the address

  // Its memory was freed, which its users have to know; or it is used through libcai's memory.
  bool is_barred() const {
    if (is_import && !is_alive()) return true;
    return owner && !memory && (owner->is_dead() || owner->is_found());
  }
  bool is_alive() const { return memory ? memory->is_alive() : !owner->lost; }
  bool is_of_host() const { return handle->device_type == CAI_DEVICE_CPU; }
  bool is_for_host() const { return is_of_host() || handle->device_type == CAI_DEVICE_CUDA_HOST; }
  // Whether host and GPU use it.
  bool is_of_two() const {
    const Owner *const foreign = memory ? memory->root().owner : owner;
    return (memory && is_pinned(memory->kind)) || (foreign && foreign->host);
  }
  cai_device gpu() const { return gpus[memory ? memory->home : owner->home]; }
};

// The program's own work on a stream of the CPU: reads an element when it runs, or sets them all.
struct Work {
  cai_array *array;
  Shared memory;
  std::int64_t at;
  int value;                // that is to be found, or set
  unsigned char *elements;  // that it sets; none: it reads
  unsigned pause;           // microseconds that it takes before
  unsigned char found = 0;
  cai_status status = CAI_OK;
  std::atomic<bool> is_done{false};

  static cai_status run(void *self, cai_error *error);
  static void end(void *self);
  // Memory that is freed meanwhile is refused.
  bool is_right(bool may_fail) const {
    if (status != CAI_OK) return may_fail || (status == CAI_ERR_STATE && !memory->is_alive());
    return elements || value == unknown || value == found;
  }
};

struct Stream {
  cai_stream *handle;
  cai_device device;
  std::uint32_t mode;
  bool is_dead = false;
};

struct Manager {
  Judge *judge;  // empty: only built-in ones
  cai_manager *handle;
  cai_device device;
  bool is_ordered = false;  // its memory of kind DEFAULT is stream-ordered, too
  bool limits = false, counts = false, tracks = false;

  bool fails() const { return judge && judge->fails(); }
  bool loses() const { return judge && judge->loses(); }
};

struct Sum {
  std::uint64_t bytes = 0, count = 0;
};

class World {
 public:
  explicit World(unsigned count_of_gpus);
  void run(const Program &program);

  // The first number of a step by the party of this name.
  static unsigned party(const char *name);
  // The party's name; and what else that number says: with 0 another thread calls meanwhile.
  static const char *name_of(const Step &step);
  static unsigned rest_of(const Step &step);
  static unsigned party(const char *name, unsigned rest);

 private:
  struct Party {
    const char *name;
    void (World::*act)(const Step &step);
    bool in_captures = false;  // others end the capture first
    bool alone = false;        // no other thread may call meanwhile
  };
  static const Party parties[];

  void allocate(const Step &step);
  void pin(const Step &step);
  void wrap(const Step &step);
  void own(const Step &step);
  void own_on_gpu(const Step &step);
  void own_pinned(const Step &step);
  void lose(const Step &step);
  void import(const Step &step);
  void view(const Step &step);
  void retain(const Step &step);
  void release(const Step &step);
  void free(const Step &step);
  void array(const Step &step);
  void masked(const Step &step);
  void memory_of(const Step &step);
  void drop(const Step &step);
  void fill(const Step &step);
  void copy(const Step &step);
  void read(const Step &step);
  void enqueue(const Step &step);
  void delay(const Step &step);
  void fail_behind(const Step &step);
  void compare(const Step &step);
  void hand_out(const Step &step);
  void await(const Step &step);
  void set_stream(const Step &step);
  void record(const Step &step);
  void defer(const Step &step);
  void flush(const Step &step);
  void trim(const Step &step);
  void install(const Step &step);
  void reset(const Step &step);
  void set_current(const Step &step);
  void find(const Step &step);
  void share(const Step &step);
  void open(const Step &step);
  void let_peer(const Step &step);
  void synchronize(const Step &step);
  void fork_here(const Step &step);
  void fail(const Step &step);
  void capture(const Step &step);

  void check();
  void check_works();
  void check_counts(const Manager &manager);
  void check_bytes();
  void check_bytes(const cai_array *array, const Bytes &bytes, std::uint64_t start);
  void close();
  // As cai_pending_flush(); a losing manager's answer about deferred memory is no failure.
  cai_status flush_all(cai_device gpu, cai_error *error) const;
  void let_go(Memory &memory);
  // The other process's memory.
  Offer *offer_for(const Step &step);
  Offer *lend(const Step &step);
  Offer *lend_part(const std::shared_ptr<Lent> &lent, const Step &step, Peer::Wish wish);
  bool is_open(const Lent &lent) const;
  const Memory *opened(const Lent &lent, cai_device device) const;
  struct Opening {
    std::shared_ptr<Lent> of;
    std::uint64_t start, stop;  // in that
    cai_ipc_handle handle;
    std::uint32_t how = CAI_OPEN_AUTO;
    cai_device device = cpu, on_gpu = gpus[0];
    Stream on{};
    Judge *judge = nullptr;  // that opens it
    cai_status expected = CAI_OK;

    bool is_staged() const { return how == CAI_OPEN_STAGED; }
  };
  Opening opening_of(const Step &step, const Offer &offer) const;
  void add_opened(cai_memory *handle, const Opening &it);
  void add_copy(cai_memory *handle, const Opening &it);
  void use_alone(Lent *lent, unsigned user);
  void use_alone(const Array &array) {
    if (array.memory) use_alone(array.memory->lent.get(), array.memory->opening);
  }
  void settle();
  void end_peer();
  void forget_peer();
  void end_array(const Step &step);
  void anywhere(const Step &step, const std::function<void()> &body);
  void sync_cpu();
  void finish_gpu(const Array &array);
  void finish_gpus();
  void end_capture();
  void hand_back();
  void free_pools(cai_device gpu);
  bool is_captured(const cai_stream *stream, cai_device device) const;
  std::uint64_t out_of(const Manager &manager);
  void make_gpu(cai_device gpu);
  Manager &add_manager(cai_device device, Way way, const char *upstream = nullptr);
  Manager &add_built_in(cai_device gpu, const char *name);
  static void put_around(Manager &manager, const char *name, const void *params = nullptr);
  void end_gpu(cai_device gpu);
  void count(const Memory &memory, int sign);
  void add(cai_memory *handle, Memory made);
  void add_array(const Shared &from, Array made, std::uint64_t start, std::uint64_t count);
  Owner &new_owner(unsigned size, unsigned value);
  Owner &new_owner_on(cai_device gpu, unsigned size, unsigned value);
  // Of which kind the memory is, where, and the stream that it comes with, or 0.
  void own(Owner &owner, const Step &step, std::int32_t type, std::uint64_t data,
           std::uint64_t said = 0);

  // Calls libcai, which is to say this. Whether it has done what it was asked for: a fault may have
  // struck.
  template <class Call>
  bool ask(const char *what, cai_status expected, Call &&call) {
    fault_.arm();
    return judge_call(what, expected, call);
  }
  // The same if none may.
  template <class Call>
  bool must(const char *what, cai_status expected, Call &&call) {
    wide::Fault none;
    fault_.swap(none);
    const bool done = judge_call(what, expected, call);
    fault_.swap(none);
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

  // Half of all steps are about what the one before was about.
  template <class Of, class BytesOf>
  Of *choose(std::vector<Of> &all, unsigned which, BytesOf bytes_of) {
    if (all.empty()) return nullptr;
    Of *found = &all[which / 2 % all.size()];
    for (std::size_t i = 0; which % 2 && i < all.size() && bytes_of(*found) != last_; ++i) {
      found = &all[(which / 2 + i) % all.size()];
    }
    last_ = bytes_of(*found);
    return found;
  }
  Shared memory(unsigned which) {
    const Shared *const found =
        choose(memories_, which, [](const Shared &each) { return each->bytes; });
    return found ? *found : nullptr;
  }
  // A consumer that imports memory is not told when it is freed, nor is libcai when a context is
  // destroyed with memory of others. Neither is used any more.
  Array *array(unsigned which) {
    Array *const found = choose(arrays_, which, [](const Array &each) { return each.bytes; });
    if (!found || found->is_barred()) return nullptr;
    use_alone(*found);
    return found;
  }
  const Manager *installed(cai_device gpu) const {
    const auto found = std::find_if(managers_.begin(), managers_.end(), [&](const Manager &each) {
      return each.handle == installed_[gpu.id];
    });
    return found == managers_.end() ? nullptr : &*found;
  }
  cai_stream *stream(cai_device device, unsigned which) const {
    for (;; ++which) {
      const Stream &found = streams_[which % streams_.size()];
      if (are_same(found.device, device)) return found.handle;
    }
  }
  // One in eight was ended by a reset, if there is any such.
  Stream stream_or_dead(cai_device device, unsigned which) const {
    if (which % 8 == 0 && !ended_.empty()) {
      const Stream &found = ended_[which / 8 % ended_.size()];
      if (are_same(found.device, device)) return found;
    }
    return {stream(device, which), device, 0};
  }
  // Half of them are the stream that the array came with.
  Stream stream_for(const Array &array, cai_device device, unsigned which) const {
    for (const Stream &each : streams_) {
      const bool is_own = cai_stream_value(each.handle) == array.handle->stream;
      if (which / 64 % 2 && is_own && are_same(each.device, device)) return each;
    }
    return stream_or_dead(device, which);
  }
  cai_device gpu(unsigned which) const { return gpus[which % count_of_gpus_]; }
  cai_device device(unsigned which) const { return which % 3 ? gpu(which / 3) : cpu; }

  std::unique_ptr<Bystander> bystander_;

  static World *only;
  static void hear(void *, const cai_error *error);

  std::vector<Shared> memories_;
  std::shared_ptr<Bytes> last_;  // that a step was about
  std::vector<Array> arrays_;
  std::vector<Stream> streams_;
  std::vector<Stream> ended_;  // by a reset
  std::vector<Manager> managers_;
  std::vector<std::unique_ptr<Judge>> judges_;
  std::vector<std::unique_ptr<Owner>> owners_;
  std::vector<std::unique_ptr<Work>> works_;
  std::vector<Offer> offers_;
  unsigned openings_ = Lent::first;
  const unsigned count_of_gpus_;
  std::int32_t current_ = 0;           // GPU of this thread
  Sum sums_[3];                        // of the CPU, and of the GPUs
  cai_manager *installed_[2] = {};     // of the GPUs; none: the default one
  cai_stream *captured_ = nullptr;     // a GPU's
  bool has_put_off_ = false;           // frees, in a capture or a function
  bool hands_back_later_ = false;      // memory of another library's array, in a capture
  std::atomic<bool> may_fail_{false};  // hear() runs on the threads of CPU streams, too
  unsigned deferred_[2] = {};          // of the GPUs
  wide::Fault fault_;
  std::uint64_t races_ = 0;
  std::uint64_t findings_ = 0;
  std::uint64_t allocations_ = 0;  // of the driver's, that are nobody's any more
  std::uint64_t pools_ = 0;        // likewise
  bool counts_allocations_ = true;
};

// Who has memory of its own on the GPU calls the driver with the context of that current.
template <class Body>
void in_primary(std::int32_t ordinal, const Body &body) {
  wide::Handle before = nullptr, context = nullptr;
  MUST(wide::cu().cuCtxGetCurrent(&before));
  MUST(wide::cu().cuDevicePrimaryCtxRetain(&context, ordinal));
  MUST(wide::cu().cuCtxSetCurrent(context));
  body();
  MUST(wide::cu().cuCtxSetCurrent(before));
  MUST(wide::cu().cuDevicePrimaryCtxRelease_v2(ordinal));
}

cai_usage usage_of(cai_device device);
cai_memory_info info_of(const cai_memory *memory);

}  // namespace lives
