// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/host_work.hpp"

#include <cstring>

namespace cai::transfer {
namespace {

char *pointer_to(uint64_t address) noexcept {
  return reinterpret_cast<char *>(static_cast<uintptr_t>(address));
}

// Copies pieces of a constant size in a few instructions, without a call.
template <std::size_t size>
void copy_items(const Walk &walk) noexcept {
  Walk outer = walk;
  const Axis inner = outer.axes[--outer.count];
  for_each_piece(outer, [&](uint64_t to_address, uint64_t from_address) {
    char *const to = pointer_to(to_address);
    const char *const from = pointer_to(from_address);
    for (int64_t i = 0; i < inner.extent; ++i) {
      std::memcpy(to + i * inner.to, from + i * inner.from, size);
    }
  });
}

}  // namespace

void copy_on_host(const Walk &walk) noexcept {
  if (walk.count > 0) {
    switch (walk.run) {
      case 1:
        return copy_items<1>(walk);
      case 2:
        return copy_items<2>(walk);
      case 4:
        return copy_items<4>(walk);
      case 8:
        return copy_items<8>(walk);
      case 16:
        return copy_items<16>(walk);
      default:
        break;
    }
  }
  const auto run = static_cast<std::size_t>(walk.run);
  for_each_piece(walk, [&](uint64_t to, uint64_t from) {
    std::memcpy(pointer_to(to), pointer_to(from), run);
  });
}

void fill_on_host(const Walk &walk, const void *item, uint32_t itemsize) noexcept {
  const auto run = static_cast<std::size_t>(walk.run);
  for_each_piece(walk, [&](uint64_t address, uint64_t) {
    char *const to = pointer_to(address);
    std::memcpy(to, item, itemsize);
    // Copies what is filled behind itself, twice as much each time.
    for (std::size_t done = itemsize; done < run;) {
      const std::size_t more = done < run - done ? done : run - done;
      std::memcpy(to + done, to, more);
      done += more;
    }
  });
}

}  // namespace cai::transfer
