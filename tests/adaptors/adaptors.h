/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the adaptors in C and C++ share: simcuda's driver, and a count of the failures
 * that the hook of cai_on_failure() receives. */
#pragma once

#include <cai/memory.h>

#include "check.h"
#include "simcuda.h"

enum { BYTES = 4096 };

static int told; /* failures, and the last of them */
static cai_error last_told;

static inline void hear(void *context, const cai_error *error) {
  (void)context;
  last_told = *error;
  __atomic_fetch_add(&told, 1, __ATOMIC_RELAXED);
}

/* Exactly one failure was told since the last time, with this status and text in its message. */
#define CHECK_TOLD(status, text) check_told((status), (text), __LINE__)
#define CHECK_SILENT() CHECK(__atomic_load_n(&told, __ATOMIC_RELAXED) == 0)

static inline void check_told(cai_status wanted, const char *text, int line) {
  int holds = told == 1 && last_told.status == wanted && strstr(last_told.message, text);
  if (!check_that(holds, "the failure that is told", __FILE__, line))
    fprintf(stderr, "%d told, the last: %d %s\n", told, last_told.status, last_told.message);
  told = 0;
}

static inline cai_device gpu(int32_t ordinal) {
  cai_device device;
  device.type = CAI_DEVICE_CUDA;
  device.id = ordinal;
  return device;
}

static inline uint64_t address_of(const void *pointer) {
  return (uint64_t)(uintptr_t)pointer;
}

/* What libcai has out on a GPU. */
static inline cai_usage usage_of(int32_t ordinal) {
  cai_usage usage;
  memset(&usage, 0, sizeof usage);
  usage.struct_size = sizeof usage;
  CHECK_OK(cai_memory_usage(gpu(ordinal), &usage, ERR));
  return usage;
}

/* Makes a built-in manager that of its device. */
static inline void install(const char *name, int32_t ordinal) {
  cai_manager *manager = NULL;
  CHECK_OK(cai_manager_create(name, NULL, gpu(ordinal), NULL, &manager, ERR));
  CHECK_OK(cai_manager_install(gpu(ordinal), manager, ERR));
  cai_manager_release(manager);
}
