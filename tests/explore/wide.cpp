// SPDX-License-Identifier: BSD-3-Clause
// Explores widely: random programs of parties that follow the rules of cai.h, with all that the
// model does not know (captures, graphs, several arrays, views, orders, ends of other kinds,
// streams that go), and simcuda as the judge. A program is right if
//
// - nothing races, the memory's reuse after the release among it;
// - every owner ends once, and none is left;
// - every capture ends well;
// - libcai refuses with CAI_ERR_CAPTURE and CAI_ERR_ORDER only, and nothing once all captures have
//   ended;
// - the host waits only where that is asked for.
//
//   wide random COUNT SEED   COUNT programs
//   wide replay FILE         the programs of a file, a line of numbers each
//
// A step is six numbers; what they mean depends on what there is by then, and one that the rules
// forbid by then is left out. So every part of a program is a program, which makes shrinking easy.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cai.h"
#include "must.h"

namespace {

// ---- The driver ---------------------------------------------------------------------------------

using Handle = void *;
using Address = std::uint64_t;

#define FUNCTIONS(F)                                                        \
  F(cuInit, int, unsigned)                                                  \
  F(cuDevicePrimaryCtxRetain, int, Handle *, int)                           \
  F(cuCtxSetCurrent, int, Handle)                                           \
  F(cuCtxSynchronize, int)                                                  \
  F(cuMemAlloc_v2, int, Address *, std::size_t)                             \
  F(cuMemsetD8Async, int, Address, unsigned char, std::size_t, Handle)      \
  F(cuMemcpyDtoDAsync_v2, int, Address, Address, std::size_t, Handle)       \
  F(cuStreamWaitEvent, int, Handle, Handle, unsigned)                       \
  F(cuEventCreate, int, Handle *, unsigned)                                 \
  F(cuEventRecord, int, Handle, Handle)                                     \
  F(cuEventDestroy_v2, int, Handle)                                         \
  F(cuStreamCreate, int, Handle *, unsigned)                                \
  F(cuStreamDestroy_v2, int, Handle)                                        \
  F(cuStreamSynchronize, int, Handle)                                       \
  F(cuStreamIsCapturing, int, Handle, int *)                                \
  F(cuStreamBeginCapture_v2, int, Handle, int)                              \
  F(cuStreamEndCapture, int, Handle, Handle *)                              \
  F(cuThreadExchangeStreamCaptureMode, int, int *)                          \
  F(cuGraphInstantiateWithFlags, int, Handle *, Handle, unsigned long long) \
  F(cuGraphLaunch, int, Handle, Handle)                                     \
  F(cuGraphExecDestroy, int, Handle)                                        \
  F(cuGraphDestroy, int, Handle)                                            \
  F(simcuda_calls, std::uint64_t, const char *)                             \
  F(simcuda_races, std::uint64_t)                                           \
  F(simcuda_forget, void)

struct Driver {
#define MEMBER(name, result, ...) result (*name)(__VA_ARGS__) = nullptr;
  FUNCTIONS(MEMBER)
#undef MEMBER

  Driver() {
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    MUST_HOLD(library);
#define FIND(name, result, ...)                                            \
  name = reinterpret_cast<result (*)(__VA_ARGS__)>(dlsym(library, #name)); \
  MUST_HOLD(name);
    FUNCTIONS(FIND)
#undef FIND
  }
};

Driver &cu() {
  static Driver driver;
  return driver;
}

constexpr int kRelaxed = 2;
constexpr unsigned kNonBlocking = 1;

// How often the host has waited for work.
std::uint64_t host_waits() {
  return cu().simcuda_calls("cuStreamSynchronize") + cu().simcuda_calls("cuEventSynchronize") +
         cu().simcuda_calls("cuCtxSynchronize");
}

// ---- What stays from program to program ---------------------------------------------------------

enum { kLegacy, kPerThread, kFirstHandle, kStreams = 8 };  // two blocking, four non-blocking
constexpr bool is_blocking(int stream) {
  return stream >= kPerThread && stream < kFirstHandle + 2;
}
constexpr int kBlocks = 3;
constexpr std::size_t kBytes = 2;  // and as many for a mask
constexpr int kSteps = 24;
constexpr const char *kStreamNames[kStreams] = {"1", "2", "B1", "B2", "N1", "N2", "N3", "N4"};

struct Machine {
  Handle streams[kStreams];
  Handle free_stream = nullptr;  // on which memory is written once it is free
  Address blocks[kBlocks];
  Address scratch = 0;

  Machine() {
    Handle context = nullptr;
    MUST(cu().cuInit(0));
    MUST(cu().cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cu().cuCtxSetCurrent(context));
    streams[kLegacy] = reinterpret_cast<Handle>(1);
    streams[kPerThread] = reinterpret_cast<Handle>(2);
    for (int i = kFirstHandle; i < kStreams; ++i) make_stream(i);
    MUST(cu().cuStreamCreate(&free_stream, kNonBlocking));
    for (Address &block : blocks) MUST(cu().cuMemAlloc_v2(&block, 2 * kBytes));
    MUST(cu().cuMemAlloc_v2(&scratch, 4096));
  }
  void make_stream(int i) {
    MUST(cu().cuStreamCreate(&streams[i], is_blocking(i) ? 0 : kNonBlocking));
  }
  std::uint64_t value(int stream) const {
    return reinterpret_cast<std::uintptr_t>(streams[stream]);
  }
};

Machine &machine() {
  static Machine made;
  return made;
}

std::int32_t provide(void *context, const cai_array *array, std::uint64_t *stream);

// ---- A program ----------------------------------------------------------------------------------

using Step = std::array<unsigned, 6>;
using Program = std::vector<Step>;

enum Op : unsigned {
  kMake,
  kBegin,
  kEnd,
  kFinish,
  kAbandon,
  kProduce,
  kPublish,
  kPublishEvent,
  kView,
  kRelease,
  kReleaseOn,
  kSame,
  kSyncHost,
  kDrain,
  kPending,
  kCapture,
  kJoin,
  kEndCapture,
  kLaunch,
  kReplaceStream,
  kOps
};
// What is drawn more often than the rest stands here more often.
constexpr Op kDrawn[] = {
    kMake,       kMake,     kBegin,  kBegin,         kBegin,   kBegin,   kBegin,
    kEnd,        kEnd,      kEnd,    kEnd,           kFinish,  kAbandon, kProduce,
    kProduce,    kPublish,  kView,   kPublishEvent,  kRelease, kRelease, kReleaseOn,
    kSame,       kSyncHost, kDrain,  kPending,       kCapture, kCapture, kEndCapture,
    kEndCapture, kJoin,     kLaunch, kReplaceStream, kPending};

enum Keeper : unsigned {
  kPlain,
  kReclaims,
  kStreamOrdered,
  kImported,
  kTold,   // with a used_on that does no more than libcai's, which libcai cannot know
  kOwn,    // a block of the producer's own, whose uses libcai keeps
  kAlone,  // the same, but that it keeps them by functions of its own
  kKeepers
};
constexpr const char *kKeeperNames[kKeepers] = {"plain",
                                                "RECLAIMS",
                                                "STREAM_ORDERED",
                                                "IMPORTED",
                                                "with its own used_on",
                                                "of the producer's",
                                                "of the producer's, with functions of its own"};

// A producer's own block.
struct OwnBlock {
  cai_owner owner;
  cai_owner kept;  // kAlone: libcai's, behind the producer's functions
  int holders;
  int block;

  static OwnBlock *of(cai_owner *owner) { return reinterpret_cast<OwnBlock *>(owner); }
  static void retain(cai_owner *owner) { ++of(owner)->holders; }
  static void release(cai_owner *owner);
  static void end(cai_owner *owner);
};

// Memory, and the owner of it.
struct Block {
  bool alive = false;
  Keeper keeper = kPlain;
  int freed_on = -1;             // the stream whose order the release keeps; -1: none
  bool copied = false;           // arrays were published
  bool lost = false;             // and not to be had again
  bool is_unknown = false;       // what an abandoned use has pending
  unsigned told = 0;             // streams that same_stream() named
  unsigned pending = 0;          // streams with work of the producer's that no array says
  std::vector<Handle> own_work;  // events after the producer's work, which only it knows of
  bool is_masked = false;        // by what is behind the memory, and read with it
  int unstated = -1;             // the stream that a provider says
  cai_array mask;
};

struct Array {
  bool there = false;
  int block = 0;
  bool is_copy = false;  // of the struct
  int said = -1;         // the stream; -1: none, or an event
  bool of_event = false;
  int graphs = 0;  // that touch it
  cai_array copy;
  cai_array *array = nullptr;
};

struct Use {
  bool open = false;
  cai_use use;
  int stream = 0;
  std::uint32_t order = 0;
  std::vector<int> arrays;
  std::vector<std::uint32_t> accesses;
  bool is_forked = false;  // into a capture that had begun on another stream
};

struct Capture {
  bool on = false;
  int stream = 0;
  std::vector<int> touched;
  std::vector<int> joined;  // streams, by events of the party's own

  bool has(int other) const {
    return on &&
           (stream == other || std::find(joined.begin(), joined.end(), other) != joined.end());
  }
};

struct Graph {
  Handle graph = nullptr, runnable = nullptr;
  std::vector<int> touched;
};

class World;
World *world;  // for the functions that libcai calls

class World {
 public:
  explicit World(bool tells) : tells_(tells) {
    world = this;
    races_ = cu().simcuda_races();
  }

  // What is wrong with the program; empty if nothing is.
  std::string run(const Program &program) {
    for (const Step &step : program) {
      take(step);
      check();
      if (!problem_.empty()) break;
    }
    close();
    check();
    for (const Handle event : events_) MUST(cu().cuEventDestroy_v2(event));
    cu().simcuda_forget();
    return problem_;
  }

  // What a provider says of an array that states no stream.
  std::int32_t provide(const cai_array *array, std::uint64_t *stream) const {
    for (int b = 0; b < kBlocks; ++b) {
      if (machine().blocks[b] != array->data || blocks_[b].unstated < 0) continue;
      *stream = machine().value(blocks_[b].unstated);
      return 1;
    }
    return 0;
  }

  void freed(int block) {
    Block &it = blocks_[block];
    if (!it.alive) return fail("an owner ended twice");
    it.alive = false;
    // As cuMemFree would: not in a capture that forbids it. One's own release is one's own affair.
    int mode = kRelaxed;
    if (releases_) MUST(cu().cuThreadExchangeStreamCaptureMode(&mode));
    const Handle stream = it.freed_on < 0 ? machine().free_stream : machine().streams[it.freed_on];
    if (it.freed_on >= 0 && is_capturing(it.freed_on)) {
      // An exporter of its own may do as it likes with what nobody keeps a use of.
      if (!releases_ || it.keeper != kImported) fail("the memory is freed in a capture");
      it.lost = true;
      return;
    }
    for (const Handle event : it.own_work) MUST(cu().cuStreamWaitEvent(stream, event, 0));
    if (cu().cuMemsetD8Async(machine().blocks[block], 0, 2 * kBytes, stream)) {
      fail("the memory could not be freed");
    }
    if (it.freed_on < 0 && cu().cuStreamSynchronize(stream)) fail("a free ruined a capture");
    if (it.freed_on >= 0) freed_[block] = {event_after(stream)};
    ++waits_of_frees_;
    if (releases_) MUST(cu().cuThreadExchangeStreamCaptureMode(&mode));
  }

 private:
  // ---- What a step does ----

  void take(const Step &step) {
    const Op op = kDrawn[step[0] % std::size(kDrawn)];
    switch (op) {
      case kMake:
        return make(step);
      case kBegin:
        return begin(step);
      case kEnd:
      case kFinish:
      case kAbandon:
        return end(op, step);
      case kProduce:
        return produce(step);
      case kPublish:
        return publish_copy(step, false);
      case kPublishEvent:
        return publish_copy(step, true);
      case kView:
        return view(step);
      case kRelease:
        return release(step);
      case kReleaseOn:
        return release_on(step);
      case kSame:
        return same_stream(step);
      case kSyncHost:
        return sync_host(step);
      case kDrain:
        say("cai_drain(0)");
        return quietly([&] { expect(cai_drain(0, nullptr, &error_)); });
      case kPending:
        return ask_pending(step);
      case kCapture:
        return begin_capture(step);
      case kJoin:
        return join(step);
      case kEndCapture:
        return end_capture(step[1]);
      case kLaunch:
        return launch(step);
      default:
        return replace_stream(step);
    }
  }

  // A new array of a block that is free: written on a stream, which it says, or None.
  void make(const Step &step) {
    const int b = static_cast<int>(step[1] % kBlocks);
    const int stream = static_cast<int>(step[2] % kStreams);
    Array *const array = free_array();
    if (blocks_[b].alive || blocks_[b].lost || !array || !may_work(stream) || is_capturing(stream))
      return;
    const auto keeper = static_cast<Keeper>(step[3] % kKeepers);
    const bool none = step[4] % 3 == 0 && keeper != kStreamOrdered;
    say("array %d: block %d, %s, written on %s, says %s", number_of(array), b, kKeeperNames[keeper],
        kStreamNames[stream], none ? "None" : "that");
    Block &block = blocks_[b] = Block{};
    block.alive = true;
    block.keeper = keeper;
    if (keeper == kStreamOrdered) block.freed_on = stream;
    for (const Handle event : std::exchange(freed_[b], {})) {
      MUST(cu().cuStreamWaitEvent(machine().streams[stream], event, 0));
    }
    queue(b, stream, true);
    note_own_work(b, stream);
    if (none) MUST_HOLD(wait_for(stream));
    // A mask comes with a stream of its own; memory that is freed on one stream has none.
    const int of_mask = kFirstHandle + 2 + static_cast<int>(step[5] % 4);
    const bool may_be_masked = keeper != kStreamOrdered && keeper != kImported;
    if (step[5] / 4 % 3 == 0 && may_be_masked && !is_capturing(of_mask)) {
      say("  with a mask, written on %s", kStreamNames[of_mask]);
      follow(of_mask, stream);  // and so after the memory was freed
      MUST(cu().cuMemsetD8Async(machine().blocks[b] + kBytes, 1, kBytes,
                                machine().streams[of_mask]));
      note_own_work(b, of_mask);
      block.is_masked = true;
      block.mask = describe(machine().blocks[b] + kBytes, of_mask);
      block.told |= 1U << of_mask;  // the stream lives as long
    }
    if (!none && step[4] / 3 % 3 == 0) block.unstated = stream;
    own(array, b, none ? -1 : stream);
    if (keeper == kImported && !none) block.freed_on = stream;
  }

  void own(Array *array, int b, int said) {
    Block &block = blocks_[b];
    cai_array borrowed = describe(machine().blocks[b], said);
    if (block.unstated >= 0) {
      borrowed.stream = 0;
      borrowed.stream_kind = CAI_STREAM_UNSTATED;
      borrowed.version = 2;
    }
    if (block.is_masked) {
      borrowed.mask = &block.mask;
      borrowed.flags |= CAI_FLAG_MASKED;
    }
    *array = Array{};
    array->there = true;
    array->block = b;
    array->said = said;
    if (block.keeper == kOwn || block.keeper == kAlone) {
      array->is_copy = true;
      array->copy = borrowed;
      array->copy.owner = block.mask.owner = make_owner(b, said);
      return;
    }
    const auto end = [](void *freed) {
      world->freed(static_cast<int>(reinterpret_cast<std::intptr_t>(freed)));
    };
    void *const context = reinterpret_cast<void *>(static_cast<std::intptr_t>(b));
    MUST(cai_array_own(&borrowed, end, context, &array->array, &error_));
    cai_owner *const owner = array->array->owner;
    constexpr std::uint32_t flags[kKeepers] = {0, CAI_OWNER_RECLAIMS, CAI_OWNER_STREAM_ORDERED,
                                               CAI_OWNER_IMPORTED};
    owner->flags |= flags[block.keeper];
    if (block.keeper == kStreamOrdered) {
      owner->freed_on = machine().value(said);
      if (said == kPerThread) owner->thread = cai_this_thread();
    }
    if (block.keeper != kTold) return;
    owner->used_on = [](cai_owner *self, std::uint64_t stream, std::uint32_t access,
                        cai_error *error) {
      return cai_owner_used_on(self, stream, access, error);
    };
  }

  cai_owner *make_owner(int b, int said) {
    auto *const made = new OwnBlock{{}, {}, 1, b};
    MUST(cai_owner_init(&made->owner, OwnBlock::retain, OwnBlock::release, &error_));
    if (said == kPerThread) made->owner.thread = cai_this_thread();
    if (blocks_[b].keeper == kOwn) return &made->owner;
    MUST(cai_owner_init(&made->kept, OwnBlock::retain, OwnBlock::release, &error_));
    made->owner.used_on = [](cai_owner *self, std::uint64_t stream, std::uint32_t access,
                             cai_error *error) {
      return cai_owner_used_on(&OwnBlock::of(self)->kept, stream, access, error);
    };
    made->owner.await_uses = [](cai_owner *self, std::uint64_t stream, std::uint32_t access,
                                cai_error *error) {
      return cai_owner_await_uses(&OwnBlock::of(self)->kept, stream, access, error);
    };
    return &made->owner;
  }

  static cai_array describe(Address data, int said) {
    static std::int64_t shape[1] = {kBytes}, strides[1] = {1};
    return {
        .abi_major = CAI_ABI_MAJOR,
        .abi_minor = CAI_ABI_MINOR,
        .flags = 0,
        .owner = nullptr,
        .data = data,
        .device_type = CAI_DEVICE_CUDA,
        .device_id = -1,
        .dtype = {'u', '|', 0, 0, 1, 0},
        .ndim = 1,
        .shape = shape,
        .strides = strides,
        .stream = said < 0 ? 0 : machine().value(said),
        .stream_kind = static_cast<std::uint32_t>(said < 0 ? CAI_STREAM_NONE : CAI_STREAM_STREAM),
        .version = 3,
        .mask = nullptr,
        .descr = nullptr,
        .typestr = nullptr,
        .descr_count = 0,
        .reserved0 = 0,
        .reserved1 = 0,
        .reserved2 = 0};
  }

  void begin(const Step &step) {
    Use *const use = free_use();
    const int stream = static_cast<int>(step[1] % kStreams);
    if (!use || !may_work(stream) || is_forked(stream)) return;
    std::vector<int> arrays = some_arrays(step[2], 1 + static_cast<int>(step[3] % 3));
    std::vector<std::uint32_t> accesses;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      accesses.push_back(step[4] >> i & 1 ? CAI_ACCESS_WRITE : CAI_ACCESS_READ);
      if (conflicts(arrays[i], accesses.back() == CAI_ACCESS_WRITE)) return;
      // A stream that was taken into a capture is for that use alone, and so are its arrays.
      const int said = arrays_[arrays[i]].said;
      if (said >= 0 && said != stream && is_forked(said)) return;
      const unsigned told = blocks_[arrays_[arrays[i]].block].told;
      for (int other = 0; other < kStreams; ++other) {
        if ((told >> other & 1) && other != stream && is_forked(other)) return;
      }
    }
    if (arrays.empty()) return;
    constexpr std::uint32_t orders[] = {CAI_ORDER_BOTH, CAI_ORDER_BOTH, CAI_ORDER_BOTH,
                                        CAI_ORDER_BOTH, CAI_ORDER_HOST};
    constexpr std::uint32_t flags[] = {0, 0, 0, CAI_USE_EXTERNAL, CAI_USE_FORK};
    const std::uint32_t order = orders[step[5] % 5];
    const cai_use_options options{sizeof options, order, CAI_ACCESS_DEFAULT, flags[step[5] / 5 % 5],
                                  accesses.data()};
    std::vector<const cai_array *> list;
    std::string names;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      list.push_back(pointer(arrays[i]));
      names += " " + std::to_string(arrays[i]) +
               (accesses[i] == CAI_ACCESS_WRITE ? " written" : " read");
    }
    const bool was_capturing = is_capturing(stream);
    say("use %d on %s, order %u, flags %u: arrays%s", static_cast<int>(use - uses_),
        kStreamNames[stream], order, options.flags, names.c_str());
    cai_status status = CAI_OK;
    const auto call = [&] {
      status = cai_use_begin(&use->use, list.data(), static_cast<std::int32_t>(list.size()),
                             machine().value(stream), &options, &error_);
    };
    order == CAI_ORDER_HOST ? call() : quietly(call);
    if (!is_taken(status)) return;
    use->open = true;
    use->stream = stream;
    use->order = order;
    use->arrays = arrays;
    use->accesses = accesses;
    use->is_forked = !was_capturing && is_capturing(stream);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      touch(arrays[i], stream, accesses[i] == CAI_ACCESS_WRITE);
    }
  }

  void end(Op op, const Step &step) {
    Use *const use = open_use(step[1]);
    if (!use) return;
    end_use(*use, op, step[2] % 2);
  }

  void end_use(Use &use, Op op, bool waits) {
    const int number = static_cast<int>(&use - uses_);
    if (op == kAbandon) {
      say("cai_use_abandon: use %d", number);
      // Where no event can be recorded, nobody hears of the work until the host has waited.
      if (is_capturing(use.stream)) {
        for (const int array : use.arrays) blocks_[arrays_[array].block].is_unknown = true;
      }
      quietly([&] { cai_use_abandon(&use.use); });
      // It orders nothing for the producers, who hear of it by the owner alone.
      for (const int array : use.arrays) blocks_[arrays_[array].block].copied = true;
      use.open = false;
      return;
    }
    if (op == kFinish && (!waits || is_capturing(use.stream))) op = kEnd;  // the work is pending
    cai_status status = CAI_OK;
    if (op == kFinish) {
      say("cai_use_finish: use %d, the host waits", number);
      status = cai_use_finish(&use.use, 1, &error_);
    } else {
      say("cai_use_end: use %d", number);
      const auto call = [&] { status = cai_use_end(&use.use, &error_); };
      use.order == CAI_ORDER_HOST ? call() : quietly(call);
    }
    if (is_taken(status)) use.open = false;
    use.is_forked = false;  // it has been joined back, whatever else could not be done
  }

  // The producer's own work on a stream, and what the rules ask for before and after it.
  void produce(const Step &step) {
    const int number = some_array(step[1]);
    const int stream = static_cast<int>(step[2] % kStreams);
    const bool writes = step[3] % 2;
    if (number < 0 || !may_work(stream) || is_forked(stream)) return;
    Array &array = arrays_[number];
    Block &block = blocks_[array.block];
    if (block.keeper == kImported || conflicts(number, writes)) return;
    const bool on_its_own = array.said == stream;
    Array *const again = on_its_own && !block.copied ? nullptr : free_array();
    if (!again && !(on_its_own && !block.copied)) return;
    if (is_capturing(stream) && again) return;  // what it publishes would not be pending
    if (!on_its_own || block.copied || block.keeper == kReclaims) {
      say("cai_array_reclaim: array %d, %s", number, kStreamNames[stream]);
      cai_status status = CAI_OK;
      quietly([&] {
        status = cai_array_reclaim(pointer(number), machine().value(stream),
                                   writes ? CAI_ACCESS_WRITE : CAI_ACCESS_READ, &error_);
      });
      if (!is_taken(status)) return;
    }
    say("the producer %s array %d on %s", writes ? "writes" : "reads", number,
        kStreamNames[stream]);
    touch(number, stream, writes, false);
    if (!is_capturing(stream)) note_own_work(array.block, stream);
    if (!again) return;
    block.pending |= 1U << stream;
    publish(number, again, array.said < 0 ? stream : array.said, array.of_event);
  }

  void publish_copy(const Step &step, bool as_event) {
    const int number = some_array(step[1]);
    const int target = static_cast<int>(step[2] % kStreams);
    Array *const copy = free_array();
    if (number < 0 || !copy || !may_work(target) || is_capturing(target) || is_forked(target)) {
      return;
    }
    const Keeper keeper = blocks_[arrays_[number].block].keeper;
    if (keeper == kImported || (as_event && (keeper == kTold || keeper == kAlone))) return;
    publish(number, copy, target, as_event);
  }

  void publish(int number, Array *copy, int target, bool as_event) {
    const Array &array = arrays_[number];
    Block &block = blocks_[array.block];
    std::vector<std::uint64_t> streams;
    for (int i = 0; i < kStreams; ++i) {
      if (block.pending >> i & 1) streams.push_back(machine().value(i));
    }
    *copy = array;
    copy->graphs = 0;
    copy->is_copy = true;
    copy->array = nullptr;
    copy->copy = *pointer(number);
    cai_status status = CAI_OK;
    const auto all = static_cast<std::int32_t>(streams.size());
    say("array %d: a copy of array %d is published %s %s, streams %x", number_of(copy), number,
        as_event ? "as an event of" : "on", kStreamNames[target], block.pending);
    if (as_event) {
      quietly([&] {
        if (all) {
          status =
              cai_array_publish(&copy->copy, streams.data(), all, machine().value(target), &error_);
        }
        if (status == CAI_OK) {
          status = cai_array_publish_event(&copy->copy, machine().value(target), &error_);
        }
      });
    } else {
      quietly([&] {
        status =
            cai_array_publish(&copy->copy, streams.data(), all, machine().value(target), &error_);
      });
    }
    copy->there = false;
    if (!is_taken(status)) return;
    copy->there = true;
    cai_array_retain(&copy->copy);
    copy->said = as_event ? -1 : target;
    copy->of_event = as_event;
    block.copied = true;
    block.pending = 0;
  }

  void view(const Step &step) {
    const int number = some_array(step[1]);
    Array *const array = free_array();
    if (number < 0 || !array) return;
    *array = arrays_[number];
    array->graphs = 0;
    array->is_copy = false;
    array->array = nullptr;
    array->there = false;
    const cai_status status = cai_array_slice(pointer(number), nullptr, 0, &array->array, &error_);
    MUST(status);
    array->there = true;
    say("array %d: a view of array %d", number_of(array), number);
  }

  void release(const Step &step) {
    const int number = some_array(step[1]);
    if (number < 0 || is_in_use(number) || arrays_[number].graphs) return;
    if (blocks_[arrays_[number].block].pending) return;  // the producer's own affair
    let_go(number);
  }

  void let_go(int number) {
    say("array %d is released", number);
    releases_ = true;
    const cai_array *const array = pointer(number);
    arrays_[number].there = false;
    quietly([&] { cai_array_release(array); });
    releases_ = false;
  }

  // A consumer that does not end its use: begins, works, and lets go by the stream.
  void release_on(const Step &step) {
    const int number = some_array(step[1]);
    const int stream = static_cast<int>(step[2] % kStreams);
    if (number < 0 || !may_work(stream) || is_forked(stream) || is_in_use(number)) return;
    if (arrays_[number].graphs || blocks_[arrays_[number].block].pending) return;
    if (conflicts(number, true) || is_capturing(stream)) return;
    const cai_array *const array = pointer(number);
    const cai_use_options options{sizeof options, CAI_ORDER_BEGIN, CAI_ACCESS_WRITE, 0, nullptr};
    cai_use use;
    cai_status status = CAI_OK;
    say("array %d is used on %s, and released there", number, kStreamNames[stream]);
    quietly([&] {
      status = cai_use_begin(&use, &array, 1, machine().value(stream), &options, &error_);
    });
    if (!is_taken(status)) return;
    touch(number, stream, true);
    quietly([&] { status = cai_array_release_on(array, machine().value(stream), &error_); });
    if (status == CAI_ERR_CAPTURE) {  // it is refused before anything is done: so it is ended later
      cai_use_options later = options;
      later.order = CAI_ORDER_END;
      Use *const open = free_use();
      if (!open) return fail("no use left");
      MUST(cai_use_begin(&open->use, &array, 1, machine().value(stream), &later, &error_));
      open->open = true;
      open->stream = stream;
      open->order = CAI_ORDER_BOTH;
      open->arrays = {number};
      open->accesses = {CAI_ACCESS_WRITE};
      open->is_forked = false;
      return;
    }
    if (is_taken(status)) arrays_[number].there = false;
  }

  void same_stream(const Step &step) {
    const std::vector<int> arrays = some_arrays(step[1], 1 + static_cast<int>(step[2] % 2));
    if (arrays.empty()) return;
    std::vector<const cai_array *> list;
    for (const int number : arrays) {
      if (conflicts(number, true)) return;
      list.push_back(pointer(number));
    }
    std::uint64_t out = 0;
    cai_status status = CAI_OK;
    say("cai_arrays_same_stream: array %d and %zu more", arrays[0], arrays.size() - 1);
    quietly([&] {
      status = cai_arrays_same_stream(list.data(), static_cast<std::int32_t>(list.size()), &out,
                                      &error_);
    });
    if (!is_taken(status) || out == 0) return;
    for (int i = 0; i < kStreams; ++i) {
      if (machine().value(i) != out || !may_work(i) || is_forked(i)) continue;
      for (const int number : arrays) {
        touch(number, i, step[3] % 2);
        blocks_[arrays_[number].block].told |= 1U << i;
      }
    }
  }

  void sync_host(const Step &step) {
    const int number = some_array(step[1]);
    if (number < 0) return;
    say("cai_array_sync_host: array %d", number);
    static_cast<void>(is_taken(cai_array_sync_host(pointer(number), &error_)));
  }

  void ask_pending(const Step &step) {
    const int number = some_array(step[1]);
    if (number < 0) return;
    std::int64_t left = 0;
    say("cai_owner_pending: array %d", number);
    quietly([&] {
      expect(cai_owner_pending(pointer(number)->owner, static_cast<std::int32_t>(step[2] % 2),
                               &left, &error_));
    });
  }

  void begin_capture(const Step &step) {
    const int stream = kPerThread + static_cast<int>(step[1] % (kStreams - kPerThread));
    Capture *const capture = free_capture();
    if (!capture || is_capturing(stream) || is_forked(stream)) return;
    const int mode = static_cast<int>(step[2] % 3);
    say("a capture begins on %s, mode %d", kStreamNames[stream], mode);
    MUST(cu().cuStreamBeginCapture_v2(machine().streams[stream], mode));
    *capture = {true, stream, {}, {}};
  }

  // Another stream joins a capture, as whoever captures may let it; it is joined back at the end.
  void join(const Step &step) {
    const int stream = kPerThread + static_cast<int>(step[1] % (kStreams - kPerThread));
    Capture &capture = capturing_[step[2] % 2];
    if (!capture.on || is_capturing(stream)) return;
    for (const Use &use : uses_) {
      if (use.open && use.stream == stream) return;
    }
    say("%s joins the capture on %s", kStreamNames[stream], kStreamNames[capture.stream]);
    follow(stream, capture.stream);
    capture.joined.push_back(stream);
  }

  void follow(int stream, int other) {
    const Handle event = event_after(machine().streams[other]);
    MUST(cu().cuStreamWaitEvent(machine().streams[stream], event, 0));
  }

  void end_capture(unsigned which) {
    Capture *capture = nullptr;
    for (Capture &other : capturing_) {
      if (other.on && (!capture || which % 2)) capture = &other;
    }
    if (!capture) return;
    // What has joined it must have been joined back.
    for (const Use &use : uses_) {
      if (use.open && use.is_forked) return;
    }
    close_capture(*capture);
  }

  void close_capture(Capture &capture) {
    say("the capture on %s ends", kStreamNames[capture.stream]);
    for (const int stream : capture.joined) follow(capture.stream, stream);
    capture.on = false;
    Handle graph = nullptr;
    if (cu().cuStreamEndCapture(machine().streams[capture.stream], &graph) || !graph) {
      return fail("a capture was lost");
    }
    Graph made{graph, nullptr, capture.touched};
    MUST(cu().cuGraphInstantiateWithFlags(&made.runnable, graph, 0));
    graphs_.push_back(made);
  }

  // Each launch is a use of its own.
  void launch(const Step &step) {
    if (graphs_.empty()) return;
    Graph &graph = graphs_[step[1] % graphs_.size()];
    const int stream = static_cast<int>(step[2] % kStreams);
    if (!graph.runnable || !may_work(stream) || is_capturing(stream) || is_forked(stream)) return;
    std::vector<const cai_array *> list;
    for (const int number : graph.touched) {
      if (conflicts(number, true)) return;
      list.push_back(pointer(number));
    }
    say("a graph that touches %zu arrays is launched on %s", list.size(), kStreamNames[stream]);
    cai_use use;
    cai_status status = CAI_OK;
    quietly([&] {
      status = cai_use_begin(&use, list.data(), static_cast<std::int32_t>(list.size()),
                             machine().value(stream), nullptr, &error_);
    });
    if (!is_taken(status)) return;
    MUST(cu().cuGraphLaunch(graph.runnable, machine().streams[stream]));
    MUST(cu().cuGraphExecDestroy(graph.runnable));  // it runs once
    graph.runnable = nullptr;
    quietly([&] { status = cai_use_end(&use, &error_); });
    if (status == CAI_OK) return;
    // A producer is being captured: later, as other uses.
    Use *const open = free_use();
    if (!is_taken(status) && open) {
      *open = {true, use, stream, CAI_ORDER_BOTH, graph.touched, {}, false};
      open->accesses.assign(graph.touched.size(), CAI_ACCESS_WRITE);
    } else {
      quietly([&] { cai_use_abandon(&use); });
      for (const int array : graph.touched) blocks_[arrays_[array].block].copied = true;
    }
  }

  // A stream that nobody names any more goes; another one may get its handle.
  void replace_stream(const Step &step) {
    const int stream = kFirstHandle + static_cast<int>(step[1] % (kStreams - kFirstHandle));
    if (is_capturing(stream) || is_forked(stream)) return;
    for (const Array &array : arrays_) {
      if (array.there && array.said == stream) return;
    }
    for (const Use &use : uses_) {
      if (use.open && use.stream == stream) return;
    }
    for (const Block &block : blocks_) {
      const bool names = block.freed_on == stream || ((block.pending | block.told) >> stream & 1);
      if (block.alive && names) return;
    }
    say("stream %s is destroyed, and another one made", kStreamNames[stream]);
    MUST(cu().cuStreamDestroy_v2(machine().streams[stream]));
    machine().make_stream(stream);
  }

  // ---- The end of the program ----

  void close() {
    for (int round = 0; round < 3; ++round) {
      for (Use &use : uses_) {
        if (use.open) end_use(use, kEnd, false);
      }
      for (Capture &capture : capturing_) {
        const bool forked = std::any_of(std::begin(uses_), std::end(uses_),
                                        [](const Use &use) { return use.open && use.is_forked; });
        if (capture.on && !forked) close_capture(capture);
      }
    }
    for (Use &use : uses_) {
      if (!use.open) continue;
      fail(std::string("a use cannot be ended: ") + error_.message);
      cai_use_abandon(&use.use);
      use.open = false;
    }
    for (Graph &graph : graphs_) {
      if (graph.runnable) MUST(cu().cuGraphExecDestroy(graph.runnable));
      MUST(cu().cuGraphDestroy(graph.graph));
    }
    for (int i = kArrays; i-- > 0;) {
      if (arrays_[i].there) let_go(i);
    }
    // What graphs have held goes once they have run, on a thread of the driver's.
    MUST(cu().cuCtxSynchronize());
    for (int tries = 0; tries < 20000; ++tries) {
      if (tries > 10) std::this_thread::sleep_for(std::chrono::microseconds(500));
      MUST(cai_drain(1, nullptr, nullptr));
      if (std::none_of(std::begin(blocks_), std::end(blocks_),
                       [](const Block &block) { return block.alive; })) {
        return;
      }
    }
    fail("an owner has not ended");
  }

  void check() {
    if (cu().simcuda_races() != races_) fail("a race");
    for (const Capture &capture : capturing_) {
      int status = 1;
      if (capture.on) MUST(cu().cuStreamIsCapturing(machine().streams[capture.stream], &status));
      if (status != 1) fail("a capture was invalidated");
    }
  }

  // ---- What the rules of CUDA and of libcai allow ----

  bool is_capturing(int stream) const {
    int status = 0;
    if (stream == kLegacy) return !may_work(stream);
    if (cu().cuStreamIsCapturing(machine().streams[stream], &status)) return true;
    return status != 0;
  }

  // Stream 1 may not be used while a blocking stream is being captured.
  bool may_work(int stream) const {
    if (stream != kLegacy) return true;
    for (int i = kPerThread; i < kStreams; ++i) {
      if (is_blocking(i) && is_capturing(i)) return false;
    }
    return true;
  }

  // Whether the stream is in a capture that began on another one: it is for the use that joined.
  bool is_forked(int stream) const {
    if (!is_capturing(stream)) return false;
    return std::none_of(std::begin(capturing_), std::end(capturing_),
                        [&](const Capture &capture) { return capture.has(stream); });
  }

  // Uses that conflict do not overlap.
  bool conflicts(int number, bool writes) const {
    if (blocks_[arrays_[number].block].is_unknown) return true;
    for (const Use &use : uses_) {
      if (!use.open) continue;
      for (std::size_t i = 0; i < use.arrays.size(); ++i) {
        const bool same = arrays_[use.arrays[i]].block == arrays_[number].block;
        if (same && (writes || use.accesses[i] == CAI_ACCESS_WRITE)) return true;
      }
    }
    return false;
  }

  bool is_in_use(int number) const {
    return std::any_of(std::begin(uses_), std::end(uses_), [&](const Use &use) {
      return use.open &&
             std::find(use.arrays.begin(), use.arrays.end(), number) != use.arrays.end();
    });
  }

  // ---- Work ----

  void queue(int block, int stream, bool writes) {
    const Handle handle = machine().streams[stream];
    const Address data = machine().blocks[block];
    const Address to = machine().scratch + kBytes * (scratch_++ % 2000);
    MUST(writes ? cu().cuMemsetD8Async(data, 1, kBytes, handle)
                : cu().cuMemcpyDtoDAsync_v2(to, data, kBytes, handle));
  }

  void queue_mask(int block, int stream) {
    const Address to = machine().scratch + kBytes * (scratch_++ % 2000);
    MUST(cu().cuMemcpyDtoDAsync_v2(to, machine().blocks[block] + kBytes, kBytes,
                                   machine().streams[stream]));
  }

  // An array's memory is accessed on a stream; in a capture, by the graph.
  void touch(int number, int stream, bool writes, bool reads_mask = true) {
    queue(arrays_[number].block, stream, writes);
    if (reads_mask && blocks_[arrays_[number].block].is_masked)
      queue_mask(arrays_[number].block, stream);
    if (!is_capturing(stream)) return;
    for (Capture &capture : capturing_) {
      const bool is_its = capture.has(stream) || (capture.on && is_forked(stream));
      if (!is_its) continue;
      capture.touched.push_back(number);  // of which the program keeps the array
      ++arrays_[number].graphs;
    }
  }

  void note_own_work(int block, int stream) {
    blocks_[block].own_work.push_back(event_after(machine().streams[stream]));
  }

  Handle event_after(Handle stream) {
    Handle event = nullptr;
    MUST(cu().cuEventCreate(&event, 2));
    MUST(cu().cuEventRecord(event, stream));
    events_.push_back(event);
    return event;
  }

  static bool wait_for(int stream) {
    int mode = kRelaxed;
    MUST(cu().cuThreadExchangeStreamCaptureMode(&mode));
    const bool done = cu().cuStreamSynchronize(machine().streams[stream]) == 0;
    MUST(cu().cuThreadExchangeStreamCaptureMode(&mode));
    return done;
  }

  // ---- Calls ----

  // The host must not wait there.
  template <class Call>
  void quietly(Call &&call) {
    const std::uint64_t before = host_waits();
    waits_of_frees_ = 0;
    call();
    if (host_waits() - before > waits_of_frees_) fail("the host was blocked");
  }

  void expect(cai_status status) {
    if (status != CAI_OK) fail(std::string("a call fails: ") + error_.message);
  }

  // Whether the call was taken; what is refused must be refused as the rules allow.
  bool is_taken(cai_status status) {
    if (status == CAI_OK) return true;
    say("  refused: %s", error_.message);
    const bool captures = std::any_of(std::begin(capturing_), std::end(capturing_),
                                      [](const Capture &capture) { return capture.on; });
    if (status == CAI_ERR_ORDER || (status == CAI_ERR_CAPTURE && captures)) return false;
    fail(std::string("a call fails: ") + error_.message);
    return false;
  }

  void fail(const std::string &what) {
    if (problem_.empty()) problem_ = what;
    say("!! %s", what.c_str());
  }

  template <class... Arguments>
  void say(const char *format, Arguments... arguments) {
    if (!tells_) return;
    std::printf("#   ");
    if constexpr (sizeof...(arguments) == 0) {
      std::fputs(format, stdout);
    } else {
      std::printf(format, arguments...);
    }
    std::printf("\n");
  }

  // ---- What there is ----

  static constexpr int kArrays = 8;

  const cai_array *pointer(int number) const {
    return arrays_[number].is_copy ? &arrays_[number].copy : arrays_[number].array;
  }
  int number_of(const Array *array) const { return static_cast<int>(array - arrays_); }
  int some_array(unsigned which) const {
    std::vector<int> all;
    for (int i = 0; i < kArrays; ++i) {
      if (arrays_[i].there) all.push_back(i);
    }
    return all.empty() ? -1 : all[which % all.size()];
  }
  std::vector<int> some_arrays(unsigned which, int count) const {
    std::vector<int> found;
    for (int i = 0; i < count; ++i, which /= 8) {
      const int number = some_array(which);
      if (number >= 0 && std::find(found.begin(), found.end(), number) == found.end()) {
        found.push_back(number);
      }
    }
    return found;
  }
  Array *free_array() {
    for (Array &array : arrays_) {
      if (!array.there && array.graphs == 0) return &array;
    }
    return nullptr;
  }
  Use *free_use() {
    for (Use &use : uses_) {
      if (!use.open) return &use;
    }
    return nullptr;
  }
  Use *open_use(unsigned which) {
    std::vector<Use *> all;
    for (Use &use : uses_) {
      if (use.open) all.push_back(&use);
    }
    return all.empty() ? nullptr : all[which % all.size()];
  }
  Capture *free_capture() {
    for (Capture &capture : capturing_) {
      if (!capture.on) return &capture;
    }
    return nullptr;
  }

  Block blocks_[kBlocks];
  Array arrays_[kArrays];
  Use uses_[4];
  Capture capturing_[2];
  std::vector<Graph> graphs_;
  std::vector<Handle> events_;
  std::vector<Handle> freed_[kBlocks];  // after the memory's release in the order of a stream
  std::uint64_t races_ = 0;
  std::uint64_t waits_of_frees_ = 0;
  unsigned scratch_ = 0;
  bool releases_ = false;
  const bool tells_;
  std::string problem_;
  cai_error error_{};
};

void OwnBlock::end(cai_owner *owner) {
  OwnBlock *const self = of(owner);
  // What its own functions have kept ends as libcai's would.
  if (owner->used_on != self->kept.used_on && self->kept.used_on && owner != &self->kept) {
    self->kept.flags = owner->flags;
    return cai_owner_end(&self->kept, [](cai_owner *kept) {
      auto *const block =
          reinterpret_cast<OwnBlock *>(reinterpret_cast<char *>(kept) - offsetof(OwnBlock, kept));
      world->freed(block->block);
      delete block;
    });
  }
  world->freed(self->block);
  delete self;
}

void OwnBlock::release(cai_owner *owner) {
  if (--of(owner)->holders == 0) cai_owner_end(owner, end);
}

std::int32_t provide(void *, const cai_array *array, std::uint64_t *stream) {
  return world->provide(array, stream);
}

// ---- Programs -----------------------------------------------------------------------------------

std::string run(const Program &program, bool tells = false) {
  const auto made = std::make_unique<World>(tells);
  return made->run(program);
}

std::string text_of(const Program &program) {
  std::string text;
  for (const Step &step : program) {
    for (const unsigned number : step) text += std::to_string(number) + " ";
  }
  return text;
}

Program program_of(const std::string &text) {
  std::istringstream in(text);
  Program program;
  for (Step step; in >> step[0];) {
    for (std::size_t i = 1; i < step.size(); ++i) in >> step[i];
    program.push_back(step);
  }
  return program;
}

// Leaves out what the problem does not need.
Program shrink(Program program, const std::string &problem) {
  for (bool less = true; less;) {
    less = false;
    for (std::size_t i = program.size(); i-- > 0;) {
      Program shorter = program;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
      if (run(shorter) != problem) continue;
      program = std::move(shorter);
      less = true;
    }
  }
  return program;
}

bool tell(const Program &program, const std::string &problem) {
  const Program shrunk = shrink(program, problem);
  std::printf("# %s: %s\n", problem.c_str(), text_of(shrunk).c_str());
  static_cast<void>(run(shrunk, true));
  return false;
}

bool random(long count, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  long wrong = 0;
  for (long i = 0; i < count; ++i) {
    Program program(4 + draw() % (kSteps - 3));
    for (Step &step : program) {
      for (unsigned &number : step) number = static_cast<unsigned>(draw() % 1000);
    }
    const std::string problem = run(program, std::getenv("WIDE_TELL"));
    if (!problem.empty() && ++wrong <= 5) tell(program, problem);
  }
  std::printf("%s 1 - %ld programs, drawn by seed %llu: %ld are wrong\n1..1\n",
              wrong ? "not ok" : "ok", count, static_cast<unsigned long long>(seed), wrong);
  return wrong == 0;
}

bool replay(const char *name) {
  std::ifstream file(name);
  if (!file) std::perror(name);
  bool good = !!file;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::string problem = run(program_of(line));
    if (!problem.empty()) good = tell(program_of(line), problem);
    std::printf("%s %d - %s\n", problem.empty() ? "ok" : "not ok", ++number, line.c_str());
  }
  std::printf("1..%d\n", number);
  return good;
}

}  // namespace

int main(int argc, char **argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  const cai_stream_provider provider{sizeof provider, 0, provide, nullptr};
  MUST(cai_provide_streams(&provider, nullptr));
  if (what == "replay") return !replay(argv[2]);
  const long count = argc > 2 ? std::atol(argv[2]) : 0;
  if (what != "random" || count < 1) return 2;
  return !random(count, argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
}
