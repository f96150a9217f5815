// SPDX-License-Identifier: BSD-3-Clause
// The fundamental types of PTX, and its state spaces.
#pragma once

#include <cstdint>
#include <string_view>

namespace simcuda::kernel {

enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  u16x2,
  s16x2,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
};

enum class Space : std::uint8_t { generic, global, constant, shared, local, param };

// `none` for an invalid name.
Type type_named(std::string_view name);
std::string_view name_of(Type type);
std::string_view name_of(Space space);

constexpr unsigned bits_of(Type type) {
  switch (type) {
    case Type::none:
      return 0;
    case Type::pred:
      return 1;
    case Type::b8:
    case Type::u8:
    case Type::s8:
      return 8;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16:
      return 16;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::u16x2:
    case Type::s16x2:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::tf32:
    case Type::f32:
      return 32;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
      return 64;
    case Type::b128:
      return 128;
  }
  return 0;
}

constexpr unsigned bytes_of(Type type) {
  return bits_of(type) / 8;
}

constexpr bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}

constexpr bool is_unsigned(Type type) {
  return type == Type::u8 || type == Type::u16 || type == Type::u32 || type == Type::u64;
}

constexpr bool is_integer(Type type) {
  return is_signed(type) || is_unsigned(type);
}

constexpr bool is_bits(Type type) {
  return type == Type::b8 || type == Type::b16 || type == Type::b32 || type == Type::b64;
}

constexpr bool is_real(Type type) {
  return type >= Type::f16;
}

constexpr bool is_half(Type type) {
  return type >= Type::f16 && type <= Type::bf16x2;
}

// What is moved, loaded and stored. Halves and pairs are .b16 and .b32 there.
constexpr bool is_movable(Type type) {
  return is_bits(type) || is_integer(type) || type == Type::f32 || type == Type::f64;
}

}  // namespace simcuda::kernel
