// SPDX-License-Identifier: BSD-3-Clause
#include "order/producers.hpp"

#include <algorithm>
#include <cinttypes>

#include "driver/pointer.hpp"
#include "order/by_address.hpp"
#include "order/trace.hpp"

namespace cai::order {
namespace {

// The context of the memory, or else of its device. `ordinal` names the device if it is known, and
// receives it otherwise. Null if there is none. If the driver names another device, the memory is a
// pool's, which this device has opened.
driver::CUcontext find_context(driver::Session &session, std::uint64_t data, int *ordinal) {
  const driver::Pointer pointer = driver::ask(session, data, *ordinal);
  if (pointer.context) return pointer.context;
  if (pointer.known() && *ordinal < 0) *ordinal = pointer.ordinal;
  return *ordinal < 0 ? nullptr : session.of_device(*ordinal);
}

driver::CUcontext context_of_memory(driver::Session &session, const Demand::Default &array) {
  int ordinal = array.device_id;
  if (const driver::CUcontext found = find_context(session, array.data, &ordinal)) return found;
  if (ordinal < 0) {
    throw Failure(CAI_ERR_DEVICE, {CAI_ENTRY_DATA},
                  "data 0x%" PRIx64 " is not memory of the driver's, so stream %d has no context",
                  array.data, static_cast<int>(array.value));
  }
  throw Failure(CAI_ERR_DEVICE, {CAI_ENTRY_STREAM},
                "stream %d is of device %d, where no context is active",
                static_cast<int>(array.value), ordinal);
}

// `own` is the array's stream, which is waited for anyway.
void add_uses(const cai_array &array, std::uint64_t own, bool write, int32_t index,
              const Wanted &wanted, Demand &out) {
  cai_owner *const keeper = keeper_of(array);
  // Told streams come first: a caller that withdraws a stream keeps its pending work before that.
  bool any_told = false;
  auto add_kept = [&](Uses &uses) {
    any_told = any_told || uses.any_told_but(own);
    return uses.add_conflicts(write, index, out.conflicts);
  };
  if (is_import(keeper)) for_each_import(array, add_kept);
  const bool is_kept = may_have_kept(keeper, own);
  if (is_kept && stores_here(keeper) && !add_kept(make_uses_of(keeper))) {
    trace::edge({index, &array}, trace::stream_or_host(wanted.stream), trace::owner(keeper),
                "left out (a read does not wait for reads)");
  }
  if (any_told) out.told.add({&array, own, wanted.stream, write, index});
  if (is_kept && !stores_here(keeper)) {
    for (Demand::Keeper &other : out.keepers) {
      if (other.owner != keeper) continue;
      other.writes = other.writes || write;
      return;
    }
    out.keepers.add({keeper, write, index});
  }
}

// Whether the producer orders its next write behind the uses that it is told of.
bool is_reclaimed(const cai_array &array) noexcept {
  const cai_owner *const keeper = keeper_of(array);
  return keeper && has_flag(keeper, CAI_OWNER_RECLAIMS) && keeps_uses(keeper);
}

[[noreturn, gnu::cold]] void fail_thread(const cai_array &array, int32_t index) {
  throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                "stream 2 is that of thread %" PRIu64
                ", and on this thread another stream: call cai_array_publish_event() there",
                kernel_id(thread_said_by(keeper_of(array)).load(std::memory_order_relaxed)));
}

// Traces that no edge is needed between an array's own stream and the stream of the call.
[[gnu::cold, gnu::noinline]] void tell_left_out(trace::Of of, trace::Side own, const Wanted &wanted,
                                                const char *what) noexcept {
  if (wanted.purpose == Wanted::For::adopting) return;  // there is no such stream yet
  const trace::Side other = trace::stream_or_host(wanted.stream);
  const bool ending = wanted.purpose == Wanted::For::ending;
  trace::edge(of, ending ? own : other, ending ? other : own, what);
}

[[gnu::always_inline]] inline void add(const cai_array &array, bool write, int32_t index,
                                       const Wanted &wanted, Demand &out, bool of_mask = false) {
  const auto leave_out = [&](trace::Side own, const char *what) {
    if (trace::on()) [[unlikely]]
      tell_left_out({index, &array}, own, wanted, what);
  };
  if (!may_be_pending(array)) return leave_out(trace::no_stream, "left out (nothing on a GPU)");
  const bool ending = wanted.purpose == Wanted::For::ending;
  if (ending && is_reclaimed(array)) return leave_out(trace::stream(array.stream), trace::reclaims);
  if (is_of_another_thread(array)) {
    if (ending)
      return leave_out(trace::stream(array.stream), "left out (that stream is another thread's)");
    fail_thread(array, index);
  }
  const std::uint64_t value = claim_stream(array, index);
  const bool completing = wanted.purpose == Wanted::For::completing;
  if (completing || wanted.purpose == Wanted::For::waiting) {
    add_uses(array, value, write || completing, index, wanted, out);
  }
  if (array.stream_kind == CAI_STREAM_EVENT) {
    if (!out.events.add_unless(
            {array.stream, index, array.owner, of_mask},
            [&](const Demand::EventOf &other) { return other.value == array.stream; })) {
      leave_out(trace::event(array.stream), trace::another_array);
    }
    return;
  }
  if (value == 0) return leave_out(trace::no_stream, "left out (the array came with None)");
  bool is_new = false;
  if (value > driver::stream_per_thread) {
    // Handled separately, so that the commonest case needs no driver.
    if (value == wanted.stream) return leave_out(trace::stream(value), trace::same_stream);
    Stream own{value, nullptr, index};
    own.of_mask = of_mask;
    is_new = out.handles.add_unless(own, [&](const Stream &other) { return other.value == value; });
  } else {
    const cai_owner *const keeper = keeper_of(array);
    const bool is_told = value == driver::stream_legacy && keeper && is_asked(keeper);
    is_new = out.defaults.add_unless({value, array.data, array.device_id, index, is_told, of_mask},
                                     [&](const Demand::Default &other) {
                                       return other.value == value && other.data == array.data &&
                                              other.device_id == array.device_id &&
                                              other.is_told == is_told;
                                     });
  }
  if (!is_new) leave_out(trace::stream(value), trace::another_array);
}

[[gnu::noinline]] void add_mask(const cai_array &mask, bool write, int32_t index, Wanted wanted,
                                Demand &out) {
  for_array(index, [&] { add(mask, writes_mask(mask, write), index, wanted, out, true); }, true);
}

// Collects the uses again: they now include what was pending on a stream that has been withdrawn.
void add_told(const Demand::Told &told, Conflicts &conflicts, Few<Stream> &out) {
  cai_owner *const keeper = keeper_of(*told.array);
  auto add = [&](Uses &uses) {
    uses.add_told(told.waiting, told.own, told.index, out);
    uses.add_conflicts(told.writes, told.index, conflicts);
  };
  if (is_import(keeper)) for_each_import(*told.array, add);
  if (may_have_kept(keeper, told.own) && stores_here(keeper)) add(make_uses_of(keeper));
}

}  // namespace

std::uint64_t claim_stream(const cai_array &array, int32_t index) {
  std::uint64_t value = 0;
  for_array(index, [&] { value = stream_value(array); });
  if (value != driver::stream_per_thread || is_of_thread(array)) return value;
  const cai_owner *const keeper = keeper_of(array);
  std::uint64_t said = 0;
  if (keeper && !thread_said_by(keeper).compare_exchange_strong(said, this_thread()) &&
      said != this_thread()) {
    fail_thread(array, index);
  }
  return value;
}

Stream stream_for(driver::Session &session, const cai_array &array, std::uint64_t stream) {
  if (stream > driver::stream_per_thread || !may_be_pending(array)) {
    return stream_here(session, stream);
  }
  return {stream, context_of_memory(session, {stream, array.data, array.device_id, -1}), -1};
}

driver::CUcontext find_context(driver::Session &session, const cai_array &array) {
  int ordinal = array.device_id;
  return find_context(session, array.data, &ordinal);
}

void collect(const cai_array *const *arrays, int32_t count, Wanted wanted, Demand &out,
             int32_t first) {
  if (trace::on()) [[unlikely]]
    out.wanted = wanted;
  for (int32_t at = 0; at < count; ++at) {
    const cai_array &array = *arrays[at];
    const int32_t index = first + at;
    const bool write = writes(array, wanted.access_of(at), index);
    add(array, write, index, wanted, out);
    if (array.mask) add_mask(*array.mask, write, index, wanted, out);
  }
}

void tell_nothing_before(const cai_array &array, std::uint64_t stream) {
  Demand nothing;
  collect(array, {Wanted::For::waiting, stream, CAI_ACCESS_READ}, nothing);
}

void resolve(driver::Session &session, Demand &demand, Reading &reading, Few<Stream> &out) {
  if (!demand.told.empty()) reading.enter();
  for (const Demand::Told &told : demand.told) {
    for_array(told.index, [&] { add_told(told, demand.conflicts, out); });
  }
  // A stream that was told for one array counts as told for all arrays that come with it.
  const auto is_new = [&](const Stream &found) {
    for (Stream &other : out) {
      if (!same(found, other)) continue;
      other.is_told = other.is_told || found.is_told;
      return false;
    }
    out.add(found);
    return true;
  };
  for (const Stream &handle : demand.handles) is_new(handle);
  for (const Demand::Default &array : demand.defaults) {
    for_source(array, [&] {
      const driver::CUcontext context = context_of_memory(session, array);
      Stream found{array.value, context, array.index};
      found.is_told = array.is_told;
      found.of_mask = array.of_mask;
      if (is_new(found) || !trace::on()) return;
      tell_left_out({array.index}, trace::stream(array.value), demand.wanted, trace::another_array);
    });
  }
}

}  // namespace cai::order
