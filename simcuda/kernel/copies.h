// SPDX-License-Identifier: BSD-3-Clause
// What cp.async of a warp has not been waited for. The bytes are there at once, but a thread that
// uses them before the thread that copies has waited races with the copy; then they are as if it
// had stored them.
#pragma once

#include <array>
#include <vector>

#include "races.h"

namespace simcuda::kernel {

class Copies {
 public:
  // The lane has begun to copy to these bytes of shared memory.
  void begin(LastUses &uses, unsigned warp, unsigned lane, std::uint64_t offset, unsigned size);
  // What the lanes have begun is a group.
  void commit(std::uint32_t lanes);
  // These lanes wait for all of their groups but the last so many. `now` is lane 0's stamp.
  void wait(LastUses &uses, std::uint32_t lanes, std::uint32_t but, Stamp now);
  // They wait for all, and for what is in no group.
  void wait_all(LastUses &uses, std::uint32_t lanes, Stamp now);
  // The block is over.
  void forget(LastUses &uses);

 private:
  struct Copy {
    Stamp stamp;
    std::uint32_t offset, size, group;
  };
  template <class F>
  void end(LastUses &uses, F which, Stamp now);

  std::vector<Copy> begun_;
  std::array<std::uint32_t, 32> groups_{};  // of each lane, how many
};

}  // namespace simcuda::kernel
