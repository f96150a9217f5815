// SPDX-License-Identifier: BSD-3-Clause
// Memory of other processes that a manager's function has opened, each handle once.
#pragma once

#include "managers/manager.hpp"

namespace cai::ipc {

struct Opened;

// Opens a handle through the manager, whose device's primary context is current, or shares what it
// has open. Null if neither the manager nor any upstream has a function for it.
Opened *open_by_manager(managers::Manager &manager, const cai_ipc_handle &handle, int32_t fd,
                        uint64_t stream);

// Where the memory begins.
uint64_t address_of(const Opened &opened) noexcept;
uint64_t size_of(const Opened &opened) noexcept;

// Ends a share. The last one closes the memory. All work that uses it must be complete.
void close_by_manager(Opened *opened);

}  // namespace cai::ipc
