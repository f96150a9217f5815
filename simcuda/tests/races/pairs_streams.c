/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams, events, and how the host and its threads wait for them. */
#include <pthread.h>
#include <stdatomic.h>

#include "pairs.h"

PAIR(write_then_read, FILL, TAKE) {
  fill(data, one);
  if (ordered) after(two, one);
  take(data, two);
}

PAIR(read_then_write, TAKE, FILL) {
  take(data, one);
  if (ordered) after(two, one);
  fill(data, two);
}

PAIR(write_then_write, FILL, FILL) {
  fill(data, one);
  if (ordered) after(two, one);
  fill(data, two);
}

PAIR(one_stream_or_two, FILL, TAKE) {
  fill(data, one);
  take(data, ordered ? one : two);
}

PAIR(there_and_back, TAKE, FILL) {
  fill(data, one);
  after(two, one);
  take(data, two);
  if (ordered) after(one, two);
  fill(data, one);
}

PAIR(through_a_third_stream, FILL, TAKE) {
  fill(data, one);
  after(three, one);
  if (ordered) after(two, three);
  take(data, two);
}

PAIR(one_of_two_writers, FILL, TAKE) {
  fill(data, one);
  after(two, one);
  if (!ordered) fill(data, one);
  take(data, two);
}

PAIR(record_before_the_work, FILL, TAKE) {
  CUevent marked = event();
  if (!ordered) record(marked, one);
  fill(data, one);
  if (ordered) record(marked, one);
  await(two, marked);
  take(data, two);
}

PAIR(wait_before_the_record, FILL, TAKE) {
  CUevent marked = event();
  fill(data, one);
  if (!ordered) await(two, marked);
  record(marked, one);
  if (ordered) await(two, marked);
  take(data, two);
}

PAIR(wait_after_the_work, FILL, TAKE) {
  fill(data, one);
  CUevent marked = mark(one);
  if (ordered) await(two, marked);
  take(data, two);
  await(two, marked);
}

// A wait has the state of its call.
PAIR(record_again_elsewhere, FILL, TAKE) {
  fill(data, one);
  CUevent marked = mark(one);
  if (!ordered) record(marked, three);
  await(two, marked);
  if (ordered) record(marked, three);
  take(data, two);
}

PAIR(record_again_later, FILL, TAKE) {
  CUevent marked = mark(one);
  fill(data, one);
  if (ordered) record(marked, one);
  await(two, marked);
  take(data, two);
}

PAIR(wait_on_another_stream, FILL, TAKE) {
  fill(data, one);
  await(ordered ? two : three, mark(one));
  take(data, two);
}

PAIR(wait_for_another_event, FILL, TAKE) {
  fill(data, one);
  CUevent marked = mark(one), other = mark(three);
  await(two, ordered ? marked : other);
  take(data, two);
}

PAIR(event_destroyed_after_the_wait, FILL, TAKE) {
  fill(data, one);
  CUevent marked = mark(one);
  if (ordered) await(two, marked);
  MUST(cuEventDestroy(marked));
  take(data, two);
}

PAIR(synchronize_stream, FILL, TAKE) {
  fill(data, one);
  finish(ordered ? one : three);
  take(data, two);
}

PAIR(synchronize_event, FILL, TAKE) {
  CUevent before = mark(one);
  fill(data, one);
  CUevent marked = mark(one);
  MUST(cuEventSynchronize(ordered ? marked : before));
  take(data, two);
}

PAIR(synchronize_context, FILL, TAKE) {
  fill(data, one);
  MUST(cuCtxSetCurrent(ordered ? here : there));
  MUST(cuCtxSynchronize());
  MUST(cuCtxSetCurrent(here));
  take(data, two);
}

PAIR(synchronize_too_late, FILL, TAKE) {
  fill(data, one);
  if (ordered) finish(one);
  take(data, two);
  finish(one);
  finish(two);
}

PAIR(query_stream_until_done, FILL, TAKE) {
  fill(data, one);
  while (cuStreamQuery(ordered ? one : three) == NOT_READY) continue;
  take(data, two);
}

PAIR(query_event_until_done, FILL, TAKE) {
  CUevent before = mark(one);
  fill(data, one);
  CUevent marked = mark(one);
  while (cuEventQuery(ordered ? marked : before) == NOT_READY) continue;
  take(data, two);
}

PAIR(legacy_after_stream, FILL, TAKE) {
  CUstream other = stream(ordered ? BLOCKING : NON_BLOCKING);
  fill(data, other);
  take(data, LEGACY);
}

PAIR(stream_after_legacy, FILL, TAKE) {
  CUstream other = stream(ordered ? BLOCKING : NON_BLOCKING);
  fill(data, LEGACY);
  take(data, other);
}

PAIR(null_stream, FILL, TAKE) {
  CUstream other = stream(ordered ? BLOCKING : NON_BLOCKING);
  fill(data, NULL);
  take(data, other);
}

PAIR(legacy_between_blocking_streams, FILL, TAKE) {
  CUstream first = stream(BLOCKING), second = stream(BLOCKING);
  fill(data, first);
  if (ordered) fill(fresh(), LEGACY);
  take(data, second);
}

PAIR(legacy_of_two_contexts, FILL, TAKE) {
  fill(data, LEGACY);
  CUevent marked = mark(LEGACY);
  MUST(cuCtxSetCurrent(there));
  if (ordered) await(LEGACY, marked);
  take(data, LEGACY);
}

PAIR(per_thread_stream_and_legacy, FILL, TAKE) {
  fill(data, PER_THREAD);
  take(data, ordered ? LEGACY : stream(BLOCKING));
}

PAIR(priorities, FILL, TAKE) {
  CUstream high, low;
  MUST(cuStreamCreateWithPriority(&high, NON_BLOCKING, -1));
  MUST(cuStreamCreateWithPriority(&low, NON_BLOCKING, 0));
  fill(data, high);
  if (ordered) after(low, high);
  take(data, low);
}

PAIR(destroyed_stream, FILL, TAKE) {
  CUstream other = stream(NON_BLOCKING);
  fill(data, other);
  if (ordered) finish(other);
  MUST(cuStreamDestroy(other));
  take(data, two);
}

PAIR(destroyed_stream_with_event, FILL, TAKE) {
  CUstream other = stream(NON_BLOCKING);
  fill(data, other);
  CUevent marked = mark(other);
  MUST(cuStreamDestroy(other));
  if (ordered) await(two, marked);
  take(data, two);
}

PAIR(two_devices, FILL, TAKE) {
  CUdeviceptr memory = fresh_in(there);
  fill(memory, far);
  if (ordered) after(one, far);
  take(memory, one);
}

/* Threads. They run one after the other, or side by side, and it is the same to simcuda: only what
 * they say to the driver orders. */
static bool waits;

static void *work(void *unused) {
  MUST(cuCtxSetCurrent(here));
  fill(data, PER_THREAD);
  if (waits) finish(PER_THREAD);
  return unused;
}

static void join(void *(*body)(void *), void *argument) {
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, body, argument));
  MUST(pthread_join(thread, NULL));
}

PAIR(joined_thread, FILL, TAKE) {
  waits = ordered;
  join(work, NULL);
  take(data, two);
}

PAIR(per_thread_streams_of_two_threads, FILL, FILL) {
  waits = ordered;
  join(work, NULL);
  fill(data, PER_THREAD);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static CUevent handed_over;

static void *locked_work(void *unused) {
  MUST(pthread_mutex_lock(&mutex));
  MUST(cuCtxSetCurrent(here));
  if (waits && handed_over) await(two, handed_over);
  CUstream mine = handed_over ? two : one;
  fill(data, mine);
  handed_over = mark(mine);
  MUST(pthread_mutex_unlock(&mutex));
  return unused;
}

// A mutex orders the calls, and not the work.
PAIR(threads_with_a_mutex, FILL, FILL) {
  pthread_t threads[2];
  waits = ordered;
  for (int i = 0; i < 2; ++i) MUST(pthread_create(&threads[i], NULL, locked_work, NULL));
  for (int i = 0; i < 2; ++i) MUST(pthread_join(threads[i], NULL));
}

/* Host functions. What comes once one has returned may be known to come after it, so these wait
 * until all is submitted. */
static atomic_bool submitted, returned;

static void touch(void *memory) {
  while (!submitted) usleep(100);
  change(memory);
}
static void come_back(void *unused) {
  (void)unused;
  returned = true;
}
static void call_back(CUstream from, CUresult status, void *memory) {
  (void)from;
  MUST(status);
  touch(memory);
}

PAIR(host_function, "cuLaunchHostFunc", FILL) {
  MUST(cuLaunchHostFunc(one, touch, host(managed)));
  if (ordered) after(two, one);
  fill(managed, two);
  submitted = true;
  finish(one);
}

PAIR(work_before_host_function, FILL, "cuLaunchHostFunc") {
  fill(managed, two);
  if (ordered) after(one, two);
  MUST(cuLaunchHostFunc(one, touch, host(managed)));
  submitted = true;
  finish(one);
}

PAIR(callback, "cuStreamAddCallback", FILL) {
  MUST(cuStreamAddCallback(one, call_back, host(managed), 0));
  if (ordered) after(two, one);
  fill(managed, two);
  submitted = true;
  finish(one);
}

// The client sees that the function has returned, and says nothing to the driver.
PAIR(host_function_has_returned, FILL, TAKE) {
  if (!ordered) MUST(cuLaunchHostFunc(one, come_back, NULL));
  fill(data, one);
  if (ordered) MUST(cuLaunchHostFunc(one, come_back, NULL));
  while (!returned) usleep(100);
  take(data, two);
}

PAIR(host_looks, FILL, HOST) {
  fill(managed, one);
  if (ordered) finish(one);
  look(host(managed));
}

PAIR(host_changes, TAKE, HOST) {
  take(managed, one);
  if (ordered) finish(one);
  change(host(managed));
}
