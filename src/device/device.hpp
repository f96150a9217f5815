// SPDX-License-Identifier: BSD-3-Clause
// Devices as callers name them.
#pragma once

#include "cai/device.h"
#include "driver/context.hpp"

namespace cai::device {

inline constexpr cai_device cpu{CAI_DEVICE_CPU, 0};

inline bool is_cpu(cai_device device) noexcept {
  return device.type == CAI_DEVICE_CPU;
}
inline bool same(cai_device a, cai_device b) noexcept {
  return a.type == b.type && a.id == b.id;
}

// Throws CAI_ERR_VALUE if a type or an id is invalid.
void require_device(cai_device device);
void require_device_type(int32_t type);

// The number of GPUs that the driver sees.
int32_t count_gpus(const driver::Driver &cu);

// "cpu" or "gpu:1", for messages.
struct Text {
  explicit Text(cai_device device) noexcept;
  char text[CAI_DEVICE_TEXT_SIZE];
};

// Throws CAI_ERR_ARGUMENT if the caller's struct_size does not cover the first fields.
void require_size(std::uint32_t struct_size);

// Throws CAI_ERR_ARGUMENT for a pointer that must not be NULL.
template <class Pointer>
Pointer require(Pointer pointer, const char *name) {
  if (!pointer) throw Failure(CAI_ERR_ARGUMENT, {}, "%s is NULL", name);
  return pointer;
}

}  // namespace cai::device
