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
  OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)file, POSIX_FILE_DESCRIPTOR, 0));
  close(file);
  for (int i = 0; i < 2; ++i) {
    hear(TALK, &exported, sizeof exported);
    OK(cuMemPoolImportPointer(&data[i], pool, &exported));
    OK(cuMemcpyDtoH(&byte, data[i] + SIZE - 1, 1));
    EXPECT(byte, 3 + i);
  }
  const Attributes a = attributes_of(data[0] + 10);
  EXPECT(a.of[MEMORY_TYPE], DEVICE_MEMORY);
  EXPECT(a.of[IPC_CAPABLE], 0);
  EXPECT(a.of[MEMPOOL_HANDLE] == address_of(pool), 1);
  EXPECT(cuMemAllocFromPoolAsync(&none, SIZE, pool, LEGACY) != SUCCESS, 1);
  EXPECT(cuDeviceSetMemPool(0, pool) != SUCCESS, 1);
  OK(cuMemsetD8Async(data[0], 9, SIZE, LEGACY));
  OK(cuMemFreeAsync(data[0], LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  OK(cuMemFree(data[1]));
  OK(cuMemPoolDestroy(pool));
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
  OK(cuMemPoolCreate(&private_pool, &private_properties));
  EXPECT(cuMemPoolExportToShareableHandle(&file, private_pool, POSIX_FILE_DESCRIPTOR, 0),
         INVALID_VALUE);
  OK(cuMemAllocFromPoolAsync(&private_data, SIZE, private_pool, LEGACY));
  EXPECT(cuMemPoolExportPointer(&exported, private_data), INVALID_VALUE);
  OK(cuMemPoolCreate(&pool, &properties));
  OK(cuMemPoolExportToShareableHandle(&file, pool, POSIX_FILE_DESCRIPTOR, 0));
  EXPECT(cuMemPoolExportToShareableHandle(&file, pool, POSIX_FILE_DESCRIPTOR, 1), INVALID_VALUE);
  send_file(other.talk, file);
  close(file);
  for (int i = 0; i < 2; ++i) {
    OK(cuMemAllocFromPoolAsync(&data[i], SIZE, pool, LEGACY));
    OK(cuMemsetD8Async(data[i], (unsigned char)(3 + i), SIZE, LEGACY));
    OK(cuStreamSynchronize(LEGACY));
    OK(cuMemPoolExportPointer(&exported, data[i]));
    tell(other.talk, &exported, sizeof exported);
  }
  hear_ready(other.talk);
  join_other(&other);
  OK(cuMemcpyDtoH(&byte, data[0] + SIZE - 1, 1));
  EXPECT(byte, 9);
  OK(cuMemcpyDtoH(&byte, data[1] + SIZE - 1, 1));
  EXPECT(byte, 4);
  for (int i = 0; i < 2; ++i) OK(cuMemFreeAsync(data[i], LEGACY));
  OK(cuMemFreeAsync(private_data, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  OK(cuMemPoolDestroy(pool));
  OK(cuMemPoolDestroy(private_pool));
  return 0;
}
