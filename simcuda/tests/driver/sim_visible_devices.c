// SPDX-License-Identifier: BSD-3-Clause
// CUDA_VISIBLE_DEVICES says which devices there are, in which order; each keeps its identity.
#include <sys/wait.h>

#include "driver_test.h"

// The devices that a process with this setting finds, by their buses: "12" are the first and
// second.
static void expect_devices(const char *setting, const char *buses) {
  const pid_t child = fork();
  if (child == 0) {
    if (setting) setenv("CUDA_VISIBLE_DEVICES", setting, 1);
    setenv("SIMCUDA_DEVICES", "4", 1);
    open_driver();
    USE(cuInit, 2000, unsigned);
    USE(cuDeviceGetCount, 2000, int *);
    USE(cuDeviceGetPCIBusId, 4010, char *, int, CUdevice);
    USE(cuDeviceGetByPCIBusId, 4010, CUdevice *, const char *);
    USE(cuDeviceGetUuid, 11040, unsigned char *, CUdevice);
    const CUresult result = cuInit(0);
    const int expected = (int)strlen(buses);
    if (expected == 0) _exit(result == 100 ? 0 : 1);
    int count = 0;
    MUST(result);
    MUST(cuDeviceGetCount(&count));
    MUST_BE(count, expected);
    for (int i = 0; i < count; ++i) {
      char bus[32];
      unsigned char uuid[16];
      CUdevice found = -1;
      MUST(cuDeviceGetPCIBusId(bus, sizeof bus, i));
      MUST_BE(bus[6], buses[i]);
      MUST(cuDeviceGetByPCIBusId(&found, bus));
      MUST_BE(found, i);
      MUST(cuDeviceGetUuid(uuid, i));
      MUST_BE(uuid[15], buses[i] - 1);
    }
    MUST_BE(cuDeviceGetByPCIBusId(&count, "0000:07:00.0"), INVALID_DEVICE);
    _exit(0);
  }
  int status = -1;
  MUST_BE(waitpid(child, &status, 0), child);
  if (status) fprintf(stderr, "CUDA_VISIBLE_DEVICES=%s\n", setting);
  MUST_BE(status, 0);
}

int main(void) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  expect_devices(NULL, "1234");
  expect_devices("1,0", "21");
  expect_devices("1", "2");
  expect_devices("3,2,1,0", "4321");
  expect_devices("", "");
  expect_devices("-1", "");
  expect_devices("0,-1,1", "1");  // up to the first invalid one
  expect_devices("2,9,1", "3");
  expect_devices("nonsense", "");
  expect_devices("1x", "");
  expect_devices("0,0", "1");
  expect_devices("GPU-73696d63-7564-612d-6465-766963652d32,0", "31");
  expect_devices("GPU-7", "1");  // the first that begins so
  expect_devices("GPU-", "");
  return 0;
}
