/* SPDX-License-Identifier: BSD-3-Clause */
/* A libcuda.so.1 that is no good, for test_no_driver.cpp. What it exports is chosen when it is
 * built: FAKE_GET_PROC_ADDRESS 0: nothing to find functions with; 1: as CUDA 11.3; 2: as CUDA 12.0.
 * FAKE_INIT=RESULT      what cuInit returns
 * FAKE_MISSING=NAME     the one function that is not there
 * FAKE_FIND=RESULT      what cuGetProcAddress returns
 * FAKE_DEVICES=NUMBER   how many GPUs there are; else none
 * FAKE_NAMES=1          cuGetErrorName has a name for every error
 * FAKE_VERSION=NUMBER   what cuDriverGetVersion says; below 0: it fails
 * FAKE_POP=late|stuck   cuCtxPopCurrent fails, with the context popped or not
 * Its streams want a context to be current, even those that are handles. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int init_calls;

/* For the test to look at. */
int fake_init_calls(void);
int fake_init_calls(void) { return __atomic_load_n(&init_calls, __ATOMIC_RELAXED); }

static int init(unsigned flags) {
  const char *result = getenv("FAKE_INIT");
  (void)flags;
  __atomic_fetch_add(&init_calls, 1, __ATOMIC_RELAXED);
  return result ? atoi(result) : 0;
}

#if FAKE_GET_PROC_ADDRESS == 0

int cuInit(unsigned flags);
int cuInit(unsigned flags) { return init(flags); }

#else

enum { error_invalid_context = 201, error_not_found = 500, error_launch_failed = 719 };
enum { contexts_max = 16 };

static __thread void *contexts[contexts_max];
static __thread int depth;

int fake_depth(void);
int fake_depth(void) { return depth; }

static int nothing(void) { return 0; }

static int on_stream(void) { return depth ? 0 : error_invalid_context; }

static int get_current(void **context) {
  *context = depth ? contexts[depth - 1] : NULL;
  return 0;
}

static int set_current(void *context) {
  if (depth) depth--;
  if (context) contexts[depth++] = context;
  return 0;
}

static int push(void *context) {
  contexts[depth++] = context;
  return 0;
}

static int pop(void **context) {
  const char *how = getenv("FAKE_POP");
  if (how && strcmp(how, "stuck") == 0) return error_launch_failed;
  *context = contexts[--depth];
  return how ? error_launch_failed : 0;
}

static int stream_context(void *stream, void **context) {
  (void)stream;
  *context = (void *)(uintptr_t)0xc0;
  return 0;
}

static int error_name(int result, const char **name) {
  (void)result;
  if (getenv("FAKE_NAMES")) *name = "CUDA_ERROR_OF_THE_FAKE";
  return 0;
}

static int version(int *out) {
  const char *said = getenv("FAKE_VERSION");
  if (said) *out = atoi(said);
  return said && *out < 0 ? error_launch_failed : 0;
}

static int device_count(int *count) {
  const char *said = getenv("FAKE_DEVICES");
  *count = said ? atoi(said) : 0;
  return 0;
}

typedef void (*function)(void);

static function find(const char *name) {
  const char *missing = getenv("FAKE_MISSING");
  if (missing && strcmp(missing, name) == 0) return NULL;
  if (strcmp(name, "cuInit") == 0) return (function)init;
  if (strcmp(name, "cuGetErrorName") == 0) return (function)error_name;
  if (strcmp(name, "cuDeviceGetCount") == 0) return (function)device_count;
  if (strcmp(name, "cuDriverGetVersion") == 0) return (function)version;
  if (strcmp(name, "cuCtxGetCurrent") == 0) return (function)get_current;
  if (strcmp(name, "cuCtxSetCurrent") == 0) return (function)set_current;
  if (strcmp(name, "cuCtxPushCurrent") == 0) return (function)push;
  if (strcmp(name, "cuCtxPopCurrent") == 0) return (function)pop;
  if (strcmp(name, "cuStreamGetCtx") == 0) return (function)stream_context;
  if (strcmp(name, "cuStreamGetCaptureInfo") == 0) return (function)on_stream;
  if (strcmp(name, "cuStreamWaitEvent") == 0) return (function)on_stream;
  if (strcmp(name, "cuEventRecord") == 0) return (function)on_stream;
  return (function)nothing;
}

#if FAKE_GET_PROC_ADDRESS == 1
int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);
int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags) {
  function found = find(name);
  (void)version;
  (void)flags;
  memcpy(out, &found, sizeof found);
  return found ? 0 : error_not_found;
}
#else
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status) {
  function found = find(name);
  (void)version;
  (void)flags;
  memcpy(out, &found, sizeof found);
  *status = found ? 0 : 1;
  return getenv("FAKE_FIND") ? atoi(getenv("FAKE_FIND")) : 0;
}
#endif
#endif
