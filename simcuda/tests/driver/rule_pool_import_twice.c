// SPDX-License-Identifier: BSD-3-Clause
// Rule: Whether a pointer of an imported pool may be imported twice, and what one free then leaves.
// Source: assumed; to be checked on a GPU
#include "attributes.h"
#include "processes.h"

static void import_twice(void) {
  USE_MEMORY;
  USE_SHARED_POOLS;
  IpcHandle exported;
  CUmemoryPool imported;
  CUdeviceptr once = 0, again = 0;
  Attributes attributes;
  const int file = receive_file(TALK);
  MUST(cuMemPoolImportFromShareableHandle(&imported, (void *)(uintptr_t)file, POSIX_FILE_DESCRIPTOR,
                                          0));
  hear(TALK, &exported, sizeof exported);
  MUST(cuMemPoolImportPointer(&once, imported, &exported));
  FOUND_STATUS("second import", cuMemPoolImportPointer(&again, imported, &exported), SUCCESS);
  FOUND("it has the same address", once == again, 1);
  FOUND_STATUS("cuMemFree", cuMemFree(once), SUCCESS);
  MUST(get_attributes(once, &attributes));
  FOUND("the memory is known after one free", attributes.of[MEMORY_TYPE] == DEVICE_MEMORY, 0);
  FOUND_STATUS("import after that", cuMemPoolImportPointer(&again, imported, &exported), SUCCESS);
  exported.bytes[0] ^= 1;
  FOUND_STATUS("import of data that were changed",
               cuMemPoolImportPointer(&again, imported, &exported), INVALID_VALUE);
  tell_ready(TALK);
}

int main(int count, char **arguments) {
  (void)arguments;
  start();
  if (count > 1) return import_twice(), 0;
  USE_STREAMS;
  USE_SHARED_POOLS;
  const PoolProperties properties = {
      .type = 1, .handles = POSIX_FILE_DESCRIPTOR, .location_type = 1};
  IpcHandle exported;
  CUmemoryPool pool;
  CUdeviceptr data;
  int file = -1;
  const Process other = start_other("imports");
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAllocFromPoolAsync(&data, 64, pool, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolExportToShareableHandle(&file, pool, POSIX_FILE_DESCRIPTOR, 0));
  send_file(other.talk, file);
  MUST(cuMemPoolExportPointer(&exported, data));
  tell(other.talk, &exported, sizeof exported);
  hear_ready(other.talk);
  join_other(&other);
  return 0;
}
