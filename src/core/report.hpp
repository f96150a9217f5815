// SPDX-License-Identifier: BSD-3-Clause
// Failures that no caller can be given: in a release, in a callback, on a thread of libcai's own.
#pragma once

#include "cai.h"

namespace cai {

// Calls the hook of cai_on_failure().
void report(const cai_error &error) noexcept;

}  // namespace cai
