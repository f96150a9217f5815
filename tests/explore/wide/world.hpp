// SPDX-License-Identifier: BSD-3-Clause
// What there is while a program runs, what the rules allow there, and what is wrong with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cai.h"
#include "cai/dlpack.h"
#include "cai/memory.h"
#include "fault.hpp"
#include "machine.hpp"
#include "pairs.hpp"

namespace wide {

enum Keeper : unsigned {
  kPlain,
  kReclaims,
  kStreamOrdered,
  kImported,
  kTold,      // with a used_on that does no more than libcai's, which libcai cannot know
  kOwn,       // a block of the producer's own, whose uses libcai keeps
  kAlone,     // the same, but that it keeps them by functions of its own
  kBorrowed,  // none: the program frees the memory in the order of the array's stream
  kMemory,    // libcai's own, which frees it in the order of a stream
  kKeepers
};
inline constexpr const char *kKeeperWords[kKeepers] = {"plain",    "RECLAIMS", "STREAM_ORDERED",
                                                       "IMPORTED", "used_on",  "own",
                                                       "alone",    "borrowed", "memory"};

// Memory, and the owner of it.
struct Block {
  bool alive = false;
  Keeper keeper = kPlain;
  int owners = 0;           // imports; else 1
  int said = -1;            // by the first array
  int freed_on = -1;        // the stream whose order the release keeps; -1: none
  bool copied = false;      // arrays were published
  bool lost = false;        // and not to be had again
  bool is_gone = false;     // with its context
  bool is_unknown = false;  // what an abandoned use has pending
  // The same until cai_drain() has waited: only the owner knows it, or not even that.
  bool is_abandoned = false, is_parked = false;
  bool is_abandoned_in_guest = false;  // until that has been called in the guest
  unsigned told = 0;                   // streams that same_stream() named
  bool is_used_on_said = false;        // since an event of that stream was published
  unsigned pending = 0;                // streams with work of the producer's that no array says
  unsigned pending_outside = 0;        // those of them whose work is in no graph
  std::vector<Handle> own_work;        // events after the producer's work, which only it knows of
  bool is_masked = false;              // by what is behind the memory, and used with it
  int mask_said = -1;                  // the stream that the mask says; -1: None
  int unstated = -1;                   // the stream that a provider says
  cai_memory *memory = nullptr;        // of kMemory; null: the program holds its arrays alone
  int memory_stream = -1;              // that it is freed on
  cai_array mask;
  Last last;  // call
};

// What an array is of: a mask has memory of its own, which others may have without the elements.
enum Part { kWhole, kMask, kElements };
inline constexpr const char *kPartWords[] = {"all", "mask", "elements"};

struct Array {
  bool there = false;
  int block = 0;
  Part part = kWhole;
  bool is_copy = false;  // of the struct
  int said = -1;         // the stream; -1: none, or an event
  bool of_event = false;
  bool of_event_of_guest = false;  // which goes with its context
  bool is_view = false;            // that was published
  int graphs = 0;                  // that touch it
  int tensor = -1;                 // that it was made of
  bool is_dead = false;            // its memory went with its context
  cai_array copy;
  cai_array *array = nullptr;
};

// What a party without libcai has asked for, to work on `stream`; or a party with libcai, which has
// made an array of it. Ordered after what came before it: work of others makes it stale.
struct Tensor {
  bool there = false;  // its deleter has not been called
  int array = 0;       // that it was asked of
  int block = 0;
  int stream = 0;
  int parent = -1;       // the tensor that the array was made of
  unsigned capture = 0;  // that it was asked for in
  bool is_stale = false;
  DLManagedTensorVersioned *held = nullptr;  // null: by an array

  bool is_own = false;  // that array's owner says that the stream is the exporter's own

  // Whether an array was made of it: arrays of one memory find each other's uses, except those on a
  // stream that is stated to be the exporter's.
  bool is_owned() const { return there && !held; }
};

enum { kAnyThread = -1, kThreads = 2, kGoneThread = kThreads };

struct Use {
  bool open = false;
  cai_use use;
  int stream = 0;
  std::uint32_t order = 0;
  std::vector<int> arrays;
  std::vector<std::uint32_t> accesses;
  bool is_forked = false;        // into a capture that had begun on another stream
  int thread = kAnyThread;       // that can end it
  unsigned capture = 0;          // of the capture that the work is in; 0: none
  int told = -1;                 // by a party without libcai: the stream that it was told
  int told_of_mask = -1;         // likewise; the same, if there is no mask
  bool is_unheard = false;       // told no stream: the host waits for the work
  cai_memory *memory = nullptr;  // that holds the array instead; `stream` is its own
};

struct Capture {
  bool on = false;
  unsigned number = 0;  // counted from 1
  int stream = 0;
  int thread = 0;
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

struct World {
  explicit World(bool does_tell);
  ~World();
  World(const World &) = delete;
  World &operator=(const World &) = delete;

  static inline World *current = nullptr;  // for the functions that libcai calls

  // ---- What there is ----

  static constexpr int kArrays = 8;

  Block blocks[kBlocks];
  Array arrays[kArrays];
  Use uses[4];
  Tensor tensors[4];
  Capture captures[2];
  unsigned captures_begun = 0;
  std::vector<Graph> graphs;
  std::vector<Handle> freed_after[kBlocks];  // the memory's release in the order of a stream
  bool releases = false;                     // a party calls cai_array_release()
  int thread = 0;                            // whose turn it is
  bool has_second = false;                   // thread 1 has had a turn
  bool has_lost_thread = false;

  // Takes the turn for `body`.
  template <class Body>
  void on_thread(int other, const Body &body) {
    const int before = std::exchange(thread, other);
    machine().threads.run(other, body);
    thread = before;
  }
  // One of those that have a name on this thread.
  int stream(unsigned drawn) const;

  const cai_array *pointer(int number) const;
  int number_of(const Array *array) const { return static_cast<int>(array - arrays); }
  int number_of(const Use *use) const { return static_cast<int>(use - uses); }
  int array(unsigned number) const;  // -1: there is none
  // One that no tensor is in between.
  bool has_array_of(int block) const;
  // With more, each that number less 1; 0: none.
  std::vector<int> arrays_of(unsigned number, std::initializer_list<unsigned> more) const;
  unsigned lowest_free_array() const;
  // Null: it is not free.
  Array *free_array(unsigned number);
  Use *free_use(unsigned number);
  Use *open_use(unsigned number);
  Capture *free_capture(unsigned number);

  // ---- What the rules of CUDA and of libcai allow ----

  bool any_captures() const;
  bool is_capturing(int stream) const;
  // Stream 1 may not be used while a blocking stream is being captured.
  bool may_work(int stream) const;
  bool is_legacy_barred() const;
  // Whether the stream is in a capture that began on another one: it is for the use that joined.
  bool is_forked(int stream) const;
  // By a use that is still open.
  bool is_in_forked_use(int stream) const;
  // Whether some capture is of a stream 2, to which only its own thread can join another one back.
  bool captures_2() const;
  // 1 and 2 are names in the context of the array's memory.
  bool may_say(int number, int stream) const;
  // Conflicting uses must not overlap, nor may uses and work that was told to no one.
  bool conflicts(int number, bool writes) const;
  bool is_in_use(int number) const;
  // Whether the array was used in the stream's capture, and no owner would order its uses there: it
  // is borrowed, or of a tensor that was not asked for there.
  bool is_captured_alone(int number, int stream) const;
  bool is_in_one_capture(int stream, int other) const;
  // Whether the stream is in a capture that began on another one: work that it has not waited for
  // may have ended there before, which no one can tell.
  bool has_joined(int stream) const;
  // Which one; 0: none.
  unsigned capture_of(int stream) const;
  bool is_on(unsigned capture) const;
  // No event covers what the producer has queued outside of a capture on a stream that is in it
  // now: it publishes that before.
  bool is_pending_before_capture(int block) const;
  // The same, of a block.
  bool conflicts_in(int block, bool writes) const;
  // Streams that others were told to use it on, and may.
  unsigned told(int block) const;
  // Whether this thread may use it: a 2 is valid on one thread only, which is unknown without an
  // owner. An array of a tensor must come after what others have done since; if the tensor was
  // asked for in a capture, it is only for that capture.
  bool may_use(int number) const;
  // Whether the array of the tensor still exists.
  bool has_array_of(const Tensor &tensor) const;
  // The same by a graph, which may be of that capture.
  bool may_launch(int number) const;
  // Whether it was made of a tensor: a consumer of the array that this is of is not told of a
  // stream that it is published on.
  bool is_of_tensor(int number) const { return arrays[number].tensor >= 0; }
  bool is_borrowed(int number) const { return blocks[arrays[number].block].keeper == kBorrowed; }

  // ---- Work ----

  void queue(int block, int stream, bool writes, bool is_of_mask = false);
  // An array's memory is accessed on a stream; in a capture, by the graph.
  void touch(int number, int stream, bool writes, bool with_mask = true);
  void touch_mask(int number, int stream, bool writes);
  // The same by a consumer of a tensor.
  void touch_by_tensor(int number, int stream, bool writes);
  // Tensors of the block do not come after this work, except those through which it was done; and,
  // if libcai has kept it, those of which there are arrays.
  void make_stale(int block, int tensor, bool is_kept = true);
  void note_own_work(int block, int stream);
  void note_pending(int block, int stream);
  Handle event_after(int stream);
  // Its own work there is complete first, and needs no event any more.
  void end_guest();
  void wait(int stream, Handle event);
  void follow(int stream, int other);
  static bool wait_for(int stream);

  // ---- The judge ----

  // Runs a call of libcai's, in which something may fail.
  template <class Call>
  void loudly(const Call &call) {
    const auto armed = [&] {
      fault.arm();
      call();
      fault.disarm();
    };
    is_in_guest ? machine().in_guest(armed) : armed();
  }
  // Where nothing fails.
  template <class Call>
  void calmly(const Call &call) {
    is_in_guest ? machine().in_guest(call) : call();
  }
  // The host must not wait there, unless there is no memory to remember by what to wait for; nor,
  // but for a stream of which the driver has recorded no event, if the driver fails.
  template <class Call>
  void quietly(const Call &call) {
    const std::uint64_t before = host_waits(), for_streams = host_waits_for_streams();
    waits_of_frees = 0;
    loudly(call);
    if (fault.is_of_memory()) return;
    if (fault.has_struck()) waits_of_frees += host_waits_for_streams() - for_streams;
    if (host_waits() - before > waits_of_frees) fail("the host was blocked");
  }
  // Nor does an array end if the stream that the call works on is being captured.
  template <class Call>
  void quietly_on(int stream, const Call &call) {
    works_on = stream;
    quietly(call);
    works_on = -1;
  }
  bool has_failed(cai_status status) const;
  void expect(cai_status status);
  // Whether the call succeeded. A failure must be one that the rules allow, or that was injected.
  bool is_taken(cai_status status);
  // A call was taken; -1: for no stream.
  void met(Call call, int number, int stream = -1);
  // After each step.
  void check();
  void fail(const std::string &what);

  template <class... Arguments>
  void say(const char *format, Arguments... arguments) {
    if (!tells) return;
    std::printf("#   ");
    if constexpr (sizeof...(arguments) == 0) {
      std::fputs(format, stdout);
    } else {
      std::printf(format, arguments...);
    }
    std::printf("\n");
  }

  Fault fault;
  std::string problem;  // the first; empty: none
  cai_error error{};    // of the last call that failed
  std::uint64_t waits_of_frees = 0;
  int works_on = -1;         // the stream of the current call; -1: none
  bool is_in_guest = false;  // libcai is called with the guest current, where 1 and 2 are others

 private:
  Kind kind_of(int stream) const;
  // In a capture, the graph holds the array's memory.
  void note_captured(int number, int stream);

  std::uint64_t races;
  std::uint64_t findings;
  std::vector<Handle> events, events_of_guest;
  unsigned scratch = 0;
  const bool tells;
};

}  // namespace wide
