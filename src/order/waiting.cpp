// SPDX-License-Identifier: BSD-3-Clause
#include "order/waiting.hpp"

#include <algorithm>
#include <cinttypes>

#include "order/above.hpp"
#include "order/by_address.hpp"
#include "order/forks.hpp"
#include "order/releases.hpp"

namespace cai::order {
namespace {

bool left_out(bool is_so, const Conflict &conflict, trace::Side waits, const char *what) noexcept {
  const trace::Side before = trace::stream(conflict.user.value);
  return trace::left_out(is_so, {conflict.index}, waits, before, what);
}

// Whether one of the producers' streams waits for the use, or was its stream.
bool is_covered(driver::Session &session, const Conflict &conflict, Few<Stream> &producers,
                trace::Side waits) {
  const bool covered = std::any_of(producers.begin(), producers.end(), [&](Stream &producer) {
    if (conflict.cover.is(session, producer)) return true;
    if (conflict.user.value != producer.value) return false;
    identify(session, producer);
    return conflict.user == producer.key();
  });
  constexpr const char *what = "left out (the wait for an array's stream covers that use)";
  return left_out(covered, conflict, waits, what);
}

// Whether the use's event is one that an array came with.
bool is_among(Few<Demand::EventOf, 4> &events, const Conflict &conflict, trace::Side waits) {
  const auto handle = reinterpret_cast<std::uintptr_t>(conflict.event.handle());
  const bool among = std::any_of(events.begin(), events.end(), [&](const Demand::EventOf &other) {
    return other.value == handle;
  });
  constexpr const char *what = "left out (an array came with the event of that use)";
  return left_out(among, conflict, waits, what);
}

// Removes uses whose contexts were destroyed: nothing is pending there, and the event is invalid.
// In the stream's own context the id shows this; for other contexts the driver is asked.
void leave_gone(driver::Session &session, const Stream *stream, Conflicts &conflicts,
                trace::Side waits) {
  conflicts.remove_if([&](const Conflict &conflict) {
    const Event &event = conflict.event;
    const bool is_here = stream && event.context() == stream->context;
    bool gone = false;
    for_array(conflict.index, [&] {
      gone = is_here ? went_with_context(event, stream->context, stream->context_id)
                     : went_with_context(session, event);
    });
    return left_out(gone, conflict, waits, "left out (that use has gone with its context)");
  });
}

// Removes what the stream already comes after. A consumer that was told stream 1 may have worked on
// a blocking stream, which the driver orders before the next work on stream 1. So work is queued on
// stream 1, for a host that waits for it.
void leave_unmet(driver::Session &session, Stream &stream, Few<Stream> &producers, Demand &demand,
                 Way way) {
  const bool may_be_awaited = way == Way::told && stream.value == driver::stream_legacy;
  Conflicts &conflicts = demand.conflicts;
  const trace::Side waits = trace::stream(stream.value);
  conflicts.remove_if([&](const Conflict &conflict) {
    const bool has_waited = conflict.cover.is(session, stream);
    return left_out(has_waited, conflict, waits, "left out (the stream has waited for that use)") ||
           is_covered(session, conflict, producers, waits) ||
           is_among(demand.events, conflict, waits);
  });
  producers.remove_if([&](const Stream &producer) {
    const bool is_same = same(producer, stream) && !(may_be_awaited && producer.is_told);
    return trace::left_out(is_same, {producer.index}, waits, waits, trace::same_stream);
  });
  if (conflicts.empty()) return;
  identify(session, stream);
  conflicts.remove_if([&](const Conflict &conflict) {
    return left_out(conflict.user == stream.key(), conflict, waits, trace::same_stream);
  });
  leave_gone(session, &stream, conflicts, waits);
}

// An event outside of the stream's capture is not part of the graph.
void require_complete(driver::Session &session, const Stream &stream, driver::CUevent event,
                      int32_t index, const char *what_is_pending) {
  if (!is_pending(session, event)) return;
  throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, index, 0},
                "stream 0x%" PRIx64 " is being captured into a graph, and %s", stream.value,
                what_is_pending);
}

// The stream into which a stream is joined back that joins the capture of `fork`. If a use took
// `fork` into the capture, `fork` was already joined back, and would have to be again; so it is the
// origin of `fork`.
Stream origin_of(driver::Session &session, const Stream &fork) {
  Stream origin = find_fork(fork);
  if (origin.value == 0) return fork;
  probe(session, origin);
  if (origin.capture.id == fork.capture.id) return origin;
  throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, fork.index, 0},
                "stream 0x%" PRIx64
                " is being captured into a graph, which it joined from stream 2 of another "
                "thread: a stream that follows it cannot be joined back here",
                fork.value);
}

// In the capture of a blocking stream, stream 1 of its context cannot wait or be waited for.
void require_no_legacy_capture(driver::Session &session, Stream &legacy, Stream &stream) {
  if (!implicitly_ordered(session, legacy, stream)) return;
  throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, legacy.index, 0},
                "stream 0x%" PRIx64
                " is blocking, and would join a capture, in which stream 1, which the array comes "
                "with, cannot be used: publish it on another stream",
                stream.value);
}

}  // namespace

void require_not_capturing(driver::Session &session, Stream &stream, const char *what_to_do) {
  probe(session, stream);
  if (!stream.capture) return;
  throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, stream.index, 0},
                "stream 0x%" PRIx64 " is being captured into a graph: %s", stream.value,
                what_to_do);
}

Recorded *find(Few<Recorded> &recorded, const Stream &stream) {
  Recorded *const found = std::find_if(recorded.begin(), recorded.end(),
                                       [&](const Recorded &it) { return same(it.stream, stream); });
  return found == recorded.end() ? nullptr : found;
}

void wait_for_all(driver::Session &session, Stream &stream, Few<Stream> &producers, Demand &demand,
                  std::uint32_t flags, Few<Recorded> *recorded, Stream *forked_from, Way way) {
  leave_unmet(session, stream, producers, demand, way);
  if (producers.empty() && demand.conflicts.empty() && demand.events.empty()) return;

  // All streams are checked first, so that if a capture forbids something nothing has been done.
  probe(session, stream);
  for (Stream &producer : producers) probe(session, producer);
  Stream *fork = nullptr;
  if (!stream.capture && (flags & CAI_USE_FORK)) {
    fork = std::find_if(producers.begin(), producers.end(),
                        [](const Stream &producer) { return bool(producer.capture); });
    if (fork == producers.end()) fork = nullptr;
    if (fork) {
      stream.capture = fork->capture;
      stream.is_to_join = true;
    }
  }
  if (fork && stream.value == driver::stream_legacy) {
    throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, fork->index, 0},
                  "stream 0x%" PRIx64
                  " is being captured into a graph, which stream 1, the legacy stream, cannot join",
                  fork->value);
  }
  if (fork && !demand.keepers.empty()) {
    throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, demand.keepers.begin()->index, 0},
                  "an owner keeps uses by itself, and cannot be asked for them in a capture that "
                  "stream 0x%" PRIx64 " is yet to join",
                  stream.value);
  }
  Stream origin{};
  if (fork) origin = origin_of(session, *fork);
  struct Step {
    Stream *producer;
    Edge edge;
  };
  Few<Step> steps;
  for (Stream &producer : producers) {
    // Stream 1 may come after work that only another owner knows.
    const Way its = producer.is_told && way == Way::forth ? Way::published : way;
    for_source(producer, [&] {
      steps.add({&producer, edge_between(session, producer, stream, its, flags)});
    });
  }
  for (Stream &producer : producers) {
    if (fork && producer.value == driver::stream_legacy)
      require_no_legacy_capture(session, producer, stream);
  }
  const bool external = flags & CAI_USE_EXTERNAL;
  if (stream.capture) {
    for (const Demand::EventOf &event : demand.events) {
      if (external) break;
      for_source(event, [&] {
        require_complete(session, stream, driver::event_handle(event.value), event.index,
                         flags & takes_flags
                             ? "the array's event is pending: wait for it before the capture, or "
                               "say CAI_USE_EXTERNAL"
                             : "the array's event is pending: wait for it before the capture");
      });
    }
    for (const Conflict &conflict : demand.conflicts) {
      require_complete(session, stream, conflict.event.handle(), conflict.index,
                       "an earlier use of the array is pending: wait for it before the capture");
    }
    // Completed work needs no order, and an edge to it would fail in a capture.
    static constexpr const char *complete = "left out (complete already, and outside of the graph)";
    if (!external) {
      demand.events.remove_if([&](const Demand::EventOf &event) {
        return trace::left_out(true, {event.index}, trace::stream(stream.value),
                               trace::event(event.value), complete);
      });
    }
    demand.conflicts.remove_if([&](const Conflict &conflict) {
      return left_out(true, conflict, trace::stream(stream.value), complete);
    });
  }

  // The fork first: it takes the stream into the capture.
  if (fork) {
    std::stable_partition(steps.begin(), steps.end(),
                          [](const Step &step) { return step.edge == Edge::within; });
  }
  bool forked = false;
  try {
    for (const Step &step : steps) {
      for_source(*step.producer, [&] {
        Recorded *const known = recorded ? find(*recorded, *step.producer) : nullptr;
        Event event;
        order(session, *step.producer, stream, step.edge, known ? known->event : event);
        if (known) known->is_waited_for = step.edge == Edge::event;
      });
      forked = fork != nullptr;
      stream.is_to_join = false;
    }
    for (const Demand::EventOf &event : demand.events) {
      for_source(event, [&] {
        // The graph waits for the event at every launch, and the event is destroyed with the owner.
        if (stream.capture && event.owner) hold_for_graph(session, stream.capture, event.owner);
        wait(session, stream, driver::event_handle(event.value),
             stream.capture ? driver::event_wait_external : 0);
      });
      trace::edge({event.index}, trace::stream(stream.value), trace::event(event.value),
                  stream.capture ? "made: each launch of the graph waits (CAI_USE_EXTERNAL)"
                                 : "made: event waited for (the array came with it)");
    }
    for (const Conflict &conflict : demand.conflicts) {
      for_array(conflict.index, [&] { wait(session, stream, conflict.event.handle()); });
      trace::edge({conflict.index}, trace::stream(stream.value), trace::stream(conflict.user.value),
                  "made: event waited for (a kept use conflicts)");
    }
  } catch (...) {
    // If it stayed in the capture, the stream would invalidate it at its end.
    if (forked) {
      Event event;
      try {
        order(session, stream, origin, Edge::within, event);
      } catch (...) {  // NOLINT(bugprone-empty-catch): the first failure is the one to report
      }
    }
    throw;
  }
  if (fork) *forked_from = origin;
}

namespace {

Uses *stored_uses_of(const cai_array &array) noexcept {
  const cai_owner *const keeper = keeper_of(array);
  return stores_here(keeper) ? uses_of(keeper) : nullptr;
}

}  // namespace

bool may_follow_captured(const cai_array *const *arrays, int32_t count) noexcept {
  return std::any_of(arrays, arrays + count, [](const cai_array *array) {
    const Uses *const uses = stored_uses_of(*array);
    if (uses && uses->any_captured()) return true;
    return of_either(
        *array, [](const cai_array &part) { return may_be_pending(part) && any_captured(part); });
  });
}

namespace {

// Makes the stream, which is in a capture, come after more nodes of the graph.
void follow_nodes(driver::Session &session, Stream &stream,
                  std::vector<driver::CUgraphNode> &nodes) {
  if (nodes.empty()) return;
  with(session, stream, [&] {
    // Each once, and only those that it does not already come after: the driver requires this.
    std::vector<driver::CUgraphNode> there = driver::dependencies_of(session.cu, stream.value);
    std::erase_if(nodes, [&](driver::CUgraphNode node) {
      const bool is_known = std::find(there.begin(), there.end(), node) != there.end();
      if (!is_known) there.push_back(node);
      return is_known;
    });
    if (!nodes.empty()) driver::add_dependencies(session.cu, stream.value, nodes);
  });
  trace::edge(trace::all_arrays, trace::stream(stream.value), trace::theirs,
              nodes.empty() ? "left out (earlier uses are before it in the graph)"
                            : "made: graph edges (earlier uses in the capture conflict)");
}

}  // namespace

void follow_captured(driver::Session &session, Stream &stream, Uses &uses, bool write) {
  if (!stream.is_probed) probe(session, stream);
  if (!stream.capture) return;
  std::vector<driver::CUgraphNode> nodes;
  uses.add_captured(stream.capture.id, stream.value, write, nodes);
  follow_nodes(session, stream, nodes);
}

void follow_captured(driver::Session &session, Stream &stream, const cai_array *const *arrays,
                     int32_t count, const Wanted &wanted) {
  if (!stream.capture) return;
  std::vector<driver::CUgraphNode> nodes;
  for (int32_t index = 0; index < count; ++index) {
    const cai_array &array = *arrays[index];
    Uses *const uses = stored_uses_of(array);
    const bool completing = wanted.purpose == Wanted::For::completing;
    const bool write = completing || writes(array, wanted.access_of(index), index);
    if (uses) uses->add_captured(stream.capture.id, stream.value, write, nodes);
    for_each_part(array, [&](const cai_array &part) {
      const bool writes_part = completing || (&part == &array ? write : writes_mask(part, write));
      for_each_captured(part, [&](Uses &other) {
        other.add_captured(stream.capture.id, stream.value, writes_part, nodes);
      });
    });
  }
  follow_nodes(session, stream, nodes);
}

void keep_captured(driver::Session &session, Stream &stream, Uses &uses, bool write) {
  std::vector<driver::CUgraphNode> nodes;
  with(session, stream, [&] { nodes = driver::dependencies_of(session.cu, stream.value); });
  uses.keep_captured(stream.capture.id, stream.value, write, nodes);
  note_captured(uses);
}

void cover_if_own(driver::Session &session, const cai_array &array, Stream &waiting,
                  Conflicts &conflicts) {
  cai_owner *const keeper = keeper_of(array);
  if (!keeps_here(keeper) || conflicts.empty() || stream_value(array) != waiting.value) return;
  if (!same(waiting, stream_for(session, array, waiting.value))) return;
  const Cover cover = Cover::by(session, waiting);
  if (Uses *const uses = uses_of(keeper)) uses->cover(conflicts, cover);
  if (!is_import(keeper)) return;
  for_each_import(array, [&](Uses &other) { other.cover(conflicts, cover); });
}

void wait_on_host(driver::Session &session, Few<Stream> &producers, Demand &demand,
                  Reading &reading) {
  for (Stream &producer : producers) {
    for_source(producer,
               [&] { require_not_capturing(session, producer, "the host cannot wait for it"); });
  }
  demand.conflicts.remove_if([&](const Conflict &conflict) {
    return is_covered(session, conflict, producers, trace::host) ||
           is_among(demand.events, conflict, trace::host);
  });
  leave_gone(session, nullptr, demand.conflicts, trace::host);
  session.use_relaxed_mode();
  // By an event, which comes after the streams that stream 1 waits for. A wait for stream 1 alone
  // need not.
  Few<Event> recorded;
  for (Stream &producer : producers) {
    for_source(producer, [&] { recorded.add(Event::record(session, producer)); });
  }
  reading.leave();
  const Event *last = recorded.begin();
  for (const Stream &producer : producers) {
    for_source(producer, [&] { driver::call(session.cu.cuEventSynchronize, (last++)->handle()); });
    trace::edge({producer.index}, trace::host, trace::stream(producer.value),
                "made: the host has waited for an event (work may be pending there)");
  }
  for (const Demand::EventOf &event : demand.events) {
    for_source(event, [&] {
      driver::call(session.cu.cuEventSynchronize, driver::event_handle(event.value));
    });
    trace::edge({event.index}, trace::host, trace::event(event.value),
                "made: the host has waited for the event (the array came with it)");
  }
  for (const Conflict &conflict : demand.conflicts) {
    for_array(conflict.index,
              [&] { driver::call(session.cu.cuEventSynchronize, conflict.event.handle()); });
    trace::edge({conflict.index}, trace::host, trace::stream(conflict.user.value),
                "made: the host has waited for an event (a kept use conflicts)");
  }
}

void sync_host(const cai_array &array) {
  Demand demand;
  collect(array, {Wanted::For::completing, 0, CAI_ACCESS_DEFAULT}, demand);
  if (is_freed(array) && ask<const cai_owner>(above.has_lost_context, *keeper_of(array))) {
    demand.leave_streams();
  }
  if (demand.empty()) return;
  if (!demand.streams_empty() || !demand.events.empty() || !demand.conflicts.empty()) {
    driver::Session session;
    Few<Stream> producers;
    Reading reading;
    resolve(session, demand, reading, producers);
    wait_on_host(session, producers, demand, reading);
    session.finish();
  }
  await_keepers(demand, 0);
}

cai_error error_of_keeper(cai_error said, cai_status status, int32_t index) noexcept {
  if (said.status == CAI_OK) {
    fail(&said, status, {}, "a function of the owner returned %s", cai_status_name(status));
  }
  said.index = index;  // an error of its own, which has no arrays of this call
  return said;
}

void await_keepers(Demand &demand, std::uint64_t stream) {
  for (const Demand::Keeper &keeper : demand.keepers) {
    cai_error error{};
    const std::uint32_t access = keeper.writes ? CAI_ACCESS_WRITE : CAI_ACCESS_READ;
    const cai_status status = keeper.owner->await_uses(keeper.owner, stream, access, &error);
    if (status != CAI_OK) throw Failure(error_of_keeper(error, status, keeper.index));
    trace::edge({keeper.index}, trace::stream_or_host(stream), trace::owner(keeper.owner),
                "told: await_uses of the owner's own (it keeps uses by itself)");
  }
}

}  // namespace cai::order
