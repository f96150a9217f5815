// SPDX-License-Identifier: BSD-3-Clause
// Memory for callers who know it by its address alone. Streams are values as of cai_stream_value(),
// and 0 is the legacy default stream; failures are thrown.
#pragma once

#include <cstdint>

namespace cai::adaptors {

// Allocates from the manager of a GPU. Address 0 for size 0.
std::uint64_t allocate(int32_t ordinal, std::uint64_t size, std::uint64_t stream);

// Frees what allocate() gave, in the order of a stream. Address 0 is nothing.
void free(std::uint64_t address, std::uint64_t stream);

// Keeps what allocate() gave until the stream has passed what is queued on it by now.
void record(std::uint64_t address, std::uint64_t stream);

// Gives back what is freed but kept on the GPUs that allocate() has used. What
// has gone wrong on one is reported, and the others are gone on with.
void trim() noexcept;

}  // namespace cai::adaptors
