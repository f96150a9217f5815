// SPDX-License-Identifier: BSD-3-Clause
// Forged handles name nothing, whatever they contain: entries, processes, and files that are not
// simcuda's, or look as if they were.
#include <sys/mman.h>
#include <sys/stat.h>

#include "processes.h"

// The contents of simcuda's handles.
typedef struct {
  uint64_t nonce, id;
  int32_t process, file;
  uint32_t kind, slot;
  unsigned char unused[32];
} Ticket;

typedef struct {
  IpcHandle memory, event;
} Shared;

static void share(void) {
  USE_MEMORY;
  USE_EVENTS;
  USE_IPC;
  Shared shared;
  CUdeviceptr data;
  CUevent event;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuEventCreate(&event, INTERPROCESS | DISABLE_TIMING));
  MUST(cuIpcGetMemHandle(&shared.memory, data));
  MUST(cuIpcGetEventHandle(&shared.event, event));
  MUST(cuEventRecord(event, LEGACY));
  MUST(cuEventSynchronize(event));
  tell(TALK, &shared, sizeof shared);
  hear_ready(TALK);
}

static CUresult open_ticket(Ticket ticket) {
  USE_IPC;
  enum { NOT_MAPPED = 205 };
  IpcHandle handle;
  CUdeviceptr data = 7;
  CUevent event = NULL;
  memcpy(&handle, &ticket, sizeof handle);
  const CUresult of_memory = cuIpcOpenMemHandle(&data, handle, PEERS);
  const CUresult of_event = cuIpcOpenEventHandle(&event, handle);
  if (of_memory == SUCCESS || of_event == SUCCESS) return SUCCESS;
  MUST_BE(data == 7 && event == NULL, 1);
  MUST_BE(of_event, of_memory == INVALID_VALUE ? NOT_MAPPED : of_memory);
  return of_memory;
}

static CUresult import_pool(const Ticket *ticket) {
  USE_SHARED_POOLS;
  CUmemoryPool pool;
  const int file = memfd_create("pool", MFD_CLOEXEC);
  MUST_BE(write(file, ticket, sizeof *ticket), sizeof *ticket);
  const CUresult result =
      cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)file, POSIX_FILE_DESCRIPTOR, 0);
  close(file);
  return result;
}

// A file of this process with the first bytes of a board, and as long as one.
static int forge_board(const void *begin, size_t length, off_t size) {
  const int file = memfd_create("forged", MFD_CLOEXEC);
  MUST_BE(ftruncate(file, size), 0);
  MUST_BE(pwrite(file, begin, length, 0), length);
  return file;
}

int main(int count, char **arguments) {
  (void)arguments;
  start();
  if (count > 1) return share(), 0;
  enum { POOL = 0x706f6f31 };
  struct {
    uint64_t magic, nonce;
    int32_t process;
  } board;
  Shared shared;
  Ticket memory, event, forged;
  struct stat status;
  char path[64];
  const Process other = start_other("shares");
  hear(other.talk, &shared, sizeof shared);
  memcpy(&memory, &shared.memory, sizeof memory);
  memcpy(&event, &shared.event, sizeof event);
  snprintf(path, sizeof path, "/proc/%d/fd/%d", memory.process, memory.file);
  const int real = open(path, O_RDONLY | O_CLOEXEC);
  MUST_BE(real >= 0, 1);
  MUST_BE(fstat(real, &status), 0);
  MUST_BE(pread(real, &board, sizeof board, 0), sizeof board);

  // No such process, no such file, a file that is not simcuda's.
  forged = memory;
  forged.process = 0;
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  forged.process = -1;
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  forged = memory;
  forged.file = -1;
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  forged.process = getpid();
  forged.file = open("/dev/zero", O_RDWR | O_CLOEXEC);
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  close(forged.file);
  // As long as a board or not, with its mark or not, under its number or another one.
  forged.file = forge_board(&board, sizeof board, sizeof board);
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  forged.kind = POOL;
  MUST_BE(import_pool(&forged), INVALID_VALUE);
  close(forged.file);
  forged.kind = memory.kind;
  forged.file = forge_board("", 1, status.st_size);
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  close(forged.file);
  forged.file = forge_board(&board, sizeof board, status.st_size);
  MUST_BE(open_ticket(forged), INVALID_VALUE);  // the board of another process
  forged.nonce += 1;
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  close(forged.file);

  // Of the right board: invalid or free entries, and other kinds.
  forged = memory;
  forged.slot = UINT32_MAX;
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  forged = memory;
  forged.slot += 1;
  forged.id = 0;
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  forged = memory;
  forged.id += 1000;
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  forged = event;
  forged.id += 1000;
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  forged = memory;
  forged.kind = 0;
  MUST_BE(open_ticket(forged), INVALID_VALUE);
  MUST_BE(import_pool(&memory), INVALID_VALUE);
  forged = memory;
  forged.kind = POOL;
  MUST_BE(import_pool(&forged), INVALID_VALUE);

  // What another process has recorded is from outside of a capture.
  USE_CAPTURE;
  USE_IPC;
  CUstream stream;
  CUevent opened;
  CUgraph graph = NULL;
  MUST(cuIpcOpenEventHandle(&opened, shared.event));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST_BE(cuStreamWaitEvent(stream, opened, 0), CAPTURE_ISOLATION);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  MUST(cuStreamDestroy(stream));
  MUST(cuEventDestroy(opened));

  MUST(open_ticket(memory));
  MUST(open_ticket(event));
  close(real);
  tell_ready(other.talk);
  join_other(&other);
  // Of a process that has ended an event is done; what was none is none.
  enum { NOT_MAPPED = 205 };
  IpcHandle handle;
  MUST(cuIpcOpenEventHandle(&opened, shared.event));
  forged = event;
  forged.id = 0;
  memcpy(&handle, &forged, sizeof handle);
  MUST_BE(cuIpcOpenEventHandle(&opened, handle), NOT_MAPPED);
  return 0;
}
