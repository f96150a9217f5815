// SPDX-License-Identifier: BSD-3-Clause
// What cannot be shared, and what cannot be opened: memory and pools of the wrong kind or of
// another process, devices that are not seen here, descriptors that were closed behind the driver's
// back.
#include <sys/mman.h>

#include "simcuda.h"

#include "attributes.h"
#include "processes.h"

enum { SIZE = 4096, FILES = 1024, MAP_FAILED_RESULT = 205 };

typedef struct {
  IpcHandle memory, more, of_second_device, event, pooled, pooled_twice;
} Shared;

typedef struct {
  int type, id;
} Location;

static CUcontext this_context;

#define IMPORT(pool, file) \
  cuMemPoolImportFromShareableHandle(pool, (void *)(intptr_t)(file), POSIX_FILE_DESCRIPTOR, 0)

static const PoolProperties shareable = {.type = 1, .handles = 1, .location_type = 1};

static void make_second_current(void) {
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUcontext context;
  MUST(cuDevicePrimaryCtxRetain(&context, 1));
  MUST(cuCtxSetCurrent(context));
}

// The files of its memory: all descriptors of that name.
static void replace_arenas(int with) {
  char path[64], name[64];
  for (int file = TALK + 1; file < FILES; ++file) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(path, name, sizeof name - 1);
    if (length < 0) continue;
    name[length] = '\0';
    if (strcmp(name, "/memfd:simcuda (deleted)") != 0) continue;
    if (with < 0)
      close(file);
    else
      MUST_BE(dup2(with, file), file);
  }
}

// The other process: shares, and follows commands.
static void share(void) {
  const CUcontext context = start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_IPC;
  USE_SHARED_POOLS;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  Shared shared;
  CUmemoryPool pool, second_pool;
  CUdeviceptr data, more, of_second_device, pooled, pooled_twice;
  CUevent event;
  int file;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemAlloc(&more, SIZE));
  make_second_current();
  MUST(cuMemAlloc(&of_second_device, SIZE));
  MUST(cuIpcGetMemHandle(&shared.of_second_device, of_second_device));
  MUST(cuCtxSetCurrent(context));
  MUST(cuIpcGetMemHandle(&shared.memory, data));
  MUST(cuIpcGetMemHandle(&shared.more, more));
  MUST(cuEventCreate(&event, INTERPROCESS | DISABLE_TIMING));
  MUST(cuEventRecord(event, LEGACY));
  MUST(cuIpcGetEventHandle(&shared.event, event));
  MUST(cuMemPoolCreate(&pool, &shareable));
  MUST(cuMemPoolCreate(&second_pool, &shareable));
  MUST(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, LEGACY));
  MUST(cuMemAllocFromPoolAsync(&pooled_twice, SIZE, second_pool, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolExportToShareableHandle(&file, pool, POSIX_FILE_DESCRIPTOR, 0));
  MUST(cuMemPoolExportPointer(&shared.pooled, pooled));
  // Of a pool that has been exported, too, even if nobody here has imported it.
  MUST(cuMemPoolExportPointer(&shared.pooled_twice, pooled_twice));
  tell(TALK, &shared, sizeof shared);
  send_file(TALK, file);
  for (char turn = 0; turn != 'e';) {
    hear(TALK, &turn, 1);
    if (turn == 's') {  // they are another, smaller file now
      const int small = memfd_create("small", MFD_CLOEXEC);
      MUST_BE(ftruncate(small, 16), 0);
      replace_arenas(small);
      MUST_BE(close(small), 0);
    } else if (turn == 'c') {
      for (int number = TALK + 1; number < FILES; ++number) close(number);
    } else if (turn == 'r') {
      MUST(cuEventRecord(event, LEGACY));  // runs once something waits for it
    } else if (turn == 'm') {
      IpcHandle handle;
      MUST(cuMemFree(more));
      MUST(cuMemAlloc(&more, SIZE));
      MUST(cuIpcGetMemHandle(&handle, more));
      tell(TALK, &handle, sizeof handle);
    }
    tell_ready(TALK);
  }
}

static void check_own(void) {
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE_IPC;
  USE_SHARED_POOLS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  IpcHandle handle;
  CUdeviceptr data, managed, pooled, mine = 0, scratch;
  CUmemoryPool pool, imported, none;
  CUevent event;
  CUgraph graph = NULL;
  CUstream stream;
  int file = -1;
  // Only what cuMemAlloc has allocated has a handle, until it is freed.
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuMemAllocAsync(&scratch, SIZE, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST_BE(cuIpcGetMemHandle(&handle, scratch), INVALID_VALUE);
  MUST(cuGraphDestroy(graph));
  MUST(cuMemAllocManaged(&managed, SIZE, 1));
  MUST_BE(cuIpcGetMemHandle(&handle, managed), INVALID_VALUE);
  MUST_BE(cuIpcGetMemHandle(&handle, 0), INVALID_VALUE);
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemFreeAsync(data, stream));
  MUST_BE(cuIpcGetMemHandle(&handle, data), INVALID_VALUE);
  MUST(cuStreamSynchronize(stream));
  MUST(cuEventCreate(&event, DISABLE_TIMING));
  MUST_BE(cuIpcGetEventHandle(&handle, event), INVALID_HANDLE);
  MUST(cuEventDestroy(event));

  // A pool by a descriptor of the one type that there is.
  MUST(cuMemPoolCreate(&pool, &shareable));
  MUST_BE(cuMemPoolExportToShareableHandle(NULL, pool, POSIX_FILE_DESCRIPTOR, 0), INVALID_VALUE);
  MUST_BE(cuMemPoolExportToShareableHandle(&file, pool, 2, 0), INVALID_VALUE);
  MUST(cuMemPoolExportToShareableHandle(&file, pool, POSIX_FILE_DESCRIPTOR, 0));
  MUST_BE(IMPORT(&none, -1), INVALID_VALUE);
  MUST_BE(cuMemPoolImportFromShareableHandle(&none, (void *)(intptr_t)file, 2, 0), INVALID_VALUE);
  // Its own process may import it, but the import exports only itself.
  MUST(IMPORT(&imported, file));
  MUST_BE(cuMemPoolExportToShareableHandle(&file, imported, POSIX_FILE_DESCRIPTOR, 0),
          INVALID_VALUE);
  MUST(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, stream));
  MUST(cuMemPoolExportPointer(&handle, pooled));
  MUST_BE(cuMemPoolExportPointer(&handle, managed), INVALID_VALUE);
  MUST_BE(cuMemPoolExportPointer(&handle, pooled + 1), INVALID_VALUE);
  MUST_BE(cuMemPoolImportPointer(&mine, pool, &handle), INVALID_VALUE);
  MUST(cuMemFreeAsync(pooled, stream));
  MUST_BE(cuMemPoolExportPointer(&handle, pooled), INVALID_VALUE);
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemPoolDestroy(imported));
  MUST(cuMemPoolDestroy(pool));
  close(file);
  // A file of something else.
  file = memfd_create("else", MFD_CLOEXEC);
  MUST_BE(write(file, &handle, sizeof handle), sizeof handle);
  MUST_BE(IMPORT(&none, file), INVALID_VALUE);
  close(file);
  MUST(cuMemFree(managed));
  MUST(cuStreamDestroy(stream));
}

static void check_opened(const Shared *shared, const Shared *of_another) {
  USE_MEMORY;
  USE_EVENTS;
  USE_IPC;
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  IpcHandle handle;
  CUdeviceptr data, more, third;
  CUcontext second, popped;
  CUevent event;
  MUST_BE(cuIpcOpenMemHandle(&data, shared->memory, 0), INVALID_VALUE);
  MUST_BE(cuIpcOpenMemHandle(&data, shared->pooled, PEERS), INVALID_VALUE);
  MUST(cuIpcOpenMemHandle(&data, shared->memory, PEERS));
  MUST(cuIpcOpenMemHandle(&more, shared->more, PEERS));  // another one, in the same context
  // It is closed, not freed, and not shared on.
  MUST_BE(cuMemFree(data), INVALID_VALUE);
  MUST_BE(cuMemFreeAsync(data, LEGACY), INVALID_VALUE);
  MUST_BE(cuIpcGetMemHandle(&handle, data), INVALID_VALUE);
  MUST_BE(cuIpcCloseMemHandle(data + 1), INVALID_VALUE);
  MUST_BE(attributes_of(data).of[IPC_CAPABLE], 0);
  // A second context of the device opens nothing from where the first one has,
  MUST(cuCtxCreate(&second, 0, 0));
  MUST_BE(cuIpcOpenMemHandle(&third, shared->more, PEERS), INVALID_CONTEXT);
  MUST_BE(cuIpcCloseMemHandle(data), INVALID_VALUE);
  // but from another process, and from another device, and so does a context of another device.
  MUST(cuIpcOpenMemHandle(&third, of_another->memory, PEERS));
  MUST(cuIpcCloseMemHandle(third));
  MUST(cuIpcOpenMemHandle(&third, shared->of_second_device, PEERS));
  MUST(cuIpcCloseMemHandle(third));
  MUST(cuCtxPopCurrent(&popped));
  MUST(cuCtxDestroy(second));
  MUST(cuCtxCreate(&second, 0, 1));
  MUST(cuIpcOpenMemHandle(&third, shared->more, PEERS));
  MUST(cuIpcCloseMemHandle(third));
  MUST(cuCtxPopCurrent(&popped));
  MUST(cuCtxDestroy(second));
  MUST(cuIpcCloseMemHandle(more));
  MUST(cuIpcCloseMemHandle(data));
  MUST_BE(cuIpcCloseMemHandle(data), INVALID_VALUE);
  // Opened as often as one likes.
  for (int i = 0; i < 100; ++i) {
    MUST(cuIpcOpenMemHandle(&data, shared->memory, PEERS));
    MUST(cuIpcCloseMemHandle(data));
  }
  // An opened event cannot be exported again.
  MUST(cuIpcOpenEventHandle(&event, shared->event));
  MUST_BE(cuIpcGetEventHandle(&handle, event), INVALID_HANDLE);
  MUST(cuEventDestroy(event));
}

// Among many handles, one after the other, none is confused with another.
static void check_many(int talk) {
  USE_MEMORY;
  USE_IPC;
  IpcHandle handle;
  CUdeviceptr data;
  unsigned char byte;
  for (int i = 0; i < 200; ++i) {
    tell(talk, "m", 1);
    hear(talk, &handle, sizeof handle);
    hear_ready(talk);
    MUST(cuIpcOpenMemHandle(&data, handle, PEERS));
    MUST(cuMemcpyDtoH(&byte, data, 1));
    MUST_BE(byte, 0xCB);  // new
    MUST(cuMemsetD8Async(data, 1, 1, LEGACY));
    MUST(cuIpcCloseMemHandle(data));
  }
  tell(talk, "e", 1);
  hear_ready(talk);
}

// A graph cannot hold an event that processes share.
static void check_event(const Shared *shared) {
  USE_CAPTURE;
  USE_IPC;
  USE(cuEventRecordWithFlags, 11010, CUevent, CUstream, unsigned);
  enum { EXTERNAL = 1 };
  CUevent event;
  CUstream stream;
  CUgraph graph = NULL;
  MUST(cuIpcOpenEventHandle(&event, shared->event));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST_BE(cuEventRecordWithFlags(event, stream, EXTERNAL), NOT_SUPPORTED);
  MUST_BE(cuStreamWaitEvent(stream, event, EXTERNAL), NOT_SUPPORTED);
  (void)cuStreamEndCapture(stream, &graph);
  MUST(cuStreamDestroy(stream));
  MUST(cuEventDestroy(event));
}

// A wait for another process comes after what is before it in its stream, too; and contexts wait
// for such an event, and record one, as streams do.
static void check_waits(const Shared *shared, int talk) {
  USE_STREAMS;
  USE_EVENTS;
  USE_IPC;
  USE_GATE;
  USE(cuCtxRecordEvent, 12050, CUcontext, CUevent);
  USE(cuCtxWaitEvent, 12050, CUcontext, CUevent);
  CUevent event, own;
  CUstream stream;
  MUST(cuIpcOpenEventHandle(&event, shared->event));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  // Completed work delays nothing.
  MUST(cuStreamWaitEvent(stream, event, 0));
  MUST(cuStreamSynchronize(stream));
  tell(talk, "r", 1);
  hear_ready(talk);
  HOLD_UP(stream);
  MUST(cuStreamWaitEvent(stream, event, 0));
  for (int i = 0; i < 2; ++i) MUST_BE(cuStreamQuery(stream), NOT_READY);
  MUST(cuEventSynchronize(event));
  usleep(5000);  // so that the wait has learnt of it
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(stream));

  tell(talk, "r", 1);
  hear_ready(talk);
  MUST(cuCtxWaitEvent(NULL, event));
  MUST(cuEventCreate(&own, INTERPROCESS | DISABLE_TIMING));
  MUST(cuCtxRecordEvent(NULL, own));
  MUST(cuEventSynchronize(own));
  MUST(cuEventQuery(event));
  __atomic_store_n(&gate_is_open, 0, __ATOMIC_SEQ_CST);
  MUST(cuEventDestroy(own));
  MUST(cuStreamDestroy(stream));
  MUST(cuEventDestroy(event));
}

static uint32_t whole_range(const simcuda_launch *launch, simcuda_range *out, uint32_t capacity) {
  if (capacity > 0)
    out[0] = (simcuda_range){*(const uint64_t *)launch->arguments[0], SIZE, 1, 0, 0};
  return 1;
}

// Kernels reach it from the context that has opened it, whatever device it is on, and from no other
// of another device.
static void check_kernels(const Shared *shared) {
  USE_STREAMS;
  USE_KERNELS;
  USE_IPC;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  FIND_SIM(simcuda_kernel);
  const uint32_t sizes[] = {8};
  CUcontext contexts[2];
  CUdeviceptr data;
  MUST(simcuda_kernel("touch", sizes, 1, whole_range, NULL));
  MUST(cuCtxCreate(&contexts[0], 0, 1));
  MUST(cuIpcOpenMemHandle(&data, shared->memory, PEERS));
  MUST(cuCtxCreate(&contexts[1], 0, 1));
  for (int i = 0; i < 2; ++i) {
    CUmodule module;
    CUfunction function;
    void *arguments[] = {&data};
    MUST(cuCtxSetCurrent(contexts[i]));
    MUST(cuModuleLoadData(&module, "simcuda module\ntouch\n"));
    MUST(cuModuleGetFunction(&function, module, "touch"));
    MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, LEGACY, arguments, NULL));
    MUST_BE(cuStreamSynchronize(LEGACY), i ? ILLEGAL_ADDRESS : SUCCESS);
  }
  for (int i = 0; i < 2; ++i) MUST(cuCtxDestroy(contexts[i]));
  MUST(cuCtxSetCurrent(this_context));
}

static void check_pool(const Shared *shared, int file) {
  USE_MEMORY;
  USE_STREAMS;
  USE_IPC;
  USE_SHARED_POOLS;
  USE(cuMemSetMemPool, 13000, Location *, int, CUmemoryPool);
  Location place = {1, 0};
  IpcHandle handle;
  CUmemoryPool pool, own, own_imported;
  CUdeviceptr data, again, whole, pooled;
  int own_file = -1;
  MUST(IMPORT(&pool, file));
  MUST_BE(cuMemSetMemPool(&place, 1, pool), INVALID_VALUE);
  MUST_BE(cuMemPoolImportPointer(&data, pool, &shared->memory), INVALID_VALUE);  // in no pool
  MUST_BE(cuMemPoolImportPointer(&data, pool, &shared->pooled_twice), INVALID_VALUE);
  MUST_BE(cuMemPoolImportPointer(&data, pool, &shared->event), INVALID_VALUE);
  MUST(cuMemPoolCreate(&own, &shareable));
  MUST(cuMemPoolExportToShareableHandle(&own_file, own, POSIX_FILE_DESCRIPTOR, 0));
  MUST(IMPORT(&own_imported, own_file));
  MUST_BE(cuMemPoolImportPointer(&data, own_imported, &shared->pooled), INVALID_VALUE);
  MUST(cuMemAllocFromPoolAsync(&pooled, SIZE, own, LEGACY));
  MUST(cuMemPoolExportPointer(&handle, pooled));
  MUST_BE(cuMemPoolImportPointer(&data, pool, &handle), INVALID_VALUE);
  MUST(cuMemPoolImportPointer(&data, pool, &shared->pooled));
  MUST_BE(cuMemPoolExportPointer(&handle, data), INVALID_VALUE);
  // Beside it a handle can still be opened.
  MUST(cuIpcOpenMemHandle(&whole, shared->memory, PEERS));
  MUST(cuIpcOpenMemHandle(&again, shared->more, PEERS));
  MUST(cuIpcCloseMemHandle(again));
  MUST(cuIpcCloseMemHandle(whole));
  // Once its free is on its way it cannot be imported again.
  MUST(cuMemFreeAsync(data, LEGACY));
  MUST_BE(cuMemPoolImportPointer(&again, pool, &shared->pooled), INVALID_VALUE);
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolImportPointer(&again, pool, &shared->pooled));
  MUST(cuMemFreeAsync(again, LEGACY));
  MUST(cuMemFreeAsync(pooled, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolDestroy(own_imported));
  MUST(cuMemPoolDestroy(own));
  MUST(cuMemPoolDestroy(pool));
  close(own_file);
}

// Two threads, of which one closes what the other opens again, or closes as well.
static CUdeviceptr opened;

static void *close_it(void *result) {
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuIpcCloseMemHandle, 4010, CUdeviceptr);
  MUST(cuCtxSetCurrent(this_context));
  *(CUresult *)result = cuIpcCloseMemHandle(opened);
  return NULL;
}

static int is_held_up;

static void hold_up(void *unused) {
  (void)unused;
  __atomic_store_n(&is_held_up, 1, __ATOMIC_SEQ_CST);
  wait_at_gate((void *)10000);
}

static void check_threads(const Shared *shared) {
  USE_MEMORY;
  USE_STREAMS;
  USE_IPC;
  USE_GATE;
  FIND_SIM(simcuda_calls);
  FIND_SIM(simcuda_reset_counts);
  pthread_t threads[2];
  CUresult results[2] = {-1, -1};
  CUdeviceptr again = 0;
  CUstream stream;
  unsigned char byte;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuIpcOpenMemHandle(&opened, shared->memory, PEERS));
  MUST(cuLaunchHostFunc(stream, hold_up, NULL));
  MUST_BE(pthread_create(&threads[0], NULL, close_it, &results[0]), 0);
  while (!__atomic_load_n(&is_held_up, __ATOMIC_SEQ_CST)) usleep(1000);
  MUST(cuIpcOpenMemHandle(&again, shared->memory, PEERS));  // while the other thread waits
  MUST_BE(again == opened, 1);
  open_gate();
  MUST_BE(pthread_join(threads[0], NULL), 0);
  MUST(results[0]);
  MUST(cuMemcpyDtoH(&byte, again, 1));  // it stays open

  __atomic_store_n(&gate_is_open, 0, __ATOMIC_SEQ_CST);
  MUST(cuLaunchHostFunc(stream, hold_up, NULL));
  simcuda_reset_counts();
  for (int i = 0; i < 2; ++i) MUST_BE(pthread_create(&threads[i], NULL, close_it, &results[i]), 0);
  while (simcuda_calls("cuIpcCloseMemHandle") < 2) usleep(1000);
  usleep(20000);
  open_gate();
  for (int i = 0; i < 2; ++i) MUST_BE(pthread_join(threads[i], NULL), 0);
  MUST_BE(results[0] == SUCCESS || results[1] == SUCCESS, 1);
  MUST_BE(results[results[0] == SUCCESS], INVALID_VALUE);
  MUST(cuStreamDestroy(stream));
}

// The other process has lost the descriptors that the handles mean.
static void check_lost_descriptors(const Shared *shared, int file, int talk) {
  USE_EVENTS;
  USE_IPC;
  USE_SHARED_POOLS;
  CUdeviceptr data;
  CUmemoryPool pool;
  CUevent event;
  MUST(cuIpcOpenEventHandle(&event, shared->event));  // its board stays known while this is
  MUST(IMPORT(&pool, file));
  tell(talk, "s", 1);
  hear_ready(talk);
  MUST_BE(cuIpcOpenMemHandle(&data, shared->memory, PEERS), INVALID_VALUE);
  tell(talk, "c", 1);
  hear_ready(talk);
  MUST_BE(cuIpcOpenMemHandle(&data, shared->memory, PEERS), INVALID_VALUE);
  MUST_BE(cuMemPoolImportPointer(&data, pool, &shared->pooled), INVALID_VALUE);
  MUST(cuMemPoolDestroy(pool));
  MUST(cuEventDestroy(event));
}

// The second role: a process that sees the first device only.
static void see_one(void) {
  start();
  USE_IPC;
  Shared shared;
  CUdeviceptr data;
  hear(TALK, &shared, sizeof shared);
  MUST_BE(cuIpcOpenMemHandle(&data, shared.of_second_device, PEERS), MAP_FAILED_RESULT);
  MUST(cuIpcOpenMemHandle(&data, shared.memory, PEERS));
  MUST(cuIpcCloseMemHandle(data));
}

int main(int count, char **arguments) {
  if (count > 1) return strcmp(arguments[1], "shares") == 0 ? share() : see_one(), 0;
  this_context = start();
  Shared shared, of_another;
  const Process other = start_other("shares"), another = start_other("shares");
  hear(other.talk, &shared, sizeof shared);
  const int file = receive_file(other.talk);
  hear(another.talk, &of_another, sizeof of_another);
  close(receive_file(another.talk));
  check_own();
  check_opened(&shared, &of_another);
  check_many(another.talk);
  join_other(&another);
  check_event(&shared);
  check_waits(&shared, other.talk);
  check_kernels(&shared);
  check_pool(&shared, file);
  check_threads(&shared);
  MUST_BE(setenv("CUDA_VISIBLE_DEVICES", "0", 1), 0);
  const Process third = start_other("sees one");
  tell(third.talk, &shared, sizeof shared);
  join_other(&third);
  check_lost_descriptors(&shared, file, other.talk);
  tell(other.talk, "e", 1);
  hear_ready(other.talk);
  join_other(&other);
  return 0;
}
