// SPDX-License-Identifier: BSD-3-Clause
// Rule: A pool that was made for it can be imported by its descriptor, and memory of it by the data
// of its pointer; nothing can be allocated from an imported pool.
// Source: cuda.h, cuMemPoolImportFromShareableHandle and cuMemPoolImportPointer
#include "attributes.h"
#include "processes.h"

enum { SIZE = 64 << 10 };

static void import_it(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_SHARED_POOLS;
  USE(cuDeviceSetMemPool, 11020, CUdevice, CUmemoryPool);
  IpcHandle exported;
  CUmemoryPool pool;
  CUdeviceptr data[2], none;
  unsigned char byte = 0;
  const int file = receive_file(TALK);
  MUST(
      cuMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)file, POSIX_FILE_DESCRIPTOR, 0));
  close(file);
  for (int i = 0; i < 2; ++i) {
    hear(TALK, &exported, sizeof exported);
    MUST(cuMemPoolImportPointer(&data[i], pool, &exported));
    MUST(cuMemcpyDtoH(&byte, data[i] + SIZE - 1, 1));
    MUST_BE(byte, 3 + i);
  }
  const Attributes a = attributes_of(data[0] + 10);
  MUST_BE(a.of[MEMORY_TYPE], DEVICE_MEMORY);
  MUST_BE(a.of[IPC_CAPABLE], 0);
  MUST_BE(a.of[MEMPOOL_HANDLE] == address_of(pool), 1);
  MUST_BE(cuMemAllocFromPoolAsync(&none, SIZE, pool, LEGACY) != SUCCESS, 1);
  MUST_BE(cuDeviceSetMemPool(0, pool) != SUCCESS, 1);
  MUST(cuMemsetD8Async(data[0], 9, SIZE, LEGACY));
  MUST(cuMemFreeAsync(data[0], LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemFree(data[1]));
  MUST(cuMemPoolDestroy(pool));
  tell_ready(TALK);
}

int main(int count, char **arguments) {
  (void)arguments;
  start();
  if (count > 1) return import_it(), 0;
  USE_MEMORY;
  USE_STREAMS;
  USE_SHARED_POOLS;
  const PoolProperties properties = {
      .type = 1, .handles = POSIX_FILE_DESCRIPTOR, .location_type = 1};
  const PoolProperties private_properties = {.type = 1, .location_type = 1};
  IpcHandle exported;
  CUmemoryPool pool, private_pool;
  CUdeviceptr data[2], private_data;
  unsigned char byte = 0;
  int file = -1;
  const Process other = start_other("imports");
  MUST(cuMemPoolCreate(&private_pool, &private_properties));
  MUST_BE(cuMemPoolExportToShareableHandle(&file, private_pool, POSIX_FILE_DESCRIPTOR, 0),
          INVALID_VALUE);
  MUST(cuMemAllocFromPoolAsync(&private_data, SIZE, private_pool, LEGACY));
  MUST_BE(cuMemPoolExportPointer(&exported, private_data), INVALID_VALUE);
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemPoolExportToShareableHandle(&file, pool, POSIX_FILE_DESCRIPTOR, 0));
  MUST_BE(cuMemPoolExportToShareableHandle(&file, pool, POSIX_FILE_DESCRIPTOR, 1), INVALID_VALUE);
  send_file(other.talk, file);
  close(file);
  for (int i = 0; i < 2; ++i) {
    MUST(cuMemAllocFromPoolAsync(&data[i], SIZE, pool, LEGACY));
    MUST(cuMemsetD8Async(data[i], (unsigned char)(3 + i), SIZE, LEGACY));
    MUST(cuStreamSynchronize(LEGACY));
    MUST(cuMemPoolExportPointer(&exported, data[i]));
    tell(other.talk, &exported, sizeof exported);
  }
  hear_ready(other.talk);
  join_other(&other);
  MUST(cuMemcpyDtoH(&byte, data[0] + SIZE - 1, 1));
  MUST_BE(byte, 9);
  MUST(cuMemcpyDtoH(&byte, data[1] + SIZE - 1, 1));
  MUST_BE(byte, 4);
  for (int i = 0; i < 2; ++i) MUST(cuMemFreeAsync(data[i], LEGACY));
  MUST(cuMemFreeAsync(private_data, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuMemPoolDestroy(private_pool));
  return 0;
}
