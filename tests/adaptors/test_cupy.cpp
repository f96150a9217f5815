// SPDX-License-Identifier: BSD-3-Clause
// The functions for CuPy, found and called as its CFunctionAllocator finds and calls them.
//
// usage: test_cupy LIBCAI_CUPY
#include <cai/adaptors.h>

#include <new>

#include "adaptors.h"
#include "driver_test.h"

// As CuPy declares them.
using malloc_func_type = void *(*)(void *, std::size_t, int);
using free_func_type = void (*)(void *, void *, int);

int main(int, char **arguments) {
  start();
  FIND_SIM(simcuda_races);
  USE_MEMORY;
  USE_STREAMS;
  CHECK_OK(cai_on_failure(hear, nullptr, ERR));
  void *const side = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!side) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto malloc_func = reinterpret_cast<malloc_func_type>(dlsym(side, "cai_cupy_malloc"));
  const free_func_type free_func = cai_cupy_free;
  CHECK(malloc_func != nullptr);

  CHECK(malloc_func(nullptr, 0, 0) == nullptr);
  free_func(nullptr, nullptr, 0);
  for (int device = 0; device < 2; ++device) {
    void *const block = malloc_func(nullptr, BYTES, device);
    CHECK(block && usage_of(device).bytes == BYTES);
    MUST(cuMemsetD8Async(address_of(block), 1, BYTES, LEGACY));
    free_func(nullptr, block, device);
    CHECK(usage_of(device).count == 0);
  }
  CHECK_SILENT();

  // In the order of the stream in `param`.
  install("async", 0);
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  for (int i = 0; i < 3; ++i) {
    void *const block = malloc_func(stream, BYTES, 0);
    MUST(cuMemsetD8Async(address_of(block), 1, BYTES, stream));
    free_func(stream, block, 0);
  }
  MUST(cuStreamSynchronize(stream));
  MUST(cuStreamDestroy(stream));
  CHECK(simcuda_races() == 0);
  CHECK_SILENT();

  // CuPy expects an exception, and looks for no NULL.
  bool thrown = false;
  try {
    (void)malloc_func(nullptr, std::size_t{1} << 60, 0);
  } catch (const std::bad_alloc &) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK_TOLD(CAI_ERR_MEMORY, "");
  thrown = false;
  try {
    (void)malloc_func(nullptr, 16, 7);
  } catch (const std::bad_alloc &) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK_TOLD(CAI_ERR_DEVICE, "7");
  CHECK(cai_cupy_alloc(nullptr, std::size_t{1} << 60, 0) == nullptr);
  CHECK_TOLD(CAI_ERR_MEMORY, "");

  int here = 0;
  free_func(nullptr, &here, 0);
  CHECK_TOLD(CAI_ERR_STATE, "freed already");
  void *const block = malloc_func(nullptr, BYTES, 1);
  free_func(nullptr, block, 1);
  free_func(nullptr, block, 1);
  CHECK_TOLD(CAI_ERR_STATE, "freed already");
  return CHECK_RESULT();
}
