// SPDX-License-Identifier: BSD-3-Clause
// A call that comes after the library's own end returns DEINITIALIZED, and does not hang.
#include "driver_test.h"

static CUresult (*get_count)(int *);

// A stream's last bytes are written when all destructors have run.
static ssize_t write_at_last(void *unused, const char *bytes, size_t size) {
  (void)unused, (void)bytes, (void)size;
  int count = 7;
  _exit(get_count(&count) == DEINITIALIZED && count == 7 ? 0 : 1);
}

int main(void) {
  start();
  USE(cuDeviceGetCount, 2000, int *);
  int count = 0;
  MUST(cuDeviceGetCount(&count));
  get_count = cuDeviceGetCount;
  const cookie_io_functions_t functions = {.write = write_at_last};
  FILE *last = fopencookie(NULL, "w", functions);
  MUST_BE(last != NULL && fputs("the end", last) >= 0, 1);
  return 1;  // what is written decides
}
