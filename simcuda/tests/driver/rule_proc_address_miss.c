// SPDX-License-Identifier: BSD-3-Clause
// Rule: A name that the driver does not have gives SUCCESS, a null pointer and the status 1.
// Source: cuda.h, cuGetProcAddress; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  open_driver();
  void *function = &function;
  int status = -1;
  FOUND_STATUS("result", get_proc_address("cuNoSuchFunction", &function, 11030, 0, &status),
               SUCCESS);
  FOUND("pointer is null", function == NULL, 1);
  FOUND("status is 1, symbol not found", status == 1, 1);
  return 0;
}
