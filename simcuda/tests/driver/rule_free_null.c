// SPDX-License-Identifier: BSD-3-Clause
// Rule: To free nothing is no mistake.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  FOUND_STATUS("cuMemFree of 0", cuMemFree(0), SUCCESS);
  FOUND_STATUS("cuMemFreeHost of NULL", cuMemFreeHost(NULL), SUCCESS);
  FOUND_STATUS("cuMemFreeAsync of 0", cuMemFreeAsync(0, LEGACY), SUCCESS);
  return 0;
}
