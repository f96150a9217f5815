// SPDX-License-Identifier: BSD-3-Clause
// An older driver does not know newer names, nor newer versions of old ones.
#include "driver_test.h"

int main(void) {
  setenv("SIMCUDA_DRIVER_VERSION", "11040", 1);
  open_driver();
  void *function;
  int status = -1, version = 0;
  USE(cuDriverGetVersion, 2020, int *);
  MUST(cuDriverGetVersion(&version));
  MUST_BE(version, 11040);
  MUST(get_proc_address("cuStreamGetId", &function, 11040, 0, &status));  // 12.0
  MUST_BE(function == NULL, 1);
  MUST_BE(status, 1);
  MUST(get_proc_address("cuStreamGetCaptureInfo", &function, 11040, 0, &status));
  MUST_BE(function == dlsym(library, "cuStreamGetCaptureInfo_v2"), 1);
  MUST_BE(get_proc_address("cuInit", &function, 12000, 0, &status), INVALID_VALUE);
  return 0;
}
