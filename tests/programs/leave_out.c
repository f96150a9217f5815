/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into a program: leaves its call number LEAVE_OUT out, of those that order work (1: the
 * first), and says which one it was. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "cai.h"
#include "must.h"

static int left_out(const char *name) {
  static int count;
  if (++count != atoi(getenv("LEAVE_OUT"))) return 0;
  fprintf(stderr, "left out: %s\n", name);
  return 1;
}

/* The function itself, in libcai. */
static void *next(const char *name) {
  void *const found = dlsym(RTLD_NEXT, name);
  MUST_HOLD(found);
  return found;
}

cai_status cai_use_begin(cai_use *use, const cai_array *const *arrays, int32_t count,
                         uint64_t stream, const cai_use_options *options, cai_error *error) {
  __typeof__(cai_use_begin) *begin;
  cai_use_options without = {sizeof without, CAI_ORDER_BOTH, CAI_ACCESS_DEFAULT, 0, NULL};
  *(void **)&begin = next("cai_use_begin");
  if (options) without = *options;
  if (left_out("cai_use_begin")) { /* and the end does its part */
    without.order = without.order == CAI_ORDER_BEGIN ? CAI_ORDER_NONE : CAI_ORDER_END;
  }
  return begin(use, arrays, count, stream, &without, error);
}

cai_status cai_use_end(cai_use *use, cai_error *error) {
  __typeof__(cai_use_end) *end;
  *(void **)&end = next("cai_use_end");
  return left_out("cai_use_end") ? CAI_OK : end(use, error);
}

cai_status cai_array_reclaim(const cai_array *array, uint64_t stream, uint32_t access,
                             cai_error *error) {
  __typeof__(cai_array_reclaim) *reclaim;
  *(void **)&reclaim = next("cai_array_reclaim");
  return left_out("cai_array_reclaim") ? CAI_OK : reclaim(array, stream, access, error);
}

cai_status cai_array_sync_host(const cai_array *array, cai_error *error) {
  __typeof__(cai_array_sync_host) *sync;
  *(void **)&sync = next("cai_array_sync_host");
  return left_out("cai_array_sync_host") ? CAI_OK : sync(array, error);
}

cai_status cai_array_release_on(const cai_array *array, uint64_t stream, cai_error *error) {
  __typeof__(cai_array_release_on) *release_on;
  *(void **)&release_on = next("cai_array_release_on");
  if (!left_out("cai_array_release_on")) return release_on(array, stream, error);
  cai_array_release(array);
  return CAI_OK;
}
