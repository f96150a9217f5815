// SPDX-License-Identifier: BSD-3-Clause
// Where in the client's code calls come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simcuda {

constexpr std::size_t most_frames = 24;

struct Frame {
  std::string file;      // of Python's source, or of the module
  std::uint64_t place;   // the line, or the offset in the module
  std::string function;  // or the nearest symbol that the module exports; empty if there is none

  auto operator<=>(const Frame &) const = default;
};

// The innermost frame first.
struct CallSite {
  bool is_python;
  std::vector<const Frame *> frames;
};

// Few places make many calls, so each has a number; 0: it is not known.
using Site = std::uint64_t;

// Where the calling thread calls this library. No lock may be held: Python may be asked.
Site find_call_site();
// The site stays; it may not be 0.
const CallSite &call_site(Site site);
// The frames in the client's own code, at most four, the innermost first: "program.py:8 in main,
// from program.py:20 in <module>". If there are none, the innermost of all.
const std::string &told(Site site);

}  // namespace simcuda
