// SPDX-License-Identifier: BSD-3-Clause
// The mbarriers of a block. What one counts is kept beside shared memory: PTX leaves open what its
// eight bytes hold.
#pragma once

#include <cstdint>
#include <map>

#include "knowledge.h"

namespace simcuda::kernel {

struct Mbarrier {
  static constexpr std::uint32_t most = (1 << 20) - 1;  // of each of its counts
  static constexpr unsigned bits_of_count = 20;

  // What an arrival returns: the phase, and how many arrivals it expected until then.
  std::uint64_t state() const { return phase << bits_of_count | pending; }
  static std::uint64_t phase_of(std::uint64_t state) { return state >> bits_of_count; }
  static std::uint32_t pending_of(std::uint64_t state) { return state & most; }
  // Whether all that the current phase waits for has come.
  bool is_met() const { return pending == 0 && transactions == 0; }
  void begin_phase() {
    ++phase;
    pending = expected;
  }

  std::uint32_t expected = 0, pending = 0;  // arrivals: in each phase, and still in this one
  std::uint64_t phase = 0;                  // how many phases are complete
  std::int64_t transactions = 0;
  // What those who have arrived in this phase did before, and the threads whose copies (cp.async)
  // arrive in it; the copies of complete phases, until a thread has waited for one.
  Clock arrived, copied, copies_to_end;
};

class Mbarriers {
 public:
  static constexpr std::uint64_t size = 8;  // bytes of each, which lies at a multiple of that

  Mbarrier *find(std::uint64_t offset) {
    const auto found = by_offset_.find(offset);
    return found == by_offset_.end() ? nullptr : &found->second;
  }
  void put(std::uint64_t offset, std::uint32_t expected);
  void erase(std::uint64_t offset);
  void clear();
  // Whether some of them may have bytes in a range.
  bool near(std::uint64_t begin, std::uint64_t end) const { return begin < end_ && end > begin_; }
  // Of a range near them: the first that has bytes there, or no_offset.
  static constexpr std::uint64_t no_offset = ~std::uint64_t{};
  std::uint64_t first_in(std::uint64_t begin, std::uint64_t end) const;

 private:
  void find_ends();

  std::map<std::uint64_t, Mbarrier> by_offset_;
  std::uint64_t begin_ = 0, end_ = 0;  // of all of them
};

}  // namespace simcuda::kernel
