// SPDX-License-Identifier: BSD-3-Clause
#include "core/text.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace cai {
namespace {

constexpr int32_t kItemsShown = 8;  // of a tuple or list
constexpr int kDepthShown = 4;

// The bytes of the UTF-8 character at `text`, or 0 if it is invalid (Unicode, table 3-7).
size_t character_length(const unsigned char *text, size_t left) noexcept {
  const unsigned char first = text[0];
  if (first < 0x80) return 1;
  size_t length = 0;
  unsigned char low = 0x80, high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || length > left || text[1] < low || text[1] > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (text[i] < 0x80 || text[i] > 0xBF) return 0;
  }
  return length;
}

}  // namespace

bool is_utf8(const char *text, size_t length) noexcept {
  const auto *bytes = reinterpret_cast<const unsigned char *>(text);
  for (size_t i = 0; i < length;) {
    const size_t step = character_length(bytes + i, length - i);
    if (step == 0) return false;
    i += step;
  }
  return true;
}

size_t copy_printable(char *out, size_t capacity, const char *text, size_t length) noexcept {
  const auto *bytes = reinterpret_cast<const unsigned char *>(text);
  size_t written = 0;
  for (size_t i = 0; i < length;) {
    const size_t step = character_length(bytes + i, length - i);
    const bool control = bytes[i] < 0x20 || bytes[i] == 0x7F;
    char escaped[5];
    const char *piece = text + i;
    size_t piece_length = step;
    if (step == 0 || control) {
      std::snprintf(escaped, sizeof escaped, "\\x%02x", bytes[i]);
      piece = escaped;
      piece_length = 4;
    }
    if (written + piece_length >= capacity) break;
    std::memcpy(out + written, piece, piece_length);
    written += piece_length;
    i += step ? step : 1;
  }
  out[written] = '\0';
  return written;
}

Letter::Letter(uint8_t code) noexcept {
  const bool shown = code > 0x20 && code < 0x7F;
  std::snprintf(text_, sizeof text_, shown ? "'%c'" : "%u", code);
}

Printed::Printed(const int64_t *dims, int32_t ndim) noexcept {
  cai_value items[kItemsShown + 1] = {};
  for (int32_t i = 0; i < ndim && i <= kItemsShown; ++i) {
    items[i].form = CAI_FORM_INT;
    items[i].integer = static_cast<uint64_t>(dims[i]);
  }
  cai_value tuple{};
  tuple.form = CAI_FORM_TUPLE;
  tuple.length = static_cast<uint32_t>(ndim);
  tuple.items = items;
  append(tuple, 0);
}

void Printed::append(const char *text, size_t length) noexcept {
  length_ += copy_printable(text_ + length_, sizeof text_ - length_, text, length);
}

void Printed::append(const char *text) noexcept {
  append(text, std::strlen(text));
}

void Printed::append_items(const cai_value &value, const char *open, const char *close,
                           int depth) noexcept {
  append(open);
  if (value.length && (!value.items || depth >= kDepthShown)) {
    append("...");
  } else {
    for (uint32_t i = 0; i < value.length; ++i) {
      if (i) append(", ");
      if (i == kItemsShown) {
        append("...");
        break;
      }
      append(value.items[i], depth + 1);
    }
    if (value.length == 1 && *open == '(') append(",");
  }
  append(close);
}

void Printed::append(const cai_value &value, int depth) noexcept {
  char digits[32];
  switch (value.form) {
    case CAI_FORM_MISSING:
      return append("(missing)");
    case CAI_FORM_NONE:
      return append("None");
    case CAI_FORM_INT:
    case CAI_FORM_INDEX:
      if (value.range == CAI_RANGE_BEYOND && value.text) return append(value.text, value.length);
      if (value.range == CAI_RANGE_BEYOND) return append("an integer of more than 64 bits");
      if (value.range == CAI_RANGE_UINT64) {
        std::snprintf(digits, sizeof digits, "%" PRIu64, value.integer);
      } else {
        std::snprintf(digits, sizeof digits, "%" PRId64, static_cast<int64_t>(value.integer));
      }
      return append(digits);
    case CAI_FORM_BOOL:
      return append(value.integer ? "True" : "False");
    case CAI_FORM_TEXT:
    case CAI_FORM_TEXT_SUBCLASS:
    case CAI_FORM_BYTES:
      append(value.form == CAI_FORM_BYTES ? "b'" : "'");
      if (value.text) append(value.text, value.length);
      return append("'");
    case CAI_FORM_TUPLE:
    case CAI_FORM_TUPLE_SUBCLASS:
      return append_items(value, "(", ")", depth);
    case CAI_FORM_LIST:
      return append_items(value, "[", "]", depth);
    default:
      if (value.text) return append(value.text, value.length);
      if (value.form == CAI_FORM_DICT || value.form == CAI_FORM_DICT_SUBCLASS)
        return append("a dict");
      return append(value.form == CAI_FORM_FLOAT ? "a float" : "an object");
  }
}

}  // namespace cai
