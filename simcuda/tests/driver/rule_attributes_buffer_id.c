// SPDX-License-Identifier: BSD-3-Clause
// Rule: The id of an allocation is never given to another.
// Source: cuda.h, cuPointerGetAttribute
#include "attributes.h"

int main(void) {
  start();
  USE_MEMORY;
  uint64_t ids[4];
  for (int i = 0; i < 4; ++i) {
    CUdeviceptr data;
    MUST(cuMemAlloc(&data, 4096));
    ids[i] = attributes_of(data).of[BUFFER_ID];
    MUST_BE(attributes_of(data + 8).of[BUFFER_ID] == ids[i], 1);
    MUST(cuMemFree(data));
    for (int k = 0; k < i; ++k) MUST_BE(ids[k] != ids[i], 1);
  }
  return 0;
}
