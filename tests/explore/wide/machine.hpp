// SPDX-License-Identifier: BSD-3-Clause
// What stays from program to program: the streams, and the memory.
#pragma once

#include "driver.hpp"

namespace wide {

enum { kLegacy, kPerThread, kFirstHandle, kStreams = 8 };  // two blocking, four non-blocking
constexpr bool is_blocking(int stream) {
  return stream >= kPerThread && stream < kFirstHandle + 2;
}
inline constexpr const char *kStreamNames[kStreams] = {"1",  "2",  "B1", "B2",
                                                       "N1", "N2", "N3", "N4"};
inline constexpr int kBlocks = 3;
inline constexpr std::size_t kBytes = 2;  // and as many for a mask

struct Machine {
  Handle streams[kStreams];
  Handle free_stream = nullptr;  // on which memory is written once it is free
  Address blocks[kBlocks];
  Address scratch = 0;

  Machine();
  void make_stream(int i);
  std::uint64_t value(int stream) const {
    return reinterpret_cast<std::uintptr_t>(streams[stream]);
  }
};

Machine &machine();

}  // namespace wide
