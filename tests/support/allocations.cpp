// SPDX-License-Identifier: BSD-3-Clause
#include "allocations.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <unordered_set>

#include "must.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

namespace {

std::atomic<long> made{0}, freed{0}, of_program{0}, of_libcai{0};
std::atomic<long> until_failure{-1};
std::atomic<std::size_t> largest{0};
std::atomic<void (*)(void *)> told{nullptr};
std::atomic<void *> told_context{nullptr};

// The address of an object's code.
struct Code {
  std::uintptr_t begin = 0, end = 0;

  explicit Code(void *within) {
    Dl_info info{};
    link_map *map = nullptr;
    MUST_HOLD(dladdr1(within, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP));
    base_ = map->l_addr;
    dl_iterate_phdr(take, this);
    MUST_HOLD(end);
  }

  bool has(const void *address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin && at < end;
  }

 private:
  std::uintptr_t base_ = 0;

  static int take(dl_phdr_info *each, std::size_t, void *self) {
    Code &code = *static_cast<Code *>(self);
    if (each->dlpi_addr != code.base_) return 0;
    for (int i = 0; i < each->dlpi_phnum; ++i) {
      const auto &segment = each->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
      code.begin = each->dlpi_addr + segment.p_vaddr;
      code.end = code.begin + segment.p_memsz;
    }
    return 1;
  }
};

// Found out at the first reset, which is no time of an allocation; threads may allocate meanwhile.
std::atomic<const Code *> program{nullptr}, libcai{nullptr};

bool is_of(const Code *code, const void *caller) {
  return code && code->has(caller);
}

bool is_of_libcai(const void *caller) {
  return is_of(libcai, caller);
}

bool may_allocate(const void *caller, std::size_t size) {
  if (is_of_libcai(caller)) {
    ++of_libcai;
    if (const auto tell = told.load()) tell(told_context);
    if (until_failure-- == 0) return false;
  }
  ++made;
  if (size > largest) largest = size;
  return true;
}

}  // namespace

int allocations_counted(void) {
  const long before = made;
  void *volatile block = std::malloc(1);
  std::free(block);
  return made == before + 1;
}

allocations allocations_now(void) {
  return {made, freed, of_program, of_libcai, largest};
}

void allocations_reset(void) {
  static const Code of_this(reinterpret_cast<void *>(&may_allocate));
  static const Code of_theirs(dlsym(RTLD_DEFAULT, "cai_drain"));
  program = &of_this;
  libcai = &of_theirs;
  made = freed = of_program = of_libcai = 0;
  largest = 0;
}

void allocations_fail(long nth) {
  until_failure = nth;
}

void allocations_tell(void (*tell)(void *), void *context) {
  if (tell) told_context = context;  // else a thread may be about to tell it
  told = tell;
}

#ifdef SANITIZED

static void *raw_allocate(std::size_t size) {
  return std::malloc(size);
}
static void raw_deallocate(void *block) {
  std::free(block);
}

#else

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): glibc's names
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *block, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void *block);
// NOLINTEND(bugprone-reserved-identifier)
}

static void *raw_allocate(std::size_t size) {
  return __libc_malloc(size);
}
static void raw_deallocate(void *block) {
  __libc_free(block);
}

#endif

namespace {

// Neither counts nor fails.
template <class T>
struct Raw {
  using value_type = T;
  Raw() = default;
  template <class Other>
  Raw(const Raw<Other> &) {}  // NOLINT(google-explicit-constructor): allocators convert
  T *allocate(std::size_t count) { return static_cast<T *>(raw_allocate(count * sizeof(T))); }
  void deallocate(T *block, std::size_t) { raw_deallocate(block); }
  bool operator==(const Raw &) const { return true; }
};

// Blocks of libcai's that nobody has freed.
struct Kept {
  std::mutex mutex;
  std::unordered_set<void *, std::hash<void *>, std::equal_to<void *>, Raw<void *>> blocks;
};
std::atomic<Kept *> kept{nullptr};

void *note(const void *caller, void *block) {
  if (Kept *const all = kept; all && block && is_of_libcai(caller)) {
    const std::lock_guard lock(all->mutex);
    all->blocks.insert(block);
  }
  return block;
}

void forget(void *block) {
  if (Kept *const all = kept; all && block) {
    const std::lock_guard lock(all->mutex);
    all->blocks.erase(block);
  }
}

}  // namespace

long allocations_kept(void) {
  if (!kept) {
    allocations_reset();
    kept = new Kept;
  }
  Kept &all = *kept;
  const std::lock_guard lock(all.mutex);
  return static_cast<long>(all.blocks.size());
}

static void deallocate(void *block) {
  forget(block);
#ifndef SANITIZED
  if (block) ++freed;
#endif
  raw_deallocate(block);
}

// The program's own operators also serve its libraries. libcai has an operator new within it, which
// calls malloc(); under sanitizers, which have malloc() for themselves, it has none.
#ifndef SANITIZED

extern "C" {

void *malloc(std::size_t size) {
  const void *const caller = __builtin_return_address(0);
  return may_allocate(caller, size) ? note(caller, __libc_malloc(size)) : nullptr;
}
void *calloc(std::size_t count, std::size_t size) {
  const void *const caller = __builtin_return_address(0);
  return may_allocate(caller, count * size) ? note(caller, __libc_calloc(count, size)) : nullptr;
}
void *realloc(void *block, std::size_t size) {
  const void *const caller = __builtin_return_address(0);
  if (!may_allocate(caller, size)) return nullptr;
  if (block) ++freed;
  forget(block);
  return note(caller, __libc_realloc(block, size));
}
void *aligned_alloc(std::size_t alignment, std::size_t size) {
  const void *const caller = __builtin_return_address(0);
  return may_allocate(caller, size) ? note(caller, __libc_memalign(alignment, size)) : nullptr;
}
int posix_memalign(void **out, std::size_t alignment, std::size_t size) {
  const void *const caller = __builtin_return_address(0);
  if (!may_allocate(caller, size)) return ENOMEM;
  void *const block = note(caller, __libc_memalign(alignment, size));
  if (block) *out = block;
  return block ? 0 : ENOMEM;
}
void free(void *block) {
  deallocate(block);
}
}

#endif

static void *allocate_by_new(const void *caller, std::size_t size) {
  if (!may_allocate(caller, size)) return nullptr;
  if (is_of(program, caller)) ++of_program;
  return note(caller, raw_allocate(size ? size : 1));
}

void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
  return allocate_by_new(__builtin_return_address(0), size);
}
void *operator new(std::size_t size) {
  if (void *const block = allocate_by_new(__builtin_return_address(0), size)) return block;
  throw std::bad_alloc();
}
// The library's own would call those above from its place, not from ours.
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept {
  return allocate_by_new(__builtin_return_address(0), size);
}
void *operator new[](std::size_t size) {
  if (void *const block = allocate_by_new(__builtin_return_address(0), size)) return block;
  throw std::bad_alloc();
}
void operator delete(void *block) noexcept {
  deallocate(block);
}
void operator delete(void *block, std::size_t) noexcept {
  deallocate(block);
}
void operator delete[](void *block) noexcept {
  deallocate(block);
}
void operator delete[](void *block, std::size_t) noexcept {
  deallocate(block);
}
