// SPDX-License-Identifier: BSD-3-Clause
// CPU streams: they work on the caller's thread, or on a thread of their own.
#pragma once

#include "device/queue.hpp"
#include "device/stream.hpp"

namespace cai::device {

class CpuStream final : public cai_stream {
 public:
  explicit CpuStream(std::uint32_t mode);

  void require_alive() const override;
  void describe(cai_stream_info &info) override;
  void raise_failure() override;
  void enqueue(cai_work_fn work, void (*done)(void *context), void *context) override;
  void attach(void (*release)(void *context), void *context) override;
  bool is_busy() override { return queue_ && queue_->is_busy(); }
  void synchronize() override;
  void retire() noexcept override;

  // A mark after all queued work; null if work is done at once.
  std::shared_ptr<Mark> mark();
  // Later work waits for the mark. If work is done at once, the host waits here.
  void wait(const std::shared_ptr<Mark> &mark);
  void wait(const order::HostPoint &point);

  bool is_at_once() const noexcept { return !queue_; }
  // For a stream with a thread. point(): all queued work; push(): the work up to the pushed one.
  order::HostPoint point() const { return {queue_, queue_->pushed()}; }
  // Throws the failure of earlier work that no call has returned; the context is the caller's then.
  // A wait is not dropped.
  order::HostPoint push(cai_work_fn work, void (*done)(void *context), void *context,
                        bool is_wait = false);

  std::atomic<std::int32_t> thread_limit;

 private:
  const std::uint64_t id_;
  const std::shared_ptr<Queue> queue_;  // null: work is done at once
};

inline CpuStream &cpu_stream(cai_stream &stream) noexcept {
  return static_cast<CpuStream &>(stream);
}

}  // namespace cai::device
