// SPDX-License-Identifier: BSD-3-Clause
// Uses of arrays: order from the producers' streams to the consumer's, and back.
#include <algorithm>
#include <cinttypes>

#include "core/report.hpp"
#include "order/forks.hpp"
#include "order/open_use.hpp"
#include "order/owned.hpp"
#include "order/published.hpp"
#include "order/releases.hpp"
#include "order/trace.hpp"
#include "order/waiting.hpp"

namespace cai::order {
namespace {

constexpr const char *host_in_capture = "the host cannot wait for it";

// ---- The beginning ------------------------------------------------------------------------------

[[noreturn, gnu::cold]] void fail_orphan(const cai_array &array, int32_t index) {
  const bool event = array.stream_kind == CAI_STREAM_EVENT;
  throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                "%s 0x%" PRIx64
                " has no stream that could wait at the end, and the owner keeps no uses: use the "
                "array with CAI_ORDER_BEGIN and cai_array_release_on(), or with CAI_ORDER_HOST",
                event ? "event" : "another thread's stream", array.stream);
}

// Returns why the end has nothing to do for an array or a mask; null: it has something to do.
[[gnu::always_inline]] inline const char *why_not_noted(const OpenUse &use, const cai_array &part,
                                                        bool keeps) {
  constexpr const char *nothing = "left out at the end (nothing on a GPU)";
  if (part.device_type == CAI_DEVICE_CPU) return nothing;
  if (states_none(part) && !keeps) {
    return "left out at the end (the array came with None, and nobody keeps uses of it)";
  }
  if (!is_on(part, use.stream) && has_no_elements(part)) return nothing;
  return nullptr;
}

// Notes what the end must do for an array, or a mask, of the owner.
void note(OpenUse &use, const cai_array &part, cai_owner *owner, int32_t index, bool write,
          bool is_mask) {
  const cai_owner *const keeper = keeper_of(owner);
  const bool keeps = keeps_uses(keeper);
  if (why_not_noted(use, part, keeps)) return;
  const std::uint64_t own = is_of_another_thread(part) ? 0 : claim_stream(part, index);
  if (own == 0 && !keeps && !use.is_on_host) fail_orphan(part, index);
  if (own == driver::stream_per_thread) use.thread = this_thread();
  const bool is_reclaimed = keeps && has_flag(keeper, CAI_OWNER_RECLAIMS);
  use.begin()[use.count++] = {
      owner, own, nullptr, index, write, is_mask, own != 0 && !is_reclaimed};
}

void note_all(OpenUse &use, const cai_array *const *arrays, int32_t count, const Options &options) {
  const bool has_masks =
      std::any_of(arrays, arrays + count, [](const cai_array *array) { return array->mask; });
  const auto most = static_cast<std::size_t>(count) * (has_masks ? 2 : 1);
  if (most > OpenUse::few) {
    use.many = static_cast<Used *>(std::malloc(most * sizeof(Used)));
    if (!use.many) throw std::bad_alloc();
  }
  for (int32_t index = 0; index < count; ++index) {
    const cai_array &array = *arrays[index];
    const bool write = writes(array, options.access_of(index), index);
    note(use, array, array.owner, index, write, false);
    if (!array.mask) continue;
    const bool writes_it = writes_mask(*array.mask, write);
    for_array(index, [&] { note(use, *array.mask, array.owner, index, writes_it, true); }, true);
  }
}

// Whether the work is ordered with everything noted, and no use needs to be kept. Compares the
// handles of the streams alone.
bool is_on_own_streams(OpenUse &use) noexcept {
  return use.stream > driver::stream_per_thread && !use.fork &&
         std::all_of(use.begin(), use.end(), [&](const Used &used) {
           const cai_owner *const keeper = keeper_of(used.owner);
           return used.own == use.stream && !streams_differ(keeper) && !stores_by_itself(keeper);
         });
}

// Finds out which streams the arrays' 1 and 2 are; and registers a use where others can find it if
// the array's exporter does not keep it.
void settle_streams(driver::Session &session, OpenUse &use, const cai_array *const *arrays) {
  for (Used &used : use) {
    const cai_array &array = *arrays[used.index];
    const cai_array &part = used.is_mask ? *array.mask : array;
    if (used.own != 0 && used.own <= driver::stream_per_thread) {
      for_array(
          used.index, [&] { used.context = stream_for(session, part, used.own).context; },
          used.is_mask);
    }
    cai_owner *const keeper = keeper_of(array);
    if (keeps_here(keeper) && is_import(keeper) &&
        (used.own != use.stream || streams_differ(keeper))) {
      list_import(make_uses_of(keeper), array);
    }
  }
}

void list_uses_in_capture(OpenUse &use, const cai_array *const *arrays) {
  for (const Used &used : use) {
    const cai_array &array = *arrays[used.index];
    cai_owner *const keeper = keeper_of(array);
    if (stores_here(keeper)) list_captured(make_uses_of(keeper), array);
  }
}

// ---- Traces of beginnings -----------------------------------------------------------------------

// Traces what the end will leave out, since the end does not see those arrays.
[[gnu::cold, gnu::noinline]] void tell_not_noted(const OpenUse &use, const cai_array *const *arrays,
                                                 int32_t count, const Options &options) {
  const trace::Side consumer = trace::stream(use.stream);
  if (options.order == CAI_ORDER_BEGIN) {
    return trace::edge(trace::all_arrays, trace::theirs, consumer,
                       "left out at the end (CAI_ORDER_BEGIN)");
  }
  for (int32_t index = 0; index < count; ++index) {
    for (const cai_array *part : {arrays[index], arrays[index]->mask}) {
      const bool keeps = keeps_uses(keeper_of(*arrays[index]));
      const char *const why = part ? why_not_noted(use, *part, keeps) : nullptr;
      if (why) trace::edge({index, part}, trace::no_stream, consumer, why);
    }
  }
}

[[gnu::cold, gnu::noinline]] void tell_no_order(const cai_array *const *arrays, int32_t count,
                                                std::uint64_t stream) {
  const trace::Call call("cai_use_begin", trace::stream(stream), arrays, count);
  trace::edge(trace::all_arrays, trace::stream(stream), trace::theirs,
              Environment::get().sync ? "left out, at the end too (CAI_ORDER_NONE)"
                                      : "left out, at the end too (CAI_SYNC=0)");
}

// Not inline, and neither is end(): a call that needs no order should not pay for their frames.
[[gnu::noinline]] void begin(OpenUse &use, const cai_array *const *arrays, int32_t count,
                             const Options &options) {
  const trace::Call call("cai_use_begin", trace::stream(use.stream), arrays, count);
  const bool waits = options.order != CAI_ORDER_END;
  if (!waits) {
    trace::edge(trace::all_arrays, trace::stream(use.stream), trace::theirs,
                "left out (CAI_ORDER_END)");
  }
  if (trace::on()) tell_not_noted(use, arrays, count, options);
  const std::uint64_t side = options.side(use.stream);
  const Wanted wanted{Wanted::For::waiting, side, options.access, options.accesses};
  Demand demand;
  if (waits) {
    for (int32_t index = 0; index < count; ++index) {
      const cai_array &array = *arrays[index];
      for_array(index,
                [&] { await_host_work(array, writes(array, options.access_of(index), index)); });
    }
    collect(arrays, count, wanted, demand);
  }
  const bool follows = waits && may_follow_captured(arrays, count);
  if (demand.empty() && !follows && (use.count == 0 || is_on_own_streams(use))) return;

  Ending ending;
  {
    driver::Session session;
    Stream consumer = stream_here(session, use.stream);
    settle_streams(session, use, arrays);
    Few<Stream> producers;
    Reading reading;
    resolve(session, demand, reading, producers);
    if (options.on_host()) {
      require_not_capturing(session, consumer, host_in_capture);
      wait_on_host(session, producers, demand, reading);
    } else if (waits) {
      Stream fork{};
      const Way way = options.flags & tells_stream ? Way::told : Way::forth;
      wait_for_all(session, consumer, producers, demand, options.flags, nullptr, &fork, way);
      reading.leave();
      use.fork_from(fork);
      if (use.fork) remember_fork(consumer, fork);
      for (int32_t index = 0; index < count; ++index) {
        cover_if_own(session, *arrays[index], consumer, demand.conflicts);
      }
      if (!consumer.is_probed) probe(session, consumer);
      follow_captured(session, consumer, arrays, count, wanted);
      if (consumer.context_id) look(session, consumer, ending);
    }
    if (!consumer.is_probed) probe(session, consumer);
    if (consumer.capture && !use.fork) use.fork_from(find_fork(consumer));
    if (any_captured()) forget_captures_over(consumer);
    if (consumer.capture) list_uses_in_capture(use, arrays);
    use.capture = consumer.capture.id;
    use.context = consumer.context;
    session.finish();
  }
  await_keepers(demand, side);
}

// ---- The end ------------------------------------------------------------------------------------

// A use's stream 2 is that of the thread that began it.
void require_thread(const OpenUse &use, std::uint64_t stream) {
  if (stream != driver::stream_per_thread || use.thread == this_thread()) return;
  throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM},
                "the use is on stream 2 of thread %" PRIu64
                ", and stream 2 of this thread is another stream: end it there",
                kernel_id(use.thread));
}

Stream consumer_of(driver::Session &session, const OpenUse &use) {
  require_thread(use, use.stream);
  Stream consumer{use.stream, use.stream <= driver::stream_per_thread ? use.context : nullptr, -1};
  probe(session, consumer);
  return consumer;
}

// Whether the stream is in a capture now that it was not in when the use began.
bool is_late_capture(const OpenUse &use, const Stream &consumer) {
  return consumer.capture && consumer.capture.id != use.capture;
}

// Whether others, whose arrays come with other streams than the use's by now, wait for the use's,
// too.
bool is_awaited_anyway(const OpenUse &use) {
  return std::all_of(use.begin(), use.end(), [&](const Used &used) {
    cai_owner *const keeper = keeper_of(used.owner);
    return !streams_differ(keeper) || make_uses_of(keeper).is_told(use.stream);
  });
}

// Joins the stream back into the stream whose capture it joined, if both are still in it.
void join_back(driver::Session &session, const OpenUse &use, Stream &consumer) {
  if (!use.fork || !consumer.capture) return;
  require_thread(use, use.fork);
  Stream fork{use.fork, use.fork_context, -1};
  probe(session, fork);
  if (fork.capture.id != consumer.capture.id) return;
  Event event;
  order(session, consumer, fork, Edge::within, event);
}

// The end of a use, array by array: which stream waits, and which owner keeps the use.
class End {
 public:
  explicit End(OpenUse &use) : use_(use) {}

  void run() {
    const trace::Call call("cai_use_end", use_);
    Ending ending;
    driver::Faults faults;
    cai_error error;
    const cai_status status = guard(&error, [&] {
      driver::Session session;
      Stream consumer = consumer_of(session, use_);
      for (const Used &used : use_) require_thread(use_, used.own);
      require_no_late_capture(consumer);
      order_back(session, consumer);
      if (consumer.context_id) look(session, consumer, ending);
      session.finish();
    });
    if (status != CAI_OK) faults.note(error);
    if (!told_.empty()) call_out(use_.stream, use_.context, [&] { tell_keepers(faults); });
    faults.raise();
  }

 private:
  // The stream of an array that comes after the consumer.
  struct Step {
    Stream *producer;
    Edge edge;
    bool done;
  };

  // What was queued before the capture is not in the graph, and no event can say when it is
  // complete. A beginning that needed no order did not ask whether there was a capture: all arrays
  // came with the use's stream then. If an array has come with another stream since, within the
  // capture, that call has told the stream (tell_of_captured() in publish.cpp). So others wait for
  // what may have been queued there before, and nothing is lost, whenever the capture began.
  void require_no_late_capture(const Stream &consumer) const {
    if (!is_late_capture(use_, consumer)) return;
    if (was_not_asked() && is_awaited_anyway(use_)) return;
    throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, -1, 0},
                  "stream 0x%" PRIx64
                  " is being captured into a graph, and %s when the use began: end the use once "
                  "the capture has ended",
                  use_.stream, was_not_asked() ? "may not have been" : "was not");
  }

  // Whether the beginning needed no order, and no driver: all arrays came with the use's stream.
  bool was_not_asked() const noexcept { return use_.capture == OpenUse::not_asked; }

  void order_back(driver::Session &session, Stream &consumer) {
    Few<Stream> producers;
    for (const Used &used : use_) {
      if (!used.is_handed_back) {
        leave_out(used, used.own ? trace::reclaims : "left out (no stream could wait)");
      } else if (!producers.add_unless(used.stream(), [&](const Stream &other) {
                   return same(used.stream(), other);
                 })) {
        leave_out(used, trace::another_array);
      }
    }
    producers.remove_if([&](const Stream &producer) {
      return trace::left_out(same(producer, consumer), {producer.index},
                             trace::stream(producer.value), trace::stream(consumer.value),
                             trace::same_stream);
    });
    // First: a capture is lost if a stream is not joined back.
    attempt(session, -1, [&] { join_back(session, use_, consumer); });
    for (Stream &producer : producers) {
      const auto add_step = [&] {
        probe(session, producer);
        Edge edge = edge_between(session, consumer, producer, Way::back, use_.flags);
        if (edge == Edge::none && is_barrier(consumer, producer)) edge = Edge::event;
        const bool is_joined = edge == Edge::within && is_fork(producer);
        steps_.add({&producer, edge, is_joined});
      };
      if (consumer.capture && !use_.fork) {
        attempt(session, producer.index, add_step);
        continue;
      }
      // The work is already queued. If one producer's capture forbids the edge, the other producers
      // must still be ordered, and this one's owner must still be told.
      try {
        for_array(producer.index, add_step);
      } catch (const Failure &failure) {
        session.faults.note(failure.error());
      }
    }
    Event event;
    for (Step &step : steps_) {
      if (step.done) continue;
      step.done = attempt(session, step.producer->index,
                          [&] { order(session, consumer, *step.producer, step.edge, event); });
    }
    if (consumer.capture) return keep_captured(session, consumer);
    for (const Used &used : use_) keep(session, consumer, used, event);
  }

  void leave_out(const Used &used, const char *what) const {
    trace::edge({used.index}, trace::stream(used.own), trace::stream(use_.stream), what);
  }

  // Traces what the owner has done with the use.
  void tell(const Used &used, const char *what) const {
    trace::edge({used.index}, trace::owner(keeper_of(used.owner)), trace::stream(use_.stream),
                what);
  }

  // Work in a graph is not pending, but other streams in the same capture come after it.
  void keep_captured(driver::Session &session, Stream &consumer) {
    in_capture_ = true;
    std::vector<driver::CUgraphNode> nodes;
    bool is_asked = false;
    for (const Used &used : use_) {
      cai_owner *const keeper = keeper_of(used.owner);
      if (stores_by_itself(keeper)) told_.add({keeper, used.write, used.index});
      if (!stores_here(keeper)) continue;
      const Step *const step = used.is_handed_back ? step_of(used.stream()) : nullptr;
      const bool is_own = used.own && same(used.stream(), consumer);
      const bool covers = is_own || (step && step->edge == Edge::within);
      // As an end without a driver would: work queued before the capture is still pending.
      if (was_not_asked()) mark(keeper, use_.stream);
      if (covers && !streams_differ(keeper)) continue;
      attempt(session, used.index, [&] {
        if (!is_asked) {
          with(session, consumer,
               [&] { nodes = driver::dependencies_of(session.cu, consumer.value); });
        }
        is_asked = true;
        Uses &uses = make_uses_of(keeper);
        if (was_not_asked()) list_owner(uses, *keeper, true);
        uses.keep_captured(consumer.capture.id, consumer.value, used.write, nodes);
        note_captured(uses);
        tell(used, "kept (others in the same capture come after it)");
      });
    }
  }

  // If nobody keeps the use, something on stream 1 must come between the work of one blocking
  // stream and that of the next: it orders the whole context.
  bool is_barrier(const Stream &consumer, const Stream &producer) const {
    if (consumer.capture) return false;  // else implicit order is order with stream 1
    return std::any_of(use_.begin(), use_.end(), [&](const Used &used) {
      return same(used.stream(), producer) && !keeps_uses(keeper_of(used.owner));
    });
  }

  bool is_fork(const Stream &producer) const {
    return same(producer, Stream{use_.fork, use_.fork_context, -1});
  }

  void keep(driver::Session &session, Stream &consumer, const Used &used, Event &event) {
    cai_owner *const keeper = keeper_of(used.owner);
    if (!keeps_uses(keeper)) return tell(used, "not kept (nobody keeps uses of the array)");
    // The array's stream if it comes after the use by now; else null.
    Stream *own = nullptr;
    Stream reclaimed = used.stream();
    bool in_order = false;
    if (used.own && !used.is_handed_back) {
      attempt(session, used.index, [&] {
        in_order = same(reclaimed, consumer) || (use_.stream != driver::stream_legacy &&
                                                 implicitly_ordered(session, reclaimed, consumer));
        if (in_order) own = &reclaimed;
      });
    } else if (used.own && same(used.stream(), consumer)) {
      in_order = true;
      own = &consumer;
    } else if (const Step *const step = used.own ? step_of(used.stream()) : nullptr) {
      in_order = step->edge == Edge::none;
      own = step->producer;
    }
    // Work of a blocking stream on an array of stream 1: another blocking stream comes after stream
    // 1, but not after this work.
    const bool around_legacy =
        in_order && used.own == driver::stream_legacy && use_.stream != driver::stream_legacy;
    const bool freed_there = has_flag(keeper, CAI_OWNER_STREAM_ORDERED) &&
                             (keeper->freed_on == 0 || keeper->freed_on == used.own);
    const bool is_enough =
        own && (in_order || freed_there) && !around_legacy && !streams_differ(keeper);
    if (is_enough && !stores_by_itself(keeper)) {
      mark(keeper, *own);
      return tell(used, "not kept (the array's stream comes after the use)");
    }
    if (keeps_by_itself(keeper)) return told_.add({keeper, used.write, used.index});
    attempt(session, used.index, [&] {
      if (!event) event = Event::record(session, consumer);
      Uses &uses = make_uses_of(keeper);
      const Cover cover = own && !in_order ? Cover::by(session, *own) : Cover{};
      uses.keep(session, consumer, event, used.write, cover);
      if (used.own && may_be_freed_on(used.own, used.owner)) uses.free_on(used.stream());
      tell(used, is_asked(keeper) ? "kept: with an event (another import comes with another stream)"
                 : streams_differ(keeper)
                     ? "kept: with an event (arrays of the owner come with different streams)"
                 : around_legacy
                     ? "kept: with an event (another blocking stream need not come after)"
                 : own ? "kept: with an event (its memory may go in another order)"
                       : "kept: with an event (no stream of the array comes after)");
    });
  }

  const Step *step_of(const Stream &own) {
    for (const Step &step : steps_) {
      if (step.done && same(*step.producer, own)) return &step;
    }
    return nullptr;
  }

  // After the session: these functions may call libcai.
  void tell_keepers(driver::Faults &faults) {
    for (const Demand::Keeper &told : told_) {
      cai_error error{};
      const std::uint32_t access = (told.writes ? CAI_ACCESS_WRITE : CAI_ACCESS_READ) |
                                   (in_capture_ ? CAI_ACCESS_CAPTURED : 0);
      const cai_status status = told.owner->used_on(told.owner, use_.stream, access, &error);
      if (status != CAI_OK) faults.note(error_of_keeper(error, status, told.index));
      trace::edge({told.index}, trace::owner(told.owner), trace::stream(use_.stream),
                  "told: used_on of the owner's own (it keeps uses by itself)");
    }
  }

  OpenUse &use_;
  Few<Step> steps_;
  Few<Demand::Keeper, 4> told_;  // that keep uses by themselves, and must keep this one
  bool in_capture_ = false;
};

[[gnu::cold, gnu::noinline]] void tell_own_streams(OpenUse &use) {
  const trace::Call call("cai_use_end", use);
  for (const Used &used : use) {
    trace::edge({used.index}, trace::stream(used.own), trace::stream(use.stream),
                trace::same_stream);
  }
}

// An end that needs no driver; returns false if this end does.
bool mark_own_streams(OpenUse &use) {
  if (!is_on_own_streams(use)) return false;
  for (const Used &used : use) {
    cai_owner *const keeper = keeper_of(used.owner);
    if (keeper) mark(keeper, use.stream);
  }
  if (trace::on()) [[unlikely]]
    tell_own_streams(use);
  return true;
}

// ---- Other ends ---------------------------------------------------------------------------------

void finish(OpenUse &use, bool wait, const char *function) {
  const trace::Call call(function, use);
  if (!wait && !use.fork) return;
  driver::Session session;
  Stream consumer = consumer_of(session, use);
  join_back(session, use, consumer);
  if (wait) {
    require_not_capturing(session, consumer, host_in_capture);
    synchronize(session, consumer);
    trace::edge(trace::all_arrays, trace::host, trace::stream(use.stream),
                "made: the host has waited for the stream (it was asked to)");
  }
  session.finish();
}

// Each owner once.
template <class Body>
void for_each_owner(OpenUse &use, Body &&body) {
  for (Used &used : use) {
    const bool is_first = std::none_of(
        use.begin(), &used, [&](const Used &other) { return other.owner == used.owner; });
    if (used.owner && is_first) body(used.owner);
  }
}

// Makes the owners keep what is pending on the stream. Owners that keep no uses are held until it
// is complete; owners with functions of their own are told. Returns false if other work is pending.
// `joined` receives why the stream was not joined back to the one whose capture it was taken into;
// or CAI_OK.
bool keep_abandoned(OpenUse &use, cai_error &joined) {
  const trace::Call call("cai_use_abandon", use);
  Few<cai_owner *> told;
  driver::Session session;
  Stream consumer = consumer_of(session, use);
  // Owners that are told may call libcai.
  const auto are_told = [&] {
    session.faults = {};
    session.finish();
    const std::uint32_t access = CAI_ACCESS_WRITE | (consumer.capture ? CAI_ACCESS_CAPTURED : 0);
    bool are_all = true;
    const auto tell = [&] {
      are_all = std::all_of(told.begin(), told.end(), [&](cai_owner *keeper) {
        return keeper->used_on(keeper, use.stream, access, nullptr) == CAI_OK;
      });
    };
    if (!told.empty()) call_out(use.stream, use.context, tell);
    return are_all;
  };
  joined.status = guard(&joined, [&] { join_back(session, use, consumer); });
  if (consumer.capture) {
    for_each_owner(use, [&](cai_owner *owner) {
      cai_owner *const keeper = keeper_of(owner);
      if (stores_here(keeper)) keep_captured(session, consumer, make_uses_of(keeper), true);
      if (stores_by_itself(keeper)) told.add(keeper);
      hold_for_graph(session, consumer.capture, owner);
      trace::edge(trace::all_arrays, trace::owner(owner), trace::stream(use.stream),
                  "kept: held by the graph (the use was given up in a capture)");
    });
    return are_told() && !is_late_capture(use, consumer);
  }
  const Event event = Event::record(session, consumer);
  identify(session, consumer);
  bool is_held = false;
  const auto hold_until = [&](cai_owner *owner) {
    is_held = true;
    std::unique_ptr<Uses> holder = new_holder(owner);
    holder->keep(consumer.key(), event, true, {});
    if (owner) owner->retain(owner);
    put_off(holder.release());
  };
  for_each_owner(use, [&](cai_owner *owner) {
    cai_owner *const keeper = keeper_of(owner);
    trace::edge(trace::all_arrays, trace::owner(keeper), trace::stream(use.stream),
                "kept: event recorded (the use was given up)");
    if (keeps_here(keeper)) make_uses_of(keeper).keep(consumer.key(), event, true, {});
    if (keeps_by_itself(keeper)) told.add(keeper);
    if (!stores_here(keeper)) hold_until(owner);
  });
  // Work on a producer's own stream has no owner to tell, so only cai_drain() waits for it.
  if (!is_held) hold_until(nullptr);
  for (const Used &used : use) {
    cai_owner *const keeper = keeper_of(used.owner);
    if (keeps_here(keeper) && used.own && may_be_freed_on(used.own, used.owner)) {
      make_uses_of(keeper).free_on(used.stream());
    }
  }
  return are_told();
}

[[gnu::cold]] void report_lost_capture(const OpenUse &use, const cai_error &why) noexcept {
  cai_error error;
  fail(&error, why.status, {why.entry, why.index, why.native},
       "stream 0x%" PRIx64 " cannot be joined back to stream 0x%" PRIx64
       ", whose capture may be lost: %s",
       use.stream, use.fork, why.message);
  report(error);
}

void abandon(OpenUse &use) noexcept {
  if (use.count == 0 && !use.fork) return;
  bool is_kept = false;
  constexpr cai_status untried = 1;
  cai_error error, joined;
  joined.status = untried;
  const cai_status status = guard(&error, [&] { is_kept = keep_abandoned(use, joined); });
  // Without a driver nothing is pending, and neither in a forked child.
  if (status == CAI_ERR_DRIVER || status == CAI_ERR_STATE) return;
  if (use.fork && joined.status != CAI_OK) {
    report_lost_capture(use, joined.status == untried ? error : joined);
  }
  if (is_kept) return;
  const Stream consumer{use.stream, use.context, -1};
  for_each_owner(use, [&](cai_owner *owner) { park(owner, consumer); });
}

// ---- Whole beginnings and ends ------------------------------------------------------------------

// The commonest use, without options. Returns false, having done nothing, if it is another one.
bool begin_in_order(OpenUse &use, const cai_array *const *arrays, int32_t count,
                    std::uint64_t stream) noexcept {
  if (count < 1 || count > OpenUse::few || !arrays || !Environment::keeps_quiet()) return false;
  if (stream == 0 || stream == driver::stream_per_thread) return false;
  std::int32_t used_count = 0;
  for (int32_t index = 0; index < count; ++index) {
    if (!is_plain(arrays[index])) return false;
    const cai_array &array = *arrays[index];
    const cai_owner *const keeper = keeper_of(array);
    if (keeper && is_freed(*keeper)) return false;
    if (is_in_order(array, keeper, stream)) {
      const bool write = !(array.flags & CAI_FLAG_READONLY);
      const bool is_reclaimed = has_flag(keeper, CAI_OWNER_RECLAIMS);
      use.used[used_count++] = {array.owner, stream, nullptr, index, write, false, !is_reclaimed};
    } else if (!is_out_of_sight(array)) {
      return false;
    }
  }
  use.open(stream, used_count);
  return true;
}

// Not inline, and neither is begin(): the commonest use should not pay for their frames. `flags`
// replace those of the options, unless they are takes_flags.
[[gnu::noinline]] cai_status begin(OpenUse &use, const cai_array *const *arrays, int32_t count,
                                   std::uint64_t stream, const cai_use_options *given,
                                   std::uint32_t flags, cai_error *error) {
  use.clear();
  const cai_status status = guard(error, [&] {
    Options options = read_options(given);
    if (flags != takes_flags) options.flags = flags;
    require_stream(stream);
    require_all_valid(arrays, count, options);
    if (options.order == CAI_ORDER_NONE) {
      if (trace::on()) tell_no_order(arrays, count, stream);
      return;
    }
    use.open(stream, 0);
    if (stream == driver::stream_per_thread) use.thread = this_thread();
    use.flags = options.flags;
    use.is_on_host = options.on_host();
    if (options.order != CAI_ORDER_BEGIN) note_all(use, arrays, count, options);
    const bool waits =
        options.order != CAI_ORDER_END && !nothing_before(arrays, count, options.side(stream));
    if (waits || !is_on_own_streams(use) || trace::on()) begin(use, arrays, count, options);
  });
  if (status != CAI_OK) {
    // A stream that has joined a capture before the failure must not spoil it.
    if (use.fork) static_cast<void>(guard(nullptr, [&] { finish(use, false, "cai_use_begin"); }));
    use.close();
  }
  return status;
}

// Whether the owners already know that their arrays are used on the stream that they came with, or
// need not know: the commonest end.
bool has_nothing_to_end(const OpenUse &use) noexcept {
  if (use.fork || use.is_on_host || !Environment::keeps_quiet()) return false;
  for (const Used &used : use) {
    const cai_owner *const keeper = keeper_of(used.owner);
    if (used.own != use.stream || !stores_here(keeper)) return false;
    if (marked_in(word_of(keeper)) != use.stream) return false;
  }
  return true;
}

[[gnu::noinline]] cai_status end(OpenUse &use, cai_error *error) {
  const cai_status status = guard(error, [&] {
    constexpr const char *name = "cai_use_end";
    if (use.count == 0) return finish(use, false, name);  // it may have joined a capture
    if (use.is_on_host) return finish(use, true, name);
    if (!mark_own_streams(use)) End(use).run();
  });
  if (status == CAI_OK) use.close();
  return status;
}

}  // namespace
}  // namespace cai::order

using namespace cai;
using order::OpenUse;
namespace trace = order::trace;

cai_status cai_use_begin(cai_use *use, const cai_array *const *arrays, int32_t count,
                         uint64_t stream, const cai_use_options *options, cai_error *error) {
  if (!use) return fail(error, CAI_ERR_ARGUMENT, {}, "use is NULL");
  OpenUse &open = OpenUse::of(use);
  if (!options && order::begin_in_order(open, arrays, count, stream)) return CAI_OK;
  return order::begin(open, arrays, count, stream, options, order::takes_flags, error);
}

cai_status order::begin_use(cai_use *use, const cai_array *const *arrays, int32_t count,
                            std::uint64_t stream, const cai_use_options &options, cai_error *error,
                            std::uint32_t flags) noexcept {
  return begin(OpenUse::of(use), arrays, count, stream, &options, flags, error);
}

cai_status cai_use_end(cai_use *use, cai_error *error) {
  if (!use) return fail(error, CAI_ERR_ARGUMENT, {}, "use is NULL");
  OpenUse &open = OpenUse::of(use);
  if (open.stream == 0) return CAI_OK;
  if (!order::has_nothing_to_end(open)) return order::end(open, error);
  open.close();
  return CAI_OK;
}

cai_status cai_use_finish(cai_use *use, int32_t wait, cai_error *error) {
  if (!use) return fail(error, CAI_ERR_ARGUMENT, {}, "use is NULL");
  OpenUse &open = OpenUse::of(use);
  if (open.stream == 0) return CAI_OK;
  const cai_status status = guard(error, [&] { order::finish(open, wait != 0, "cai_use_finish"); });
  if (status == CAI_OK) open.close();
  return status;
}

void cai_use_abandon(cai_use *use) {
  if (!use) return;
  OpenUse &open = OpenUse::of(use);
  if (open.stream == 0) return;
  order::abandon(open);
  open.close();
}

cai_status cai_array_sync_host(const cai_array *array, cai_error *error) {
  return guard(error, [&] {
    order::require_valid(array, -1);
    const trace::Call call("cai_array_sync_host", trace::host, *array);
    order::await_host_work(*array, true);
    order::sync_host(*array);
  });
}
