// SPDX-License-Identifier: BSD-3-Clause
// Rule: Who does not ask for the status of a look-up gets the same answer.
// Source: cuda.h, cuGetProcAddress; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  open_driver();
  void *function = &function;
  FOUND_STATUS("result", get_proc_address("cuNoSuchFunction", &function, 11030, 0, NULL), SUCCESS);
  FOUND("pointer is null", function == NULL, 1);
  return 0;
}
