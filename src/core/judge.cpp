// SPDX-License-Identifier: BSD-3-Clause
#include "core/judge.hpp"

#include <cstdarg>
#include <cstdio>

#include "core/error.hpp"
#include "core/text.hpp"

namespace cai {

struct Judge::Remark {
  int32_t severity;
  cai_status status;
  int32_t entry;
  int32_t index;
  const cai_value &value;
  const char *clause;
};

void Judge::report(const Remark &remark, const char *format, va_list arguments) noexcept {
  char detail[sizeof(cai_error::message)];
  std::vsnprintf(detail, sizeof detail, format, arguments);
  cai_error whole;
  fail(&whole, remark.status, {in_mask_ ? CAI_ENTRY_MASK : remark.entry, remark.index}, "%s%s%s",
       in_mask_ ? "mask: " : "", cai_entry_name(remark.entry), detail);
  const bool is_error = remark.severity == CAI_SEVERITY_ERROR;
  if (is_error && verdict_ == CAI_OK) {
    verdict_ = remark.status;
    if (error_) *error_ = whole;
  }
  if (!on_finding_) return;
  const Printed printed(remark.value);
  const cai_finding finding{sizeof(cai_finding),
                            remark.severity,
                            whole.entry,
                            remark.index,
                            is_error ? remark.status : CAI_OK,
                            0,
                            printed.c_str(),
                            remark.clause,
                            whole.message};
  on_finding_(context_, &finding);
}

void Judge::error(cai_status status, int32_t entry, int32_t index, const cai_value &value,
                  const char *clause, const char *format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  report({CAI_SEVERITY_ERROR, status, entry, index, value, clause}, format, arguments);
  va_end(arguments);
}

void Judge::lenience(cai_status status, int32_t entry, int32_t index, const cai_value &value,
                     const char *clause, const char *format, ...) noexcept {
  if (!strict_ && !on_finding_) return;
  va_list arguments;
  va_start(arguments, format);
  report({strict_ ? CAI_SEVERITY_ERROR : CAI_SEVERITY_WARNING, status, entry, index, value, clause},
         format, arguments);
  va_end(arguments);
}

void Judge::advice(int32_t entry, int32_t index, const cai_value &value, const char *clause,
                   const char *format, ...) noexcept {
  if (!on_finding_) return;
  va_list arguments;
  va_start(arguments, format);
  report({CAI_SEVERITY_ADVICE, CAI_OK, entry, index, value, clause}, format, arguments);
  va_end(arguments);
}

void Judge::abandon(cai_status status, const char *message) noexcept {
  if (verdict_ != CAI_OK) return;
  verdict_ = status;
  fail(error_, status, {}, "%s", message);
}

}  // namespace cai
