// SPDX-License-Identifier: BSD-3-Clause
#include "order/uses.hpp"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <memory>

#include "core/owned.hpp"

namespace cai::order {
namespace {

// Beyond so many streams it pays to ask which ones are done.
constexpr std::size_t slots_many = 8;

// Whether what an event was recorded after is complete, or will never be: what does not say that
// its context has gone says nothing of the event.
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
  driver::CUcontext current = nullptr;  // if there is none, that may be all that is amiss
  return cu.cuCtxGetCurrent(&current) == driver::success && current;
}

}  // namespace

Uses &make_uses(cai_owner *owner) {
  auto made = std::make_unique<Uses>();
  void *theirs = nullptr;
  const std::atomic_ref<void *> uses(owner->uses);
  if (uses.compare_exchange_strong(theirs, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *static_cast<Uses *>(theirs);
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
  if (cover.value != covering_.load(std::memory_order_relaxed)) sum_up();
  return slots_.size() > slots_many;
}

void Uses::keep_open(const Stream &stream) {
  const std::lock_guard lock(lock_);
  for (const Open &other : open_) {
    if (same(stream, other.stream)) return;
  }
  open_.push_back({stream, stream.key().thread});
  sum_up();
}

void Uses::hold(Event event) {
  const std::lock_guard lock(lock_);
  held_.push_back(std::move(event));
}

void Uses::add_uncovered(bool write, std::uint64_t stream, std::uint64_t own, int32_t index,
                         Conflicts &out, Few<Stream> &streams) {
  const std::lock_guard lock(lock_);
  for (const Slot &slot : slots_) {
    const auto &[event, cover] = write ? slot.last() : slot.write;
    const bool is_handle = cover.value > driver::stream_per_thread;
    if (!event || (is_handle && (cover.value == stream || cover.value == own))) continue;
    out.add_unless({event, slot.user, cover, index},
                   [&](const Conflict &other) { return other.event == event; });
  }
  for (const Open &open : open_) {
    if (open.stream.value == stream && stream > driver::stream_per_thread) continue;
    if (open.thread && open.thread != this_thread()) {
      throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM, index},
                    "the array was published with stream 2 of thread %" PRIu64
                    ", where others may work on it, and which means another one here",
                    open.thread);
    }
    Stream stream_of = open.stream;
    stream_of.index = index;
    streams.add_unless(stream_of, [&](const Stream &other) { return same(open.stream, other); });
  }
}

bool Uses::any() {
  const std::lock_guard lock(lock_);
  return !slots_.empty() || !open_.empty();
}

bool Uses::any_uncovered(std::uint64_t own) {
  const std::lock_guard lock(lock_);
  const auto is_own = [own](std::uint64_t value) { return own != 0 && value == own; };
  return std::any_of(open_.begin(), open_.end(),
                     [&](const Open &open) { return !is_own(open.stream.value); }) ||
         std::any_of(slots_.begin(), slots_.end(),
                     [&](const Slot &slot) { return !is_own(slot.last().cover.value); });
}

void Uses::cover(Conflicts &conflicts, const Stream &stream) {
  const std::lock_guard lock(lock_);
  for (Slot &slot : slots_) {
    for (const Conflict &conflict : conflicts) {
      if (slot.read.event == conflict.event) slot.read.cover = Cover::by(stream);
      if (slot.write.event == conflict.event) slot.write.cover = Cover::by(stream);
    }
  }
  sum_up();
}

void Uses::sum_up() noexcept {
  const std::uint64_t first = slots_.empty() ? 0 : slots_.front().last().cover.value;
  bool alone = first > driver::stream_per_thread && open_.empty();
  for (const Slot &slot : slots_) {
    for (const Kept *const kept : {&slot.write, &slot.read}) {
      if (kept->event && kept->cover.value != first) alone = false;
    }
  }
  const bool one_handle = open_.size() == 1 && !open_.front().stream.is_default();
  open_handle_.store(open_.empty() ? 0
                     : one_handle  ? open_.front().stream.value
                                   : no_handle,
                     std::memory_order_release);
  covering_.store(alone ? first : 0, std::memory_order_release);
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
  session.relax();
  std::erase_if(asked, [&](const Event &event) { return !is_complete(session, event, ask); });
  const std::lock_guard lock(lock_);
  std::erase_if(slots_, [&](const Slot &slot) {
    return std::find(asked.begin(), asked.end(), slot.last().event) != asked.end();
  });
  sum_up();
}

std::size_t Uses::count() {
  const std::lock_guard lock(lock_);
  return slots_.size();
}

bool Uses::pending() const noexcept {
  return !slots_.empty();
}

bool Uses::pending_in(driver::CUcontext context) const noexcept {
  return std::any_of(slots_.begin(), slots_.end(),
                     [&](const Slot &slot) { return slot.last().event.context() == context; });
}

void Uses::settle(driver::Session &session, driver::CUcontext context, std::uint64_t context_id,
                  Ask ask) noexcept {
  std::erase_if(slots_, [&](const Slot &slot) {
    const Event &event = slot.last().event;
    if (event.context() != context) return false;
    return event.context_id() != context_id || is_complete(session, event, ask);
  });
}

}  // namespace cai::order
