// SPDX-License-Identifier: BSD-3-Clause
#include "device/pending.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cai/memory.h"
#include "core/error.hpp"
#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "core/report.hpp"
#include "device/current.hpp"
#include "device/primary.hpp"
#include "device/queue.hpp"
#include "device/slots.hpp"
#include "driver/host_function.hpp"
#include "order/running.hpp"

namespace cai::device {
namespace {

// ---- Limits, from the environment ---------------------------------------------------------------

// The value of a variable; `usual` if it is unset or empty.
template <class Number>
Number number_of(const char *name, Number usual) {
  const char *const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): once, and early
  if (!text || !*text) return usual;
  Number value{};
  const std::string_view all(text);
  const auto [end, failed] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (failed == std::errc{} && end == all.data() + all.size() && std::isfinite(double(value)) &&
      value >= 0) {
    return value;
  }
  throw Failure(CAI_ERR_ARGUMENT, {},
                "the environment has %s=%.80s, which is not a number of 0 or more", name, text);
}

struct Limits {
  // Above this, frees what needs no wait.
  const int64_t count = number_of<int64_t>("CAI_MAX_PENDING_DEALLOCS_COUNT", 10);
  // Of the device's memory: above this, frees all.
  const double ratio = number_of<double>("CAI_MAX_PENDING_DEALLOCS_RATIO", 0.2);

  static const Limits &get() { return immortal<Limits>(); }

  // For callers that cannot fail: the usual ones if the environment has an invalid one.
  static Limits or_usual() noexcept {
    try {
      return get();
    } catch (const Failure &) {
      return {10, 0.2};
    }
  }
};

// ---- What is pending on a device ----------------------------------------------------------------

// A pending free: freed by `free` or `destroy`. If the GPU's primary context is no longer that of
// the epoch, `forget`, which may be null, is called instead: handles and addresses recur.
struct Item {
  Free free;
  void (*destroy)(void *object);
  void (*forget)(void *context);
  void *context;
  uint64_t epoch;
  uint64_t bytes = 0;
  order::Event after{};  // waited for first
  bool is_own = false;   // `free` calls the driver alone

  // A small free costs more than its bytes, here and in the driver, so many of them must not
  // accumulate.
  uint64_t weight() const noexcept { return std::max(bytes, uint64_t{1} << 16); }
};

Item item_of(const PendingFree &free) {
  return {free.free, nullptr, free.forget, free.context, free.epoch, free.bytes, free.after, true};
}

// In parts that never move, so that adding an item takes constant time.
class Items {
 public:
  void add(Item &&item) {
    if (parts_.empty() || parts_.back().size() == part_size) {
      std::vector<Item> part;
      if (!parts_.empty()) part.reserve(part_size);
      parts_.push_back(std::move(part));
    }
    parts_.back().push_back(std::move(item));
  }
  std::size_t size() const noexcept {
    return parts_.empty() ? 0 : (parts_.size() - 1) * part_size + parts_.back().size();
  }
  // At least this many items fit without an allocation.
  std::size_t places() const noexcept { return parts_.empty() ? 0 : parts_.front().capacity(); }
  // Keeps the memory of the first part.
  void clear() noexcept {
    if (parts_.empty()) return;
    parts_.erase(parts_.begin() + 1, parts_.end());
    parts_.front().clear();
  }
  template <class Body>
  void for_each(Body &&body) {
    for (auto &part : parts_) std::for_each(part.begin(), part.end(), body);
  }

 private:
  static constexpr std::size_t part_size = 1024;
  std::vector<std::vector<Item>> parts_;
};

enum class Flush {
  objects,      // only those that need not wait
  if_idle,      // frees, too, if the host need not wait
  all,          // frees, even if the host must wait
  if_deferred,  // the same, although it is deferred
};

// The pending items, and memory for later ones.
struct List {
  Items items;
  Items spare;  // memory to use again

  Items take() noexcept { return std::exchange(items, std::exchange(spare, {})); }
  void keep_memory(Items &taken) noexcept {
    if (taken.places() > spare.places()) std::swap(spare, taken);
  }
};

struct Slot {
  GlobalLock mutex;  // guards only the fields
  List objects;      // streams and events, which are destroyed without a wait
  List frees;        // frees: the driver waits for the device before it frees memory
  uint64_t bytes = 0;
  uint64_t weight = 0;
  uint64_t looks_at = 0;              // the number of frees at which to look again
  uint32_t deferred = 0;              // deferrals that are open
  std::atomic<uint64_t> capacity{0};  // of the device; 0: not queried yet

  uint64_t count() const noexcept { return objects.items.size() + frees.items.size(); }

  void add(Item &&item) {
    const uint64_t its_bytes = item.bytes, its_weight = item.destroy ? 0 : item.weight();
    (item.destroy ? objects : frees).items.add(std::move(item));
    bytes += its_bytes;
    weight += its_weight;
  }

  Items take_frees() noexcept {
    bytes = weight = looks_at = 0;
    return frees.take();
  }

  // Not at each free: to query a busy device takes time.
  void look_later(const Limits &limits) noexcept {
    const uint64_t size = frees.items.size();
    looks_at = size + std::max(static_cast<uint64_t>(limits.count), size / 8);
  }

  bool looks(uint64_t size, const Limits &limits) const noexcept {
    return deferred == 0 && size > std::max(static_cast<uint64_t>(limits.count), looks_at);
  }

  std::optional<Flush> due(const Limits &limits, bool may_look) const noexcept {
    if (deferred) return std::nullopt;
    const double most = limits.ratio * static_cast<double>(capacity.load());
    if (static_cast<double>(weight) > std::floor(most)) return Flush::all;
    if (may_look && looks(frees.items.size(), limits)) return Flush::if_idle;
    const bool many = objects.items.size() > static_cast<uint64_t>(limits.count);
    return many ? std::optional(Flush::objects) : std::nullopt;
  }
};

Slot &slot_of(cai_device device) {
  // Never destroyed: memory may be freed as late as the process ends.
  auto &slots = immortal<std::array<Slot, most_devices + 1>>();
  return slots[slot_index(device)];
}

// Runs `body(session)` with the GPU's primary context current; for the CPU, `body(nullptr)`.
template <class Body>
void within(cai_device device, Body &&body) {
  if (device.type == CAI_DEVICE_CPU) return body(nullptr);
  driver::Session session;
  const driver::CUcontext context = primary(session, device.id).context;
  session.in(context, [&] { body(&session); });
  session.finish();
}

uint64_t memory_of_machine() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
}

void ask_capacity(cai_device device, Slot &slot) {
  if (slot.capacity.load(std::memory_order_relaxed)) return;
  uint64_t total = 0;
  if (device.type == CAI_DEVICE_CPU) {
    total = memory_of_machine();
  } else {
    driver::Session session;
    std::size_t bytes = 0;
    driver::call(session.cu.cuDeviceTotalMem, &bytes, primary(session, device.id).device);
    session.finish();
    total = bytes;
  }
  slot.capacity.store(total);
}

bool is_capturing(const driver::Driver &cu, std::uint64_t stream) {
  driver::CUstreamCaptureStatus status = driver::capture_none;
  const driver::CUresult result = cu.cuStreamGetCaptureInfo(driver::stream_handle(stream), &status,
                                                            nullptr, nullptr, nullptr, nullptr);
  if (result == driver::error_capture_implicit) return true;
  if (result == driver::success) return status != driver::capture_none;
  throw Failure(driver::failure_of(cu.cuStreamGetCaptureInfo.name, result));
}

// The streams that libcai looks at for work: the default ones, which stand for the blocking ones,
// and this thread's current stream, or the first one again.
std::array<std::uint64_t, 3> streams_in_sight(cai_device device) {
  constexpr std::uint64_t legacy = driver::stream_legacy;
  const HeldStream current = current_stream_if_any(device);
  const std::uint64_t stream = cai_stream_value(current.get());
  if (stream <= driver::stream_per_thread) return {legacy, driver::stream_per_thread, legacy};
  try {
    current.get()->require_alive();
  } catch (const Failure &) {  // nothing is on it any more
    return {legacy, driver::stream_per_thread, legacy};
  }
  return {legacy, driver::stream_per_thread, stream};
}

// Whether this thread captures, or a blocking stream of the context does.
bool is_capturing(const driver::Driver &cu, cai_device device) {
  const auto streams = streams_in_sight(device);
  return std::any_of(streams.begin(), streams.end(),
                     [&](std::uint64_t stream) { return is_capturing(cu, stream); });
}

// A failure counts as ready: the free that follows reports it.
bool is_ready(driver::CUresult answer) noexcept {
  return answer != driver::error_not_ready;
}

bool is_idle(const driver::Driver &cu, std::uint64_t stream) noexcept {
  return is_ready(cu.cuStreamQuery(driver::stream_handle(stream)));
}

// Whether a free need not wait for the device, as far as the caller's stream shows. No other one is
// asked: a capture that another thread begins there would be harmed. 0: the stream is not known.
bool is_idle(const driver::Driver &cu, cai_device device, std::uint64_t stream) {
  if (stream) return !is_capturing(cu, stream) && is_idle(cu, stream);
  const auto streams = streams_in_sight(device);
  return std::all_of(streams.begin(), streams.end(),
                     [&](std::uint64_t each) { return is_idle(cu, each); });
}

bool has_to_wait(const driver::Driver &cu, cai_device device, const Item &item) noexcept {
  return item.after && item.epoch == epoch_of(device) &&
         !is_ready(cu.cuEventQuery(item.after.handle()));
}

// `failed` keeps the first failure.
void free_one(cai_device device, const Item &item, driver::Faults &failed) noexcept {
  if (item.epoch != epoch_of(device)) {
    if (item.forget) item.forget(item.context);
    return;
  }
  if (item.destroy) return item.destroy(item.context);
  if (item.after) failed.attempt(driver::get().cuEventSynchronize, item.after.handle());
  cai_error error;
  error.status = CAI_OK;
  const cai_status status = item.free(item.context, &error);
  if (status == CAI_OK) return;
  if (error.status == CAI_OK) {
    fail(&error, status, {}, "a pending free returned %s", cai_status_name(status));
  }
  failed.note(error);
}

// Runs `body`, which frees. Throws CAI_ERR_CAPTURE if memory cannot be freed now.
template <class Body>
void unless_captured(cai_device device, Body &&body) {
  within(device, [&](driver::Session *session) {
    if (session) {
      if (is_capturing(session->cu, device)) {
        throw Failure(CAI_ERR_CAPTURE, {},
                      "a stream of %s is being captured into a graph: nothing is freed now",
                      Text(device).text);
      }
      session->use_relaxed_mode();
    }
    body(session);
  });
}

// Frees that are taken from a slot: first libcai's own, for which another thread may wait.
class Taken {
 public:
  explicit Taken(Slot &slot) {
    const std::lock_guard lock(slot.mutex);
    items_ = slot.take_frees();
  }

  template <class Body>
  void for_each(Body &&body) {
    items_.for_each([&](Item &item) {
      if (item.is_own) body(item);
    });
    own_.reset();
    items_.for_each([&](Item &item) {
      if (!item.is_own) body(item);
    });
    items_.clear();
  }
  Items &items() noexcept { return items_; }

 private:
  std::optional<order::Running> own_{order::Runs::own_free};
  Items items_;
};

void end_objects(cai_device device, Slot &slot, driver::Faults &failed) noexcept {
  Items objects;
  {
    const std::lock_guard lock(slot.mutex);
    objects = slot.objects.take();
  }
  objects.for_each([&](const Item &item) { free_one(device, item, failed); });
  objects.clear();
  const std::lock_guard lock(slot.mutex);
  slot.objects.keep_memory(objects);
}

// Keeps those that must wait for their event.
void end_frees_that_are_due(const driver::Driver &cu, cai_device device, Slot &slot,
                            std::uint64_t stream, driver::Faults &failed) {
  if (!is_idle(cu, device, stream)) {
    const std::lock_guard lock(slot.mutex);
    return slot.look_later(Limits::get());
  }
  Taken frees(slot);
  frees.for_each([&](Item &item) {
    if (!has_to_wait(cu, device, item)) return free_one(device, item, failed);
    const cai_status kept = guard(nullptr, [&] {
      const std::lock_guard lock(slot.mutex);
      slot.add(std::move(item));
    });
    if (kept != CAI_OK) free_one(device, item, failed);
  });
  const std::lock_guard lock(slot.mutex);
  slot.frees.keep_memory(frees.items());
  if (slot.frees.items.size()) slot.look_later(Limits::get());
}

void end_frees(cai_device device, Slot &slot, driver::Faults &failed) noexcept {
  Taken frees(slot);
  frees.for_each([&](const Item &item) { free_one(device, item, failed); });
  const std::lock_guard lock(slot.mutex);
  slot.frees.keep_memory(frees.items());
}

// Frees what is pending. `stream`, for if_idle, is the one that the caller works on, or 0. Throws
// CAI_ERR_CAPTURE if memory cannot be freed now; notes failures of the frees. Returns whether there
// was anything to free.
bool flush(cai_device device, Flush which, driver::Faults &failed, std::uint64_t stream = 0) {
  Slot &slot = slot_of(device);
  {
    const std::lock_guard lock(slot.mutex);
    if (slot.count() == 0 || (slot.deferred && which != Flush::if_deferred)) return false;
  }
  const order::Running running(order::Runs::end);
  unless_captured(device, [&](driver::Session *session) {
    end_objects(device, slot, failed);
    if (which == Flush::objects) return;
    if (which == Flush::if_idle && session) {
      return end_frees_that_are_due(session->cu, device, slot, stream, failed);
    }
    end_frees(device, slot, failed);
  });
  return true;
}

// The same for callers that do not use the result.
bool flush_and_report(cai_device device, Flush which, std::uint64_t stream = 0) noexcept {
  if (driver::InHostFunction::is_here()) return false;
  // A program does not know when the thread of a CPU stream would ask.
  if (which == Flush::if_idle && Queue::is_any_here()) return false;
  driver::Faults failed;
  bool freed = false;
  try {
    freed = flush(device, which, failed, stream);
  } catch (const Failure &failure) {
    if (failure.error().status != CAI_ERR_CAPTURE) failed.note(failure.error());
  } catch (const std::bad_alloc &) {  // NOLINT(bugprone-empty-catch): it stays pending
  }
  if (const cai_error *const first = failed.first()) report(*first);
  return freed;
}

// Takes the item only if it does not throw. A caller that has just recorded an event has already
// looked for idle frees; one that destroys an object has nothing to do with the streams that a look
// would ask.
void add(cai_device device, Item &&item, const Limits &limits) {
  Slot &slot = slot_of(device);
  if (!driver::InHostFunction::is_here()) ask_capacity(device, slot);
  const bool may_look = !item.destroy && !item.after;
  std::optional<Flush> due;
  {
    const std::lock_guard lock(slot.mutex);
    slot.add(std::move(item));
    due = slot.due(limits, may_look);
  }
  if (due) flush_and_report(device, *due);
}

}  // namespace

void require_pending_limits() {
  (void)Limits::get();
}

void pend(cai_device device, const PendingFree &free) {
  Item item = item_of(free);
  try {
    return add(device, std::move(item), Limits::get());
  } catch (const std::bad_alloc &) {  // NOLINT(bugprone-empty-catch): see below
  }
  // There is no memory to defer it, so it is freed now, even if the host must wait.
  driver::Faults failed;
  bool freed = false;
  try {
    unless_captured(device, [&](driver::Session *) {
      freed = true;
      free_one(device, item, failed);
    });
  } catch (const Failure &failure) {
    if (!freed) throw;
    failed.note(failure.error());
  }
  if (const cai_error *const first = failed.first()) report(*first);
}

// NOLINTNEXTLINE(bugprone-exception-escape): what is pending comes from who has read the limits
void look_at_pending(cai_device device, std::uint64_t stream) noexcept {
  Slot &slot = slot_of(device);
  {
    const std::lock_guard lock(slot.mutex);
    if (!slot.looks(slot.frees.items.size() + 1, Limits::get())) return;
  }
  flush_and_report(device, Flush::if_idle, stream);
}

bool make_room(cai_device device) noexcept {
  const bool has_freed = flush_and_report(device, Flush::all);
  if (!order::await_running(order::Runs::own_free)) return has_freed;
  flush_and_report(device, Flush::all);  // a thread that only looked has put the others back
  return true;
}

void flush_before_reset(cai_device device) noexcept {
  flush_and_report(device, Flush::if_deferred);
  if (!order::await_running(order::Runs::end)) return;
  flush_and_report(device, Flush::if_deferred);  // what others have put back, or added
}

void forget_pending(cai_device device) noexcept {
  Slot &slot = slot_of(device);
  driver::Faults failed;
  const order::Running running(order::Runs::end);
  end_objects(device, slot, failed);
  end_frees(device, slot, failed);
}

void destroy_later(int32_t ordinal, void (*destroy)(void *object), void *object,
                   void (*forget)(void *object)) noexcept {
  cai_error error;
  const cai_status status = guard(&error, [&] {
    const cai_device device{CAI_DEVICE_CUDA, ordinal};
    add(device, {nullptr, destroy, forget, object, epoch_of(device)}, Limits::or_usual());
  });
  if (status == CAI_OK) return;
  // The driver must not be called there: without memory to note it, it never ends.
  driver::InHostFunction::is_here() ? report(error) : destroy(object);
}

void flush_pending(cai_device device, driver::Faults &failed) {
  flush(device, Flush::all, failed);
}

void begin_deferring(cai_device device) noexcept {
  Slot &slot = slot_of(device);
  const std::lock_guard lock(slot.mutex);
  ++slot.deferred;
}

void end_deferring(cai_device device) noexcept {
  Slot &slot = slot_of(device);
  const std::lock_guard lock(slot.mutex);
  --slot.deferred;
}

PendingCounts pending_of(cai_device device) {
  require_slot(device);
  Slot &slot = slot_of(device);
  const std::lock_guard lock(slot.mutex);
  return {slot.bytes, slot.count(), slot.deferred};
}

}  // namespace cai::device

using namespace cai;

cai_status cai_pending_add(cai_device device, uint64_t bytes,
                           cai_status (*free)(void *context, cai_error *error), void *context,
                           cai_error *error) {
  return guard(error, [&] {
    if (!free) throw Failure(CAI_ERR_ARGUMENT, {}, "free is NULL");
    device::require_slot(device);
    device::add(device, {free, nullptr, nullptr, context, device::epoch_of(device), bytes},
                device::Limits::get());
  });
}
