// SPDX-License-Identifier: BSD-3-Clause
// Rule: What a kernel does wrong is the status of who waits for it, and stays with its context.
// Source: assumed, after cuda.h's CUresult and what clients see; to be checked on a GPU
#include "ptx.h"

#include <sys/wait.h>

enum { MISALIGNED = 716, INVALID_PC = 718, ASSERTION = 710 };

static const char text[] = PTX_HEADER
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,\n"
    "  .param .b64 e);\n"
    ".global .align 1 .b8 word[2] = {120, 0};\n"
    ".func (.param .b32 r) deeper(.param .b32 n)\n"
    "{\n"
    "  .reg .b32 %a, %b; .reg .pred %p; .param .b32 x, y;\n"
    "  ld.param.u32 %a, [n];\n"
    "  setp.eq.u32 %p, %a, 0;\n"
    "  @%p bra END;\n"
    "  sub.u32 %b, %a, 1;\n"
    "  st.param.b32 [x], %b;\n"
    "  call (y), deeper, (x);\n"
    "  ld.param.b32 %b, [y];\n"
    "  mad.lo.u32 %a, %a, 3, %b;\n"
    "END:\n"
    "  st.param.b32 [r], %a;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry null(.param .u64 p)\n"
    "{\n"
    "  .reg .b64 %p;\n"
    "  mov.u64 %p, 16;\n"
    "  st.global.u32 [%p], 1;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry far(.param .u64 p)\n"
    "{\n"
    "  .reg .b64 %p; .reg .b32 %v;\n"
    "  ld.param.u64 %p, [p];\n"
    "  add.u64 %p, %p, 1099511627776;\n"
    "  ld.global.u32 %v, [%p];\n"
    "  st.global.u32 [%p], %v;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry misaligned(.param .u64 p)\n"
    "{\n"
    "  .reg .b64 %p;\n"
    "  ld.param.u64 %p, [p];\n"
    "  st.global.u32 [%p+2], 1;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry beyond_shared(.param .u64 p)\n"
    "{\n"
    "  .shared .align 4 .b8 room[64]; .reg .b32 %a; .reg .b64 %p;\n"
    "  ld.param.u64 %p, [p];\n"
    "  ld.global.u32 %a, [%p];\n"  // 0, which no compiler knows
    "  add.u32 %a, %a, 1000000;\n"
    "  st.shared.u32 [%a], 1;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry trap(.param .u64 p)\n"
    "{\n"
    "  trap;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry assertion(.param .u64 p)\n"
    "{\n"
    "  .reg .b64 %p; .param .b64 a, b, d, e; .param .b32 c;\n"
    "  mov.u64 %p, word;\n"
    "  cvta.global.u64 %p, %p;\n"
    "  st.param.b64 [a], %p;\n"
    "  st.param.b64 [b], %p;\n"
    "  st.param.b32 [c], 7;\n"
    "  st.param.b64 [d], %p;\n"
    "  st.param.b64 [e], 1;\n"
    "  call __assertfail, (a, b, c, d, e);\n"
    "  ret;\n"
    "}\n"
    ".visible .entry wild_call(.param .u64 p)\n"
    "{\n"
    "  .reg .b64 %p, %q;\n"
    "  ld.param.u64 %p, [p];\n"
    "  ld.global.u64 %q, [%p];\n"
    "  add.u64 %q, %q, 12345;\n"
    "  P: .callprototype _ ();\n"
    "  call %q, P;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry stack(.param .u64 p)\n"
    "{\n"
    "  .reg .b64 %p; .reg .b32 %a; .param .b32 x, y;\n"
    "  ld.param.u64 %p, [p];\n"
    "  ld.global.u32 %a, [%p];\n"
    "  add.u32 %a, %a, 1000000;\n"
    "  st.param.b32 [x], %a;\n"
    "  call (y), deeper, (x);\n"
    "  ld.param.b32 %a, [y];\n"
    "  st.global.u32 [%p], %a;\n"
    "  ret;\n"
    "}\n";

static const struct {
  const char *kernel, *what;
  CUresult assumed;
} faults[] = {
    {"null", "a write at address 16", ILLEGAL_ADDRESS},
    {"far", "a read far beyond all memory", ILLEGAL_ADDRESS},
    {"misaligned", "a write of 4 bytes at an address not a multiple of 4", MISALIGNED},
    {"beyond_shared", "a write beyond shared memory", ILLEGAL_ADDRESS},
    {"trap", "trap", LAUNCH_FAILED},
    {"assertion", "an assertion", ASSERTION},
    {"wild_call", "a call of no function", INVALID_PC},
    {"stack", "a recursion too deep for the stack", ILLEGAL_ADDRESS},
};

static void go_wrong(size_t i) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  CUdeviceptr memory, more = 0;
  CUstream stream;
  CUevent event;
  char what[128];
  MUST(cuMemAlloc(&memory, 64));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 0));
  MUST(cuMemsetD8Async(memory, 0, 64, stream));
  CUfunction kernel = function_in(module_of(text), faults[i].kernel);
  MUST(launch(kernel, 1, 1, stream, ARGUMENTS(&memory)));
  const CUresult status = cuStreamSynchronize(stream);
  FOUND_STATUS(faults[i].what, status, faults[i].assumed);
  // The same for all calls from now on.
  snprintf(what, sizeof what, "%s: an allocation after it has the same status", faults[i].kernel);
  FOUND(what, cuMemAlloc(&more, 64) == status, 1);
  snprintf(what, sizeof what, "%s: a query after it has the same status", faults[i].kernel);
  FOUND(what, cuStreamQuery(stream) == status && cuEventQuery(event) == status, 1);
  snprintf(what, sizeof what, "%s: a free after it has the same status", faults[i].kernel);
  FOUND(what, cuMemFree(memory) == status, 1);
}

int main(void) {
  // Each with a driver of its own.
  for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      go_wrong(i);
      fflush(stdout);
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    MUST_BE(status, 0);
  }
  return 0;
}
