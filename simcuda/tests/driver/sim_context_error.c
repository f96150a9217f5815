// SPDX-License-Identifier: BSD-3-Clause
// An error of the device ends its context: calls return it, work no longer runs, host functions are
// not called and callbacks are told, until the context is destroyed. Others go on.
#include "simcuda.h"

#include "driver_test.h"

static int called, told;

static void host_function(void *unused) {
  (void)unused;
  called = 1;
}

static void callback(CUstream stream, CUresult status, void *unused) {
  (void)stream, (void)unused;
  told = status;
}

static int32_t fails(const simcuda_launch *launch, const simcuda_range *ranges, uint32_t count) {
  (void)launch, (void)ranges, (void)count;
  return 716;
}

int main(void) {
  CUcontext context = start(), current = NULL, other = NULL;
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_KERNELS;
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuStreamAddCallback, 5000, CUstream, void (*)(CUstream, CUresult, void *), void *, unsigned);
  USE(cuCtxSynchronize, 2000, void);
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  USE(cuDevicePrimaryCtxReset, 7000, CUdevice);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  FIND_SIM(simcuda_kernel);
  FIND_SIM(simcuda_fail);
  enum { MISALIGNED = 716 };
  CUmodule module;
  CUfunction function;
  CUstream stream;
  CUevent event;
  CUdeviceptr data, unused;
  MUST(simcuda_kernel("fails", NULL, 0, NULL, fails));
  MUST(cuModuleLoadData(&module, "simcuda module\nfails\n"));
  MUST(cuModuleGetFunction(&function, module, "fails"));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
  MUST(cuLaunchHostFunc(stream, host_function, NULL));
  MUST(cuStreamAddCallback(stream, callback, NULL, 0));
  MUST(cuEventRecord(event, stream));
  MUST_BE(cuStreamSynchronize(stream), MISALIGNED);
  MUST_BE(called, 0);
  MUST_BE(told, MISALIGNED);
  MUST_BE(cuCtxSynchronize(), MISALIGNED);
  MUST_BE(cuStreamQuery(stream), MISALIGNED);
  MUST_BE(cuEventQuery(event), MISALIGNED);
  MUST_BE(cuEventSynchronize(event), MISALIGNED);
  MUST_BE(cuMemAlloc(&unused, 1), MISALIGNED);
  MUST_BE(cuMemFree(data), MISALIGNED);
  MUST_BE(cuMemsetD8Async(data, 1, 1, stream), MISALIGNED);
  MUST_BE(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), MISALIGNED);
  MUST(cuCtxGetCurrent(&current));
  MUST_BE(current == context, 1);

  MUST(cuCtxCreate(&other, 0, 0));
  MUST(cuMemAlloc(&unused, 1));
  MUST(cuCtxSynchronize());
  MUST(cuCtxPopCurrent(&other));

  MUST(cuDevicePrimaryCtxReset(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuCtxSetCurrent(context));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemsetD8Async(data, 1, 1, NULL));
  MUST(cuCtxSynchronize());

  // An injected error does the same.
  MUST(simcuda_fail("cuMemAlloc", 1, 2));
  MUST_BE(cuMemAlloc(&unused, 1), 2);
  MUST(cuMemAlloc(&unused, 1));
  MUST(simcuda_fail("cuMemAlloc", 1, 700));
  MUST_BE(cuMemAlloc(&unused, 1), ILLEGAL_ADDRESS);
  MUST_BE(cuMemAlloc(&unused, 1), ILLEGAL_ADDRESS);
  MUST_BE(cuCtxSynchronize(), ILLEGAL_ADDRESS);
  return 0;
}
