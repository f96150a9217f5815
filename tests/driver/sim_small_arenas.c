// SPDX-License-Identifier: BSD-3-Clause
// Under Valgrind, which keeps a record of every page, the arenas are small: then addresses are used
// again early, where there is room between others, and never while somebody has them.
#include "driver_test.h"

enum { MIB = 1 << 20, BLOCK = 96 * MIB, KEPT = 4096 };

int main(void) {
  setenv("LD_PRELOAD", "/usr/libexec/valgrind/vgpreload_core.so", 1);  // as it would be there
  setenv("SIMCUDA_DEVICE_MIB", "2048", 1);
  start();
  USE_MEMORY;
  CUdeviceptr first, block, second, large, kept[16];
  int wraps = 0;
  unsigned char byte = 0;
  MUST(cuMemAlloc(&first, BLOCK));
  MUST(cuMemFree(first));
  // Until the arena's end: some blocks are kept, so that what is free is in pieces.
  for (int i = 0; i < 16 && !wraps; ++i) {
    MUST(cuMemAlloc(&block, BLOCK));
    wraps = block < first + BLOCK;
    MUST(cuMemAlloc(&kept[i], KEPT));
    MUST(cuMemsetD8Async(kept[i], (unsigned char)i, KEPT, LEGACY));
    MUST(cuMemFree(block));
  }
  MUST_BE(wraps, 1);
  MUST_BE(block == first, 1);  // where nobody has been for longest
  // Two blocks lay there: the second one leaves nothing.
  MUST(cuMemAlloc(&block, BLOCK));
  MUST(cuMemAlloc(&second, BLOCK));
  MUST_BE(block == first && second == first + BLOCK + KEPT, 1);
  MUST(cuMemFree(second));
  MUST(cuMemFree(block));
  MUST(cuMemcpyDtoH(&byte, kept[2] + KEPT - 1, 1));
  MUST_BE(byte, 2);
  // There is room for this, but not in one piece.
  MUST_BE(cuMemAlloc(&large, (size_t)1000 * MIB), OUT_OF_MEMORY);
  return 0;
}
