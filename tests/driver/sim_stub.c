// SPDX-License-Identifier: BSD-3-Clause
// Without SIMCUDA=1 the library is a stub: nobody runs on it by accident.
#include "driver_test.h"

int main(void) {
  unsetenv("SIMCUDA");
  open_driver();
  USE(cuInit, 2000, unsigned);
  USE(cuDeviceGetCount, 2000, int *);
  int count = 0;
  MUST_BE(cuInit(0), STUB_LIBRARY);
  MUST_BE(cuDeviceGetCount(&count), NOT_INITIALIZED);
  return 0;
}
