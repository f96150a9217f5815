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
  // The block has ended.
  void forget(LastUses &uses);

 private:
  struct Copy {
    Stamp stamp;
    std::uint32_t offset, size, group;
  };
  template <class F>
  void end(LastUses &uses, F which, Stamp now);

  std::vector<Copy> begun_;
  std::array<std::uint32_t, 32> groups_{};  // for each lane, how many
};

}  // namespace simcuda::kernel
