// SPDX-License-Identifier: BSD-3-Clause
#include "stage.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"

// ---- The driver ---------------------------------------------------------------------------------

typedef void *handle;
typedef uint64_t address;

#define FUNCTIONS(F)                                              \
  F(int, cuInit, unsigned)                                        \
  F(int, cuDevicePrimaryCtxRetain, handle *, int)                 \
  F(int, cuCtxCreate_v2, handle *, unsigned, int)                 \
  F(int, cuCtxPushCurrent_v2, handle)                             \
  F(int, cuCtxPopCurrent_v2, handle *)                            \
  F(int, cuCtxSetCurrent, handle)                                 \
  F(int, cuMemAlloc_v2, address *, size_t)                        \
  F(int, cuMemsetD8Async, address, unsigned char, size_t, handle) \
  F(int, cuMemcpyDtoDAsync_v2, address, address, size_t, handle)  \
  F(int, cuStreamCreate, handle *, unsigned)                      \
  F(int, cuStreamSynchronize, handle)                             \
  F(int, cuStreamWaitEvent, handle, handle, unsigned)             \
  F(int, cuEventCreate, handle *, unsigned)                       \
  F(int, cuEventRecord, handle, handle)                           \
  F(int, cuEventSynchronize, handle)                              \
  F(uint64_t, simcuda_calls, const char *)                        \
  F(uint64_t, simcuda_races, void)                                \
  F(uint64_t, simcuda_findings, void)                             \
  F(uint64_t, simcuda_last_work, void)                            \
  F(int32_t, simcuda_ordered, uint64_t, uint64_t)                 \
  F(void, simcuda_forget, void)

#define DECLARE(result, name, ...) static result (*name)(__VA_ARGS__);
FUNCTIONS(DECLARE)
#undef DECLARE

enum { BYTES = 2, BLOCKING = 0, NON_BLOCKING = 1, NO_TIMING = 2 };

enum { BETWEEN = MAX_ARRAYS };  // an array that goes within a step

// A thread that runs what it is given, while thread 1 waits.
static struct {
  pthread_mutex_t mutex;
  pthread_cond_t turn;
  void (*task)(void *argument);
  void *argument;
} second = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL};

static struct {
  handle primary, other;
  handle streams[OTHER_CONTEXT + 1];
  handle
      host_stream;   // nobody else's: what is queued there comes after what the host has waited for
  handle events[2];  // of either context
  handle said[2];    // likewise, with which the first array comes
  address data, scratch;

  // Of one program.
  const cai_array *arrays[MAX_ARRAYS + 1];  // of those that are there
  cai_use uses[MAX_USES];
  int used_on[MAX_USES];  // the streams, or HOST: it is not open
  int64_t shape[2];
  int64_t strides[1];
  int freed_on;
  bool foreign;
  uint32_t flags;  // CAI_OWNER_*
  int owners;
  int freed;
  uint64_t marks[MAX_WORK];
  int count;
  int waits_of_its_own;
  bool has_published;  // the binding, by itself
  uint64_t races, records, waits;
  cai_error error;
} stage;

static void *serve(void *unused) {
  (void)unused;
  MUST(cuCtxSetCurrent(stage.primary));
  pthread_mutex_lock(&second.mutex);
  for (;;) {
    while (!second.task) pthread_cond_wait(&second.turn, &second.mutex);
    second.task(second.argument);
    second.task = NULL;
    pthread_cond_broadcast(&second.turn);
  }
  return NULL;
}

// Runs a function where work on the stream is queued: on its thread, with its context current.
static void on(int stream, void (*task)(void *argument), void *argument) {
  if (stream == THREAD_2) {
    pthread_mutex_lock(&second.mutex);
    second.task = task;
    second.argument = argument;
    pthread_cond_broadcast(&second.turn);
    while (second.task) pthread_cond_wait(&second.turn, &second.mutex);
    pthread_mutex_unlock(&second.mutex);
  } else if (stream == OTHER_CONTEXT) {
    handle popped;
    MUST(cuCtxPushCurrent_v2(stage.other));
    task(argument);
    MUST(cuCtxPopCurrent_v2(&popped));
  } else {
    task(argument);
  }
}

static uint64_t value_of(int stream) { return (uint64_t)(uintptr_t)stage.streams[stream]; }

static uint64_t count_of_waits(void) {
  return simcuda_calls("cuStreamWaitEvent") + simcuda_calls("cuEventSynchronize") +
         simcuda_calls("cuStreamSynchronize");
}

// ---- How libcai is called ----------------------------------------------------------------------

static cai_array *held(int array) { return (cai_array *)stage.arrays[array]; }

static cai_status own_by_c(int array, const cai_array *borrowed, uint32_t flags,
                           void (*release)(void *), const cai_array **made, cai_error *error) {
  (void)array;
  (void)flags;
  return cai_array_own(borrowed, release, NULL, (cai_array **)made, error);
}

static cai_status publish_by_c(int array, int copy, const uint64_t *streams, int32_t count,
                               uint64_t target, const cai_array **made, cai_error *error) {
  (void)copy;
  return cai_array_publish(held(array), streams, count, target, (cai_array **)made, error);
}

static cai_status publish_event_by_c(int array, int copy, uint64_t stream, const cai_array **made,
                                     cai_error *error) {
  (void)copy;
  return cai_array_publish_event(held(array), stream, (cai_array **)made, error);
}

static cai_status reclaim_by_c(int array, uint64_t stream, uint32_t access, cai_error *error) {
  return cai_array_reclaim(held(array), stream, access, error);
}

static cai_status begin_by_c(int number, int array, uint64_t stream, uint32_t order,
                             uint32_t access, cai_error *error) {
  const cai_use_options options = {sizeof options, order, access, 0, NULL};
  return cai_use_begin(&stage.uses[number], &stage.arrays[array], 1, stream, &options, error);
}

static cai_status end_by_c(int number, cai_error *error) {
  return cai_use_end(&stage.uses[number], error);
}

static cai_status release_on_by_c(int array, uint64_t stream, cai_error *error) {
  cai_array_retain(held(array));
  const cai_status status = cai_array_release_on(held(array), stream, error);
  if (status != CAI_OK) cai_array_release(held(array));
  return status;
}

static cai_status same_stream_by_c(int array, uint64_t *stream, cai_error *error) {
  return cai_arrays_same_stream(&stage.arrays[array], 1, stream, error);
}

static cai_status sync_host_by_c(int array, cai_error *error) {
  return cai_array_sync_host(held(array), error);
}

static cai_status say_by_c(int array, uint64_t *stream, cai_error *error) {
  uint64_t storage[64];
  cai_interface dict = {.struct_size = sizeof dict};
  const cai_status status =
      cai_interface_write(held(array), 3, storage, sizeof storage, &dict, error);
  if (status == CAI_OK) *stream = dict.stream.form == CAI_FORM_INT ? dict.stream.integer : 0;
  return status;
}

static void release_by_c(int array) { cai_array_release(held(array)); }

static cai_status drain_by_c(int64_t *left, cai_error *error) { return cai_drain(1, left, error); }

#define CALLS(F)   \
  F(own)           \
  F(publish)       \
  F(publish_event) \
  F(reclaim)       \
  F(begin)         \
  F(end)           \
  F(release_on)    \
  F(same_stream)   \
  F(sync_host)     \
  F(say)           \
  F(release)       \
  F(drain)

#define BY_C(call) .call = call##_by_c,
static struct binding binding = {.name = "cai.h", CALLS(BY_C)};
#undef BY_C

void play_through(const struct binding *other) {
  binding.name = other->name;
#define TAKE(call)                                                      \
  if (other->call) {                                                    \
    binding.call = other->call;                                         \
  } else {                                                              \
    printf("# %s has no %s: cai.h's is called\n", binding.name, #call); \
  }
  CALLS(TAKE)
#undef TAKE
}

const char *binding_name(void) { return binding.name; }
static int more_order_allowed;
void allow_more_order(void) { more_order_allowed = 1; }
int may_order_more(void) { return more_order_allowed; }

void open_stage(void) {
  if (!cuInit) {
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    MUST_HOLD(library);
#define FIND(result, name, ...) MUST_HOLD(*(void **)&name = dlsym(library, #name));
    FUNCTIONS(FIND)
#undef FIND
    MUST(cuInit(0));
    handle popped;
    MUST(cuDevicePrimaryCtxRetain(&stage.primary, 0));
    MUST(cuCtxCreate_v2(&stage.other, 0, 0));
    MUST(cuEventCreate(&stage.events[1], NO_TIMING));
    MUST(cuEventCreate(&stage.said[1], NO_TIMING));
    MUST(cuCtxPopCurrent_v2(&popped));
    MUST(cuCtxSetCurrent(stage.primary));
    stage.streams[LEGACY] = stage.streams[OTHER_CONTEXT] = (handle)1;
    stage.streams[THREAD_1] = stage.streams[THREAD_2] = (handle)2;
    for (int i = BLOCKING_1; i <= NON_BLOCKING_2; ++i) {
      MUST(cuStreamCreate(&stage.streams[i], i <= BLOCKING_2 ? BLOCKING : NON_BLOCKING));
    }
    MUST(cuStreamCreate(&stage.host_stream, NON_BLOCKING));
    MUST(cuEventCreate(&stage.events[0], NO_TIMING));
    MUST(cuEventCreate(&stage.said[0], NO_TIMING));
    MUST(cuMemAlloc_v2(&stage.data, BYTES));
    MUST(cuMemAlloc_v2(&stage.scratch, (size_t)MAX_WORK * BYTES));
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, serve, NULL));
  }
  stage.count = stage.freed = stage.owners = stage.waits_of_its_own = 0;
  stage.has_published = false;
  for (int i = 0; i < MAX_USES; ++i) stage.used_on[i] = HOST;
  stage.races = simcuda_races() + simcuda_findings();
  stage.records = simcuda_calls("cuEventRecord");
  stage.waits = count_of_waits();
}

// ---- Memory and work ----------------------------------------------------------------------------

struct piece {
  address data;
  size_t size;
  uint32_t access;
  handle stream;
};

static void give_work(void *argument) {
  const struct piece *const piece = argument;
  if (piece->access == CAI_ACCESS_WRITE) {
    MUST(cuMemsetD8Async(piece->data, (unsigned char)stage.count, piece->size, piece->stream));
  } else {
    const address to = stage.scratch + (address)stage.count * BYTES;
    MUST(cuMemcpyDtoDAsync_v2(to, piece->data, piece->size, piece->stream));
  }
  stage.marks[stage.count++] = simcuda_last_work();
}

static void give(const struct piece *piece, int stream) {
  MUST_HOLD(stage.count < MAX_WORK);
  on(stream, give_work, (void *)piece);
}

static void work_on(address data, size_t size, int stream, uint32_t access) {
  struct piece piece = {data, size, access, NULL};
  piece.stream = stream == HOST ? stage.host_stream : stage.streams[stream];
  give(&piece, stream);
  if (stream == HOST) {  // and it is done when the host goes on
    MUST(cuStreamSynchronize(stage.host_stream));
    ++stage.waits_of_its_own;
  }
}

void work(int array, int stream, uint32_t access) {
  work_on(stage.arrays[array]->data, (size_t)stage.arrays[array]->shape[0], stream, access);
}

static void free_memory(void) {
  ++stage.freed;
  if (stage.count == MAX_WORK) return;
  const handle stream = stage.freed_on == HOST ? stage.host_stream : stage.streams[stage.freed_on];
  const struct piece piece = {stage.data, BYTES, CAI_ACCESS_WRITE, stream};
  handle popped;
  MUST(cuCtxPushCurrent_v2(stage.primary));  // for the thread that releases
  give(&piece, HOST);
  MUST(cuCtxPopCurrent_v2(&popped));
}

static void end_of_owner(void *context) {
  (void)context;
  if (--stage.owners == 0) free_memory();
}

// ---- A producer ---------------------------------------------------------------------------------

static cai_array describe(address data, int64_t *shape, uint32_t kind, uint64_t stream) {
  stage.strides[0] = 1;
  return (cai_array){
      .abi_major = CAI_ABI_MAJOR,
      .abi_minor = CAI_ABI_MINOR,
      .data = data,
      .device_type = CAI_DEVICE_CUDA,
      .device_id = -1,
      .dtype = {'u', '|', 0, 0, 1, 0},
      .ndim = 1,
      .shape = shape,
      .strides = stage.strides,
      .stream = stream,
      .stream_kind = kind,
      .version = 3,
  };
}

static handle event_of(int stream) { return stage.events[stream == OTHER_CONTEXT]; }

static void do_record(void *stream) {
  MUST(cuEventRecord(event_of(*(int *)stream), stage.streams[*(int *)stream]));
}

static handle said_on(int stream) { return stage.said[stream == OTHER_CONTEXT]; }

static void do_say(void *stream) {
  MUST(cuEventRecord(said_on(*(int *)stream), stage.streams[*(int *)stream]));
}

struct wait {
  int waiting, stream;
};

static void do_wait(void *argument) {
  const struct wait *const wait = argument;
  MUST(cuStreamWaitEvent(stage.streams[wait->waiting], event_of(wait->stream), 0));
}

// As the text asks: an event on the one stream, for which the other waits.
static void let_wait(int waiting, int stream) {
  struct wait wait = {waiting, stream};
  on(stream, do_record, &stream);
  on(waiting, do_wait, &wait);
}

// An array with an owner of its own: a producer's, or that of a dict's consumer.
static cai_status own(int array, address data, uint32_t kind, uint64_t stream) {
  int64_t *const shape = &stage.shape[data != stage.data];
  *shape = BYTES - (int64_t)(data - stage.data);
  const cai_array borrowed = describe(data, shape, kind, stream);
  const cai_status status =
      binding.own(array, &borrowed, stage.flags, end_of_owner, &stage.arrays[array], &stage.error);
  if (status != CAI_OK) return status;
  ++stage.owners;
  stage.arrays[array]->owner->flags |= stage.flags;
  return CAI_OK;
}

static cai_status publish_pending(int array, int copy, const uint64_t *streams, int32_t count,
                                  int target) {
  return binding.publish(array, copy, streams, count, value_of(target), &stage.arrays[copy],
                         &stage.error);
}

cai_status make_array(int keeper, uint32_t kind, int work_stream, int target) {
  stage.foreign = keeper == FOREIGN;
  const bool is_ordered = stage.foreign ? kind == CAI_STREAM_STREAM : keeper == STREAM_ORDERED;
  stage.freed_on = is_ordered ? target : HOST;
  const uint32_t flags[] = {0, CAI_OWNER_RECLAIMS, CAI_OWNER_STREAM_ORDERED, CAI_OWNER_IMPORTED};
  stage.flags = flags[keeper];
  const uint64_t stream = value_of(work_stream);
  work_on(stage.data, BYTES, work_stream, CAI_ACCESS_WRITE);
  if (kind == CAI_STREAM_NONE) MUST(cuStreamSynchronize(stage.streams[work_stream]));
  if (kind == CAI_STREAM_EVENT) {
    on(work_stream, do_say, &work_stream);
    return own(0, stage.data, kind, (uint64_t)(uintptr_t)said_on(work_stream));
  }
  const bool is_published = kind == CAI_STREAM_STREAM && work_stream != target;
  if (!is_published || stage.foreign) {
    if (is_published) let_wait(target, work_stream);
    return own(0, stage.data, kind, kind == CAI_STREAM_STREAM ? value_of(target) : 0);
  }
  cai_status status = own(BETWEEN, stage.data, CAI_STREAM_NONE, 0);
  if (status != CAI_OK) return status;
  if (keeper == STREAM_ORDERED) stage.arrays[BETWEEN]->owner->freed_on = value_of(target);
  status = publish_pending(BETWEEN, 0, &stream, 1, target);
  drop(BETWEEN);
  return status;
}

cai_status produce(int array, int stream, uint32_t access, int reclaim) {
  if (reclaim) {
    const cai_status status = binding.reclaim(array, value_of(stream), access, &stage.error);
    if (status != CAI_OK) return status;
  }
  work(array, stream, access);
  return CAI_OK;
}

static int stream_of(uint64_t value) {
  for (int i = LEGACY; i < OTHER_CONTEXT; ++i) {
    if (value_of(i) == value) return i;
  }
  return HOST;
}

void produce_by_the_text(int array, int stream, uint32_t access) {
  const int own = stream_of(stage.arrays[array]->stream);
  if (own != stream) let_wait(stream, own);
  work(array, stream, access);
  if (own != stream) let_wait(own, stream);
}

// The work pending on the streams, one bit for each.
static int32_t pending_on(uint32_t streams, uint64_t *pending) {
  int32_t count = 0;
  for (int i = LEGACY; i < OTHER_CONTEXT; ++i) {
    if (streams >> i & 1) pending[count++] = value_of(i);
  }
  return count;
}

cai_status publish(int array, int copy, uint32_t streams, int target) {
  uint64_t pending[OTHER_CONTEXT];
  const int32_t count = pending_on(streams, pending);
  return publish_pending(array, copy, pending, count, target);
}

cai_status publish_event(int array, int copy, uint32_t streams, int target) {
  uint64_t pending[OTHER_CONTEXT];
  const int32_t count = pending_on(streams, pending);
  const bool has_others = count > 1 || (count && pending[0] != value_of(target));
  if (has_others) {
    const cai_status status = publish_pending(array, BETWEEN, pending, count, target);
    if (status != CAI_OK) return status;
    array = BETWEEN;
  }
  const cai_status status =
      binding.publish_event(array, copy, value_of(target), &stage.arrays[copy], &stage.error);
  if (has_others) drop(BETWEEN);
  return status;
}

// ---- Consumers ----------------------------------------------------------------------------------

struct use {
  int number, array;
  uint64_t stream;
  uint32_t order, access;
  cai_status status;
};

static void do_begin(void *argument) {
  struct use *const use = argument;
  use->status =
      binding.begin(use->number, use->array, use->stream, use->order, use->access, &stage.error);
}

static void do_end(void *argument) {
  struct use *const use = argument;
  use->status = binding.end(use->number, &stage.error);
}

cai_status begin(int number, int array, int stream, uint32_t order, uint32_t access) {
  struct use use = {number, array, value_of(stream), order, access, CAI_OK};
  on(stream, do_begin, &use);
  if (use.status == CAI_OK) stage.used_on[number] = stream;
  return use.status;
}

cai_status end(int number, int stream) {
  struct use use = {.number = number};
  on(stream, do_end, &use);
  if (use.status == CAI_OK) stage.used_on[number] = HOST;
  return use.status;
}

static void do_release_on(void *argument) {
  struct use *const use = argument;
  use->status = binding.release_on(use->array, use->stream, &stage.error);
}

cai_status release_on(int array, int stream) {
  struct use use = {.array = array, .stream = value_of(stream)};
  on(stream, do_release_on, &use);
  return use.status;
}

cai_status work_on_its_stream(int array, int stream, uint32_t access) {
  uint64_t named = 0;
  const cai_status status = binding.same_stream(array, &named, &stage.error);
  if (status != CAI_OK) return status;
  MUST_BE(named, value_of(stream));
  work(array, stream, access);
  return CAI_OK;
}

cai_status sync_host(int array) { return binding.sync_host(array, &stage.error); }

cai_status use_by_the_text(int array, int copy, int stream, uint32_t access) {
  uint64_t said = stage.arrays[array]->stream;
  if (!stage.foreign) {
    cai_status status = binding.say(array, &said, &stage.error);
    if (status == CAI_ERR_EXPORT && copy) {
      status = publish(array, copy, 0, LEGACY);
      array = copy;
      if (status == CAI_OK) status = binding.say(array, &said, &stage.error);
    }
    if (status != CAI_OK) return status;
    if (stage.arrays[array]->stream_kind == CAI_STREAM_NONE && said) stage.has_published = true;
  }
  const int own = stream_of(said);
  if (stream == HOST) {
    if (own != HOST) MUST(cuStreamSynchronize(stage.streams[own]));
    work(array, stream, access);
    return CAI_OK;
  }
  if (own != HOST && own != stream) let_wait(stream, own);
  work(array, stream, access);
  if (own == HOST) {  // None: nobody could wait for it later
    on(stream, do_record, &stream);
    MUST(cuEventSynchronize(event_of(stream)));
  } else if (own != stream) {
    let_wait(own, stream);
  }
  return CAI_OK;
}

cai_status import_again(int alias) {
  const cai_array *const it = stage.arrays[0];
  return own(alias, stage.data + 1, it->stream_kind, it->stream);
}

// ---- The end ------------------------------------------------------------------------------------

void drop(int array) {
  if (!stage.arrays[array]) return;
  binding.release(array);
  stage.arrays[array] = NULL;
}

static void do_drain(void *left) { MUST(binding.drain(left, &stage.error)); }

int64_t drain(void) {
  int64_t left = 0;
  do_drain(&left);
  if (left) on(OTHER_CONTEXT, do_drain, &left);  // which is no primary one
  return left;
}

void close_stage(void) {
  for (int i = 0; i < MAX_USES; ++i) {
    if (stage.used_on[i] != HOST) MUST(end(i, stage.used_on[i]));
  }
  for (int i = MAX_ARRAYS; i-- > 0;) drop(i);
  MUST_BE(drain(), 0);
  simcuda_forget();
}

int work_count(void) { return stage.count; }

int comes_before(int first, int after) {
  const int32_t ordered = simcuda_ordered(stage.marks[first], stage.marks[after]);
  MUST_HOLD(ordered >= 0);
  return ordered;
}

int has_array(int array) { return stage.arrays[array] != NULL; }

int has_published_by_itself(void) { return stage.has_published; }

int frees(void) { return stage.freed; }

// And uses of destroyed streams and events.
uint64_t races(void) { return simcuda_races() + simcuda_findings() - stage.races; }

uint64_t records(void) { return simcuda_calls("cuEventRecord") - stage.records; }

uint64_t waits(void) { return count_of_waits() - stage.waits - (uint64_t)stage.waits_of_its_own; }

const char *last_error(void) { return stage.error.message; }
