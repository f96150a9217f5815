// SPDX-License-Identifier: BSD-3-Clause
// Rule: Whether a pointer of an imported pool may be imported twice: simcuda has no IPC.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE(cuMemPoolCreate, 11020, CUmemoryPool *, const void *);
  USE(cuMemAllocFromPoolAsync, 11020, CUdeviceptr *, size_t, CUmemoryPool, CUstream);
  USE(cuMemPoolExportToShareableHandle, 11020, void *, CUmemoryPool, int, unsigned long long);
  USE(cuMemPoolImportFromShareableHandle, 11020, CUmemoryPool *, void *, int, unsigned long long);
  USE(cuMemPoolExportPointer, 11020, void *, CUdeviceptr);
  USE(cuMemPoolImportPointer, 11020, CUdeviceptr *, CUmemoryPool, void *);
  enum { POSIX_FILE_DESCRIPTOR = 1 };
  const PoolProperties properties = {
      .type = 1, .handles = POSIX_FILE_DESCRIPTOR, .location_type = 1};
  CUmemoryPool pool, imported;
  CUdeviceptr data, once, again;
  unsigned char exported[64];
  int file = -1;
  OK(cuMemPoolCreate(&pool, &properties));
  OK(cuMemAllocFromPoolAsync(&data, 64, pool, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  const CUresult result = cuMemPoolExportToShareableHandle(&file, pool, POSIX_FILE_DESCRIPTOR, 0);
  FOUND_STATUS("export of the pool", result, NOT_SUPPORTED);
  if (result != SUCCESS) return 0;
  OK(cuMemPoolImportFromShareableHandle(&imported, (void *)(uintptr_t)file, POSIX_FILE_DESCRIPTOR,
                                        0));
  OK(cuMemPoolExportPointer(exported, data));
  FOUND_STATUS("first import", cuMemPoolImportPointer(&once, imported, exported), SUCCESS);
  FOUND_STATUS("second import", cuMemPoolImportPointer(&again, imported, exported), SUCCESS);
  return 0;
}
