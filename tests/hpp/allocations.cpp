// SPDX-License-Identifier: BSD-3-Clause
// Counts every operator new of the program. Apart from the tests: inlined there, compilers would
// warn of the malloc in it.
#include "allocations.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <new>

std::uint64_t test::allocations = 0;

namespace {

// Where the program or the library is loaded that an address is of.
void *base_of(void *address) {
  Dl_info info{};
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

// Under sanitizers the libraries share the program's operator new, and what they allocate is their
// own affair.
void count(void *caller) {
  static void *const program = base_of(reinterpret_cast<void *>(&base_of));
  if (base_of(caller) == program) ++test::allocations;
}

}  // namespace

void *operator new(std::size_t size) {
  count(__builtin_return_address(0));
  if (void *const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
  count(__builtin_return_address(0));
  return std::malloc(size);
}
// The library's own would call those above from its place, not from ours.
void *operator new[](std::size_t size) {
  count(__builtin_return_address(0));
  if (void *const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept {
  count(__builtin_return_address(0));
  return std::malloc(size);
}
void operator delete[](void *memory) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
  std::free(memory);
}
