// SPDX-License-Identifier: BSD-3-Clause
// Rule: A version newer than the driver's own is INVALID_VALUE.
// Source: cuda.h, cuGetProcAddress
#include "driver_test.h"

int main(void) {
  open_driver();
  USE(cuDriverGetVersion, 2020, int *);
  void *function = NULL;
  int version = 0;
  MUST(cuDriverGetVersion(&version));
  MUST_BE(get_proc_address("cuMemAlloc", &function, version + 10, 0, NULL), INVALID_VALUE);
  return 0;
}
