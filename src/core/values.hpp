// SPDX-License-Identifier: BSD-3-Clause
// The tuples and integers of a dict. What is not of the usual form goes to the judge.
#pragma once

#include <cstdint>

#include "cai.h"
#include "core/judge.hpp"

namespace cai {

// `rule` is the clause of the text, `index` the item's place in its tuple or -1. Each function
// returns whether the value will do.
class Values {
 public:
  explicit Values(Judge &judge) noexcept : judge_(judge) {}

  // The usual forms are recognised in line; the rest, errors and leniencies, is another function's.
  bool validate_tuple(const cai_value &value, int32_t entry, const char *rule) noexcept {
    return value.form == CAI_FORM_TUPLE || validate_unusual_tuple(value, entry, rule);
  }
  bool read_signed(const cai_value &value, int32_t entry, int32_t index, const char *rule,
                   int64_t *out) noexcept {
    *out = static_cast<int64_t>(value.integer);
    return (value.form == CAI_FORM_INT && value.range == CAI_RANGE_INT64) ||
           accept_unusual_signed(value, entry, index, rule);
  }
  bool read_unsigned(const cai_value &value, int32_t entry, int32_t index, const char *rule,
                     uint64_t *out) noexcept {
    *out = value.integer;
    return (value.form == CAI_FORM_INT && value.range == CAI_RANGE_INT64 &&
            value.integer <= INT64_MAX) ||
           accept_unusual_unsigned(value, entry, index, rule);
  }

  // "shape[0]: expected 0 or more, got -1: ...", with `advice` at the end if there is any.
  void report_integer(const cai_value &value, int32_t entry, int32_t index, const char *rule,
                      const char *expected, const char *advice = nullptr) noexcept;

 private:
  [[gnu::cold]] bool validate_unusual_tuple(const cai_value &value, int32_t entry,
                                            const char *rule) noexcept;
  [[gnu::cold]] bool accept_unusual_signed(const cai_value &value, int32_t entry, int32_t index,
                                           const char *rule) noexcept;
  [[gnu::cold]] bool accept_unusual_unsigned(const cai_value &value, int32_t entry, int32_t index,
                                             const char *rule) noexcept;
  bool is_integer(const cai_value &value, int32_t entry, int32_t index, const char *rule) noexcept;

  Judge &judge_;
};

}  // namespace cai
