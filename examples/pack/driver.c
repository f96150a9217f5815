/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static driver loaded;
static cai_error why_not; /* its status is CAI_OK once `loaded` is complete */
static pthread_once_t once = PTHREAD_ONCE_INIT;

cai_status fail(cai_error *error, cai_status status, const char *format, ...) {
  if (!error) return status;
  memset(error, 0, sizeof *error);
  error->status = status;
  error->index = -1;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return status;
}

cai_status check(const driver *cu, CUresult result, const char *call, cai_error *error) {
  if (result == 0) return CAI_OK;
  const char *name = NULL;
  cu->cuGetErrorName(result, &name);
  fail(error, CAI_ERR_CUDA, "%s failed: %s (%d)", call, name ? name : "unknown error", result);
  if (error) error->native = result;
  return CAI_ERR_CUDA;
}

/* The driver is loaded once and never unloaded. */
static void load(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fail(&why_not, CAI_ERR_DRIVER, "no CUDA driver: %s", dlerror());
    return;
  }
  /* The one function that is found by name. It finds the others by name and version, so that a
   * newer driver cannot hand out another form of them. */
  CUresult (*get)(const char *, void **, int, uint64_t, int *);
  *(void **)&get = dlsym(library, "cuGetProcAddress_v2");
  if (!get) {
    fail(&why_not, CAI_ERR_DRIVER, "the CUDA driver is older than CUDA 12.0");
    return;
  }
  int found;
#define DRIVER_LOAD(name, version, arguments)                                        \
  if (get(#name, (void **)&loaded.name, version, 0, &found) != 0 || !loaded.name) {  \
    fail(&why_not, CAI_ERR_DRIVER, "the CUDA driver has no " #name " of " #version); \
    return;                                                                          \
  }
  DRIVER_FUNCTIONS(DRIVER_LOAD)
#undef DRIVER_LOAD
  check(&loaded, loaded.cuInit(0), "cuInit", &why_not);
  if (why_not.status != CAI_OK) why_not.status = CAI_ERR_DRIVER;
}

const driver *driver_get(cai_error *error) {
  pthread_once(&once, load);
  if (why_not.status == CAI_OK) return &loaded;
  if (error) *error = why_not;
  return NULL;
}
