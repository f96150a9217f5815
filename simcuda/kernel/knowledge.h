// SPDX-License-Identifier: BSD-3-Clause
// What the threads of a block know of each other: for each thread, the epoch before which
// everything it did comes before what they do now. After a barrier, a thread knows what all threads
// at the barrier did and knew.
//
// Flags and locks pass on this knowledge, too, as the memory model of PTX defines: a fence and then
// a strong write, or a write with .release, pass it to a thread that reads the same place by a
// strong read and then a fence, or by a read with .acquire.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace simcuda::kernel {

using LanesByWarp = std::array<std::uint32_t, 32>;
// For each thread of a block: all that it did in epochs before this one is known.
using Clock = std::vector<std::uint32_t>;

class Knowledge {
 public:
  explicit Knowledge(std::uint32_t warps);
  void begin();  // of another block
  // All threads know everything of each other.
  void meet_all(std::uint32_t epoch);
  // These threads know what each of them did before this epoch, and what is in `others`.
  void meet(const LanesByWarp &lanes, std::uint32_t epoch, const Clock &others);
  // Adds to `clock` what these threads know, and what they did before this epoch.
  void arrive(unsigned warp, std::uint32_t lanes, std::uint32_t epoch, Clock &clock) const;

  void fence(unsigned warp, std::uint32_t lanes, std::uint32_t epoch);
  // No thread has had a fence since the last common barrier, so only .release passes anything on.
  bool silent() const { return !fences_ && told_.empty(); }
  // These lanes have read a place that may be a flag.
  void read(unsigned warp, std::uint32_t lanes, std::uint64_t place, bool acquires);
  // These lanes have written there. Returns true if what they do from now on must be in another
  // epoch.
  bool wrote(unsigned warp, std::uint32_t lanes, std::uint64_t place, bool releases,
             std::uint32_t epoch);
  // These lanes pass on to `clock` what they would by writing. Returns the same.
  bool pass_on(unsigned warp, std::uint32_t lanes, bool releases, std::uint32_t epoch,
               Clock &clock) const;
  // Who reads this place from now on learns what is in `clock`.
  void leave(std::uint64_t place, const Clock &clock);

  bool knows(unsigned warp, unsigned lane, unsigned of_warp, unsigned of_lane,
             std::uint32_t epoch) const {
    if (epoch < whole_[warp * warps_ + of_warp]) return true;
    const Row *row = find(warp * 32 + lane, of_warp);
    return row && epoch < (*row)[of_lane];
  }

 private:
  using Row = std::array<std::uint32_t, 32>;  // of the lanes of a warp
  const Row *find(unsigned thread, unsigned of_warp) const {
    if (!(detailed_[thread / 32] >> of_warp & 1)) return nullptr;
    const std::uint32_t number = rows_of_[thread * warps_ + of_warp];
    return number ? &rows_[number - 1] : nullptr;
  }
  Row &row(unsigned thread, unsigned of_warp);
  void learn(unsigned thread, const Clock &clock);
  void learn_seen(unsigned warp, std::uint32_t lanes);
  void tell(unsigned warp, std::uint32_t lanes, Clock &clock) const;
  Clock &told(std::uint64_t place);
  // What a thread passes on by a write: all that it did before this epoch.
  std::uint32_t told_until(unsigned thread, bool releases, std::uint32_t epoch) const {
    return releases ? epoch + 1 : fenced_[thread];
  }
  // Those of the lanes that have anything to pass on.
  std::uint32_t telling(unsigned warp, std::uint32_t lanes, bool releases,
                        std::uint32_t epoch) const;

  const std::uint32_t warps_;
  std::vector<std::uint32_t> whole_;  // what all lanes of a warp know of all lanes of another one
  // What single threads know beyond that, if it differs.
  std::vector<Row> rows_;
  std::vector<std::uint32_t> rows_of_;   // number plus 1, by thread and warp
  std::vector<std::uint32_t> detailed_;  // by warp, the other warps for which some lane has a row
  std::uint32_t all_met_ = 0;            // the epoch of the last common barrier
  bool fences_ = false;                  // whether there were any since then
  std::vector<std::uint32_t> fenced_;    // by thread, the epoch of its last fence
  std::vector<std::vector<std::uint64_t>> seen_;   // by thread, places read since its fence
  std::unordered_map<std::uint64_t, Clock> told_;  // by place
};

}  // namespace simcuda::kernel
