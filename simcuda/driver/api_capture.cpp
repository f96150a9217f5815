// SPDX-License-Identifier: BSD-3-Clause
// The public calls of stream capture.

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

int status_of(const Stream &stream) {
  if (!stream.capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->active ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

// Querying the legacy stream while a blocking stream captures fails, and harms nothing.
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
  const CUgraphEdgeData **edges = nullptr;
  std::size_t *dependency_count = nullptr;
};

void get_info(Session &s, CUstream handle, const CaptureInfo &out) {
  auto stream = probed(s, handle);
  const int status = status_of(*stream);
  required(out.status) = status;
  const bool active = status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (out.id && active) *out.id = stream->capture->id;
  if (out.graph && active) *out.graph = stream->capture->graph->handle;
  if (!active) return;
  // The client may read these until its next call on the stream.
  stream->told_dependencies.clear();
  for (auto &node : stream->capture_tail) stream->told_dependencies.push_back(node->handle);
  stream->told_edges.assign(stream->capture_tail.size(), CUgraphEdgeData{});
  if (out.dependencies) *out.dependencies = stream->told_dependencies.data();
  if (out.edges) *out.edges = stream->told_edges.data();
  if (out.dependency_count) *out.dependency_count = stream->capture_tail.size();
}

void update_dependencies(Session &s, CUstream handle, const CUgraphNode *dependencies,
                         const CUgraphEdgeData *edges, std::size_t count, unsigned flags) {
  auto stream = s.stream(handle);
  if (!stream->capture) throw Refused{CUDA_ERROR_ILLEGAL_STATE};
  if (!stream->capture->active) throw Refused{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES && flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  check_edges(edges, count);
  auto nodes = nodes_of(s, *stream->capture->graph, dependencies, count);
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    stream->capture_tail = std::move(nodes);
  else
    join_tails(stream->capture_tail, nodes);
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
  return call(__func__, {stream, status, id, graph, dependencies, count}, [&](Session &s) {
    get_info(s, stream, {status, id, graph, dependencies, nullptr, count});
  });
}

SIM_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int *status, std::uint64_t *id,
                                           CUgraph *graph, const CUgraphNode **dependencies,
                                           const CUgraphEdgeData **edges, std::size_t *count) {
  return call(__func__, {stream, status, id, graph, dependencies, edges, count}, [&](Session &s) {
    if (edges && !dependencies) throw Refused{CUDA_ERROR_INVALID_VALUE};
    get_info(s, stream, {status, id, graph, dependencies, edges, count});
  });
}

SIM_API CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies,
                                                   std::size_t count, unsigned flags) {
  return call(__func__, {stream, dependencies, count, flags}, [&](Session &s) {
    update_dependencies(s, stream, dependencies, nullptr, count, flags);
  });
}

SIM_API CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *dependencies,
                                                      const CUgraphEdgeData *edges,
                                                      std::size_t count, unsigned flags) {
  return call(__func__, {stream, dependencies, edges, count, flags}, [&](Session &s) {
    update_dependencies(s, stream, dependencies, edges, count, flags);
  });
}

SIM_API CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle,
                                             const CUgraphNode *dependencies,
                                             const CUgraphEdgeData *edges, std::size_t count,
                                             int mode) {
  return call(__func__, {stream, handle, dependencies, edges, count, mode}, [&](Session &s) {
    auto graph = s.driver.graphs.get(handle, CUDA_ERROR_INVALID_VALUE);
    if (graph->capturing) throw Refused{CUDA_ERROR_INVALID_VALUE};
    check_edges(edges, count);
    begin_capture(s, stream, mode, graph, nodes_of(s, *graph, dependencies, count));
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
