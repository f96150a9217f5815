// SPDX-License-Identifier: BSD-3-Clause
// Without SIMCUDA=1 the library is a stub: nobody runs on it by accident, and it says nothing, of
// settings that it cannot read as well.
#include "driver_test.h"

int main(void) {
  char text[64];
  int ends[2];
  MUST_BE(pipe(ends), 0);
  const int before = dup(2);
  dup2(ends[1], 2);
  close(ends[1]);
  unsetenv("SIMCUDA");
  setenv("SIMCUDA_SCHEDULE", "foo", 1);
  open_driver();
  USE(cuInit, 2000, unsigned);
  USE(cuDeviceGetCount, 2000, int *);
  USE(cuTexRefDestroy, 2000, void *);
  int count = 0;
  MUST_BE(cuInit(0), STUB_LIBRARY);
  MUST_BE(cuDeviceGetCount(&count), NOT_INITIALIZED);
  MUST_BE(cuTexRefDestroy(NULL), NOT_SUPPORTED);
  dup2(before, 2);  // closes the pipe
  MUST_BE(read(ends[0], text, sizeof text), 0);
  return 0;
}
