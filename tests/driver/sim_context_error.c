// SPDX-License-Identifier: BSD-3-Clause
// An error of the device ends its context: calls return it, work no longer runs, host functions are
// not called and callbacks are told, until the context is destroyed. Others go on.
#include "../../simcuda/simcuda.h"

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
  OK(simcuda_kernel("fails", NULL, 0, NULL, fails));
  OK(cuModuleLoadData(&module, "simcuda module\nfails\n"));
  OK(cuModuleGetFunction(&function, module, "fails"));
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
  OK(cuLaunchHostFunc(stream, host_function, NULL));
  OK(cuStreamAddCallback(stream, callback, NULL, 0));
  OK(cuEventRecord(event, stream));
  EXPECT(cuStreamSynchronize(stream), MISALIGNED);
  EXPECT(called, 0);
  EXPECT(told, MISALIGNED);
  EXPECT(cuCtxSynchronize(), MISALIGNED);
  EXPECT(cuStreamQuery(stream), MISALIGNED);
  EXPECT(cuEventQuery(event), MISALIGNED);
  EXPECT(cuEventSynchronize(event), MISALIGNED);
  EXPECT(cuMemAlloc(&unused, 1), MISALIGNED);
  EXPECT(cuMemFree(data), MISALIGNED);
  EXPECT(cuMemsetD8Async(data, 1, 1, stream), MISALIGNED);
  EXPECT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), MISALIGNED);
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == context, 1);

  OK(cuCtxCreate(&other, 0, 0));
  OK(cuMemAlloc(&unused, 1));
  OK(cuCtxSynchronize());
  OK(cuCtxPopCurrent(&other));

  OK(cuDevicePrimaryCtxReset(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemsetD8Async(data, 1, 1, NULL));
  OK(cuCtxSynchronize());

  // One that a call was told to return does the same.
  OK(simcuda_fail("cuMemAlloc", 1, 2));
  EXPECT(cuMemAlloc(&unused, 1), 2);
  OK(cuMemAlloc(&unused, 1));
  OK(simcuda_fail("cuMemAlloc", 1, 700));
  EXPECT(cuMemAlloc(&unused, 1), ILLEGAL_ADDRESS);
  EXPECT(cuMemAlloc(&unused, 1), ILLEGAL_ADDRESS);
  EXPECT(cuCtxSynchronize(), ILLEGAL_ADDRESS);
  return 0;
}
