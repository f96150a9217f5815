/* SPDX-License-Identifier: BSD-3-Clause */
/* A C thread that releases arrays, one after the other, and times each release. run.py
 * builds it for bench_release.py, with the installed headers and nothing linked. */
#include <Python.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cai.h>

static struct {
  pthread_t thread;
  cai_array **arrays;
  int64_t *times; /* nanoseconds */
  int64_t count;
  int with_gil;
  int done;
} work;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *let_go(void *unused) {
  for (int64_t i = 0; i < work.count; ++i) {
    const int64_t begin = now();
    if (work.with_gil) {
      const PyGILState_STATE state = PyGILState_Ensure();
      cai_array_release(work.arrays[i]);
      PyGILState_Release(state);
    } else {
      cai_array_release(work.arrays[i]);
    }
    work.times[i] = now() - begin;
    if (work.with_gil) usleep(100); /* the others are to have the GIL again */
  }
  __atomic_store_n(&work.done, 1, __ATOMIC_RELEASE);
  return unused;
}

/* Adds a holder to each array. */
void hold(cai_array **arrays, int64_t count) {
  for (int64_t i = 0; i < count; ++i) cai_array_retain(arrays[i]);
}

int start(cai_array **arrays, int64_t *times, int64_t count, int with_gil) {
  work.arrays = arrays;
  work.times = times;
  work.count = count;
  work.with_gil = with_gil;
  work.done = 0;
  return pthread_create(&work.thread, NULL, let_go, NULL);
}

int is_done(void) { return __atomic_load_n(&work.done, __ATOMIC_ACQUIRE); }

void finish(void) { pthread_join(work.thread, NULL); }
