// SPDX-License-Identifier: BSD-3-Clause
// Checks the addresses of a warp, finds their memory, and records what the launch uses.
#pragma once

#include <memory>
#include <vector>

#include "byte_set.h"
#include "instruction.h"
#include "races.h"

namespace simcuda::kernel {

class Block;
class Warp;
class Worker;
struct LaunchState;

// The bytes of a window that were used in one way, and by which instruction first: that of the
// lowest block.
struct UsedBytes {
  ByteSet bytes;
  std::uint64_t block = UINT64_MAX;
  std::uint32_t instruction = 0;
};

// What a launch did to one window.
struct View {
  Window window;
  UsedBytes reads, writes, atomics;
  LastUses uses;
};

enum class Operation : std::uint8_t { load, store, atomic };

// An access by an instruction, for all lanes of `mask`.
struct Request {
  Warp &warp;
  const Instruction &instruction;
  std::uint32_t mask;
  std::uint32_t size;  // bytes for each lane
  Operation operation;
  bool strong = false;       // volatile or ordered: does not race with another strong one
  bool of_mbarrier = false;  // by an instruction for mbarriers
  // What is stored: writing the same value need not be a race.
  const std::byte *values = nullptr;
  std::uint32_t stride = 0;
  // For each lane. Inactive lanes have the address of an active one.
  alignas(64) std::uint64_t addresses[lanes_of_warp] = {};
  std::uint64_t low = 0, high = 0, ored = 0;
  bool together = false;  // all lanes are active and contiguous
};

// The bytes for each lane. `together`: only the first is set, and the others follow it.
struct Reach {
  std::byte *at[lanes_of_warp];
  bool together = false;
};

class Memory {
 public:
  Memory(LaunchState &launch, Worker &worker);
  // Throws Failed.
  void reach(Request &request, Reach &found);
  // The bytes from an address on, for the engine's own functions. `room` receives how many there
  // are.
  std::byte *reach_one(Warp &warp, unsigned lane, std::uint64_t address, std::uint64_t &room);
  // A window no longer exists.
  void forget(std::uint64_t address);
  // Adds what another worker has used.
  void take_over(Memory &other);
  const std::vector<std::unique_ptr<View>> &views() const { return views_; }
  const std::vector<std::unique_ptr<View>> &gone() const { return gone_; }

 private:
  View *find(std::uint64_t address);
  void reach_global(Request &request, Reach &found);
  void reach_global_lane(Request &request, unsigned lane, std::uint64_t address, Reach &found);
  void reach_shared(Request &request, Reach &found);
  void reach_shared_lane(Request &request, unsigned lane, std::uint64_t offset, Reach &found);
  void reach_local_lane(Request &request, unsigned lane, std::uint64_t offset, Reach &found);
  void reach_param_lane(Request &request, unsigned lane, std::uint64_t offset, Reach &found);
  ByteSet &used(const Request &request, View &view);
  std::uint32_t instruction_of(const Warp &warp) const;
  bool has_uses(View &view);
  void note_together(Request &request, View &view, std::uint64_t offset);
  void note_lane(Request &request, View &view, unsigned lane, std::uint64_t offset, bool noted);
  bool note_warp(const Request &request, LastUses &uses, std::uint64_t base) const;
  void note_shared(Request &request);
  void note_shared(Request &request, unsigned lane, std::uint64_t offset);
  void note_mbarriers(Request &request, unsigned lane, std::uint64_t offset);
  void note_shared_written(Request &request, unsigned lane, std::uint64_t offset);

  struct Place {
    unsigned lane;
    bool shared;
    std::uint64_t address;  // for the report
    const std::byte *bytes;
  };
  void check_race(Request &request, LastUses &uses, std::uint64_t offset, const Place &place);
  void use(Request &request, LastUse &last, std::uint64_t unit, unsigned part, unsigned size,
           const Place &place);
  bool ordered(const Block &block, const Warp &warp, unsigned lane, Stamp then, bool shared) const;
  bool ordered_anyhow(const Block &block, const Warp &warp, unsigned lane, Stamp then,
                      bool shared) const;
  bool same_value(const Request &request, Stamp other, unsigned part, unsigned size,
                  const Place &place) const;
  void report_race(Request &request, const Place &place, unsigned part, unsigned size, Stamp other,
                   std::uint32_t other_place, bool other_write);
  void report_unwritten(Request &request, const Place &place);
  [[noreturn]] void fail(const Request &request, FaultKind kind, unsigned lane,
                         std::uint64_t address, Space space, std::string detail) const;

  LaunchState &launch_;
  Worker &worker_;
  std::vector<std::unique_ptr<View>> views_;  // by address
  std::vector<std::unique_ptr<View>> gone_;
  std::vector<View *> cached_;  // by Instruction::cache
  const bool accesses_, written_;
  const bool &races_;
  const WarpUses &warp_;
  Stamp me_ = 0;             // the stamp of the request's warp, without the lane
  std::uint32_t place_ = 0;  // the request's instruction
};

}  // namespace simcuda::kernel
