// SPDX-License-Identifier: BSD-3-Clause
// What memory kernels reach: that which is mapped, of the host's pools, and of other processes, if
// their device has access; what a report says of an address; and what is written down of their
// uses.
#include <sys/mman.h>

#include "apart.h"
#include "processes.h"
#include "race_ptx.h"
#include "virtual.h"

enum { SIZE = 256 };

static unsigned one = 1;

static CUmodule begin(void) {
  setenv("SIMCUDA_RACES", "log", 1);
  start_races();
  return module_of(PTX_HEADER PTX_FILL PTX_ADD PTX_COUNT);
}

static CUresult fill_at(CUmodule module, CUdeviceptr address) {
  USE(cuCtxSynchronize, 2000, void);
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&address, &one)));
  return cuCtxSynchronize();
}

static unsigned word_at(CUdeviceptr address) {
  USE_MEMORY;
  unsigned word = 0;
  MUST(cuMemcpyDtoH(&word, address, 4));
  return word;
}

static void use_mapped(void) {
  const CUmodule module = begin();
  USE_VIRTUAL_MEMORY;
  const VirtualAccess none = {1, 0, 0};
  CUdeviceptr range;
  size_t piece;
  Memory memory;
  MUST(cuMemGetAllocationGranularity(&piece, &on_first_device, 0));
  MUST(cuMemAddressReserve(&range, piece, 0, 0, 0));
  MUST(cuMemCreate(&memory, piece, &on_first_device, 0));
  MUST(cuMemMap(range, piece, 0, memory, 0));
  MUST(cuMemSetAccess(range, piece, &by_first_device, 1));
  MUST(fill_at(module, range + 8));
  MUST_BE(word_at(range + 8), 1);
  MUST(cuMemSetAccess(range, piece, &none, 1));
  MUST_BE(fill_at(module, range + 8), ILLEGAL_ADDRESS);
}

static void use_pool_of_host(void) {
  const CUmodule module = begin();
  USE_POOLS;
  USE(cuMemPoolSetAccess, 11020, CUmemoryPool, const VirtualAccess *, size_t);
  const PoolProperties properties = {.type = 1, .location_type = 2};
  CUmemoryPool pool;
  CUdeviceptr data;
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAllocFromPoolAsync(&data, SIZE, pool, LEGACY));
  MUST(cuMemPoolSetAccess(pool, &by_first_device, 1));
  MUST(fill_at(module, data));
  MUST_BE(*(unsigned *)(uintptr_t)data, 1);
  MUST(cuMemPoolSetAccess(pool, &(VirtualAccess){1, 0, 0}, 1));
  MUST_BE(fill_at(module, data), ILLEGAL_ADDRESS);
}

// By the address that the host has for it.
static void use_other_address(void) {
  setenv("SIMCUDA_TWO_ADDRESSES", "1", 1);
  const CUmodule module = begin();
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  static unsigned words[SIZE / 4];
  CUdeviceptr device;
  MUST(cuMemHostRegister(words, SIZE, 2));
  MUST(cuMemHostGetDevicePointer(&device, words, 0));
  MUST(fill_at(module, device));
  MUST_BE(words[0], 1);
  MUST_BE(fill_at(module, (uintptr_t)words), ILLEGAL_ADDRESS);
}

// The first and the third of three pages are registered; this is an address from the second one on.
static int offset_in_gap;

static void use_gap(void) {
  const CUmodule module = begin();
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  const size_t page = 4096;
  char *const pages =
      mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST_HOLD(pages != MAP_FAILED);
  MUST(cuMemHostRegister(pages, page, 2));
  MUST(cuMemHostRegister(pages + 2 * page, page, 2));
  MUST_BE(fill_at(module, (uintptr_t)pages + page + (size_t)offset_in_gap), ILLEGAL_ADDRESS);
}

// Where nothing is, nor has been.
static void use_nothing(void) {
  const CUmodule module = begin();
  USE_MEMORY;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemFree(data));
  MUST_BE(fill_at(module, data + (16 << 20)), ILLEGAL_ADDRESS);
}

// Memory of another process, which frees it before the kernel runs: that reads what nobody wrote.
static void export_memory(void) {
  start();
  USE_MEMORY;
  USE_IPC;
  IpcHandle handle;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemsetD8Async(data, 1, SIZE, LEGACY));
  finish_all();
  MUST(cuIpcGetMemHandle(&handle, data));
  tell(TALK, &handle, sizeof handle);
  hear_ready(TALK);
  MUST(cuMemFree(data));
  tell_ready(TALK);
  hear_ready(TALK);
}

static void use_of_other_process(void) {
  setenv("SIMCUDA_SCHEDULE", "lazy", 1);
  const CUmodule module = begin();
  USE_MEMORY;
  USE_STREAMS;
  USE_IPC;
  CUstream stream;
  CUdeviceptr shared, sums;
  IpcHandle handle;
  const Process other = start_other("export");
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&sums, SIZE));
  MUST(cuMemsetD8Async(sums, 0, SIZE, stream));
  hear(other.talk, &handle, sizeof handle);
  MUST(cuIpcOpenMemHandle(&shared, handle, PEERS));
  const CUfunction add = function_in(module, "add");
  MUST(launch(add, 1, 1, stream, ARGUMENTS(&sums, &shared)));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(word_at(sums), 0x01010101);
  MUST(cuMemsetD8Async(sums, 0, SIZE, stream));
  MUST(launch(add, 1, 1, stream, ARGUMENTS(&sums, &shared)));
  tell_ready(other.talk);
  hear_ready(other.talk);
  MUST(cuStreamSynchronize(stream));
  MUST_BE(word_at(sums), 0xDBDBDBDB);
  tell_ready(other.talk);
  join_other(&other);
}

// Two kernels that add to one word race with neither each other nor themselves, but with memset.
static void update(void) {
  const CUmodule module = begin();
  USE_MEMORY;
  USE_STREAMS;
  const CUfunction count = function_in(module, "count");
  CUstream streams[2];
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemsetD8Async(data, 0, SIZE, LEGACY));
  finish_all();
  for (int i = 0; i < 2; ++i) MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
  for (int i = 0; i < 2; ++i) MUST(launch(count, 1, 32, streams[i], ARGUMENTS(&data)));
  finish_all();
  MUST_BE(sim.races(), 0);
  MUST_BE(word_at(data), 64);
  MUST(launch(count, 1, 32, streams[0], ARGUMENTS(&data)));
  MUST(cuMemsetD8Async(data, 0, SIZE, streams[1]));
  finish_all();
  MUST_BE(sim.races(), 1);
  sim.reset();
}

static void *(*use)(uint64_t, uint64_t, int32_t);

static int32_t read_word(const simcuda_launch *launch, void *data) {
  (void)data;
  return use(*(const uint64_t *)launch->arguments[0], 4, 0) ? 0 : LAUNCH_FAILED;
}

// Kernels and copies that use memory of each kind.
static void use_all_kinds(void) {
  begin();
  FIND_SIM(simcuda_stand_in);
  FIND_SIM(simcuda_use);
  USE_MEMORY;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  static unsigned registered[SIZE / 4], pageable[SIZE / 4];
  const uint32_t size = 8;
  CUdeviceptr device, managed;
  void *host;
  use = simcuda_use;
  MUST(simcuda_stand_in("looks", &size, 1, read_word, NULL));
  const CUmodule module = module_of(PTX_HEADER PTX_FILL PTX_ADD PTX_COUNT
                                    ".visible .entry looks(.param .u64 from)\n{\n  ret;\n}\n");
  MUST(cuMemAlloc(&device, SIZE));
  MUST(cuMemAllocManaged(&managed, SIZE, 1));
  MUST(cuMemHostAlloc(&host, SIZE, 0));
  MUST(cuMemHostRegister(registered, SIZE, 0));
  MUST(cuMemcpyHtoD(device, pageable, SIZE));
  MUST(cuMemcpyHtoD(device, host, SIZE));
  MUST(cuMemcpyHtoD(device, registered, SIZE));
  MUST(fill_at(module, managed));
  MUST(launch(function_in(module, "add"), 1, 1, LEGACY, ARGUMENTS(&managed, &device)));
  MUST(launch(function_in(module, "count"), 1, 1, LEGACY, ARGUMENTS(&managed)));
  MUST(launch(function_in(module, "looks"), 1, 1, LEGACY, ARGUMENTS(&managed)));
  finish_all();
  MUST_BE(sim.races(), 0);
  // A race in memory that is nobody's: a graph reads it when it is launched.
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  CUstream streams[2];
  CUgraph graph = NULL;
  CUgraphExec exec;
  for (int i = 0; i < 2; ++i) MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
  MUST(cuStreamBeginCapture(streams[0], RELAXED));
  MUST(cuMemcpyHtoDAsync(device, pageable, SIZE, streams[0]));
  MUST(cuStreamEndCapture(streams[0], &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, streams[0]));
  MUST(cuMemcpyDtoHAsync(pageable, managed, 64, streams[1]));
  finish_all();
  MUST_BE(sim.races(), 1);
  sim.reset();
}

// The whole of the one file in a folder.
static char written[1 << 16];

static void read_written(const char *folder) {
  char command[512];
  snprintf(command, sizeof command, "cat %s/*.trace", folder);
  FILE *const all = popen(command, "r");
  MUST_HOLD(all != NULL);
  written[fread(written, 1, sizeof written - 1, all)] = 0;
  MUST(pclose(all));
  snprintf(command, sizeof command, "rm -r %s", folder);
  MUST(system(command));
}

static void must_be_written(const char *part) {
  if (strstr(written, part)) return;
  fprintf(stderr, "\"%s\" is not in:\n%s", part, written);
  exit(1);
}

static void check_written(void) {
  char folder[] = "/tmp/simcuda-XXXXXX";
  MUST_HOLD(mkdtemp(folder) != NULL);
  setenv("SIMCUDA_TRACE_DIR", folder, 1);
  run_apart(use_all_kinds);
  unsetenv("SIMCUDA_TRACE_DIR");
  read_written(folder);
  static const char *const parts[] = {"\"reads\"",
                                      "\"writes\"",
                                      "\"updates\"",
                                      "of pageable host memory",
                                      "\"device\"",
                                      "\"managed\"",
                                      "\"legacy\"",
                                      "first in count",
                                      "\"page-locked host\"",
                                      "\"registered host\""};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) must_be_written(parts[i]);
}

int main(int count, char **arguments) {
  (void)arguments;
  if (count > 1) return export_memory(), 0;
  run_apart(use_mapped);
  must_say("writes 4 bytes at address 0x");
  must_say("to which its context has no access");
  run_apart(use_pool_of_host);
  must_say("to which its context has no access");
  run_apart(use_other_address);
  must_say("which have another address on the device.");
  offset_in_gap = 8;
  run_apart(use_gap);
  must_say("It is 8 bytes behind the end of the 4096 bytes of registered host memory");
  offset_in_gap = 4092;
  run_apart(use_gap);
  must_say("It is 4 bytes before the 4096 bytes of registered host memory");
  offset_in_gap = 3 * 4096;
  run_apart(use_gap);
  must_say("It is 4096 bytes behind the end of the 4096 bytes of registered host memory");
  run_apart(use_nothing);
  must_say("where it has no memory, in fill");
  run_apart(use_of_other_process);
  run_apart(update);
  must_say("updates atomically by parameter 1 (sum)");
  check_written();
  return 0;
}
