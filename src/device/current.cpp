// SPDX-License-Identifier: BSD-3-Clause
#include "device/current.hpp"

#include <algorithm>
#include <vector>

#include "device/gpu_stream.hpp"
#include "order/above.hpp"
#include "order/owned.hpp"

namespace cai::device {
namespace {

struct Current {
  cai_device device;
  HeldStream stream;        // empty: a stream of the default mode, made when it is asked for
  std::uint64_t depth = 0;  // the number of guards that the thread has entered
};

class Currents {
 public:
  Currents() = default;
  Currents(const Currents &) = delete;
  Currents &operator=(const Currents &) = delete;
  // The thread ends, so the driver may not be called any more.
  ~Currents() {
    ended = true;
    for (Current &each : all_) release_quietly(each.stream.let_go());
  }

  Current *find(cai_device device) noexcept {
    for (Current &each : all_) {
      if (same(each.device, device)) return &each;
    }
    return nullptr;
  }

  Current &of(cai_device device) {
    if (Current *const found = find(device)) return *found;
    order::above.is_current_captured.store(is_any_captured_here, std::memory_order_release);
    return all_.emplace_back(Current{device, {}, 0});
  }

  bool is_any_captured(driver::Session &session) noexcept {
    return std::any_of(all_.begin(), all_.end(), [&](const Current &each) {
      if (!each.stream.get() || is_cpu(each.device) || is_dead(*each.stream.get())) return false;
      order::Stream stream = gpu_stream(*each.stream.get()).stream();
      cai_error error{};
      if (guard(&error, [&] { order::probe(session, stream); }) == CAI_OK) {
        return bool(stream.capture);
      }
      if (driver::says_gone(error.native)) return false;
      if (error.status != CAI_ERR_CAPTURE) session.faults.note(error);
      return true;  // as far as anybody knows
    });
  }

  static thread_local bool ended;  // thread-local objects that are destroyed later may still ask

 private:
  static bool is_any_captured_here(driver::Session &session) noexcept;

  std::vector<Current> all_;
};

thread_local bool Currents::ended = false;
thread_local Currents currents;

bool Currents::is_any_captured_here(driver::Session &session) noexcept {
  return !ended && currents.is_any_captured(session);
}

Currents &mine() {
  if (Currents::ended) {
    throw Failure(CAI_ERR_STATE, {},
                  "the thread is about to end, and has released its current streams: pass the "
                  "stream to each call that is to use it");
  }
  return currents;
}

void set_current(cai_stream *stream) {
  require_stream(stream);
  // Releasing the replaced stream may run foreign code that asks for the current stream.
  const HeldStream before =
      std::exchange(mine().of(stream->device).stream, HeldStream::one_more(stream));
}

cai_stream_guard enter(cai_stream *stream) {
  require_stream(stream);
  Current &current = mine().of(stream->device);
  cai_stream_guard guard{HeldStream::one_more(stream).let_go(), current.stream.let_go(),
                         this_thread(), current.depth++};
  current.stream = HeldStream::one_more(stream);
  return guard;
}

// The current stream of a guard that can be left now. Null once the thread has released its own, in
// the destructor of an object that was made before them: there is nothing to restore.
Current *entered(const cai_stream_guard &guard) {
  if (guard.thread == 0) throw Failure(CAI_ERR_STATE, {}, "the guard was left already");
  if (guard.thread != this_thread()) {
    throw Failure(CAI_ERR_STATE, {}, "the guard was entered on another thread");
  }
  const cai_stream *const stream = require(guard.stream, "guard->stream");
  if (Currents::ended) return nullptr;
  Current &current = currents.of(stream->device);
  if (current.depth != guard.depth + 1) {
    throw Failure(CAI_ERR_STATE, {},
                  "the guard was not entered last on %s: guards are left in the reverse order",
                  Text(current.device).text);
  }
  return &current;
}

void leave(cai_stream_guard &guard, std::uint32_t flags) {
  if (flags & ~std::uint32_t{CAI_LEAVE_QUEUED}) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "flags are 0x%x, not only CAI_LEAVE_*", flags);
  }
  entered(guard);
  cai_error failure;
  const bool waits = !(flags & CAI_LEAVE_QUEUED);
  const cai_status status = waits ? cai_stream_synchronize(guard.stream, &failure) : CAI_OK;
  Current *const current = entered(guard);  // again: what ended by waiting may have used streams
  const HeldStream stream(guard.stream);
  HeldStream previous(guard.previous);
  if (current) {
    previous = std::exchange(current->stream, std::move(previous));
    --current->depth;
  }
  guard = {nullptr, nullptr, 0, 0};
  if (status != CAI_OK) throw Failure(failure);
}

}  // namespace

HeldStream current_stream(cai_device device) {
  require_device(device);
  end_left();
  // Calls from late destructors and exit handlers work as in a thread that has set nothing.
  if (Currents::ended) return create_stream(device, CAI_MODE_DEFAULT, 0);
  Current &current = currents.of(device);
  if (current.stream.get() && !is_dead(*current.stream.get())) {
    return HeldStream::one_more(current.stream.get());
  }
  HeldStream made = create_stream(device, CAI_MODE_DEFAULT, 0);
  const HeldStream before =
      std::exchange(currents.of(device).stream, HeldStream::one_more(made.get()));
  return made;
}

HeldStream current_stream_if_any(cai_device device) noexcept {
  const Current *const found = Currents::ended ? nullptr : currents.find(device);
  return found ? HeldStream::one_more(found->stream.get()) : HeldStream();
}

void forget_current(cai_device device) noexcept {
  Current *const found = Currents::ended ? nullptr : currents.find(device);
  if (found) const HeldStream before = std::exchange(found->stream, HeldStream());
}

}  // namespace cai::device

using namespace cai;

cai_status cai_stream_current(cai_device device, cai_stream **out, cai_error *error) {
  return guard(error, [&] {
    device::require(out, "out");
    *out = device::current_stream(device).let_go();
  });
}

cai_status cai_stream_set_current(cai_stream *stream, cai_error *error) {
  return guard(error, [&] {
    device::end_left();
    device::set_current(stream);
  });
}

cai_status cai_stream_enter(cai_stream *stream, cai_stream_guard *guard_, cai_error *error) {
  return guard(error, [&] {
    device::require(guard_, "guard");
    device::end_left();
    *guard_ = device::enter(stream);
  });
}

cai_status cai_stream_leave(cai_stream_guard *guard_, uint32_t flags, cai_error *error) {
  return guard(error, [&] { device::leave(*device::require(guard_, "guard"), flags); });
}
