// SPDX-License-Identifier: BSD-3-Clause
// Failures that no call can return: those in a release, in a callback, on a thread of libcai's own.
#pragma once

#include "cai.h"

namespace cai {

// Calls the hook that cai_on_failure() set.
void report(const cai_error &error) noexcept;

}  // namespace cai
