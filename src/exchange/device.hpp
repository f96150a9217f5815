// SPDX-License-Identifier: BSD-3-Clause
// Devices, as DLPack and Arrow number them: by the numbers of cai_array.device_type.
#pragma once

#include <cstdint>

#include "cai.h"

namespace cai::exchange {

[[gnu::cold]] cai_status device_fault(int32_t device_type, cai_error *error) noexcept;

// Refuses a device that is neither the CPU nor CUDA.
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

// The ordinal of a CUDA array's device, of which the driver is asked where the array does not know.
cai_status find_device_id(const cai_array &array, int32_t *out, cai_error *error) noexcept;

}  // namespace cai::exchange
