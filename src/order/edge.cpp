// SPDX-License-Identifier: BSD-3-Clause
#include "order/edge.hpp"

#include <cinttypes>
#include <memory>

#include "order/trace.hpp"

namespace cai::order {
namespace {

[[noreturn]] void fail_captured(const Stream &capturing, const Stream &other,
                                const char *what_to_do) {
  throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, -1, 0},
                "stream 0x%" PRIx64 " is being captured into a graph, stream 0x%" PRIx64 " %s",
                capturing.value, other.value, what_to_do);
}

// What a graph holds. The driver runs the destructor on a thread of its own.
struct Destruction {
  void (*destroy)(void *context);  // null: cancelled
  void *context;
};

void destroy_held(void *argument) {
  const std::unique_ptr<Destruction> held(static_cast<Destruction *>(argument));
  if (held->destroy) held->destroy(held->context);
}

// For the trace. `is_there`: the pool's event is already recorded.
const char *text_of(const Stream &from, const Stream &to, Edge edge, bool is_there) noexcept {
  switch (edge) {
    case Edge::none:
      if (to.capture) return "left out (nothing is pending there, so the graph need not wait)";
      if (from.capture) return "left out (that work is in a graph, and not pending)";
      return trace::by_legacy;
    case Edge::event:
      if (is_there) return "made: the same event waited for (work may be pending there)";
      return "made: event recorded and waited for (work may be pending there)";
    case Edge::within:
      return "made: graph edge (both are in one capture)";
    case Edge::external:
      return "made: each launch of the graph waits for an event (CAI_USE_EXTERNAL)";
  }
  return "";
}

}  // namespace

Edge edge_between(driver::Session &session, Stream &from, Stream &to, Way way, uint32_t flags) {
  if (!from.capture && !to.capture) {
    // The driver orders later work on that stream, but not a host that waits for the stream now.
    // The owner keeps what comes before stream 1 until it is told.
    const bool is_awaited =
        way == Way::told || (way != Way::forth && from.value == driver::stream_legacy);
    return !is_awaited && implicitly_ordered(session, from, to) ? Edge::none : Edge::event;
  }
  if (from.capture && to.capture) {
    if (from.capture.id == to.capture.id) return Edge::within;
    fail_captured(from, to, "into another: nothing can order the two");
  }
  if (to.capture && way != Way::back) {
    // Completed work needs no order. Where the graph is launched is the caller's responsibility.
    if (is_idle(session, from)) return Edge::none;
    if (flags & CAI_USE_EXTERNAL) return Edge::external;
    fail_captured(to, from,
                  flags & takes_flags
                      ? "is not, and has work pending: wait for it before the capture, or "
                        "say CAI_USE_EXTERNAL"
                      : "is not, and has work pending: wait for it before the capture");
  }
  if (from.capture && way == Way::back) return Edge::none;  // the work is in the graph, not pending
  // At an end the work is already queued, so no other capture can include it.
  if (way == Way::back) fail_captured(to, from, "is not: try again once the capture has ended");
  fail_captured(from, to,
                flags & takes_flags
                    ? "is not: capture it too, or say CAI_USE_FORK"
                    : "is not: capture it too, or try again once the capture has ended");
}

void order(driver::Session &session, Stream &from, Stream &to, Edge edge, Event &event) {
  const char *const text = trace::on() ? text_of(from, to, edge, bool(event)) : "";
  switch (edge) {
    case Edge::none:
      break;
    case Edge::event:
      if (!event) event = Event::record(session, from);
      wait(session, to, event.handle());
      break;
    case Edge::within: {
      // An event recorded in a capture must not be used again. Each edge uses its own event: a
      // capture need not be fast.
      Event captured = Event::record(session, from);
      try {
        wait(session, to, captured.handle());
      } catch (...) {
        captured.destroy(session);
        throw;
      }
      captured.destroy(session);
      break;
    }
    case Edge::external: {
      Event outside = Event::record(session, from);
      PooledEvent *const node = outside.node();
      give_to_graph(
          session, to.capture,
          [](void *condemned) { condemn(static_cast<PooledEvent *>(condemned)); }, node);
      const driver::CUevent handle = outside.handle();
      outside.let_go();
      wait(session, to, handle, driver::event_wait_external);
      break;
    }
  }
  trace::edge({from.index >= 0 ? from.index : to.index}, trace::stream(to.value),
              trace::stream(from.value), text);
}

void wait(driver::Session &session, Stream &stream, driver::CUevent event, uint32_t flags) {
  with(session, stream, [&] {
    const driver::CUresult result = session.cu.cuStreamWaitEvent(stream.handle(), event, flags);
    if (result == driver::success) return;
    // Either of them may be an invalid handle.
    const cai_error error = driver::failure_of(session.cu.cuStreamWaitEvent.name, result);
    throw Failure(error.status, {0, -1, result}, "%s: stream 0x%" PRIx64 ", event 0x%" PRIxPTR,
                  error.message, stream.value, reinterpret_cast<std::uintptr_t>(event));
  });
}

bool is_idle(driver::Session &session, Stream &stream) {
  session.use_relaxed_mode();
  driver::CUresult result = driver::success;
  with(session, stream, [&] {
    result = session.cu.cuStreamQuery(stream.handle());
    if (result != driver::success && result != driver::error_not_ready) {
      driver::fail_call(session.cu.cuStreamQuery.name, result);
    }
  });
  return result == driver::success;
}

bool is_pending(driver::Session &session, driver::CUevent event) {
  session.use_relaxed_mode();
  const driver::CUresult result = session.cu.cuEventQuery(event);
  if (result != driver::success && result != driver::error_not_ready) {
    driver::fail_call(session.cu.cuEventQuery.name, result);
  }
  return result == driver::error_not_ready;
}

void give_to_graph(driver::Session &session, const driver::Capture &capture,
                   void (*destroy)(void *context), void *context) {
  const driver::Driver &cu = session.cu;
  auto held = std::make_unique<Destruction>(Destruction{destroy, context});
  driver::CUuserObject object = nullptr;
  driver::call(cu.cuUserObjectCreate, &object, held.get(), &destroy_held, 1U,
               driver::user_object_no_destructor_sync);
  Destruction *const theirs = held.release();
  const driver::CUresult result =
      cu.cuGraphRetainUserObject(capture.graph, object, 1U, driver::graph_user_object_move);
  if (result == driver::success) return;
  theirs->destroy = nullptr;
  session.faults.attempt(cu.cuUserObjectRelease, object, 1U);
  throw Failure(driver::failure_of(cu.cuGraphRetainUserObject.name, result));
}

}  // namespace cai::order
