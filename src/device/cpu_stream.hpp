// SPDX-License-Identifier: BSD-3-Clause
// Streams of the CPU: on the caller's thread, or on one of their own.
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

  // Behind what is queued by now; null where work is done at once.
  std::shared_ptr<Mark> mark();
  // Later work waits for the mark, or the host does where work is done at once.
  void wait(const std::shared_ptr<Mark> &mark);
  void wait(const order::HostPoint &point);

  bool is_at_once() const noexcept { return !queue_; }
  // For a stream with a thread. All that is queued by now; and up to what is pushed.
  order::HostPoint point() const { return {queue_, queue_->pushed()}; }
  order::HostPoint push(cai_work_fn work, void (*done)(void *context), void *context);

  std::atomic<std::int32_t> thread_limit;

 private:
  const std::uint64_t id_;
  const std::shared_ptr<Queue> queue_;  // null: work is done at once
};

inline CpuStream &cpu_stream(cai_stream &stream) noexcept {
  return static_cast<CpuStream &>(stream);
}

}  // namespace cai::device
