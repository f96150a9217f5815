// SPDX-License-Identifier: BSD-3-Clause
// The copies by cp.async of a warp that were not waited for. The bytes are copied at once, but a
// use before the copying thread has waited races with the copy. After the wait they count as stored
// by that thread.
#pragma once

#include <array>
#include <vector>

#include "races.h"

namespace simcuda::kernel {

class Copies {
 public:
  // The lane has begun to copy to these bytes of shared memory.
  void begin(LastUses &uses, unsigned warp, unsigned lane, std::uint64_t offset, unsigned size);
  // Makes a group of the copies that the lanes have begun.
  void commit(std::uint32_t lanes);
  // These lanes wait for all of their groups except the last `left`. `now` is lane 0's stamp.
  void wait(LastUses &uses, std::uint32_t lanes, std::uint32_t but, Stamp now);
  // The same for all groups, and for copies in no group.
  void wait_all(LastUses &uses, std::uint32_t lanes, Stamp now);
  // An mbarrier tracks what the lanes have begun by now, in this epoch: once a thread has waited
  // for it, that counts as stored now. `now` is lane 0's stamp.
  void track(std::uint32_t lanes, Stamp now, std::uint32_t epoch);
  // A thread has waited for what was tracked in epochs before these, by lane.
  void end_tracked(LastUses &uses, const std::uint32_t *until);
  // The block has ended.
  void forget(LastUses &uses);

 private:
  struct Copy {
    Stamp stamp;
    std::uint32_t offset, size, group;
    Stamp tracked = 0;  // the copying thread's stamp then; 0: by no mbarrier
    std::uint32_t tracked_in = 0;
  };
  static auto stored_when_waited(Stamp now);
  template <class F, class G>
  void end(LastUses &uses, F which, G stored_by);

  std::vector<Copy> begun_;
  std::array<std::uint32_t, 32> groups_{};  // for each lane, how many
};

}  // namespace simcuda::kernel
