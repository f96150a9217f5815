/* SPDX-License-Identifier: BSD-3-Clause */
/* A memory manager in C: memory is its upstream manager's, and bytes that are out are counted.
 *
 *   cc -shared -fPIC counting.c -o libcounting.so $(pkg-config --cflags --libs libcai-memory)
 *   CAI_MEMORY_MANAGER=$PWD/libcounting.so ./program
 */
#include <cai/memory.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct counting {
  cai_manager *upstream;
  _Atomic uint64_t bytes;
} counting;

static cai_status create(const void *params, cai_device device, cai_manager *upstream, void **self,
                         cai_error *error) {
  (void)params;
  counting *made = calloc(1, sizeof *made);
  if (!made) return CAI_ERR_MEMORY;
  /* libcai makes it with no upstream where it was chosen by name. */
  const char *usual = device.type == CAI_DEVICE_CPU ? "host" : "default";
  cai_status status = CAI_OK;
  if (upstream) {
    cai_manager_retain(upstream);
    made->upstream = upstream;
  } else {
    status = cai_manager_create(usual, NULL, device, NULL, &made->upstream, error);
  }
  if (status == CAI_OK) *self = made;
  if (status != CAI_OK) free(made);
  return status;
}

static void destroy(void *self) {
  counting *me = self;
  if (me->bytes) fprintf(stderr, "counting: %llu bytes are out\n", (unsigned long long)me->bytes);
  cai_manager_release(me->upstream);
  free(me);
}

static cai_status nothing(void *self, cai_error *error) {
  (void)self, (void)error;
  return CAI_OK;
}

static cai_status memalloc(void *self, uint64_t size, uint64_t align, uint32_t kind,
                           uint64_t stream, cai_block *out, cai_error *error) {
  counting *me = self;
  cai_status status = cai_manager_alloc(me->upstream, size, align, kind, stream, out, error);
  if (status == CAI_OK) me->bytes += out->size;
  return status;
}

/* memfree gets no kind: DEFAULT stands for all kinds of memalloc. The block has the upstream
 * manager's cookie, unchanged. */
static cai_status memfree(void *self, const cai_block *block, uint64_t stream, cai_error *error) {
  counting *me = self;
  cai_status status = cai_manager_free(me->upstream, block, CAI_KIND_DEFAULT, stream, error);
  if (status == CAI_OK) me->bytes -= block->size;
  return status;
}

/* Visible, also in a library that is compiled with -fvisibility=hidden. */
extern __attribute__((visibility("default"))) const cai_manager_table cai_manager_table_export;
const cai_manager_table cai_manager_table_export = {
    .struct_size = sizeof(cai_manager_table),
    .version = CAI_MANAGER_VERSION,
    .name = "counting",
    .create = create,
    .destroy = destroy,
    .initialize = nothing,
    .reset = nothing,
    .memalloc = memalloc,
    .memfree = memfree,
};
