// SPDX-License-Identifier: BSD-3-Clause
// What the functions take that most callers give few arguments, or never call: formats of arrays,
// limits, attributes and pools; and what they refuse, each for its own reason.
#include "arrays.h"
#include "attributes.h"

enum { UNSUPPORTED_LIMIT = 215 };

static void check_arrays(void) {
  USE_MEMORY;
  USE(cuArray3DCreate, 3020, CUarray *, const Array3DDescriptor *);
  USE(cuArrayDestroy, 2000, CUarray);
  static const int formats[] = {1, 2, 3, 8, 9, 10, 16, 32};
  enum { LAYERED = 1, CUBEMAP = 4, SPARSE = 64 };
  static const Array3DDescriptor wrong[] = {
      {0, 1, 0, 32, 1, 0},  // no width
      {4, 4, 0, 32, 3, 0},
      {4, 0, 4, 32, 1, 0},
      {4, 4, 0, 32, 1, LAYERED},
      {4, 8, 6, 32, 1, CUBEMAP},
      {4, 4, 5, 32, 1, CUBEMAP},
      {4, 4, 7, 32, 1, CUBEMAP | LAYERED},
      {(1 << 17) + 1, 0, 0, 32, 1, 0},
      {4, 4, 0, 33, 1, 0},  // no such format
  };
  // A format that there is, and sparse memory.
  static const Array3DDescriptor not_imitated[] = {{4, 4, 0, 0xb0, 1, 0}, {4, 4, 0, 32, 1, SPARSE}};
  static const Array3DDescriptor cubes[] = {{4, 4, 6, 32, 1, CUBEMAP},
                                            {4, 4, 12, 32, 1, CUBEMAP | LAYERED}};
  CUarray array;
  unsigned i;
  for (i = 0; i < sizeof formats / sizeof *formats; ++i) {
    const Array3DDescriptor good = {4, 4, 0, formats[i], 2, 0};
    MUST(cuArray3DCreate(&array, &good));
    MUST(cuArrayDestroy(array));
  }
  for (i = 0; i < sizeof cubes / sizeof *cubes; ++i) {
    MUST(cuArray3DCreate(&array, &cubes[i]));
    MUST(cuArrayDestroy(array));
  }
  for (i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    MUST_BE(cuArray3DCreate(&array, &wrong[i]), INVALID_VALUE);
  for (i = 0; i < sizeof not_imitated / sizeof *not_imitated; ++i)
    MUST_BE(cuArray3DCreate(&array, &not_imitated[i]), NOT_SUPPORTED);
}

static void check_limits(void) {
  USE(cuCtxGetLimit, 3010, size_t *, int);
  USE(cuCtxSetLimit, 3010, int, size_t);
  USE(cuCtxGetSharedMemConfig, 4020, int *);
  USE(cuCtxGetStreamPriorityRange, 5050, int *, int *);
  USE(cuDeviceGetP2PAttribute, 8000, int *, int, CUdevice, CUdevice);
  enum { MALLOC_HEAP = 2, SYNC_DEPTH = 3 };
  static const struct {
    CUresult status;
    size_t then;
  } limits[] = {{SUCCESS, 4112},        {SUCCESS, 512 << 10},    {SUCCESS, 4 << 20},
                {UNSUPPORTED_LIMIT, 0}, {SUCCESS, 4097},         {INVALID_VALUE, 64},
                {SUCCESS, 3276800},     {NOT_PERMITTED, 232448}, {NOT_PERMITTED, 0},
                {UNSUPPORTED_LIMIT, 0}};
  size_t limit = 0, i;
  int value = 7, least = 7, greatest = 7, attribute;
  MUST(cuCtxGetLimit(&limit, MALLOC_HEAP));
  MUST_BE(limit, 8 << 20);
  MUST(cuCtxSetLimit(0, 4096));
  MUST(cuCtxGetLimit(&limit, 0));
  MUST_BE(limit, 4096);
  // The value that is set need not be the result: as on an H200, except for the size of the cache.
  for (i = 0; i < sizeof limits / sizeof *limits; ++i) {
    MUST_BE(cuCtxSetLimit((int)i, 4097), limits[i].status);
    if (limits[i].status == UNSUPPORTED_LIMIT) continue;
    MUST(cuCtxGetLimit(&limit, (int)i));
    MUST_BE(limit, limits[i].then);
  }
  enum { L2_FETCH = 5 };
  MUST(cuCtxSetLimit(L2_FETCH, 64));  // up to 128 bytes
  MUST(cuCtxGetLimit(&limit, L2_FETCH));
  MUST_BE(limit, 64);
  MUST_BE(cuCtxSetLimit(-1, 1), INVALID_VALUE);
  MUST_BE(cuCtxSetLimit(10, 1), INVALID_VALUE);
  MUST_BE(cuCtxGetLimit(&limit, -1), INVALID_VALUE);
  MUST_BE(cuCtxGetLimit(&limit, 10), INVALID_VALUE);
  MUST_BE(cuCtxGetLimit(&limit, SYNC_DEPTH), UNSUPPORTED_LIMIT);
  MUST(cuCtxGetSharedMemConfig(&value));
  MUST_BE(value, 1);
  MUST(cuCtxGetStreamPriorityRange(NULL, &greatest));
  MUST(cuCtxGetStreamPriorityRange(&least, NULL));
  MUST_BE(least, 0);
  MUST_BE(greatest < 0, 1);
  for (attribute = 1; attribute <= 4; ++attribute) {
    MUST(cuDeviceGetP2PAttribute(&value, attribute, 0, 1));
    MUST_BE(value, attribute == 2);
  }
  MUST_BE(cuDeviceGetP2PAttribute(&value, 0, 0, 1), INVALID_VALUE);
  MUST_BE(cuDeviceGetP2PAttribute(&value, 5, 0, 1), INVALID_VALUE);
  MUST_BE(cuDeviceGetP2PAttribute(&value, 2, 1, 1), INVALID_VALUE);
}

static void check_attributes(void) {
  USE_MEMORY;
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  USE(cuPointerGetAttributes, 7000, unsigned, int *, void **, CUdeviceptr);
  USE(cuPointerSetAttribute, 6000, const void *, int, CUdeviceptr);
  enum { SYNC_MEMOPS = 6, RDMA = 15, ACCESS = 16, MAPPING_SIZE = 18, MAPPING_BASE = 19 };
  const unsigned on = 1;
  CUdeviceptr data;
  uint64_t size = 0, base = 0;
  unsigned sync = 7, rdma = 7, access = 7;
  int wanted[] = {SYNC_MEMOPS};
  void *nowhere[] = {NULL};
  MUST(cuMemAlloc(&data, 64));
  MUST(cuPointerGetAttribute(&sync, SYNC_MEMOPS, data));
  MUST_BE(sync, 0);
  MUST(cuPointerSetAttribute(&on, SYNC_MEMOPS, data));
  MUST(cuPointerGetAttribute(&sync, SYNC_MEMOPS, data + 63));
  MUST_BE(sync, 1);
  MUST(cuPointerGetAttribute(&rdma, RDMA, data));
  MUST_BE(rdma, 1);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  int of_nobody[] = {RDMA};
  void *host, *places[] = {&rdma};
  MUST(cuMemHostAlloc(&host, 64, 0));
  MUST(cuPointerGetAttribute(&rdma, RDMA, address_of(host)));
  MUST_BE(rdma, 0);
  rdma = 7;
  MUST(cuPointerGetAttributes(1, of_nobody, places, address_of(&rdma)));
  MUST_BE(rdma, 0);
  MUST(cuMemFreeHost(host));
  MUST(cuPointerGetAttribute(&access, ACCESS, data));
  MUST_BE(access, 3);
  MUST(cuPointerGetAttribute(&size, MAPPING_SIZE, data));
  MUST_BE(size, 64);  // here: an H100's driver maps 2 MiB at once, in which other memory lies, too
  MUST(cuPointerGetAttribute(&base, MAPPING_BASE, data + 5));
  MUST_BE(base, data);
  MUST_BE(cuPointerGetAttribute(NULL, MAPPING_BASE, data), INVALID_VALUE);
  MUST_BE(cuPointerGetAttributes(1, wanted, nowhere, data), INVALID_VALUE);
  MUST_BE(cuPointerSetAttribute(NULL, SYNC_MEMOPS, data), INVALID_VALUE);
  MUST_BE(cuPointerSetAttribute(&on, ACCESS, data), INVALID_VALUE);
  MUST(cuMemFree(data));
  MUST_BE(cuPointerSetAttribute(&on, SYNC_MEMOPS, data), INVALID_VALUE);
}

static void check_sizes(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocPitch, 3020, CUdeviceptr *, size_t *, size_t, size_t, unsigned);
  USE(cuMemsetD2D32, 3020, CUdeviceptr, size_t, unsigned, size_t, size_t);
  USE(cuStreamAttachMemAsync, 6000, CUstream, CUdeviceptr, size_t, unsigned);
  enum { GLOBAL = 1 };
  CUdeviceptr data;
  CUstream stream;
  size_t pitch;
  MUST_BE(cuMemAllocPitch(&data, &pitch, SIZE_MAX - 3, 1, 4), INVALID_VALUE);
  MUST_BE(cuMemAllocPitch(&data, &pitch, SIZE_MAX / 2, 4, 4), INVALID_VALUE);
  MUST(cuMemAllocPitch(&data, &pitch, 64, 4, 4));
  MUST(cuMemsetD2D32(data, pitch, 7, 16, 4));
  MUST(cuMemsetD2D32(data, pitch, 7, 0, 4));
  MUST(cuMemsetD2D32(data, pitch, 7, 16, 0));
  // Beyond the end of the memory, which a driver does not look at: there it is a fault of the
  // context.
  MUST_BE(cuMemsetD2D32(data, pitch, 7, SIZE_MAX / 2, 1), INVALID_VALUE);
  MUST_BE(cuMemsetD2D32(data, SIZE_MAX / 4, 7, 16, SIZE_MAX), INVALID_VALUE);
  MUST_BE(cuMemsetD2D32(data, SIZE_MAX - 3, 7, 16, 2), INVALID_VALUE);
  MUST_BE(cuMemsetD2D32(data, 32, 7, 16, 2), INVALID_VALUE); /* less than a row */
  MUST_BE(cuMemsetD2D32(data, pitch - 2, 7, 16, 2), INVALID_VALUE);
  MUST_BE(cuMemsetD2D32(data + 2, pitch, 7, 4, 1), INVALID_VALUE);
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST_BE(cuStreamAttachMemAsync(stream, data, 0, GLOBAL), INVALID_VALUE); /* not managed */
  MUST(cuStreamDestroy(stream));
  MUST(cuMemFree(data));
}

static void check_pools(void) {
  USE_POOLS;
  USE(cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *, CUdevice);
  USE(cuDeviceSetMemPool, 11020, CUdevice, CUmemoryPool);
  enum { REUSE = 1, UNKNOWN = 99 };
  CUmemoryPool pool;
  uint64_t zero = 0, one = 1, back = 7;
  int off = 0, now = 7;
  MUST(cuDeviceGetDefaultMemPool(&pool, 0));
  MUST(cuMemPoolSetAttribute(pool, REUSE, &off));
  MUST(cuMemPoolGetAttribute(pool, REUSE, &now));
  MUST_BE(now, 0);
  MUST(cuMemPoolSetAttribute(pool, USED_HIGH, &zero));
  MUST(cuMemPoolSetAttribute(pool, RESERVED_HIGH, &zero));
  MUST_BE(cuMemPoolSetAttribute(pool, USED_HIGH, &one), INVALID_VALUE);
  MUST_BE(cuMemPoolSetAttribute(pool, RESERVED_HIGH, &one), INVALID_VALUE);
  MUST_BE(cuMemPoolSetAttribute(pool, USED, &zero), INVALID_VALUE);
  MUST_BE(cuMemPoolSetAttribute(pool, THRESHOLD, NULL), INVALID_VALUE);
  MUST_BE(cuMemPoolGetAttribute(pool, THRESHOLD, NULL), INVALID_VALUE);
  MUST_BE(cuMemPoolGetAttribute(pool, UNKNOWN, &back), INVALID_VALUE);
  MUST_BE(back, 7);
  MUST_BE(cuDeviceSetMemPool(1, pool), INVALID_DEVICE);
  MUST(cuDeviceSetMemPool(0, pool));
}

// A context by its handle, and once it is destroyed; and one whose copies all wait.
static void check_contexts(CUcontext primary) {
  USE_MEMORY;
  USE_STREAMS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxGetApiVersion, 3020, CUcontext, unsigned *);
  USE_SIM(uint64_t, simcuda_pending, void);
  enum { COPIES_WAIT = 0x80 };
  CUcontext other;
  CUdeviceptr data;
  unsigned version = 0, of_current = 0;
  MUST(cuCtxGetApiVersion(NULL, &of_current));
  for (int waits = 0; waits < 2; ++waits) {
    MUST(cuCtxCreate(&other, waits ? COPIES_WAIT : 0, 0));
    MUST(cuCtxGetApiVersion(other, &version));
    MUST_BE(version, of_current);
    MUST(cuMemAlloc(&data, 64));
    MUST(
        cuMemcpyHtoD(data, &version, sizeof version));  // of pageable memory, which is copied first
    MUST_BE(simcuda_pending(), waits ? 0 : 1);
    MUST(cuCtxDestroy(other));
    MUST(cuCtxSetCurrent(primary));
    MUST_BE(cuCtxGetApiVersion(other, &version), INVALID_CONTEXT);
    MUST_BE(cuCtxDestroy(other), INVALID_CONTEXT);
  }
  MUST_BE(cuCtxGetApiVersion((CUcontext)5, &version), INVALID_CONTEXT);
}

// Managed memory at a place that there is not, and attached to stream 0 of either kind.
static void check_managed(void) {
  USE_MEMORY;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  typedef struct {
    int type, id;
  } Place;
  CUresult (*prefetch)(CUdeviceptr, size_t, Place, unsigned, CUstream);
  CUresult (*attach)(CUstream, CUdeviceptr, size_t, unsigned);
  *(void **)&prefetch = find("cuMemPrefetchAsync", 12020);
  enum { NOWHERE = 0, HOST_PLACE = 2, UNKNOWN = 5, SINGLE = 4, PER_THREAD_FLAVOUR = 2 };
  CUdeviceptr data;
  MUST(cuMemAllocManaged(&data, 64, 1));
  MUST_BE(prefetch(data, 64, (Place){NOWHERE, 0}, 0, LEGACY), INVALID_VALUE);
  MUST_BE(prefetch(data, 64, (Place){UNKNOWN, 0}, 0, LEGACY), INVALID_VALUE);
  MUST_BE(prefetch(data, 64, (Place){HOST_PLACE, 0}, 1, LEGACY), INVALID_VALUE);
  MUST(prefetch(data, 64, (Place){HOST_PLACE, 0}, 0, LEGACY));
  // By the per-thread flavour of the call, stream 0 is the thread's own.
  MUST(
      get_proc_address("cuStreamAttachMemAsync", (void **)&attach, 7000, PER_THREAD_FLAVOUR, NULL));
  MUST(attach(NULL, data, 0, SINGLE));
  MUST(cuMemFree(data));
}

int main(void) {
  check_contexts(start());
  check_managed();
  check_arrays();
  check_limits();
  check_attributes();
  check_sizes();
  check_pools();
  return 0;
}
