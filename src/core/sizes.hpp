// SPDX-License-Identifier: BSD-3-Clause
// The sizes of structs that callers fill in, and that may grow at the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cai.h"

namespace cai {

// The size that the struct had when the ABI was frozen. Callers compiled then fill in no more, so
// sizeof, which grows, would reject them. A later field is present if struct_size covers it.
template <class Struct>
inline constexpr std::size_t first_size = 0;
template <>
inline constexpr std::size_t first_size<cai_owner> = 72;
template <>
inline constexpr std::size_t first_size<cai_interface> = 336;
template <>
inline constexpr std::size_t first_size<cai_stream_provider> = 24;

// A larger struct_size is not the size of a struct, but an uninitialised number.
inline constexpr std::uint32_t most_size = 4096;

// Whether a byte of the struct after the first `known` is set: the struct is of a newer header, and
// the caller asks for something that this library does not know.
inline bool asks_for_more(const void *given, std::size_t known, std::size_t size) noexcept {
  const auto *const bytes = static_cast<const unsigned char *>(given);
  const auto is_set = [](unsigned char byte) { return byte != 0; };
  return size > known && std::any_of(bytes + known, bytes + size, is_set);
}

// Copies the fields that were filled in; the rest is zero.
template <class Struct>
Struct filled_in(const Struct &given) noexcept {
  Struct known{};
  std::memcpy(&known, &given, std::min<std::size_t>(given.struct_size, sizeof known));
  return known;
}

// Copies as much of a struct as the caller has room for, by the struct_size that the caller set.
template <class Struct>
void give_out(Struct known, Struct *out) noexcept {
  known.struct_size = out->struct_size;
  std::memcpy(out, &known, std::min<std::size_t>(out->struct_size, sizeof known));
}

// Whether an owner has all fields of the first version. A shorter one ends after `release`.
inline bool is_whole(const cai_owner *owner) noexcept {
  return owner && owner->struct_size >= first_size<cai_owner>;
}

}  // namespace cai
