// SPDX-License-Identifier: BSD-3-Clause
// Rule: Each device has a UUID and an address on the bus of its own, by which it can be found.
// Source: cuda.h, cuDeviceGetUuid, cuDeviceGetPCIBusId and cuDeviceGetByPCIBusId
#include "driver_test.h"

int main(void) {
  start();
  USE(cuDeviceGetCount, 2000, int *);
  USE(cuDeviceGet, 2000, CUdevice *, int);
  USE(cuDeviceGetUuid, 11040, void *, CUdevice);
  USE(cuDeviceGetPCIBusId, 4010, char *, int, CUdevice);
  USE(cuDeviceGetByPCIBusId, 4010, CUdevice *, const char *);
  USE(cuDeviceTotalMem, 3020, size_t *, CUdevice);
  enum { MOST = 64 };
  unsigned char uuid[MOST][16];
  char bus[MOST][32];
  int count = 0;
  MUST(cuDeviceGetCount(&count));
  MUST_BE(count >= 1 && count <= MOST, 1);
  for (int i = 0; i < count; ++i) {
    CUdevice device = -1, found = -1;
    size_t bytes = 0;
    MUST(cuDeviceGet(&device, i));
    MUST(cuDeviceGetUuid(uuid[i], device));
    MUST(cuDeviceGetPCIBusId(bus[i], sizeof bus[i], device));
    MUST(cuDeviceGetByPCIBusId(&found, bus[i]));
    MUST_BE(found, device);
    MUST(cuDeviceTotalMem(&bytes, device));
    MUST_BE(bytes > 0, 1);
    for (int other = 0; other < i; ++other) {
      MUST_BE(memcmp(uuid[i], uuid[other], 16) != 0, 1);
      MUST_BE(strcmp(bus[i], bus[other]) != 0, 1);
    }
  }
  CUdevice none;
  MUST_BE(cuDeviceGet(&none, count), INVALID_DEVICE);
  MUST_BE(cuDeviceGetByPCIBusId(&none, "0000:fe:1f.0"), INVALID_DEVICE);
  MUST_BE(cuDeviceGetByPCIBusId(&none, "not a bus"), INVALID_VALUE);
  return 0;
}
