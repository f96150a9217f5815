// SPDX-License-Identifier: BSD-3-Clause
// typestr, "<f4", to and from cai_dtype.
#pragma once

#include <bit>
#include <cstddef>
#include <string_view>

#include "cai.h"

namespace cai {

// How closely a typestr follows the text.
enum class Spelling {
  exact,
  loose,  // no byte order, '=', or '|' where order matters; leading zeros: clear in
          // meaning, but not the text
  wrong,
};

struct ParsedTypestr {
  cai_dtype dtype{};
  Spelling spelling = Spelling::wrong;
  const char *fault = nullptr;  // what is wrong or loose, as text to follow "typestr '...' "
};

ParsedTypestr parse_typestr(const char *text, size_t length) noexcept;

// Writes the canonical text and a NUL into CAI_TYPESTR_SIZE bytes. `dtype` must be valid.
void format_typestr(const cai_dtype &dtype, char *out) noexcept;

// Returns what is wrong with a type, as text to follow "typestr "; NULL if nothing is. Only the
// type of a mask may be bits.
const char *dtype_fault(const cai_dtype &dtype, bool bits_allowed) noexcept;

inline constexpr char kHostOrder = std::endian::native == std::endian::little ? '<' : '>';
inline constexpr char kOtherOrder = kHostOrder == '<' ? '>' : '<';

// Whether the items have the other byte order than this machine.
inline bool is_swapped(const cai_dtype &dtype) noexcept {
  return dtype.byteorder != kHostOrder && dtype.byteorder != '|';
}

// Whether elements of a kind can be true or false: as in C, all but 0 are true.
inline bool can_be_mask(uint8_t kind) noexcept {
  return std::string_view("biufct").find(static_cast<char>(kind)) != std::string_view::npos;
}

// Returns the CAI_EXT_* of a name such as "bfloat16" with an item size; CAI_EXT_NONE for any other.
uint8_t extension_named(const char *name, uint32_t itemsize) noexcept;
// The reverse: its name.
const char *name_of_extension(uint8_t ext) noexcept;

bool same_dtype(const cai_dtype &a, const cai_dtype &b) noexcept;

}  // namespace cai
