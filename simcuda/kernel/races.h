// SPDX-License-Identifier: BSD-3-Clause
// Races between the threads of one launch: two uses of the same bytes, one of them a write, without
// an order between them. A warp has a number for each interval between two events that order
// threads. The last user of four bytes is stored as that number and the lane.
//
// Two kinds of uses are ordered: those of threads of a block that know of each other (knowledge.h),
// and those of two blocks if one does an atomic operation, a fence or a strong store, and the other
// later an atomic operation or a strong load, at any address. The latter is more than the memory
// model guarantees: this may miss a race, but reports no false one.
#pragma once

#include <vector>

#include "byte_set.h"
#include "instruction.h"

namespace simcuda::kernel {

// Bits: the lane in 0 to 4, a flag, then the number of a warp's interval. 0: no thread.
using Stamp = std::uint32_t;
inline constexpr Stamp stamp_flag = 32;
inline constexpr unsigned stamp_shift = 6;
inline constexpr Stamp last_interval = (Stamp{1} << 26) - 1;
// For copies (cp.async) of a warp that were not waited for: no use comes after them.
constexpr Stamp copying(unsigned warp) {
  return last_interval - warp;
}
constexpr bool is_copying(Stamp interval) {
  return interval > last_interval - 32;
}

// The last users of some units of memory, and their instructions, counted over the module. In
// separate arrays, so that the 32 units of a warp can be compared together.
struct LastUse {
  Stamp *writer = nullptr;  // flag: by a strong or atomic operation
  Stamp *reader = nullptr;  // flag: others have read, too
  std::uint32_t *writer_place = nullptr, *reader_place = nullptr;
};

// The last uses of a range of memory: of four bytes each, or of single bytes in pages where single
// bytes are used.
class LastUses {
 public:
  bool empty() const { return !words.writer; }
  void reserve(std::uint64_t size);
  bool by_bytes(std::uint64_t offset) const { return split_[offset >> page_shift]; }
  bool by_words(std::uint64_t begin, std::uint64_t end) const;
  void split(std::uint64_t offset);

  LastUse words, bytes;

 private:
  static constexpr unsigned page_shift = 12;
  Zeros memory_, byte_memory_;
  std::uint8_t *split_ = nullptr;
  std::uint64_t size_ = 0;
};

// The use by a warp of the words `index` of its lanes, all of them active. `me` is the stamp of
// lane 0. Stamps from `floor` up to `full_floor` come before. Returns false, having recorded
// nothing, if each lane must be checked.
struct WarpUse {
  const std::uint32_t *index;
  Stamp me, floor, full_floor;
  std::uint32_t place;
};
struct WarpUses {
  bool (*load)(LastUse &, const WarpUse &);
  bool (*store)(LastUse &, const WarpUse &);  // no two lanes to one word
};
const WarpUses &warp_uses();

// The user that a stamp names.
struct Interval {
  std::uint64_t block = 0;  // counted over the grid
  std::uint32_t epoch = 0;  // of its block
  std::uint32_t warp = 0;
};

// The intervals of all blocks of a launch, and when each block released what it did.
class Intervals {
 public:
  explicit Intervals(std::uint32_t warps) : warps_(warps) {}
  // Returns the first of `epochs` times the block's number of warps; 0: there are no more.
  Stamp reserve(std::uint64_t block, std::uint32_t first_epoch, std::uint32_t epochs);
  // Of an interval that was reserved.
  Interval find(Stamp interval) const;
  // Once in an epoch.
  void release(std::uint64_t block, std::uint32_t epoch);
  std::uint64_t acquire();
  // Whether what this block did in this epoch was released by that time.
  bool released_before(std::uint64_t block, std::uint32_t epoch, std::uint64_t time) const;

 private:
  struct Stretch {
    Stamp first;
    std::uint32_t epoch;
    std::uint64_t block;
  };
  struct Release {
    std::uint32_t epoch;
    std::uint64_t time;
  };
  const std::uint32_t warps_;
  Stamp next_ = 1;
  std::uint64_t time_ = 0;
  std::vector<Stretch> stretches_;
  std::map<std::uint64_t, std::vector<Release>> releases_;
};

}  // namespace simcuda::kernel
