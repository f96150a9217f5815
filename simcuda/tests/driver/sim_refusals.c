// SPDX-License-Identifier: BSD-3-Clause
// What the functions of contexts, devices, memory, pools, streams and user objects refuse, each for
// its own reason: arguments that few callers give.
#include "arrays.h"
#include "driver_test.h"

typedef struct {
  int type, id;
} Place;

static void check_contexts(CUcontext primary) {
  USE(cuDevicePrimaryCtxGetState, 7000, CUdevice, unsigned *, int *);
  USE(cuDevicePrimaryCtxSetFlags, 7000, CUdevice, unsigned);
  USE(cuDevicePrimaryCtxReset, 7000, CUdevice);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuDevicePrimaryCtxRelease, 7000, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxPushCurrent, 4000, CUcontext);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxEnablePeerAccess, 4000, CUcontext, unsigned);
  CUresult (*create_v3)(CUcontext *, void *, int, unsigned, CUdevice);
  CUresult (*create_v4)(CUcontext *, void *, unsigned, CUdevice);
  *(void **)&create_v3 = find("cuCtxCreate", 11040);
  *(void **)&create_v4 = find("cuCtxCreate", 12050);
  enum { SPIN = 1, PEER_ACCESS_UNSUPPORTED = 217, UNSUPPORTED_EXEC_AFFINITY = 224 };
  CUcontext mine, there;
  unsigned flags = 7;
  int active = 7, parameters = 0;
  MUST_BE(cuCtxDestroy(primary), INVALID_CONTEXT);
  MUST_BE(cuCtxPushCurrent(NULL), INVALID_VALUE);
  MUST_BE(create_v3(&mine, &parameters, 1, 0, 0), UNSUPPORTED_EXEC_AFFINITY);
  // Not supported, whatever the parameters are.
  MUST_BE(create_v4(&mine, &parameters, 0, 0), NOT_SUPPORTED);
  MUST(create_v3(&mine, NULL, 0, 0, 0));
  MUST_BE(cuCtxEnablePeerAccess(primary, 0), PEER_ACCESS_UNSUPPORTED);  // its own device
  MUST(cuCtxDestroy(mine));
  MUST(create_v4(&mine, NULL, 0, 0));
  MUST(cuCtxPopCurrent(NULL));
  MUST(cuCtxDestroy(mine));  // not current

  // The second device's primary context, which nobody has made: its flags come first.
  MUST(cuDevicePrimaryCtxReset(1));
  MUST(cuDevicePrimaryCtxSetFlags(1, SPIN));
  MUST(cuDevicePrimaryCtxGetState(1, &flags, &active));
  MUST_BE(flags == SPIN && active == 0, 1);
  MUST(cuDevicePrimaryCtxSetFlags(1, 0));
  MUST(cuDevicePrimaryCtxRetain(&there, 1));
  MUST_BE(cuCtxEnablePeerAccess(there, 1), INVALID_VALUE);
  MUST(cuDevicePrimaryCtxReset(1));
  MUST(cuDevicePrimaryCtxReset(1));  // there is nothing any more
  MUST(cuDevicePrimaryCtxRelease(1));
  MUST(cuCtxSetCurrent(NULL));
  MUST(cuCtxSetCurrent(NULL));  // no context is current
  MUST(cuCtxSetCurrent(primary));
}

static void check_devices(void) {
  USE(cuDeviceGetName, 2000, char *, int, CUdevice);
  USE(cuDeviceGetAttribute, 2000, int *, int, CUdevice);
  USE(cuDeviceGetPCIBusId, 4010, char *, int, CUdevice);
  USE(cuDeviceGetByPCIBusId, 4010, CUdevice *, const char *);
  char text[32];
  int value;
  CUdevice device;
  MUST_BE(cuDeviceGetName(text, 0, 0), INVALID_VALUE);
  MUST_BE(cuDeviceGetAttribute(&value, 0, 0), INVALID_VALUE);
  MUST_BE(cuDeviceGetPCIBusId(text, 12, 0), INVALID_VALUE);
  MUST(cuDeviceGetPCIBusId(text, 13, 0));
  MUST(cuDeviceGetByPCIBusId(&device, text));
  MUST_BE(device, 0);
  MUST(cuDeviceGetByPCIBusId(&device, text + 5));  // without the domain, and the function
  MUST_BE(cuDeviceGetByPCIBusId(&device, "bus"), INVALID_VALUE);
  memcpy(text, "0001", 4);
  MUST_BE(cuDeviceGetByPCIBusId(&device, text), INVALID_DEVICE);
  memcpy(text, "0000", 4);
  text[9] = '1';  // another slot
  MUST_BE(cuDeviceGetByPCIBusId(&device, text), INVALID_DEVICE);
}

static void check_memory(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostUnregister, 4000, void *);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  USE(cuMemGetAddressRange, 3020, CUdeviceptr *, size_t *, CUdeviceptr);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  CUresult (*prefetch)(CUdeviceptr, size_t, Place, unsigned, CUstream);
  CUresult (*advise)(CUdeviceptr, size_t, int, Place);
  *(void **)&prefetch = find("cuMemPrefetchAsync", 12020);
  *(void **)&advise = find("cuMemAdvise", 12020);
  enum { IO = 4, UNKNOWN = 64, GLOBAL = 1, ON_DEVICE = 1, SIZE = 4096 };
  static char bytes[SIZE];
  const Place here = {ON_DEVICE, 0};
  CUdeviceptr data, managed, pointer;
  void *pinned;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemAllocManaged(&managed, SIZE, GLOBAL));
  MUST(cuMemHostAlloc(&pinned, SIZE, 0));
  MUST_BE(cuMemFree((CUdeviceptr)(uintptr_t)pinned), INVALID_VALUE);
  MUST_BE(cuMemFreeHost((char *)pinned + 1), INVALID_VALUE);
  MUST_BE(cuMemFreeHost((void *)(uintptr_t)data), INVALID_VALUE);
  MUST_BE(cuMemHostGetDevicePointer(&pointer, (void *)(uintptr_t)data, 0), INVALID_VALUE);
  MUST_BE(cuMemHostGetDevicePointer(&pointer, pinned, 1), INVALID_VALUE);
  MUST(cuMemGetAddressRange(NULL, NULL, data));
  MUST_BE(cuMemHostRegister(bytes, 0, 0), INVALID_VALUE);
  MUST_BE(cuMemHostRegister(NULL, SIZE, 0), INVALID_VALUE);
  MUST_BE(cuMemHostRegister(bytes, SIZE, UNKNOWN), INVALID_VALUE);
  MUST_BE(cuMemHostRegister(bytes, SIZE, IO), NOT_SUPPORTED);
  MUST(cuMemHostRegister(bytes, SIZE, 0));
  MUST_BE(cuMemHostRegister(bytes + 1, 1, 0), ALREADY_REGISTERED);
  MUST(cuMemHostUnregister(bytes));
  MUST_BE(prefetch(managed, SIZE, here, 1, stream), INVALID_VALUE);
  MUST_BE(prefetch(data, SIZE, here, 0, stream), INVALID_VALUE);  // not managed
  MUST_BE(advise(data, SIZE, 1, here), INVALID_VALUE);
  MUST(prefetch(managed, SIZE, here, 0, stream));
  MUST(advise(managed, SIZE, 1, here));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemFreeHost(pinned));
  MUST(cuMemFree(managed));
  MUST(cuMemFree(data));
  MUST(cuStreamDestroy(stream));
}

static void check_streams(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuEventElapsedTime, 2000, float *, CUevent, CUevent);
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuStreamAddCallback, 5000, CUstream, void (*)(CUstream, CUresult, void *), void *, unsigned);
  USE(cuStreamAttachMemAsync, 6000, CUstream, CUdeviceptr, size_t, unsigned);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuThreadExchangeStreamCaptureMode, 10010, int *);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  enum { GLOBAL = 1, SINGLE = 4 };
  CUstream stream;
  CUevent start_event, end_event, foreign;
  CUcontext other;
  CUdeviceptr managed;
  float milliseconds;
  int mode = -1;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&start_event, 0));
  MUST(cuEventCreate(&end_event, 0));
  MUST(cuEventRecord(start_event, stream));
  MUST_BE(cuEventElapsedTime(&milliseconds, start_event, end_event), INVALID_HANDLE);
  MUST(cuCtxCreate(&other, 0, 0));
  MUST(cuEventCreate(&foreign, 0));
  MUST_BE(cuEventElapsedTime(&milliseconds, start_event, foreign), INVALID_HANDLE);
  MUST(cuCtxDestroy(other));
  MUST_BE(cuLaunchHostFunc(stream, NULL, NULL), INVALID_VALUE);
  MUST_BE(cuStreamAddCallback(stream, NULL, NULL, 0), INVALID_VALUE);
  MUST(cuMemAllocManaged(&managed, 64, GLOBAL));
  MUST_BE(cuStreamAttachMemAsync(stream, managed, 32, SINGLE), INVALID_VALUE);  // not the whole
  MUST(cuStreamAttachMemAsync(stream, managed, 64, SINGLE));
  MUST_BE(cuThreadExchangeStreamCaptureMode(&mode), INVALID_VALUE);
  mode = 3;
  MUST_BE(cuThreadExchangeStreamCaptureMode(&mode), INVALID_VALUE);
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemFree(managed));
  MUST(cuEventDestroy(start_event));
  MUST(cuEventDestroy(end_event));
  MUST(cuStreamDestroy(stream));
}

static void check_pools(void) {
  USE_POOLS;
  USE(cuDeviceSetMemPool, 11020, CUdevice, CUmemoryPool);
  USE(cuMemPoolGetAccess, 11020, int *, CUmemoryPool, Place *);
  USE(cuMemPoolSetAccess, 11020, CUmemoryPool, const void *, size_t);
  USE(cuMemGetDefaultMemPool, 13000, CUmemoryPool *, Place *, int);
  USE(cuMemGetMemPool, 13000, CUmemoryPool *, Place *, int);
  USE(cuMemSetMemPool, 13000, Place *, int, CUmemoryPool);
  enum { PINNED = 1, MANAGED = 2, DESCRIPTOR = 1, WIN32 = 2, ON_DEVICE = 1, ON_HOST = 2, READ = 1 };
  PoolProperties properties;
  Place here = {ON_DEVICE, 0}, there = {ON_DEVICE, 1}, nowhere = {0, 0}, on_host = {ON_HOST, 0};
  const struct {
    Place place;
    int flags;
  } only_read = {{ON_DEVICE, 0}, READ};
  CUmemoryPool pool, managed, found;
  int flags;
  memset(&properties, 0, sizeof properties);
  properties.location_type = ON_DEVICE;
  properties.type = 0;
  MUST_BE(cuMemPoolCreate(&pool, &properties), INVALID_VALUE);
  properties.type = PINNED;
  properties.handles = WIN32;
  MUST_BE(cuMemPoolCreate(&pool, &properties), INVALID_VALUE);
  properties.handles = DESCRIPTOR;
  properties.type = MANAGED;
  MUST_BE(cuMemPoolCreate(&managed, &properties), INVALID_VALUE);  // is not shared
  properties.handles = 0;
  MUST(cuMemPoolCreate(&managed, &properties));
  properties.type = PINNED;
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST_BE(cuMemPoolGetAccess(&flags, pool, &nowhere), INVALID_VALUE);
  MUST(cuMemPoolGetAccess(&flags, pool, &on_host));
  MUST_BE(flags, 0);
  MUST_BE(cuMemPoolSetAccess(pool, &only_read, 1), INVALID_DEVICE);
  MUST_BE(cuDeviceSetMemPool(0, managed), INVALID_VALUE);

  MUST(cuMemSetMemPool(&here, MANAGED, managed));
  MUST(cuMemGetMemPool(&found, &here, MANAGED));
  MUST_BE(found == managed, 1);
  MUST_BE(cuMemSetMemPool(&here, MANAGED, pool), INVALID_VALUE);
  MUST_BE(cuMemSetMemPool(&here, PINNED, managed), INVALID_VALUE);
  MUST_BE(cuMemSetMemPool(&there, PINNED, pool), INVALID_DEVICE);
  MUST(cuMemSetMemPool(&here, PINNED, pool));
  MUST(cuMemGetMemPool(&found, &here, PINNED));
  MUST_BE(found == pool, 1);
  MUST(cuMemGetDefaultMemPool(&found, &here, PINNED));
  MUST_BE(found != pool, 1);
  MUST(cuMemSetMemPool(&here, PINNED, found));
  MUST(cuMemPoolDestroy(managed));
  MUST(cuMemPoolDestroy(pool));
}

static void check_proc_addresses(void) {
  CUresult (*get)(const char *, void **, int, uint64_t, int *);
  *(void **)&get = find("cuGetProcAddress", 12000);
  enum { NO_FLAG = 8 };
  void *found = &found;
  int status = 7;
  MUST_BE(get("cuInit", &found, 2000, NO_FLAG, &status), INVALID_VALUE);
  MUST_BE(found == NULL, 1);
}

int main(void) {
  const CUcontext primary = start();
  check_contexts(primary);
  check_devices();
  check_memory();
  check_streams();
  check_pools();
  check_proc_addresses();
  return 0;
}
