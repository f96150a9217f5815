// SPDX-License-Identifier: BSD-3-Clause
// CuPy's malloc function must throw if there is no memory, through CuPy's own frames. So it makes
// the C++ runtime that CuPy has loaded throw: an exception of another runtime, such as ours, could
// not pass those frames.
#include <cai/adaptors.h>
#include <dlfcn.h>

#include <cstddef>

namespace {

void throw_bad_alloc() {
  void *const runtime = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
  // std::__throw_bad_alloc(), which never returns
  void *const function = runtime ? dlsym(runtime, "_ZSt17__throw_bad_allocv") : nullptr;
  if (function) reinterpret_cast<void (*)()>(function)();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void *cai_cupy_malloc(void *param,
                                                                        std::size_t size,
                                                                        int device) {
  void *const ptr = cai_cupy_alloc(param, size, device);
  if (!ptr && size > 0) throw_bad_alloc();
  return ptr;
}
