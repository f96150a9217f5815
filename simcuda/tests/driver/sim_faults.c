// SPDX-License-Identifier: BSD-3-Clause
// The nth call of a name fails as asked, from the environment or by a call, and does nothing.
#include "apart.h"

// What was to fail, and was not called as often, is told at the end, if the environment asked for
// it.
static void leave_faults(void) {
  setenv("SIMCUDA_FAIL", "cuEventRecord:2:999", 1);
  start();
  USE_SIM(void, simcuda_fail, const char *, uint64_t, int32_t);
  simcuda_fail("cuMemAlloc", 1, 2);
}

int main(void) {
  run_apart(leave_faults);
  must_say("cuEventRecord was to fail in its call 2, and was called 0 times");
  MUST_HOLD(strstr(said, "cuMemAlloc") == NULL);
  setenv("SIMCUDA_FAIL", "cuEventRecord:2:999,cuMemAlloc:1:2,cuInit:1:999", 1);
  open_driver();
  USE(cuInit, 2000, unsigned);
  MUST_BE(cuInit(0), 999);
  start();
  USE_MEMORY;
  USE_EVENTS;
  USE_SIM(void, simcuda_fail, const char *, uint64_t, int32_t);
  CUevent event;
  CUdeviceptr data = 0;
  MUST_BE(cuMemAlloc(&data, 1), 2);
  MUST_BE(data, 0);
  MUST(cuMemAlloc(&data, 1));
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventRecord(event, LEGACY));
  MUST_BE(cuEventRecord(event, LEGACY), 999);
  MUST(cuEventRecord(event, LEGACY));
  simcuda_fail("cuEventRecord", 1, 999);
  MUST_BE(cuEventRecord(event, LEGACY), 999);
  MUST(cuEventRecord(event, LEGACY));
  simcuda_fail("cuEventRecord", 1, 999);
  simcuda_fail("cuEventRecord", 0, 0);  // takes it back
  MUST(cuEventRecord(event, LEGACY));
  return 0;
}
