// SPDX-License-Identifier: BSD-3-Clause
// Rule: Memory of another process can be opened by its handle, more than once at one address, and
// is gone once it has been closed as often; the process that has it keeps it.
// Source: cuda.h, cuIpcOpenMemHandle and cuIpcCloseMemHandle
#include "processes.h"

enum { SIZE = 3 << 20, LAST = SIZE - 1 };

static void open_it(void) {
  USE_MEMORY;
  USE_IPC;
  USE(cuMemsetD8, 3020, CUdeviceptr, unsigned char, size_t);
  USE(cuCtxSynchronize, 2000, void);
  USE(cuMemGetAddressRange, 3020, CUdeviceptr *, size_t *, CUdeviceptr);
  IpcHandle handle;
  CUdeviceptr once, again, base;
  size_t size = 0;
  unsigned char byte = 0;
  hear(TALK, &handle, sizeof handle);
  MUST(cuIpcOpenMemHandle(&once, handle, PEERS));
  MUST(cuIpcOpenMemHandle(&again, handle, PEERS));
  MUST_BE(again == once, 1);
  MUST(cuMemGetAddressRange(&base, &size, once + LAST));
  MUST_BE(base == once, 1);
  MUST_BE(size >= SIZE, 1);
  MUST(cuMemcpyDtoH(&byte, once + LAST, 1));
  MUST_BE(byte, 7);
  MUST(cuIpcCloseMemHandle(once));
  MUST(cuMemsetD8(once, 8, SIZE));
  MUST(cuCtxSynchronize());
  MUST(cuIpcCloseMemHandle(once));
  MUST_BE(cuMemcpyDtoH(&byte, once, 1), INVALID_VALUE);
  MUST(cuIpcOpenMemHandle(&again, handle, PEERS));  // it can be opened anew
  MUST(cuMemcpyDtoH(&byte, again, 1));
  MUST_BE(byte, 8);
  MUST(cuIpcCloseMemHandle(again));
  tell_ready(TALK);
}

int main(int count, char **arguments) {
  (void)arguments;
  start();
  if (count > 1) return open_it(), 0;
  USE_MEMORY;
  USE_IPC;
  USE(cuMemsetD8, 3020, CUdeviceptr, unsigned char, size_t);
  USE(cuCtxSynchronize, 2000, void);
  IpcHandle handle, same;
  CUdeviceptr data;
  unsigned char byte = 0;
  const Process other = start_other("opens");
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemsetD8(data, 7, SIZE));
  MUST(cuCtxSynchronize());
  MUST(cuIpcGetMemHandle(&handle, data));
  MUST(cuIpcGetMemHandle(&same, data));
  tell(other.talk, &handle, sizeof handle);
  hear_ready(other.talk);
  join_other(&other);
  for (int i = 0; i < 2; ++i) {
    MUST(cuMemcpyDtoH(&byte, data + (i ? LAST : 0), 1));
    MUST_BE(byte, 8);
  }
  MUST(cuMemFree(data));
  return 0;
}
