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
  MUST_BE(pipe(ends), 0);
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
  MUST_BE(waitpid(child, &status, 0), child);
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

#define SAYS(...) MUST_BE(says(__VA_ARGS__), 1)

#define USE_ALL \
  USE_MEMORY;   \
  USE_STREAMS;  \
  USE_EVENTS

static void two_streams(void) {
  USE_ALL;
  CUdeviceptr data, copy;
  CUstream one, two;
  MUST(cuMemAlloc(&data, 256));
  MUST(cuMemAlloc(&copy, 256));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, 0));
  MUST(cuMemsetD8Async(data + 16, 1, 64, one));
  MUST(cuMemcpyDtoDAsync(copy, data, 256, two));
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
  MUST(cuMemAlloc(&data, 64));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamBeginCapture(one, GLOBAL));
  MUST(cuEventRecord(event, one));
  MUST(cuStreamWaitEvent(two, event, 0));
  MUST(cuMemsetD8Async(data, 1, 64, one));
  MUST(cuMemsetD8Async(data, 2, 64, two));
  MUST(cuEventRecord(event, two));
  MUST(cuStreamWaitEvent(one, event, 0));
  MUST(cuStreamEndCapture(one, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, one));
}

static void in_a_loop(void) {
  USE_ALL;
  CUdeviceptr data, more;
  CUstream one, two;
  MUST(cuMemAlloc(&data, 256));
  MUST(cuMemAlloc(&more, 256));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  for (int i = 0; i < 10; ++i) {
    MUST(cuMemsetD8Async(data, 1, 64, one));
    MUST(cuMemsetD8Async(data, 2, 64, two));
    MUST(cuStreamSynchronize(one));
    MUST(cuStreamSynchronize(two));
  }
  MUST_BE(sim.races(), 10);
  // Other memory is another pair.
  MUST(cuMemsetD8Async(more, 1, 64, one));
  MUST(cuMemsetD8Async(more, 2, 64, two));
  MUST_BE(sim.races(), 11);
}

static void many_pairs(void) {
  USE_ALL;
  CUstream one, two;
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  for (int i = 0; i < 200; ++i) {
    CUdeviceptr data;
    MUST(cuMemAlloc(&data, 1));
    MUST(cuMemsetD8Async(data, 1, 1, one));
    MUST(cuMemsetD8Async(data, 2, 1, two));
  }
  MUST_BE(sim.races(), 200);
}

static void by_the_host(void) {
  USE_ALL;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  CUdeviceptr data;
  void *locked;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemHostAlloc(&locked, 64, 0));
  MUST(cuMemcpyHtoDAsync(data, locked, 64, PER_THREAD));
  MUST(sim.host_access(locked, 64, 1));
}

static void in_a_pool(void) {
  USE_ALL;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  CUdeviceptr data;
  CUstream one, two;
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuMemAllocAsync(&data, 64, one));
  MUST(cuMemsetD8Async(data, 1, 64, two));
  MUST(cuMemFreeAsync(data, one));
  MUST_BE(cuMemsetD8Async(data, 1, 64, one), INVALID_VALUE);
}

static void none(void) {
  USE_ALL;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemsetD8Async(data, 1, 64, LEGACY));
}

static void forgotten(void) {
  two_streams();
  MUST_BE(sim.races(), 1);
  sim.reset();
  MUST_BE(sim.races(), 0);
}

static void nothing_found(void) {
  two_streams();
  MUST_BE(sim.races(), 0);
}

int main(void) {
  MUST_BE(run("log", two_streams), 0);
  MUST_BE(lines(), 7);
  MUST(
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
  MUST_BE(sscanf(strstr(text, "handles "), "handles %p %p", &one, &two), 2);
  snprintf(expected, sizeof expected, "on non-blocking stream %p of", one);
  SAYS(expected);
  snprintf(expected, sizeof expected, "on blocking stream %p of", two);
  SAYS(expected);
  unsigned long long begin, end, base;
  MUST_BE(sscanf(strstr(text, "in bytes "), "in bytes %llx to %llx", &begin, &end), 2);
  MUST_BE(sscanf(strstr(text, "memory at "), "memory at %llx", &base), 1);
  MUST_BE(begin - base, 16);
  MUST_BE(end - begin, 64);
  SAYS("\nsimcuda: 1 race\n");

  MUST_BE(run("log", in_a_graph), 0);
  SAYS(
      "nothing orders cuGraphLaunch (memset) (operation 2) before cuGraphLaunch (memset) "
      "(operation 3)\n");
  SAYS("make operation 3 depend on operation 2 in their graph\n");

  MUST_BE(run("log", in_a_loop), 0);
  MUST_BE(lines(), 11);
  SAYS("\nsimcuda: 11 races\n");
  MUST_BE(run("log", many_pairs), 0);
  MUST_BE(lines(), 502);
  SAYS("simcuda: more races are only counted\nsimcuda: 200 races\n");

  MUST_BE(run("log", by_the_host), 0);
  MUST(
      !says("nothing orders cuMemcpyHtoDAsync (operation 1) before the host's access\n"
            "simcuda:   cuMemcpyHtoDAsync (operation 1) reads, on the per-thread stream "));
  SAYS("simcuda:   the host's access writes, on the host\n");
  MUST(
      !says("of the 64 bytes of page-locked host memory at \1\n"
            "simcuda:   wait for operation 1 first: for its stream, or for an event recorded after "
            "it\n"));

  MUST_BE(run("log", in_a_pool), 0);
  MUST(
      !says("cuMemsetD8Async (operation 2) may use memory before cuMemAllocAsync (operation 1) has "
            "allocated it: nothing orders "));
  SAYS(
      "cuMemFreeAsync (operation 3) frees memory that cuMemsetD8Async (operation 2) may still "
      "use: nothing orders ");
  SAYS("cuMemsetD8Async uses memory that cuMemFreeAsync (operation 3) has freed\n");
  SAYS("\nsimcuda: 3 races\n");

  MUST_BE(run("log", none), 0);
  MUST_BE(lines(), 0);
  // What was forgotten is not told of at the end.
  MUST_BE(run("log", forgotten), 0);
  MUST_BE(lines(), 6);

  MUST_BE(run("count", in_a_loop), 0);
  MUST_BE(lines(), 0);
  MUST_BE(run("off", nothing_found), 0);
  MUST_BE(lines(), 1);  // the program's own
  const int status = run("abort", in_a_loop);
  MUST_BE(WIFSIGNALED(status), 1);
  MUST_BE(WTERMSIG(status), SIGABRT);
  MUST_BE(lines(), 5);
  SAYS("simcuda: race: nothing orders ");
  return 0;
}
