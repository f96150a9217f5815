// SPDX-License-Identifier: BSD-3-Clause
// A signal for the process never lands on the driver's thread: one that the client holds back stays
// held back.
#include <signal.h>

#include "driver_test.h"

static volatile sig_atomic_t handled;

static void handle(int number) { handled = number; }
static void nothing(void *data) { *(volatile int *)data = 1; }

int main(void) {
  start();
  USE_STREAMS;
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  int done = 0;
  signal(SIGUSR1, handle);
  MUST(cuLaunchHostFunc(LEGACY, nothing, &done));
  MUST(cuStreamSynchronize(LEGACY));  // from here on there is a thread of the driver's
  sigset_t held, pending;
  sigemptyset(&held);
  sigaddset(&held, SIGUSR1);
  MUST_BE(sigprocmask(SIG_BLOCK, &held, NULL), 0);
  MUST_BE(kill(getpid(), SIGUSR1), 0);
  usleep(20000);
  MUST_BE(sigpending(&pending), 0);
  MUST_BE(handled, 0);
  MUST_BE(sigismember(&pending, SIGUSR1), 1);
  return 0;
}
