// SPDX-License-Identifier: BSD-3-Clause
// Copies and fills on the host.
#pragma once

#include "transfer/walk.hpp"

namespace cai::transfer {

// Copies all pieces.
void copy_on_host(const Walk &walk) noexcept;

// Fills all pieces with items.
void fill_on_host(const Walk &walk, const void *item, uint32_t itemsize) noexcept;

}  // namespace cai::transfer
