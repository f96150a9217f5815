// SPDX-License-Identifier: BSD-3-Clause
// What is asked of every cai_array that someone else filled in, before more of it is read.
#pragma once

#include "cai.h"

namespace cai {

// The ABI's major, and the critical flags: CAI_ERR_VERSION if there is one that is not known here.
cai_status validate_version(const cai_array &array, cai_error *error) noexcept;

}  // namespace cai
