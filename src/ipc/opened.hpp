// SPDX-License-Identifier: BSD-3-Clause
// Memory of other processes, opened by a manager's own function: each handle once.
#pragma once

#include "managers/manager.hpp"

namespace cai::ipc {

struct Opened;

// Opens a handle by the manager, whose device's primary context is current, or shares what it has
// open. Null if neither the manager nor any upstream has a way of its own.
Opened *open_by_manager(managers::Manager &manager, const cai_ipc_handle &handle, int32_t fd,
                        uint64_t stream);

// Where the memory begins.
uint64_t address_of(const Opened &opened) noexcept;
uint64_t size_of(const Opened &opened) noexcept;

// Ends a share; with the last one the manager closes it. All work that uses it is complete.
void close_by_manager(Opened *opened);

}  // namespace cai::ipc
