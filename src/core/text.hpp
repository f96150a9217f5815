// SPDX-License-Identifier: BSD-3-Clause
// Untrusted text, made printable; and values of a dict, formatted for a message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cai.h"

namespace cai {

// Whether these bytes are UTF-8 as Unicode defines it: no surrogates, no overlong forms.
bool is_utf8(const char *text, size_t length) noexcept;

// Copies text into `out` as valid UTF-8 without control characters: what cannot be printed is
// written as \xNN. Cut between characters to fit in `capacity` bytes, NUL included. Returns the
// bytes written.
size_t copy_printable(char *out, size_t capacity, const char *text, size_t length) noexcept;

// A character as "'f'", or as its number if it cannot be printed.
class Letter {
 public:
  explicit Letter(uint8_t code) noexcept;
  const char *c_str() const noexcept { return text_; }

 private:
  char text_[5];
};

// A value of a dict as its producer would write it, cut to fit in a message.
class Printed {
 public:
  explicit Printed(const cai_value &value) noexcept { append(value, 0); }
  Printed(const int64_t *dims, int32_t ndim) noexcept;  // as a tuple
  const char *c_str() const noexcept { return text_; }

 private:
  void append(const cai_value &value, int depth) noexcept;
  void append(const char *text, size_t length) noexcept;
  void append(const char *text) noexcept;
  void append_items(const cai_value &value, const char *open, const char *close,
                    int depth) noexcept;

  char text_[97] = "";
  size_t length_ = 0;
};

}  // namespace cai
