// SPDX-License-Identifier: BSD-3-Clause
#include "order/releases.hpp"

#include <atomic>

#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "driver/host_function.hpp"
#include "driver/pointer.hpp"
#include "order/above.hpp"
#include "order/by_address.hpp"
#include "order/edge.hpp"
#include "order/producers.hpp"
#include "order/running.hpp"
#include "order/trace.hpp"
#include "order/without_driver.hpp"

namespace cai::order {
namespace {

constexpr int asked_in_passing = 8;
constexpr int looked_at_in_passing = 64;
constexpr uint64_t every_pass = UINT64_MAX;

// Uses of owners, the oldest first.
struct List {
  Uses *first = nullptr;
  Uses *last = nullptr;

  void push(Uses *uses) noexcept {
    uses->next = nullptr;
    (last ? last->next : first) = uses;
    last = uses;
  }
  Uses *pop() noexcept {
    Uses *const uses = first;
    if (uses) {
      first = uses->next;
      if (!first) last = nullptr;
    }
    return uses;
  }
};

// Those whose end is deferred. The lock is held for the lists alone.
struct Waiting {
  GlobalLock mutex;
  List pending;
  Uses *due = nullptr;  // nothing is pending: any thread may end them
  int64_t due_count = 0;
  int64_t looked_at = 0;              // in neither list: a thread asks whether they are complete
  std::atomic<int64_t> count{0};      // of all
  std::atomic<uint64_t> put_offs{0};  // by ends and frees that run, so far
  std::atomic<uint64_t> passes{0};    // of drains that wait, so far
};

// Never destroyed: arrays may end as late as the process does.
Waiting &waiting() {
  return immortal<Waiting>();
}

// Removes from the list those uses that have work pending in the context, or none at all: at most
// `asked` of them, after looking at no more than `looked`, and none that a later pass, or this one,
// has asked about. The others looked at move to the end of the list.
Uses *take(driver::CUcontext context, int64_t asked, int64_t looked, uint64_t pass,
           Ending &ending) noexcept {
  Waiting &all = waiting();
  const std::lock_guard lock(all.mutex);
  Uses *taken = nullptr;
  while (asked > 0 && looked > 0) {
    Uses *const uses = all.pending.pop();
    if (!uses) break;
    if (uses->asked_in < pass && (uses->pending_in(context) || !uses->pending())) {
      if (pass != every_pass) uses->asked_in = pass;
      uses->next = taken;
      taken = uses;
      ++all.looked_at;
      --asked;
    } else {
      all.pending.push(uses);
      --looked;
    }
  }
  if (!taken && all.looked_at != 0) ending.miss();
  return taken;
}

// Removes those whose context is not known.
Uses *take_lost(Ending &ending) noexcept {
  Waiting &all = waiting();
  const std::lock_guard lock(all.mutex);
  if (all.looked_at != 0) ending.miss();
  Uses *taken = nullptr;
  for (int64_t left = all.count.load(std::memory_order_relaxed); left > 0; --left) {
    Uses *const uses = all.pending.pop();
    if (!uses) break;
    if (!uses->is_lost_anywhere()) {
      all.pending.push(uses);
      continue;
    }
    uses->next = taken;
    taken = uses;
    ++all.looked_at;
  }
  return taken;
}

// Puts one back that was taken.
void put_back(Uses *uses) noexcept {
  Waiting &all = waiting();
  const std::lock_guard lock(all.mutex);
  all.pending.push(uses);
  --all.looked_at;
}

// Removes one that is due, which this Ending has found; null: any. Returns null if there is none.
Uses *take_due(const Ending *by) noexcept {
  Waiting &all = waiting();
  const std::lock_guard lock(all.mutex);
  Uses **place = &all.due;
  while (*place && by && (*place)->found_by != by) place = &(*place)->next;
  Uses *const uses = *place;
  if (!uses) return nullptr;
  *place = uses->next;
  --all.due_count;
  all.count.fetch_sub(1, std::memory_order_relaxed);
  return uses;
}

int64_t due_count() noexcept {
  Waiting &all = waiting();
  const std::lock_guard lock(all.mutex);
  return all.due_count;
}

// Of those whose end is deferred; where nothing of others is ended, not those that they have found
// complete.
int64_t count_left() noexcept {
  Waiting &all = waiting();
  const std::lock_guard lock(all.mutex);
  const int64_t count = all.count.load(std::memory_order_relaxed);
  return may_await_running() ? count : count - all.due_count;
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

// Makes those due that are complete, of those that take() returns. Returns whether there are any.
bool settle(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
            int64_t asked, int64_t looked, Ask ask, Sight &sight, Ending &ending,
            uint64_t pass = every_pass) noexcept {
  // Meanwhile they are in no list.
  const Running running(ask == Ask::and_wait ? Runs::wait : Runs::end);
  Uses *taken = take(context, asked, looked, pass, ending);
  const bool any = taken;
  while (taken) {
    Uses *const uses = taken;
    taken = uses->next;
    uses->settle(session, context, context_id, ask);
    const bool is_due = !uses->pending() && !is_any_captured(session, *uses) && !sight.captures();
    is_due ? ending.add(uses) : put_back(uses);
  }
  return any;
}

// Adds those that others have found complete. Not within an end: each would run the next one inside
// of it.
void add_due(Sight &sight, Ending &ending) noexcept {
  if (!may_await_running()) return;
  const int64_t count = due_count();
  if (count != 0 && !sight.captures()) ending.add_of_others(count);
}

// Runs `body(context, id)` in each context that exists and can be queried.
template <class Body>
void in_each(driver::Session &session, Body &&body) {
  cai_error error;
  std::vector<driver::CUcontext> contexts = session.primaries();
  const driver::CUcontext current = session.current();
  if (current && std::find(contexts.begin(), contexts.end(), current) == contexts.end()) {
    contexts.push_back(current);
  }
  session.use_relaxed_mode();
  for (const driver::CUcontext context : contexts) {
    session.in(context, [&] {
      std::uint64_t id = 0;
      const cai_status status = guard(&error, [&] { id = session.id_of(context); });
      if (status == CAI_OK) return body(context, id);
      if (!session.is_destroyed(context)) throw Failure(error);
    });
  }
}

// Those whose context is not known: the host waits in each context that can be queried.
void await_lost(driver::Session &session, Ending &ending) {
  const Running running(Runs::wait);
  Uses *lost = take_lost(ending);
  if (!lost) return;
  bool is_over = true;
  cai_error error;
  const cai_status status = guard(&error, [&] {
    in_each(session, [&](driver::CUcontext, std::uint64_t) {
      is_over = wait_for_context(session) && is_over;
    });
  });
  while (Uses *const uses = lost) {
    lost = uses->next;
    if (status == CAI_OK && is_over) uses->find_lost();
    put_back(uses);
  }
  if (status != CAI_OK) throw Failure(error);
}

void settle_all(driver::Session &session, Ask ask, Ending &ending) {
  Sight sight(session);
  if (ask == Ask::and_wait) await_lost(session, ending);
  in_each(session, [&](driver::CUcontext context, std::uint64_t id) {
    const int64_t count = waiting().count.load(std::memory_order_relaxed);
    if (ask == Ask::and_wait) {
      // One by one: what is complete meanwhile is not kept from other threads.
      const uint64_t pass = 1 + waiting().passes.fetch_add(1, std::memory_order_relaxed);
      while (settle(session, context, id, 1, count, ask, sight, ending, pass)) {
      }
    } else {
      settle(session, context, id, count, count, ask, sight, ending);
    }
    if (count != 0 && ask == Ask::and_wait) {
      trace::edge({-1}, trace::host, {trace::Side::owner},
                  "made: the host has waited in a context (uses of arrays that have ended)");
    }
    destroy_condemned(session, context, id);
  });
  add_due(sight, ending);
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
    if (order::is_captured(session, stream)) return;
    synchronize(session, stream);
    is_over = true;
    trace::edge({-1}, trace::host, trace::stream(marked),
                "made: the host has waited (no memory was left to put the end off)");
    session.finish();
  });
  return is_over || is_without_driver(status);
}

}  // namespace

void put_off(Uses *uses) noexcept {
  // The client may destroy those streams after this, and to query a destroyed one may crash the
  // driver.
  uses->lose_marked();
  Waiting &all = waiting();
  const std::lock_guard lock(all.mutex);
  all.pending.push(uses);
  all.count.fetch_add(1, std::memory_order_relaxed);
  if (Running::is_here()) all.put_offs.fetch_add(1, std::memory_order_relaxed);
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

void Ending::add(Uses *uses) noexcept {
  has_own_ = true;
  uses->found_by = this;
  Waiting &all = waiting();
  const std::lock_guard lock(all.mutex);
  uses->next = std::exchange(all.due, uses);
  ++all.due_count;
  --all.looked_at;
}

// What would end here belongs to others. If this caller, or another thread, is capturing, to free
// memory may ruin those captures.
bool Ending::run() {
  if (!has_own_ && others_ == 0) return false;
  driver::Session session;
  session.use_relaxed_mode();
  const bool any = run_all(&session);
  session.finish();
  return any;
}

bool Ending::run_all(driver::Session *session) noexcept {
  bool any = false;
  if (std::exchange(has_own_, false)) {
    while (run_one(session, this)) any = true;
  }
  for (; others_ > 0 && run_one(session, nullptr); --others_) any = true;
  others_ = 0;
  return any;
}

bool Ending::run_one(driver::Session *session, const Ending *found_by) noexcept {
  const Running running(Runs::end);
  Uses *const uses = take_due(found_by);
  if (!uses) return false;
  // Who has found that it may end could not ask about this thread's stream 2.
  if (session && uses->is_freed_on_this_thread() && is_any_captured(*session, *uses)) {
    put_off(uses);
    return true;
  }
  cai_owner *const owner = uses->owner;
  void (*const end)(cai_owner *) = uses->end;
  delete uses;
  end(owner);
  return true;
}

Ending::~Ending() {
  static_cast<void>(guard(nullptr, [&] { run(); }));
  run_all(nullptr);  // if the driver refuses
}

void look(driver::Session &session, const Stream &stream, Ending &ending) {
  if (waiting().count.load(std::memory_order_relaxed) == 0) return;
  session.use_relaxed_mode();  // first, since it may fail
  Sight sight(session, stream);
  settle(session, stream.context, stream.context_id, asked_in_passing, looked_at_in_passing,
         Ask::in_passing, sight, ending);
}

void look_at_all(driver::Session &session, const Stream &stream, Ending &ending) {
  const int64_t count = waiting().count.load(std::memory_order_relaxed);
  if (count == 0) return;
  session.use_relaxed_mode();
  Sight sight(session, stream);
  settle(session, stream.context, stream.context_id, count, count, Ask::in_passing, sight, ending);
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
  static_cast<void>(guard(nullptr, [&] {  // without memory it stays forever
    std::unique_ptr<Uses> holder = new_holder(owner);
    static_cast<void>(guard(nullptr, [&] {
      driver::Session session;
      identify(session, stream);
      session.finish();
    }));
    holder->lose(stream);
    put_off(holder.release());
  }));
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
  bool any, missed;  // missed: another thread was looking at more
};

static Ended end_all(bool waits) {
  if (waiting().count.load(std::memory_order_acquire) == 0 && !any_condemned()) return {};
  Ending ending;
  {
    driver::Session session;
    settle_all(session, waits ? Ask::and_wait : Ask::for_all, ending);
    session.finish();
  }
  return {ending.run(), ending.has_missed()};
}

void drain(bool waits) {
  // What another thread ends, or looks at, this one waits for.
  const bool awaits = waits && may_await_running();
  // An end may release other arrays, whose end is then deferred.
  const auto &put_offs = waiting().put_offs;
  for (bool again = true; again;) {
    const uint64_t before = put_offs.load(std::memory_order_relaxed);
    const auto [any, missed] = end_all(waits);
    again = any || (awaits && missed);
    if (!awaits) continue;
    for (const Runs what : {Runs::wait, Runs::end}) static_cast<void>(await_running(what));
    if (put_offs.load(std::memory_order_relaxed) != before) again = true;
  }
}

}  // namespace cai::order

using namespace cai;

cai_status cai_drain(int32_t wait, int64_t *left, cai_error *error) {
  return guard(error, [&] {
    const order::trace::Call call("cai_drain", order::trace::host);
    if (const auto free_again = order::above.free_again.load(std::memory_order_acquire))
      free_again();
    order::drain(wait);
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
