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
  OK(cuStreamCreate(&here, 0));
  OK(cuDevicePrimaryCtxRetain(&second, 1));
  OK(cuCtxSetCurrent(second));
  OK(cuStreamCreate(&there, 0));
  OK(cuStreamGetDevice(here, &device));
  EXPECT(device, 0);
  OK(cuCtxSetCurrent(first));
  OK(cuStreamGetDevice(there, &device));
  EXPECT(device, 1);
  return 0;
}
