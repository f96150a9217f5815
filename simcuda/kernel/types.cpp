// SPDX-License-Identifier: BSD-3-Clause
#include "types.h"

#include <algorithm>
#include <utility>

namespace simcuda::kernel {
namespace {

constexpr std::string_view spaces[] = {"generic", "global", "constant",
                                       "shared",  "local",  "parameter"};
constexpr std::pair<Type, std::string_view> names[] = {
    {Type::none, ""},         {Type::pred, "pred"}, {Type::b8, "b8"},       {Type::b16, "b16"},
    {Type::b32, "b32"},       {Type::b64, "b64"},   {Type::b128, "b128"},   {Type::u8, "u8"},
    {Type::u16, "u16"},       {Type::u32, "u32"},   {Type::u64, "u64"},     {Type::s8, "s8"},
    {Type::s16, "s16"},       {Type::s32, "s32"},   {Type::s64, "s64"},     {Type::u16x2, "u16x2"},
    {Type::s16x2, "s16x2"},   {Type::f16, "f16"},   {Type::f16x2, "f16x2"}, {Type::bf16, "bf16"},
    {Type::bf16x2, "bf16x2"}, {Type::tf32, "tf32"}, {Type::f32, "f32"},     {Type::f64, "f64"},
};

}  // namespace

Type type_named(std::string_view name) {
  for (auto &[type, its_name] : names)
    if (its_name == name) return type;
  return Type::none;
}

std::string_view name_of(Type type) {
  return std::ranges::find(names, type, &std::pair<Type, std::string_view>::first)->second;
}

std::string_view name_of(Space space) {
  return spaces[static_cast<int>(space)];
}

}  // namespace simcuda::kernel
