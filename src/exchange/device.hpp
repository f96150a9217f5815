// SPDX-License-Identifier: BSD-3-Clause
// DLPack's and Arrow's device types have the numbers of cai_array.device_type.
#pragma once

#include <cstdint>

#include "cai.h"

namespace cai::exchange {

[[gnu::cold]] cai_status device_fault(int32_t device_type, cai_error *error) noexcept;

// Throws for a device that is neither the CPU nor CUDA.
inline cai_status validate_device(int32_t device_type, cai_error *error) noexcept {
  switch (device_type) {
    case CAI_DEVICE_CPU:
    case CAI_DEVICE_CUDA:
    case CAI_DEVICE_CUDA_HOST:
    case CAI_DEVICE_CUDA_MANAGED:
      return CAI_OK;
    default:
      return device_fault(device_type, error);
  }
}

// The ordinal of a CUDA array's device. Asks the driver if the array does not say.
cai_status find_device_id(const cai_array &array, int32_t *out, cai_error *error) noexcept;

}  // namespace cai::exchange
