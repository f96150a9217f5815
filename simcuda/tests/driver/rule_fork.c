// SPDX-License-Identifier: BSD-3-Clause
// Rule: A child of a process that uses the driver cannot begin to use it.
// Source: assumed, after what clients see; to be checked on a GPU
#include "driver_test.h"

#include <sys/wait.h>

int main(void) {
  const CUcontext context = start();
  USE(cuInit, 2000, unsigned);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  const pid_t child = fork();
  if (child == 0)
    _exit(cuInit(0) == NOT_INITIALIZED && cuCtxSetCurrent(context) == NOT_INITIALIZED ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  MUST_BE(status, 0);
  MUST(cuCtxSynchronize());
  return 0;
}
