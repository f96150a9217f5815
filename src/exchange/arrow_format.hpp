// SPDX-License-Identifier: BSD-3-Clause
// Arrow's formats of numbers, to and from cai_dtype.
#pragma once

#include "cai/arrow.h"

namespace cai::exchange {

// Throws CAI_ERR_UNSUPPORTED if a format is not that of a number.
cai_status read_format(const char *format, cai_dtype *out, cai_error *error) noexcept;

// Returns a static string. Throws CAI_ERR_EXPORT if Arrow has no format for the type or byte order.
cai_status write_format(const cai_dtype &dtype, const char **out, cai_error *error) noexcept;

}  // namespace cai::exchange
