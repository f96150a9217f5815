// SPDX-License-Identifier: BSD-3-Clause
// Execution: a launch, by workers, block by block, warp by warp.
//
// Lanes of a warp at the same place are a group. The group in the deepest call, at the lowest
// instruction, runs first, so that groups that have diverged meet again. A group that has run for
// long, or reads the same memory again and again, lets the others run for a while: it may be
// waiting for them.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <vector>

#include "copies.h"
#include "instruction.h"
#include "knowledge.h"
#include "mbarrier.h"
#include "memory.h"
#include "races.h"

namespace simcuda::kernel {

class Block;
class Worker;

struct Frame {
  const Body *body = nullptr;
  int function = -1;
  Frame *parent = nullptr;
  const Call *call = nullptr;  // the parent's call that led here
  std::uint32_t return_to = 0, depth = 0;
  std::uint32_t lanes = 0;  // lanes that are in it or deeper
  std::uint32_t local_base = 0;
  Bytes registers;
};

enum class Wait : std::uint8_t { none, lanes, barrier };

struct Group {
  Frame *frame = nullptr;
  std::uint32_t pc = 0, mask = 0;
  Wait wait = Wait::none;
  std::uint8_t barrier = 0;
  std::uint64_t ran = 0;  // when it ran last
};

// Ends the launch. The code that catches it knows the place.
struct Failed {
  FaultKind kind;
  unsigned lane = 0;
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  bool write = false;
  Space space = Space::generic;
  std::string detail;
};

class Warp {
 public:
  Warp(Block &its_block, unsigned its_index);
  // For the block's next turn through the grid.
  void begin();
  enum class State : std::uint8_t { ready, waits, ended };
  // If it has not ended. Runs until it waits, has ended or has executed about this many
  // instructions.
  State run(std::uint64_t budget);

  template <class T>
  T *lanes(Place32 at) const {
    return reinterpret_cast<T *>(banks[at & 3] + (at >> 2));
  }
  std::uint32_t &bits(Place32 at) const { return *lanes<std::uint32_t>(at); }
  std::uint32_t &carry() const {
    return *reinterpret_cast<std::uint32_t *>(banks[0] + carry_offset);
  }
  Thread thread_of(unsigned lane) const;
  Place place() const;
  // The check of barriers has found that this instruction is wrong. `but` says why.
  void find_misuse(FindingKind kind, unsigned lane, std::string but);
  std::byte *local(unsigned lane) const { return local_.data() + std::size_t{lane} * local_room_; }
  std::uint32_t local_room() const { return local_room_; }

  // For instructions whose flow `changes`.
  void jump(std::uint32_t mask, std::uint32_t target);
  void call(std::uint32_t mask, const Call &call, int function);
  void ret(std::uint32_t mask);
  void exit(std::uint32_t mask);
  // Returns true if all remaining lanes of `wanted` are here, or will not arrive. Otherwise these
  // lanes wait for them, and will execute the same instruction again.
  bool gather(std::uint32_t mask, std::uint32_t wanted);
  void wait_at_barrier(std::uint32_t mask, std::uint8_t barrier, bool again);
  void leave_barrier(std::uint8_t barrier);
  void let_others_go();
  // The group has read memory that others may be about to change.
  void polled() { ++polls_; }
  // Of a warp that waits: whether the barrier that has completed since then was all it waited for.
  bool can_run() const;

  std::byte *banks[4] = {};
  Frame *frame = nullptr;
  std::uint32_t pc = 0, active = 0;
  std::uint32_t live = 0, born = 0;        // the lanes that have not ended; all lanes at the start
  std::array<std::uint32_t, 16> passed{};  // lanes that will execute their barrier again, by number
  const unsigned index;
  Block &block;
  Worker &worker;

 private:
  bool choose();
  void merge_here();
  void look_ahead();
  void add_group(const Group &group);
  Frame *take_frame(int function);
  void leave_frame(Frame &left, std::uint32_t mask);
  void account();
  void need_local(std::uint32_t room);

  std::vector<Group> waiting_;        // all groups but the running one
  std::uint32_t meets_ = UINT32_MAX;  // the next place at which another group of this frame is
  bool group_changed_ = false;
  bool forced_ = false;  // the lanes that this group waited for will not arrive
  bool rotate_ = false;
  std::uint32_t counted_from_ = 0, polls_ = 0;
  std::uint64_t executed_ = 0, turn_began_ = 0, turns_ = 0, threads_executed_ = 0;
  Bytes bank_, local_;
  std::uint32_t local_room_ = 0;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<std::vector<Frame *>> free_frames_;  // by function
};

struct Barrier {
  std::uint32_t expected = 0;              // threads; 0: all of the block
  LanesByWarp lanes{};                     // threads that have arrived
  LanesByWarp waits{};                     // those of them that will continue from here
  Clock arrived;                           // the combined knowledge of the others when they arrived
  std::array<std::uint32_t, 32> places{};  // by warp, where the first of them arrived from
  std::uint32_t came = 0;                  // warps of which some lane did
  std::uint32_t count = 0;                 // of the predicates of the threads
  bool all = true, any = false;
};

class Block {
 public:
  explicit Block(Worker &its_worker);
  void begin(std::uint64_t its_index);
  // Runs about as many instructions of each warp. Returns true if all threads have ended.
  bool run(std::uint64_t budget);

  void arrive(Warp &warp, unsigned number, std::uint32_t threads, std::uint32_t mask,
              std::uint32_t predicate, bool aligned, bool waits);
  // After threads have ended, a barrier may be complete.
  void complete_barriers();

  // The warp's current stamp, with which the uses of its lanes are stored.
  Stamp stamp(unsigned warp) const {
    return (stretch_first_ + (epoch - stretch_epoch_) * warps_ + warp) << stamp_shift;
  }
  bool in_stretch(Stamp interval) const {
    return interval - stretch_first_ < stretch_length_ * warps_;
  }
  std::uint32_t epoch_of(Stamp interval) const {
    return stretch_epoch_ + (interval - stretch_first_) / warps_;
  }
  std::uint32_t warp_of(Stamp interval) const { return (interval - stretch_first_) % warps_; }
  // These lanes of the warp have met.
  void join(const Warp &warp, std::uint32_t lanes);
  // The lanes of the warp have used places that may be flags or locks of the block; `changed` are
  // those that changed them.
  void order(const Request &request, std::uint32_t changed);
  void fence(const Warp &warp, std::uint32_t lanes);
  void acquire();
  void release();

  // These lanes arrive at an mbarrier in its current phase.
  void arrive(const Warp &warp, std::uint32_t lanes, Mbarrier &barrier, bool releases);
  // So do they once what they have begun to copy (cp.async) is copied.
  void arrive_by_copies(const Warp &warp, std::uint32_t lanes, Mbarrier &barrier);
  // The current phase of the mbarrier at this byte of shared memory is complete.
  void complete(Mbarrier &barrier, std::uint64_t offset);
  // These lanes have waited for the phase before the current one.
  void wait(const Warp &warp, std::uint32_t lanes, Mbarrier &barrier, std::uint64_t offset,
            bool acquires);

  Worker &worker;
  std::uint64_t index = 0;
  std::uint32_t ctaid[3] = {};
  std::vector<std::unique_ptr<Warp>> warps;
  Bytes shared;
  Mbarriers mbarriers;  // in shared memory
  std::vector<std::uint64_t> shared_written;
  LastUses shared_uses;
  std::vector<Copies> copies;  // by warp
  Stamp floor = 0;             // the first interval of this block
  Stamp full_floor = 0;        // the first since the last barrier of the whole block
  bool only_full = true;       // no other barrier has joined threads since
  bool alone = false;          // no other block runs before this one has ended
  std::uint32_t epoch = 0;
  std::uint64_t acquired = 0;
  Knowledge knowledge;
  std::array<Barrier, 16> barriers;
  struct Result {
    std::uint32_t count = 0;
    bool all = true, any = false;
  };
  std::array<Result, 16> results;

 private:
  void begin_epoch();
  void join(const LanesByWarp &lanes, const Clock &others);
  void try_complete(unsigned number);
  [[noreturn]] void report_deadlock();

  std::uint32_t warps_ = 0;
  Stamp stretch_first_ = 0;
  std::uint32_t stretch_epoch_ = 0, stretch_length_ = 0, released_in_ = UINT32_MAX;
};

// The common state of a launch's workers. Blocks begin in order, on any worker.
struct LaunchState {
  LaunchState(const Module &module, const Kernel &kernel, const Launch &launch,
              Environment &environment);
  const Module &module;
  const Code &code;
  const Kernel &kernel;
  const Launch &launch;
  Environment &environment;
  int entry = -1;
  std::uint32_t threads = 0, warps = 0;  // of a block
  std::uint64_t blocks = 0;
  std::uint32_t shared_bytes = 0, shared_room = 0;
  Bytes bank;
  Bytes grid_barrier;  // memory of a cooperative launch
  Intervals intervals;
  bool races = false;  // whether they are looked for, then by one worker only
  std::vector<std::uint32_t> first_instruction;  // by function, counted over the module
  // Blocks from this one on need not run: one has faulted.
  std::atomic<std::uint64_t> end_block{0};
  std::atomic<std::uint64_t> next_block{0};
  std::atomic<std::uint64_t> instructions{0};  // if their number is limited
  Place place_of(std::uint32_t instruction) const;
  Place place_of(int function, std::uint32_t pc) const;
  Thread thread_at(std::uint64_t block, std::uint32_t thread) const;

 private:
  void fill_bank();
};

// Executes blocks on one thread.
class Worker {
 public:
  explicit Worker(LaunchState &state) : launch(state), memory(state, *this) {}
  // Runs about as many instructions. Returns true if no block is left for it.
  bool run(std::uint64_t budget);
  // Whether there was such a finding at this instruction. If so, counts it.
  bool known(FindingKind kind, std::uint32_t instruction);
  void find_out(Finding finding, std::uint32_t instruction);
  // Throws Failed if the launch must end.
  void count(std::uint64_t instructions);
  // The texture or surface of the lane's handle. Throws Failed.
  const Texels &texels(std::uint64_t handle, unsigned lane);
  // Adds what another worker has done.
  void take_over(Worker &other);
  // For all blocks, after all other workers have ended. Throws what the environment threw.
  Outcome outcome();

  LaunchState &launch;
  Memory memory;
  Warp *running = nullptr;

 private:
  struct Found {
    Finding finding;
    std::uint64_t block, order;  // of the reported finding
  };
  bool go_on(std::uint64_t budget);
  bool begin_block();
  void fail(const Failed &failed);
  void add_accesses(const View &view, Outcome &outcome) const;
  void add_findings(Outcome &outcome);

  std::vector<std::unique_ptr<Block>> idle_;
  std::deque<std::unique_ptr<Block>> resident_;
  std::uint64_t rounds_ = 0;   // of the running block
  bool ever_several_ = false;  // several blocks at a time
  std::uint64_t instructions_ = 0, asked_at_ = 0;
  std::map<std::uint64_t, const Texels *> texels_;                // by handle, as it was found
  std::map<std::pair<std::uint32_t, FindingKind>, Found> found_;  // by instruction
  std::uint64_t found_in_order_ = 0;
  std::optional<Fault> fault_;
  std::uint64_t fault_block_ = UINT64_MAX;
  std::exception_ptr thrown_;
};

}  // namespace simcuda::kernel
