// SPDX-License-Identifier: BSD-3-Clause
// Stream capture: the streams in a capture, the nodes they have recorded, and what is forbidden
// during one.
#pragma once

#include "graph.h"

namespace simcuda {

struct Capture {
  std::uint64_t id = 0;
  int mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool active = true;      // false once it has been invalidated
  bool lost_work = false;  // for a stream that was destroyed and not joined
  bool ended = false;
  const ThreadState *thread = nullptr;
  Stream *origin = nullptr;                      // only compared
  std::vector<std::shared_ptr<Stream>> streams;  // the origin and all streams that joined
  std::shared_ptr<Graph> graph;

  bool is_active() const { return active && !ended; }
};

// Captures into a new graph, or after these nodes of a client's graph.
void begin_capture(Session &session, CUstream handle, int mode,
                   const std::shared_ptr<Graph> &graph = nullptr,
                   std::vector<GraphNodePtr> dependencies = {});
CUresult end_capture(Session &session, CUstream handle, CUgraph *graph);

// The stream is destroyed, and with it any capture that it is in, unless other streams joined it.
void leave_capture(const std::shared_ptr<Stream> &stream);

// Adds work to the stream's capture. The stream must be in one.
GraphNodePtr capture_operation(Stream &stream, Operation &&operation);
// A stream-ordered allocation or free on a capturing stream.
CUdeviceptr capture_allocation(Session &session, Stream &stream, const Pool &pool,
                               std::size_t bytes);
void capture_free(Stream &stream, const AllocationPtr &allocation);
void capture_record(Stream &stream, Event &event);
// A record or a wait that uses the event at each launch.
void capture_external(Stream &stream, const char *what, const std::shared_ptr<Event> &event);
// A wait of this stream for this event, if either is captured. Returns true if nothing more needs
// to be done.
bool capture_wait(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Event> &event,
                  unsigned flags);

void join_tails(std::vector<GraphNodePtr> &into, const std::vector<GraphNodePtr> &from);
void invalidate(Capture &capture);
// For a call that a capturing stream does not allow: fails with 900 and ends the capture.
void refuse_capturing(Stream &stream);
// Work on the legacy stream fails with 906 while a blocking stream of its context captures.
void refuse_implicit(Stream &stream);
bool implicit_conflict(const Stream &stream);
// "Potentially unsafe" calls: allocations, frees, event queries.
void refuse_unsafe(Session &session);
// Calls that wait for a whole context.
void refuse_context_sync(Session &session, const Context &context);

}  // namespace simcuda
