// SPDX-License-Identifier: BSD-3-Clause
#include "order/keeping.hpp"

#include <memory>

#include "driver/host_function.hpp"
#include "order/owned.hpp"
#include "order/published.hpp"
#include "order/releases.hpp"
#include "order/waiting.hpp"

namespace cai::order {

void keep_event(driver::Session &session, Uses &uses, Stream &stream, const Event &event,
                bool write, const Cover &cover) {
  uses.keep(session, stream, event, write, cover);
  trace::edge({-1}, trace::owner(uses.owner), trace::stream(stream.value),
              "kept: with an event (others hear of it from the owner alone)");
}

void tell_keeper(cai_owner *keeper, std::uint64_t stream, bool in_capture) {
  cai_error error{};
  const std::uint32_t access = CAI_ACCESS_WRITE | (in_capture ? CAI_ACCESS_CAPTURED : 0);
  const cai_status status = keeper->used_on(keeper, stream, access, &error);
  if (status != CAI_OK) throw Failure(error_of_keeper(error, status, -1));
  trace::edge({-1}, trace::owner(keeper), trace::stream(stream),
              "told: used_on of the owner's own (it keeps uses by itself)");
}

namespace {

void keep(driver::Session &session, Uses &uses, Stream &stream, bool write) {
  keep_event(session, uses, stream, Event::record(session, stream), write, {});
}

void used_on(cai_owner *owner, std::uint64_t value, bool write, bool in_capture) {
  driver::Session session;
  Stream stream = stream_here(session, value);
  if (in_capture) {
    probe(session, stream);
  } else {
    require_not_capturing(session, stream, "a use in it cannot be kept");
  }
  Uses &uses = make_uses_of(owner);
  list_owner(uses, *owner, bool(stream.capture));
  stream.capture ? keep_captured(session, stream, uses, write) : keep(session, uses, stream, write);
  session.finish();
}

// Makes the array's own stream wait for the stream of a use, as the end of the use does. Checks for
// captures before it changes anything.
class HandBack {
 public:
  HandBack(driver::Session &session, const cai_array &array, Stream &user)
      : session_(session), user_(user) {
    if (is_freed(array)) return;  // the memory may have been freed with its stream
    Demand demand;
    collect(array, {Wanted::For::ending, user.value, CAI_ACCESS_DEFAULT}, demand);
    Reading reading;
    resolve(session, demand, reading, streams_);
    streams_.remove_if([&](const Stream &stream) { return same(stream, user); });
    for (Stream &stream : streams_) {
      probe(session, stream);
      const Edge edge = edge_between(session, user, stream, Way::back, 0);
      if (edge == Edge::event || edge == Edge::within) waiting_.add({&stream, edge});
      if (edge == Edge::none) {
        trace::edge({-1}, trace::stream(stream.value), trace::stream(user.value), trace::by_legacy);
      }
    }
  }

  // `event` is recorded on the user's stream, now or when it is needed. Returns the stream that
  // waits for it.
  Cover hand(Event &event) const {
    Cover cover;
    for (const Waiting &it : waiting_) {
      order(session_, user_, *it.stream, it.edge, event);
      cover = Cover::by(session_, *it.stream);
    }
    return waiting_.size() == 1 ? cover : Cover{};
  }

 private:
  struct Waiting {
    Stream *stream;
    Edge edge;
  };

  driver::Session &session_;
  Stream &user_;
  Few<Stream> streams_;
  mutable Few<Waiting> waiting_;
};

void release_on(const cai_array &array, std::uint64_t value) {
  cai_owner *const owner = array.owner;
  cai_owner *const keeper = keeper_of(array);
  Ending ending;
  driver::Session session;
  Stream stream = stream_here(session, value);
  probe(session, stream);
  const HandBack back(session, array, stream);
  const auto finish = [&](bool tells) {
    session.finish();  // after this it is certain whether the reference was taken over
    if (tells) tell_keeper(keeper, value, bool(stream.capture));
  };
  if (stream.capture) {
    Event event;  // within a capture each edge uses its own event
    back.hand(event);
    if (stores_here(keeper)) {
      list_captured(make_uses_of(keeper), array);
      keep_captured(session, stream, make_uses_of(keeper), true);
    }
    finish(stores_by_itself(keeper));
    hold_for_graph(session, stream.capture, owner);
    trace::edge({-1}, trace::owner(owner), trace::stream(value),
                "kept: held by the graph (the stream is being captured)");
    return owner->release(owner);
  }
  // An owner whose own functions call libcai's records by itself.
  const bool is_told = keeps_by_itself(keeper) && stores_here(keeper);
  Event event;
  if (!is_told) event = Event::record(session, stream);
  const Cover cover = back.hand(event);
  if (keeps_here(keeper)) {
    Uses &uses = make_uses_of(keeper);
    if (is_import(keeper)) list_import(uses, array);
    keep_event(session, uses, stream, event, true, cover);
    for_each_part(array, [&](const cai_array &part) {
      const bool is_named = may_be_pending(part) && !is_of_another_thread(part);
      const std::uint64_t own = is_named ? stream_value(part) : 0;
      if (own && may_be_freed_on(own, owner)) uses.free_on(stream_for(session, part, own));
    });
    look(session, stream, ending);
    finish(false);
  } else if (is_told) {
    finish(true);
  } else {
    std::unique_ptr<Uses> holder = new_holder(owner);
    keep_event(session, *holder, stream, event, true, {});
    finish(keeps_by_itself(keeper));
    put_off(holder.release());
    return;
  }
  owner->release(owner);
}

bool require_use(cai_owner *self, std::uint32_t access) {
  if (!is_whole(self)) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "self is NULL, or its struct_size less than %zu",
                  first_size<cai_owner>);
  }
  if (is_ours(self) && self->keeper) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "self is the owner of a view: pass its keeper");
  }
  if (stores_by_itself(self)) {
    throw Failure(
        CAI_ERR_ARGUMENT, {},
        "self->await_uses is not that of cai_owner_init(), so a use that is kept here would never "
        "be found: keep it in another owner, which cai_owner_init() fills in");
  }
  if (access != CAI_ACCESS_READ && access != CAI_ACCESS_WRITE) {
    throw Failure(CAI_ERR_ARGUMENT, {},
                  "access is %u, neither CAI_ACCESS_READ nor CAI_ACCESS_WRITE", access);
  }
  return access == CAI_ACCESS_WRITE;
}

}  // namespace
}  // namespace cai::order

using namespace cai;
namespace trace = order::trace;

cai_status cai_array_release_on(const cai_array *array, uint64_t stream, cai_error *error) {
  return guard(error, [&] {
    order::require_valid(array, -1);
    order::require_stream(stream);
    const trace::Call call("cai_array_release_on", trace::stream(stream), *array);
    if (!array->owner)
      throw Failure(CAI_ERR_ARGUMENT, {}, "the array is borrowed: it has no reference to release");
    if (!order::may_be_pending(*array) && !(array->mask && order::may_be_pending(*array->mask))) {
      return cai_array_release(array);
    }
    order::release_on(*array, stream);
  });
}

cai_status cai_owner_used_on(cai_owner *self, uint64_t stream, uint32_t access, cai_error *error) {
  return guard(error, [&] {
    const bool in_capture = access & CAI_ACCESS_CAPTURED;
    const bool write = order::require_use(self, access & ~std::uint32_t{CAI_ACCESS_CAPTURED});
    order::require_stream(stream);
    const trace::Call call("cai_owner_used_on", trace::stream(stream));
    order::used_on(self, stream, write, in_capture);
  });
}

cai_status cai_owner_await_uses(cai_owner *self, uint64_t stream, uint32_t access,
                                cai_error *error) {
  return guard(error, [&] {
    const bool write = order::require_use(self, access);
    const trace::Call call("cai_owner_await_uses", trace::stream_or_host(stream));
    const auto leave_out = [&] {
      trace::edge({-1}, trace::stream_or_host(stream), trace::owner(self),
                  "left out (nothing that is kept conflicts)");
    };
    // Another copy of libcai, which asks, does not find the uses of other imports by address.
    const cai_array *const import =
        order::is_import(self) && order::any_imports() ? order::array_of(*self) : nullptr;
    if (order::word_of(self) == 0 && !import) return leave_out();
    order::Uses *const uses = &order::make_uses_of(self);
    const auto for_all_uses = [&](auto &&body) {
      body(*uses);
      if (!import) return;
      order::for_each_part(*import,
                           [&](const cai_array &part) { order::for_each_import(part, body); });
    };
    order::HostPoints points;
    uses->host.add_conflicts(write, points);
    order::await_points(points, {-1});
    order::Demand demand;
    bool any_told = false;
    for_all_uses([&](order::Uses &each) {
      any_told |= each.any_told_but(0);
      each.add_conflicts(write, -1, demand.conflicts);
    });
    const bool may_follow = stream != 0 && uses->any_captured();
    if (demand.empty() && !any_told && !may_follow) return leave_out();
    driver::Session session;
    order::Reading reading;
    if (any_told) {
      reading.enter();
      for_all_uses([&](order::Uses &each) {
        each.add_told(stream, 0, -1, demand.handles);
        each.add_conflicts(write, -1, demand.conflicts);
      });
    }
    if (stream == 0) {
      order::wait_on_host(session, demand.handles, demand, reading);
    } else {
      order::Stream waiting = order::stream_here(session, stream);
      order::wait_for_all(session, waiting, demand.handles, demand, 0);
      if (may_follow) order::follow_captured(session, waiting, *uses, write);
    }
    session.finish();
  });
}

void cai_owner_end(cai_owner *self, void (*end)(cai_owner *self)) {
  if (!self || !end) return;
  // What an owner's own functions have put there belongs to the owner.
  const bool is_freed_in_order = has_flag(self, CAI_OWNER_STREAM_ORDERED) && self->freed_on;
  if (!order::stores_here(self)) return end(self);
  const bool is_over = order::word_of(self) == 0 && !is_freed_in_order;
  if (is_over && !driver::InHostFunction::is_here()) return end(self);
  order::end_after_uses(self, end);
}
