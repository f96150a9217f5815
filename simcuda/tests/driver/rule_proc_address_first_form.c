// SPDX-License-Identifier: BSD-3-Clause
// Rule: The form of cuGetProcAddress that came with 11.3 reports a miss as NOT_FOUND, and leaves
// the pointer as it is.
// Source: cuda.h, cuGetProcAddress; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  open_driver();
  CUresult (*older)(const char *, void **, int, uint64_t);
  *(void **)&older = dlsym(library, "cuGetProcAddress");
  void *function = &function;
  FOUND_STATUS("result", older("cuNoSuchFunction", &function, 11030, 0), NOT_FOUND);
  FOUND("pointer is null", function == NULL, 0);
  FOUND_STATUS("flags that there are not", older("cuInit", &function, 11030, 99), INVALID_VALUE);
  FOUND_STATUS("a function", older("cuInit", &function, 11030, 0), SUCCESS);
  FOUND("it is there", function != NULL, 1);
  return 0;
}
