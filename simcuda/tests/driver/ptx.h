// SPDX-License-Identifier: BSD-3-Clause
// Small kernels, as PTX.
#pragma once

#include "driver_test.h"

#define PTX_HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"

// Each thread of `fill` sets the element of its index to a value.
#define PTX_FILL                                                       \
  ".visible .entry fill(.param .u64 out, .param .u32 value)\n"         \
  "{\n"                                                                \
  "  .reg .b32 %v, %i, %c, %n; .reg .b64 %p;\n"                        \
  "  ld.param.u64 %p, [out];\n"                                        \
  "  ld.param.u32 %v, [value];\n"                                      \
  "  mov.u32 %c, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %i, %tid.x;\n" \
  "  mad.lo.u32 %i, %c, %n, %i;\n"                                     \
  "  mad.wide.u32 %p, %i, 4, %p;\n"                                    \
  "  st.global.u32 [%p], %v;\n"                                        \
  "  ret;\n"                                                           \
  "}\n"

// Each thread of `add` adds to the element of its index what the other array has there.
#define PTX_ADD                                                        \
  ".visible .entry add(.param .u64 to, .param .u64 from)\n"            \
  "{\n"                                                                \
  "  .reg .b32 %a, %b, %i, %c, %n; .reg .b64 %p, %q;\n"                \
  "  ld.param.u64 %p, [to];\n"                                         \
  "  ld.param.u64 %q, [from];\n"                                       \
  "  mov.u32 %c, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %i, %tid.x;\n" \
  "  mad.lo.u32 %i, %c, %n, %i;\n"                                     \
  "  mad.wide.u32 %p, %i, 4, %p;\n"                                    \
  "  mad.wide.u32 %q, %i, 4, %q;\n"                                    \
  "  ld.global.u32 %a, [%p];\n"                                        \
  "  ld.global.u32 %b, [%q];\n"                                        \
  "  add.u32 %a, %a, %b;\n"                                            \
  "  st.global.u32 [%p], %a;\n"                                        \
  "  ret;\n"                                                           \
  "}\n"

// One thread of `wait_for` polls a word until it is not 0 any more.
#define PTX_WAIT                                   \
  ".visible .entry wait_for(.param .u64 flag)\n"   \
  "{\n"                                            \
  "  .reg .b32 %v; .reg .b64 %p; .reg .pred %q;\n" \
  "  ld.param.u64 %p, [flag];\n"                   \
  "AGAIN:\n"                                       \
  "  ld.volatile.global.u32 %v, [%p];\n"           \
  "  setp.eq.u32 %q, %v, 0;\n"                     \
  "  @%q bra AGAIN;\n"                             \
  "  ret;\n"                                       \
  "}\n"

// Each thread of `count` adds 1 to a word, atomically.
#define PTX_COUNT                            \
  ".visible .entry count(.param .u64 sum)\n" \
  "{\n"                                      \
  "  .reg .b64 %p;\n"                        \
  "  ld.param.u64 %p, [sum];\n"              \
  "  red.global.add.u32 [%p], 1;\n"          \
  "  ret;\n"                                 \
  "}\n"

static inline CUfunction function_in(CUmodule module, const char *name) {
  USE(cuModuleGetFunction, 2000, CUfunction *, CUmodule, const char *);
  CUfunction function = NULL;
  MUST(cuModuleGetFunction(&function, module, name));
  return function;
}

static inline CUmodule module_of(const char *ptx) {
  USE(cuModuleLoadData, 2000, CUmodule *, const void *);
  CUmodule module = NULL;
  MUST(cuModuleLoadData(&module, ptx));
  return module;
}

static inline CUdeviceptr memory_of(size_t size) {
  USE_MEMORY;
  CUdeviceptr memory;
  MUST(cuMemAlloc(&memory, size));
  return memory;
}

// A launch with this many blocks and threads.
static inline CUresult launch(CUfunction function, unsigned blocks, unsigned threads,
                              CUstream stream, void **arguments) {
  static CUresult (*cuLaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, CUstream, void **, void **);
  if (!cuLaunchKernel) *(void **)&cuLaunchKernel = find("cuLaunchKernel", 4000);
  return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL);
}

static inline void finish_all(void) {
  USE(cuCtxSynchronize, 2000, void);
  MUST(cuCtxSynchronize());
}

#define ARGUMENTS(...) ((void *[]){__VA_ARGS__})
