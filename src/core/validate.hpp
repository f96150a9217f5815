// SPDX-License-Identifier: BSD-3-Clause
// Checks of every cai_array that another library filled in, before more of it is read.
#pragma once

#include "cai.h"

namespace cai {

// Checks the ABI's major version and the critical flags. Returns CAI_ERR_VERSION for an unknown
// flag.
cai_status validate_version(const cai_array &array, cai_error *error) noexcept;

}  // namespace cai
