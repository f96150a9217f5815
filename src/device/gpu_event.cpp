// SPDX-License-Identifier: BSD-3-Clause
#include <cinttypes>

#include "core/report.hpp"
#include "device/event.hpp"
#include "device/follow.hpp"
#include "device/gpu_stream.hpp"
#include "device/pending.hpp"
#include "order/releases.hpp"
#include "order/waiting.hpp"

namespace cai::device {
namespace {

void destroy_event(void *handle) noexcept {
  cai_error error;
  const cai_status status = guard(&error, [&] {
    driver::Session session;
    session.use_relaxed_mode();
    driver::call(session.cu.cuEventDestroy, static_cast<driver::CUevent>(handle));
    session.finish();
  });
  if (status != CAI_OK) report(error);
}

// An event of the device's primary context.
class GpuEvent final : public cai_event {
 public:
  GpuEvent(cai_device its_device, std::uint32_t its_flags, driver::CUevent handle, Primary primary)
      : cai_event(its_device, its_flags), handle_(handle), primary_(primary) {}

  std::uint64_t value() const noexcept override {
    return reinterpret_cast<std::uintptr_t>(handle_);
  }

  void require_alive() const override {
    if (process_ != forks()) driver::get();  // throws that a child cannot use it
    if (is_alive(device.id, primary_.epoch)) return;
    throw Failure(CAI_ERR_STATE, {}, "the event ended when %s was reset: make a new one",
                  Text(device).text);
  }

  void record(cai_stream &stream) override {
    order::Ending ending;
    driver::Session session;
    order::Stream on = gpu_stream(stream).stream();
    if (gpu_stream(stream).epoch() != primary_.epoch) {
      throw Failure(CAI_ERR_DEVICE, {CAI_ENTRY_STREAM},
                    "stream 0x%" PRIx64 " is not of the primary context of %s, as the event is",
                    on.value, Text(device).text);
    }
    order::probe(session, on);
    // To query an event of a capture would end the capture, so until it is recorded it counts as
    // one of the old capture and of the new one.
    const std::uint64_t before = capture_;
    if (on.capture) capture_ = on.capture.id;
    try {
      order::with(session, on,
                  [&] { driver::call(session.cu.cuEventRecord, handle_, on.handle()); });
    } catch (...) {
      capture_ = before;
      throw;
    }
    capture_ = on.capture.id;
    recorded_ = true;
    order::look(session, on, ending);
    session.finish();
  }

  bool is_recorded() override { return recorded_; }

  void wait(cai_stream &stream) override {
    stream.raise_failure();
    if (!recorded_) return;
    if (!is_cpu(stream.device)) return wait_on_gpu(gpu_stream(stream));
    if (cpu_stream(stream).is_at_once()) return synchronize();
    if (is_busy()) wait_in_work(cpu_stream(stream), snapshot(), device, primary_.epoch);
  }

  bool is_busy() override {
    if (!recorded_) return false;
    require_uncaptured();
    driver::Session session;
    const bool is_pending = order::is_pending(session, handle_);
    session.finish();
    return is_pending;
  }

  void synchronize() override {
    if (!recorded_) return;
    require_uncaptured();
    driver::Session session;
    session.use_relaxed_mode();
    driver::call(session.cu.cuEventSynchronize, handle_);
    session.finish();
  }

  double elapsed(cai_event &end) override {
    driver::Session session;
    float milliseconds = 0;
    driver::call(session.cu.cuEventElapsedTime, &milliseconds, handle_,
                 static_cast<GpuEvent &>(end).handle_);
    session.finish();
    return static_cast<double>(milliseconds);
  }

  void retire() noexcept override {
    if (process_ != forks()) return;  // in a child, nothing of it is safe to use
    if (is_alive(device.id, primary_.epoch)) destroy_later(device.id, destroy_event, handle_);
    delete this;
  }

 private:
  void require_uncaptured() const {
    if (!capture_) return;
    throw Failure(CAI_ERR_CAPTURE, {},
                  "the event was recorded in a capture: no work has reached it yet");
  }

  void wait_on_gpu(GpuStream &stream) {
    order::Ending ending;
    driver::Session session;
    order::Stream to = stream.stream();
    order::probe(session, to);
    const std::uint64_t capture = capture_;
    if (to.capture ? capture && to.capture.id != capture
                   : capture && to.value == driver::stream_legacy) {
      throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM},
                    "the event was recorded in a capture that stream 0x%" PRIx64 " cannot join",
                    to.value);
    }
    if (to.capture && !capture) {
      if (order::is_pending(session, handle_)) {
        throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM},
                      "stream 0x%" PRIx64
                      " is being captured into a graph, and the event was recorded outside and is "
                      "pending: wait for it before the capture",
                      to.value);
      }
      return session.finish();  // completed work needs no order, and an edge to it would fail there
    }
    order::with(session, to, [&] { wait_here(session, to, capture); });
    order::look(session, to, ending);
    session.finish();
  }

  void wait_here(driver::Session &session, const order::Stream &to, std::uint64_t capture) const {
    const auto &wait = session.cu.cuStreamWaitEvent;
    const driver::CUresult result = wait(to.handle(), handle_, 0);
    if (result == driver::success) return;
    const cai_error error = driver::failure_of(wait.name, result);
    if (!capture) throw Failure(error);
    throw Failure(CAI_ERR_CAPTURE, {0, -1, error.native},
                  "the event was recorded in a capture that has ended or was invalidated: record "
                  "it again: %s",
                  error.message);
  }

  // The event's current point. The event may be recorded again before the CPU comes to wait, so
  // this records an event of the pool behind it, on a stream used only for this.
  order::Event snapshot() const {
    driver::Session session;
    order::Event event;
    session.use_relaxed_mode();
    session.in(primary_.context, [&] {
      driver::CUstream stream = nullptr;
      driver::call(session.cu.cuStreamCreateWithPriority, &stream, driver::stream_non_blocking, 0);
      cai_error error;
      const cai_status status = guard(&error, [&] {
        driver::call(session.cu.cuStreamWaitEvent, stream, handle_, 0U);
        order::Stream behind{reinterpret_cast<std::uintptr_t>(stream), nullptr, -1};
        event = order::Event::record(session, behind);
      });
      if (status != CAI_OK) session.faults.note(error);
      session.faults.attempt(session.cu.cuStreamDestroy, stream);
    });
    session.finish();
    return event;
  }

  const driver::CUevent handle_;
  const Primary primary_;
  const std::uint64_t process_ = forks();
  std::atomic<bool> recorded_{false};
  std::atomic<std::uint64_t> capture_{0};  // the capture of the last record; 0: none
};

}  // namespace

cai_event *new_gpu_event(cai_device device, std::uint32_t flags) {
  driver::Session session;
  const Primary mine = primary(session, device.id);
  driver::CUevent handle = nullptr;
  session.use_relaxed_mode();
  try {
    session.in(mine.context, [&] {
      driver::call(session.cu.cuEventCreate, &handle,
                   flags & CAI_EVENT_TIMING ? 0U : driver::event_disable_timing);
    });
    auto made = std::make_unique<GpuEvent>(device, flags, handle, mine);
    session.finish();
    return made.release();
  } catch (...) {
    if (handle) static_cast<void>(session.cu.cuEventDestroy(handle));
    throw;
  }
}

}  // namespace cai::device
