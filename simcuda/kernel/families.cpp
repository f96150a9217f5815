// SPDX-License-Identifier: BSD-3-Clause
#include "control.h"
#include "lowering.h"
#include "races.h"

// execute_*.cpp, compiled for every processor of the architecture, and for those with AVX2.
#define SIMCUDA_FAMILIES(lanes)                                                                \
  namespace simcuda::kernel::lanes {                                                           \
  bool select_integer(Lowering &);                                                             \
  bool select_bits(Lowering &);                                                                \
  bool select_float(Lowering &);                                                               \
  bool select_half(Lowering &);                                                                \
  bool select_math(Lowering &);                                                                \
  bool select_compare(Lowering &);                                                             \
  bool select_fp8(Lowering &);                                                                 \
  bool select_convert(Lowering &);                                                             \
  bool select_move(Lowering &);                                                                \
  bool select_mbarrier(Lowering &);                                                            \
  bool select_memory(Lowering &);                                                              \
  bool select_atomic(Lowering &);                                                              \
  bool select_video(Lowering &);                                                               \
  extern const WarpUses uses;                                                                  \
  static const Families all = {{select_move, select_mbarrier, select_memory, select_atomic,    \
                                select_integer, select_bits, select_compare, select_fp8,       \
                                select_convert, select_float, select_half, select_math,        \
                                select_video, select_control, select_barrier, select_exchange, \
                                select_texture, select_surface}};                              \
  }

SIMCUDA_FAMILIES(plain)
#if defined(SIMCUDA_AVX2)
SIMCUDA_FAMILIES(avx2)
#endif

namespace simcuda::kernel {

namespace {

bool has_avx2() {
#if defined(SIMCUDA_AVX2)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}

}  // namespace

const Families &families() {
#if defined(SIMCUDA_AVX2)
  if (has_avx2()) return avx2::all;
#endif
  return plain::all;
}

const WarpUses &warp_uses() {
#if defined(SIMCUDA_AVX2)
  if (has_avx2()) return avx2::uses;
#endif
  return plain::uses;
}

}  // namespace simcuda::kernel
