// SPDX-License-Identifier: BSD-3-Clause
// Where a thread must not wait for ends and frees that other threads run (order/running.hpp).
#pragma once

namespace cai {

// While one exists, those may wait for this thread, or need a lock that it holds.
class MustNotAwait {
 public:
  MustNotAwait() noexcept { ++depth; }
  MustNotAwait(const MustNotAwait &) = delete;
  MustNotAwait &operator=(const MustNotAwait &) = delete;
  ~MustNotAwait() { --depth; }
  static bool is_here() noexcept { return depth != 0; }

 private:
  constinit static inline thread_local int depth = 0;
};

}  // namespace cai
