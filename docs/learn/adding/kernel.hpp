// SPDX-License-Identifier: BSD-3-Clause
// out = a + b for float32. It stands for a kernel of yours: this one is written in PTX and launched
// through the driver, so that the project needs no CUDA to build.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

inline const char add_ptx[] = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 out, .param .u64 count)
{
    .reg .pred %outside;
    .reg .b32 %block, %threads, %thread;
    .reg .b64 %i, %n, %x, %y, %to;
    .reg .f32 %left, %right;
    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %thread, %block, %threads, %thread;
    cvt.u64.u32 %i, %thread;
    ld.param.u64 %n, [count];
    setp.ge.u64 %outside, %i, %n;
    @%outside ret;
    shl.b64 %i, %i, 2;
    ld.param.u64 %x, [a];
    ld.param.u64 %y, [b];
    ld.param.u64 %to, [out];
    add.u64 %x, %x, %i;
    add.u64 %y, %y, %i;
    add.u64 %to, %to, %i;
    ld.global.f32 %left, [%x];
    ld.global.f32 %right, [%y];
    add.f32 %left, %left, %right;
    st.global.f32 [%to], %left;
    ret;
}
)";

template <class Function>
Function *driver(const char *name) {
  static void *const library = dlopen("libcuda.so.1", RTLD_NOW);
  void *const found = library ? dlsym(library, name) : nullptr;
  if (!found) throw std::runtime_error("there is no CUDA driver");
  return reinterpret_cast<Function *>(found);
}

inline void succeed(int result, const char *name) {
  if (result != 0) throw std::runtime_error(std::string(name) + "() = " + std::to_string(result));
}

inline void *load_add() {
  void *library, *kernel;
  using load = int(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
  succeed(driver<load>("cuLibraryLoadData")(&library, add_ptx, nullptr, nullptr, 0, nullptr,
                                            nullptr, 0),
          "cuLibraryLoadData");
  using get = int(void **, void *, const char *);
  succeed(driver<get>("cuLibraryGetKernel")(&kernel, library, "add"), "cuLibraryGetKernel");
  return kernel;
}

// Queues the kernel on a stream, and returns.
inline void launch_add(std::uint64_t a, std::uint64_t b, std::uint64_t out, std::uint64_t count,
                       std::uint64_t stream) {
  static void *const kernel = load_add();
  constexpr unsigned threads = 256;
  const unsigned blocks = static_cast<unsigned>((count + threads - 1) / threads);
  void *arguments[] = {&a, &b, &out, &count};
  using launch = int(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     void *, void **, void **);
  succeed(driver<launch>("cuLaunchKernel")(kernel, blocks, 1, 1, threads, 1, 1, 0,
                                           reinterpret_cast<void *>(stream), arguments, nullptr),
          "cuLaunchKernel");
}
