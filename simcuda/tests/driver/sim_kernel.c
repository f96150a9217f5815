// SPDX-License-Identifier: BSD-3-Clause
// A kernel that a test registers runs in the order of its stream, with the arguments of its launch.
#include "simcuda.h"

#include "driver_test.h"

static uint32_t ranges_of_fill(const simcuda_launch *launch, simcuda_range *out,
                               uint32_t capacity) {
  const uint64_t address = *(const uint64_t *)launch->arguments[0];
  if (capacity > 0) out[0] = (simcuda_range){address, launch->grid[0] * launch->block[0], 1, 0, 0};
  return 1;
}

static int32_t fill(const simcuda_launch *launch, const simcuda_range *ranges, uint32_t count) {
  if (count != 1 || launch->argument_count != 2) return 719;
  memset(ranges[0].bytes, *(const uint8_t *)launch->arguments[1], ranges[0].size);
  return 0;
}

static CUresult (*count_devices)(int *);
static CUresult inside;

static int32_t calls(const simcuda_launch *launch, const simcuda_range *ranges, uint32_t count) {
  (void)launch, (void)ranges, (void)count;
  int devices;
  inside = count_devices(&devices);
  return 0;
}

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_KERNELS;
  USE(cuFuncGetModule, 11000, CUmodule *, CUfunction);
  USE(cuFuncGetParamInfo, 12040, CUfunction, size_t, size_t *, size_t *);
  USE(cuModuleUnload, 2000, CUmodule);
  USE(cuLibraryLoadData, 12000, CUlibrary *, const void *, int *, void **, unsigned, int *, void **,
      unsigned);
  USE(cuLibraryGetKernel, 12000, CUkernel *, CUlibrary, const char *);
  USE(cuKernelGetFunction, 12000, CUfunction *, CUkernel);
  USE(cuLibraryUnload, 12000, CUlibrary);
  FIND_SIM(simcuda_kernel);
  *(void **)&count_devices = find("cuDeviceGetCount", 2000);
  enum { SIZE = 512, INVALID_IMAGE = 200 };
  static unsigned char bytes[SIZE];
  const uint32_t sizes[] = {8, 1}, nothing[] = {0};
  const char *image = "simcuda module\nfill\ncalls\n";
  CUmodule module, owner;
  CUfunction function;
  CUlibrary library;
  CUkernel kernel;
  CUstream stream;
  CUdeviceptr data;
  size_t offset = 0, size = 0;

  MUST_BE(simcuda_kernel(NULL, sizes, 2, ranges_of_fill, fill), INVALID_VALUE);
  MUST_BE(simcuda_kernel("a\nb", sizes, 2, ranges_of_fill, fill), INVALID_VALUE);
  MUST_BE(simcuda_kernel("none", nothing, 1, NULL, NULL), INVALID_VALUE);
  MUST_BE(cuModuleLoadData(&module, image), INVALID_IMAGE);  // nobody has registered these
  MUST(simcuda_kernel("fill", sizes, 2, ranges_of_fill, fill));
  MUST(simcuda_kernel("calls", NULL, 0, NULL, calls));
  MUST_BE(cuModuleLoadData(&module, NULL), INVALID_VALUE);
  MUST(cuModuleLoadData(&module, image));
  MUST_BE(cuModuleGetFunction(&function, module, "other"), NOT_FOUND);
  MUST(cuModuleGetFunction(&function, module, "fill"));
  MUST(cuFuncGetModule(&owner, function));
  MUST_BE(owner == module, 1);
  MUST(cuFuncGetParamInfo(function, 1, &offset, &size));
  MUST_BE(offset, 8);
  MUST_BE(size, 1);
  MUST_BE(cuFuncGetParamInfo(function, 2, &offset, &size), INVALID_VALUE);

  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  unsigned char value = 7;
  void *arguments[] = {&data, &value};
  MUST(cuMemsetD8Async(data, 1, SIZE, stream));
  MUST(cuLaunchKernel(function, 2, 1, 1, 128, 1, 1, 0, stream, arguments, NULL));
  value = 9;  // too late for that launch
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(bytes, data, SIZE));
  MUST_BE(bytes[0], 7);
  MUST_BE(bytes[255], 7);
  MUST_BE(bytes[256], 1);

  // The other way to pass arguments, and a library's kernel.
  MUST(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
  MUST(cuLibraryGetKernel(&kernel, library, "fill"));
  struct {
    CUdeviceptr data;
    unsigned char value;
  } packed = {data, 5};
  size_t packed_size = 9;
  void *extra[] = {(void *)1, &packed, (void *)2, &packed_size, NULL};
  MUST(cuLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, stream, NULL, extra));
  MUST(cuKernelGetFunction(&function, kernel));
  packed.value = 6;
  MUST(cuLaunchKernel(function, 1, 1, 1, 2, 1, 1, 0, stream, NULL, extra));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(bytes, data, SIZE));
  MUST_BE(bytes[1], 6);
  MUST_BE(bytes[2], 5);
  MUST_BE(bytes[4], 7);

  packed_size = 8;
  MUST_BE(cuLaunchKernel(function, 1, 1, 1, 2, 1, 1, 0, stream, NULL, extra), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(function, 1, 1, 1, 2, 1, 1, 0, stream, arguments, extra), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(function, 1, 1, 1, 2, 1, 1, 0, stream, NULL, NULL), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(function, 0, 1, 1, 2, 1, 1, 0, stream, arguments, NULL), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(function, 1, 1, 1, 1024, 2, 1, 0, stream, arguments, NULL), INVALID_VALUE);
  MUST(cuLibraryUnload(library));
  MUST_BE(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL), INVALID_HANDLE);

  MUST(cuModuleGetFunction(&function, module, "calls"));
  MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
  MUST(cuModuleUnload(module));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(inside, 800);
  return 0;
}
