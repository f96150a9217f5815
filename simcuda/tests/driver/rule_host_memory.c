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
  MUST(cuMemAlloc(&data, SIZE));
  for (unsigned flags = 0; flags <= ALL; ++flags) {
    unsigned said = 0;
    unsigned char *host = NULL;
    MUST(cuMemHostAlloc((void **)&host, SIZE, flags));
    MUST(cuMemHostGetFlags(&said, host));
    MUST_BE(said & flags, flags);
    MUST(cuMemHostGetDevicePointer(&on_device, host, 0));
    MUST(cuMemHostGetDevicePointer(&again, host + 100, 0));
    MUST_BE(again - on_device, 100);
    host[SIZE - 1] = (unsigned char)(flags + 1);
    MUST(cuMemcpyHtoDAsync(data, host, SIZE, LEGACY));
    MUST(cuStreamSynchronize(LEGACY));
    MUST(cuMemcpyDtoH(&byte, data + SIZE - 1, 1));
    MUST_BE(byte, flags + 1);
    MUST(cuMemcpyDtoDAsync(data, on_device + SIZE - 1, 1, LEGACY));  // from there, too
    MUST(cuStreamSynchronize(LEGACY));
    MUST(cuMemcpyDtoH(&byte, data, 1));
    MUST_BE(byte, flags + 1);
    MUST_BE(cuMemHostUnregister(host) != SUCCESS, 1);
    MUST(cuMemFreeHost(host));
    MUST_BE(cuMemHostGetDevicePointer(&on_device, host, 0), INVALID_VALUE);
  }
  unsigned char *mine = new_page();
  MUST(cuMemHostRegister(mine, PAGE, 0));
  MUST_BE(cuMemHostRegister(mine, PAGE, 0), ALREADY_REGISTERED);
  MUST_BE(cuMemFreeHost(mine) != SUCCESS, 1);
  MUST(cuMemHostUnregister(mine));
  MUST_BE(cuMemHostUnregister(mine), NOT_REGISTERED);
  MUST(cuMemHostRegister(mine, PAGE, 0));
  MUST(cuMemHostUnregister(mine));
  return 0;
}
