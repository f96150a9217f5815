// SPDX-License-Identifier: BSD-3-Clause
// A report names both operations, their streams, the memory and the edge that is missing. A pair is
// told once and counted each time. SIMCUDA_RACES decides what becomes of it.
#include <signal.h>
#include <sys/wait.h>

#include "race_test.h"

static char text[1 << 16], expected[1 << 12];

// Runs the program in a process of its own; what it says goes to `text`. Returns its wait status.
static int run(const char *mode, void (*program)(void)) {
  int ends[2];
  EXPECT(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    setenv("SIMCUDA_RACES", mode, 1);
    start_races();
    program();
    exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)got;
  text[length] = '\0';
  close(ends[0]);
  int status = 0;
  EXPECT(waitpid(child, &status, 0), child);
  return status;
}

static int lines(void) {
  int count = 0;
  for (const char *c = text; *c; ++c) count += *c == '\n';
  return count;
}

// What was said holds this; \1 stands for any address, and any number of a context's or a stream's.
static int says(const char *pattern) {
  for (const char *start = text; *start; ++start) {
    const char *at = start;
    const char *p = pattern;
    for (; *p; ++p) {
      if (*p == '\1') {
        if (strncmp(at, "0x", 2) != 0) break;
        at += 2 + strspn(at + 2, "0123456789abcdef");
      } else if (*at++ != *p) {
        break;
      }
    }
    if (!*p) return 1;
  }
  fprintf(stderr, "not said: %s\nbut: %s\n", pattern, text);
  return 0;
}

#define SAYS(...) EXPECT(says(__VA_ARGS__), 1)

#define USE_ALL \
  USE_MEMORY;   \
  USE_STREAMS;  \
  USE_EVENTS

static void two_streams(void) {
  USE_ALL;
  CUdeviceptr data, copy;
  CUstream one, two;
  OK(cuMemAlloc(&data, 256));
  OK(cuMemAlloc(&copy, 256));
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, 0));
  OK(cuMemsetD8Async(data + 16, 1, 64, one));
  OK(cuMemcpyDtoDAsync(copy, data, 256, two));
  fprintf(stderr, "handles %p %p\n", one, two);
}

static void in_a_graph(void) {
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  CUdeviceptr data;
  CUstream one, two;
  CUevent event;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  OK(cuMemAlloc(&data, 64));
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuStreamBeginCapture(one, GLOBAL));
  OK(cuEventRecord(event, one));
  OK(cuStreamWaitEvent(two, event, 0));
  OK(cuMemsetD8Async(data, 1, 64, one));
  OK(cuMemsetD8Async(data, 2, 64, two));
  OK(cuEventRecord(event, two));
  OK(cuStreamWaitEvent(one, event, 0));
  OK(cuStreamEndCapture(one, &graph));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphLaunch(exec, one));
}

static void in_a_loop(void) {
  USE_ALL;
  CUdeviceptr data, more;
  CUstream one, two;
  OK(cuMemAlloc(&data, 256));
  OK(cuMemAlloc(&more, 256));
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));
  for (int i = 0; i < 10; ++i) {
    OK(cuMemsetD8Async(data, 1, 64, one));
    OK(cuMemsetD8Async(data, 2, 64, two));
    OK(cuStreamSynchronize(one));
    OK(cuStreamSynchronize(two));
  }
  EXPECT(sim.races(), 10);
  // Other memory is another pair.
  OK(cuMemsetD8Async(more, 1, 64, one));
  OK(cuMemsetD8Async(more, 2, 64, two));
  EXPECT(sim.races(), 11);
}

static void many_pairs(void) {
  USE_ALL;
  CUstream one, two;
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));
  for (int i = 0; i < 200; ++i) {
    CUdeviceptr data;
    OK(cuMemAlloc(&data, 1));
    OK(cuMemsetD8Async(data, 1, 1, one));
    OK(cuMemsetD8Async(data, 2, 1, two));
  }
  EXPECT(sim.races(), 200);
}

static void by_the_host(void) {
  USE_ALL;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  CUdeviceptr data;
  void *locked;
  OK(cuMemAlloc(&data, 64));
  OK(cuMemHostAlloc(&locked, 64, 0));
  OK(cuMemcpyHtoDAsync(data, locked, 64, PER_THREAD));
  OK(sim.host_access(locked, 64, 1));
}

static void in_a_pool(void) {
  USE_ALL;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  CUdeviceptr data;
  CUstream one, two;
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));
  OK(cuMemAllocAsync(&data, 64, one));
  OK(cuMemsetD8Async(data, 1, 64, two));
  OK(cuMemFreeAsync(data, one));
  EXPECT(cuMemsetD8Async(data, 1, 64, one), INVALID_VALUE);
}

static void none(void) {
  USE_ALL;
  CUdeviceptr data;
  OK(cuMemAlloc(&data, 64));
  OK(cuMemsetD8Async(data, 1, 64, LEGACY));
}

static void forgotten(void) {
  two_streams();
  EXPECT(sim.races(), 1);
  sim.reset();
  EXPECT(sim.races(), 0);
}

static void nothing_found(void) {
  two_streams();
  EXPECT(sim.races(), 0);
}

int main(void) {
  EXPECT(run("log", two_streams), 0);
  EXPECT(lines(), 7);
  OK(
      !says("simcuda: race: nothing orders cuMemsetD8Async (operation 1) before cuMemcpyDtoDAsync "
            "(operation 2)\n"
            "simcuda:   cuMemsetD8Async (operation 1) writes, on non-blocking stream \1 of context "
            "\1 (device 0)\n"
            "simcuda:   cuMemcpyDtoDAsync (operation 2) reads, on blocking stream \1 of context \1 "
            "(device 0)\n"
            "simcuda:   in bytes \1 to \1 of the 256 bytes of device memory at \1\n"
            "simcuda:   record an event after operation 1 and wait for it before operation 2\n"));
  // The very handles that the client has, and the bytes that both use.
  void *one = NULL, *two = NULL;
  EXPECT(sscanf(strstr(text, "handles "), "handles %p %p", &one, &two), 2);
  snprintf(expected, sizeof expected, "on non-blocking stream %p of", one);
  SAYS(expected);
  snprintf(expected, sizeof expected, "on blocking stream %p of", two);
  SAYS(expected);
  unsigned long long begin, end, base;
  EXPECT(sscanf(strstr(text, "in bytes "), "in bytes %llx to %llx", &begin, &end), 2);
  EXPECT(sscanf(strstr(text, "memory at "), "memory at %llx", &base), 1);
  EXPECT(begin - base, 16);
  EXPECT(end - begin, 64);
  SAYS("\nsimcuda: 1 race\n");

  EXPECT(run("log", in_a_graph), 0);
  SAYS(
      "nothing orders cuGraphLaunch (memset) (operation 2) before cuGraphLaunch (memset) "
      "(operation 3)\n");
  SAYS("make operation 3 depend on operation 2 in their graph\n");

  EXPECT(run("log", in_a_loop), 0);
  EXPECT(lines(), 11);
  SAYS("\nsimcuda: 11 races\n");
  EXPECT(run("log", many_pairs), 0);
  EXPECT(lines(), 502);
  SAYS("simcuda: more races are only counted\nsimcuda: 200 races\n");

  EXPECT(run("log", by_the_host), 0);
  OK(
      !says("nothing orders cuMemcpyHtoDAsync (operation 1) before the host's access\n"
            "simcuda:   cuMemcpyHtoDAsync (operation 1) reads, on the per-thread stream "));
  SAYS("simcuda:   the host's access writes, on the host\n");
  OK(
      !says("of the 64 bytes of page-locked host memory at \1\n"
            "simcuda:   wait for operation 1 first: for its stream, or for an event recorded after "
            "it\n"));

  EXPECT(run("log", in_a_pool), 0);
  OK(
      !says("cuMemsetD8Async (operation 2) may use memory before cuMemAllocAsync (operation 1) has "
            "allocated it: nothing orders "));
  SAYS(
      "cuMemFreeAsync (operation 3) frees memory that cuMemsetD8Async (operation 2) may still "
      "use: nothing orders ");
  SAYS("cuMemsetD8Async uses memory that cuMemFreeAsync (operation 3) has freed\n");
  SAYS("\nsimcuda: 3 races\n");

  EXPECT(run("log", none), 0);
  EXPECT(lines(), 0);
  // What was forgotten is not told of at the end.
  EXPECT(run("log", forgotten), 0);
  EXPECT(lines(), 6);

  EXPECT(run("count", in_a_loop), 0);
  EXPECT(lines(), 0);
  EXPECT(run("off", nothing_found), 0);
  EXPECT(lines(), 1);  // the program's own
  const int status = run("abort", in_a_loop);
  EXPECT(WIFSIGNALED(status), 1);
  EXPECT(WTERMSIG(status), SIGABRT);
  EXPECT(lines(), 5);
  SAYS("simcuda: race: nothing orders ");
  return 0;
}
