// SPDX-License-Identifier: BSD-3-Clause
// Pinned memory may have two addresses: the device's, by which its arrays go, and the host's.
#pragma once

#include "cai.h"

namespace cai::exchange {

// Where the host finds an array's first element; 0 if there is none. Throws CAI_ERR_UNSUPPORTED for
// memory of a device's own.
uint64_t host_address(const cai_array &array);

// The same array, as the host finds it, if the host may use it; else as it is.
cai_array as_host_finds(const cai_array &array);

// Where a GPU finds the first element of an array that is not its own memory.
uint64_t device_address(const cai_array &array);

}  // namespace cai::exchange
