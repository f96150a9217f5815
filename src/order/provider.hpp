// SPDX-License-Identifier: BSD-3-Clause
// Frameworks' streams, for arrays that come without one.
#pragma once

#include "cai.h"

namespace cai::order {

// The stream of an UNSTATED array: what a provider says, else the legacy stream.
uint64_t provided_stream(const cai_array &array);

}  // namespace cai::order
