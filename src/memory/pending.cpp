// SPDX-License-Identifier: BSD-3-Clause
#include "memory/pending.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/immortal.hpp"
#include "core/report.hpp"
#include "device/current.hpp"
#include "device/pending_hook.hpp"
#include "device/primary.hpp"
#include "device/reset.hpp"
#include "memory/manager.hpp"
#include "memory/slots.hpp"

namespace cai::memory {
namespace {

// ---- Limits, from the environment ---------------------------------------------------------------

// What a variable says; `usual` if it is not set, or empty.
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
  throw Failure(CAI_ERR_ARGUMENT, {}, "the environment has %s=%.80s, which is no number from 0 on",
                name, text);
}

struct Limits {
  int64_t count;
  double ratio;  // of the device's memory

  static const Limits &get() {
    static const Limits limits{number_of<int64_t>("CAI_MAX_PENDING_DEALLOCS_COUNT", 10),
                               number_of<double>("CAI_MAX_PENDING_DEALLOCS_RATIO", 0.2)};
    return limits;
  }
};

// ---- What is pending on a device ----------------------------------------------------------------

// Freed by one of the first two functions; forgotten by the third, which may be null, once the
// GPU's primary context is not that of the epoch any more: its handles and addresses recur.
struct Item {
  Free free;
  void (*destroy)(void *object);
  void (*forget)(void *context);
  void *context;
  uint64_t epoch;
};

uint64_t epoch_of(cai_device device) noexcept {
  return device.type == CAI_DEVICE_CPU ? 0 : device::epoch_of(device.id);
}

// In parts, none of which ever moves: to add one takes no longer after a million others.
class Items {
 public:
  void add(const Item &item) {
    if (parts_.empty() || parts_.back().size() == part_size) {
      std::vector<Item> part;
      if (!parts_.empty()) part.reserve(part_size);
      parts_.push_back(std::move(part));
    }
    parts_.back().push_back(item);
  }
  std::size_t size() const noexcept {
    return parts_.empty() ? 0 : (parts_.size() - 1) * part_size + parts_.back().size();
  }
  // So many there are places for, in any case.
  std::size_t places() const noexcept { return parts_.empty() ? 0 : parts_.front().capacity(); }
  // Keeps the first part's memory.
  void clear() noexcept {
    if (parts_.empty()) return;
    parts_.erase(parts_.begin() + 1, parts_.end());
    parts_.front().clear();
  }
  template <class Body>
  void for_each(Body &&body) const {
    for (const auto &part : parts_) std::for_each(part.begin(), part.end(), body);
  }

 private:
  static constexpr std::size_t part_size = 1024;
  std::vector<std::vector<Item>> parts_;
};

// A manager that knows of so many deferrals.
struct Told {
  Held manager;
  uint32_t count;
};

struct Slot {
  std::mutex mutex;  // for the fields alone
  Items items;
  Items spare;  // its memory serves the next ones
  uint64_t bytes = 0;
  uint32_t deferred = 0;              // calls of cai_pending_defer() that are open
  std::vector<Told> told;             // the managers that were told of them
  std::atomic<uint64_t> capacity{0};  // of the device; 0: not asked yet

  bool too_many(const Limits &limits) const noexcept {
    const double most = limits.ratio * static_cast<double>(capacity.load());
    return items.size() > static_cast<uint64_t>(limits.count) ||
           static_cast<double>(bytes) > std::floor(most);
  }
};

Slot &slot_of(cai_device device) {
  // Never destroyed: memory is given back until the very end of the process.
  auto &slots = immortal<std::array<Slot, most_devices + 1>>();
  return slots[device.type == CAI_DEVICE_CPU ? most_devices : static_cast<std::size_t>(device.id)];
}

// Runs `body(session)` with the GPU's primary context current, or, of the CPU, `body(nullptr)`.
template <class Body>
void within(cai_device device, Body &&body) {
  if (device.type == CAI_DEVICE_CPU) return body(nullptr);
  driver::Session session;
  const driver::CUcontext context = device::primary(session, device.id).context;
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
    must(session.cu.cuDeviceTotalMem, &bytes, device::primary(session, device.id).device);
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

// Whether this thread captures, as far as anybody can see: its current stream, one of the default
// streams, or a blocking stream of the context.
bool is_capturing(const driver::Driver &cu, cai_device device) {
  if (is_capturing(cu, driver::stream_legacy) || is_capturing(cu, driver::stream_per_thread)) {
    return true;
  }
  const device::Held current = device::current_stream_if_any(device);
  const std::uint64_t stream = cai_stream_value(current.get());
  if (stream <= driver::stream_per_thread) return false;
  try {
    current.get()->check_alive();
  } catch (const Failure &) {
    return false;
  }
  return is_capturing(cu, stream);
}

Items take(Slot &slot) {
  const std::lock_guard lock(slot.mutex);
  Items taken = std::move(slot.items);
  slot.items = std::move(slot.spare);
  slot.bytes = 0;
  return taken;
}

void keep_memory(Slot &slot, Items &&items) noexcept {
  items.clear();
  const std::lock_guard lock(slot.mutex);
  if (items.places() > slot.spare.places()) std::swap(slot.spare, items);
}

// `failed` keeps the first failure.
void free_one(cai_device device, const Item &item, driver::Faults &failed) noexcept {
  if (item.epoch != epoch_of(device)) {
    if (item.forget) item.forget(item.context);
    return;
  }
  if (item.destroy) return item.destroy(item.context);
  cai_error error;
  error.status = CAI_OK;
  const cai_status status = item.free(item.context, &error);
  if (status == CAI_OK) return;
  if (error.status == CAI_OK) {
    fail(&error, status, {}, "a pending free says %s", cai_status_name(status));
  }
  failed.note(error);
}

// Runs `body`, which frees. Throws CAI_ERR_CAPTURE where that is not allowed now.
template <class Body>
void unless_captured(cai_device device, Body &&body) {
  within(device, [&](driver::Session *session) {
    if (session) {
      if (is_capturing(session->cu, device)) {
        throw Failure(CAI_ERR_CAPTURE, {},
                      "a stream of %s is being captured into a graph: nothing is freed now",
                      device::Text(device).text);
      }
      session->relax();
    }
    body();
  });
}

enum class Flush { if_not_deferred, in_any_case };

// Frees what is pending. Throws CAI_ERR_CAPTURE where that is not allowed now; failures of the
// frees are noted. Whether there was anything.
bool flush(cai_device device, Flush which, driver::Faults &failed) {
  Slot &slot = slot_of(device);
  {
    const std::lock_guard lock(slot.mutex);
    if (slot.items.size() == 0 || (slot.deferred && which == Flush::if_not_deferred)) return false;
  }
  unless_captured(device, [&] {
    Items items = take(slot);
    items.for_each([&](const Item &item) { free_one(device, item, failed); });
    keep_memory(slot, std::move(items));
  });
  return true;
}

// The same where nobody waits for the result.
bool flush_and_report(cai_device device, Flush which) noexcept {
  driver::Faults failed;
  bool freed = false;
  try {
    freed = flush(device, which, failed);
  } catch (const Failure &failure) {
    if (failure.error().status != CAI_ERR_CAPTURE) failed.note(failure.error());
  } catch (const std::bad_alloc &) {  // NOLINT(bugprone-empty-catch): it stays pending
  }
  if (const cai_error *const first = failed.first()) report(*first);
  return freed;
}

void add(cai_device device, uint64_t bytes, const Item &item) {
  const Limits &limits = Limits::get();
  Slot &slot = slot_of(device);
  ask_capacity(device, slot);
  {
    const std::lock_guard lock(slot.mutex);
    slot.items.add(item);
    slot.bytes += bytes;
    if (slot.deferred || !slot.too_many(limits)) return;
  }
  flush_and_report(device, Flush::if_not_deferred);
}

// Asks the manager, too, if it has a way of its own.
void tell(Manager &manager, int32_t enter) {
  if (!manager.is_alive()) return;
  manager.within([&] { manager.ask<&cai_manager_table::defer_cleanup>("defer_cleanup", enter); });
}

// A manager that knows of more deferrals than are open, by now of one less; null: none does.
Held take_told(Slot &slot) noexcept {
  const std::lock_guard lock(slot.mutex);
  const auto found = std::find_if(slot.told.begin(), slot.told.end(),
                                  [&](const Told &each) { return each.count > slot.deferred; });
  if (found == slot.told.end()) return {};
  if (--found->count != 0) return Held::one_more(found->manager.get());
  Held last = std::move(found->manager);
  slot.told.erase(found);
  return last;
}

void begin_deferring(cai_device device) {
  Held manager = manager_of(device);
  Slot &slot = slot_of(device);
  tell(*manager, 1);
  try {
    const std::lock_guard lock(slot.mutex);
    const auto known = std::find_if(slot.told.begin(), slot.told.end(), [&](const Told &each) {
      return each.manager.get() == manager.get();
    });
    if (known == slot.told.end()) {
      slot.told.push_back({Held::one_more(manager.get()), 1});
    } else {
      ++known->count;
    }
    ++slot.deferred;
  } catch (...) {
    tell(*manager, 0);
    throw;
  }
}

// An end does not say which beginning it is of. So a manager is told of it only if it knows of more
// deferrals than are open: nothing is freed before the last one that it was told of has ended.
void end_deferring(cai_device device) {
  Slot &slot = slot_of(device);
  {
    const std::lock_guard lock(slot.mutex);
    if (slot.deferred == 0) {
      throw Failure(CAI_ERR_STATE, {}, "nothing that is pending on %s is deferred",
                    device::Text(device).text);
    }
    --slot.deferred;
  }
  driver::Faults failed;
  while (const Held manager = take_told(slot)) {
    cai_error error;
    if (guard(&error, [&] { tell(*manager, 0); }) != CAI_OK) failed.note(error);
  }
  failed.raise();
}

}  // namespace

void check_pending_limits() {
  (void)Limits::get();
}

void pend(cai_device device, uint64_t epoch, uint64_t bytes, Free free, void *context,
          void (*forget)(void *context)) {
  const Item item{free, nullptr, forget, context, epoch};
  try {
    return add(device, bytes, item);
  } catch (const std::bad_alloc &) {  // NOLINT(bugprone-empty-catch): see below
  }
  // It cannot be remembered: it is freed now, even if the host has to wait.
  driver::Faults failed;
  bool freed = false;
  try {
    unless_captured(device, [&] {
      freed = true;
      free_one(device, item, failed);
    });
  } catch (const Failure &failure) {
    if (!freed) throw;
    failed.note(failure.error());
  }
  if (const cai_error *const first = failed.first()) report(*first);
}

bool relieve(cai_device device) noexcept {
  return flush_and_report(device, Flush::if_not_deferred);
}

void flush_before_reset(cai_device device) noexcept {
  flush_and_report(device, Flush::in_any_case);
}

void forget_pending(cai_device device) noexcept {
  Slot &slot = slot_of(device);
  Items items = take(slot);
  driver::Faults failed;
  items.for_each([&](const Item &item) { free_one(device, item, failed); });
  keep_memory(slot, std::move(items));
}

PendingCounts pending_of(cai_device device) {
  check_slot(device);
  Slot &slot = slot_of(device);
  const std::lock_guard lock(slot.mutex);
  return {slot.bytes, slot.items.size(), slot.deferred};
}

}  // namespace cai::memory

void cai::device::reset_memory(cai_device device) noexcept {
  memory::flush_before_reset(device);
  memory::reset_managers(device);
  memory::flush_before_reset(device);  // what the managers have given up
}

void cai::device::forget_memory(cai_device device) noexcept {
  memory::forget_pending(device);
}

bool cai::device::add_pending(int32_t ordinal, void (*destroy)(void *object),
                              void *object) noexcept {
  return guard(nullptr, [&] {
           const cai_device device{CAI_DEVICE_CUDA, ordinal};
           memory::add(device, 0, {nullptr, destroy, nullptr, object, memory::epoch_of(device)});
         }) == CAI_OK;
}

using namespace cai;

cai_status cai_pending_add(cai_device device, uint64_t bytes,
                           cai_status (*free)(void *context, cai_error *error), void *context,
                           cai_error *error) {
  return guard(error, [&] {
    if (!free) throw Failure(CAI_ERR_ARGUMENT, {}, "free is NULL");
    memory::check_slot(device);
    memory::add(device, bytes, {free, nullptr, nullptr, context, memory::epoch_of(device)});
  });
}

cai_status cai_pending_flush(cai_device device, cai_error *error) {
  return guard(error, [&] {
    memory::check_slot(device);
    driver::Faults failed;
    memory::flush(device, memory::Flush::if_not_deferred, failed);
    failed.raise();
  });
}

cai_status cai_pending_defer(cai_device device, int32_t defer, cai_error *error) {
  return guard(error, [&] {
    memory::check_slot(device);
    if (defer != 0 && defer != 1) {
      throw Failure(CAI_ERR_VALUE, {}, "defer is %d, and neither 0 nor 1", defer);
    }
    defer ? memory::begin_deferring(device) : memory::end_deferring(device);
  });
}
