// SPDX-License-Identifier: BSD-3-Clause
// Memory for callers that know only its address. Streams are values as from cai_stream_value(), and
// 0 is the legacy default stream. Failures are thrown.
#pragma once

#include <cstdint>

namespace cai::adaptors {

// Allocates from a GPU's manager. Returns address 0 for size 0.
std::uint64_t allocate(int32_t ordinal, std::uint64_t size, std::uint64_t stream);

// Frees memory from allocate() in the order of a stream. Does nothing for address 0.
void free(std::uint64_t address, std::uint64_t stream);

// Keeps memory from allocate() until the stream has completed the work that is queued there now.
void record(std::uint64_t address, std::uint64_t stream);

// Releases cached memory on the GPUs that allocate() has used. Reports a failure on one GPU and
// continues with the others.
void trim() noexcept;

}  // namespace cai::adaptors
