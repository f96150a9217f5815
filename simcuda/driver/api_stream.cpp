// SPDX-License-Identifier: BSD-3-Clause
// Streams and host functions.

#include <algorithm>

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

void create(Session &s, CUstream *out, unsigned flags, int priority) {
  required(out);
  if (flags & ~CU_STREAM_NON_BLOCKING) throw Refused{CUDA_ERROR_INVALID_VALUE};
  auto stream =
      s.driver.new_stream(s.current(), Stream::Kind::created, flags, std::clamp(priority, -5, 0));
  *out = s.driver.streams.add(stream);
}

void submit_host_function(Session &s, CUstream handle, const char *what,
                          std::function<void()> function, bool after_errors,
                          std::shared_ptr<const NodeParameters> parameters = nullptr) {
  auto stream = s.stream(handle);
  auto operation = std::make_shared<Operation>();
  operation->what = what;
  operation->host_function = std::move(function);
  operation->after_errors = after_errors;
  operation->parameters = std::move(parameters);
  s.submit(stream, std::move(operation));
}

// For calls that then crash a real driver.
void note_context_gone(Session &s, CUstream handle) {
  if (s.driver.streams.went_with_context(handle))
    s.note_stale("stream", reinterpret_cast<std::uintptr_t>(handle));
}

std::shared_ptr<Stream> outside_captures(Session &s, CUstream handle) {
  auto stream = s.stream(handle);
  refuse_capturing(*stream);
  return stream;
}

}  // namespace

SIM_API CUresult cuStreamCreate(CUstream *out, unsigned flags) {
  return call(__func__, {out, flags}, [&](Session &s) { create(s, out, flags, 0); });
}

SIM_API CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority) {
  return call(__func__, {out, flags, priority},
              [&](Session &s) { create(s, out, flags, priority); });
}

SIM_API CUresult cuStreamDestroy_v2(CUstream handle) {
  return call(__func__, {handle}, [&](Session &s) {
    note_context_gone(s, handle);
    auto stream = s.made_stream(handle);  // the default streams cannot be destroyed
    leave_capture(stream);
    // Its work still runs. Nothing waits for it here.
    stream->destroyed = true;
    s.driver.races.retire(*stream);
    s.driver.streams.remove(handle);
    refuse_lost(s.driver.device(stream->context->device));
    // A stream of a green context that was destroyed first.
    if (!stream->context->alive) throw Refused{CUDA_ERROR_CONTEXT_IS_DESTROYED};
  });
}

SIM_API CUresult cuStreamDestroy(CUstream handle) {
  return cuStreamDestroy_v2(handle);
}

SIM_API CUresult cuStreamSynchronize(CUstream handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto stream = s.stream(handle);
    refuse_capturing(*stream);
    refuse_implicit(*stream);
    refuse_unsafe(s);
    s.finish(stream);
  });
}

SIM_API CUresult cuStreamQuery(CUstream handle) {
  return call(__func__, {handle}, [&](Session &s) {
    note_context_gone(s, handle);
    auto stream = s.stream(handle);
    refuse_capturing(*stream);
    refuse_implicit(*stream);
    refuse_unsafe(s);
    return s.query(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

SIM_API CUresult cuStreamGetCtx(CUstream handle, CUcontext *out) {
  return call(__func__, {handle, out},
              [&](Session &s) { required(out) = s.stream(handle)->context->handle; });
}

SIM_API CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *out, CUgreenCtx *green) {
  return call(__func__, {handle, out, green}, [&](Session &s) {
    const auto context = s.stream(handle)->context;
    required(out) = owner_of(context)->handle;
    if (green) *green = context->green;
  });
}

// These three end a capture, unlike the queries of the context and the priority.
SIM_API CUresult cuStreamGetDevice(CUstream handle, CUdevice *device) {
  return call(__func__, {handle, device},
              [&](Session &s) { required(device) = outside_captures(s, handle)->context->device; });
}

SIM_API CUresult cuStreamGetId(CUstream handle, unsigned long long *id) {
  return call(__func__, {handle, id},
              [&](Session &s) { required(id) = outside_captures(s, handle)->id; });
}

SIM_API CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
  return call(__func__, {handle, flags},
              [&](Session &s) { required(flags) = outside_captures(s, handle)->flags; });
}

SIM_API CUresult cuStreamGetPriority(CUstream handle, int *priority) {
  return call(__func__, {handle, priority},
              [&](Session &s) { required(priority) = s.stream(handle)->priority; });
}

SIM_API CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr pointer, std::size_t length,
                                        unsigned flags) {
  return call(__func__, {handle, pointer, length, flags}, [&](Session &s) {
    auto stream = s.stream(handle);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
        flags != CU_MEM_ATTACH_SINGLE)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    // The legacy stream accepts only a single attachment by this name.
    if (flags == CU_MEM_ATTACH_SINGLE && !handle && stream->kind == Stream::Kind::legacy)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    const auto allocation = s.driver.memory.device_place(pointer, length).allocation;
    if (allocation->kind != Allocation::Kind::managed || (length && length != allocation->size))
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    s.submit(stream, "attach", {}, nullptr);
  });
}

SIM_API CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  return call(__func__, {handle, reinterpret_cast<void *>(function), data}, [&](Session &s) {
    if (!function) throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto parameters = std::make_shared<const NodeParameters>(
        NodeParameters{CUDA_HOST_NODE_PARAMS{function, data}, nullptr, {}});
    submit_host_function(
        s, handle, "host function", [=] { function(data); }, false, std::move(parameters));
  });
}

SIM_API CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback function, void *data,
                                     unsigned flags) {
  return call(__func__, {handle, reinterpret_cast<void *>(function), data, flags}, [&](Session &s) {
    if (!function || flags) throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto stream = s.stream(handle);
    refuse_capturing(*stream);  // cannot be a graph node
    const auto context = owner_of(stream->context);
    submit_host_function(
        s, handle, "callback", [=] { function(handle, context->error, data); }, true);
  });
}
