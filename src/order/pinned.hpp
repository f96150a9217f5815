// SPDX-License-Identifier: BSD-3-Clause
// Pinned memory may have two addresses: the device's, which its arrays use, and the host's.
#pragma once

#include <cstdint>

#include "cai.h"

namespace cai::order {

// The host's address of an array's first element, for memory of libcai's or of others; 0 if the
// host cannot use it, or the driver does not know it, or there is none. Makes no context. Throws
// what the driver fails with.
std::uint64_t ask_for_host_address(const cai_array &array);

// The GPU's address of the first element of an array in host memory; that of another is its own.
std::uint64_t device_address(const cai_array &array);

// The address by which the host's work on the array's memory is known, and the one by which a
// GPU's is: what is not known stays as it is.
std::uint64_t address_of_host_work(const cai_array &array);
std::uint64_t address_of_gpu_work(const cai_array &array) noexcept;

}  // namespace cai::order
