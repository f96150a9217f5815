// SPDX-License-Identifier: BSD-3-Clause
// What the benchmarks in C++ share. One of them, one file: it defines malloc.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "cai.h"

// ---- Every malloc is counted, by thread: the program's own comes before the C library's ---------

extern "C" void *__libc_malloc(std::size_t size);

namespace bench {
inline thread_local std::uint64_t mallocs = 0;
inline thread_local std::uint64_t malloc_bytes = 0;
}  // namespace bench

extern "C" void *malloc(std::size_t size) {
  ++bench::mallocs;
  bench::malloc_bytes += size;
  return __libc_malloc(size);
}

namespace bench {

inline void check(cai_status status, const cai_error &error) {
  if (status == CAI_OK) return;
  std::fprintf(stderr, "bench: %s\n", error.message);
  std::exit(1);
}

inline void check(int result, const char *call) {
  if (result == 0) return;
  std::fprintf(stderr, "bench: %s gave %d\n", call, result);
  std::exit(1);
}

// An array of float32, in C order, of 4 dimensions at most.
struct Made {
  std::array<std::int64_t, 4> shape{2, 3, 4, 5};
  std::array<std::int64_t, 4> strides{};
  cai_array array{};

  explicit Made(std::int32_t ndim, std::uint64_t data = 0x7F0000001000, std::uint64_t stream = 0) {
    std::int64_t step = 4;
    for (auto axis = static_cast<std::size_t>(ndim); axis-- > 0;) {
      strides[axis] = step;
      step *= shape[axis];
    }
    array.abi_major = CAI_ABI_MAJOR;
    array.abi_minor = CAI_ABI_MINOR;
    array.data = data;
    array.device_type = CAI_DEVICE_CUDA;
    array.dtype = {'f', '<', 0, 0, 4, 0};
    array.ndim = ndim;
    array.shape = shape.data();
    array.strides = strides.data();
    array.stream = stream;
    array.stream_kind = stream ? CAI_STREAM_STREAM : CAI_STREAM_NONE;
    array.version = 3;
  }
  Made(const Made &) = delete;
  Made &operator=(const Made &) = delete;
};

}  // namespace bench
