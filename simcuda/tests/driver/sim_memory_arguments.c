// SPDX-License-Identifier: BSD-3-Clause
// What is refused of an address, and what is said of it: by its other name on the device, between a
// free and its turn in the stream, in a graph, in a pool, and of sizes that there cannot be.
#include "attributes.h"
#include "virtual.h"

enum { SIZE = 4096, GLOBAL_ATTACH = 1, HOST_ATTACH = 2, HANDLE_TYPES = 14, SYNC_MEMOPS = 6 };

static void check_sizes(void) {
  USE_MEMORY;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  CUdeviceptr data = 0;
  void *host = NULL;
  MUST_BE(cuMemAlloc(&data, SIZE_MAX), OUT_OF_MEMORY);
  MUST_BE(cuMemHostAlloc(&host, SIZE_MAX, 0), OUT_OF_MEMORY);  // no number of pages
  MUST_BE(cuMemHostAlloc(&host, (size_t)1 << 62, 0), OUT_OF_MEMORY);
  MUST_BE(cuMemAllocManaged(&data, (size_t)1 << 62, GLOBAL_ATTACH), OUT_OF_MEMORY);
  MUST_BE(host == NULL && data == 0, 1);
}

static void check_host_memory(void) {
  USE_MEMORY;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostUnregister, 4000, void *);
  USE(cuMemcpy, 4000, CUdeviceptr, CUdeviceptr, size_t);
  enum { WRITE_COMBINED = 4 };
  unsigned char byte = 0;
  void *host;
  CUdeviceptr alias = 0, data;
  // Its other address is no way to free it.
  MUST(cuMemHostAlloc(&host, SIZE, WRITE_COMBINED));
  MUST(cuMemHostGetDevicePointer(&alias, host, 0));
  MUST_BE(alias != address_of(host), 1);
  // Each address leads to the other one.
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  for (int by_alias = 0; by_alias < 2; ++by_alias) {
    uint64_t there = 0;
    const CUdeviceptr at = by_alias ? alias : address_of(host);
    MUST(cuPointerGetAttribute(&there, DEVICE_POINTER, at + 5));
    MUST_BE(there, alias + 5);
    MUST(cuPointerGetAttribute(&there, HOST_POINTER, at + 5));
    MUST_BE(there, address_of(host) + 5);
  }
  MUST_BE(cuMemFreeHost((void *)(uintptr_t)alias), INVALID_VALUE);
  MUST(cuMemFreeHost(host));
  // Neither of the two is memory of anybody's from here on.
  MUST_BE(cuMemcpy(address_of(&byte), address_of(host), 1), INVALID_VALUE);
  MUST_BE(cuMemcpy(address_of(&byte), alias, 1), INVALID_VALUE);
  // A range that overlaps the end, or the beginning, of other memory cannot be registered.
  unsigned char *page = new_page();
  MUST(cuMemHostRegister(page + 1024, 1024, 0));
  MUST_BE(cuMemHostRegister(page, 2048, 0), ALREADY_REGISTERED);
  MUST_BE(cuMemHostRegister(page + 2047, 16, 0), ALREADY_REGISTERED);
  MUST(cuMemHostRegister(page, 1024, 0));
  MUST(cuMemHostUnregister(page));
  MUST(cuMemHostUnregister(page + 1024));
  MUST_BE(cuMemHostUnregister(page), NOT_REGISTERED);
  MUST(cuMemAlloc(&data, SIZE));
  MUST_BE(cuMemHostUnregister((void *)(uintptr_t)data), NOT_REGISTERED);
  MUST(cuMemFree(data));
}

// Between cuMemFreeAsync and its turn, nobody frees it another way; then the block is the pool's.
static void check_pending_free(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  CUdeviceptr data, again, managed;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAllocAsync(&data, SIZE, stream));
  MUST(cuMemFreeAsync(data, stream));
  MUST_BE(cuMemFree(data), INVALID_VALUE);
  MUST(cuMemAllocAsync(&again, SIZE, stream));
  MUST_BE(again == data, 1);
  // Freed before the first free has had its turn, which then finds nothing of its own.
  MUST(cuMemFree(again));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(cuMemFree(again), INVALID_VALUE);
  // Late work on freed memory does nothing.
  MUST(cuMemAllocAsync(&data, 2 * SIZE, stream));
  MUST(cuMemsetD8Async(data, 1, SIZE, stream));
  MUST(cuMemcpyDtoDAsync(data + SIZE, data, SIZE, stream));
  MUST(cuMemFree(data));
  MUST(cuStreamSynchronize(stream));
  // Memory that is in no pool is freed in a stream, too: not that of the managed kind.
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemFreeAsync(data, stream));
  MUST_BE(cuMemFreeAsync(data, stream), INVALID_VALUE);
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemAllocManaged(&managed, SIZE, GLOBAL_ATTACH));
  MUST_BE(cuMemFreeAsync(managed, stream), INVALID_VALUE);
  MUST(cuMemFree(managed));
  MUST(cuMemAllocManaged(&managed, SIZE, HOST_ATTACH));
  MUST(cuMemFree(managed));
  MUST(cuStreamDestroy(stream));
}

// The context of the memory goes before the stream of another context frees it.
static void check_free_after_context(CUcontext primary) {
  USE_MEMORY;
  USE_STREAMS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  CUcontext own;
  CUdeviceptr data;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuCtxCreate(&own, 0, 0));
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemsetD8Async(data, 1, SIZE, stream));
  MUST(cuMemFreeAsync(data, stream));
  MUST(cuCtxDestroy(own));
  MUST(cuCtxSetCurrent(primary));
  MUST(cuStreamSynchronize(stream));  // what is late writes nowhere, and frees nothing twice
  MUST_BE(cuMemFree(data), INVALID_VALUE);
  MUST(cuStreamDestroy(stream));
}

static void check_attributes(void) {
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE_POOLS;
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  USE(cuPointerGetAttributes, 7000, unsigned, int *, void **, CUdeviceptr);
  const PoolProperties properties = {.type = 1, .handles = 1, .location_type = 1};
  int wanted[] = {DEVICE_POINTER, RANGE_START, RANGE_SIZE, HANDLE_TYPES, 16, SYNC_MEMOPS, 20};
  enum { COUNT = sizeof wanted / sizeof *wanted };
  uint64_t values[COUNT];
  void *places[COUNT];
  CUmemoryPool pool;
  CUdeviceptr data, pooled, scratch;
  CUgraph graph = NULL;
  CUstream stream;
  uint64_t host = 0, types = 7;
  int mine;
  // The plural form knows nothing about a foreign address.
  for (int i = 0; i < COUNT; ++i) places[i] = &values[i];
  memset(values, 1, sizeof values);
  MUST(cuPointerGetAttributes(COUNT, wanted, places, address_of(&mine)));
  for (int i = 0; i < 4; ++i) MUST_BE(values[i], 0);
  for (int i = 4; i < 6; ++i) MUST_BE((uint32_t)values[i], 0);
  MUST_BE(values[6], 0);

  MUST(cuMemAlloc(&data, SIZE));
  MUST_BE(cuPointerGetAttribute(&host, HOST_POINTER, data), INVALID_VALUE);  // it has none
  MUST(cuPointerGetAttribute(&types, HANDLE_TYPES, data));
  MUST_BE(types, 0);
  MUST(cuMemFree(data));
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, LEGACY));
  MUST(cuPointerGetAttribute(&types, HANDLE_TYPES, pooled));
  MUST_BE(types, 1);
  MUST(cuMemFreeAsync(pooled, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolDestroy(pool));

  // Memory of a graph cannot be shared.
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemAllocAsync(&scratch, SIZE, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST_BE(attributes_of(scratch).of[IPC_CAPABLE], 0);
  MUST(cuGraphDestroy(graph));
  MUST(cuStreamDestroy(stream));
}

// What simcuda has no memory of, or no mapping at, as far as no source says what a driver answers.
static void check_virtual_memory(void) {
  USE_MEMORY;
  USE_VIRTUAL_MEMORY;
  USE(cuMemRetainAllocationHandle, 11000, Memory *, void *);
  USE(cuMemGetAccess, 10020, uint64_t *, const void *, CUdeviceptr);
  static const struct {
    MemoryProperties properties;
    CUresult status;
  } kinds[] = {
      {{.type = 0, .location_type = 1}, INVALID_VALUE},
      {{.type = 1, .location_type = 0}, INVALID_VALUE},
      {{.type = 1, .location_type = 1, .location_id = 99}, INVALID_DEVICE},
      {{.type = 1, .location_type = 2}, NOT_SUPPORTED},                // of the host
      {{.type = 1, .handles = 2, .location_type = 1}, NOT_SUPPORTED},  // Win32's
  };
  static const VirtualAccess bad[] = {{2, 0, 3}, {1, 0, 2}, {1, 0, 9}, {1, 99, 3}};
  const VirtualAccess reads = {1, 0, 1}, none = {1, 0, 0};
  const struct {
    int type, id;
  } of_host = {2, 0}, other_device = {1, 1};
  CUdeviceptr range, plain;
  size_t piece = 0;
  uint64_t access = 9;
  Memory memory = 0;
  unsigned char byte = 0;
  MUST(cuMemGetAllocationGranularity(&piece, &on_first_device, 0));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    MUST_BE(cuMemCreate(&memory, piece, &kinds[i].properties, 0), kinds[i].status);
  MUST_BE(cuMemAddressReserve(&range, 0 - piece, 0, 0, 0), OUT_OF_MEMORY);
  MUST_BE(cuMemMap(1, piece, 0, memory, 0), INVALID_VALUE);
  MUST(cuMemAlloc(&plain, SIZE));
  MUST(cuMemAddressReserve(&range, 4 * piece, 0, 0, 0));
  MUST(cuMemCreate(&memory, 2 * piece, &on_first_device, 0));
  MUST_BE(cuMemMap(piece, piece, 0, memory, 0), INVALID_VALUE);  // below all that is reserved
  MUST_BE(cuMemMap(range + 5 * piece, piece, 0, memory, 0), INVALID_VALUE);
  MUST_BE(cuMemMap(range + 1, piece, 0, memory, 0), INVALID_VALUE);
  MUST(cuMemMap(range + piece, 2 * piece, 0, memory, 0));
  // Only a whole mapping is given access, or ended.
  MUST_BE(cuMemSetAccess(range + piece, piece, &by_first_device, 1), INVALID_VALUE);
  MUST_BE(cuMemUnmap(range + piece, piece), INVALID_VALUE);
  MUST_BE(cuMemSetAccess(plain, SIZE, &by_first_device, 1), INVALID_VALUE);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
    MUST_HOLD(cuMemSetAccess(range + piece, 2 * piece, &bad[i], 1) != SUCCESS);
  MUST(cuMemSetAccess(range + piece, 2 * piece, &by_first_device, 1));
  MUST(cuMemsetD8Async(range + piece, 1, piece, LEGACY));
  MUST(cuMemcpyDtoH(&byte, range + piece, 1));
  MUST(cuMemSetAccess(range + piece, 2 * piece, &reads, 1));
  MUST(cuMemGetAccess(&access, &by_first_device, range + piece));
  MUST_BE(access, 1);
  MUST(cuMemGetAccess(&access, &other_device, range + piece));
  MUST_BE(access, 0);
  MUST(cuMemSetAccess(range + piece, 2 * piece, &none, 1));
  MUST_BE(cuMemsetD8Async(range + piece, 1, 1, LEGACY), INVALID_VALUE);
  MUST_BE(cuMemGetAccess(&access, &of_host, range + piece), INVALID_VALUE);
  MUST_BE(cuMemGetAccess(&access, &by_first_device, range), INVALID_VALUE);
  MUST_BE(cuMemGetAccess(&access, &by_first_device, plain), INVALID_VALUE);
  Memory retained = 0;
  MUST_BE(cuMemRetainAllocationHandle(&retained, (void *)(uintptr_t)plain), INVALID_VALUE);
  // What nobody holds is only mapped where it is.
  MUST(cuMemRelease(memory));
  MUST_BE(cuMemMap(range + 3 * piece, piece, 0, memory, 0), INVALID_VALUE);
  MUST(cuMemUnmap(range + piece, 2 * piece));
  MUST(cuMemAddressFree(range, 4 * piece));
  MUST(cuMemFree(plain));
}

int main(void) {
  setenv("SIMCUDA_TWO_ADDRESSES", "1", 1);
  const CUcontext context = start();
  check_sizes();
  check_host_memory();
  check_pending_free();
  check_free_after_context(context);
  check_attributes();
  check_virtual_memory();
  return 0;
}
