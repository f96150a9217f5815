// SPDX-License-Identifier: BSD-3-Clause
#include "capture.h"

#include <algorithm>

namespace simcuda {
namespace {

bool is_capturing(const Stream &stream) {
  return stream.capture != nullptr;
}

// Whether the last nodes of some streams all lead to these nodes.
bool all_lead_to(std::vector<GraphNodePtr> todo,
                 const std::vector<std::shared_ptr<Stream>> &streams) {
  std::set<const GraphNode *> reached;
  while (!todo.empty()) {
    const auto node = std::move(todo.back());
    todo.pop_back();
    if (reached.insert(node.get()).second)
      todo.insert(todo.end(), node->depends_on.begin(), node->depends_on.end());
  }
  return std::all_of(streams.begin(), streams.end(), [&](auto &stream) {
    return std::all_of(stream->capture_tail.begin(), stream->capture_tail.end(),
                       [&](auto &node) { return reached.contains(node.get()); });
  });
}

// From here on its streams are ordinary streams.
void end(Capture &capture) {
  capture.ended = true;
  std::erase(driver()->captures, &capture);
  capture.graph->capturing = false;
  for (auto &member : capture.streams) {
    member->capture = nullptr;
    member->capture_tail.clear();
  }
  if (!capture.active) destroy_graph(*driver(), *capture.graph);  // may be a client's graph, too
  capture.streams.clear();
  capture.origin = nullptr;
}

}  // namespace

void join_tails(std::vector<GraphNodePtr> &into, const std::vector<GraphNodePtr> &from) {
  for (auto &node : from)
    if (std::find(into.begin(), into.end(), node) == into.end()) into.push_back(node);
}

void invalidate(Capture &capture) {
  capture.active = false;
}

void refuse_capturing(Stream &stream) {
  if (!is_capturing(stream)) return;
  const bool was_active = stream.capture->active;
  invalidate(*stream.capture);
  throw Refused{was_active ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                           : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
}

namespace {

// Captures of blocking streams of this context.
std::vector<Capture *> captures_of_blocking(const Context &context) {
  std::vector<Capture *> found;
  for (auto &capture : driver()->captures) {
    const auto &members = capture->streams;
    if (std::any_of(members.begin(), members.end(), [&](auto &member) {
          return member->blocking() && member->context.get() == &context;
        }))
      found.push_back(capture);
  }
  return found;
}

}  // namespace

bool implicit_conflict(const Stream &stream) {
  if (stream.kind != Stream::Kind::legacy) return false;
  return !captures_of_blocking(*stream.context).empty();
}

void refuse_implicit(Stream &stream) {
  if (!implicit_conflict(stream)) return;
  for (auto *capture : captures_of_blocking(*stream.context)) invalidate(*capture);
  throw Refused{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT};
}

void refuse_unsafe(Session &session) {
  const int mode = session.thread.capture_mode;
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  for (auto *capture : session.driver.captures) {
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    const bool own = capture->thread == &session.thread;
    const bool global =
        capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!own && !global) continue;
    invalidate(*capture);
    throw Refused{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
  }
}

void refuse_context_sync(Session &session, const Context &context) {
  bool found = false;
  for (auto *capture : session.driver.captures) {
    for (auto &stream : capture->streams) {
      if (!stream->context->is_within(context)) continue;
      invalidate(*capture);
      found = true;
    }
  }
  if (found) throw Refused{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
}

void begin_capture(Session &session, CUstream handle, int mode, const std::shared_ptr<Graph> &graph,
                   std::vector<GraphNodePtr> dependencies) {
  auto stream = session.stream(handle);
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (stream->kind == Stream::Kind::legacy) throw Refused{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
  if (is_capturing(*stream)) throw Refused{CUDA_ERROR_ILLEGAL_STATE};
  auto capture = std::make_shared<Capture>();
  capture->id = ++session.driver.last_capture_id;
  capture->mode = mode;
  capture->thread = &session.thread;
  capture->origin = stream.get();
  capture->streams = {stream};
  // Its handle can be queried during the capture.
  capture->graph = graph ? graph : new_graph(session.driver);
  capture->graph->capturing = true;
  stream->capture = capture;
  stream->capture_tail = std::move(dependencies);
  session.driver.captures.push_back(capture.get());
}

CUresult end_capture(Session &session, CUstream handle, CUgraph *graph) {
  auto stream = session.stream(handle);
  if (!is_capturing(*stream)) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = stream->capture;
  if (capture->origin != stream.get()) {
    invalidate(*capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  CUresult result = CUDA_SUCCESS;
  if (!capture->active)
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  else if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != &session.thread)
    result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  else if (capture->lost_work || !all_lead_to(capture->origin->capture_tail, capture->streams))
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (result != CUDA_SUCCESS) invalidate(*capture);
  end(*capture);
  *graph = result == CUDA_SUCCESS ? capture->graph->handle : nullptr;
  return result;
}

void leave_capture(const std::shared_ptr<Stream> &stream) {
  const auto capture = stream->capture;
  if (!capture) return;
  if (capture->origin == stream.get()) {
    invalidate(*capture);
    end(*capture);
    return;
  }
  std::erase(capture->streams, stream);
  stream->capture = nullptr;
  std::vector<GraphNodePtr> others;
  for (auto &other : capture->streams) join_tails(others, other->capture_tail);
  if (!all_lead_to(others, {stream})) capture->lost_work = true;
}

GraphNodePtr capture_operation(Stream &stream, Operation &&operation) {
  Capture &capture = *stream.capture;
  if (!capture.active) throw Refused{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  auto node =
      add_node(*driver(), *capture.graph, stream.capture_tail, node_work(std::move(operation)));
  stream.capture_tail = {node};
  return node;
}

CUdeviceptr capture_allocation(Session &session, Stream &stream, const Pool &pool,
                               std::size_t bytes) {
  if (!stream.capture->active) throw Refused{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  parameters.poolProps.allocType = pool.kind == MemoryKind::managed ? CU_MEM_ALLOCATION_TYPE_MANAGED
                                                                    : CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters.poolProps.location = {
      pool.kind == MemoryKind::host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
      pool.device};
  parameters.bytesize = bytes;
  stream.capture_tail = {
      add_allocation(session, *stream.capture->graph, stream.capture_tail, parameters)};
  return parameters.dptr;
}

void capture_free(Stream &stream, const AllocationPtr &allocation) {
  if (!stream.capture->active) throw Refused{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  stream.capture_tail = {add_free(*stream.capture->graph, stream.capture_tail, allocation)};
}

void capture_external(Stream &stream, const char *what, const std::shared_ptr<Event> &event) {
  Operation operation;
  operation.what = what;
  capture_operation(stream, std::move(operation))->event = event;
}

void capture_record(Stream &stream, Event &event) {
  if (!stream.capture->active) throw Refused{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  event.recorded = nullptr;
  event.capture = stream.capture;
  event.capture_tail = stream.capture_tail;
}

bool capture_wait(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Event> &event,
                  unsigned flags) {
  const bool inside = is_capturing(*stream);
  if (!inside && !event->capture) return false;
  if (inside && !stream->capture->active) throw Refused{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  if (event->capture && !event->capture->is_active()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (inside && !event->capture) {
    if (!(flags & CU_EVENT_WAIT_EXTERNAL)) {
      if (!event->recorded && !event->recorded_elsewhere())
        return true;  // there is nothing to wait for
      invalidate(*stream->capture);
      throw Refused{CUDA_ERROR_STREAM_CAPTURE_ISOLATION};
    }
    capture_external(*stream, "event wait", event);
    return true;
  }
  if (inside && event->capture != stream->capture) {
    invalidate(*stream->capture);
    invalidate(*event->capture);
    throw Refused{CUDA_ERROR_STREAM_CAPTURE_MERGE};
  }
  if (!inside) {
    if (stream->kind == Stream::Kind::legacy) {
      invalidate(*event->capture);
      throw Refused{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT};
    }
    stream->capture = event->capture;  // the fork: this stream captures from here on
    stream->capture->streams.push_back(stream);
    stream->capture_tail.clear();
  }
  join_tails(stream->capture_tail, event->capture_tail);
  return true;
}

}  // namespace simcuda
