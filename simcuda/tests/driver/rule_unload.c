// SPDX-License-Identifier: BSD-3-Clause
// Rule: A client may close the library with work pending and the driver's thread at work, and open
// it again: the driver is still there.
// Source: assumed, after what clients do; to be checked on a GPU
#include "driver_test.h"

static int calls;

static void slow(void *data) {
  usleep(20000);
  ++*(int *)data;
}

int main(void) {
  start();
  for (int i = 1; i <= 3; ++i) {
    USE_STREAMS;
    USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
    CUstream stream;
    MUST(cuStreamCreate(&stream, NON_BLOCKING));
    MUST(cuLaunchHostFunc(stream, slow, &calls));
    (void)cuStreamQuery(stream);  // the second query gets it going
    (void)cuStreamQuery(stream);
    MUST_BE(dlclose(library), 0);
    usleep(1000);
    open_driver();
    MUST(cuStreamSynchronize(stream));
    MUST_BE(calls, i);
    MUST(cuStreamDestroy(stream));
  }
  return 0;
}
