// SPDX-License-Identifier: BSD-3-Clause
// A report names both operations, their streams, the memory and the edge that is missing. A pair is
// told once and counted each time. SIMCUDA_RACES decides what becomes of it.
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include "ptx.h"
#include "race_test.h"

static char text[1 << 17], expected[1 << 12];

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

// The report contains this; \1 stands for any address, and any number of a context or a stream.
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
  enum { first_line = __LINE__ + 1 };
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, 0));
  MUST(cuMemsetD8Async(data + 16, 1, 64, one));
  MUST(cuMemcpyDtoDAsync(copy, data, 256, two));
  fprintf(stderr, "handles %p %p\nline %d\n", one, two, first_line);
}

static void streams_of_one_place(void) {
  USE_ALL;
  CUdeviceptr data;
  CUstream streams[2];
  MUST(cuMemAlloc(&data, 256));
  for (int i = 0; i < 2; ++i) MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
  for (int i = 0; i < 2; ++i) MUST(cuMemsetD8Async(data, 1, 64, streams[i]));
  fprintf(stderr, "handles %p %p\n", streams[0], streams[1]);
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

// exit() has by then destroyed whatever it destroys of what the first free of memory has made; what
// is freed does not keep its bytes in a test (MALLOC_PERTURB_).
static void at_exit(void) {
  MUST_BE(atexit(by_the_host), 0);
  USE_MEMORY;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemFree(data));
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

static uint32_t one_byte(const simcuda_launch *launch, simcuda_range *out, uint32_t capacity) {
  if (capacity > 0) out[0] = (simcuda_range){*(const uint64_t *)launch->arguments[0], 1, 1, 0, 0};
  return 1;
}

// Memory of each kind that a report can name, used on two streams.
static void in_memory_of_all_kinds(void) {
  USE_ALL;
  USE_KERNELS;
  USE_GRAPHS;
  USE(cuStreamBeginCapture, 10010, CUstream, int);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  USE(cuModuleGetGlobal, 3020, CUdeviceptr *, size_t *, CUmodule, const char *);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  FIND_SIM(simcuda_kernel);
  static unsigned char registered[64], pageable[64];
  const uint32_t sizes[] = {8};
  CUdeviceptr managed, data, total;
  CUmodule module;
  CUfunction function;
  CUgraph graph = NULL;
  CUgraphExec exec;
  CUstream one, two;
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(simcuda_kernel("one byte", sizes, 1, one_byte, NULL));
  MUST(cuModuleLoadData(&module, "simcuda module\none byte\n"));
  MUST(cuModuleGetFunction(&function, module, "one byte"));
  MUST(cuMemAllocManaged(&managed, 64, 1));
  void *arguments[] = {&managed};
  MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, one, arguments, NULL));
  MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, two, arguments, NULL));
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemHostRegister(registered, 64, 0));
  MUST(cuMemcpyHtoDAsync(data, registered, 64, one));
  MUST(sim.host_access(registered, 64, 1));
  // A graph reads ordinary memory when it is launched.
  MUST(cuStreamBeginCapture(one, 0));
  MUST(cuMemcpyHtoDAsync(data, pageable, 64, one));
  MUST(cuStreamEndCapture(one, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, one));
  MUST(cuMemcpyDtoHAsync(pageable, managed + 32, 32, two));
  module = module_of(PTX_HEADER ".visible .global .align 4 .u32 _ZN3sum5totalE;\n");
  MUST(cuModuleGetGlobal(&total, NULL, module, "_ZN3sum5totalE"));
  MUST(cuMemsetD8Async(total, 1, 4, one));
  MUST(cuMemsetD8Async(total, 2, 4, two));
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

static int files_in(const char *folder, char *name) {
  int count = 0;
  DIR *open = opendir(folder);
  MUST_BE(open != NULL, 1);
  for (struct dirent *entry; (entry = readdir(open)) != NULL;)
    if (entry->d_name[0] != '.') {
      snprintf(name, 512, "%s/%s", folder, entry->d_name);
      ++count;
    }
  closedir(open);
  return count;
}

// Reports of races are also written to a folder, if one is set.
static void check_evidence(void) {
  static char left[1 << 12];
  char folder[] = "/tmp/sim_race_report.XXXXXX", name[512];
  MUST_BE(mkdtemp(folder) != NULL, 1);
  setenv("SIMCUDA_RACE_DIR", folder, 1);
  MUST_BE(run("log", forgotten), 0);
  MUST_BE(files_in(folder, name), 0);
  MUST_BE(run("count", two_streams), 0);
  MUST_BE(files_in(folder, name), 0);
  MUST_BE(run("log", two_streams), 0);
  MUST_BE(files_in(folder, name), 1);
  FILE *file = fopen(name, "r");
  MUST_BE(file != NULL && fread(left, 1, sizeof left - 1, file) > 0, 1);
  fclose(file);
  MUST_BE(strncmp(left, text, strlen(left)), 0);
  MUST_BE(unlink(name), 0);
  MUST_BE(rmdir(folder), 0);
  MUST_BE(run("log", two_streams), 0);  // it is gone
  SAYS("\nsimcuda: 1 race\n");
  setenv("SIMCUDA_RACE_DIR", "", 1);
  MUST_BE(run("log", forgotten), 0);
  unsetenv("SIMCUDA_RACE_DIR");
}

// The call sites are those of the client's own code.
static void check_call_sites(void) {
  setenv("SIMCUDA_CALL_SITES", "1", 1);
  MUST_BE(run("log", two_streams), 0);
  MUST_BE(lines(), 15);
  SAYS("device memory at \1\nsimcuda:       allocated at ");
  // Of the first stream's creation; then come the other's, and the two calls.
  const int first = atoi(strstr(text, "\nline ") + strlen("\nline "));
  const struct {
    const char *what;
    int line;
  } lines_in_order[] = {{"called at", first + 2},
                        {"stream made at", first},
                        {"called at", first + 3},
                        {"stream made at", first + 1}};
  const char *after = strstr(text, "(operation 1) writes, on ");
  for (int i = 0; i < 4; ++i) {
    MUST_BE(after != NULL, 1);
    const char *line = strchr(after, '\n') + 1;
    snprintf(expected, sizeof expected, "simcuda:       %s ", lines_in_order[i].what);
    MUST_BE(strncmp(line, expected, strlen(expected)), 0);
    snprintf(expected, sizeof expected, "sim_race_report.c:%d in two_streams, from ",
             lines_in_order[i].line);
    MUST_BE(strstr(line, expected) != NULL && strstr(line, expected) < strchr(line, '\n'), 1);
    after = i == 1 ? strstr(line, "(operation 2) reads, on ") : line;
  }
  // Each stream by where it was made, and not by who called that function.
  for (int i = 0; i < 2; ++i) {
    const char *line = strstr(text, i ? "cuStreamWaitEvent(the stream made at "
                                      : "cuEventRecord(event, the stream made at ");
    MUST_BE(line != NULL, 1);
    snprintf(expected, sizeof expected, "sim_race_report.c:%d in two_streams%s", first + i,
             i ? ", event, 0)\n" : ")\n");
    MUST_BE(strstr(line, expected) != NULL && strstr(line, expected) < strchr(line, '\n'), 1);
  }
  // Or by its handle, where the place would name both.
  MUST_BE(run("log", streams_of_one_place), 0);
  void *one = NULL, *two = NULL;
  MUST_BE(sscanf(strstr(text, "handles "), "handles %p %p", &one, &two), 2);
  snprintf(expected, sizeof expected, "cuEventRecord(event, non-blocking stream %p)\n", one);
  SAYS(expected);
  snprintf(expected, sizeof expected, "cuStreamWaitEvent(non-blocking stream %p, event, 0)\n", two);
  SAYS(expected);
  MUST_BE(run("log", in_a_graph), 0);
  SAYS("simcuda:       node made at ");
  setenv("SIMCUDA_CALL_SITES", "0", 1);
}

int main(void) {
  setenv("SIMCUDA_CALL_SITES", "0", 1);
  MUST_BE(run("log", two_streams), 0);
  MUST_BE(lines(), 10);
  MUST(
      !says("simcuda: race: nothing orders cuMemsetD8Async (operation 1) before cuMemcpyDtoDAsync "
            "(operation 2)\n"
            "simcuda:   cuMemsetD8Async (operation 1) writes, on non-blocking stream \1 of context "
            "\1 (device 0)\n"
            "simcuda:   cuMemcpyDtoDAsync (operation 2) reads, on blocking stream \1 of context \1 "
            "(device 0)\n"
            "simcuda:   in bytes \1 to \1 of the 256 bytes of device memory at \1\n"
            "simcuda:   record an event after operation 1 and wait for it before operation 2\n"
            "simcuda:       cuEventRecord(event, non-blocking stream \1)\n"
            "simcuda:       cuStreamWaitEvent(blocking stream \1, event, 0)\n"));
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
  SAYS(
      "make operation 3 depend on operation 2 in their graph: by cuGraphAddDependencies, or by an "
      "event while it is captured\n");

  MUST_BE(run("log", in_a_loop), 0);
  MUST_BE(lines(), 15);
  SAYS("\nsimcuda: 11 races\n");
  MUST_BE(run("log", many_pairs), 0);
  MUST_BE(lines(), 702);
  SAYS("simcuda: more races are only counted\nsimcuda: 200 races\n");

  MUST_BE(run("log", by_the_host), 0);
  MUST(
      !says("nothing orders cuMemcpyHtoDAsync (operation 1) before the host's access\n"
            "simcuda:   cuMemcpyHtoDAsync (operation 1) reads, on the per-thread stream "));
  SAYS("simcuda:   the host's access writes, on the host\n");
  MUST(
      !says("of the 64 bytes of page-locked host memory at \1\n"
            "simcuda:   wait for operation 1 first: for its stream, or for an event recorded after "
            "it\n"
            "simcuda:       cuStreamSynchronize(the per-thread stream "));

  MUST_BE(run("log", at_exit), 0);
  SAYS("simcuda:   the host's access writes, on the host\n");

  MUST_BE(run("log", in_a_pool), 0);
  MUST(
      !says("cuMemsetD8Async (operation 2) may use memory before cuMemAllocAsync (operation 1) has "
            "allocated it: nothing orders "));
  SAYS(
      "cuMemFreeAsync (operation 3) frees memory that cuMemsetD8Async (operation 2) may still "
      "use: nothing orders ");
  SAYS("cuMemsetD8Async uses memory that cuMemFreeAsync (operation 3) has freed\n");
  SAYS("free it after its last use: call cuMemFreeAsync after cuMemsetD8Async\n");
  SAYS("\nsimcuda: 3 races\n");

  MUST_BE(run("log", in_memory_of_all_kinds), 0);
  MUST(
      !says("cuLaunchKernel (kernel) (operation 2) writes, on non-blocking stream \1 of context \1 "
            "(device 0)\n"
            "simcuda:   in bytes \1 to \1 of the 64 bytes of managed memory at \1\n"));
  MUST(!says("of the 64 bytes of registered host memory at \1\n"));
  MUST(!says("simcuda:   in bytes \1 to \1 of pageable host memory\n"));
  SAYS("of the 4 bytes of variable sum::total at \1\n");
  SAYS("\nsimcuda: 4 races\n");
  check_evidence();

  check_call_sites();

  MUST_BE(run("log", none), 0);
  MUST_BE(lines(), 0);
  // Forgotten races are not reported at the end.
  MUST_BE(run("log", forgotten), 0);
  MUST_BE(lines(), 9);

  MUST_BE(run("count", in_a_loop), 0);
  MUST_BE(lines(), 0);  // the banner is off
  MUST_BE(run("off", nothing_found), 0);
  MUST_BE(lines(), 2);  // the program's own
  const int status = run("abort", in_a_loop);
  MUST_BE(WIFSIGNALED(status), 1);
  MUST_BE(WTERMSIG(status), SIGABRT);
  MUST_BE(lines(), 7);
  SAYS("simcuda: race: nothing orders ");
  return 0;
}
