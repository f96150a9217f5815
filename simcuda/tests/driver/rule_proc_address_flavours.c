// SPDX-License-Identifier: BSD-3-Clause
// Rule: A version names the signature, the flags name the flavour: base names give what was new at
// that version, and a function without a per-thread flavour falls back to its only one.
// Source: cuda.h, cuGetProcAddress
#include "driver_test.h"

static void *named(const char *name, int version, uint64_t flags) {
  void *function = NULL;
  MUST(get_proc_address(name, &function, version, flags, NULL));
  return function;
}

int main(void) {
  open_driver();
  MUST_BE(named("cuMemAlloc", 3020, 0) == dlsym(library, "cuMemAlloc_v2"), 1);
  MUST_BE(named("cuMemAlloc", 12000, 0) == dlsym(library, "cuMemAlloc_v2"), 1);
  MUST_BE(named("cuStreamGetCaptureInfo", 10010, 0) == dlsym(library, "cuStreamGetCaptureInfo"), 1);
  MUST_BE(named("cuStreamGetCaptureInfo", 11030, 0) == dlsym(library, "cuStreamGetCaptureInfo_v2"),
          1);
  MUST_BE(named("cuMemcpyAsync", 7000, 1) == dlsym(library, "cuMemcpyAsync"), 1);
  MUST_BE(named("cuMemcpyAsync", 7000, 2) == dlsym(library, "cuMemcpyAsync_ptsz"), 1);
  MUST_BE(named("cuMemcpyHtoD", 7000, 2) == dlsym(library, "cuMemcpyHtoD_v2_ptds"), 1);
  MUST_BE(named("cuMemAlloc", 7000, 2) == dlsym(library, "cuMemAlloc_v2"), 1);
  return 0;
}
