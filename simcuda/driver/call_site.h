// SPDX-License-Identifier: BSD-3-Clause
// The call sites of driver calls in the client's code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simcuda {

constexpr std::size_t most_frames = 24;

struct Frame {
  std::string file;      // of Python source, or of the module
  std::uint64_t place;   // the line, or the offset in the module
  std::string function;  // or the nearest exported symbol; empty if there is none

  auto operator<=>(const Frame &) const = default;
};

// The innermost frame first.
struct CallSite {
  bool is_python;
  std::vector<const Frame *> frames;
};

// Many calls come from few sites, so each site has a number; 0: unknown.
using Site = std::uint64_t;

// The calling thread's call site. No lock may be held: this may ask Python.
Site find_call_site();
// The site's description; the site must not be 0.
const CallSite &call_site(Site site);
// The frames in the client's own code, at most four, the innermost first: "program.py:8 in main,
// from program.py:20 in <module>". If there are none, the innermost frame.
const std::string &told(Site site);

}  // namespace simcuda
