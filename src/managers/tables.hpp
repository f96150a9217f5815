// SPDX-License-Identifier: BSD-3-Clause
// Tables by name: built in, registered, or exported by a library.
#pragma once

#include "cai/memory.h"

namespace cai::managers {

// Throws CAI_ERR_VALUE or CAI_ERR_VERSION, with the name.
const cai_manager_table &find_table(const char *name);

bool is_built_in(const cai_manager_table &table) noexcept;

}  // namespace cai::managers
