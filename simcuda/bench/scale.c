// SPDX-License-Identifier: BSD-3-Clause
// What work costs by how much of it there is: for each kind of work, and for N, 10 N and 100 N
// pieces of it, the processor's time for a piece and the most memory that the process held. Where
// the time grows with the number, something walks what it should not. docs/scale.md has a table.
//
// usage: scale [N [KIND]]
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "driver_test.h"
#include "simcuda.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void nothing(void *unused) { (void)unused; }

// All in one stream, none done before the end.
static void memsets(int n) {
  USE_MEMORY;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 64));
  for (int i = 0; i < n; ++i) MUST(cuMemsetD8Async(data, 1, 64, LEGACY));
}

static void copies_of_host_memory(int n) {
  USE_MEMORY;
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  static char bytes[64];
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 64));
  for (int i = 0; i < n; ++i) MUST(cuMemcpyHtoDAsync(data, bytes, 64, LEGACY));
}

static void blocking_copies(int n) {
  USE_MEMORY;
  char bytes[64];
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 64));
  for (int i = 0; i < n; ++i) MUST(cuMemcpyDtoH(bytes, data, 64));
}

// Each writes bytes of its own.
static void pieces(int n) {
  USE_MEMORY;
  USE_STREAMS;
  CUdeviceptr data;
  CUstream streams[2];
  MUST(cuMemAlloc(&data, 2 * (size_t)n));
  for (int i = 0; i < 2; ++i) MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
  for (int i = 0; i < n; ++i)
    MUST(cuMemsetD8Async(data + 2 * (CUdeviceptr)i, 1, 1, streams[i % 2]));
}

// Eight streams, each of which waits for the one before.
static void records_and_waits(int n) {
  USE_STREAMS;
  USE_EVENTS;
  CUstream streams[8];
  CUevent events[8];
  for (int i = 0; i < 8; ++i) {
    MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
    MUST(cuEventCreate(&events[i], 2));
  }
  for (int i = 0; i < n; ++i) {
    MUST(cuEventRecord(events[i % 8], streams[i % 8]));
    MUST(cuStreamWaitEvent(streams[(i + 1) % 8], events[i % 8], 0));
  }
}

static void events(int n) {
  USE_EVENTS;
  CUevent event;
  for (int i = 0; i < n; ++i) {
    MUST(cuEventCreate(&event, 2));
    MUST(cuEventRecord(event, LEGACY));
    MUST(cuEventDestroy(event));
  }
}

static void live_events(int n) {
  USE_EVENTS;
  CUevent event;
  for (int i = 0; i < n; ++i) {
    MUST(cuEventCreate(&event, 2));
    MUST(cuEventRecord(event, LEGACY));
  }
}

static void synchronised_streams(int n) {
  USE_MEMORY;
  USE_STREAMS;
  CUdeviceptr data;
  CUstream stream;
  MUST(cuMemAlloc(&data, 64));
  for (int i = 0; i < n; ++i) {
    MUST(cuStreamCreate(&stream, 0));
    MUST(cuMemsetD8Async(data, 1, 64, stream));
    MUST(cuStreamSynchronize(stream));
    MUST(cuStreamDestroy(stream));
  }
}

static void streams_of_use(int n, unsigned flags, int live) {
  USE_MEMORY;
  USE_STREAMS;
  CUdeviceptr data;
  CUstream stream;
  MUST(cuMemAlloc(&data, (size_t)n));
  for (int i = 0; i < n; ++i) {
    MUST(cuStreamCreate(&stream, flags));
    MUST(cuMemsetD8Async(data + (CUdeviceptr)i, 1, 1, stream));
    if (!live) MUST(cuStreamDestroy(stream));
  }
}

static void streams(int n) { streams_of_use(n, 0, 0); }

static void non_blocking_streams(int n) { streams_of_use(n, NON_BLOCKING, 0); }

static void live_streams(int n) { streams_of_use(n, 0, 1); }

// The legacy stream's turn and that of a thousand others, one after the other.
static void legacy_beside_streams(int n) {
  USE_MEMORY;
  USE_STREAMS;
  CUdeviceptr data;
  CUstream all[1000];
  MUST(cuMemAlloc(&data, 64));
  for (int i = 0; i < 1000; ++i) MUST(cuStreamCreate(&all[i], 0));
  for (int i = 0; i < n; ++i) MUST(cuMemsetD8Async(data, 1, 64, i % 2 ? all[i % 1000] : LEGACY));
}

static void queries(int n) {
  USE_MEMORY;
  USE_STREAMS;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 64));
  for (int i = 0; i < n; ++i) {
    MUST(cuMemsetD8Async(data, 1, 64, LEGACY));
    while (cuStreamQuery(LEGACY) != SUCCESS) continue;
  }
}

static void allocations(int n) {
  USE_MEMORY;
  CUdeviceptr data;
  for (int i = 0; i < n; ++i) {
    MUST(cuMemAlloc(&data, 64));
    MUST(cuMemFree(data));
  }
}

static void live_allocations(int n) {
  USE_MEMORY;
  CUdeviceptr data;
  for (int i = 0; i < n; ++i) MUST(cuMemAlloc(&data, 64));
}

static void host_allocations(int n) {
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  void *data;
  for (int i = 0; i < n; ++i) {
    MUST(cuMemHostAlloc(&data, 64, 0));
    MUST(cuMemFreeHost(data));
  }
}

static void live_host_allocations(int n) {
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  void *data;
  for (int i = 0; i < n; ++i) MUST(cuMemHostAlloc(&data, 64, 0));
}

// In eight streams, none of which anybody waits for.
static void pool_allocations(int n) {
  USE_STREAMS;
  USE_POOLS;
  CUstream streams[8];
  CUdeviceptr data;
  for (int i = 0; i < 8; ++i) MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
  for (int i = 0; i < n; ++i) {
    MUST(cuMemAllocAsync(&data, 64, streams[i % 8]));
    MUST(cuMemFreeAsync(data, streams[i % 8]));
  }
}

static void live_pool_allocations(int n) {
  USE_POOLS;
  CUdeviceptr data;
  for (int i = 0; i < n; ++i) MUST(cuMemAllocAsync(&data, 64, LEGACY));
}

// Each in a stream of its own.
static void pool_allocations_of_streams(int n) {
  USE_STREAMS;
  USE_POOLS;
  CUstream stream;
  CUdeviceptr data;
  for (int i = 0; i < n; ++i) {
    MUST(cuStreamCreate(&stream, NON_BLOCKING));
    MUST(cuMemAllocAsync(&data, 64, stream));
    MUST(cuMemFreeAsync(data, stream));
    MUST(cuStreamDestroy(stream));
  }
}

static void host_functions(int n) {
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  for (int i = 0; i < n; ++i) MUST(cuLaunchHostFunc(LEGACY, nothing, NULL));
}

static void kernels(int n) {
  USE_KERNELS;
  FIND_SIM(simcuda_kernel);
  CUmodule module;
  CUfunction function;
  MUST(simcuda_kernel("nothing", NULL, 0, NULL, NULL));
  MUST(cuModuleLoadData(&module, "simcuda module\nnothing\n"));
  MUST(cuModuleGetFunction(&function, module, "nothing"));
  for (int i = 0; i < n; ++i)
    MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, LEGACY, NULL, NULL));
}

static void captures(int n) {
  USE_CAPTURE;
  USE_GRAPHS;
  CUstream stream;
  CUevent event;
  CUgraph graph;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  for (int i = 0; i < n; ++i) {
    MUST(cuEventCreate(&event, 2));
    MUST(cuStreamBeginCapture(stream, GLOBAL));
    MUST(cuEventRecord(event, stream));
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphDestroy(graph));
  }
}

static CUgraphExec launched(CUgraph graph, CUstream stream) {
  USE_GRAPHS;
  CUgraphExec exec;
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) MUST(cuGraphLaunch(exec, stream));
  return exec;
}

static void captured(int n) {
  USE_MEMORY;
  USE_CAPTURE;
  CUstream stream;
  CUgraph graph;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  for (int i = 0; i < n; ++i) MUST(cuMemsetD8Async(data, 1, 64, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  launched(graph, stream);
}

static void captured_allocations(int n) {
  USE_CAPTURE;
  USE_POOLS;
  CUstream stream;
  CUgraph graph;
  CUdeviceptr data;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  for (int i = 0; i < n; ++i) {
    MUST(cuMemAllocAsync(&data, 64, stream));
    MUST(cuMemFreeAsync(data, stream));
  }
  MUST(cuStreamEndCapture(stream, &graph));
  launched(graph, stream);
}

// All branches side by side, then one node that comes after all.
static void branches(int n) {
  USE_GRAPHS;
  USE_STREAMS;
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  CUgraphNode *nodes = malloc((size_t)n * sizeof *nodes), last;
  CUstream stream;
  CUgraph graph;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuGraphCreate(&graph, 0));
  for (int i = 0; i < n; ++i) MUST(cuGraphAddEmptyNode(&nodes[i], graph, NULL, 0));
  MUST(cuGraphAddEmptyNode(&last, graph, nodes, (size_t)n));
  launched(graph, stream);
  free(nodes);
}

static void edges(int n) {
  USE_GRAPHS;
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  USE(cuGraphAddDependencies, 10000, CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
  CUgraphNode *nodes = malloc((size_t)n * sizeof *nodes);
  CUgraph graph;
  MUST(cuGraphCreate(&graph, 0));
  for (int i = 0; i < n; ++i) MUST(cuGraphAddEmptyNode(&nodes[i], graph, NULL, 0));
  MUST(cuGraphAddDependencies(graph, nodes, nodes + 1, (size_t)(n - 1)));
  free(nodes);
}

static void launches(int n) {
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  CUstream stream;
  CUgraph graph;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemsetD8Async(data, 1, 64, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  CUgraphExec exec = launched(graph, stream);
  for (int i = 0; i < n; ++i) MUST(cuGraphLaunch(exec, stream));
}

#define KIND(name) {#name, name}
static const struct {
  const char *name;
  void (*run)(int n);
} kinds[] = {
    KIND(memsets),
    KIND(copies_of_host_memory),
    KIND(blocking_copies),
    KIND(pieces),
    KIND(records_and_waits),
    KIND(events),
    KIND(live_events),
    KIND(synchronised_streams),
    KIND(streams),
    KIND(non_blocking_streams),
    KIND(live_streams),
    KIND(legacy_beside_streams),
    KIND(queries),
    KIND(allocations),
    KIND(live_allocations),
    KIND(host_allocations),
    KIND(live_host_allocations),
    KIND(pool_allocations),
    KIND(live_pool_allocations),
    KIND(pool_allocations_of_streams),
    KIND(host_functions),
    KIND(kernels),
    KIND(captures),
    KIND(captured),
    KIND(captured_allocations),
    KIND(branches),
    KIND(edges),
    KIND(launches),
};

// In a process of its own; the work's end is a part of it.
static void measure(void (*run)(int n), int n) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    start();
    USE(cuCtxSynchronize, 2000, void);
    const double begin = now();
    run(n);
    MUST(cuCtxSynchronize());
    const double seconds = now() - begin;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf(" %.2f us, %ld MiB |", 1e6 * seconds / n, used.ru_maxrss >> 10);
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status) exit(1);
}

int main(int count, char **arguments) {
  const int n = count > 1 ? atoi(arguments[1]) : 10000;
  MUST_HOLD(n > 1 && n <= 10000000);
  printf("| | %d | %d | %d |\n|---|---|---|---|\n", n, 10 * n, 100 * n);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (count > 2 && strcmp(arguments[2], kinds[i].name) != 0) continue;
    printf("| %s |", kinds[i].name);
    for (int factor = 1; factor <= 100; factor *= 10) measure(kinds[i].run, factor * n);
    printf("\n");
  }
  return 0;
}
