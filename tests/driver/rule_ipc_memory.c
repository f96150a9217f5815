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
  OK(cuIpcOpenMemHandle(&once, handle, PEERS));
  OK(cuIpcOpenMemHandle(&again, handle, PEERS));
  EXPECT(again == once, 1);
  OK(cuMemGetAddressRange(&base, &size, once + LAST));
  EXPECT(base == once, 1);
  EXPECT(size >= SIZE, 1);
  OK(cuMemcpyDtoH(&byte, once + LAST, 1));
  EXPECT(byte, 7);
  OK(cuIpcCloseMemHandle(once));
  OK(cuMemsetD8(once, 8, SIZE));
  OK(cuCtxSynchronize());
  OK(cuIpcCloseMemHandle(once));
  EXPECT(cuMemcpyDtoH(&byte, once, 1), INVALID_VALUE);
  OK(cuIpcOpenMemHandle(&again, handle, PEERS));  // it can be opened anew
  OK(cuMemcpyDtoH(&byte, again, 1));
  EXPECT(byte, 8);
  OK(cuIpcCloseMemHandle(again));
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
  OK(cuMemAlloc(&data, SIZE));
  OK(cuMemsetD8(data, 7, SIZE));
  OK(cuCtxSynchronize());
  OK(cuIpcGetMemHandle(&handle, data));
  OK(cuIpcGetMemHandle(&same, data));
  tell(other.talk, &handle, sizeof handle);
  hear_ready(other.talk);
  join_other(&other);
  for (int i = 0; i < 2; ++i) {
    OK(cuMemcpyDtoH(&byte, data + (i ? LAST : 0), 1));
    EXPECT(byte, 8);
  }
  OK(cuMemFree(data));
  return 0;
}
