// SPDX-License-Identifier: BSD-3-Clause
// Rule: Who polls an event gets there, without any other call.
// Source: cuda.h, cuEventQuery
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_EVENTS;
  CUevent event;
  CUdeviceptr data;
  CUresult result;
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemsetD8Async(data, 1, 1, LEGACY));
  MUST(cuEventRecord(event, LEGACY));
  while ((result = cuEventQuery(event)) == NOT_READY) {
  }
  MUST(result);
  return 0;
}
