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
  OK(cuDeviceGetCount(&count));
  EXPECT(count >= 1 && count <= MOST, 1);
  for (int i = 0; i < count; ++i) {
    CUdevice device = -1, found = -1;
    size_t bytes = 0;
    OK(cuDeviceGet(&device, i));
    OK(cuDeviceGetUuid(uuid[i], device));
    OK(cuDeviceGetPCIBusId(bus[i], sizeof bus[i], device));
    OK(cuDeviceGetByPCIBusId(&found, bus[i]));
    EXPECT(found, device);
    OK(cuDeviceTotalMem(&bytes, device));
    EXPECT(bytes > 0, 1);
    for (int other = 0; other < i; ++other) {
      EXPECT(memcmp(uuid[i], uuid[other], 16) != 0, 1);
      EXPECT(strcmp(bus[i], bus[other]) != 0, 1);
    }
  }
  CUdevice none;
  EXPECT(cuDeviceGet(&none, count), INVALID_DEVICE);
  EXPECT(cuDeviceGetByPCIBusId(&none, "0000:fe:1f.0"), INVALID_DEVICE);
  EXPECT(cuDeviceGetByPCIBusId(&none, "not a bus"), INVALID_VALUE);
  return 0;
}
