/* SPDX-License-Identifier: BSD-3-Clause */
/* What pages of the reference show in C. tests/python/test_docs.py compiles and runs it, without a
 * driver and on simcuda. */
#include <cai.h>
#include <cai/device.h>
#include <cai/memory.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(call) \
  if ((call) != CAI_OK) return fprintf(stderr, "%s: %s\n", #call, error.message), 1

static cai_error error;

static int refuse(void) { return 2; }

static int consume(const cai_array *array) {
  /* [array */
  if (cai_array_refuses(array, CAI_FLAG_READONLY)) return refuse();
  /* array] */
  return 0;
}

static int streams(const char *where) {
  /* [devices */
  cai_device device;
  cai_stream *stream, *other;
  MUST(cai_device_parse(where, &device, &error)); /* "cpu", "gpu", "gpu:1", "cuda:1", "gpu:free" */
  MUST(cai_stream_create(device, CAI_MODE_ASYNC, 0, &stream, &error));
  MUST(cai_stream_current(device, &other, &error)); /* the thread's own, made at the first need */
  MUST(cai_stream_follow(other, stream,
                         &error)); /* later work there waits for what is queued here */
  cai_stream_release(other);
  cai_stream_release(stream); /* waits for nothing: what is queued still runs */
  /* devices] */
  return 0;
}

static int allocate(cai_device device) {
  /* [memory */
  cai_request request = {.struct_size = sizeof request, .kind = CAI_KIND_ASYNC, .size = 4096};
  cai_memory *memory;
  MUST(cai_memory_alloc(device, &request, &memory, &error));
  /* memory] */
  cai_memory_release(memory);
  return 0;
}

static int manage(cai_device device) {
  /* [managers */
  cai_manager *base = NULL, *tracked = NULL;
  MUST(cai_manager_create("default", NULL, device, NULL, &base, &error));
  MUST(cai_manager_create("tracking", NULL, device, base, &tracked, &error));
  MUST(cai_manager_install(device, tracked, &error));
  /* managers] */
  cai_manager_release(tracked);
  cai_manager_release(base);
  return 0;
}

int main(int count, char **arguments) {
  const char *where = count > 1 ? arguments[1] : "cpu";
  const cai_array masked = {.abi_major = CAI_ABI_MAJOR, .flags = CAI_FLAG_MASKED};
  const cai_array readonly = {.abi_major = CAI_ABI_MAJOR, .flags = CAI_FLAG_READONLY};
  cai_device device;
  if (consume(&masked) != 2 || consume(&readonly) != 0) return 1;
  MUST(cai_device_parse(where, &device, &error));
  if (streams(where) || allocate(device)) return 1;
  if (device.type != CAI_DEVICE_CPU && manage(device)) return 1;
  puts("all of it");
  return 0;
}
