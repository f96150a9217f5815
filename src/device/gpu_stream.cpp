// SPDX-License-Identifier: BSD-3-Clause
#include "device/gpu_stream.hpp"

#include <cinttypes>
#include <mutex>

#include "core/immortal.hpp"
#include "core/report.hpp"
#include "device/pending.hpp"
#include "driver/host_function.hpp"
#include "order/above.hpp"
#include "order/owned.hpp"
#include "order/releases.hpp"
#include "order/waiting.hpp"

namespace cai::device {
namespace {

// All GPU streams that have a handle. The lock is held during queries to the driver, so that no
// stream is destroyed meanwhile. A forked child, which has no driver, never takes it.
struct Known {
  std::mutex mutex;
  GpuStream *first = nullptr;
};

// Never destroyed: streams may be destroyed as late as the process ends.
Known &known() {
  return immortal<Known>();
}

void destroy_stream(void *handle) noexcept {
  cai_error error;
  const cai_status status = guard(&error, [&] {
    driver::Session session;
    session.use_relaxed_mode();
    driver::call(session.cu.cuStreamDestroy, static_cast<driver::CUstream>(handle));
    session.finish();
  });
  if (status != CAI_OK) report(error);
}

std::uint32_t mode_of(driver::Session &session, order::Stream &stream) {
  if (stream.value == driver::stream_legacy) return CAI_MODE_DEFAULT;
  return order::is_blocking(session, stream) ? CAI_MODE_SYNC : CAI_MODE_ASYNC;
}

}  // namespace

HeldStream new_gpu_stream(cai_device device, std::uint32_t mode, std::int32_t priority) {
  driver::Session session;
  const Primary mine = primary(session, device.id);
  order::Stream stream{driver::stream_legacy, mine.context, -1};
  driver::CUstream handle = nullptr;
  try {
    if (mode != CAI_MODE_DEFAULT) {
      session.use_relaxed_mode();
      session.in(mine.context, [&] {
        driver::call(session.cu.cuStreamCreateWithPriority, &handle,
                     mode == CAI_MODE_ASYNC ? driver::stream_non_blocking : 0U, priority);
      });
      stream = {reinterpret_cast<std::uintptr_t>(handle), nullptr, -1};
    }
    identify(session, stream);
    HeldStream made(new GpuStream(device, mode, stream, mine.epoch));
    session.finish();
    gpu_stream(*made.get()).owned = handle != nullptr;
    return made;
  } catch (...) {
    if (handle) static_cast<void>(session.cu.cuStreamDestroy(handle));
    throw;
  }
}

HeldStream wrap_gpu_stream(cai_device device, std::uint64_t value, void (*release)(void *context),
                           void *context) {
  driver::Session session;
  const Primary mine = primary(session, device.id);
  order::Stream stream{value, nullptr, -1};
  if (stream.is_default()) stream.context = mine.context;
  identify(session, stream);
  if (stream.context != mine.context) {
    driver::CUdevice its = 0;
    session.in(stream.context, [&] { driver::call(session.cu.cuCtxGetDevice, &its); });
    if (its != mine.device) {
      throw Failure(CAI_ERR_DEVICE, {CAI_ENTRY_STREAM},
                    "stream: expected one of %s, got one of gpu:%d, 0x%" PRIx64, Text(device).text,
                    static_cast<int>(its), value);
    }
  }
  const std::uint64_t epoch = stream.context == mine.context ? mine.epoch : 0;
  HeldStream made(new GpuStream(device, mode_of(session, stream), stream, epoch));
  session.finish();
  GpuStream &handle = gpu_stream(*made.get());
  handle.wrapped = true;
  handle.release = release;
  handle.context = context;
  return made;
}

bool is_any_captured(driver::Session &session) noexcept {
  const driver::CUcontext current = session.current();
  std::uint64_t id = 0;
  cai_error error{};
  if (guard(&error, [&] { id = session.id_of(current); }) != CAI_OK) {
    if (driver::says_gone(error.native)) return false;
    session.faults.note(error);
    return true;  // there may be one
  }
  Known &all = known();
  const std::lock_guard lock(all.mutex);
  for (GpuStream *each = all.first; each; each = each->after_) {
    const bool is_anothers = each->thread_ && each->thread_ != this_thread();
    const bool is_there = each->stream_.context == current && each->stream_.context_id == id;
    if (!is_there || is_dead(*each) || is_anothers) continue;
    order::Stream stream = each->stream_;
    if (order::is_captured(session, stream)) return true;
  }
  return false;
}

GpuStream::GpuStream(cai_device its_device, std::uint32_t its_mode, order::Stream stream,
                     std::uint64_t epoch)
    : cai_stream(its_device, its_mode), stream_(stream), epoch_(epoch) {
  order::above.is_any_captured.store(is_any_captured, std::memory_order_release);
  Known &all = known();
  const std::lock_guard lock(all.mutex);
  after_ = all.first;
  if (after_) after_->before_ = this;
  all.first = this;
}

GpuStream::~GpuStream() {
  Known &all = known();
  const std::lock_guard lock(all.mutex);
  if (after_) after_->before_ = before_;
  (before_ ? before_->after_ : all.first) = after_;
}

void require_no_captures(driver::Session &session, const Primary &primary) {
  order::Stream legacy{driver::stream_legacy, primary.context, -1};
  order::require_not_capturing(session, legacy, "nothing can wait for all work of its context");
  Known &all = known();
  const std::lock_guard lock(all.mutex);
  for (GpuStream *each = all.first; each; each = each->after_) {
    const bool is_anothers = each->thread_ && each->thread_ != this_thread();
    if (each->epoch_ != primary.epoch || each->stream_.context != primary.context || is_anothers) {
      continue;
    }
    order::Stream stream = each->stream_;
    try {
      order::require_not_capturing(session, stream, "nothing can wait for all work of its context");
    } catch (const Failure &failure) {
      // Its owner has destroyed it: it is in no capture any more.
      if (each->is_left_over(failure.error())) continue;
      throw;
    }
  }
}

void GpuStream::require_alive() const {
  if (process_ != forks()) driver::get();  // throws that a child cannot use it
  if (!is_dead()) return;
  throw Failure(CAI_ERR_STATE, {CAI_ENTRY_STREAM},
                "stream 0x%" PRIx64 " ended when %s was reset: make a new one", stream_.value,
                Text(device).text);
}

order::Stream GpuStream::stream() const {
  require_alive();
  if (thread_ && thread_ != this_thread()) {
    throw Failure(CAI_ERR_STATE, {CAI_ENTRY_STREAM},
                  "the stream is 2 of thread %" PRIu64 ", which is another stream on this thread",
                  kernel_id(thread_));
  }
  return stream_;
}

void GpuStream::describe(cai_stream_info &info) {
  driver::Session session;
  order::Stream mine = stream();
  driver::CUstreamCaptureStatus status = driver::capture_none;
  std::uint64_t capture = 0;
  unsigned long long id = mine.id & order::id_in_capture ? 0 : mine.id;
  order::with(session, mine, [&] {
    driver::call(session.cu.cuStreamGetPriority, mine.handle(), &info.priority);
    const driver::CUresult result = session.cu.cuStreamGetCaptureInfo(
        mine.handle(), &status, &capture, nullptr, nullptr, nullptr);
    // The legacy stream is not itself captured while a stream that is in order with it is.
    if (result != driver::success && result != driver::error_capture_implicit) {
      throw Failure(driver::failure_of(session.cu.cuStreamGetCaptureInfo.name, result));
    }
    // It would invalidate a capture.
    if (status == driver::capture_none) {
      driver::call(session.cu.cuStreamGetId, mine.handle(), &id);
    }
  });
  session.finish();
  info.id = id;
  info.capture = static_cast<std::uint32_t>(status);
  info.capture_id = status == driver::capture_none ? 0 : capture;
  info.wrapped = wrapped;
}

bool GpuStream::is_busy() {
  order::Ending ending;
  driver::Session session;
  order::Stream mine = stream();
  order::require_not_capturing(session, mine, "nothing of it is pending, nor complete");
  const bool is_idle = order::is_idle(session, mine);
  order::look(session, mine, ending);
  session.finish();
  return !is_idle;
}

void GpuStream::synchronize() {
  order::Ending ending;
  driver::Session session;
  order::Stream mine = stream();
  try {
    order::require_not_capturing(session, mine, "the host cannot wait for it");
    order::synchronize(session, mine);
  } catch (const Failure &failure) {
    const cai_error &error = failure.error();
    if (!is_left_over(error)) throw;
    throw Failure(CAI_ERR_CUDA, {CAI_ENTRY_STREAM, -1, error.native},
                  "stream 0x%" PRIx64 " was wrapped, and its owner has destroyed it: %s",
                  mine.value, error.message);
  }
  order::look_at_all(session, mine, ending);
  session.finish();
}

void GpuStream::retire() noexcept {
  if (process_ != forks()) return;  // in a child, nothing of it is safe to use
  if (const std::optional<cai_error> untold = failures_->take()) report(*untold);
  const bool destroys = owned && !is_dead();
  const int32_t ordinal = device.id;
  void *const handle = stream_.handle();
  const auto [end, its_context] = take_release();
  delete this;  // first: a stream that is being destroyed must not be queried
  if (destroys) destroy_later(ordinal, destroy_stream, handle);
  if (!end) return;
  // The owner of a wrapped stream may destroy it.
  driver::InHostFunction::is_here() ? destroy_later(ordinal, end, its_context, end)
                                    : end(its_context);
}

GpuStream::Release GpuStream::take_release() noexcept {
  const std::lock_guard lock(known().mutex);
  return {std::exchange(release, nullptr), context};
}

void end_wrapped_streams(int32_t ordinal) noexcept {
  const std::uint64_t epoch = epoch_of(ordinal);
  const auto is_one = [&](const GpuStream &it) {
    return it.release && it.device.id == ordinal && it.epoch_ == epoch;
  };
  for (;;) {
    GpuStream::Release found;
    {
      const std::lock_guard lock(known().mutex);
      GpuStream *each = known().first;
      while (each && !is_one(*each)) each = each->after_;
      if (!each) return;
      found = {std::exchange(each->release, nullptr), each->context};
    }
    found.end(found.context);
  }
}

}  // namespace cai::device
