// SPDX-License-Identifier: BSD-3-Clause
// Features of PTX that the engine does not support, by name.
#pragma once

#include <string_view>
#include <vector>

namespace simcuda::kernel {

// The feature of the instruction, in the plural; empty: it is not unsupported.
std::string_view refused_feature(std::string_view root,
                                 const std::vector<std::string_view> &modifiers);
// For functions that no module defines.
std::string_view refused_function(std::string_view name);

inline constexpr std::string_view refused_references = "references to textures and surfaces";

}  // namespace simcuda::kernel
