// SPDX-License-Identifier: BSD-3-Clause
// DLDataType, to and from cai_dtype; and what both directions say of streams.
#pragma once

#include "cai/dlpack.h"

namespace cai::exchange {

inline constexpr uint64_t no_order = UINT64_MAX;  // -1, the consumer's word for it

// CAI_ERR_UNSUPPORTED for what a cai_dtype cannot say.
cai_status read_type(const DLDataType &type, cai_dtype *out, cai_error *error) noexcept;

// CAI_ERR_EXPORT for what DLPack cannot say; the byte order, too.
cai_status write_type(const cai_dtype &dtype, DLDataType *out, cai_error *error) noexcept;

}  // namespace cai::exchange
