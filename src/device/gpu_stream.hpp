// SPDX-License-Identifier: BSD-3-Clause
// GPU streams: libcai's own, in the primary context, and foreign ones.
#pragma once

#include "core/fork.hpp"
#include "device/failures.hpp"
#include "device/primary.hpp"
#include "device/stream.hpp"
#include "order/edge.hpp"

namespace cai::device {

class GpuStream final : public cai_stream {
 public:
  GpuStream(cai_device its_device, std::uint32_t its_mode, order::Stream stream,
            std::uint64_t epoch);

  std::uint64_t value() const noexcept override { return stream_.value; }
  void require_alive() const override;
  void describe(cai_stream_info &info) override;
  void raise_failure() override { failures_->raise(); }
  void enqueue(cai_work_fn work, void (*done)(void *context), void *its_context) override;
  void attach(void (*release)(void *context), void *its_context) override;
  bool is_busy() override;
  void synchronize() override;
  void retire() noexcept override;

  // The stream for order's functions, identified. Throws what require_alive() throws, and
  // CAI_ERR_STATE if it is stream 2 of another thread.
  order::Stream stream() const;

  // Identifies it among all streams of any handle.
  order::StreamKey key() const noexcept { return stream_.key(); }

  // The epoch of its primary context; 0 for another context.
  std::uint64_t epoch() const noexcept { return epoch_; }
  bool is_dead() const noexcept { return epoch_ != 0 && !is_alive(device.id, epoch_); }

  // Whether this error of the driver means that the foreign stream was destroyed.
  bool is_left_over(const cai_error &error) const noexcept {
    return wrapped && error.status == CAI_ERR_CUDA && driver::says_gone(error.native);
  }

  // What the last release does with the stream.
  bool owned = false;
  bool wrapped = false;
  void (*release)(void *context) = nullptr;
  void *context = nullptr;

 private:
  struct Release {
    void (*end)(void *context) = nullptr;
    void *context = nullptr;
  };
  Release take_release() noexcept;  // once

  friend void require_no_captures(driver::Session &session, const Primary &primary);
  friend bool is_any_captured(driver::Session &session) noexcept;
  friend void end_wrapped_streams(int32_t ordinal) noexcept;
  ~GpuStream();

  const order::Stream stream_;
  const std::uint64_t epoch_;
  const std::uint64_t thread_ = stream_.key().thread;  // whose stream 2 it is
  const std::uint64_t process_ = forks();
  const std::shared_ptr<Failures> failures_ = std::make_shared<Failures>();

  // In the list of all streams of the process.
  GpuStream *before_ = nullptr, *after_ = nullptr;
};

inline GpuStream &gpu_stream(cai_stream &stream) noexcept {
  return static_cast<GpuStream &>(stream);
}

// Throws CAI_ERR_CAPTURE if a stream of the context that libcai knows is being captured.
void require_no_captures(driver::Session &session, const Primary &primary);

// Calls the owners of all wrapped streams of the GPU's primary context, which is about to be
// destroyed with them.
void end_wrapped_streams(int32_t ordinal) noexcept;

}  // namespace cai::device
