// SPDX-License-Identifier: BSD-3-Clause
// What PTX has and the engine does not execute, by name.
#pragma once

#include <string_view>
#include <vector>

namespace simcuda::kernel {

// What the instruction belongs to, in the plural; empty: it is not among them.
std::string_view refused_feature(std::string_view root,
                                 const std::vector<std::string_view> &modifiers);
// Of functions that no module defines.
std::string_view refused_function(std::string_view name);

inline constexpr std::string_view refused_textures = "textures and surfaces";

}  // namespace simcuda::kernel
