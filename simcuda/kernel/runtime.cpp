// SPDX-License-Identifier: BSD-3-Clause
// Functions of CUDA's device runtime that compiled kernels call and no module defines.
#include <algorithm>

#include "program.h"

namespace simcuda::kernel {
namespace {

// In a cooperative launch, the environment's registers 1 and 2 are the address of a counter and of
// a generation. The last block to arrive begins the next generation. The handle of a conditional
// node is the address of its value.
constexpr std::string_view text = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
  .reg .b32 %low, %high;
  .reg .b64 %handle;
  mov.u32 %high, %envreg1;
  mov.u32 %low, %envreg2;
  mov.b64 %handle, {%low, %high};
  st.param.b64 [result], %handle;
  ret;
}
.visible .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
  .reg .b32 %x, %y, %z, %last, %come, %old, %now;
  .reg .b64 %at;
  .reg .pred %other, %wait;
  ld.param.b64 %at, [handle];
  barrier.sync 0;
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mov.u32 %z, %tid.z;
  or.b32 %x, %x, %y;
  or.b32 %x, %x, %z;
  setp.ne.u32 %other, %x, 0;
  @%other bra MET;
  mov.u32 %x, %nctaid.x;
  mov.u32 %y, %nctaid.y;
  mov.u32 %z, %nctaid.z;
  mul.lo.u32 %last, %x, %y;
  mul.lo.u32 %last, %last, %z;
  sub.u32 %last, %last, 1;
  ld.acquire.gpu.u32 %old, [%at+4];
  atom.acq_rel.gpu.inc.u32 %come, [%at], %last;
  setp.ne.u32 %wait, %come, %last;
  @%wait bra AGAIN;
  add.u32 %old, %old, 1;
  st.release.gpu.u32 [%at+4], %old;
  bra MET;
AGAIN:
  ld.acquire.gpu.u32 %now, [%at+4];
  setp.eq.u32 %wait, %now, %old;
  @%wait bra AGAIN;
MET:
  barrier.sync 0;
  st.param.b32 [result], 0;
  ret;
}
.visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)
{
  .reg .b64 %at;
  .reg .b32 %value;
  ld.param.b64 %at, [handle];
  ld.param.b32 %value, [value];
  st.global.b32 [%at], %value;
  ret;
}
)";

}  // namespace

std::shared_ptr<const Program> with_runtime(std::shared_ptr<const Program> program) {
  // Kept forever: a module may be loaded late, in an exit handler or by a thread that still runs.
  static const auto &runtime = *new auto(parse_programs(text).front());
  const bool wanted = std::any_of(
      program->functions.begin(), program->functions.end(), [](const Function &function) {
        return !function.defined && runtime->symbol_by_name.contains(function.name);
      });
  return wanted ? link_programs({program, runtime}) : program;
}

}  // namespace simcuda::kernel
