// SPDX-License-Identifier: BSD-3-Clause
// Events: a record takes the state of a stream, a wait takes the state of the event at that time.

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

// For calls that query the event's work.
std::shared_ptr<Event> event_of(Session &s, CUevent handle) {
  auto event = s.event(handle);
  refuse_failed(*event->context);
  return event;
}

void record(Session &s, CUevent event_handle, CUstream stream_handle, unsigned flags) {
  auto stream = s.stream(stream_handle);
  auto event = s.event(event_handle);
  if (flags & ~CU_EVENT_RECORD_EXTERNAL) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (event->context != owner_of(stream->context)) throw Refused{CUDA_ERROR_INVALID_HANDLE};
  const bool external = flags & CU_EVENT_RECORD_EXTERNAL;
  if (external && !stream->capture) throw Refused{CUDA_ERROR_ILLEGAL_STATE};
  if (stream->capture) {
    if (external && event->share) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    if (external)
      capture_external(*stream, "event record", event);
    else
      capture_record(*stream, *event);
    return;
  }
  refuse_implicit(*stream);
  auto operation = std::make_shared<Operation>();
  operation->what = "event record";
  if (event->share) s.driver.ipc.record(event->share, operation, s.lock);
  event->recorded = s.submit(stream, operation);
  event->capture = nullptr;
  event->capture_tail.clear();
}

// Querying an event that was last recorded in a capture is an error, and ends that capture.
void refuse_captured(Event &event) {
  if (!event.capture) return;
  if (!event.capture->is_active()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  invalidate(*event.capture);
  throw Refused{CUDA_ERROR_CAPTURED_EVENT};
}

std::vector<OperationPtr> awaited(const Event &event) {
  return event.recorded ? std::vector<OperationPtr>{event.recorded} : std::vector<OperationPtr>{};
}

void elapsed(Session &s, float *milliseconds, CUevent start_handle, CUevent end_handle) {
  auto start = event_of(s, start_handle), end = event_of(s, end_handle);
  refuse_captured(*start);
  refuse_captured(*end);
  if (start->context != end->context || !start->recorded || !end->recorded ||
      ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
    throw Refused{CUDA_ERROR_INVALID_HANDLE};
  if (!s.query({start->recorded, end->recorded})) throw Refused{CUDA_ERROR_NOT_READY};
  const double difference = static_cast<double>(end->recorded->finished_ns) -
                            static_cast<double>(start->recorded->finished_ns);
  required(milliseconds) = static_cast<float>(difference / 1e6);
}

}  // namespace

SIM_API CUresult cuEventCreate(CUevent *out, unsigned flags) {
  return call(__func__, {out, flags}, [&](Session &s) {
    required(out);
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    const bool interprocess_timing =
        (flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING);
    if ((flags & ~known) || interprocess_timing) throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto event = std::make_shared<Event>();
    event->context = owner_of(s.current());
    event->flags = flags;
    if (flags & CU_EVENT_INTERPROCESS)
      event->share = s.driver.ipc.offer_event(s.driver.device(event->context->device).physical);
    *out = s.driver.events.add(event);
  });
}

SIM_API CUresult cuEventDestroy_v2(CUevent handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto event = s.made_event(handle);
    s.driver.events.remove(handle);
    refuse_lost(s.driver.device(event->context->device));
  });
}

SIM_API CUresult cuEventDestroy(CUevent handle) {
  return cuEventDestroy_v2(handle);
}

SIM_API CUresult cuEventRecord(CUevent event, CUstream stream) {
  return call(__func__, {event, stream}, [&](Session &s) { record(s, event, stream, 0); });
}

SIM_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return call(__func__, {event, stream, flags},
              [&](Session &s) { record(s, event, stream, flags); });
}

SIM_API CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent event_handle, unsigned flags) {
  return call(__func__, {stream_handle, event_handle, flags}, [&](Session &s) {
    auto stream = s.stream(stream_handle);
    auto event = s.event(event_handle);
    refuse_lost(s.driver.device(event->context->device));
    if (flags & ~CU_EVENT_WAIT_EXTERNAL) throw Refused{CUDA_ERROR_INVALID_VALUE};
    if (flags && !stream->capture) throw Refused{CUDA_ERROR_ILLEGAL_STATE};
    if (flags && event->share) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    if (capture_wait(stream, event, flags)) return;
    refuse_implicit(*stream);
    const bool elsewhere = event->recorded_elsewhere();
    if (!elsewhere && awaited(*event).empty()) return;
    auto operation = std::make_shared<Operation>();
    operation->what = "event wait";
    if (elsewhere)
      s.driver.ipc.wait(event->share, operation);
    else
      operation->waits_for = awaited(*event);
    s.submit(stream, std::move(operation));
  });
}

SIM_API CUresult cuEventQuery(CUevent handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto event = event_of(s, handle);
    refuse_captured(*event);
    refuse_unsafe(s);
    if (event->recorded_elsewhere())
      return s.driver.ipc.query(*event->share) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    return s.query(awaited(*event)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

SIM_API CUresult cuEventSynchronize(CUevent handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto event = event_of(s, handle);
    refuse_captured(*event);
    refuse_unsafe(s);
    if (event->recorded_elsewhere())
      s.driver.ipc.synchronise(*event->share, s.lock);
    else
      s.finish(awaited(*event));
  });
}

SIM_API CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  return call(__func__, {milliseconds, start, end},
              [&](Session &s) { elapsed(s, milliseconds, start, end); });
}

SIM_API CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
  return call(__func__, {milliseconds, start, end},
              [&](Session &s) { elapsed(s, milliseconds, start, end); });
}
