// SPDX-License-Identifier: BSD-3-Clause
// CuPy's malloc function: it must throw when there is no memory, through CuPy's own frames, so this
// library needs the C++ runtime that the process has, and libcai itself does not.
#include <cai/adaptors.h>

#include <cstddef>
#include <new>

extern "C" __attribute__((visibility("default"))) void *cai_cupy_malloc(void *param,
                                                                        std::size_t size,
                                                                        int device) {
  void *const ptr = cai_cupy_alloc(param, size, device);
  if (!ptr && size > 0) throw std::bad_alloc();
  return ptr;
}
