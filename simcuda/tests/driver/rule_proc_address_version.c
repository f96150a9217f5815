// SPDX-License-Identifier: BSD-3-Clause
// Rule: A name asked for by a version from before it existed gives SUCCESS, a null pointer and
// status 2.
// Source: cuda.h, cuGetProcAddress
#include "driver_test.h"

int main(void) {
  open_driver();
  void *function = &function;
  int status = -1;
  MUST(get_proc_address("cuMemAllocAsync", &function, 9000, 0, &status));  // came with 11.2
  MUST_BE(function == NULL, 1);
  MUST_BE(status, 2);
  return 0;
}
