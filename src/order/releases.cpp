// SPDX-License-Identifier: BSD-3-Clause
#include "order/releases.hpp"

#include <algorithm>

#include "core/report.hpp"
#include "driver/host_function.hpp"
#include "driver/pointer.hpp"
#include "order/above.hpp"
#include "order/by_address.hpp"
#include "order/deferred.hpp"
#include "order/edge.hpp"
#include "order/producers.hpp"
#include "order/running.hpp"
#include "order/trace.hpp"
#include "order/without_driver.hpp"

namespace cai::order {
namespace {

constexpr int64_t asked_in_passing = 8;
constexpr int64_t looked_at_in_passing = 64;

// Of those whose end is deferred; where nothing of others is ended, not those that they have found
// complete.
int64_t count_left() noexcept {
  return may_await_running() ? deferred::count() : deferred::count_pending();
}

// Whether the memory was destroyed with its context. Then the streams of that context were, too,
// and a query of them may crash the driver.
bool has_gone(driver::Session &session, const cai_owner &owner) noexcept {
  const cai_array *const array = array_of(owner);
  if (!array || array->device_type == CAI_DEVICE_CPU || has_no_elements(*array)) return false;
  bool known = true;
  cai_error error;
  const cai_status status =
      guard(&error, [&] { known = driver::ask_without_context(session.cu, array->data).known(); });
  if (status != CAI_OK) session.faults.note(error);
  return !known;
}

// Whether the calling thread captures, as far as libcai can see. An end may free memory by a call
// that invalidates a capture, on a stream that is not known here. So nothing ends meanwhile.
class Sight {
 public:
  explicit Sight(driver::Session &session) : session_(session), captures_(session.met_capture) {}
  Sight(driver::Session &session, const Stream &stream) : Sight(session) {
    if (!stream.is_probed) stream_ = stream;
  }

  bool captures() noexcept {
    if (asked_) return captures_;
    asked_ = true;
    captures_ = captures_ || (stream_ && is_captured(session_, *stream_)) ||
                ask(above.is_current_captured, session_);
    return captures_;
  }

 private:
  driver::Session &session_;
  std::optional<Stream> stream_;
  bool captures_;
  bool asked_ = false;
};

// Whether a stream that the memory is freed on is being captured.
bool is_any_captured(driver::Session &session, Uses &uses) noexcept {
  if (uses.owner && has_gone(session, *uses.owner)) return false;
  return uses.is_any_captured(session);
}

enum class Found { complete, pending, no_more };

// Asks whether the next one is complete, of those that `among` includes, or, for null, of any; then
// it is due, and else noted in `asked`, unless that is null.
Found settle(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
             int64_t *most_passed, Ask ask, const deferred::Survey *among, deferred::Survey *asked,
             Sight &sight, Ending &ending) noexcept {
  Uses *const uses = deferred::ask_next(context, context_id, ask == Ask::and_wait, most_passed,
                                        among, &ending.missed);
  if (!uses) return Found::no_more;
  uses->settle(session, context, context_id, ask);
  if (!uses->pending() && !is_any_captured(session, *uses) && !sight.captures()) {
    ending.add(uses);
    return Found::complete;
  }
  cai_error error;
  const cai_status noted = guard(&error, [&] {
    if (asked) asked->note_asked(*uses, context_id);
  });
  deferred::put_back(uses);
  if (noted == CAI_OK) return Found::pending;
  session.faults.note(error);
  return Found::no_more;
}

// Asks about as many as a call may that is not made for that.
void settle_some(driver::Session &session, const Stream &stream, int64_t asked, int64_t passed,
                 Ending &ending) noexcept {
  Sight sight(session, stream);
  for (; asked > 0; --asked) {
    const Found found = settle(session, stream.context, stream.context_id, &passed, Ask::in_passing,
                               nullptr, nullptr, sight, ending);
    if (found == Found::no_more) return;
  }
}

// Runs `body(context, id)` in each context that exists and can be queried, whatever fails in
// another one. Then throws the first failure.
template <class Body>
void in_each(driver::Session &session, Body &&body) {
  cai_error error;
  driver::Faults failed;
  std::vector<driver::CUcontext> contexts = session.primaries();
  const driver::CUcontext current = session.current();
  if (current && std::find(contexts.begin(), contexts.end(), current) == contexts.end()) {
    contexts.push_back(current);
  }
  session.use_relaxed_mode();
  const auto ask_in = [&](driver::CUcontext context) {
    session.in(context, [&] {
      std::uint64_t id = 0;
      const cai_status status = guard(&error, [&] { id = session.id_of(context); });
      if (status == CAI_OK) return body(context, id);
      if (!session.is_destroyed(context)) throw Failure(error);
    });
  };
  for (const driver::CUcontext context : contexts) {
    if (guard(&error, [&] { ask_in(context); }) != CAI_OK) failed.note(error);
  }
  failed.raise();
}

// Those whose context is not known: the host waits in each context that can be queried.
void await_lost(driver::Session &session, const deferred::Survey &survey, Ending &ending) {
  if (!deferred::ask_lost(survey, &ending, &ending.missed)) return;
  bool is_over = true;
  cai_error error;
  const cai_status status = guard(&error, [&] {
    in_each(session, [&](driver::CUcontext, std::uint64_t) {
      is_over = wait_for_context(session) && is_over;
    });
  });
  while (Uses *const uses = deferred::next_asked(&ending)) {
    if (status == CAI_OK && is_over) uses->find_lost();
    deferred::put_back(uses);
  }
  if (status != CAI_OK) throw Failure(error);
}

void settle_complete(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
                     deferred::Survey &survey, Sight &sight, Ending &ending) noexcept {
  Found found = Found::pending;
  while (found != Found::no_more) {
    int64_t most_passed = INT64_MAX;
    found = settle(session, context, context_id, &most_passed, Ask::for_all, &survey, &survey,
                   sight, ending);
  }
}

// The host waits for one after another until one is complete, and then takes those after it that
// are, too, without waiting: what is found complete is to end before the next wait.
void await_some(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
                deferred::Survey &survey, Sight &sight, Ending &ending) noexcept {
  Found found = Found::pending;
  while (found == Found::pending) {
    int64_t most_passed = INT64_MAX;
    found = settle(session, context, context_id, &most_passed, Ask::and_wait, &survey, &survey,
                   sight, ending);
    if (found == Found::no_more) return;
    trace::edge({-1}, trace::host, {trace::Side::owner},
                "made: the host has waited in a context (uses of arrays that have ended)");
  }
  while (found == Found::complete) {
    int64_t most_passed = INT64_MAX;
    found = settle(session, context, context_id, &most_passed, Ask::for_all, &survey, nullptr,
                   sight, ending);
  }
}

void settle_all(driver::Session &session, Ask ask, deferred::Survey &survey, Ending &ending) {
  Sight sight(session);
  in_each(session, [&](driver::CUcontext context, std::uint64_t id) {
    if (ask != Ask::and_wait) {
      settle_complete(session, context, id, survey, sight, ending);
    } else if (!ending.has_own()) {
      await_some(session, context, id, survey, sight, ending);
    }
    destroy_condemned(session, context, id);
  });
  // Not within an end: each would run the next one inside of it.
  if (may_await_running() && deferred::any_due() && !sight.captures()) {
    ending.add_of_others(survey);
  }
}

// Then nothing is pending, and neither in a forked child.
bool is_without_driver(cai_status status) noexcept {
  return status == CAI_ERR_DRIVER || status == CAI_ERR_STATE;
}

// Whether the stream that the owner's memory is freed on can be named here: it is not another
// thread's 2.
bool can_ask_of_freeing(const cai_owner *owner) noexcept {
  const std::uint64_t stream = owner->freed_on;
  return stream != 0 && (stream != driver::stream_per_thread || owner->thread == this_thread());
}

// That stream. 1 and 2 are those of the context of the memory.
Stream freeing_stream(driver::Session &session, const cai_owner &owner) {
  Stream stream{owner.freed_on, nullptr, -1};
  const cai_array *const array = stream.is_default() ? array_of(owner) : nullptr;
  if (array) stream.context = order::find_context(session, *array);
  return stream;
}

// The streams that the memory is freed on. An exporter frees a mask in the order of the mask's own
// stream. Without a session, 1 and 2 are those of the current context.
void note_freeing_streams(driver::Session *session, Uses &uses, const cai_owner &owner) {
  if (can_ask_of_freeing(&owner)) {
    Stream stream{owner.freed_on, nullptr, -1};  // of the current context, if the driver fails
    if (session) {
      static_cast<void>(guard(nullptr, [&] { stream = freeing_stream(*session, owner); }));
    }
    uses.free_on(stream);
  }
  const cai_array *const array = is_freed_as_said(&owner) ? array_of(owner) : nullptr;
  if (!array) return;
  for_each_part(*array, [&](const cai_array &part) {
    const bool is_named = part.stream_kind == CAI_STREAM_STREAM && !is_of_another_thread(part);
    if (!is_named || !may_be_pending(part)) return;
    uses.free_on(session ? stream_for(*session, part, part.stream)
                         : Stream{part.stream, nullptr, -1});
  });
}

// Whether the stream that the owner's memory is freed on is being captured, or may be: the memory
// must not be freed in the graph.
bool is_freed_in_capture(const cai_owner *owner) noexcept {
  bool captured = false;
  if (!can_ask_of_freeing(owner)) return captured;
  const cai_status status = guard(nullptr, [&] {
    driver::Session session;
    if (!has_gone(session, *owner)) {
      Stream stream = freeing_stream(session, *owner);
      captured = order::is_captured(session, stream);
    }
    session.finish();
  });
  return captured || (status != CAI_OK && !is_without_driver(status));
}

bool is_any_captured(Uses &uses) noexcept {
  bool captured = false;
  static_cast<void>(guard(nullptr, [&] {
    driver::Session session;
    captured = uses.is_any_captured(session);
    session.finish();
  }));
  return captured;
}

// Makes the host wait for a stream that an owner is marked with; returns false if it must not, or
// cannot.
bool await_marked(std::uint64_t marked) noexcept {
  bool is_over = false;
  const cai_status status = guard(nullptr, [&] {
    driver::Session session;
    Stream stream{marked, nullptr, -1};
    is_over = try_synchronize(session, stream);
    if (is_over) {
      trace::edge({-1}, trace::host, trace::stream(marked),
                  "made: the host has waited (no memory was left to put the end off)");
    }
    session.finish();
  });
  return is_over || is_without_driver(status);
}

}  // namespace

void put_off(Uses *uses) noexcept {
  // The client may destroy those streams after this, and to query a destroyed one may crash the
  // driver.
  uses->lose_marked();
  deferred::add(uses);
}

void end_in_later_call(cai_owner *owner, void (*end)(cai_owner *owner)) noexcept {
  static_cast<void>(guard(nullptr, [&] {  // without memory it stays forever
    auto uses = std::make_unique<Uses>();
    uses->owner = owner;
    uses->end = end;
    put_off(uses.release());
  }));
}

// Where the driver cannot be asked what is pending, a later call asks.
static void end_later(cai_owner *owner, void (*end)(cai_owner *owner)) noexcept {
  static_cast<void>(guard(nullptr, [&] {  // without memory it stays forever
    static_cast<void>(make_uses_of(owner));
    std::unique_ptr<Uses> uses = take_uses(owner);
    const bool differ = has_flag(owner, CAI_OWNER_STREAMS_DIFFER);
    if (has_flag(owner, CAI_OWNER_STREAM_ORDERED)) uses->free_in_order(owner->freed_on, differ);
    if (is_freed_as_said(owner)) uses->forget_marks(owner->freed_on, differ);
    note_freeing_streams(nullptr, *uses, *owner);
    uses->owner = owner;
    uses->end = end;
    put_off(uses.release());
  }));
}

void end_after_uses(cai_owner *owner, void (*end)(cai_owner *owner)) noexcept {
  const trace::Call call("cai_owner_end", trace::owner(owner));
  const auto tell = [&](const char *what) {
    trace::edge({-1}, trace::owner(owner), trace::theirs, what);
  };
  const bool in_order = has_flag(owner, CAI_OWNER_STREAM_ORDERED);
  const bool imported = is_freed_as_said(owner);
  if (driver::InHostFunction::is_here()) {
    tell("kept: the end is put off (in a function on a GPU stream)");
    return end_later(owner, end);
  }
  const std::uint64_t marked = marked_in(word_of(owner));
  constexpr const char *freed_there = "left out (the memory is freed in the order of that stream)";
  const bool is_there = !marked || !owner->freed_on || marked == owner->freed_on;
  if (imported && marked && is_there) {
    tell(freed_there);
    return end(owner);
  }
  const bool in_capture = in_order && is_freed_in_capture(owner);
  if (in_order && !in_capture && is_there && (marked || word_of(owner) == 0)) {
    tell(freed_there);
    return end(owner);
  }
  std::unique_ptr<Uses> uses;
  const cai_status taken = guard(nullptr, [&] {
    if (in_capture) static_cast<void>(make_uses_of(owner));
    uses = take_uses(owner);
  });
  if (taken != CAI_OK) {
    // No memory to defer the end with, so it ends now.
    if (!in_capture && await_marked(marked)) end(owner);
    return;
  }
  if (!uses) return end(owner);  // they were half changed, and nothing is pending in this process
  const bool differ = has_flag(owner, CAI_OWNER_STREAMS_DIFFER);
  if (in_order) uses->free_in_order(owner->freed_on, differ);
  if (imported) uses->forget_marks(owner->freed_on, differ);
  bool gone = false;
  if (in_order || imported || uses->pending()) {
    const cai_status status = guard(nullptr, [&] {
      driver::Session session;
      const bool asks_streams = in_order || imported || uses->any_marked();
      gone = asks_streams && has_gone(session, *owner);
      if (!gone && (in_order || imported)) {
        static_cast<void>(guard(nullptr, [&] { note_freeing_streams(&session, *uses, *owner); }));
      }
      if (!gone && uses->pending()) {
        uses->keep_marked(session, 0);
        uses->identify_marked(session);
      }
      session.finish();
    });
    if (gone || is_without_driver(status)) uses.reset();
  }
  if (uses && (uses->pending() || ((in_order || imported) && is_any_captured(*uses)))) {
    uses->owner = owner;
    uses->end = end;
    tell("kept: the end is put off (uses are pending)");
    return put_off(uses.release());
  }
  uses.reset();
  tell("left out (no use is pending)");
  end(owner);
}

// Whose end runs on this thread.
static constinit thread_local Ending *ending_here = nullptr;

void Ending::add(Uses *uses) noexcept {
  Ending *its = this;
  for (Ending *around = ending_here; around; around = around->around_) {
    const bool is_of_that_end = uses->arrival > around->arrived_ && uses->releaser == this_thread();
    if (!is_of_that_end) its = around;
  }
  found_ = true;
  its->has_own_ = true;
  deferred::make_due(uses, its);
}

// What would end here belongs to others. If this caller, or another thread, is capturing, to free
// memory may ruin those captures.
bool Ending::run() {
  if (!has_own_ && !others_) return found_;
  driver::Session session;
  session.use_relaxed_mode();
  const bool any = run_all(&session);
  session.finish();
  return any;
}

bool Ending::run_all(driver::Session *session) noexcept {
  bool any = found_;
  while (has_own_ || others_) {
    has_own_ = false;
    while (run_one(session, this, nullptr)) any = true;
    const deferred::Survey *const others = std::exchange(others_, nullptr);
    while (others && run_one(session, nullptr, others)) any = true;
  }
  return any;
}

bool Ending::run_one(driver::Session *session, const Ending *found_by,
                     const deferred::Survey *others) noexcept {
  Running running(Runs::end);
  const deferred::Taken taken(found_by, others);
  Uses *const uses = taken.uses();
  if (!uses) return false;
  running.is_of(uses->release);
  // Who has found that it may end could not ask about this thread's stream 2.
  if (session && uses->is_freed_on_this_thread() && is_any_captured(*session, *uses)) {
    deferred::put_back_due(uses);
    return true;
  }
  cai_owner *const owner = uses->owner;
  void (*const end)(cai_owner *) = uses->end;
  delete uses;
  around_ = std::exchange(ending_here, this);
  arrived_ = deferred::last_arrival();
  end(owner);
  ending_here = around_;
  return true;
}

Ending::~Ending() {
  static_cast<void>(guard(nullptr, [&] { run(); }));
  run_all(nullptr);  // if the driver refuses
}

void look(driver::Session &session, const Stream &stream, Ending &ending) {
  const int64_t count = deferred::count();
  // Within an end each would run the next one inside of it.
  if (count == 0 || Running::is_here()) return;
  session.use_relaxed_mode();  // first, since it may fail
  settle_some(session, stream, std::min(count, asked_in_passing), looked_at_in_passing, ending);
}

void look_at_all(driver::Session &session, const Stream &stream, Ending &ending) {
  const int64_t count = deferred::count();
  if (count == 0) return;
  session.use_relaxed_mode();
  settle_some(session, stream, count, count, ending);
}

std::unique_ptr<Uses> new_holder(cai_owner *owner) {
  auto holder = std::make_unique<Uses>();
  holder->owner = owner;
  holder->end = [](cai_owner *held) {
    if (held) held->release(held);
  };
  return holder;
}

void park(cai_owner *owner, Stream stream) noexcept {
  owner->retain(owner);
  cai_error error;
  const cai_status status = guard(&error, [&] {
    std::unique_ptr<Uses> holder = new_holder(owner);
    static_cast<void>(guard(nullptr, [&] {
      driver::Session session;
      identify(session, stream);
      session.finish();
    }));
    holder->lose(stream);
    put_off(holder.release());
  });
  if (status == CAI_OK) return;
  fail(&error, status, {},
       "work on stream 0x%llx cannot be noted: nothing waits for it, and the owner leaks",
       static_cast<unsigned long long>(stream.value));
  report(error);
}

void hold_for_graph(driver::Session &session, const driver::Capture &capture, cai_owner *owner) {
  std::unique_ptr<Uses> holder = new_holder(owner);
  owner->retain(owner);
  try {
    give_to_graph(
        session, capture, [](void *uses) { put_off(static_cast<Uses *>(uses)); }, holder.get());
  } catch (...) {
    owner->release(owner);
    throw;
  }
  static_cast<void>(holder.release());
}

struct Ended {
  bool any;
  deferred::Missed missed;
};

static Ended end_all(Ask ask, deferred::Survey &survey, bool asks_lost, driver::Faults &failed) {
  if (deferred::count() == 0 && !any_condemned()) return {};
  const auto attempt = [&](auto &&body) {
    cai_error error;
    if (guard(&error, body) != CAI_OK) failed.note(error);
  };
  Ending ending;
  attempt([&] {
    driver::Session session;
    session.must_know_captures = true;  // else it would return that all is well, and leave some
    if (asks_lost) attempt([&] { await_lost(session, survey, ending); });
    settle_all(session, ask, survey, ending);
    session.finish();
  });
  bool any = ending.has_found();
  attempt([&] { any = ending.run() || any; });
  return {any, ending.missed};
}

void drain(bool waits, Others others) {
  if (!may_await_running()) others = Others::left;
  deferred::Survey survey;
  driver::Faults failed;
  bool asks_lost = waits;
  for (;;) {
    const uint64_t arrived = deferred::last_arrival();
    const uint32_t answers = deferred::count_answers();
    const Ended ended = end_all(waits ? Ask::and_wait : Ask::for_all, survey, asks_lost, failed);
    const bool asked_lost = std::exchange(asks_lost, waits && !ended.any);
    if (ended.any || asks_lost != asked_lost) continue;
    if (others == Others::left) break;
    if (ended.missed.asked || (ended.missed.awaited && others == Others::all)) {
      deferred::await_answer(answers);
      continue;
    }
    if (others != Others::all) break;
    static_cast<void>(await_running(Runs::end));  // which may release more
    if (!deferred::any_since(arrived, survey)) break;
  }
  failed.raise();
}

}  // namespace cai::order

using namespace cai;

cai_status cai_drain(int32_t wait, int64_t *left, cai_error *error) {
  return guard(error, [&] {
    const order::trace::Call call("cai_drain", order::trace::host);
    if (const auto free_again = order::above.free_again.load(std::memory_order_acquire))
      free_again();
    order::drain(wait, wait ? order::Others::all : order::Others::left);
    if (left) *left = order::count_left();
  });
}

int32_t cai_spare_captures(uint64_t stream, void (*body)(void *context), void *context) {
  if (!body) return 0;
  bool called = false, captures = false;
  const bool is_asked = stream != 0 || driver::is_loaded();
  static_cast<void>(guard(nullptr, [&] {
    if (!is_asked) return;
    driver::Session session;
    const bool is_named = stream > driver::stream_per_thread || (stream && session.current());
    order::Sight sight = is_named ? order::Sight(session, order::stream_here(session, stream))
                                  : order::Sight(session);
    captures = sight.captures();
    if (captures) return;
    session.use_relaxed_mode();
    called = true;
    body(context);
    session.finish();
  }));
  if (!called && !captures) body(context);  // there is no driver, or it refuses
  return captures ? 0 : 1;
}

cai_status cai_owner_pending(cai_owner *self, int32_t ask, int64_t *left, cai_error *error) {
  return guard(error, [&] {
    if (!is_whole(self) || !left) {
      throw Failure(CAI_ERR_ARGUMENT, {},
                    "self or left is NULL, or self->struct_size less than %zu",
                    first_size<cai_owner>);
    }
    if (ask < 0 || ask > 2) {
      throw Failure(CAI_ERR_VALUE, {}, "ask is %d, and neither 0, 1 nor 2", ask);
    }
    const cai_owner *const keeper = self->keeper ? self->keeper : self;
    if (!order::stores_here(keeper) || !order::word_of(keeper)) {
      *left = 0;
      return;
    }
    // At most one stream is marked.
    if (!ask && !order::uses_of(keeper)) {
      *left = order::told_in(order::word_of(keeper)) ? 0 : 1;
      return;
    }
    order::Uses &uses = order::make_uses_of(self->keeper ? self->keeper : self);
    // The work on an adopted stream is not counted once an event covers it: there may be more.
    if (ask && (uses.count() != 0 || uses.any_marked())) {
      driver::Session session;
      const order::trace::Call call("cai_owner_pending", order::trace::host);
      const order::Ask how = ask == 2 ? order::Ask::and_wait : order::Ask::for_all;
      if (order::has_gone(session, *keeper)) {
        uses.forget();
      } else {
        uses.keep_marked(session, 0, order::Uses::Owner::held);
      }
      order::in_each(session, [&](driver::CUcontext context, std::uint64_t id) {
        uses.prune(session, context, id, how);
        const bool waits = how == order::Ask::and_wait;
        uses.find_lost_in(session, context, id, waits);
        if (waits) {
          order::trace::edge({-1}, order::trace::host, order::trace::owner(self),
                             "made: the host has waited in a context (uses are kept)");
        }
      });
      session.finish();
    }
    *left = static_cast<int64_t>(uses.count());
  });
}
