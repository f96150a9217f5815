// SPDX-License-Identifier: BSD-3-Clause
#include "order/producers.hpp"

#include <algorithm>
#include <cinttypes>

#include "core/owned.hpp"
#include "driver/pointer.hpp"
#include "order/provider.hpp"

namespace cai::order {
namespace {

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

// `own` is the array's stream, which is waited for anyway.
void add_uses(const cai_array &array, std::uint64_t own, bool write, int32_t index,
              const Wanted &wanted, Demand &out) {
  cai_owner *const keeper = keeper_of(array);
  if (!may_have_kept(keeper)) return;
  if (keeps_here(keeper)) {
    Uses &uses = *uses_of(keeper);
    uses.add_conflicts(write, wanted.stream, own, index, out.conflicts, out.handles);
  } else {
    for (Demand::Keeper &other : out.keepers) {
      if (other.owner != keeper) continue;
      other.writes = other.writes || write;
      return;
    }
    out.keepers.add({keeper, write, index});
  }
}

// Whether the array states that there is nothing to wait for, and is believed.
bool states_none(const cai_array &array) {
  return array.stream_kind == CAI_STREAM_NONE && !Environment::get().distrust_none;
}

// Whether the array came with this very stream, for certain: 1 and 2 have more than one meaning.
bool is_on(const cai_array &array, std::uint64_t stream) noexcept {
  return array.stream == stream && array.stream_kind == CAI_STREAM_STREAM &&
         stream > driver::stream_per_thread;
}

template <class Condition>
bool of_both(const cai_array &array, Condition &&holds) {
  return holds(array) && (!array.mask || holds(*array.mask));
}

// Whether the producer itself orders its next write behind the uses that it is told of.
bool is_reclaimed(const cai_array &array) noexcept {
  const cai_owner *const keeper = keeper_of(array);
  return keeper && (keeper->flags & CAI_OWNER_RECLAIMS) && keeps_uses(keeper);
}

void add(const cai_array &array, bool write, int32_t index, const Wanted &wanted, Demand &out) {
  if (!may_be_pending(array)) return;
  const bool ending = wanted.purpose == Wanted::For::ending;
  if (ending && is_reclaimed(array)) return;
  if (is_of_another_thread(array)) {
    if (ending) return;
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                  "stream 2 is that of thread %" PRIu64
                  ", and means another one here: cai_array_publish_event() it there",
                  thread_said_by(keeper_of(array)).load(std::memory_order_relaxed));
  }
  const std::uint64_t value = stream_value(array);
  const bool completing = wanted.purpose == Wanted::For::completing;
  if (completing || wanted.purpose == Wanted::For::waiting) {
    add_uses(array, value, write || completing, index, wanted, out);
  }
  if (array.stream_kind == CAI_STREAM_EVENT) {
    out.events.add_unless({array.stream, index, array.owner}, [&](const Demand::EventOf &other) {
      return other.value == array.stream;
    });
    return;
  }
  if (value == 0) return;
  if (value > driver::stream_per_thread) {
    if (value == wanted.stream) return;  // told apart here, the commonest case needs no driver
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

}  // namespace

void judge(const cai_array *array, int32_t index) {
  if (!array) {
    if (index < 0) throw Failure(CAI_ERR_ARGUMENT, {}, "array is NULL");
    throw Failure(CAI_ERR_ARGUMENT, {0, index}, "arrays[%d] is NULL", static_cast<int>(index));
  }
  cai_error error;
  if (!is_own_array(*array) && cai_array_validate(array, &error) != CAI_OK) {
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

void judge_all(const cai_array *const *arrays, int32_t count, std::uint32_t access) {
  if (count < 0) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "count is negative: %d", static_cast<int>(count));
  }
  if (count > 0 && !arrays) throw Failure(CAI_ERR_ARGUMENT, {}, "arrays is NULL");
  for (int32_t index = 0; index < count; ++index) {
    judge(arrays[index], index);
    static_cast<void>(writes(*arrays[index], access, index));  // or refuses
  }
}

bool nothing_before(const cai_array &array, std::uint64_t stream) {
  return of_both(array, [&](const cai_array &part) {
    if (!may_be_pending(part)) return true;
    return (states_none(part) || is_on(part, stream)) && !may_have_kept(keeper_of(part));
  });
}

bool nothing_after(const cai_array &array, std::uint64_t stream) {
  return of_both(array, [&](const cai_array &part) {
    if (!may_be_pending(part)) return true;
    if (is_on(part, stream)) return !has_other_streams(keeper_of(part));
    return states_none(part) && !keeps_uses(keeper_of(part));
  });
}

bool is_of_another_thread(const cai_array &array) noexcept {
  if (array.stream_kind != CAI_STREAM_STREAM || array.stream != driver::stream_per_thread) {
    return false;
  }
  const cai_owner *const keeper = keeper_of(array);
  if (!keeper) return false;
  const std::uint64_t thread = thread_said_by(keeper).load(std::memory_order_relaxed);
  return thread && thread != this_thread();
}

std::atomic_ref<std::uint64_t> thread_said_by(const cai_owner *owner) noexcept {
  return std::atomic_ref<std::uint64_t>(const_cast<cai_owner *>(owner)->thread);
}

std::uint64_t stream_value(const cai_array &array) {
  switch (array.stream_kind) {
    case CAI_STREAM_STREAM:
      return array.stream;
    case CAI_STREAM_UNSTATED:
      return provided_stream(array);
    case CAI_STREAM_NONE:
      return Environment::get().distrust_none ? driver::stream_legacy : 0;
    default:
      return 0;
  }
}

Stream stream_for(driver::Session &session, const cai_array &array, std::uint64_t stream) {
  if (stream > driver::stream_per_thread || !may_be_pending(array)) {
    return stream_here(session, stream);
  }
  return {stream, context_of_memory(session, {stream, array.data, array.device_id, -1}), -1};
}

void collect(const cai_array &array, int32_t index, const Wanted &wanted, Demand &out) {
  add(array, writes(array, wanted.access, index), index, wanted, out);
  if (array.mask) add(*array.mask, false, index, wanted, out);
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

}  // namespace cai::order
