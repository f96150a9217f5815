// SPDX-License-Identifier: BSD-3-Clause
// Reads "descr": a list of (name, format[, shape]), where a format may be such a list again.
#pragma once

#include <cstdint>

#include "cai.h"
#include "core/judge.hpp"
#include "core/storage.hpp"

namespace cai {

// Bytes of storage that read_descr() needs at most.
uint64_t descr_storage(const cai_value &descr) noexcept;

struct Descr {
  const cai_field *fields = nullptr;  // NULL if descr says no more than typestr
  uint32_t count = 0;
  bool swapped = false;        // some item is not in the host's byte order
  uint8_t ext = CAI_EXT_NONE;  // where the only field has no meaning but to name the type
};

// Reads a descr that is neither missing nor None; `dtype` is what typestr says. What is wrong goes
// to the judge, and then the result says nothing.
Descr read_descr(const cai_value &descr, const cai_dtype &dtype, Judge &judge,
                 Storage &storage) noexcept;

}  // namespace cai
