// SPDX-License-Identifier: BSD-3-Clause
// The primary contexts in which libcai works on GPUs.
#pragma once

#include <optional>

#include "cai/device.h"
#include "driver/context.hpp"

namespace cai::device {

struct Primary {
  driver::CUdevice device;
  driver::CUcontext context;
  std::uint64_t epoch;  // changes when the context is reset: older objects are dead
};

// Throws CAI_ERR_DEVICE if there is no such GPU.
void require_gpu(const driver::Driver &cu, int32_t ordinal);

// A GPU's primary context: made at the first use, then kept. Throws CAI_ERR_DEVICE if there is no
// such GPU.
Primary primary(driver::Session &session, int32_t ordinal);

// The GPU of the current context, or nothing if none is current. A primary context that libcai has
// used belongs to its GPU even after a reset, which leaves it current: it is active again at the
// next use.
std::optional<int32_t> current_gpu(driver::Session &session);

// Whether an object of this epoch is still alive. Needs no driver.
bool is_alive(int32_t ordinal, std::uint64_t epoch) noexcept;

// The current epoch. Needs no driver.
std::uint64_t epoch_of(int32_t ordinal) noexcept;
inline std::uint64_t epoch_of(cai_device device) noexcept {  // 0: the CPU, which has no epochs
  return device.type == CAI_DEVICE_CPU ? 0 : epoch_of(device.id);
}

// How many resets there have been, of all GPUs.
std::uint64_t resets() noexcept;

// Destroys the context, for all code in the process. Does nothing if nobody has used it yet.
void reset_primary(driver::Session &session, int32_t ordinal);

// Work of CPU streams on memory that ends with the GPU's context: queued, and complete. A reset
// waits for all of it.
void begin_host_work(int32_t ordinal) noexcept;
void end_host_work(int32_t ordinal) noexcept;
void await_host_work(int32_t ordinal) noexcept;

// While one exists, a reset does not destroy the context. For the threads of CPU streams, which the
// caller of a reset does not know. It must not wait for work that comes after a reset.
class WithinContext {
 public:
  WithinContext(int32_t ordinal, std::uint64_t epoch) noexcept;
  WithinContext(const WithinContext &) = delete;
  WithinContext &operator=(const WithinContext &) = delete;
  ~WithinContext();
  // Whether the context is still that of the epoch.
  explicit operator bool() const noexcept { return is_alive_; }

 private:
  const int32_t ordinal_;
  bool is_alive_;
};

}  // namespace cai::device
