// SPDX-License-Identifier: BSD-3-Clause
#include "core/error.hpp"

#include <cstdio>
#include <cstring>

#include "core/text.hpp"

namespace cai {

cai_status fail_v(cai_error *error, cai_status status, Where where, const char *format,
                  va_list arguments) noexcept {
  if (!error) return status;
  // Formatted into a separate buffer: an argument may be the message of this very error.
  char raw[sizeof error->message * 4];
  std::vsnprintf(raw, sizeof raw, format, arguments);
  std::memset(error, 0, sizeof *error);
  error->status = status;
  error->native = where.native;
  error->entry = where.entry;
  error->index = where.index;
  copy_printable(error->message, sizeof error->message, raw, std::strlen(raw));
  return status;
}

cai_status fail(cai_error *error, cai_status status, Where where, const char *format,
                ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  fail_v(error, status, where, format, arguments);
  va_end(arguments);
  return status;
}

Failure::Failure(cai_status status, Where where, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fail_v(&error_, status, where, format, arguments);
  va_end(arguments);
}

}  // namespace cai
