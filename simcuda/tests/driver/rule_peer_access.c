// SPDX-License-Identifier: BSD-3-Clause
// Rule: Access to a peer is enabled once for a direction, and disabled once.
// Source: cuda.h, cuCtxEnablePeerAccess and cuCtxDisablePeerAccess
#include "driver_test.h"

int main(void) {
  start();
  need_two_devices();
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuDeviceCanAccessPeer, 4000, int *, CUdevice, CUdevice);
  USE(cuCtxEnablePeerAccess, 4000, CUcontext, unsigned);
  USE(cuCtxDisablePeerAccess, 4000, CUcontext);
  CUcontext second;
  int can = 0;
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  MUST(cuDeviceCanAccessPeer(&can, 0, 1));
  if (!can) {
    printf("skipped: the devices are no peers\n");
    return 77;
  }
  MUST(cuCtxEnablePeerAccess(second, 0));
  MUST_BE(cuCtxEnablePeerAccess(second, 0), PEER_ALREADY_ENABLED);
  MUST(cuCtxDisablePeerAccess(second));
  MUST_BE(cuCtxDisablePeerAccess(second), PEER_NOT_ENABLED);
  return 0;
}
