// SPDX-License-Identifier: BSD-3-Clause
// The one stream on which arrays can be used without any event.
#include <cinttypes>

#include "order/owned.hpp"
#include "order/waiting.hpp"

namespace cai::order {
namespace {

constexpr const char *came_with_none =
    "told (the array, or its mask, came with None, and is used on that stream)";

std::uint64_t same_stream(Demand &demand) {
  if (!demand.events.empty()) {
    const Demand::EventOf &event = *demand.events.begin();
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, event.index},
                  "event 0x%" PRIx64 " is no stream to work on", event.value);
  }
  if (demand.streams_empty()) return 0;

  // The values alone tell most streams apart. Two default streams may still be of two contexts.
  const Demand::Default *const defaults = demand.defaults.begin();
  const std::uint64_t value =
      demand.defaults.empty() ? demand.handles.begin()->value : defaults->value;
  const auto differs = [&](std::uint64_t other, int32_t index) {
    if (other == value) return;
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                  "the arrays come with different streams, 0x%" PRIx64 " and 0x%" PRIx64, value,
                  other);
  };
  for (const Stream &stream : demand.handles) differs(stream.value, stream.index);
  for (const Demand::Default &array : demand.defaults) differs(array.value, array.index);
  if (demand.defaults.empty()) return value;

  driver::Session session;
  Few<Stream> streams;
  Reading reading;
  resolve(session, demand, reading, streams);
  const driver::CUcontext here = session.current();
  session.finish();
  if (streams.size() > 1) {
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, streams.begin()[1].index},
                  "the arrays come with stream %d of different contexts", static_cast<int>(value));
  }
  const Stream &stream = *streams.begin();
  if (here && here != stream.context) {
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, stream.index},
                  "the arrays come with stream %d of another context than the current one",
                  static_cast<int>(value));
  }
  return value;
}

// Runs `body(array, part, index)` for each array, and each mask, that may have pending work.
template <class Body>
void for_each_used(const cai_array *const *arrays, int32_t count, Body &&body) {
  for (int32_t index = 0; index < count; ++index) {
    const cai_array &array = *arrays[index];
    for_each_part(array, [&](const cai_array &part) {
      if (may_be_pending(part)) body(array, part, index);
    });
  }
}

// Work on the array's own stream is ordered with kept uses. It would be ordered with nothing if
// other arrays of the owner come with other streams.
void require_one_meaning(const cai_array &array, int32_t index) {
  const cai_owner *const keeper = keeper_of(array);
  if (!of_either(array, may_be_pending) || !streams_differ(keeper)) return;
  throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                is_asked(keeper)
                    ? "the stream is one that the exporter was asked for, and not its own: begin a "
                      "use instead"
                    : "arrays of the owner, or its memory, have come with different streams: begin "
                      "a use instead");
}

// No end will keep this use, so the owner must learn of the stream, even if its array or mask came
// with None and is used on the stream of the others.
void require_told(const cai_array *const *arrays, int32_t count) {
  for_each_used(arrays, count, [](const cai_array &array, const cai_array &part, int32_t index) {
    cai_owner *const keeper = keeper_of(array);
    if (!keeps_uses(keeper)) return;
    const bool is_none = stream_value(part) == 0;
    if (stores_here(keeper) && !(is_none && is_import(keeper))) return;
    const char *const which = &part == &array ? "it" : "its mask";
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                  "the array's owner cannot be told of the stream%s%s%s: begin a use instead",
                  is_none ? ", and " : "", is_none ? which : "", is_none ? " came with None" : "");
  });
}

// There is no stream that could wait.
void require_nothing_kept(const cai_array *const *arrays, int32_t count) {
  for (int32_t index = 0; index < count; ++index) {
    const cai_array &array = *arrays[index];
    cai_owner *const keeper = keeper_of(array);
    if (!of_either(array, may_be_pending)) continue;
    if (!keeps_here(keeper) || !may_have_kept(keeper, 0)) continue;
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                  "uses of the array are kept, and it has no stream: begin a use instead");
  }
}

// An array, or a mask, that came with None is used on the stream.
void tell_adopted(const cai_array &array, const cai_array &part, int32_t index,
                  const Stream &stream) {
  tell(keeper_of(array), stream);
  trace::edge({index, &part}, trace::owner(keeper_of(array)), trace::stream(stream.value),
              came_with_none);
}

// The stream waits for kept uses, and is marked as adopted, because no end will report its later
// work to the owners.
void adopt_all(const cai_array *const *arrays, int32_t count, std::uint64_t value) {
  Demand demand;
  collect(arrays, count, {Wanted::For::completing, value, CAI_ACCESS_READ}, demand);
  driver::Session session;
  Stream own = stream_here(session, value);
  for_each_used(arrays, count, [&](const cai_array &array, const cai_array &part, int32_t index) {
    if (stream_value(part) != value) return;
    for_array(index, [&] { own = stream_for(session, part, value); });
    if (stores_here(keeper_of(array))) adopt(keeper_of(array), own);
  });
  Few<Stream> streams;
  Reading reading;
  resolve(session, demand, reading, streams);
  wait_for_all(session, own, streams, demand, 0);
  reading.leave();
  if (may_follow_captured(arrays, count)) {
    probe(session, own);
    follow_captured(session, own, arrays, count, {Wanted::For::completing, value, 0});
  }
  // Only now: if the call is refused, nothing was used on that stream.
  for_each_used(arrays, count, [&](const cai_array &array, const cai_array &part, int32_t index) {
    if (stream_value(part) == 0 && stores_here(keeper_of(array))) {
      tell_adopted(array, part, index, {own.value, own.context, -1});
    }
  });
  for (int32_t index = 0; index < count; ++index) {
    cover_if_own(session, *arrays[index], own, demand.conflicts);
  }
  session.finish();
}

// The same without the driver. Returns false, having done nothing, if it needs one.
bool adopt_at_once(const cai_array *const *arrays, int32_t count, std::uint64_t value) {
  if (value == 0) return true;
  bool at_once = true;
  for_each_used(arrays, count, [&](const cai_array &array, const cai_array &part, int32_t) {
    cai_owner *const keeper = keeper_of(array);
    const bool is_found = (is_import(keeper_of(part)) && any_imports()) || any_captured(part);
    const bool is_kept =
        keeps_uses(keeper) && (value <= driver::stream_per_thread || may_have_kept(keeper, value));
    at_once = at_once && !is_found && !is_kept;
  });
  if (!at_once) return false;
  for_each_used(arrays, count, [&](const cai_array &array, const cai_array &part, int32_t index) {
    cai_owner *const keeper = keeper_of(array);
    if (!keeps_uses(keeper)) return;
    const Stream stream{value, nullptr, -1};
    stream_value(part) == value ? adopt(keeper, stream) : tell_adopted(array, part, index, stream);
  });
  return true;
}

}  // namespace
}  // namespace cai::order

using namespace cai;
namespace trace = order::trace;

cai_status cai_arrays_same_stream(const cai_array *const *arrays, int32_t count, uint64_t *out,
                                  cai_error *error) {
  return guard(error, [&] {
    if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
    order::require_all_valid(arrays, count, {});
    const trace::Call call("cai_arrays_same_stream", trace::no_stream, arrays, count);
    const order::Wanted wanted{order::Wanted::For::adopting, 0, CAI_ACCESS_DEFAULT};
    order::Demand demand;
    for (int32_t index = 0; index < count; ++index) {
      order::for_array(index, [&] { order::await_host_work(*arrays[index], true); });
      order::require_one_meaning(*arrays[index], index);
    }
    order::collect(arrays, count, wanted, demand);
    const std::uint64_t value = order::same_stream(demand);
    value != 0 ? order::require_told(arrays, count) : order::require_nothing_kept(arrays, count);
    if (!order::adopt_at_once(arrays, count, value)) order::adopt_all(arrays, count, value);
    trace::edge(trace::all_arrays, trace::stream(value), trace::theirs,
                value ? "left out (it is the arrays' own stream)"
                      : "left out (no array came with a stream)");
    *out = value;
  });
}
