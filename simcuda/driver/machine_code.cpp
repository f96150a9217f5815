// SPDX-License-Identifier: BSD-3-Clause
#include "machine_code.h"

#include <elf.h>

#include <cstring>
#include <string_view>

namespace simcuda {
namespace {

// The name prefix of a section with a kernel's code.
constexpr std::string_view section_begins = ".text.";

// A part of the image; false if it is incomplete.
class Bytes {
 public:
  Bytes(const void *bytes, std::size_t room)
      : bytes_(static_cast<const char *>(bytes)), room_(room) {}

  template <class T>
  bool read(T &out, std::uint64_t at) const {
    if (at > room_ || room_ - at < sizeof out) return false;
    std::memcpy(&out, bytes_ + at, sizeof out);
    return true;
  }
  std::string_view text(std::uint64_t at, std::uint64_t end) const {
    if (end > room_ || at >= end) return {};
    return {bytes_ + at, strnlen(bytes_ + at, end - at)};
  }

 private:
  const char *bytes_;
  std::size_t room_;
};

}  // namespace

std::vector<std::string> kernels_of_machine_code(const void *bytes, std::size_t room) {
  const Bytes image(bytes, room);
  std::vector<std::string> names;
  Elf64_Ehdr header;
  Elf64_Shdr texts;
  if (!image.read(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof texts)
    return names;
  const auto section = [&](std::uint64_t number, Elf64_Shdr &out) {
    return image.read(out, header.e_shoff + number * sizeof out);
  };
  if (!section(header.e_shstrndx, texts)) return names;
  for (std::uint64_t number = 0; number < header.e_shnum; ++number) {
    Elf64_Shdr each;
    if (!section(number, each)) return {};
    const auto name = image.text(texts.sh_offset + each.sh_name, texts.sh_offset + texts.sh_size);
    if (name.starts_with(section_begins)) names.emplace_back(name.substr(section_begins.size()));
  }
  return names;
}

}  // namespace simcuda
