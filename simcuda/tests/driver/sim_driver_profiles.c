// SPDX-License-Identifier: BSD-3-Clause
// What an older driver does not know yet it refuses: attributes, places of memory, kinds of pools.
#include <sys/wait.h>

#include "graphs.h"

// Since CUDA 12.8 an if may have a second body, and there are switches.
static void check_bodies(CUcontext context, int may_be_several) {
  USE_CONDITIONAL_NODES;
  USE(cuGraphCreate, 10000, CUgraph *, unsigned);
  static const int choices[][3] = {{IF, 1, 1}, {WHILE, 1, 1}, {IF, 2, 0}, {SWITCH, 3, 0}};
  for (size_t i = 0; i < sizeof choices / sizeof *choices; ++i) {
    unsigned long long handle;
    CUgraph graph;
    CUgraphNode node;
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphConditionalHandleCreate(&handle, graph, context, 0, 0));
    Choice choice = choice_of(handle, choices[i][0], (unsigned)choices[i][1]);
    choice.context = context;
    MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &choice),
            choices[i][2] || may_be_several ? SUCCESS : INVALID_VALUE);
  }
}

static void check_dump_flags(int are_known) {
  USE(cuCoredumpGetAttributeGlobal, 12010, int, void *, size_t *);
  enum { FLAGS = 7 };
  size_t size = 0;
  MUST_BE(cuCoredumpGetAttributeGlobal(FLAGS, NULL, &size), are_known ? SUCCESS : INVALID_VALUE);
  MUST_BE(size, are_known ? sizeof(int) : 0);
}

static void in_profile(const char *version, int last_device, int last_pointer, int host_places,
                       int managed_pools) {
  setenv("SIMCUDA_DRIVER_VERSION", version, 1);
  const CUcontext context = start();
  USE_MEMORY;
  USE_MEMORY_NODES;
  USE(cuGraphCreate, 10000, CUgraph *, unsigned);
  USE(cuDriverGetVersion, 2020, int *);
  USE(cuDeviceGetAttribute, 2000, int *, int, CUdevice);
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  USE(cuMemPoolCreate, 11020, CUmemoryPool *, const PoolProperties *);
  enum { PINNED = 1, MANAGED = 2, DEVICE = 1, HOST = 2 };
  PoolProperties properties = {.type = PINNED, .location_type = DEVICE};
  CUmemoryPool pool;
  CUdeviceptr data;
  uint64_t value;
  int number = 0;
  MUST(cuDriverGetVersion(&number));
  MUST_BE(number, atoi(version));
  for (int i = 1; i < 200; ++i)
    MUST_BE(cuDeviceGetAttribute(&number, i, 0), i <= last_device ? SUCCESS : INVALID_VALUE);
  MUST(cuMemAlloc(&data, 64));
  enum { MEMORY_BLOCK = 20, AFTER = 30 };
  for (int i = MEMORY_BLOCK; i < AFTER; ++i)
    MUST_BE(cuPointerGetAttribute(&value, i, data), i <= last_pointer ? SUCCESS : INVALID_VALUE);
  MUST(cuMemPoolCreate(&pool, &properties));
  properties.location_type = HOST;
  MUST_BE(cuMemPoolCreate(&pool, &properties), host_places ? SUCCESS : INVALID_VALUE);
  properties.type = MANAGED;
  properties.location_type = DEVICE;
  MUST_BE(cuMemPoolCreate(&pool, &properties), managed_pools ? SUCCESS : INVALID_VALUE);
  Allocation allocation = {.pool = properties, .size = 64};
  CUgraph graph;
  CUgraphNode node;
  MUST(cuGraphCreate(&graph, 0));
  MUST_BE(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &allocation),
          managed_pools ? SUCCESS : INVALID_VALUE);
  if (is_since(12030)) check_bodies(context, is_since(12080));
  if (is_since(12010)) check_dump_flags(is_since(12050));
  properties.type = 3;
  MUST_BE(cuMemPoolCreate(&pool, &properties), INVALID_VALUE);
}

int main(void) {
  static const struct {
    const char *version;
    int last_device, last_pointer, host_places, managed_pools;
  } profiles[] = {{"11080", 124, 20, 0, 0},
                  {"12040", 134, 20, 1, 0},
                  {"12080", 143, 21, 1, 0},
                  {"13000", 147, 21, 1, 1}};
  for (size_t i = 0; i < sizeof profiles / sizeof *profiles; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      in_profile(profiles[i].version, profiles[i].last_device, profiles[i].last_pointer,
                 profiles[i].host_places, profiles[i].managed_pools);
      _exit(0);
    }
    int status = -1;
    MUST_BE(waitpid(child, &status, 0), child);
    MUST_BE(status, 0);
  }
  return 0;
}
