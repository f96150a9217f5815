// SPDX-License-Identifier: BSD-3-Clause
// The objects of the simulated driver: operations, streams, events, contexts, devices, memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "abi.h"
#include "call_site.h"
#include "race_clock.h"

namespace simcuda {

using Clock = std::chrono::steady_clock;

// Thrown in an entry point; becomes the call's result.
struct Refused {
  CUresult result;
};
// The same for work on the device: an error of its context, and what has happened, in a sentence.
struct Faulted : Refused {
  std::string sentence;
};

struct Allocation;
struct Array;
struct Capture;
struct Condition;
struct Conditional;
struct Context;
struct EventShare;
struct Function;
struct Graph;
struct GraphExec;
struct GraphMemory;
struct GraphNode;
struct GreenContext;
class History;
struct KernelLaunch;
struct Library;
struct LinkState;
struct MemoryShare;
struct MipmappedArray;
struct NodeParameters;
struct Module;
struct PoolShare;
struct ResourceDescriptor;
struct Step;
struct Stream;
struct UserObject;
struct VirtualMapping;
class Written;

// Memory that an operation reads or writes: rows of `size` bytes, and slices of such rows. Without
// an allocation it is host memory that the driver does not know.
struct Access {
  std::shared_ptr<Allocation> allocation;
  std::uintptr_t begin;
  std::size_t size;  // of a row
  bool write;
  std::size_t rows = 1, pitch = 0, slices = 1, slice_pitch = 0;
  enum class Life { goes_on, begins, ends } life = Life::goes_on;  // of the allocation
};

struct Operation;

// A kernel that is executed, on a thread of its own, since it may wait for other work.
class KernelWork {
 public:
  virtual ~KernelWork() = default;
  virtual std::string name() const = 0;  // not mangled
  // Called without a lock. The operation exists meanwhile, and does not change.
  virtual void run(const Operation &operation) = 0;
  // Called after that, with the simulator's lock: reports the outcome.
  virtual void ran(const Operation &operation) = 0;
  // How long it took on the virtual clock, as its work goes.
  virtual std::uint64_t nanoseconds() const { return 0; }
};

// One piece of work in a stream. It may run once all operations that it waits for are done.
struct Operation {
  enum class State { pending, handed_over, done };

  std::uint64_t id = 0;
  const char *what = "";
  Site made_at = 0;  // for a node: the call that made it
  std::shared_ptr<Stream> stream;
  std::vector<std::shared_ptr<Operation>> waits_for, followers;
  // Only in time: an edge that a pool adds for reused memory promises no other order.
  std::vector<std::shared_ptr<Operation>> merely_after;
  std::vector<Moment> reached;  // for the race detector: it comes after these, too
  std::size_t blockers = 0;     // how many operations that it waits for are not done
  bool external = false;        // one of those is in another process
  bool inside = false;          // in a conditional node's body: the node runs it, if at all
  std::uint32_t branch = 0;     // of a launched graph, counted from 1; 0: the stream itself
  std::vector<Access> accesses;
  std::function<void()> run;                   // with the simulator's lock held; may be empty
  std::function<void()> host_function;         // on the driver's thread, without a lock
  std::shared_ptr<const KernelLaunch> launch;  // for a kernel
  std::shared_ptr<const Conditional> conditional;
  std::shared_ptr<KernelWork> kernel;
  State state = State::pending;
  bool after_errors = false;  // also runs in a context that has failed
  std::uint64_t duration_ns = 1000;
  // For work that keeps its stream busy: how much longer queries return NOT_READY.
  std::uint64_t busy_ns = 0;
  bool demanded = false;  // something waits for it: it runs as soon as it can
  bool queried = false;   // a query has already answered NOT_READY for it
  Clock::time_point submitted;
  std::uint64_t begins_ns = 0, finished_ns = 0;      // on the simulator's virtual clock
  std::shared_ptr<const NodeParameters> parameters;  // if it is captured
  std::shared_ptr<const Step> step;                  // the race detector's record of it
};

using OperationPtr = std::shared_ptr<Operation>;
using AllocationPtr = std::shared_ptr<Allocation>;

struct Stream : std::enable_shared_from_this<Stream> {
  enum class Kind { legacy, per_thread, created };

  Kind kind = Kind::created;
  std::uint64_t id = 0;
  CUstream handle = nullptr;
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  int priority = 0;
  Site made_at = 0;
  bool destroyed = false;
  bool before_legacy = false;  // whether it is in `blocking` of its context
  OperationPtr tail;           // the last operation submitted, done or not
  std::shared_ptr<Capture> capture;
  // What the next captured node depends on, and the handles returned to a client that asks.
  std::vector<std::shared_ptr<GraphNode>> capture_tail;
  std::vector<CUgraphNode> told_dependencies;
  std::vector<CUgraphEdgeData> told_edges;
  std::map<std::uint32_t, std::uint32_t> lanes;  // for the race detector, by branch

  bool blocking() const { return kind != Kind::legacy && !(flags & CU_STREAM_NON_BLOCKING); }
};

struct Event {
  CUevent handle = nullptr;
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  OperationPtr recorded;             // of the last record; null if never recorded
  std::shared_ptr<Capture> capture;  // set if the last record was in a capture
  std::vector<std::shared_ptr<GraphNode>> capture_tail;
  std::shared_ptr<EventShare> share;  // for an event that processes share

  // Whether its last record is another process's.
  bool recorded_elsewhere() const;
};

// The settings for dumps after a fault, by attribute, as bytes.
using CoredumpSettings = std::map<int, std::string>;

struct Context {
  std::uint64_t id = 0;  // changes when a primary context is made again; the handle does not
  CUcontext handle = nullptr;
  int device = 0;
  bool primary = false;
  bool alive = false;
  bool removed = false;  // by the client, for good
  // The first error that made it unusable. Every later call returns it, and callbacks receive it.
  std::atomic<CUresult> error{CUDA_SUCCESS};
  unsigned flags = 0;
  unsigned api_version = 3020;
  std::map<int, std::size_t> limits;
  std::uint64_t last_ns = 0;  // on the virtual clock: when all its work so far has finished
  int cache_config = 0;
  CoredumpSettings coredump;
  std::set<CUcontext> peers;
  // For a green context: its own handle, and the primary context that it is a part of.
  CUgreenCtx green = nullptr;
  std::shared_ptr<Context> parent;
  OperationPtr gate;  // all work submitted from now on comes after this
  std::shared_ptr<Stream> legacy;
  std::map<const void *, std::shared_ptr<Stream>> per_thread;  // by thread
  // Streams that the legacy stream waits for: blocking ones with work submitted after its own. If
  // there are many, those without unfinished work are removed.
  std::vector<std::shared_ptr<Stream>> blocking;
  std::size_t most_blocking = 64;

  bool is_within(const Context &other) const { return this == &other || parent.get() == &other; }
};

// The context that owns memory, events and modules, and that errors belong to.
inline const std::shared_ptr<Context> &owner_of(const std::shared_ptr<Context> &context) {
  return context->parent ? context->parent : context;
}

// Memory that was freed in stream order, perhaps not yet: a pool may reuse it.
struct FreeBlock {
  AllocationPtr allocation;  // the former allocation
  OperationPtr freed;
  std::uint64_t stream;
};

// Free blocks of one size. For each stream only the first one is considered: it is free first.
class FreeBlocks {
 public:
  void add(FreeBlock block);
  using Chosen = std::function<bool(const FreeBlock &)>;
  // Takes, of those first blocks for which `chosen` returns true, the one freed first.
  std::optional<FreeBlock> take_first(const Chosen &chosen);
  // Returns how many were removed.
  std::size_t drop(const Chosen &chosen);
  void for_each(const std::function<void(const FreeBlock &)> &tell) const;
  bool is_empty() const { return by_stream_.empty(); }

 private:
  std::map<std::uint64_t, std::deque<FreeBlock>> by_stream_;
  std::map<std::uint64_t, std::uint64_t> streams_;  // by the first free in each
};

enum class MemoryKind { device, managed, host, registered };

struct Pool {
  CUmemoryPool handle = nullptr;
  int device = 0;
  MemoryKind kind = MemoryKind::device;
  bool is_default = false;
  bool destroyed = false;
  int handle_types = 0;
  std::size_t max_size = 0;
  std::uint64_t release_threshold = 0;
  std::uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  int reuse[4] = {0, 1, 1, 1};  // by attribute number
  std::map<int, int> access;    // by device
  std::shared_ptr<PoolShare> share;
  bool imported = false;  // from another process: the pool cannot allocate

  std::map<std::size_t, FreeBlocks> free_blocks;  // by the number of pages
  std::size_t free_count = 0;
  // If a pool has more free blocks than this, those that need no wait are forgotten.
  static constexpr std::size_t least_most_free = 4096;
  std::size_t most_free = least_most_free;
};

struct Device {
  int ordinal = 0;
  int physical = 0;  // the machine's number; CUDA_VISIBLE_DEVICES gives the ordinals
  std::uint64_t total = 0, used = 0;  // used: including what pools hold
  bool lost = false;                  // stays so
  std::shared_ptr<Context> primary;
  unsigned primary_references = 0;
  std::shared_ptr<Pool> default_pool, current_pool;
  // For graphs: what is allocated, and what is held for that, which the device counts as used.
  std::uint64_t graph_used = 0, graph_used_high = 0, graph_reserved = 0, graph_reserved_high = 0;
  std::set<GraphMemory *> graph_memory;  // that counts as used
  std::uint64_t graph_idle = 0;          // part of that: memory of destroyed graphs
};

struct Allocation {
  using Kind = MemoryKind;

  Kind kind = Kind::device;
  std::uint64_t buffer_id = 0;
  int device = 0;
  std::shared_ptr<Context> context;  // null for memory of a pool
  std::shared_ptr<Pool> pool;
  std::weak_ptr<GraphMemory> graph;  // for memory of a graph
  Site made_at = 0;                  // the call that allocated it
  std::uintptr_t address = 0;        // what the client was given
  std::uintptr_t alias = 0;          // the device's own address of the same bytes, if it differs
  std::size_t size = 0;
  std::byte *bytes = nullptr;  // in the driver's mapping
  unsigned flags = 0;
  int sync_memops = 0;  // whether the blocking forms of copies and memset always wait
  // The last operations that did not wait and are not done, by stream.
  std::map<std::uint64_t, OperationPtr> late;
  void go_on_without(const Stream &stream, OperationPtr operation) {
    std::erase_if(late, [](auto &each) { return each.second->state == Operation::State::done; });
    late[stream.id] = std::move(operation);
  }
  bool free_submitted = false;
  std::shared_ptr<History> history;    // of its uses, for the race detector
  std::uint64_t charged = 0;           // bytes counted as used, of its device or its pool
  std::shared_ptr<MemoryShare> share;  // with other processes: exported or imported
  std::size_t kernels = 0;             // running kernels that use it
  std::shared_ptr<Written> written;    // null: all of it counts as written
  bool imported = false;
  bool dead = false;

  bool of_graph = false;
  std::shared_ptr<VirtualMapping> mapping;  // for memory that was mapped at a reserved address

  // The hints about managed memory.
  bool read_mostly = false;
  CUmemLocation preferred{CU_MEM_LOCATION_TYPE_INVALID, 0};
  CUmemLocation prefetched{CU_MEM_LOCATION_TYPE_INVALID, 0};
  std::set<int> accessed_by;
  bool of_module = false;  // a variable of a module, or allocated by a kernel
  bool of_heap = false;    // the latter: another kernel of the context may free it
  std::string variable;    // its name, as people write it
  bool constant = false;   // kernels may only read it
  bool of_condition = false;
  std::uintptr_t array = 0;  // the handle of the array that it is of

  bool on_host() const { return kind == Kind::host || kind == Kind::registered; }
  std::uintptr_t device_address() const { return alias ? alias : address; }
  // Opened by cuIpcOpenMemHandle: it is closed, not freed.
  bool is_opened_handle() const { return imported && !pool; }
};

}  // namespace simcuda
