// SPDX-License-Identifier: BSD-3-Clause
#include "failing_new.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace test {
namespace {

std::uintptr_t code_begin, code_end;  // libcai's
std::atomic<bool> counts{false};
std::atomic<long> until_failure{-1};
std::atomic<long> seen{0};
const std::function<void()> *to_tell = nullptr;

bool find_code() {
  Dl_info info{};
  link_map *map = nullptr;
  if (!dladdr1(dlsym(RTLD_DEFAULT, "cai_drain"), &info, reinterpret_cast<void **>(&map),
               RTLD_DL_LINKMAP)) {
    return false;
  }
  const auto take = [](dl_phdr_info *each, std::size_t, void *library) {
    if (each->dlpi_addr != static_cast<link_map *>(library)->l_addr) return 0;
    for (int i = 0; i < each->dlpi_phnum; ++i) {
      const auto &segment = each->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
      code_begin = each->dlpi_addr + segment.p_vaddr;
      code_end = code_begin + segment.p_memsz;
    }
    return 1;
  };
  return dl_iterate_phdr(take, map) == 1 && code_begin;
}

bool may_allocate(const void *caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  if (!counts || at < code_begin || at >= code_end) return true;
  ++seen;
  if (to_tell) (*to_tell)();
  return until_failure-- != 0;
}

}  // namespace

long with_failing_new(long nth, const std::function<void()> &body) {
  static const bool found = find_code();
  if (!found) std::abort();
  seen = 0;
  until_failure = nth;
  counts = true;
  body();
  counts = false;
  return seen;
}

void with_told_new(const std::function<void()> &told, const std::function<void()> &body) {
  to_tell = &told;
  with_failing_new(-1, body);
  to_tell = nullptr;
}

}  // namespace test

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

// The program's own comes first for its libraries, too. libcai has an operator new within it, which
// calls malloc(); under sanitizers, which have malloc() for themselves, it has none.
#ifdef SANITIZED

void *operator new(std::size_t size) {
  void *const block =
      test::may_allocate(__builtin_return_address(0)) ? std::malloc(size ? size : 1) : nullptr;
  if (!block) throw std::bad_alloc();
  return block;
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
  return test::may_allocate(__builtin_return_address(0)) ? std::malloc(size ? size : 1) : nullptr;
}
void operator delete(void *block) noexcept {
  std::free(block);
}
void operator delete(void *block, std::size_t) noexcept {
  std::free(block);
}

#else

extern "C" {
void *__libc_malloc(std::size_t size);  // NOLINT(bugprone-reserved-identifier): glibc's name

void *malloc(std::size_t size) {
  return test::may_allocate(__builtin_return_address(0)) ? __libc_malloc(size) : nullptr;
}
}

#endif
