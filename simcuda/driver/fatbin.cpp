// SPDX-License-Identifier: BSD-3-Clause
#include "fatbin.h"

#include <dlfcn.h>

#include <cstring>
#include <stdexcept>

namespace simcuda {
namespace {

constexpr std::uint32_t wrapper_magic = 0x466243b1, container_magic = 0xba55ed50;
constexpr std::uint64_t compressed_by_lz4 = 0x2000, compressed_by_zstd = 0x8000;
constexpr std::uint64_t most_unpacked = std::uint64_t{1} << 30;

struct Wrapper {
  std::uint32_t magic, version;
  const void *container;
  const void *file_name;
};

struct ContainerHeader {
  std::uint32_t magic;
  std::uint16_t version, header_size;
  std::uint64_t size;  // of all entries
};

struct EntryHeader {
  std::uint16_t kind, version;
  std::uint32_t header_size;
  std::uint64_t size;             // of what follows the header
  std::uint32_t compressed_size;  // of that, without the padding
  std::uint32_t options_offset;
  std::uint16_t minor, major;
  std::uint32_t architecture;
  std::uint32_t name_offset, name_size;
  std::uint64_t flags, reserved, unpacked_size;
};
static_assert(sizeof(ContainerHeader) == 16 && sizeof(EntryHeader) == 64);

std::uint32_t magic_of(const void *bytes) {
  std::uint32_t magic;
  std::memcpy(&magic, bytes, sizeof magic);
  return magic;
}

[[noreturn]] void refuse(const char *why) {
  throw std::runtime_error(why);
}

// One block of LZ4: literals, and copies of earlier bytes.
std::string unpack_lz4(std::string_view from, std::size_t size) {
  std::string out;
  out.reserve(size);
  std::size_t at = 0;
  const auto next = [&] {
    if (at >= from.size()) refuse("compressed code ends too early");
    return static_cast<unsigned char>(from[at++]);
  };
  const auto length = [&](std::size_t first) {
    for (unsigned more = first == 15 ? 255 : 0; more == 255;) first += more = next();
    return first;
  };
  while (at < from.size() && out.size() < size) {
    const unsigned token = next();
    const std::size_t literals = length(token >> 4);
    if (literals > from.size() - at || literals > size - out.size())
      refuse("compressed code has more literals than there are");
    out += from.substr(at, literals);
    at += literals;
    if (at >= from.size() || out.size() >= size) break;
    std::size_t distance = next();
    distance |= std::size_t{next()} << 8;
    const std::size_t repeated = length(token & 15) + 4;
    if (distance == 0 || distance > out.size() || repeated > size - out.size())
      refuse("compressed code copies from where nothing is");
    for (std::size_t i = 0; i < repeated; ++i) out += out[out.size() - distance];
  }
  if (out.size() != size) refuse("compressed code is shorter than it says");
  return out;
}

// By the system's library, if there is one: nothing else here needs it.
struct Zstd {
  std::size_t (*decompress)(void *to, std::size_t room, const void *from, std::size_t size);
  unsigned (*is_error)(std::size_t result);

  static const Zstd &found() {
    static const Zstd zstd;
    if (!zstd.decompress || !zstd.is_error)
      refuse(
          "the PTX in the fat binary is compressed by zstd, and there is no libzstd.so.1 that reads "
          "it: install libzstd, or compile with --compress-mode=none");
    return zstd;
  }

 private:
  Zstd() {
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto find = [&](const char *name) { return library ? dlsym(library, name) : nullptr; };
    decompress = reinterpret_cast<decltype(decompress)>(find("ZSTD_decompress"));
    is_error = reinterpret_cast<decltype(is_error)>(find("ZSTD_isError"));
  }
};

std::string unpack_zstd(std::string_view from, std::size_t size) {
  const Zstd &zstd = Zstd::found();
  std::string out(size, '\0');
  const std::size_t unpacked = zstd.decompress(out.data(), size, from.data(), from.size());
  if (zstd.is_error(unpacked) || unpacked != size)
    refuse("code that is compressed by zstd is not what it says");
  return out;
}

}  // namespace

bool is_fat_binary(const void *bytes) {
  return magic_of(bytes) == container_magic;
}

bool is_fat_wrapper(const void *bytes) {
  return magic_of(bytes) == wrapper_magic;
}

const void *wrapped(const void *wrapper) {
  Wrapper found;
  std::memcpy(&found, wrapper, sizeof found);
  return found.container && is_fat_binary(found.container) ? found.container : nullptr;
}

std::vector<FatEntry> fat_entries(const void *container, std::size_t room) {
  const char *bytes = static_cast<const char *>(container);
  ContainerHeader header;
  if (room < sizeof header) refuse("the fat binary has no header");
  std::memcpy(&header, bytes, sizeof header);
  if (header.header_size < sizeof header || header.header_size > room ||
      header.size > room - header.header_size)
    refuse("the fat binary is shorter than it says");
  std::string_view rest(bytes + header.header_size, header.size);
  std::vector<FatEntry> entries;
  while (rest.size() >= sizeof(EntryHeader)) {
    EntryHeader entry;
    std::memcpy(&entry, rest.data(), sizeof entry);
    if (entry.header_size < sizeof entry || entry.header_size > rest.size() ||
        entry.size > rest.size() - entry.header_size)
      refuse("an entry of the fat binary is longer than all of it");
    FatEntry found;
    found.kind = static_cast<FatEntry::Kind>(entry.kind);
    found.architecture = entry.architecture;
    found.is_lz4 = entry.flags & compressed_by_lz4;
    found.is_compressed = entry.flags & (compressed_by_lz4 | compressed_by_zstd);
    found.bytes = rest.substr(entry.header_size, entry.size);
    found.unpacked_size = entry.unpacked_size;
    if (found.is_compressed) {
      if (entry.compressed_size > found.bytes.size())
        refuse("an entry of the fat binary is shorter than it says");
      found.bytes = found.bytes.substr(0, entry.compressed_size);
    }
    entries.push_back(found);
    rest.remove_prefix(entry.header_size + entry.size);
  }
  return entries;
}

std::string unpack(const FatEntry &entry) {
  if (!entry.is_compressed) return std::string(entry.bytes);
  if (entry.unpacked_size > most_unpacked) refuse("compressed code is larger than a gigabyte");
  return entry.is_lz4 ? unpack_lz4(entry.bytes, entry.unpacked_size)
                      : unpack_zstd(entry.bytes, entry.unpacked_size);
}

}  // namespace simcuda
