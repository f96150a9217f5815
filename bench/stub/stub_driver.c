/* SPDX-License-Identifier: BSD-3-Clause */
/* A libcuda.so.1 for the benchmarks alone: every function succeeds and does nothing,
 * so that what is left is libcai's own time. A stream's and an event's handle is a number, its id
 * the same number; there is one context. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void *const context = (void *)(uintptr_t)0xC0;
static uint64_t events = 0x1000;

static int nothing(void) { return 0; }

static int give_context(void **out) {
  *out = context;
  return 0;
}

static int one_device(int *count) {
  *count = 1;
  return 0;
}

/* Every attribute is 1: the device has what there is to have. */
static int attribute(int *value, int which, int device) {
  (void)which, (void)device;
  *value = 1;
  return 0;
}

static int allocate(uint64_t *address, size_t size, const void *stream) {
  (void)size, (void)stream;
  *address = 0x7F0000000000;
  return 0;
}

static int allocate_from(uint64_t *address, size_t size, const void *pool, const void *stream) {
  (void)pool;
  return allocate(address, size, stream);
}

static int stream_context(const void *stream, void **out) {
  (void)stream;
  *out = context;
  return 0;
}

static int stream_id(const void *stream, unsigned long long *id) {
  *id = (uintptr_t)stream;
  return 0;
}

static int context_id(const void *of, unsigned long long *id) {
  *id = (uintptr_t)of;
  return 0;
}

static int capture_info(const void *stream, int *status, uint64_t *id, void **graph,
                        const void **nodes, uint64_t *count) {
  (void)stream, (void)id, (void)graph, (void)nodes, (void)count;
  *status = 0;
  return 0;
}

static int create_event(void **event, unsigned flags) {
  (void)flags;
  *event = (void *)(uintptr_t)__atomic_add_fetch(&events, 1, __ATOMIC_RELAXED);
  return 0;
}

typedef void (*function)(void);

static const struct {
  const char *name;
  function address;
} functions[] = {
    {"cuCtxGetCurrent", (function)give_context},
    {"cuDeviceGetCount", (function)one_device},
    {"cuDeviceGetAttribute", (function)attribute},
    {"cuDevicePrimaryCtxRetain", (function)give_context},
    {"cuMemAllocAsync", (function)allocate},
    {"cuMemAllocFromPoolAsync", (function)allocate_from},
    {"cuStreamGetCtx", (function)stream_context},
    {"cuStreamGetId", (function)stream_id},
    {"cuCtxGetId", (function)context_id},
    {"cuStreamGetCaptureInfo", (function)capture_info},
    {"cuEventCreate", (function)create_event},
};

int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status) {
  function found = (function)nothing;
  (void)version, (void)flags;
  for (unsigned i = 0; i < sizeof functions / sizeof *functions; ++i) {
    if (strcmp(name, functions[i].name) == 0) found = functions[i].address;
  }
  memcpy(out, &found, sizeof found);
  *status = 0;
  return 0;
}
