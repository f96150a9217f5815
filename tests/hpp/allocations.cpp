// SPDX-License-Identifier: BSD-3-Clause
// Counts every operator new of the program. Apart from the tests: inlined there, compilers would
// warn of the malloc in it.
#include "allocations.hpp"

#include <cstdlib>
#include <new>

std::uint64_t test::allocations = 0;

void *operator new(std::size_t size) {
  ++test::allocations;
  if (void *const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
  ++test::allocations;
  return std::malloc(size);
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
  std::free(memory);
}
