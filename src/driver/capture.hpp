// SPDX-License-Identifier: BSD-3-Clause
// Graph capture: who is capturing is asked before anything is done, and no call made here may spoil
// the capture of somebody else.
#pragma once

#include "driver/faults.hpp"

namespace cai::driver {

// While it lives, this thread may make the calls that a capture forbids as "potentially unsafe":
// creating, destroying and querying what belongs to no capture is safe.
class Relaxed {
 public:
  Relaxed(const Driver &cu, Faults &faults);
  Relaxed(const Relaxed &) = delete;
  Relaxed &operator=(const Relaxed &) = delete;
  ~Relaxed() { restore(); }

  void restore() noexcept;

 private:
  const Driver &cu_;
  Faults &faults_;
  CUstreamCaptureMode mode_ = capture_mode_relaxed;  // the thread's own, once exchanged
  bool active_ = false;
};

// The capture that a stream is in.
struct Capture {
  std::uint64_t id = 0;  // 0: none
  CUgraph graph = nullptr;

  explicit operator bool() const noexcept { return id != 0; }
};

// Asks without harm. Throws CAI_ERR_CAPTURE if the capture was invalidated, and for the legacy
// stream while a blocking stream of the current context is being captured. For 1 and 2, their
// context must be current.
Capture capture_of(const Driver &cu, std::uint64_t stream);

}  // namespace cai::driver
