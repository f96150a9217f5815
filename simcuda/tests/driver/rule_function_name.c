// SPDX-License-Identifier: BSD-3-Clause
// Rule: The name of an invalid function or kernel cannot be queried: INVALID_VALUE.
// Source: cuda.h, cuFuncGetName and cuKernelGetName
#include "driver_test.h"

int main(void) {
  start();
  USE(cuFuncGetName, 12030, const char **, CUfunction);
  USE(cuKernelGetName, 12030, const char **, CUkernel);
  const char *name = "as before";
  MUST_BE(cuFuncGetName(&name, NULL), INVALID_VALUE);
  MUST_BE(cuKernelGetName(&name, NULL), INVALID_VALUE);
  MUST_BE(strcmp(name, "as before"), 0);
  return 0;
}
