// SPDX-License-Identifier: BSD-3-Clause
// What kernels of PTX really read and write, byte by byte, races with copies and with each other
// where nothing orders them, whenever they run; atomic operations of two kernels do not.
#include "race_ptx.h"

enum { COUNT = 64, SIZE = COUNT * 4 };

static CUfunction fill, add, count;
static CUstream a, b;
static CUdeviceptr x, y;
static unsigned value = 1;

#define FILL(stream, to, threads) MUST(launch(fill, 1, threads, stream, ARGUMENTS(&(to), &value)))
#define ADD(stream, to, from) MUST(launch(add, 1, COUNT, stream, ARGUMENTS(&(to), &(from))))
#define ADD_ONE(stream, to) MUST(launch(count, 1, COUNT, stream, ARGUMENTS(&(to))))

static void check_pairs(void) {
  USE_MEMORY;
  USE_EVENTS;
  USE_STREAMS;
  CUevent done;
  MUST(cuEventCreate(&done, 2));
#define ORDER(first, second)        \
  MUST(cuEventRecord(done, first)); \
  MUST(cuStreamWaitEvent(second, done, 0))

  // A kernel, and a copy of what it wrote.
  RACY(FILL(a, x, COUNT); MUST(cuMemcpyDtoDAsync(y, x, SIZE, b)););
  RACE_FREE(FILL(a, x, COUNT); ORDER(a, b); MUST(cuMemcpyDtoDAsync(y, x, SIZE, b)););
  RACE_FREE(FILL(a, x, COUNT); MUST(cuMemcpyDtoDAsync(y, x, SIZE, a)););
  RACE_FREE(FILL(a, x, COUNT); MUST(cuStreamSynchronize(a));
            MUST(cuMemcpyDtoDAsync(y, x, SIZE, b)););
  // The other way around.
  RACY(MUST(cuMemsetD8Async(x, 0, SIZE, b)); FILL(a, x, COUNT););
  RACE_FREE(MUST(cuMemsetD8Async(x, 0, SIZE, b)); ORDER(b, a); FILL(a, x, COUNT););
  // Exactly the bytes: of the second half of x, the kernel touches nothing.
  RACE_FREE(FILL(a, x, COUNT / 2); MUST(cuMemsetD8Async(x + SIZE / 2, 0, SIZE / 2, b)););
  RACY(FILL(a, x, COUNT / 2); MUST(cuMemsetD8Async(x + SIZE / 2 - 1, 0, 4, b)););
  // Two kernels: reading beside reading is no race.
  RACE_FREE(MUST(cuMemsetD8Async(x, 0, 2 * SIZE, a)); MUST(cuMemsetD8Async(y, 0, SIZE, a));
            ORDER(a, b); CUdeviceptr second = x + SIZE; ADD(a, x, y); ADD(b, second, y););
  RACY(FILL(a, x, COUNT); FILL(b, x, COUNT););
  RACE_FREE(FILL(a, x, COUNT); ORDER(a, b); FILL(b, x, COUNT););
  // Atomic operations, alone and beside others.
  RACE_FREE(MUST(cuMemsetD8Async(x, 0, 4, a)); ORDER(a, b); ADD_ONE(a, x); ADD_ONE(b, x);
            ADD_ONE(a, x););
  RACY(MUST(cuMemsetD8Async(x, 0, 4, a)); ORDER(a, b); ADD_ONE(a, x);
       MUST(cuMemcpyDtoDAsync(y, x, 4, b)););
  // A plain write is not hidden by an atomic operation behind it.
  RACY(FILL(a, x, 1); ADD_ONE(a, x); ADD_ONE(b, x););
  RACE_FREE(FILL(a, x, 1); ORDER(a, b); ADD_ONE(a, x); ADD_ONE(b, x););
  MUST(cuEventDestroy(done));
}

// Later work that does not race with a kernel must not hide work that does.
static void check_late(void) {
  USE_MEMORY;
  USE_EVENTS;
  USE_STREAMS;
  CUstream c;
  CUevent first, second;
  MUST(cuStreamCreate(&c, NON_BLOCKING));
  MUST(cuEventCreate(&first, 2));
  MUST(cuEventCreate(&second, 2));
  RACY(FILL(a, x, COUNT);                     // runs last, under lazy
       MUST(cuMemsetD8Async(x, 1, SIZE, b));  // races with it
       MUST(cuEventRecord(first, a)); MUST(cuEventRecord(second, b));
       MUST(cuStreamWaitEvent(c, first, 0)); MUST(cuStreamWaitEvent(c, second, 0));
       MUST(cuMemsetD8Async(x, 2, SIZE, c));  // comes after both
       MUST(cuStreamSynchronize(b)););
  MUST(cuStreamDestroy(c));
}

// Memory of a pool that was freed, and has been taken again by the time the kernel runs.
static void check_pool(void) {
  USE_MEMORY;
  USE_POOLS;
  USE_EVENTS;
  CUdeviceptr first, second;
  CUevent done;
  MUST(cuEventCreate(&done, 2));
  RACE_FREE(MUST(cuMemAllocAsync(&first, SIZE, a)); FILL(a, first, COUNT);
            MUST(cuMemFreeAsync(first, a)); MUST(cuMemAllocAsync(&second, SIZE, a));
            MUST_BE(second == first, 1); FILL(a, second, COUNT); MUST(cuMemFreeAsync(second, a)););
  // By another stream, because of an edge of the pool's own, which orders the block alone.
  RACE_FREE(MUST(cuMemAllocAsync(&first, SIZE, a)); FILL(a, first, COUNT);
            MUST(cuMemFreeAsync(first, a)); MUST(cuMemAllocAsync(&second, SIZE, b));
            MUST_BE(second == first, 1); FILL(b, second, COUNT); MUST(cuMemFreeAsync(second, b)););
  // It is freed, and used again, beside the kernel.
  RACY(MUST(cuMemAllocAsync(&first, SIZE, a)); MUST(cuEventRecord(done, a));
       MUST(cuStreamWaitEvent(b, done, 0)); FILL(a, first, COUNT); MUST(cuMemFreeAsync(first, b));
       MUST(cuMemAllocAsync(&second, SIZE, b)); MUST_BE(second == first, 1); FILL(b, second, COUNT);
       MUST(cuMemFreeAsync(second, b)););
}

// A captured kernel, and one in a graph's own memory.
static void check_graph(void) {
  USE_MEMORY;
  USE_POOLS;
  USE_CAPTURE;
  USE_GRAPHS;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  CUdeviceptr inside;
  MUST(cuStreamBeginCapture(a, GLOBAL));
  FILL(a, x, COUNT);
  MUST(cuMemAllocAsync(&inside, SIZE, a));
  FILL(a, inside, COUNT);
  ADD(a, x, inside);
  MUST(cuMemFreeAsync(inside, a));
  MUST(cuStreamEndCapture(a, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  RACE_FREE(MUST(cuGraphLaunch(exec, a)); MUST(cuGraphLaunch(exec, b)););
  RACE_FREE(MUST(cuGraphLaunch(exec, a)); MUST(cuMemcpyDtoDAsync(y, x, SIZE, a)););
  RACY(MUST(cuGraphLaunch(exec, a)); MUST(cuMemsetD8Async(x, 0, SIZE, b)););
  unsigned word = 0;
  MUST(cuGraphLaunch(exec, a));
  MUST(cuMemcpyDtoDAsync(y, x, SIZE, a));
  MUST(cuStreamSynchronize(a));
  MUST(cuMemcpyDtoH(&word, y, 4));
  MUST_BE(word, 2);
}

// Thousands of kernels that have yet to run: histories do not grow without bounds.
static void check_many(void) {
  USE_EVENTS;
  CUevent done;
  enum { MANY = 3000 };
  MUST(cuEventCreate(&done, 2));
  RACE_FREE(for (int i = 0; i < MANY; ++i) {
    FILL(i % 2 ? a : b, x, COUNT);
    MUST(cuEventRecord(done, i % 2 ? a : b));
    MUST(cuStreamWaitEvent(i % 2 ? b : a, done, 0));
  });
  RACY(for (int i = 0; i < MANY; ++i) FILL(a, x, COUNT); FILL(b, x, 1););
}

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  const CUmodule module = module_of(PTX_HEADER PTX_FILL PTX_ADD PTX_COUNT);
  fill = function_in(module, "fill");
  add = function_in(module, "add");
  count = function_in(module, "count");
  MUST(cuStreamCreate(&a, NON_BLOCKING));
  MUST(cuStreamCreate(&b, NON_BLOCKING));
  MUST(cuMemAlloc(&x, 2 * SIZE));
  MUST(cuMemAlloc(&y, SIZE));
  check_pairs();
  check_late();
  check_pool();
  check_graph();
  check_many();
  return 0;
}
