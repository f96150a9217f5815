// SPDX-License-Identifier: BSD-3-Clause
// A kernel reaches another device's memory only with access: enabled between the contexts, or set
// for the pool. Without it the address is illegal. Copies between devices need none.
#include "simcuda.h"

#include "driver_test.h"

static uint32_t ranges_of_touch(const simcuda_launch *launch, simcuda_range *out,
                                uint32_t capacity) {
  if (capacity > 0) out[0] = (simcuda_range){*(const uint64_t *)launch->arguments[0], 1, 1, 0, 0};
  return 1;
}

static int32_t touch(const simcuda_launch *launch, const simcuda_range *ranges, uint32_t count) {
  (void)launch, (void)count;
  *(unsigned char *)ranges[0].bytes = 7;
  return 0;
}

struct access {
  int type, device, flags;
};

int main(void) {
  CUcontext first = start(), second = NULL;
  USE_MEMORY;
  USE_KERNELS;
  USE(cuCtxSynchronize, 2000, void);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxEnablePeerAccess, 4000, CUcontext, unsigned);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuDevicePrimaryCtxReset, 7000, CUdevice);
  USE(cuMemcpyAsync, 4000, CUdeviceptr, CUdeviceptr, size_t, CUstream);
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemPoolSetAccess, 11020, CUmemoryPool, const struct access *, size_t);
  USE(cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *, CUdevice);
  FIND_SIM(simcuda_kernel);
  const uint32_t sizes[] = {8};
  unsigned char value = 0;
  CUdeviceptr here, there, pooled;
  CUmodule module;
  CUfunction function;
  CUmemoryPool pool;
  MUST(simcuda_kernel("touch", sizes, 1, ranges_of_touch, touch));
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  MUST(cuCtxSetCurrent(second));
  MUST(cuMemAlloc(&there, 1));
  MUST(cuMemAllocAsync(&pooled, 1, NULL));
  MUST(cuCtxSynchronize());

  void *arguments[] = {&there};
  for (int pass = 0; pass < 4; ++pass) {
    MUST(cuDevicePrimaryCtxReset(0));
    MUST(cuDevicePrimaryCtxRetain(&first, 0));
    MUST(cuCtxSetCurrent(first));
    MUST(cuModuleLoadData(&module, "simcuda module\ntouch\n"));
    MUST(cuModuleGetFunction(&function, module, "touch"));
    MUST(cuMemAlloc(&here, 1));
    MUST(cuMemcpyAsync(here, there, 1, NULL));
    MUST(cuMemcpyAsync(there, here, 1, NULL));
    arguments[0] = pass < 2 ? &there : &pooled;
    if (pass == 1) MUST(cuCtxEnablePeerAccess(second, 0));
    if (pass == 3) {
      const struct access access = {1, 0, 3};
      MUST(cuDeviceGetDefaultMemPool(&pool, 1));
      MUST(cuMemPoolSetAccess(pool, &access, 1));
    }
    MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    MUST_BE(cuCtxSynchronize(), pass % 2 ? SUCCESS : ILLEGAL_ADDRESS);
    if (pass != 1) continue;
    MUST(cuMemcpyDtoH(&value, there, 1));
    MUST_BE(value, 7);
  }
  arguments[0] = &here;
  ++here;  // outside of any allocation
  MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
  MUST_BE(cuCtxSynchronize(), ILLEGAL_ADDRESS);
  return 0;
}
