// SPDX-License-Identifier: BSD-3-Clause
// Streams of both devices behind one handle.
#pragma once

#include <atomic>
#include <memory>

#include "device/device.hpp"

struct cai_stream {
  cai_stream(cai_device its_device, std::uint32_t its_mode) : device(its_device), mode(its_mode) {}
  cai_stream(const cai_stream &) = delete;
  cai_stream &operator=(const cai_stream &) = delete;

  const cai_device device;
  const std::uint32_t mode;
  std::atomic<std::uint64_t> holders{1};
  cai_stream *next = nullptr;  // among those that wait for a thread that may call the driver

  virtual std::uint64_t value() const noexcept { return 0; }

  // Throws CAI_ERR_STATE if the stream can no longer be used: after a reset, or in a forked child.
  virtual void require_alive() const = 0;
  // Fills in all fields but mode, device and value.
  virtual void describe(cai_stream_info &info) = 0;

  // These do what the public functions of the same names do, for a stream that is alive.
  virtual void enqueue(cai_work_fn work, void (*done)(void *context), void *its_context) = 0;
  virtual void attach(void (*release)(void *context), void *its_context) = 0;
  virtual bool is_busy() = 0;
  virtual void synchronize() = 0;

  // Throws the failure of earlier work, once.
  virtual void raise_failure() = 0;

  // Runs when the last reference is released: ends the handle, and lets queued work continue.
  virtual void retire() noexcept = 0;

 protected:
  ~cai_stream() = default;
};

namespace cai::device {

// A reference to a stream.
class HeldStream {
 public:
  HeldStream() = default;
  explicit HeldStream(cai_stream *stream) noexcept : stream_(stream) {}  // takes over a reference
  HeldStream(HeldStream &&other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  HeldStream &operator=(HeldStream other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~HeldStream() { cai_stream_release(stream_); }

  static HeldStream one_more(cai_stream *stream) noexcept {
    cai_stream_retain(stream);
    return HeldStream(stream);
  }
  cai_stream *get() const noexcept { return stream_; }
  cai_stream *let_go() noexcept { return std::exchange(stream_, nullptr); }

 private:
  cai_stream *stream_ = nullptr;
};

inline bool is_dead(const cai_stream &stream) noexcept {
  return guard(nullptr, [&] { stream.require_alive(); }) != CAI_OK;
}

// Throws CAI_ERR_ARGUMENT for NULL, and CAI_ERR_STATE if the stream can no longer be used.
inline cai_stream &require_stream(cai_stream *stream, const char *name = "stream") {
  require(stream, name)->require_alive();
  return *stream;
}

// Each throws on failure. The caller owns one reference to the result.
HeldStream create_stream(cai_device device, std::uint32_t mode, std::int32_t priority);
HeldStream new_cpu_stream(std::uint32_t mode);
HeldStream new_gpu_stream(cai_device device, std::uint32_t mode, std::int32_t priority);
HeldStream wrap_gpu_stream(cai_device device, std::uint64_t value, void (*release)(void *context),
                           void *context);

// Releases a reference where the driver may not be called: a GPU stream ends later.
void release_quietly(cai_stream *stream) noexcept;

// Ends the streams that release_quietly() has left.
void end_left() noexcept;

}  // namespace cai::device
