// SPDX-License-Identifier: BSD-3-Clause
// cuGetProcAddress_v2: a miss is SUCCESS with a null pointer and a status; a version newer than the
// driver is INVALID_VALUE; the 11.x form reports a miss as NOT_FOUND.
#include "driver_test.h"

int main(void) {
  open_driver();
  void *function = &function;
  int status = -1, driver_version = 0;
  OK(get_proc_address("cuNoSuchFunction", &function, 11030, 0, &status));
  EXPECT(function == NULL, 1);
  EXPECT(status, 1);
  OK(get_proc_address("cuMemAllocAsync", &function, 9000, 0, &status));  // came with 11.2
  EXPECT(function == NULL, 1);
  EXPECT(status, 2);
  OK(get_proc_address("cuNoSuchFunction", &function, 11030, 0, NULL));
  EXPECT(function == NULL, 1);
  USE(cuDriverGetVersion, 2020, int *);
  OK(cuDriverGetVersion(&driver_version));
  EXPECT(get_proc_address("cuMemAlloc", &function, driver_version + 10, 0, NULL), INVALID_VALUE);

  CUresult (*older)(const char *, void **, int, uint64_t);
  *(void **)&older = dlsym(library, "cuGetProcAddress");
  EXPECT(older("cuNoSuchFunction", &function, 11030, 0), NOT_FOUND);
  EXPECT(function == NULL, 1);
  return 0;
}
