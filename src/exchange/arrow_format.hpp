// SPDX-License-Identifier: BSD-3-Clause
// Arrow's formats of numbers, to and from cai_dtype.
#pragma once

#include "cai/arrow.h"

namespace cai::exchange {

// CAI_ERR_UNSUPPORTED for a format that is no number's.
cai_status read_format(const char *format, cai_dtype *out, cai_error *error) noexcept;

// A static string; CAI_ERR_EXPORT for what Arrow has no format for; the byte order, too.
cai_status write_format(const cai_dtype &dtype, const char **out, cai_error *error) noexcept;

}  // namespace cai::exchange
