// SPDX-License-Identifier: BSD-3-Clause
// Green contexts, the resources that they are made from, and events of whole contexts.

#include "green.h"

#include <algorithm>
#include <cstring>

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

constexpr unsigned multiprocessors = 132;  // attribute 16 of the device
constexpr unsigned smallest_part = 8, part_alignment = 8;
constexpr unsigned smallest_alone = 2;  // without grouped multiprocessors

// The source of a resource, in the bytes reserved for the driver.
struct Origin {
  std::uint32_t mark, split;
  std::int32_t device;
  std::uint32_t first;
};
constexpr std::uint32_t origin_mark = 0x73696d63;

CUdevSmResource sm_of(const CUdevResource &resource) {
  CUdevSmResource sm;
  std::memcpy(&sm, resource._oversize, sizeof sm);
  return sm;
}

Origin origin_of(const CUdevResource &resource) {
  Origin origin;
  std::memcpy(&origin, resource._internal_padding, sizeof origin);
  return origin;
}

CUdevResource resource_of(const Origin &origin, unsigned count) {
  const CUdevSmResource sm{count, smallest_part, part_alignment, 0};
  CUdevResource resource{};
  resource.type = CU_DEV_RESOURCE_TYPE_SM;
  std::memcpy(resource._internal_padding, &origin, sizeof origin);
  std::memcpy(resource._oversize, &sm, sizeof sm);
  return resource;
}

CUdevResource all_of(int device) {
  return resource_of({origin_mark, 0, device, 0}, multiprocessors);
}

void tell(CUdevResource *out, const CUdevResource &resource, int type) {
  required(out);
  if (type != CU_DEV_RESOURCE_TYPE_SM) throw Refused{CUDA_ERROR_INVALID_RESOURCE_TYPE};
  *out = resource;
}

// Only resources that these functions have returned.
Origin checked(const CUdevResource &resource) {
  if (resource.type != CU_DEV_RESOURCE_TYPE_SM) throw Refused{CUDA_ERROR_INVALID_RESOURCE_TYPE};
  const Origin origin = origin_of(resource);
  if (origin.mark != origin_mark) throw Refused{CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION};
  return origin;
}

void split(CUdevResource *result, unsigned *groups, const CUdevResource *input,
           CUdevResource *remainder, unsigned flags, unsigned least) {
  required(groups);
  const Origin origin = checked(required(input));
  const unsigned available = sm_of(*input).smCount;
  // A part cannot be split again until it belongs to a green context. Undefined flags are ignored.
  if (least > available || origin.split) throw Refused{CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION};
  const bool alone = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
  const unsigned alignment = alone ? smallest_alone : part_alignment;
  const unsigned wanted = std::max(least, alone ? smallest_alone : smallest_part);
  const unsigned size = (wanted + alignment - 1) / alignment * alignment;
  unsigned count = available / size;
  if (result) count = std::min(count, *groups);
  static std::uint32_t splits = 0;
  const std::uint32_t number = ++splits;
  const auto part = [&](unsigned first, unsigned size_of_part) {
    return resource_of({origin_mark, number, origin.device, origin.first + first}, size_of_part);
  };
  for (unsigned i = 0; result && i < count; ++i) result[i] = part(i * size, size);
  if (remainder) {
    *remainder = part(count * size, available - count * size);
    if (count * size == available) *remainder = CUdevResource{};
  }
  *groups = count;
}

// The resources of one descriptor count as one resource from here on.
CUdevResource joined(const CUdevResource *resources, unsigned count) {
  if (!count) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const Origin first = checked(required(resources));
  unsigned total = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Origin other = checked(resources[i]);
    if (other.device != first.device || other.split != first.split || (i && !first.split))
      throw Refused{CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION};
    total += sm_of(resources[i]).smCount;
  }
  return resource_of({origin_mark, 0, first.device, first.first}, total);
}

std::shared_ptr<GreenContext> green_of(Session &s, CUgreenCtx handle) {
  return s.driver.green_contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT);
}

void create(Session &s, CUgreenCtx *out, CUdevResourceDesc handle, CUdevice ordinal,
            unsigned flags) {
  required(out);
  // No descriptor: all of the device.
  const ResourceDescriptor all{nullptr, s.driver.device(ordinal).ordinal, all_of(ordinal)};
  const auto given =
      handle ? s.driver.resource_descriptors.get(handle, CUDA_ERROR_INVALID_VALUE) : nullptr;
  const ResourceDescriptor &descriptor = given ? *given : all;
  if (flags & ~CU_GREEN_CTX_DEFAULT_STREAM) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (s.driver.device(ordinal).ordinal != descriptor.device)
    throw Refused{CUDA_ERROR_INVALID_DEVICE};
  auto green = std::make_shared<GreenContext>();
  const auto primary = s.driver.retain_primary(ordinal);
  green->context = s.driver.new_context(ordinal, primary->flags, primary->api_version);
  green->context->parent = primary;
  green->resource = descriptor.resource;
  *out = green->context->green = s.driver.green_contexts.add(green);
}

// A stream for one operation of a context.
std::shared_ptr<Stream> passing_stream(Session &s, const std::shared_ptr<Context> &context) {
  return s.driver.new_stream(context, Stream::Kind::created, CU_STREAM_NON_BLOCKING, 0);
}

OperationPtr submit_alone(Session &s, const std::shared_ptr<Context> &context, const char *what,
                          std::vector<OperationPtr> after, std::vector<Moment> reached,
                          const std::function<void(const OperationPtr &)> &prepare) {
  auto stream = passing_stream(s, context);
  auto operation = std::make_shared<Operation>();
  operation->what = what;
  operation->waits_for = std::move(after);
  operation->reached = std::move(reached);
  prepare(operation);
  s.submit(stream, operation);
  stream->destroyed = true;
  s.driver.races.retire(*stream);
  return operation;
}

void record(Session &s, const std::shared_ptr<Context> &context, CUevent handle) {
  auto event = s.event(handle);
  refuse_failed(*context);
  if (event->context != owner_of(context)) throw Refused{CUDA_ERROR_INVALID_HANDLE};
  refuse_context_sync(s, *context);
  const auto chosen = [&](const Context &other) { return other.is_within(*context); };
  // Includes destroyed streams, and completed work.
  event->recorded = submit_alone(s, context, "event record", s.driver.schedule.pending_of(chosen),
                                 s.driver.races.reached(chosen), [&](auto &operation) {
                                   if (event->share)
                                     s.driver.ipc.record(event->share, operation, s.lock);
                                 });
  event->capture = nullptr;
  event->capture_tail.clear();
}

void wait(Session &s, const std::shared_ptr<Context> &context, CUevent handle) {
  auto event = s.event(handle);
  refuse_failed(*context);
  refuse_context_sync(s, *context);
  if (event->capture) {
    if (event->capture->ended) throw Refused{CUDA_ERROR_CAPTURED_EVENT};
    invalidate(*event->capture);
    throw Refused{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
  }
  const bool elsewhere = event->recorded_elsewhere();
  if (!event->recorded && !elsewhere) return;
  std::vector<OperationPtr> after;
  if (!elsewhere) after.push_back(event->recorded);
  if (context->gate) after.push_back(context->gate);
  context->gate =
      submit_alone(s, context, "event wait", std::move(after), {}, [&](auto &operation) {
        if (elsewhere) s.driver.ipc.wait(event->share, operation);
      });
}

}  // namespace

namespace simcuda {

void end_green(Driver &driver, const std::shared_ptr<GreenContext> &green) {
  Context &context = *green->context;
  for (auto &stream : driver.streams.all())
    if (stream->context.get() == &context) leave_capture(stream);
  context.alive = false;
  driver.races.retire(*context.legacy);
  context.legacy = nullptr;  // which holds the context
  driver.contexts.remove(context.handle);
  driver.green_contexts.remove(green->handle);
}

void end_green_of(Driver &driver, const Context &primary) {
  for (auto &green : driver.green_contexts.all())
    if (green->context->parent.get() == &primary) end_green(driver, green);
}

}  // namespace simcuda

SIM_API CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *out, int type) {
  return call(__func__, {device, out, type},
              [&](Session &s) { tell(out, all_of(s.driver.device(device).ordinal), type); });
}

SIM_API CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource *out, int type) {
  return call(__func__, {handle, out, type}, [&](Session &s) {
    auto context = s.context(handle);
    tell(out, context->green ? green_of(s, context->green)->resource : all_of(context->device),
         type);
  });
}

SIM_API CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource *out, int type) {
  return call(__func__, {handle, out, type},
              [&](Session &s) { tell(out, green_of(s, handle)->resource, type); });
}

SIM_API CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned *groups,
                                             const CUdevResource *input, CUdevResource *remainder,
                                             unsigned flags, unsigned least) {
  return call(__func__, {result, groups, input, remainder, flags, least},
              [&](Session &) { split(result, groups, input, remainder, flags, least); });
}

SIM_API CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *resources,
                                           unsigned count) {
  return call(__func__, {out, resources, count}, [&](Session &s) {
    required(out);
    auto descriptor = std::make_shared<ResourceDescriptor>();
    descriptor->resource = joined(resources, count);
    descriptor->device = origin_of(descriptor->resource).device;
    *out = s.driver.resource_descriptors.add(descriptor);
  });
}

SIM_API CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc descriptor, CUdevice device,
                                  unsigned flags) {
  return call(__func__, {out, descriptor, device, flags},
              [&](Session &s) { create(s, out, descriptor, device, flags); });
}

SIM_API CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto green = green_of(s, handle);
    end_green(s.driver, green);
    s.driver.release_primary(green->context->device, s.lock);
  });
}

SIM_API CUresult cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx handle) {
  return call(__func__, {out, handle},
              [&](Session &s) { required(out) = green_of(s, handle)->context->handle; });
}

SIM_API CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long *id) {
  return call(__func__, {handle, id},
              [&](Session &s) { required(id) = green_of(s, handle)->context->id; });
}

SIM_API CUresult cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx handle, unsigned flags,
                                        int priority) {
  return call(__func__, {out, handle, flags, priority}, [&](Session &s) {
    required(out);
    if (flags != CU_STREAM_NON_BLOCKING) throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto context = green_of(s, handle)->context;
    *out = s.driver.streams.add(
        s.driver.new_stream(context, Stream::Kind::created, flags, std::clamp(priority, -5, 0)));
  });
}

SIM_API CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *out) {
  return call(__func__, {stream, out},
              [&](Session &s) { required(out) = s.stream(stream)->context->green; });
}

SIM_API CUresult cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event) {
  return call(__func__, {handle, event},
              [&](Session &s) { record(s, green_of(s, handle)->context, event); });
}

SIM_API CUresult cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event) {
  return call(__func__, {handle, event},
              [&](Session &s) { wait(s, green_of(s, handle)->context, event); });
}

SIM_API CUresult cuCtxRecordEvent(CUcontext handle, CUevent event) {
  return call(__func__, {handle, event}, [&](Session &s) { record(s, s.context(handle), event); });
}

SIM_API CUresult cuCtxWaitEvent(CUcontext handle, CUevent event) {
  return call(__func__, {handle, event}, [&](Session &s) { wait(s, s.context(handle), event); });
}
