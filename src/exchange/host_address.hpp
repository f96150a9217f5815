// SPDX-License-Identifier: BSD-3-Clause
// The host's addresses of arrays.
#pragma once

#include "cai.h"

namespace cai::exchange {

// The host's address of an array's first element; 0 if there is none. Throws CAI_ERR_UNSUPPORTED
// for a device's own memory.
uint64_t host_address(const cai_array &array);

// The array with its host address, if the host may use it; else unchanged.
cai_array as_host_finds(const cai_array &array);

}  // namespace cai::exchange
