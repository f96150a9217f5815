// SPDX-License-Identifier: BSD-3-Clause
// Rule: A kernel loads and stores an array by a surface, where the place in a row is in bytes; what
// lies outside reads as 0 and is not stored, or ends the kernel, as the instruction says. The next
// launch sees by a texture what was stored.
// Source: CUDA programming guide, "Surface Functions"
#include "textures.h"

enum { WIDTH = 8, ROWS = 4, THREADS = WIDTH + 4 };

int main(void) {
  start();
  USE_TEXTURES;
  USE_MEMORY;
  CUarray array;
  CUsurfObject surface;
  CUtexObject texture;
  CUdeviceptr memory;
  unsigned words[ROWS][WIDTH], row[THREADS], fetched[4];
  for (unsigned i = 0; i < ROWS * WIDTH; ++i) words[i / WIDTH][i % WIDTH] = 100 + i;
  for (unsigned i = 0; i < THREADS; ++i) row[i] = 1000 + i;
  MUST(cuArray3DCreate(&array, &(Array3DDescriptor){WIDTH, ROWS, 0, 3, 1, SURFACE_LDST}));
  copy_array(array, words, sizeof *words, ROWS, 1);
  const Resource resource = {.type = OF_ARRAY, .of.array = array};
  const Sampling sampling = {.modes = {CLAMP, CLAMP, CLAMP}, .flags = AS_INTEGERS};
  MUST(cuSurfObjectCreate(&surface, &resource));
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  MUST(cuMemAlloc(&memory, sizeof row));
  const CUmodule module = module_of(PTX_HEADER PTX_FETCH PTX_ROWS
                                    ".visible .entry trap(.param .u64 surface)\n"
                                    "{\n"
                                    "  .reg .b64 %s; .reg .b32 %i;\n"
                                    "  ld.param.u64 %s, [surface];\n"
                                    "  mov.u32 %i, %tid.x;\n"
                                    "  sust.b.2d.b32.trap [%s, {4096, 0}], %i;\n"
                                    "  ret;\n"
                                    "}\n");
  const CUfunction set_row = function_in(module, "set_row"),
                   copy_row = function_in(module, "copy_row");

  unsigned y = 2, beyond = ROWS;
  MUST(cuMemcpyHtoD(memory, row, sizeof row));
  MUST(launch(set_row, 1, THREADS, NULL, ARGUMENTS(&surface, &y, &memory)));
  MUST(launch(set_row, 1, THREADS, NULL, ARGUMENTS(&surface, &beyond, &memory)));
  fetch_words(function_in(module, "fetch"), texture, 3.5f, 2.5f, memory, fetched);
  MUST_BE(fetched[0], 1003);
  memset(row, 7, sizeof row);
  MUST(launch(copy_row, 1, THREADS, NULL, ARGUMENTS(&surface, &y, &memory)));
  MUST(cuMemcpyDtoH(row, memory, sizeof row));
  for (unsigned i = 0; i < THREADS; ++i) MUST_BE(row[i], i < WIDTH ? 1000 + i : 0);
  MUST(launch(copy_row, 1, THREADS, NULL, ARGUMENTS(&surface, &beyond, &memory)));
  MUST(cuMemcpyDtoH(row, memory, sizeof row));
  for (unsigned i = 0; i < THREADS; ++i) MUST_BE(row[i], 0);
  copy_array(array, words, sizeof *words, ROWS, 0);
  for (unsigned i = 0; i < ROWS * WIDTH; ++i)
    MUST_BE(words[i / WIDTH][i % WIDTH], i / WIDTH == 2 ? 1000 + i % WIDTH : 100 + i);

  MUST(launch(function_in(module, "trap"), 1, 1, NULL, ARGUMENTS(&surface)));
  USE(cuCtxSynchronize, 2000, void);
  MUST_BE(cuCtxSynchronize() != SUCCESS, 1);
  return 0;
}
