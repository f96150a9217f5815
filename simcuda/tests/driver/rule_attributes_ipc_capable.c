// SPDX-License-Identifier: BSD-3-Clause
// Rule: Device memory can be shared with other processes in the old way, managed memory cannot.
// Source: cuda.h, cuPointerGetAttribute and cuIpcGetMemHandle
#include "attributes.h"

int main(void) {
  start();
  USE_MEMORY;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  CUdeviceptr data, managed;
  MUST(cuMemAlloc(&data, 4096));
  MUST(cuMemAllocManaged(&managed, 4096, 1));
  MUST_BE(attributes_of(data).of[IPC_CAPABLE], 1);
  MUST_BE(attributes_of(managed).of[IPC_CAPABLE], 0);
  return 0;
}
