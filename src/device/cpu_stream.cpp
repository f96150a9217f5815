// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu_stream.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/must_not_await.hpp"

namespace cai::device {
namespace {

// The driver counts its stream ids from 0.
constexpr std::uint64_t of_the_cpu = std::uint64_t{1} << 63;
constinit std::atomic<std::uint64_t> streams{0};

std::int32_t processors() noexcept {
  return static_cast<std::int32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// The context of a task in the queue.
using SharedMark = std::shared_ptr<Mark>;

SharedMark &mark_of(void *context) noexcept {
  return *static_cast<SharedMark *>(context);
}

// Queues the work of waiting for something, with a copy of that.
template <class Awaited, class Wait>
void push_wait(CpuStream &stream, const Awaited &awaited, bool is_wait, Wait) {
  auto theirs = std::make_unique<Awaited>(awaited);
  const auto work = [](void *context, cai_error *error) {
    return guard(error, [&] { Wait()(*static_cast<Awaited *>(context)); });
  };
  const auto done = [](void *context) { delete static_cast<Awaited *>(context); };
  stream.push(work, done, theirs.get(), is_wait);
  static_cast<void>(theirs.release());
}

}  // namespace

CpuStream::CpuStream(std::uint32_t its_mode)
    : cai_stream(cpu, its_mode),
      thread_limit(processors()),
      id_(of_the_cpu | ++streams),
      queue_(its_mode == CAI_MODE_ASYNC ? Queue::start() : nullptr) {}

void CpuStream::require_alive() const {
  if (queue_) queue_->require_alive();
}

void CpuStream::describe(cai_stream_info &info) {
  info.id = id_;
  info.thread_limit = thread_limit;
}

void CpuStream::raise_failure() {
  if (queue_) queue_->failures.raise();
}

order::HostPoint CpuStream::push(cai_work_fn work, void (*done)(void *context), void *context,
                                 bool is_wait) {
  return {queue_, queue_->push(std::make_unique<Task>(Task{work, done, context, is_wait}))};
}

void CpuStream::enqueue(cai_work_fn work, void (*done)(void *context), void *context) {
  if (queue_) {
    push(work, done, context);
    return;
  }
  const MustNotAwait here;  // as on the thread of a queue
  if (const std::optional<cai_error> failure = run(work, context)) throw Failure(*failure);
  if (done) done(context);
}

void CpuStream::attach(void (*release)(void *context), void *context) {
  if (!queue_) {
    const MustNotAwait here;
    return release(context);
  }
  // `release` may end this stream, and its thread, while the push is still under way.
  const std::shared_ptr<Queue> held = queue_;
  held->push_always(std::make_unique<Task>(Task{nullptr, release, context}));
}

void CpuStream::synchronize() {
  if (queue_) queue_->wait();
}

std::shared_ptr<Mark> CpuStream::mark() {
  if (!queue_) return nullptr;
  auto mark = std::make_shared<Mark>(queue_.get());
  auto theirs = std::make_unique<SharedMark>(mark);
  const auto pass = [](void *context) {
    const std::unique_ptr<SharedMark> mine(&mark_of(context));
    (*mine)->pass();
  };
  push(nullptr, pass, theirs.get());
  static_cast<void>(theirs.release());
  return mark;
}

void CpuStream::wait(const std::shared_ptr<Mark> &mark) {
  if (!queue_) return mark->wait();
  if (!mark->is_pending() || mark->by() == queue_.get()) return;
  push_wait(*this, mark, true, [](const SharedMark &theirs) { theirs->wait(); });
}

void CpuStream::wait(const order::HostPoint &point) {
  if (!queue_) return point.queue->wait_for(point.number);
  if (point.queue == queue_) return;
  // It would take the failure of what is awaited. Only the work after it relies on it.
  push_wait(*this, point, false,
            [](const order::HostPoint &theirs) { theirs.queue->wait_for(theirs.number); });
}

void CpuStream::retire() noexcept {
  if (queue_) {
    if (!queue_->is_alive()) return;  // the parent's
    queue_->close();
  }
  delete this;
}

HeldStream new_cpu_stream(std::uint32_t mode) {
  return HeldStream(new CpuStream(mode));
}

}  // namespace cai::device
