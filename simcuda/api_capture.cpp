// SPDX-License-Identifier: BSD-3-Clause
// Stream capture as clients see it. Graphs cannot be run yet: see README.md.

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

int status_of(const Stream &stream) {
  if (!stream.capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->active ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

// Asking about the legacy stream while a blocking stream captures is refused, and harms nothing.
std::shared_ptr<Stream> probed(Session &s, CUstream handle) {
  auto stream = s.stream(handle);
  if (implicit_conflict(*stream)) throw Refused{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT};
  return stream;
}

struct CaptureInfo {
  int *status;
  std::uint64_t *id;
  CUgraph *graph = nullptr;
  const CUgraphNode **dependencies = nullptr;
  std::size_t *dependency_count = nullptr;
};

void get_info(Session &s, CUstream handle, const CaptureInfo &out) {
  auto stream = probed(s, handle);
  const int status = status_of(*stream);
  required(out.status) = status;
  const bool active = status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (out.id && active) *out.id = stream->capture->id;
  if (out.graph && active) *out.graph = stream->capture->graph->handle;
  if (!out.dependencies && !out.dependency_count) return;
  // Nodes have no handles that a client could use yet: their number is told, not they.
  if (out.dependencies) *out.dependencies = nullptr;
  if (out.dependency_count) *out.dependency_count = active ? stream->capture_tail.size() : 0;
}

}  // namespace

SIM_API CUresult cuStreamBeginCapture(CUstream stream) {
  return call(__func__, {stream},
              [&](Session &s) { begin_capture(s, stream, CU_STREAM_CAPTURE_MODE_GLOBAL); });
}

SIM_API CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  return call(__func__, {stream, mode}, [&](Session &s) { begin_capture(s, stream, mode); });
}

SIM_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  return call(__func__, {stream, graph}, [&](Session &s) {
    required(graph) = nullptr;
    return end_capture(s, stream, graph);
  });
}

SIM_API CUresult cuStreamIsCapturing(CUstream stream, int *status) {
  return call(__func__, {stream, status},
              [&](Session &s) { required(status) = status_of(*probed(s, stream)); });
}

SIM_API CUresult cuStreamGetCaptureInfo(CUstream stream, int *status, std::uint64_t *id) {
  return call(__func__, {stream, status, id},
              [&](Session &s) { get_info(s, stream, {status, id}); });
}

SIM_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int *status, std::uint64_t *id,
                                           CUgraph *graph, const CUgraphNode **dependencies,
                                           std::size_t *count) {
  return call(__func__, {stream, status, id, graph, dependencies, count},
              [&](Session &s) { get_info(s, stream, {status, id, graph, dependencies, count}); });
}

SIM_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int *status, std::uint64_t *id,
                                           CUgraph *graph, const CUgraphNode **dependencies,
                                           const void **edges, std::size_t *count) {
  return call(__func__, {stream, status, id, graph, dependencies, edges, count}, [&](Session &s) {
    if (edges) *edges = nullptr;
    get_info(s, stream, {status, id, graph, dependencies, count});
  });
}

SIM_API CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  return call(__func__, {mode}, [&](Session &s) {
    const int wanted = required(mode);
    if (wanted < CU_STREAM_CAPTURE_MODE_GLOBAL || wanted > CU_STREAM_CAPTURE_MODE_RELAXED)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    *mode = s.thread.capture_mode;
    s.thread.capture_mode = wanted;
  });
}

SIM_API CUresult cuGraphDestroy(CUgraph handle) {
  return call(__func__, {handle}, [&](Session &s) {
    s.driver.graphs.get(handle, CUDA_ERROR_INVALID_VALUE);
    s.driver.graphs.remove(handle);
  });
}
