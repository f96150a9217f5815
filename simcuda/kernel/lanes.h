// SPDX-License-Identifier: BSD-3-Clause
// Loops over the lanes of a warp, which a compiler turns into vector instructions. The files that
// include this are compiled for more than one kind of processor: everything in them is in the
// namespace SIMCUDA_LANES or in an unnamed one.
#pragma once

#include <bit>
#include <cfenv>
#include <cstdint>
#include <type_traits>

#include "lowering.h"
#include "warp.h"

#if defined(__clang__)
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (unsigned k = 0; k < 32; ++k)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (unsigned k = 0; k < 32; ++k)
#endif

namespace simcuda::kernel::SIMCUDA_LANES {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

// The modes of <cfenv>.
inline int mode_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::zero:
      return FE_TOWARDZERO;
    case Rounding::down:
      return FE_DOWNWARD;
    case Rounding::up:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

// Whether lane k is in a mask, in a form without a shift by a variable.
inline constexpr struct LaneBits {
  std::uint32_t bit[32];
  constexpr LaneBits() : bit() {
    for (unsigned k = 0; k < 32; ++k) bit[k] = 1u << k;
  }
} lane_bits;

template <class T>
inline T *aligned(T *lanes) {
  return static_cast<T *>(__builtin_assume_aligned(lanes, 64));
}

// f(k) for all lanes; keeps the results of active ones. f must be harmless for the others.
template <class D, class F>
inline void put(D *to, std::uint32_t mask, F f) {
  D *d = aligned(to);
  if (mask == all_lanes) [[likely]] {
    EACH_LANE d[k] = f(k);
  } else {
    alignas(64) D fresh[32];
    EACH_LANE fresh[k] = f(k);
    EACH_LANE d[k] = mask & lane_bits.bit[k] ? fresh[k] : d[k];
  }
}

template <class F>
inline void each_active(std::uint32_t mask, F f) {
  for (; mask; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

// A mask of the lanes for which f(k).
template <class F>
inline std::uint32_t mask_of(F f) {
  alignas(64) std::uint32_t bits[32];
  EACH_LANE bits[k] = f(k) ? lane_bits.bit[k] : 0;
  std::uint32_t all = 0;
  for (unsigned k = 0; k < 32; ++k) all |= bits[k];
  return all;
}

inline void put_bits(std::uint32_t &to, std::uint32_t mask, std::uint32_t bits) {
  to = (to & ~mask) | (bits & mask);
}

template <class Op, class D, class A>
void unary(Warp &w, const Instruction &i, std::uint32_t mask) {
  const A *a = aligned(w.lanes<A>(i.a));
  put(w.lanes<D>(i.d), mask, [=](unsigned k) { return static_cast<D>(Op{}(a[k])); });
}

template <class Op, class D, class A, class B = A>
void binary(Warp &w, const Instruction &i, std::uint32_t mask) {
  const A *a = aligned(w.lanes<A>(i.a));
  const B *b = aligned(w.lanes<B>(i.b));
  put(w.lanes<D>(i.d), mask, [=](unsigned k) { return static_cast<D>(Op{}(a[k], b[k])); });
}

template <class Op, class D, class A, class B = A, class C = D>
void ternary(Warp &w, const Instruction &i, std::uint32_t mask) {
  const A *a = aligned(w.lanes<A>(i.a));
  const B *b = aligned(w.lanes<B>(i.b));
  const C *c = aligned(w.lanes<C>(i.c));
  put(w.lanes<D>(i.d), mask, [=](unsigned k) { return static_cast<D>(Op{}(a[k], b[k], c[k])); });
}

bool select_integer(Lowering &);
bool select_bits(Lowering &);
bool select_float(Lowering &);
bool select_half(Lowering &);
bool select_math(Lowering &);
bool select_compare(Lowering &);
bool select_convert(Lowering &);
bool select_move(Lowering &);
bool select_mbarrier(Lowering &);
bool select_memory(Lowering &);
bool select_atomic(Lowering &);
bool select_video(Lowering &);

}  // namespace simcuda::kernel::SIMCUDA_LANES
