// SPDX-License-Identifier: BSD-3-Clause
#include "driver/capture.hpp"

#include <cinttypes>

namespace cai::driver {

Relaxed::Relaxed(const Driver &cu, Faults &faults) : cu_(cu), faults_(faults) {
  call(cu_.cuThreadExchangeStreamCaptureMode, &mode_);
  active_ = true;
}

void Relaxed::restore() noexcept {
  if (!active_) return;
  active_ = false;
  CUstreamCaptureMode mode = mode_;
  if (!faults_.attempt(cu_.cuThreadExchangeStreamCaptureMode, &mode)) {
    // The failure is noted. It may be an older one that surfaced here, so this tries again: to
    // request the same mode twice is harmless.
    mode = mode_;
    (void)cu_.cuThreadExchangeStreamCaptureMode(&mode);
  }
}

std::vector<CUgraphNode> dependencies_of(const Driver &cu, std::uint64_t stream) {
  CUstreamCaptureStatus status = capture_none;
  std::uint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode *nodes = nullptr;
  std::size_t count = 0;
  call(cu.cuStreamGetCaptureInfo, stream_handle(stream), &status, &id, &graph, &nodes, &count);
  return {nodes, nodes + count};
}

void add_dependencies(const Driver &cu, std::uint64_t stream, std::vector<CUgraphNode> &nodes) {
  constexpr unsigned add = 0;  // CU_STREAM_ADD_CAPTURE_DEPENDENCIES
  call(cu.cuStreamUpdateCaptureDependencies, stream_handle(stream), nodes.data(), nodes.size(),
       add);
}

namespace {

// Whether a green context is current, which has no stream 2.
bool is_without_per_thread(const Driver &cu) noexcept {
  CUcontext context = nullptr;
  return cu.cuStreamGetCtx(stream_handle(stream_per_thread), &context) == error_invalid_handle;
}

}  // namespace

void fail_capture(const Driver &cu, std::uint64_t stream, CUresult result) {
  if (result == error_capture_implicit) {
    throw Failure(
        CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, -1, result},
        "stream 0x%" PRIx64
        " cannot be used: a blocking stream of its context is being captured into a graph",
        stream);
  }
  if (result == error_invalid_handle && stream == stream_per_thread && is_without_per_thread(cu)) {
    throw Failure(CAI_ERR_ARGUMENT, {CAI_ENTRY_STREAM, -1, result},
                  "stream 2, the calling thread's, does not exist in the current green context: "
                  "use one of its streams, or 1");
  }
  if (result != success) fail_call(cu.cuStreamGetCaptureInfo.name, result);
  fail_invalidated(stream, result);
}

void fail_invalidated(std::uint64_t stream, CUresult result) {
  throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, -1, result},
                "stream 0x%" PRIx64 " belongs to a capture that was invalidated", stream);
}

}  // namespace cai::driver
