// SPDX-License-Identifier: BSD-3-Clause
// What the driver says of an address, for the rules about kinds of memory.
#pragma once

#include "driver_test.h"

// Eight bytes each, whatever the driver writes into them.
enum {
  CONTEXT = 1,
  MEMORY_TYPE = 2,
  DEVICE_POINTER = 3,
  HOST_POINTER = 4,
  BUFFER_ID = 7,
  IS_MANAGED = 8,
  DEVICE_ORDINAL = 9,
  IPC_CAPABLE = 10,
  RANGE_START = 11,
  RANGE_SIZE = 12,
  MAPPED = 13,
  MEMPOOL_HANDLE = 17,
  ATTRIBUTES = 18
};
enum { NO_MEMORY = 0, HOST_MEMORY = 1, DEVICE_MEMORY = 2 };

typedef struct {
  uint64_t of[ATTRIBUTES];
} Attributes;

static inline CUresult get_attributes(CUdeviceptr pointer, Attributes *out) {
  USE(cuPointerGetAttributes, 7000, unsigned, int *, void **, CUdeviceptr);
  int wanted[] = {CONTEXT,     MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER,
                  BUFFER_ID,   IS_MANAGED,  DEVICE_ORDINAL, IPC_CAPABLE,
                  RANGE_START, RANGE_SIZE,  MAPPED,         MEMPOOL_HANDLE};
  enum { COUNT = sizeof wanted / sizeof *wanted };
  void *values[COUNT];
  memset(out, 0, sizeof *out);
  for (int i = 0; i < COUNT; ++i) values[i] = &out->of[wanted[i]];
  return cuPointerGetAttributes(COUNT, wanted, values, pointer);
}

static inline Attributes attributes_of(CUdeviceptr pointer) {
  Attributes attributes;
  MUST(get_attributes(pointer, &attributes));
  return attributes;
}

static inline CUdeviceptr address_of(const void *host) {
  return (CUdeviceptr)(uintptr_t)host;
}

enum { PAGE = 4096 };

// A page of the program's own, to register.
static inline unsigned char *new_page(void) {
  static unsigned char pages[2 * PAGE];
  return pages + PAGE - (uintptr_t)pages % PAGE;
}
