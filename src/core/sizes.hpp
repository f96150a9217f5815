// SPDX-License-Identifier: BSD-3-Clause
// Sizes of structs that others fill in, and that grow at the tail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cai.h"

namespace cai {

// As the struct was when the ABI was frozen. Code that was compiled then fills in no more, so
// sizeof, which grows, would turn such callers away; what is added is there if struct_size reaches
// it.
template <class Struct>
inline constexpr std::size_t first_size = 0;
template <>
inline constexpr std::size_t first_size<cai_owner> = 72;
template <>
inline constexpr std::size_t first_size<cai_interface> = 336;
template <>
inline constexpr std::size_t first_size<cai_stream_provider> = 24;

// Beyond that, struct_size is not a size but an uninitialised number.
inline constexpr std::uint32_t most_size = 4096;

// Whether something is set beyond `known` bytes of a struct: it is of a newer header, and asks for
// what this library does not know.
inline bool asks_for_more(const void *given, std::size_t known, std::size_t size) noexcept {
  const auto *const bytes = static_cast<const unsigned char *>(given);
  const auto is_set = [](unsigned char byte) { return byte != 0; };
  return size > known && std::any_of(bytes + known, bytes + size, is_set);
}

// As much as was filled in, then zeros.
template <class Struct>
Struct filled_in(const Struct &given) noexcept {
  Struct known{};
  std::memcpy(&known, &given, std::min<std::size_t>(given.struct_size, sizeof known));
  return known;
}

// Gives a caller as much of a struct as it has room for, by the struct_size that it has set.
template <class Struct>
void give_out(Struct known, Struct *out) noexcept {
  known.struct_size = out->struct_size;
  std::memcpy(out, &known, std::min<std::size_t>(out->struct_size, sizeof known));
}

// Whether an owner has all that owners had at first. A shorter one ends after `release`.
inline bool is_whole(const cai_owner *owner) noexcept {
  return owner && owner->struct_size >= first_size<cai_owner>;
}

}  // namespace cai
