// SPDX-License-Identifier: BSD-3-Clause
// Rule: Pinned memory keeps the flags that it was made with, and has a device address at each of
// its bytes; memory is registered once, unregistered once, and freed by the call that fits it.
// Source: cuda.h, cuMemHostAlloc, cuMemHostRegister and cuMemHostGetDevicePointer
#include "attributes.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemHostGetFlags, 2030, unsigned *, void *);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostUnregister, 4000, void *);
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  enum { SIZE = 4096, PORTABLE = 1, DEVICE_MAP = 2, WRITE_COMBINED = 4, ALL = 7 };
  unsigned char byte = 0;
  CUdeviceptr data, on_device, again;
  OK(cuMemAlloc(&data, SIZE));
  for (unsigned flags = 0; flags <= ALL; ++flags) {
    unsigned said = 0;
    unsigned char *host = NULL;
    OK(cuMemHostAlloc((void **)&host, SIZE, flags));
    OK(cuMemHostGetFlags(&said, host));
    EXPECT(said & flags, flags);
    OK(cuMemHostGetDevicePointer(&on_device, host, 0));
    OK(cuMemHostGetDevicePointer(&again, host + 100, 0));
    EXPECT(again - on_device, 100);
    host[SIZE - 1] = (unsigned char)(flags + 1);
    OK(cuMemcpyHtoDAsync(data, host, SIZE, LEGACY));
    OK(cuStreamSynchronize(LEGACY));
    OK(cuMemcpyDtoH(&byte, data + SIZE - 1, 1));
    EXPECT(byte, flags + 1);
    OK(cuMemcpyDtoDAsync(data, on_device + SIZE - 1, 1, LEGACY));  // from there, too
    OK(cuStreamSynchronize(LEGACY));
    OK(cuMemcpyDtoH(&byte, data, 1));
    EXPECT(byte, flags + 1);
    EXPECT(cuMemHostUnregister(host) != SUCCESS, 1);
    OK(cuMemFreeHost(host));
    EXPECT(cuMemHostGetDevicePointer(&on_device, host, 0), INVALID_VALUE);
  }
  unsigned char *mine = new_page();
  OK(cuMemHostRegister(mine, PAGE, 0));
  EXPECT(cuMemHostRegister(mine, PAGE, 0), ALREADY_REGISTERED);
  EXPECT(cuMemFreeHost(mine) != SUCCESS, 1);
  OK(cuMemHostUnregister(mine));
  EXPECT(cuMemHostUnregister(mine), NOT_REGISTERED);
  OK(cuMemHostRegister(mine, PAGE, 0));
  OK(cuMemHostUnregister(mine));
  return 0;
}
