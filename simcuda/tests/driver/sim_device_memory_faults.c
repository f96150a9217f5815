// SPDX-License-Identifier: BSD-3-Clause
// The host cannot touch device memory by accident: it faults.
#include "driver_test.h"

#include <signal.h>
#include <sys/wait.h>

static int dies(volatile unsigned char *pointer, int write) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    if (write)
      *pointer = 1;
    else
      (void)*pointer;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

int main(void) {
  start();
  USE_MEMORY;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  CUdeviceptr data, managed;
  MUST(cuMemAlloc(&data, 16));
  MUST(cuMemAllocManaged(&managed, 16, 1));
  MUST_BE(dies((unsigned char *)(uintptr_t)data, 0), 1);
  MUST_BE(dies((unsigned char *)(uintptr_t)data, 1), 1);
  MUST_BE(dies((unsigned char *)(uintptr_t)managed, 1), 0);
  MUST(cuMemFree(managed));
  MUST_BE(dies((unsigned char *)(uintptr_t)managed, 0), 1);
  return 0;
}
