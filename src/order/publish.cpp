// SPDX-License-Identifier: BSD-3-Clause
// The producer's side: the stream that an array comes with, what its owner keeps, and when it may
// be freed.
#include "order/publish.hpp"

#include <cinttypes>
#include <memory>
#include <optional>

#include "order/keeping.hpp"
#include "order/owned.hpp"
#include "order/published.hpp"
#include "order/releases.hpp"
#include "order/waiting.hpp"

namespace cai::order {
namespace {

using Find = Stream (*)(driver::Session &session, const cai_array &array, std::uint64_t stream);

Stream find_here(driver::Session &session, const cai_array &, std::uint64_t stream) {
  return stream_here(session, stream);
}

constexpr auto nothing_more = [](driver::Session &, Stream &) {};

// Makes a stream, which `find` finds, wait for all pending work on an array. `before` runs before
// the waits and `body` once the stream is in order, both in the same session. They may ask a
// provider.
template <class Before, class Body>
void after_all(const cai_array &array, const Wanted &wanted, Find find,
               const std::uint64_t *streams, int32_t count, Before &&before, Body &&body,
               Few<Recorded> *recorded = nullptr, Way way = Way::forth) {
  const std::uint64_t value = wanted.stream;
  Demand demand;
  collect(array, wanted, demand);
  Ending ending;
  driver::CUcontext context = nullptr;
  {
    driver::Session session;
    Stream stream = find(session, array, value);
    context = stream.context;
    std::forward<Before>(before)(session, stream);
    Few<Stream> others;
    Reading reading;
    resolve(session, demand, reading, others);
    for (int32_t index = 0; index < count; ++index) {
      const Stream other = stream_here(session, streams[index], index);
      others.add_unless(other, [&](const Stream &added) { return same(other, added); });
    }
    wait_for_all(session, stream, others, demand, 0, recorded, nullptr, way);
    reading.leave();
    const cai_array *const alone = &array;
    if (may_follow_captured(&alone, 1)) {
      probe(session, stream);
      follow_captured(session, stream, &alone, 1, wanted);
    }
    cover_if_own(session, array, stream, demand.conflicts);
    std::forward<Body>(body)(session, stream);
    if (stream.context_id) look(session, stream, ending);
    session.finish();
  }
  if (demand.keepers.empty()) return;
  call_out(value, context, [&] { await_keepers(demand, value); });
}

void reclaim(const cai_array &array, std::uint64_t stream, std::uint32_t access) {
  await_host_work(array, access != CAI_ACCESS_READ);
  if (nothing_on_gpu_before(array, stream)) {
    if (trace::on()) tell_nothing_before(array, stream);
    return;
  }
  // A producer may write what it has marked as read-only for others.
  const bool writes = access == CAI_ACCESS_WRITE;
  const Wanted wanted{writes ? Wanted::For::completing : Wanted::For::waiting, stream,
                      writes ? uint32_t{CAI_ACCESS_READ} : access};
  after_all(array, wanted, find_here, nullptr, 0, nothing_more, nothing_more);
}

// Stream 2 is the calling thread's, and only the owner can tell others which thread that is.
// Returns whether this sets it.
bool say_thread(cai_owner *keeper) {
  std::uint64_t said = 0;
  if (thread_said_by(keeper).compare_exchange_strong(said, this_thread())) return true;
  if (said == this_thread()) return false;
  throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM},
                "target is stream 2, but the owner has stream 2 of thread %" PRIu64
                " already: use cai_array_publish_event()",
                kernel_id(said));
}

// Records what is pending on a published stream, before the target waits: if the stream is in order
// with the target, a later event would come after those waits, too.
void record_published(driver::Session &session, Stream stream, Stream &target,
                      Few<Recorded> &recorded) {
  probe(session, stream);
  probe(session, target);
  if (stream.capture || target.capture || find(recorded, stream)) return;
  Event event = Event::record(session, stream);
  recorded.add({stream, std::move(event)});
}

// Keeps pending work on a published stream, other than the target, as a write: consumers that
// already have the array do not know the target.
void keep_published(driver::Session &session, Uses &uses, Stream stream, Stream &target,
                    Few<Recorded> &recorded) {
  probe(session, stream);
  if (stream.capture) return keep_captured(session, stream, uses, true);
  const Recorded *const it = find(recorded, stream);
  if (!it) return;  // work in a graph is not pending
  const bool waits = it->is_waited_for || same(stream, target);
  keep_event(session, uses, stream, it->event, true, waits ? Cover::by(session, target) : Cover{});
}

// Stream 1 does not order what it waits for: a stream that waits for stream 1 may come before that.
// Adds the own stream of an array or a mask, with an event of it, if that must be kept. Must be
// called before stream 1 waits for anything: a later event would come after those waits, too.
void record_own_behind_legacy(driver::Session &session, const cai_array &part, Stream &target,
                              Few<Recorded> &recorded) {
  if (target.value != driver::stream_legacy || !may_be_pending(part)) return;
  const std::uint64_t value = stream_value(part);
  if (value == 0 || value == target.value) return;
  Stream own = stream_for(session, part, value);
  if (find(recorded, own) || !implicitly_ordered(session, own, target)) return;
  probe(session, own);
  if (own.capture) return;  // stream 1 is never in a capture
  Event event = Event::record(session, own);
  recorded.add({own, std::move(event)});
}

// Whether the array or its mask comes with another stream than the target.
bool is_news(const cai_array &array, std::uint64_t target) {
  return !of_both(array, [&](const cai_array &part) { return stream_value(part) == target; });
}

constexpr const char *said_by_dict =
    "told (a dict or a tensor names that stream to a consumer without the owner)";

// Work on the array's stream is unknown to the owner, such as that of a consumer without the owner:
// uses of other arrays of the owner must wait for that stream.
void tell_of(const cai_array &array, std::uint64_t value, const char *why) {
  cai_owner *const keeper = keeper_of(array);
  const auto tell_trace = [&] {
    trace::edge({-1, &array}, trace::owner(keeper), trace::stream(value), why);
  };
  Published *const published = published_by(array.owner);
  if (published && published->stream.value == value) {
    if (published->told.load(std::memory_order_acquire)) return;
    tell_trace();
    Uses &uses = make_uses_of(keeper);
    if (is_import(keeper)) list_import(uses, array);
    uses.tell(published->stream, true, is_import(keeper) && published->said != value);
    // Last: another thread's dict that finds it set is not told.
    if (published->told.exchange(true, std::memory_order_acq_rel)) {
      uses.tell_less(published->stream);
    }
    return;
  }
  if (!stores_here(keeper)) return;
  tell_trace();
  if (value > driver::stream_per_thread) return tell(keeper, {value, nullptr, -1});
  try {
    driver::Session session;
    if (const driver::CUcontext context = order::find_context(session, array)) {
      tell(keeper, {value, context, -1});
    }
    session.finish();
  } catch (const Failure &failure) {
    // Without a driver nothing is pending, and neither in a forked child.
    const cai_status status = failure.error().status;
    if (status != CAI_ERR_DRIVER && status != CAI_ERR_STATE) throw;
  }
}

// A view that is being published. It is released if that fails.
class NewView {
 public:
  explicit NewView(const cai_array &array) : array_(new_published(array, &published_)) {}
  NewView(const NewView &) = delete;
  NewView &operator=(const NewView &) = delete;
  ~NewView() { cai_array_release(array_); }

  Published &published() const noexcept { return *published_; }
  cai_owner *owner() const noexcept { return array_->owner; }

  cai_array *say(std::uint32_t kind, std::uint64_t stream) {
    for (cai_array *const part : {array_, const_cast<cai_array *>(array_->mask)}) {
      if (!part) continue;
      part->stream = stream;
      part->stream_kind = kind;
      part->version = CAI_INTERFACE_VERSION;
    }
    return std::exchange(array_, nullptr);
  }

 private:
  Published *published_ = nullptr;
  cai_array *array_;
};

// Runs `body(part, stream)` for the streams of the array and its mask that are in the target's
// capture. No event covers what was pending there before the capture.
template <class Body>
void for_each_captured(driver::Session &session, const cai_array &array, Stream &target,
                       Body &&body) {
  for (const cai_array *const part : {&array, array.mask}) {
    const std::uint64_t value = part && may_be_pending(*part) ? stream_value(*part) : 0;
    if (value == 0 || value == target.value) continue;
    if (!target.is_probed) probe(session, target);
    if (!target.capture) return;
    Stream own = stream_for(session, *part, value);
    probe(session, own);
    if (own.capture) body(*part, own);
  }
}

constexpr const char *untold = "told (what was pending there before the capture, no event tells)";

[[noreturn]] void fail_untold(std::uint64_t stream) {
  throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, -1, 0},
                "stream 0x%" PRIx64
                " is being captured into a graph, and the owner, which keeps uses by itself, "
                "cannot be told of what was pending there before: publish on that stream",
                stream);
}

// Users of the view outside of the capture wait for what was pending before it.
void tell_of_captured(driver::Session &session, const cai_array &array, Stream &target,
                      cai_owner *view) {
  for_each_captured(session, array, target, [&](const cai_array &part, const Stream &own) {
    if (!array.owner) return tell(view, {own.value, own.context, -1});
    tell_of(&part == &array ? array : mask_of(array), own.value, untold);
  });
}

void require_uncaptured_streams(const cai_array &array, std::uint64_t value) {
  driver::Session session;
  Stream target = stream_for(session, array, value);
  for_each_captured(session, array, target,
                    [&](const cai_array &, const Stream &own) { fail_untold(own.value); });
  session.finish();
}

// The stream that arrays of the owner come with, to judge by this one; 0: none that is known. A
// view that another copy of libcai has published comes with a stream of its own.
std::uint64_t first_stream_of(const cai_array &array) {
  const bool is_strangers = keeper_of(array) != array.owner && !is_ours(root_of(array.owner));
  return is_strangers ? 0 : stream_value(array);
}

// A view comes with another stream, or with an event: called before that is in order, so that a use
// on another thread meanwhile is kept, or comes before. If the publication fails, the view takes it
// back.
void differ(Uses &uses, Published &published) noexcept {
  uses.differ();
  published.differs = true;
}

// The stream of the earlier arrays, once nothing is refused any more. Others may have the memory of
// an import from its exporter, without an owner: they continue on the stream that they were told.
void say_first(driver::Session &session, Uses &uses, const cai_array &array) {
  for_each_part(array, [&](const cai_array &part) {
    const std::uint64_t own = may_be_pending(part) ? stream_value(part) : 0;
    if (own && is_import(keeper_of(array))) uses.tell_first(stream_for(session, part, own));
  });
  uses.say_first(first_stream_of(array));
}

// As differ(), for an owner whose uses another copy of libcai stores, which is not told of the
// view. It is not taken back: others may have set the flag, too.
void mark_as_differing(cai_owner *keeper) noexcept {
  if (!keeps_uses(keeper) || stores_here(keeper)) return;
  flags_of(*keeper).fetch_or(CAI_OWNER_STREAMS_DIFFER, std::memory_order_relaxed);
}

// Orders the target. If the target is new for the array, `view` comes with it; else it is null.
void order_for(const cai_array &array, const std::uint64_t *streams, int32_t count,
               std::uint64_t target, const NewView *view, Way way = Way::published) {
  cai_owner *const keeper = keeper_of(array);
  Published *const published = view ? &view->published() : nullptr;
  if (view && stores_by_itself(keeper)) require_uncaptured_streams(array, target);
  bool tell = false, in_capture = false, is_first = false;
  driver::CUcontext context = nullptr;
  Few<Recorded> recorded, own;
  after_all(
      array, {Wanted::For::waiting, target, CAI_ACCESS_DEFAULT}, stream_for, streams, count,
      [&](driver::Session &session, Stream &stream) {
        if (published) mark_as_differing(keeper);
        // A told stream waits by an event, so it has an event that others can wait for.
        if (!stores_here(keeper)) return;
        if (published) {
          Uses &uses = make_uses_of(keeper);
          // A view of a differing one may come back to the first stream.
          is_first = uses.is_first(target) && published->said == target;
          if (!is_first) differ(uses, *published);
        }
        if (published && way == Way::published) {
          for_each_part(array, [&](const cai_array &part) {
            record_own_behind_legacy(session, part, stream, own);
          });
        }
        for (int32_t index = 0; index < count; ++index) {
          record_published(session, stream_here(session, streams[index], index), stream, recorded);
        }
      },
      [&](driver::Session &session, Stream &stream) {
        context = stream.context;
        if (published) published->stream = {stream.value, stream.context, -1};
        if ((published || (count > 0 && stores_by_itself(keeper))) && keeps_by_itself(keeper)) {
          probe(session, stream);
          in_capture = bool(stream.capture);
          tell = !in_capture || stores_by_itself(keeper);
        }
        if (view) tell_of_captured(session, array, stream, view->owner());
        if (!stores_here(keeper)) return;
        if (is_import(keeper)) list_import(make_uses_of(keeper), array);
        if (stream.capture) list_captured(make_uses_of(keeper), array);
        for (int32_t index = 0; index < count; ++index) {
          keep_published(session, make_uses_of(keeper), stream_here(session, streams[index], index),
                         stream, recorded);
        }
        if (!published) return;
        Uses &uses = make_uses_of(keeper);
        for (Recorded &it : own) {
          keep_event(session, uses, it.stream, it.event, true, Cover::by(session, it.stream));
        }
        if (is_first) {
          published->stream = {};
        } else {
          say_first(session, uses, array);
        }
      },
      &recorded, way);
  if (tell) call_out(target, context, [&] { tell_keeper(keeper, target, in_capture); });
}

cai_array *publish(const cai_array &array, const std::uint64_t *streams, int32_t count,
                   std::uint64_t target, Way way = Way::published) {
  NewView view(array);
  cai_owner *const keeper = keeper_of(array);
  const bool is_of_thread = target == driver::stream_per_thread;
  const bool is_thread_news = keeper && is_of_thread && say_thread(keeper);
  try {
    // A view that comes with the stream of a view that may be released first must remember it, too.
    const bool news = is_news(array, target) || published_by(array.owner);
    if (news || count > 0 || !nothing_on_gpu_before(array, target)) {
      order_for(array, streams, count, target, news ? &view : nullptr, way);
    } else if (trace::on()) {
      tell_nothing_before(array, target);
    }
  } catch (...) {
    if (is_thread_news) thread_said_by(keeper).store(0);  // no array came with it
    throw;
  }
  if (is_of_thread) view.published().thread = this_thread();
  cai_array *const said = view.say(CAI_STREAM_STREAM, target);
  if (is_of_thread && !keeper) said->owner->thread = this_thread();
  return said;
}

// What 1 or 2 means for the array: nothing if there is no driver, or in a forked child, where
// nothing is pending.
Stream find_default(const cai_array &array, std::uint64_t value) {
  try {
    driver::Session session;
    const driver::CUcontext context = order::find_context(session, array);
    session.finish();
    return {context ? value : 0, context, -1};
  } catch (const Failure &failure) {
    const cai_status status = failure.error().status;
    if (status != CAI_ERR_DRIVER && status != CAI_ERR_STATE) throw;
    return {};
  }
}

// The same, if nothing is pending: a stream that is a handle needs no driver. For a caller that
// does not use the view itself, so that uses of other arrays need not be kept.
cai_array *publish_idle(const cai_array &array, std::uint64_t target) {
  NewView view(array);
  cai_owner *const keeper = keeper_of(array);
  if (stores_here(keeper) && is_freed_on_a_stream(keeper)) {
    make_uses_of(keeper).say_first(first_stream_of(array));
  }
  Published &published = view.published();
  if (target > driver::stream_per_thread) {
    published.stream = {target, nullptr, -1};
  } else {
    published.stream = find_default(array, target);
    if (target == driver::stream_per_thread) published.thread = this_thread();
  }
  return view.say(CAI_STREAM_STREAM, target);
}

// An event is being kept that covers what is marked on a stream: Uses::begin_keeping().
class Keeping {
 public:
  Keeping(Uses &uses, const Stream &stream)
      : uses_(uses), stream_(stream), before_(uses.begin_keeping(stream)) {}
  Keeping(const Keeping &) = delete;
  Keeping &operator=(const Keeping &) = delete;
  ~Keeping() {
    if (before_.marked) uses_.end_keeping(stream_, before_, is_kept_);
  }
  void succeed() noexcept { is_kept_ = true; }

 private:
  Uses &uses_;
  const Stream stream_;
  const Uses::Mark before_;
  bool is_kept_ = false;
};

// An event of the stream after all pending work on the array. `before` runs before the waits.
template <class Before>
Event event_after_all(const cai_array &array, std::uint64_t value, Before &&before) {
  // An owner that keeps uses by itself makes the stream wait after the session.
  const bool by_itself = keeps_by_itself(keeper_of(array));
  Event event;
  after_all(
      array, {Wanted::For::waiting, value, CAI_ACCESS_DEFAULT}, find_here, nullptr, 0,
      [&](driver::Session &session, Stream &stream) {
        require_not_capturing(session, stream, "an event of it is of no use outside");
        std::forward<Before>(before)(session, stream);
      },
      [&](driver::Session &session, Stream &stream) {
        if (!by_itself) event = Event::record(session, stream);
      });
  if (by_itself) {
    driver::Session session;
    Stream stream = stream_here(session, value);
    event = Event::record(session, stream);
    session.finish();
  }
  return event;
}

cai_array *publish_event(const cai_array &array, std::uint64_t value) {
  NewView view(array);
  cai_owner *const keeper = keeper_of(array);
  std::optional<Keeping> keeping;
  const auto before = [&](driver::Session &, Stream &stream) {
    mark_as_differing(keeper);
    if (!stores_here(keeper)) return;
    Uses &uses = make_uses_of(keeper);
    differ(uses, view.published());
    keeping.emplace(uses, stream);
  };
  Event event = event_after_all(array, value, before);
  if (keeping) {
    // Consumers that already have the array learn of the event only from its owner.
    driver::Session session;
    Stream stream = stream_here(session, value);
    Uses &uses = make_uses_of(keeper);
    if (is_import(keeper)) list_import(uses, array);
    keep_event(session, uses, stream, event, true, {});
    say_first(session, uses, array);
    keeping->succeed();
    keeping.reset();
    await_readers();  // the stream may be destroyed now
    session.finish();
  }
  if (keeps_by_itself(keeper)) tell_keeper(keeper, value);
  const std::uint64_t handle = reinterpret_cast<std::uintptr_t>(event.handle());
  view.published().event = std::move(event);
  return view.say(CAI_STREAM_EVENT, handle);
}

// Whether the array is on stream 1 because its exporter was asked for that. The exporter may have
// done nothing for it, although its work is on a blocking stream.
bool was_asked_for(const cai_array &array, std::uint64_t value) {
  const cai_owner *const keeper = keeper_of(array);
  return value == driver::stream_legacy && keeper && is_asked(keeper);
}

bool says_a_stream(const cai_array &array) {
  return (array.stream_kind == CAI_STREAM_UNSTATED || array.stream_kind == CAI_STREAM_STREAM) &&
         may_be_pending(array);
}

void require_publishable(const cai_array *array) {
  require_valid(array, -1);
  require_not_freed(*array, -1);
  if (array->device_type != CAI_DEVICE_CPU) return;
  throw Failure(CAI_ERR_ARGUMENT, {CAI_ENTRY_STREAM},
                "the array is on the host, and has no stream");
}

// Orders the stream that the dict will name, and returns it.
std::uint64_t order_for_dict(const cai_array &array) {
  if (!says_a_stream(array)) return driver::stream_legacy;
  const std::uint64_t value = claim_stream(array, -1);
  cai_owner *const keeper = keeper_of(array);
  const bool told = stores_here(keeper) && may_have_kept(keeper, value);
  const bool may_be_used = has_kept_uses(keeper) || stores_by_itself(keeper) ||
                           (is_import(keeper) && any_imports()) || any_captured(array);
  const bool is_due = (told || may_be_used) && !nothing_on_gpu_before(array, value);
  if (is_due || was_asked_for(array, value)) {
    try {
      order_for(array, nullptr, 0, value, nullptr, Way::told);
    } catch (const Failure &failure) {  // without a driver nothing is pending
      if (failure.error().status != CAI_ERR_DRIVER) throw;
    }
  }
  return value;
}

}  // namespace

// A mask is handed out like an array: a consumer of its dict may use it alone. Consumers of both
// have not queued anything yet, so neither has to come after the other.
Said hand_to_dict(const cai_array &array) {
  const trace::Call call("cai_interface_write", trace::stream(array.stream), array);
  std::optional<cai_array> mask;
  if (array.mask) mask = mask_of(array);
  Said said;
  said.array = order_for_dict(array);
  if (mask) said.mask = order_for_dict(*mask);
  if (says_a_stream(array)) tell_of(array, said.array, said_by_dict);
  if (mask && says_a_stream(*mask)) tell_of(*mask, said.mask, said_by_dict);
  return said;
}

bool none_is_stale(const cai_array &array) noexcept {
  const cai_owner *const keeper = keeper_of(array);
  // What is told first: who withdraws a stream has kept its work before.
  if (keeper && stores_here(keeper)) {
    const Uses *const uses = uses_of(keeper);
    if (uses ? uses->any_told_but(0) : told_in(word_of(keeper)) != 0) return true;
  }
  if (has_kept_uses(keeper)) return true;
  // The exporter itself may write the dict of an array that it lends: it knows its own stream.
  bool found = false;
  if (keeper && is_import(keeper)) {
    for_each_import(array, [&](const Uses &other) {
      if (other.any_told_but(0) || other.any()) found = true;
    });
  }
  return found;
}

const cai_array *lend(const cai_array &array, std::uint64_t stream) {
  const bool pending = !nothing_before(array, stream);
  if (!pending && trace::on()) tell_nothing_before(array, stream);
  if (!states_none(array) && !is_news(array, stream)) {
    if (pending) order_for(array, nullptr, 0, stream, nullptr, Way::told);
    tell_of(array, stream, said_by_dict);
    cai_array_retain(&array);
    return &array;
  }
  std::unique_ptr<const cai_array, decltype(&cai_array_release)> view(
      pending ? publish(array, nullptr, 0, stream, Way::told) : publish_idle(array, stream),
      cai_array_release);
  tell_of(*view, stream, said_by_dict);
  return view.release();
}

void tell_of_uncaptured(const cai_array &array, const Stream &stream) {
  cai_owner *const keeper = keeper_of(array);
  if (!stores_here(keeper)) fail_untold(stream.value);
  trace::edge({-1, &array}, trace::owner(keeper), trace::stream(stream.value), untold);
  if (!is_import(keeper)) return tell(keeper, stream);
  const bool outlives = !says_a_stream(array) || stream_value(array) != stream.value;
  list_import(make_uses_of(keeper), array);
  make_uses_of(keeper).tell(stream, false, outlives);
}

Event event_after(const cai_array &array, std::uint64_t value) {
  return event_after_all(array, value, nothing_more);
}

}  // namespace cai::order

using namespace cai;
namespace trace = order::trace;

cai_status cai_array_reclaim(const cai_array *array, uint64_t stream, uint32_t access,
                             cai_error *error) {
  return guard(error, [&] {
    order::require_valid(array, -1);
    order::require_not_freed(*array, -1);
    order::require_stream(stream);
    order::require_access(access, "access");
    const trace::Call call("cai_array_reclaim", trace::stream(stream), *array);
    order::reclaim(*array, stream, access);
  });
}

cai_status cai_array_publish(const cai_array *array, const uint64_t *streams, int32_t count,
                             uint64_t target, cai_array **out, cai_error *error) {
  return guard(error, [&] {
    order::require_publishable(array);
    if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
    order::require_stream(target, "target");
    if (count < 0) {
      throw Failure(CAI_ERR_ARGUMENT, {}, "count is negative: %d", static_cast<int>(count));
    }
    if (count > 0 && !streams) throw Failure(CAI_ERR_ARGUMENT, {}, "streams is NULL");
    for (int32_t index = 0; index < count; ++index) {
      order::for_array(index, [&] { order::require_stream(streams[index], "a stream"); });
    }
    const trace::Call call("cai_array_publish", trace::stream(target), *array);
    *out = order::publish(*array, streams, count, target);
  });
}

cai_status cai_array_publish_event(const cai_array *array, uint64_t stream, cai_array **out,
                                   cai_error *error) {
  return guard(error, [&] {
    order::require_publishable(array);
    if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
    order::require_stream(stream);
    const trace::Call call("cai_array_publish_event", trace::stream(stream), *array);
    *out = order::publish_event(*array, stream);
  });
}
