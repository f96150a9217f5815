// SPDX-License-Identifier: BSD-3-Clause
// The destructor of a user object runs with no lock held, and may not call the driver. Who gives up
// more than there is, is told: a driver takes it, and the object may never end, or end too early.
#include "driver_test.h"

static CUresult (*count)(int *);
static int result = -1;

static void destroy(void *unused) {
  (void)unused;
  int devices = 0;
  __atomic_store_n(&result, count(&devices), __ATOMIC_SEQ_CST);
}

int main(void) {
  start();
  USE(cuUserObjectCreate, 11030, CUuserObject *, void *, void (*)(void *), unsigned, unsigned);
  USE(cuUserObjectRelease, 11030, CUuserObject, unsigned);
  *(void **)&count = find("cuDeviceGetCount", 2000);
  CUuserObject object;
  MUST(cuUserObjectCreate(&object, NULL, destroy, 1, 1));
  MUST_BE(cuUserObjectRelease(object, 2), INVALID_VALUE);  // more than there are
  MUST(cuUserObjectRelease(object, 1));
  for (int i = 0; i < 600000 && __atomic_load_n(&result, __ATOMIC_SEQ_CST) == -1; ++i) usleep(1000);
  MUST_BE(result, 800);
  MUST_BE(cuUserObjectRelease(object, 1), INVALID_VALUE);  // it is gone
  return 0;
}
