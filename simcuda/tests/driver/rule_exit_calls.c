// SPDX-License-Identifier: BSD-3-Clause
// Rule: Calls from exit handlers and destructors of a program still work.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

static CUresult (*get_info)(size_t *, size_t *);
static size_t available, total;

static void at_exit(void) {
  FOUND_STATUS("cuMemGetInfo in an exit handler", get_info(&available, &total), SUCCESS);
}

__attribute__((destructor)) static void in_destructor(void) {
  if (get_info) FOUND_STATUS("cuMemGetInfo in a destructor", get_info(&available, &total), SUCCESS);
}

int main(void) {
  start();
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  get_info = cuMemGetInfo;
  MUST_BE(atexit(at_exit), 0);
  return 0;
}
