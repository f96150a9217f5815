// SPDX-License-Identifier: BSD-3-Clause
// Under Valgrind, which keeps a record of every page, the arenas are small: then addresses are used
// again early, where there is room between others, and never while they are in use.
#include <sys/mman.h>
#include <sys/wait.h>

#include "ptx.h"

enum { MIB = 1 << 20, BLOCK = 96 * MIB, KEPT = 4096, PIECE = 4 * MIB };

// Registered memory needs no memory, but room for its device addresses.
static CUresult register_much(void) {
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  const size_t size = (size_t)2048 * MIB;
  void *range = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MUST_BE(range != MAP_FAILED, 1);
  return cuMemHostRegister(range, size, 0);
}

// A kernel takes memory three times, writes there, and frees it; then it tells the last address.
static const char text[] = PTX_HEADER
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
    ".extern .func free(.param .b64 p);\n"
    ".visible .entry thrice(.param .u64 out)\n"
    "{\n"
    "  .reg .b64 %p, %o; .reg .b32 %i; .reg .pred %q; .param .b64 n, p;\n"
    "  ld.param.u64 %o, [out];\n"
    "  mov.u32 %i, 0;\n"
    "AGAIN:\n"
    "  st.param.b64 [n], 4194304;\n"
    "  call (p), malloc, (n);\n"
    "  ld.param.b64 %p, [p];\n"
    "  st.u32 [%p], %i;\n"
    "  st.global.u64 [%o], %p;\n"
    "  call free, (p);\n"
    "  add.u32 %i, %i, 1;\n"
    "  setp.lt.u32 %q, %i, 3;\n"
    "  @%q bra AGAIN;\n"
    "  ret;\n"
    "}\n";

// What a kernel has freed is there again for the next one.
static void check_memory_of_kernels(void) {
  USE_MEMORY;
  const CUfunction thrice = function_in(module_of(text), "thrice");
  CUdeviceptr out, first = 0, again = 0;
  MUST(cuMemAlloc(&out, 8));
  MUST(launch(thrice, 1, 1, LEGACY, ARGUMENTS(&out)));
  MUST(cuMemcpyDtoH(&first, out, 8));
  MUST(launch(thrice, 1, 1, LEGACY, ARGUMENTS(&out)));
  MUST(cuMemcpyDtoH(&again, out, 8));
  MUST_HOLD(first != 0 && again == first);
  MUST(cuMemFree(out));
}

static void check_others(void) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("LD_PRELOAD", "/usr/lib/libelse.so", 1);
    start();
    _exit(register_much());
  }
  int status = -1;
  MUST_BE(waitpid(child, &status, 0), child);
  MUST_BE(status, SUCCESS);
}

int main(void) {
  setenv("SIMCUDA_TWO_ADDRESSES", "1", 1);  // so that what is registered takes room
  check_others();
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
  MUST_BE(register_much(), OUT_OF_MEMORY);
  // Nor is there any more at the end.
  do MUST(cuMemAlloc(&block, PIECE));
  while (block > first);
  MUST(cuMemFree(block));
  check_memory_of_kernels();
  return 0;
}
