// SPDX-License-Identifier: BSD-3-Clause
// Families of instructions that are not loops over lanes: control flow, barriers, exchange among
// the threads of a warp, textures and surfaces.
#pragma once

#include "lowering.h"
#include "warp.h"

namespace simcuda::kernel {

bool select_control(Lowering &);
bool select_barrier(Lowering &);
bool select_exchange(Lowering &);
bool select_texture(Lowering &);
bool select_surface(Lowering &);

// bar.warp.sync: the lanes in the mask `e` wait for each other.
void sync_lanes(Warp &warp, const Instruction &instruction, std::uint32_t mask);
// One of the engine's own functions, for the lanes of `mask`.
void call_builtin(Warp &warp, std::uint32_t mask, const Call &call, const Body &body);
// The place of an argument or a result.
std::byte *place_of(const Warp &warp, const Frame &frame, const Passed &passed, unsigned lane);

}  // namespace simcuda::kernel
