// SPDX-License-Identifier: BSD-3-Clause
// Pinned memory may have two addresses: the device's, which its arrays use, and the host's.
#pragma once

#include "cai.h"

namespace cai::exchange {

// The host's address of an array's first element; 0 if there is none. Throws CAI_ERR_UNSUPPORTED
// for a device's own memory.
uint64_t host_address(const cai_array &array);

// The array with its host address, if the host may use it; else unchanged.
cai_array as_host_finds(const cai_array &array);

// The GPU's address of the first element of an array in host memory.
uint64_t device_address(const cai_array &array);

}  // namespace cai::exchange
