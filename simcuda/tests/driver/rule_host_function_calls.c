// SPDX-License-Identifier: BSD-3-Clause
// Rule: A host function that calls the driver is refused.
// Source: cuda.h, cuLaunchHostFunc, which allows but does not promise it; to be checked on a GPU
#include <signal.h>

#include "driver_test.h"

static CUresult (*get_info)(size_t *, size_t *);
static CUresult status = -1;

static void call(void *unused) {
  size_t available = 0, total = 0;
  (void)unused;
  status = get_info(&available, &total);
}

static void give_up(int number) {
  (void)number;
  found("cuMemGetInfo within one", "does not return", status_name(NOT_PERMITTED));
  _exit(0);
}

int main(void) {
  start();
  USE_STREAMS;
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  CUstream stream;
  get_info = cuMemGetInfo;
  signal(SIGALRM, give_up);
  alarm(600);
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuLaunchHostFunc(stream, call, NULL));
  MUST(cuStreamSynchronize(stream));
  FOUND_STATUS("cuMemGetInfo within one", status, NOT_PERMITTED);
  return 0;
}
