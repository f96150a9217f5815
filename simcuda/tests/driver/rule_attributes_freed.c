// SPDX-License-Identifier: BSD-3-Clause
// Rule: Freed memory is not known any more.
// Source: assumed; to be checked on a GPU
#include "attributes.h"

int main(void) {
  start();
  USE_MEMORY;
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  CUdeviceptr data;
  Attributes attributes;
  unsigned type = 0;
  MUST(cuMemAlloc(&data, 4096));
  MUST(cuMemFree(data));
  FOUND_STATUS("cuPointerGetAttribute", cuPointerGetAttribute(&type, MEMORY_TYPE, data),
               INVALID_VALUE);
  FOUND_STATUS("cuPointerGetAttributes", get_attributes(data, &attributes), SUCCESS);
  FOUND("it is known", attributes.of[MEMORY_TYPE] != NO_MEMORY, 0);
  return 0;
}
