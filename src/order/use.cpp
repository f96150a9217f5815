// SPDX-License-Identifier: BSD-3-Clause
// Arrays in use: the hand-over from the producers' streams to the consumer's, and back.
#include <algorithm>
#include <cinttypes>

#include "core/owned.hpp"
#include "order/releases.hpp"
#include "order/waiting.hpp"

namespace cai::order {
namespace {

constexpr const char *host_in_capture = "the host cannot wait for it";

// Not in line, and end() neither: a call that needs no order is not to pay for their frames.
[[gnu::noinline]] void begin(const cai_array *const *arrays, int32_t count, std::uint64_t stream,
                             const Options &options) {
  for (int32_t index = 0; index < count; ++index) {
    const cai_array &array = *arrays[index];
    for_array(index, [&] { await_host_work(array, writes(array, options.access, index)); });
  }
  const Wanted wanted{Wanted::For::waiting, options.side(stream), options.access};
  Demand demand;
  collect(arrays, count, wanted, demand);
  if (demand.empty()) return;

  Ending ending;
  {
    driver::Session session;
    Stream consumer = stream_here(session, stream);
    Few<Stream> producers;
    resolve(session, demand, OnFailure::stop, producers);
    if (options.on_host()) {
      refuse_capturing(session, consumer, host_in_capture);
      wait_on_host(session, producers, demand);
    } else {
      wait_for_all(session, consumer, producers, demand, options.flags);
      for (int32_t index = 0; index < count; ++index) {
        cover_if_own(session, *arrays[index], consumer, demand.conflicts);
      }
      if (consumer.context_id) look(session, consumer, ending);
    }
    session.finish();
  }
  await_keepers(demand, wanted.stream);
}

// The end of a use, array by array: whose stream waits, whose owner keeps it.
class End {
 public:
  End(const cai_array *const *arrays, int32_t count, std::uint64_t stream, const Options &options)
      : arrays_(arrays), stream_(stream), options_(options) {
    collect(arrays, count, {Wanted::For::ending, stream, options.access}, demand_);
    for (int32_t index = 0; index < count; ++index) {
      const cai_array &array = *arrays[index];
      if (!may_be_pending(array) && !(array.mask && may_be_pending(*array.mask))) continue;
      cai_owner *const keeper = keeper_of(array);
      if (keeps_uses(keeper)) {
        const std::uint64_t own = own_stream(array);
        // Which stream 1 or 2 is shows later.
        const bool in_order = own == stream && stream > driver::stream_per_thread && !array.mask;
        if (in_order && !streams_differ(keeper)) {
          mark(keeper, own);
          continue;
        }
        kept_.add({keeper, own, index, writes(array, options.access, index)});
      } else if (has_no_way_back(array) || (array.mask && has_no_way_back(*array.mask))) {
        if (orphan_ < 0) orphan_ = index;
      }
    }
  }

  void on_stream() {
    Ending ending;
    driver::Faults faults;
    if (!demand_.streams_empty() || !kept_.empty()) {
      try {
        driver::Session session;
        Stream consumer = stream_here(session, stream_);
        order_back(session, consumer);
        if (consumer.context_id) look(session, consumer, ending);
        session.finish();
      } catch (const Failure &failure) {
        faults.note(failure.error());
      }
    }
    tell_keepers(faults);
    faults.raise();
    if (orphan_ >= 0) refuse_orphan();
  }

  void on_host() {
    if (demand_.empty() && kept_.empty() && orphan_ < 0) return;
    driver::Session session;
    Stream consumer = stream_here(session, stream_);
    refuse_capturing(session, consumer, host_in_capture);
    synchronize(session, consumer);
    session.finish();
  }

 private:
  // The stream of an array that comes after the consumer.
  struct Step {
    Stream *producer;
    Edge edge;
    bool done;
  };
  // The use of an array whose owner keeps uses, unless the array's stream turns out to be enough.
  struct Kept {
    cai_owner *keeper;
    std::uint64_t own;  // own_stream()
    int32_t index;
    bool write;
  };

  // No stream can wait in the place of whoever wrote the array.
  static bool has_no_way_back(const cai_array &array) {
    return may_be_pending(array) &&
           (array.stream_kind == CAI_STREAM_EVENT || is_of_another_thread(array));
  }

  void order_back(driver::Session &session, Stream &consumer) {
    Few<Stream> producers;
    resolve(session, demand_, OnFailure::go_on, producers);
    producers.remove_if([&](const Stream &producer) { return same(producer, consumer); });
    if (producers.empty() && kept_.empty()) return;
    probe(session, consumer);
    for (Stream &producer : producers) {
      const auto add_step = [&] {
        probe(session, producer);
        const Edge edge = edge_between(session, consumer, producer, Way::back, options_.flags);
        steps_.add({&producer, edge, false});
      };
      if (consumer.capture) {
        attempt(session, OnFailure::go_on, producer.index, add_step);
        continue;
      }
      // The work is queued: what one producer's capture forbids is no reason to leave the others
      // without order, nor this one's owner without word of it.
      try {
        for_array(producer.index, add_step);
      } catch (const Failure &failure) {
        session.faults.note(failure.error());
      }
    }
    Event event;
    for (Step &step : steps_) {
      step.done = attempt(session, OnFailure::go_on, step.producer->index,
                          [&] { order(session, consumer, *step.producer, step.edge, event); });
    }
    if (consumer.capture) return;  // what is in a graph is not pending
    const auto is_producers = [&](std::uint64_t value) {
      return std::any_of(producers.begin(), producers.end(),
                         [&](const Stream &producer) { return producer.value == value; });
    };
    for (const Kept &use : kept_) {
      // The array's stream, where it comes after the use by now; null: there is none.
      const Stream *own = nullptr;
      Stream reclaimed{};
      bool in_order = false;
      if (use.own && (use.keeper->flags & CAI_OWNER_RECLAIMS)) {
        attempt(session, OnFailure::go_on, use.index, [&] {
          reclaimed = stream_for(session, *arrays_[use.index], use.own);
          in_order = same(reclaimed, consumer) || implicitly_ordered(session, reclaimed, consumer);
          if (in_order) own = &reclaimed;
        });
      } else if (use.own == stream_ && !is_producers(use.own)) {
        in_order = true;
        own = &consumer;
      } else if (const Step *const step = step_of(use.own)) {
        in_order = step->edge == Edge::none;
        own = step->producer;
      }
      // Work of a blocking stream on an array of stream 1: another blocking stream comes after
      // stream 1, and yet not after it.
      const bool around_legacy =
          in_order && use.own == driver::stream_legacy && stream_ != driver::stream_legacy;
      const bool freed_there = use.keeper->flags & CAI_OWNER_STREAM_ORDERED;
      if (keeps_by_itself(use.keeper)) {
        if (!own || around_legacy || !(in_order || freed_there)) {
          told_.add({use.keeper, use.write, use.index});
        }
        continue;
      }
      if (own && (in_order || freed_there) && !around_legacy && !streams_differ(use.keeper)) {
        mark(use.keeper, *own);
        continue;
      }
      attempt(session, OnFailure::go_on, use.index, [&] {
        if (!event) event = Event::record(session, consumer);
        Uses &uses = make_uses_of(use.keeper);
        if (is_import(use.keeper)) list_import(uses, *arrays_[use.index]);
        const Cover cover = own && !in_order ? Cover::by(*own) : Cover{};
        if (uses.keep(consumer.key(), event, use.write, cover)) {
          uses.prune(session, consumer.context, consumer.context_id, Ask::in_passing);
        }
      });
    }
  }

  // Null also for 1 or 2 of two contexts: which one the array's is, is not known here.
  const Step *step_of(std::uint64_t value) {
    const Step *found = nullptr;
    for (const Step &step : steps_) {
      if (step.producer->value != value) continue;
      if (found || !step.done) return nullptr;
      found = &step;
    }
    return found;
  }

  // The stream of the array that its mask, if it has one, came with too; else 0. One that does not
  // wait counts for nothing.
  static std::uint64_t own_stream(const cai_array &array) {
    const auto of = [](const cai_array &part) {
      return is_of_another_thread(part) ? 0 : stream_value(part);
    };
    if (array.mask && of(*array.mask) != of(array)) return 0;
    return of(array);
  }

  // After the session: they may call libcai themselves.
  void tell_keepers(driver::Faults &faults) {
    for (const Demand::Keeper &told : told_) {
      cai_error error{};
      const std::uint32_t access = told.writes ? CAI_ACCESS_WRITE : CAI_ACCESS_READ;
      const cai_status status = told.owner->used_on(told.owner, stream_, access, &error);
      if (status != CAI_OK) faults.note(error_of_keeper(error, status, told.index));
    }
  }

  [[noreturn]] void refuse_orphan() const {
    const cai_array &array = *arrays_[orphan_];
    const cai_array &part = has_no_way_back(array) ? array : *array.mask;
    const bool event = part.stream_kind == CAI_STREAM_EVENT;
    throw Failure(
        CAI_ERR_ORDER, {CAI_ENTRY_STREAM, orphan_},
        "%s 0x%" PRIx64
        " has no stream that could wait, and the owner keeps no uses: let go of the array "
        "by cai_array_release_on(), or end the use with CAI_ORDER_HOST",
        event ? "event" : "another thread's stream", part.stream);
  }

  const cai_array *const *arrays_;
  std::uint64_t stream_;
  Options options_;
  Demand demand_;
  Few<Kept> kept_;
  Few<Step> steps_;
  Few<Demand::Keeper, 4> told_;  // that keep uses by themselves, and are to keep this one
  int32_t orphan_ = -1;
};

[[gnu::noinline]] void end(const cai_array *const *arrays, int32_t count, std::uint64_t stream,
                           const Options &options) {
  End end(arrays, count, stream, options);
  options.on_host() ? end.on_host() : end.on_stream();
}

std::uint64_t same_stream(Demand &demand) {
  if (!demand.events.empty()) {
    const Demand::EventOf &event = *demand.events.begin();
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, event.index},
                  "event 0x%" PRIx64 " is no stream to work on", event.value);
  }
  if (demand.streams_empty()) return 0;

  // The values alone tell most streams apart; two defaults may still be of two contexts.
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
  if (demand.defaults.size() < 2) return value;

  driver::Session session;
  Few<Stream> streams;
  resolve(session, demand, OnFailure::stop, streams);
  session.finish();
  if (streams.size() > 1) {
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, streams.begin()[1].index},
                  "the arrays come with stream %d of different contexts", static_cast<int>(value));
  }
  return value;
}

// Work on the array's own stream is in order with uses that are kept, and so with nothing of an
// owner whose arrays come with other streams as well.
void refuse_different(const cai_array &array, int32_t index) {
  const cai_owner *const keeper = keeper_of(array);
  if (!may_be_pending(array)) return;
  if (stream_value(array) == 0 && keeps_here(keeper) && may_have_kept(keeper, 0)) {
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                  "uses of the array are kept, and it has no stream: begin a use instead");
  }
  if (!streams_differ(keeper)) return;
  throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                "arrays of the owner come with different streams: begin a use instead");
}

// The one stream waits for kept uses, and is marked: no end will tell the owners of what comes on
// it.
void adopt(const cai_array *const *arrays, int32_t count, std::uint64_t value) {
  Demand demand;
  collect(arrays, count, {Wanted::For::completing, value, CAI_ACCESS_READ}, demand);
  {
    driver::Session session;
    Few<Stream> streams;
    resolve(session, demand, OnFailure::stop, streams);
    Stream own = stream_here(session, value);
    for (int32_t index = 0; index < count; ++index) {
      const cai_array &array = *arrays[index];
      if (!may_be_pending(array) || stream_value(array) != value) continue;
      for_array(index, [&] { own = stream_for(session, array, value); });
      if (keeps_here(keeper_of(array))) mark(keeper_of(array), own);
    }
    wait_for_all(session, own, streams, demand, 0);
    for (int32_t index = 0; index < count; ++index) {
      cover_if_own(session, *arrays[index], own, demand.conflicts);
    }
    session.finish();
  }
  await_keepers(demand, value);
}

// Whether nothing of that takes the driver.
bool adopts_at_once(const cai_array *const *arrays, int32_t count, std::uint64_t value) {
  for (int32_t index = 0; index < count && value != 0; ++index) {
    const cai_array &array = *arrays[index];
    cai_owner *const keeper = keeper_of(array);
    if (!may_be_pending(array) || !keeps_uses(keeper)) continue;
    if (value <= driver::stream_per_thread || may_have_kept(keeper, value)) return false;
    if (is_import(keeper) && any_imports()) return false;
    if (stream_value(array) == value) mark(keeper, value);
  }
  return true;
}

}  // namespace
}  // namespace cai::order

using namespace cai;

cai_status cai_arrays_begin_use(const cai_array *const *arrays, int32_t count, uint64_t stream,
                                const cai_use_options *options, cai_error *error) {
  return guard(error, [&] {
    const order::Options judged = order::judge_options(options);
    order::check_stream(stream);
    order::judge_all(arrays, count, judged.access);
    if (judged.order == CAI_ORDER_END || judged.order == CAI_ORDER_NONE) return;
    if (order::nothing_before(arrays, count, judged.side(stream))) return;
    order::begin(arrays, count, stream, judged);
  });
}

cai_status cai_arrays_end_use(const cai_array *const *arrays, int32_t count, uint64_t stream,
                              const cai_use_options *options, cai_error *error) {
  return guard(error, [&] {
    const order::Options judged = order::judge_options(options);
    order::check_stream(stream);
    order::judge_all(arrays, count, judged.access);
    if (judged.order == CAI_ORDER_BEGIN || judged.order == CAI_ORDER_NONE) return;
    if (order::nothing_after(arrays, count, judged.side(stream))) return;
    order::end(arrays, count, stream, judged);
  });
}

cai_status cai_arrays_same_stream(const cai_array *const *arrays, int32_t count, uint64_t *out,
                                  cai_error *error) {
  return guard(error, [&] {
    if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
    order::judge_all(arrays, count, CAI_ACCESS_DEFAULT);
    const order::Wanted wanted{order::Wanted::For::adopting, 0, CAI_ACCESS_DEFAULT};
    order::Demand demand;
    for (int32_t index = 0; index < count; ++index) {
      order::for_array(index, [&] { order::await_host_work(*arrays[index], true); });
      order::refuse_different(*arrays[index], index);
    }
    order::collect(arrays, count, wanted, demand);
    const std::uint64_t value = order::same_stream(demand);
    if (!order::adopts_at_once(arrays, count, value)) order::adopt(arrays, count, value);
    *out = value;
  });
}

cai_status cai_array_sync_host(const cai_array *array, cai_error *error) {
  return guard(error, [&] {
    order::judge(array, -1);
    order::await_host_work(*array, true);
    order::sync_host(*array);
  });
}
