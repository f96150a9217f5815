// SPDX-License-Identifier: BSD-3-Clause
// Fat binaries: containers of a program's code for several architectures, as nvcc embeds them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simcuda {

struct FatEntry {
  enum class Kind : std::uint16_t { ptx = 1, elf = 2 };

  Kind kind{};
  unsigned architecture = 0;  // 90: sm_90, compute_90
  bool is_compressed = false, is_lz4 = false;
  std::string_view bytes;
  std::size_t unpacked_size = 0;
};

// Whether the bytes, at least four, begin such a container, or the struct that a compiler puts
// before one.
bool is_fat_binary(const void *bytes);
bool is_fat_wrapper(const void *bytes);
// The container that such a struct names; null if it names none.
const void *wrapped(const void *wrapper);
// Reads a container of which `room` bytes may be read. Throws std::runtime_error if it is
// malformed.
std::vector<FatEntry> fat_entries(const void *container, std::size_t room);
// The contents of an entry, decompressed if needed. Throws std::runtime_error.
std::string unpack(const FatEntry &entry);

}  // namespace simcuda
