// SPDX-License-Identifier: BSD-3-Clause
// Event handles, and events of the CPU.
#include "device/event.hpp"

#include "core/lock.hpp"
#include "device/cpu_stream.hpp"

namespace cai::device {
namespace {

class CpuEvent final : public cai_event {
 public:
  explicit CpuEvent(std::uint32_t its_flags) : cai_event(cpu, its_flags) {}

  void require_alive() const override {}

  void record(cai_stream &stream) override {
    stream.raise_failure();
    std::shared_ptr<Mark> mark = cpu_stream(stream).mark();
    if (!mark) {
      mark = std::make_shared<Mark>(nullptr);
      mark->pass();
    }
    const std::lock_guard lock(lock_);
    mark_.swap(mark);
  }

  bool is_recorded() override { return mark() != nullptr; }

  void wait(cai_stream &stream) override {
    stream.raise_failure();
    const std::shared_ptr<Mark> last = mark();
    if (last) is_cpu(stream.device) ? cpu_stream(stream).wait(last) : last->wait();
  }

  bool is_busy() override {
    const std::shared_ptr<Mark> last = mark();
    return last && last->is_pending();
  }

  void synchronize() override {
    if (const std::shared_ptr<Mark> last = mark()) last->wait();
  }

  double elapsed(cai_event &end) override {
    const std::shared_ptr<Mark> first = mark(), last = static_cast<CpuEvent &>(end).mark();
    if (!first->is_passed() || !last->is_passed()) {
      throw Failure(CAI_ERR_STATE, {}, "another thread has just recorded an event of the two anew");
    }
    const std::chrono::duration<double, std::milli> time = last->time() - first->time();
    return time.count();
  }

  void retire() noexcept override {
    if (process_ != forks()) return;  // a thread of the parent may have been recording it
    delete this;
  }

 private:
  std::shared_ptr<Mark> mark() {
    const std::lock_guard lock(lock_);
    return mark_;
  }

  Lock lock_;
  std::shared_ptr<Mark> mark_;  // null: not recorded yet
  const std::uint64_t process_ = forks();
};

cai_event &require_event(cai_event *event, const char *name = "event") {
  require(event, name)->require_alive();
  return *event;
}

cai_event *create_event(cai_device device, std::uint32_t flags) {
  require_device(device);
  if (flags & ~std::uint32_t{CAI_EVENT_TIMING}) {
    throw Failure(CAI_ERR_VALUE, {}, "flags are 0x%x, not only CAI_EVENT_*", flags);
  }
  return is_cpu(device) ? new_cpu_event(flags) : new_gpu_event(device, flags);
}

template <class Condition>
void check_each(cai_event &start, cai_event &end, cai_status status, const char *what,
                Condition &&condition) {
  if (!condition(start)) throw Failure(status, {}, "start %s", what);
  if (!condition(end)) throw Failure(status, {}, "end %s", what);
}

[[noreturn]] void fail_other_device(cai_device a, cai_device b, const char *what) {
  throw Failure(CAI_ERR_DEVICE, {}, "the event is of %s, %s of %s", Text(a).text, what,
                Text(b).text);
}

}  // namespace

cai_event *new_cpu_event(std::uint32_t flags) {
  return new CpuEvent(flags);
}

}  // namespace cai::device

using namespace cai;

cai_status cai_event_create(cai_device device, uint32_t flags, cai_event **out, cai_error *error) {
  return guard(error, [&] {
    device::require(out, "out");
    *out = device::create_event(device, flags);
  });
}

void cai_event_retain(cai_event *event) {
  if (event) event->holders.fetch_add(1, std::memory_order_relaxed);
}

void cai_event_release(cai_event *event) {
  if (event && event->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) event->retire();
}

uint64_t cai_event_value(const cai_event *event) {
  return event ? event->value() : 0;
}

cai_status cai_event_record(cai_event *event, cai_stream *stream, cai_error *error) {
  return guard(error, [&] {
    cai_event &recorded = device::require_event(event);
    cai_stream &on = device::require_stream(stream);
    if (!device::same(recorded.device, on.device)) {
      device::fail_other_device(recorded.device, on.device, "the stream");
    }
    recorded.record(on);
  });
}

cai_status cai_event_wait(cai_event *event, cai_stream *stream, cai_error *error) {
  return guard(error, [&] {
    cai_event &awaited = device::require_event(event);
    awaited.wait(device::require_stream(stream));
  });
}

cai_status cai_event_query(cai_event *event, int32_t *busy, cai_error *error) {
  return guard(error, [&] {
    device::require(busy, "busy");
    *busy = device::require_event(event).is_busy() ? 1 : 0;
  });
}

cai_status cai_event_synchronize(cai_event *event, cai_error *error) {
  return guard(error, [&] { device::require_event(event).synchronize(); });
}

cai_status cai_event_elapsed(cai_event *start, cai_event *end, double *milliseconds,
                             cai_error *error) {
  return guard(error, [&] {
    device::require(milliseconds, "milliseconds");
    cai_event &first = device::require_event(start, "start");
    cai_event &last = device::require_event(end, "end");
    if (!device::same(first.device, last.device)) {
      device::fail_other_device(first.device, last.device, "the other one");
    }
    device::check_each(first, last, CAI_ERR_VALUE, "was made without CAI_EVENT_TIMING",
                       [](cai_event &event) { return event.keeps_time(); });
    device::check_each(first, last, CAI_ERR_STATE, "was not recorded",
                       [](cai_event &event) { return event.is_recorded(); });
    device::check_each(first, last, CAI_ERR_STATE, "is not complete",
                       [](cai_event &event) { return !event.is_busy(); });
    *milliseconds = first.elapsed(last);
  });
}
