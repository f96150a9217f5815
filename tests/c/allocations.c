/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include "allocations.h"

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

static long made, freed, left = -1;
static size_t largest;

int allocations_counted(void) {
  long before = __atomic_load_n(&made, __ATOMIC_SEQ_CST);
  void *volatile block = malloc(1);
  free(block);
  return __atomic_load_n(&made, __ATOMIC_SEQ_CST) == before + 1;
}

allocations allocations_now(void) {
  allocations now;
  now.made = __atomic_load_n(&made, __ATOMIC_SEQ_CST);
  now.freed = __atomic_load_n(&freed, __ATOMIC_SEQ_CST);
  now.largest = __atomic_load_n(&largest, __ATOMIC_SEQ_CST);
  return now;
}

void allocations_reset(void) {
  __atomic_store_n(&made, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&freed, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&largest, 0, __ATOMIC_SEQ_CST);
}

void allocations_fail_after(long count) { __atomic_store_n(&left, count, __ATOMIC_SEQ_CST); }

#ifndef SANITIZED

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* The definitions here come before libc's in the order of look-up, for the libraries too. */

static int allowed(size_t size) {
  long now = __atomic_load_n(&left, __ATOMIC_SEQ_CST);
  if (now == 0) return errno = ENOMEM, 0;
  if (now > 0) __atomic_store_n(&left, now - 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&made, 1, __ATOMIC_SEQ_CST);
  if (size > __atomic_load_n(&largest, __ATOMIC_SEQ_CST))
    __atomic_store_n(&largest, size, __ATOMIC_SEQ_CST);
  return 1;
}

/* dlsym() itself may allocate, before it has found us malloc. */
static char early[16384];
static size_t early_used;

static int is_early(const void *block) {
  return (const char *)block >= early && (const char *)block < early + sizeof early;
}

static void *early_block(size_t size) {
  void *block = early + early_used;
  size = (size + 31) & ~(size_t)15;
  if (size > sizeof early - early_used) return NULL;
  early_used += size;
  return block;
}

/* A function pointer out of dlsym(), in the way that ISO C allows. */
#define NEXT(function, name)                 \
  static int finding;                        \
  if (!function && !finding) {               \
    void *found;                             \
    finding = 1;                             \
    found = dlsym(RTLD_NEXT, name);          \
    memcpy(&function, &found, sizeof found); \
  }

void *malloc(size_t size) {
  static void *(*next)(size_t);
  NEXT(next, "malloc")
  if (!next) return early_block(size);
  return allowed(size) ? next(size) : NULL;
}

void *calloc(size_t count, size_t size) {
  static void *(*next)(size_t, size_t);
  NEXT(next, "calloc")
  if (!next) return early_block(count * size);
  return allowed(count * size) ? next(count, size) : NULL;
}

void *realloc(void *block, size_t size) {
  static void *(*next)(void *, size_t);
  NEXT(next, "realloc")
  if (is_early(block)) {
    void *copy = malloc(size);
    if (copy) memcpy(copy, block, size);
    return copy;
  }
  if (!allowed(size)) return NULL;
  if (block) __atomic_fetch_add(&freed, 1, __ATOMIC_SEQ_CST);
  return next(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  static void *(*next)(size_t, size_t);
  NEXT(next, "aligned_alloc")
  return allowed(size) ? next(alignment, size) : NULL;
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  static int (*next)(void **, size_t, size_t);
  NEXT(next, "posix_memalign")
  return allowed(size) ? next(out, alignment, size) : ENOMEM;
}

void free(void *block) {
  static void (*next)(void *);
  NEXT(next, "free")
  if (!block || is_early(block) || !next) return;
  __atomic_fetch_add(&freed, 1, __ATOMIC_SEQ_CST);
  next(block);
}

#endif /* SANITIZED */
