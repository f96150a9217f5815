// SPDX-License-Identifier: BSD-3-Clause
// The tuples and integers of a dict. Unusual forms are reported to the judge.
#pragma once

#include <cstdint>

#include "cai.h"
#include "core/judge.hpp"

namespace cai {

// `rule` is the clause of the text, `index` the item's position in its tuple or -1. Each function
// returns whether the value is accepted.
class Values {
 public:
  explicit Values(Judge &judge) noexcept : judge_(judge) {}

  // The usual forms are recognised inline. Another function handles the rest.
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

  // `why` is text to follow the value.
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
