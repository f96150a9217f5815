// SPDX-License-Identifier: BSD-3-Clause
#include "order/uses.hpp"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <memory>

#include "order/above.hpp"
#include "order/by_address.hpp"
#include "order/owned.hpp"
#include "order/told_streams.hpp"
#include "order/trace.hpp"

namespace cai::order {
namespace {

// With more streams than this it pays to query which ones are done.
constexpr std::size_t slots_many = 8;
// How many streams of captures are remembered.
constexpr std::size_t captured_most = 64;

// Whether the work before an event is complete, or will never be. An error that does not say that
// the context is destroyed says nothing of the event.
bool is_complete(driver::Session &session, const Event &event, Ask ask) noexcept {
  const driver::Driver &cu = session.cu;
  const bool waits = ask == Ask::and_wait;
  const driver::CUresult result =
      waits ? cu.cuEventSynchronize(event.handle()) : cu.cuEventQuery(event.handle());
  if (result == driver::success) return true;
  if (result == driver::error_not_ready) return false;
  if (ask != Ask::in_passing) {
    const char *const name = waits ? cu.cuEventSynchronize.name : cu.cuEventQuery.name;
    session.faults.note(driver::failure_of(name, result));
  }
  if (result != driver::error_invalid_context) return driver::says_gone(result);
  driver::CUcontext current = nullptr;  // the lack of a current context may be the only fault
  static_cast<void>(cu.cuCtxGetCurrent(&current));
  return current;
}

// The thread whose stream 2 it is; 0 for others.
std::uint64_t thread_of(const Stream &stream) noexcept {
  return stream.value == driver::stream_per_thread ? this_thread() : 0;
}

// Whether the driver says that the context, if it is known, was destroyed with all its work.
bool has_gone(driver::Session &session, driver::CUcontext context) noexcept {
  if (!context) return false;
  cai_error error;
  const cai_status status = guard(&error, [&] { static_cast<void>(session.id_of(context)); });
  return status == CAI_ERR_CUDA && driver::says_gone(error.native);
}

}  // namespace

bool went_with_context(driver::Session &session, const Event &event) {
  try {
    return session.id_of(event.context()) != event.context_id();
  } catch (const Failure &failure) {
    const int32_t native = failure.error().native;
    if (native == driver::error_invalid_context || native == driver::error_context_is_destroyed) {
      return true;
    }
    throw;
  }
}

bool wait_for_context(driver::Session &session) noexcept {
  Stream legacy{driver::stream_legacy, session.current(), -1};
  if (is_captured(session, legacy) || ask(above.is_any_captured, session)) return false;
  const driver::CUresult result = session.cu.cuCtxSynchronize();
  const bool is_over = result == driver::success || driver::says_gone(result);
  if (!is_over) session.faults.note(driver::failure_of(session.cu.cuCtxSynchronize.name, result));
  return is_over;
}

Uses::~Uses() {
  leave_lists();
}

void Uses::drop(Uses *uses) noexcept {
  if (!uses) return;
  uses->leave_lists();
  if (!uses->are_half_changed()) delete uses;
}

void Uses::leave_lists() noexcept {
  if (!listed) return;
  unlist(*this);
  // A thread that has found it by address may be about to wait for what it read.
  if (any_told_but(0)) await_readers();
}

void Uses::hand_over(Uses &to) noexcept {
  leave_lists();
  const std::lock_guard lock(lock_);
  to.slots_.swap(slots_);
  to.own_.swap(own_);
  std::swap(to.losses_, losses_);
  for (Own &it : to.own_) {  // what threads are about to keep will not be found there
    it.marked = it.has_mark();
    it.being_kept = 0;
  }
  for (Uses *each : {this, &to}) {
    each->sum_up();
    each->sum_up_told();
  }
  marked_handle_.store(0, std::memory_order_relaxed);
}

Uses &make_uses(cai_owner *owner) {
  auto made = std::make_unique<Uses>();
  const std::atomic_ref<void *> word(owner->uses);
  void *theirs = word.load(std::memory_order_acquire);
  for (;;) {
    const auto value = reinterpret_cast<std::uintptr_t>(theirs);
    if (value && !(value & 1)) return *static_cast<Uses *>(theirs);
    const Stream marked{marked_in(value), nullptr, -1};
    if (value) told_in(value) ? made->tell(marked, false) : made->mark(marked);
    if (adopted_in(value)) made->adopt(marked);
    if (word.compare_exchange_weak(theirs, made.get(), std::memory_order_acq_rel)) {
      return *made.release();
    }
  }
}

std::unique_ptr<Uses> take_uses(cai_owner *owner) {
  if (word_of(owner) & 1) static_cast<void>(make_uses(owner));
  void *const uses = std::atomic_ref<void *>(owner->uses).exchange(nullptr);
  std::unique_ptr<Uses> taken(static_cast<Uses *>(uses));
  if (taken && taken->are_half_changed()) Uses::drop(taken.release());
  return taken;
}

std::unique_ptr<Uses> take_kept(cai_owner *owner) {
  if (word_of(owner) == 0) return nullptr;
  auto taken = std::make_unique<Uses>();
  make_uses_of(owner).hand_over(*taken);
  return taken;
}

void drop_uses(cai_owner *owner) noexcept {
  if (!(word_of(owner) & 1)) Uses::drop(static_cast<Uses *>(owner->uses));
  owner->uses = nullptr;
}

void mark_anew(cai_owner *owner, std::uint64_t handle) {
  if (!fits_in_word(handle)) return make_uses_of(owner).mark({handle, nullptr, -1});
  void *nothing = nullptr;
  void *const mark = reinterpret_cast<void *>(word_of_mark(handle));
  const std::atomic_ref<void *> word(owner->uses);
  if (word.compare_exchange_strong(nothing, mark, std::memory_order_acq_rel)) return;
  if (nothing != mark) make_uses_of(owner).mark({handle, nullptr, -1});
}

// Marks the only stream that is known so far, with this bit. Returns false if the word cannot.
static bool set_in_word(cai_owner *owner, const Stream &stream, std::uintptr_t bit) noexcept {
  if (stream.is_default() || !fits_in_word(stream.value)) return false;
  const std::uintptr_t word = word_of(owner);
  if (word != 0 && marked_in(word) != stream.value) return false;
  const std::uintptr_t wanted = (word ? word : word_of_mark(stream.value)) | bit;
  void *there = reinterpret_cast<void *>(word);
  return word == wanted || std::atomic_ref<void *>(owner->uses)
                               .compare_exchange_strong(there, reinterpret_cast<void *>(wanted),
                                                        std::memory_order_acq_rel);
}

void tell(cai_owner *owner, const Stream &stream) {
  if (!set_in_word(owner, stream, told_bit)) make_uses_of(owner).tell(stream, false);
}

void adopt(cai_owner *owner, const Stream &stream) {
  if (is_freed_as_said(owner)) return;
  if (!set_in_word(owner, stream, adopted_bit)) make_uses_of(owner).adopt(stream);
}

bool Uses::keep(const StreamKey &user, const Event &event, bool write, const Cover &cover) {
  const std::lock_guard lock(lock_);
  Slot *slot = nullptr;
  for (Slot &other : slots_) {
    if (other.user == user && (event == other.last().event || event.follows(other.last().event))) {
      slot = &other;
    }
  }
  if (!slot) slot = &slots_.emplace_back(Slot{user, {}, {}});
  (write ? slot->write : slot->read) = {event, cover};
  if (write && slot->read.event) slot->read = {};
  sum_up();
  return slots_.size() > slots_many;
}

void Uses::keep(driver::Session &session, Stream &stream, const Event &event, bool write,
                const Cover &cover) {
  identify(session, stream);
  if (this->keep(stream.key(), event, write, cover)) {
    prune(session, stream.context, stream.context_id, Ask::in_passing);
  }
}

Uses::Own *Uses::find_own(const Stream &stream, std::uint64_t thread) noexcept {
  for (Own &other : own_) {
    if (same(stream, other.stream) && thread == other.thread) return &other;
  }
  return nullptr;
}

Uses::Own &Uses::own(const Stream &stream) {
  const std::uint64_t thread = thread_of(stream);
  if (Own *const found = find_own(stream, thread)) return *found;
  own_.push_back({stream, thread});
  own_.back().stream.index = -1;
  return own_.back();
}

void Uses::mark(const Stream &stream) {
  const std::lock_guard lock(lock_);
  Own &it = own(stream);
  it.marked = true;
  it.covered = false;
  if (!stream.is_default()) marked_handle_.store(stream.value, std::memory_order_relaxed);
}

void Uses::adopt(const Stream &stream) {
  const std::lock_guard lock(lock_);
  Own &it = own(stream);
  it.marked = it.adopted = true;
  it.covered = false;
}

Uses::Mark Uses::begin_keeping(const Stream &stream) noexcept {
  const std::lock_guard lock(lock_);
  Own *const found = find_own(stream, thread_of(stream));
  // Consumers that were told still work there.
  if (!found || !found->marked || found->is_told()) return {};
  const Mark before{true, found->adopted};
  start_keeping(*found);
  return before;
}

void Uses::end_keeping(const Stream &stream, const Mark &before, bool is_kept) noexcept {
  const std::lock_guard lock(lock_);
  Own *const found = find_own(stream, thread_of(stream));
  if (!found || found->being_kept == 0) return;  // the memory was freed meanwhile
  --found->being_kept;
  if (is_kept) return;
  found->marked = true;
  found->adopted = found->adopted || before.adopted;
}

void Uses::start_keeping(Own &it, bool stays) noexcept {
  it.adopted = it.adopted && stays;
  it.marked = it.covered = it.adopted;
  marked_handle_.store(0, std::memory_order_relaxed);
  ++it.being_kept;
}

bool Uses::any_marked() {
  const std::lock_guard lock(lock_);
  return std::any_of(own_.begin(), own_.end(), [](const Own &it) { return it.has_mark(); });
}

void Uses::tell(const Stream &stream, bool by_view, bool outlives) {
  const std::lock_guard lock(lock_);
  Own &it = own(stream);
  it.marked = true;
  it.covered = false;
  it.tells = ++tells_;
  it.outlives = it.outlives || outlives;
  if (by_view) {
    ++it.views;
  } else {
    it.told = true;
  }
  sum_up_told();
}

void Uses::untell(driver::Session &session, const Stream &stream, std::uint64_t thread) noexcept {
  for (;;) {
    Own it;
    {
      const std::lock_guard lock(lock_);
      Own *const found = find_own(stream, thread);
      if (!found || found->views == 0) break;  // the memory was freed
      if (found->views > 1 || found->told) {
        --found->views;
        return;
      }
      start_keeping(*found);
      it = *found;
    }
    Recorded recorded = keep_pending(session, it);
    // The stream may be destroyed after this: no later call can ask about it. Stream 1 lives on,
    // and a wait for it is none for the blocking streams.
    if (recorded == Recorded::never || recorded == Recorded::no_memory) {
      Stream told = stream_to_name(it);
      if (told.value != driver::stream_legacy && try_synchronize(session, told)) {
        recorded = Recorded::yes;
        trace::edge({-1}, trace::host, trace::stream(told.value),
                    "made: the host has waited (no event of that stream could be kept)");
      }
    }
    const std::lock_guard lock(lock_);
    Own *const found = find_own(stream, thread);
    if (found && found->being_kept > 0) --found->being_kept;
    if (!found || found->views == 0) break;
    // Told again meanwhile, to consumers whose work the event does not cover.
    if (found->tells != it.tells) continue;
    --found->views;
    if (recorded != Recorded::yes) {  // or its work would not be ordered with what follows
      found->told = true;
      found->marked = true;
    }
    if (!found->has_mark() && !found->freed_on && !found->by_exporter) {
      own_.erase(own_.begin() + (found - own_.data()));
    }
    sum_up_told();
    break;
  }
  await_readers();  // the stream may be destroyed now
}

void Uses::tell_less(const Stream &stream) noexcept {
  const std::lock_guard lock(lock_);
  Own *const found = find_own(stream, thread_of(stream));
  if (found && found->views > 1) --found->views;
}

void Uses::tell_first(const Stream &first) {
  const std::lock_guard lock(lock_);
  if (first_) return;
  own(first).by_exporter = true;
  sum_up_told();
}

bool Uses::is_told(std::uint64_t stream) {
  const std::lock_guard lock(lock_);
  const Own *const found = find_own({stream, nullptr, -1}, 0);
  return found && found->is_told();
}

void Uses::add_told(std::uint64_t stream, std::uint64_t own, int32_t index, Few<Stream> &out) {
  if (!any_told_but(own)) return;
  const std::lock_guard lock(lock_);
  for (const Own &other : own_) {
    if (!other.is_told()) continue;
    if (!other.stream.is_default() && (other.stream.value == stream || other.stream.value == own)) {
      continue;
    }
    const bool has_name = !other.thread || other.thread == this_thread();
    if (!has_name && !other.by_exporter) {
      throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                    "a dict or a tensor names stream 2 of thread %" PRIu64
                    " for the array, where others may work on it; here stream 2 is another stream",
                    kernel_id(other.thread));
    }
    Stream told = other.stream;
    if (!has_name) told.value = driver::stream_legacy;  // which comes after it
    told.index = index;
    told.is_told = true;
    out.add_unless(told, [&](const Stream &added) { return same(told, added); });
  }
}

void Uses::keep_captured(std::uint64_t capture, std::uint64_t user, bool write,
                         const std::vector<driver::CUgraphNode> &nodes) {
  const std::lock_guard lock(lock_);
  auto found = std::find_if(captured_.begin(), captured_.end(), [&](const Captured &other) {
    return other.capture == capture && other.user == user;
  });
  if (found == captured_.end()) {
    // Ids never recur, and the oldest capture is the likeliest to have ended.
    if (captured_.size() == captured_most) captured_.erase(captured_.begin());
    captured_.push_back({capture, user, {}, {}});
    found = captured_.end() - 1;
  }
  (write ? found->writes : found->reads) = nodes;
  if (write) found->reads.clear();
  sum_up();
}

void Uses::add_captured(std::uint64_t capture, std::uint64_t user, bool write,
                        std::vector<driver::CUgraphNode> &out) {
  const std::lock_guard lock(lock_);
  for (const Captured &it : captured_) {
    if (it.capture != capture || it.user == user) continue;
    out.insert(out.end(), it.writes.begin(), it.writes.end());
    if (write) out.insert(out.end(), it.reads.begin(), it.reads.end());
  }
}

void Uses::take_captured(Uses &ending, std::vector<std::uint64_t> &captures) {
  for (const Captured &it : ending.captured_) {
    if (!it.writes.empty()) keep_captured(it.capture, it.user, true, it.writes);
    if (!it.reads.empty()) keep_captured(it.capture, it.user, false, it.reads);
    const bool is_new = std::find(captures.begin(), captures.end(), it.capture) == captures.end();
    if (is_new) captures.push_back(it.capture);
  }
}

bool Uses::is_in(std::uint64_t capture) const {
  return std::any_of(captured_.begin(), captured_.end(),
                     [&](const Captured &it) { return it.capture == capture; });
}

void Uses::add_captures_over(std::uint64_t user, std::uint64_t now,
                             std::vector<std::uint64_t> &over) {
  const std::lock_guard lock(lock_);
  for (const Captured &it : captured_) {
    const bool is_over = it.user == user && it.capture != now;
    const bool is_new = std::find(over.begin(), over.end(), it.capture) == over.end();
    if (is_over && is_new) over.push_back(it.capture);
  }
}

bool Uses::forget_captures(const std::vector<std::uint64_t> &over) {
  const std::lock_guard lock(lock_);
  std::erase_if(captured_, [&](const Captured &it) {
    return std::find(over.begin(), over.end(), it.capture) != over.end();
  });
  sum_up();
  return captured_.empty();
}

bool Uses::add_conflicts(bool write, int32_t index, Conflicts &out) {
  if (!any()) return true;
  const std::lock_guard lock(lock_);
  bool all = true;
  for (const Slot &slot : slots_) {
    const auto &[event, cover] = write ? slot.last() : slot.write;
    all = all && (write || !slot.read.event);
    if (!event) continue;
    out.add_unless({event, slot.user, cover, index},
                   [&](const Conflict &other) { return other.event == event; });
  }
  return all;
}

void Uses::cover(Conflicts &conflicts, const Cover &stream) {
  const std::lock_guard lock(lock_);
  for (Slot &slot : slots_) {
    for (const Conflict &conflict : conflicts) {
      if (slot.read.event == conflict.event) slot.read.cover = stream;
      if (slot.write.event == conflict.event) slot.write.cover = stream;
    }
  }
}

void Uses::sum_up() noexcept {
  any_captured_.store(!captured_.empty(), std::memory_order_release);
  any_.store(!slots_.empty() || !captured_.empty(), std::memory_order_release);
}

void Uses::sum_up_told() noexcept {
  std::uint64_t told = 0;
  for (const Own &it : own_) {
    if (!it.is_told()) continue;
    told = told != 0 || it.stream.is_default() ? several_told : it.stream.value;
  }
  told_.store(told, std::memory_order_release);
}

void Uses::prune(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
                 Ask ask) {
  std::vector<Event> asked;
  {
    const std::lock_guard lock(lock_);
    std::erase_if(slots_, [&](const Slot &slot) {
      return went_with_context(slot.last().event, context, context_id);
    });
    for (const Slot &slot : slots_) {
      const Event &last = slot.last().event;
      if (last.context_id() == context_id) asked.push_back(last);
    }
  }
  session.use_relaxed_mode();
  std::erase_if(asked, [&](const Event &event) { return !is_complete(session, event, ask); });
  const std::lock_guard lock(lock_);
  std::erase_if(slots_, [&](const Slot &slot) {
    return std::find(asked.begin(), asked.end(), slot.last().event) != asked.end();
  });
  sum_up();
}

std::size_t Uses::count() {
  const std::lock_guard lock(lock_);
  const auto others = std::count_if(own_.begin(), own_.end(),
                                    [](const Own &it) { return it.is_unkept() || it.lost; });
  return slots_.size() + static_cast<std::size_t>(others);
}

// Another thread's 2 cannot be named here. Stream 1, which can, comes after it.
Stream Uses::stream_to_name(const Own &own) noexcept {
  Stream stream = own.stream;
  if (own.thread && own.thread != this_thread()) stream.value = driver::stream_legacy;
  return stream;
}

Uses::Recorded Uses::keep_pending(driver::Session &session, Own &on) noexcept {
  bool captured = false;
  Stream stream = stream_to_name(on);
  const cai_status status = guard(nullptr, [&] {
    probe(session, stream);
    captured = bool(stream.capture);
    if (captured) return;
    const Event event = Event::record(session, stream);
    this->keep(session, stream, event, true, {});
    trace::edge({-1}, trace::owner(owner), trace::stream(stream.value),
                "kept: event recorded (uses were in order with that stream)");
  });
  if (captured || status == CAI_ERR_CAPTURE) return Recorded::not_now;
  if (status == CAI_OK) return Recorded::yes;
  static_cast<void>(guard(nullptr, [&] { identify(session, stream); }));
  if (has_gone(session, stream.context)) return Recorded::yes;
  on.stream.context = stream.context;
  on.stream.context_id = stream.context_id;
  return status == CAI_ERR_MEMORY ? Recorded::no_memory : Recorded::never;
}

bool Uses::keep_marked(driver::Session &session, std::uint64_t except, Owner owner_is) noexcept {
  bool all_known = true;
  Reading reading;  // who withdraws a stream may destroy it
  reading.enter();
  // From the end: others may add to the list in between, and erase.
  for (std::size_t i = SIZE_MAX;;) {
    Own it;
    {
      const std::lock_guard lock(lock_);
      i = std::min(i, own_.size());
      if (i-- == 0) return all_known;
      if (except && own_[i].stream.value == except) own_[i].marked = false;
      it = own_[i];
      if (!it.marked || (owner_is == Owner::held && it.is_told())) continue;
      start_keeping(own_[i], owner_is == Owner::held);
    }
    const Recorded recorded = keep_pending(session, it);
    all_known = all_known && (recorded == Recorded::yes || recorded == Recorded::not_now);
    const std::lock_guard lock(lock_);
    Own *const found = find_own(it.stream, it.thread);
    if (!found || found->being_kept == 0) continue;  // the memory was freed meanwhile
    --found->being_kept;
    if (recorded == Recorded::yes) continue;
    found->covered = false;
    if (recorded == Recorded::not_now) {
      found->marked = true;
    } else {
      found->stream = it.stream;
      lose(*found);
    }
  }
}

void Uses::say_first(std::uint64_t first) noexcept {
  const std::lock_guard lock(lock_);
  if (!first_) first_ = first;
}

bool Uses::is_first(std::uint64_t stream) {
  const std::lock_guard lock(lock_);
  return !first_ || first_ == stream;
}

void Uses::free_on(const Stream &stream) {
  const std::lock_guard lock(lock_);
  own(stream).freed_on = true;
}

void Uses::lose(const Stream &stream) {
  const std::lock_guard lock(lock_);
  Own &it = own(stream);
  it.stream = stream;
  lose(it);
}

void Uses::forget() noexcept {
  const std::lock_guard lock(lock_);
  slots_.clear();
  for (Own &it : own_) {
    it.marked = it.adopted = false;
    it.lost = 0;
  }
  marked_handle_.store(0, std::memory_order_relaxed);
  sum_up();
}

void Uses::identify_marked(driver::Session &session) noexcept {
  // Only this thread changes the list now, but threads with other imports read it.
  for (Own &it : own_) {
    if (!it.marked) continue;
    Stream stream = it.stream;
    static_cast<void>(guard(nullptr, [&] { identify(session, stream); }));
    const std::lock_guard lock(lock_);
    it.stream = stream;
  }
}

void Uses::lose_marked() noexcept {
  const std::lock_guard lock(lock_);
  for (Own &it : own_) {
    if (it.marked) lose(it);
    it.marked = false;
  }
}

bool Uses::is_lost_anywhere() const noexcept {
  return std::any_of(own_.begin(), own_.end(),
                     [](const Own &it) { return it.lost && !it.stream.context; });
}

void Uses::find_lost() noexcept {
  const std::lock_guard lock(lock_);
  find_lost([](const Own &it) { return !it.stream.context; });
}

void Uses::find_lost_in(driver::Session &session, driver::CUcontext context,
                        std::uint64_t context_id, bool waits) {
  const auto is_there = [&](const Own &it) { return it.lost && it.stream.context == context; };
  std::uint64_t over = 0;  // what is lost while the host waits comes later
  {
    const std::lock_guard lock(lock_);
    if (waits && std::any_of(own_.begin(), own_.end(), is_there)) over = losses_;
  }
  if (over != 0 && !wait_for_context(session)) over = 0;
  const std::lock_guard lock(lock_);
  find_lost([&](const Own &it) {
    const std::uint64_t id = it.stream.context_id;
    return is_there(it) && (it.lost <= over || (id && id != context_id));
  });
}

template <class IsOver>
void Uses::find_lost(const IsOver &is_over) noexcept {
  for (auto it = own_.begin(); it != own_.end();) {
    const bool is_found = it->lost && is_over(*it);
    if (is_found) it->lost = 0;
    // The stream may have been destroyed. Then it must not be queried, unless the memory is freed
    // there.
    const bool is_in_use = it->freed_on || it->is_told() || it->has_mark();
    it = is_found && !is_in_use ? own_.erase(it) : it + 1;
  }
}

std::uint64_t Uses::forget_marks(std::uint64_t freed_on, bool differ) noexcept {
  const std::uint64_t stream = freed_on ? freed_on : first_.value_or(0);
  if (stream == 0 && (first_ || differ)) return 0;
  for (Own &it : own_) {
    if ((stream == 0 || it.stream.value == stream) && !it.outlives) it.marked = false;
  }
  return stream;
}

void Uses::free_in_order(std::uint64_t freed_on, bool differ) noexcept {
  const std::lock_guard lock(lock_);
  const std::uint64_t stream = forget_marks(freed_on, differ);
  if (stream == 0) return;
  std::erase_if(slots_, [&](const Slot &slot) { return slot.last().cover.value == stream; });
}

bool Uses::is_any_captured(driver::Session &session) noexcept {
  return std::any_of(own_.begin(), own_.end(), [&](const Own &it) {
    // Other streams may have been destroyed.
    if (!it.freed_on || (it.thread && it.thread != this_thread())) return false;
    Stream stream = it.stream;
    return is_captured(session, stream);
  });
}

bool Uses::is_freed_on_this_thread() const noexcept {
  return std::any_of(own_.begin(), own_.end(), [](const Own &it) {
    return it.freed_on && it.thread && it.thread == this_thread();
  });
}

bool Uses::pending() const noexcept {
  return !slots_.empty() ||
         std::any_of(own_.begin(), own_.end(), [](const Own &it) { return it.marked || it.lost; });
}

bool Uses::pending_in(driver::CUcontext context) const noexcept {
  return std::any_of(slots_.begin(), slots_.end(),
                     [&](const Slot &slot) { return slot.last().event.context() == context; }) ||
         std::any_of(own_.begin(), own_.end(),
                     [&](const Own &it) { return it.lost && it.stream.context == context; });
}

void Uses::settle(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
                  Ask ask) noexcept {
  find_lost_in(session, context, context_id, ask == Ask::and_wait);
  // Only this thread changes the list now, but threads with other imports read it.
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    const Event &event = slot->last().event;
    const bool is_over = event.context() == context &&
                         (event.context_id() != context_id || is_complete(session, event, ask));
    if (!is_over) {
      ++slot;
      continue;
    }
    const std::lock_guard lock(lock_);
    slot = slots_.erase(slot);
  }
}

}  // namespace cai::order
