// SPDX-License-Identifier: BSD-3-Clause
// Graph capture: captures are checked before anything is done, and no call made here may ruin a
// capture of other code.
#pragma once

#include <vector>

#include "driver/faults.hpp"

namespace cai::driver {

// While one exists, this thread may make the calls that a capture forbids as "potentially unsafe":
// to create, destroy and query what belongs to no capture is safe.
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
  CUstreamCaptureMode mode_ = capture_mode_relaxed;  // the thread's own mode, once exchanged
  bool active_ = false;
};

// The capture that a stream is in.
struct Capture {
  std::uint64_t id = 0;  // 0: none
  CUgraph graph = nullptr;

  explicit operator bool() const noexcept { return id != 0; }
};

// Throws the failure of a query of a stream's capture: that the capture was invalidated, if the
// driver's status is success; CAI_ERR_ARGUMENT for 2 if a green context is current.
[[noreturn, gnu::cold]] void fail_capture(const Driver &cu, std::uint64_t stream, CUresult result);

// Throws that the stream's capture was invalidated. `result`: of the call that has found it.
[[noreturn, gnu::cold]] void fail_invalidated(std::uint64_t stream, CUresult result);

// Queries a stream without affecting its capture. Throws CAI_ERR_CAPTURE if the capture was
// invalidated, and for the legacy stream while a blocking stream of the current context is being
// captured. For 1 and 2, their context must be current.
inline Capture capture_of(const Driver &cu, std::uint64_t stream) {
  CUstreamCaptureStatus status = capture_none;
  Capture capture;
  const CUresult result = cu.cuStreamGetCaptureInfo(stream_handle(stream), &status, &capture.id,
                                                    &capture.graph, nullptr, nullptr);
  if (result == success && status == capture_none) return {};
  if (result != success || status != capture_active) fail_capture(cu, stream, result);
  return capture;
}

// The nodes that the next node captured on the stream will depend on.
std::vector<CUgraphNode> dependencies_of(const Driver &cu, std::uint64_t stream);

// Adds nodes that the next node captured on the stream will depend on.
void add_dependencies(const Driver &cu, std::uint64_t stream, std::vector<CUgraphNode> &nodes);

}  // namespace cai::driver
