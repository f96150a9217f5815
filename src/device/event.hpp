// SPDX-License-Identifier: BSD-3-Clause
// Events of both devices behind one handle.
#pragma once

#include "device/stream.hpp"

struct cai_event {
  cai_event(cai_device its_device, std::uint32_t its_flags)
      : device(its_device), flags(its_flags) {}
  cai_event(const cai_event &) = delete;
  cai_event &operator=(const cai_event &) = delete;

  const cai_device device;
  const std::uint32_t flags;
  std::atomic<std::uint64_t> holders{1};

  bool keeps_time() const noexcept { return flags & CAI_EVENT_TIMING; }

  virtual std::uint64_t value() const noexcept { return 0; }

  // Throws CAI_ERR_STATE if the event can no longer be used.
  virtual void require_alive() const = 0;

  // These do what the public functions of the same names do, for an event that is alive. A stream
  // to record on is of the event's device. So is the end of an elapsed time; both events are
  // complete and keep times.
  virtual void record(cai_stream &stream) = 0;
  virtual bool is_recorded() = 0;
  virtual void wait(cai_stream &stream) = 0;
  virtual bool is_busy() = 0;
  virtual void synchronize() = 0;
  virtual double elapsed(cai_event &end) = 0;

  // Runs when the last reference is released.
  virtual void retire() noexcept = 0;

 protected:
  ~cai_event() = default;
};

namespace cai::device {

// Each throws on failure. The caller owns one reference to the result.
cai_event *new_cpu_event(std::uint32_t flags);
cai_event *new_gpu_event(cai_device device, std::uint32_t flags);

}  // namespace cai::device
