// SPDX-License-Identifier: BSD-3-Clause
// Reads "descr": a list of (name, format[, shape]), where a format may itself be such a list.
#pragma once

#include <cstdint>

#include "cai.h"
#include "core/judge.hpp"
#include "core/storage.hpp"

namespace cai {

// The most bytes of storage that read_descr() needs.
uint64_t descr_storage(const cai_value &descr) noexcept;

struct Descr {
  const cai_field *fields = nullptr;  // NULL if descr adds nothing to typestr
  uint32_t count = 0;
  bool swapped = false;        // some item is not in the host's byte order
  uint8_t ext = CAI_EXT_NONE;  // set if the only field is not a field, but names the type
};

// Whether a typestr, which is one, says the other byte order than this machine's; also of bytes,
// which have none.
bool says_other_order(const cai_value &typestr) noexcept;

// Reads a descr that is neither missing nor None; `dtype` is the type in typestr, which may say the
// other byte order: then two bytes are no bfloat16. Errors go to the judge, and the result is then
// empty.
Descr read_descr(const cai_value &descr, const cai_dtype &dtype, bool is_other_order, Judge &judge,
                 Storage &storage) noexcept;

}  // namespace cai
