// SPDX-License-Identifier: BSD-3-Clause
// typestr, "<f4", to and from cai_dtype.
#pragma once

#include <bit>
#include <cstddef>
#include <string_view>

#include "cai.h"

namespace cai {

// How far a typestr keeps to the text.
enum class Spelling {
  exact,
  loose,  // no byte order, '=', or '|' where order matters; zeros before a number: certain in
          // meaning, but not the text
  wrong,
};

struct ParsedTypestr {
  cai_dtype dtype{};
  Spelling spelling = Spelling::wrong;
  const char *fault = nullptr;  // what is wrong or loose, to follow "typestr '...' "
};

ParsedTypestr parse_typestr(const char *text, size_t length) noexcept;

// Writes canonical text and its NUL into CAI_TYPESTR_SIZE bytes. `dtype` must have no fault.
void format_typestr(const cai_dtype &dtype, char *out) noexcept;

// What is wrong with a type, to follow "typestr "; NULL if nothing is. Only a mask may be of bits.
const char *dtype_fault(const cai_dtype &dtype, bool bits_allowed) noexcept;

inline constexpr char kHostOrder = std::endian::native == std::endian::little ? '<' : '>';

// Whether the items' byte order is not this machine's.
inline bool is_swapped(const cai_dtype &dtype) noexcept {
  return dtype.byteorder != kHostOrder && dtype.byteorder != '|';
}

// Whether elements of a kind can be told to be true or not: what is not 0 is, as in C.
inline bool can_be_mask(uint8_t kind) noexcept {
  return std::string_view("biufct").find(static_cast<char>(kind)) != std::string_view::npos;
}

// The CAI_EXT_* of a name such as "bfloat16" for so many bytes; CAI_EXT_NONE for any other.
uint8_t extension_named(const char *name, uint32_t itemsize) noexcept;

bool same_dtype(const cai_dtype &a, const cai_dtype &b) noexcept;

}  // namespace cai
