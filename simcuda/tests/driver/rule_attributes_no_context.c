// SPDX-License-Identifier: BSD-3-Clause
// Rule: What an address is can be asked with no current context.
// Source: assumed; to be checked on a GPU
#include "attributes.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUdeviceptr data, pooled;
  Attributes attributes;
  unsigned type = 0;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemAllocAsync(&pooled, 64, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuCtxSetCurrent(NULL));
  FOUND_STATUS("cuPointerGetAttribute", cuPointerGetAttribute(&type, MEMORY_TYPE, data), SUCCESS);
  FOUND_STATUS("cuPointerGetAttributes", get_attributes(data, &attributes), SUCCESS);
  FOUND("it is known", attributes.of[MEMORY_TYPE] == DEVICE_MEMORY, 1);
  FOUND_STATUS("cuPointerGetAttributes of pool memory", get_attributes(pooled, &attributes),
               SUCCESS);
  FOUND("pool memory is known", attributes.of[MEMORY_TYPE] == DEVICE_MEMORY, 1);
  return 0;
}
