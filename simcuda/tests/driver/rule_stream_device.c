// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream's device is known whatever context is current.
// Source: cuda.h, cuStreamGetDevice
#include "driver_test.h"

int main(void) {
  const CUcontext first = start();
  need_two_devices();
  USE_STREAMS;
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuStreamGetDevice, 12080, CUstream, CUdevice *);
  CUcontext second;
  CUstream here, there;
  CUdevice device = -1;
  MUST(cuStreamCreate(&here, 0));
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  MUST(cuCtxSetCurrent(second));
  MUST(cuStreamCreate(&there, 0));
  MUST(cuStreamGetDevice(here, &device));
  MUST_BE(device, 0);
  MUST(cuCtxSetCurrent(first));
  MUST(cuStreamGetDevice(there, &device));
  MUST_BE(device, 1);
  return 0;
}
