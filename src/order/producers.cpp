// SPDX-License-Identifier: BSD-3-Clause
#include "order/producers.hpp"

#include <algorithm>
#include <cinttypes>

#include "driver/pointer.hpp"

namespace cai::order {
namespace {

void add(const cai_array &array, int32_t index, Demand &out) {
  if (array.device_type == CAI_DEVICE_CPU || has_no_elements(array)) return;
  switch (array.stream_kind) {
    case CAI_STREAM_NONE:
      return;
    case CAI_STREAM_EVENT:
      out.events.add_unless({array.stream, index},
                            [&](const Event &other) { return other.value == array.stream; });
      return;
    default:
      break;
  }
  const std::uint64_t value =
      array.stream_kind == CAI_STREAM_UNSTATED ? driver::stream_legacy : array.stream;
  if (value > driver::stream_per_thread) {
    out.handles.add_unless({value, nullptr, index},
                           [&](const Stream &other) { return other.value == value; });
  } else {
    out.defaults.add_unless({value, array.data, array.device_id, index},
                            [&](const Demand::Default &other) {
                              return other.value == value && other.data == array.data &&
                                     other.device_id == array.device_id;
                            });
  }
}

driver::CUcontext context_of_memory(driver::Session &session, const Demand::Default &array) {
  const driver::Pointer pointer = driver::ask(session, array.data, array.device_id);
  if (pointer.context) return pointer.context;
  const int ordinal = pointer.known() ? pointer.ordinal : array.device_id;
  if (ordinal < 0) {
    throw Failure(CAI_ERR_DEVICE, {CAI_ENTRY_DATA},
                  "data 0x%" PRIx64
                  " is not memory of the driver's, so stream %d has no context to be of",
                  array.data, static_cast<int>(array.value));
  }
  const driver::CUcontext context = session.of_device(ordinal);
  if (!context) {
    throw Failure(CAI_ERR_DEVICE, {CAI_ENTRY_STREAM},
                  "stream %d is of device %d, where no context is active",
                  static_cast<int>(array.value), ordinal);
  }
  return context;
}

bool is_blocking(const driver::Session &session, const Stream &stream) {
  if (stream.value == driver::stream_per_thread) return true;
  unsigned flags = 0;
  driver::must(session.cu.cuStreamGetFlags, stream.handle(), &flags);
  return !(flags & driver::stream_non_blocking);
}

}  // namespace

bool has_no_elements(const cai_array &array) noexcept {
  return std::any_of(array.shape, array.shape + array.ndim,
                     [](int64_t extent) { return extent == 0; });
}

void judge(const cai_array *array, int32_t index) {
  if (!array) {
    if (index < 0) throw Failure(CAI_ERR_ARGUMENT, {}, "array is NULL");
    throw Failure(CAI_ERR_ARGUMENT, {0, index}, "arrays[%d] is NULL", static_cast<int>(index));
  }
  cai_error error;
  if (cai_array_validate(array, &error) != CAI_OK) {
    if (index >= 0) error.index = index;  // of one array, what validating found
    throw Failure(error);
  }
  const cai_array *const parts[] = {array, array->mask};
  for (const cai_array *part : parts) {
    if (!part) continue;
    switch (part->device_type) {
      case CAI_DEVICE_CPU:
      case CAI_DEVICE_CUDA:
      case CAI_DEVICE_CUDA_HOST:
      case CAI_DEVICE_CUDA_MANAGED:
        break;
      default:
        throw Failure(CAI_ERR_DEVICE, {0, index}, "device type %d%s is not CUDA's",
                      static_cast<int>(part->device_type),
                      part->device_type == CAI_DEVICE_ROCM ? " (ROCm)" : "");
    }
  }
}

void collect(const cai_array *array, int32_t index, Demand &out) {
  judge(array, index);
  add(*array, index, out);
  if (array->mask) add(*array->mask, index, out);
}

void collect_all(const cai_array *const *arrays, int32_t count, Demand &out) {
  if (count < 0) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "count is negative: %d", static_cast<int>(count));
  }
  if (count > 0 && !arrays) throw Failure(CAI_ERR_ARGUMENT, {}, "arrays is NULL");
  for (int32_t index = 0; index < count; ++index) collect(arrays[index], index, out);
}

void resolve(driver::Session &session, Demand &demand, OnFailure on_failure, Few<Stream> &out) {
  for (const Stream &stream : demand.handles) out.add(stream);
  for (const Demand::Default &array : demand.defaults) {
    attempt(session, on_failure, array.index, [&] {
      const Stream stream{array.value, context_of_memory(session, array), array.index};
      out.add_unless(stream, [&](const Stream &other) { return same(stream, other); });
    });
  }
}

Stream consumer_of(driver::Session &session, std::uint64_t value) {
  Stream stream{value, nullptr, -1};
  if (!stream.is_default()) return stream;
  stream.context = session.current();
  if (!stream.context) {
    throw Failure(CAI_ERR_ARGUMENT, {},
                  "stream %d is a default stream of the current context, and none is current",
                  static_cast<int>(value));
  }
  return stream;
}

driver::CUcontext context_of(driver::Session &session, Stream &stream) {
  if (!stream.context) stream.context = session.of_stream(stream.value);
  return stream.context;
}

bool same(const Stream &a, const Stream &b) noexcept {
  return a.value == b.value && (!a.is_default() || a.context == b.context);
}

bool implicitly_ordered(driver::Session &session, Stream &a, Stream &b) {
  const bool a_is_legacy = a.value == driver::stream_legacy;
  const bool b_is_legacy = b.value == driver::stream_legacy;
  if (a_is_legacy == b_is_legacy) return false;
  if (context_of(session, a) != context_of(session, b)) return false;
  return is_blocking(session, a_is_legacy ? b : a);
}

}  // namespace cai::order
