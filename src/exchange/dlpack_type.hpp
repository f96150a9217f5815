// SPDX-License-Identifier: BSD-3-Clause
// DLDataType, to and from cai_dtype; and the stream values of both directions.
#pragma once

#include "cai/dlpack.h"

namespace cai::exchange {

inline constexpr uint64_t no_order = UINT64_MAX;  // DLPack's value for no stream

// Throws CAI_ERR_UNSUPPORTED if cai_dtype has no such type.
cai_status read_type(const DLDataType &type, cai_dtype *out, cai_error *error) noexcept;

// Throws CAI_ERR_EXPORT if DLPack has no such type or byte order.
cai_status write_type(const cai_dtype &dtype, DLDataType *out, cai_error *error) noexcept;

}  // namespace cai::exchange
