// SPDX-License-Identifier: BSD-3-Clause
// Asks the registered frameworks for the stream of arrays that do not state one.
#pragma once

#include "cai.h"

namespace cai::order {

// The stream of an UNSTATED array: a provider's answer, else the legacy stream.
uint64_t provided_stream(const cai_array &array);

}  // namespace cai::order
