// SPDX-License-Identifier: BSD-3-Clause
#include "core/values.hpp"

#include <cstdio>

#include "core/text.hpp"

namespace cai {
namespace {

// "[2]" after the name of an entry, or nothing.
struct Subscript {
  explicit Subscript(int32_t index) noexcept {
    if (index >= 0) std::snprintf(text, sizeof text, "[%d]", index);
  }
  char text[16] = "";
};

}  // namespace

void Values::report_integer(const cai_value &value, int32_t entry, int32_t index, const char *rule,
                            const char *expected, const char *advice) noexcept {
  judge_.error(CAI_ERR_VALUE, entry, index, value, rule, "%s: expected %s, got %s%s%s",
               Subscript(index).text, expected, Printed(value).c_str(), advice ? ": " : "",
               advice ? advice : "");
}

bool Values::is_integer(const cai_value &value, int32_t entry, int32_t index,
                        const char *rule) noexcept {
  if (value.form == CAI_FORM_INT) return true;
  if (value.form == CAI_FORM_INDEX) {
    judge_.lenience(CAI_ERR_TYPE, entry, index, value, rule,
                    "%s: expected an int, got %s, which is not exactly one: convert it by int()",
                    Subscript(index).text, Printed(value).c_str());
    return true;
  }
  judge_.error(CAI_ERR_TYPE, entry, index, value, rule, "%s: expected an integer, got %s",
               Subscript(index).text, Printed(value).c_str());
  return false;
}

bool Values::accept_unusual_signed(const cai_value &value, int32_t entry, int32_t index,
                                   const char *rule) noexcept {
  if (!is_integer(value, entry, index, rule)) return false;
  if (value.range == CAI_RANGE_INT64) return true;
  report_integer(value, entry, index, rule, "63 bits and a sign");
  return false;
}

bool Values::accept_unusual_unsigned(const cai_value &value, int32_t entry, int32_t index,
                                     const char *rule) noexcept {
  if (!is_integer(value, entry, index, rule)) return false;
  if (value.range > CAI_RANGE_UINT64) {
    report_integer(value, entry, index, rule, "64 bits at most");
    return false;
  }
  if (value.range == CAI_RANGE_INT64 && static_cast<int64_t>(value.integer) < 0) {
    report_integer(value, entry, index, rule,
                   entry == CAI_ENTRY_STREAM ? "None, 1, 2 or a stream's handle" : "0 or more");
    return false;
  }
  return true;
}

bool Values::validate_unusual_tuple(const cai_value &value, int32_t entry,
                                    const char *rule) noexcept {
  switch (value.form) {
    case CAI_FORM_TUPLE_SUBCLASS:
    case CAI_FORM_LIST:
      judge_.lenience(CAI_ERR_TYPE, entry, -1, value, rule,
                      ": expected a tuple, got %s, which is not exactly one: convert it by tuple()",
                      Printed(value).c_str());
      return true;
    case CAI_FORM_MISSING:
      judge_.error(CAI_ERR_VALUE, entry, -1, value, rule,
                   ": expected a tuple, but it is missing: add '%s' to the dict",
                   cai_entry_name(entry));
      return false;
    default:
      judge_.error(CAI_ERR_TYPE, entry, -1, value, rule, ": expected a tuple, got %s",
                   Printed(value).c_str());
      return false;
  }
}

}  // namespace cai
