/* SPDX-License-Identifier: BSD-3-Clause */
#include "copies.h"

#include <pthread.h>

#include "must.h"
#include "second_copy.h"

/* What the copies are called for. */
#define FUNCTIONS(F)         \
  F(cai_array_own)           \
  F(cai_array_publish)       \
  F(cai_array_publish_event) \
  F(cai_array_reclaim)       \
  F(cai_use_begin)           \
  F(cai_use_end)             \
  F(cai_array_release_on)    \
  F(cai_arrays_same_stream)  \
  F(cai_array_sync_host)     \
  F(cai_interface_write)     \
  F(cai_drain)

#define MEMBER(name) __typeof__(name) *name;
static struct copy {
  FUNCTIONS(MEMBER)
} copies[2];

static const cai_array *arrays[MAX_ARRAYS + 1];
static cai_use uses[MAX_USES];
static int begun_by[MAX_USES];
static uint64_t calls; /* of the program: a hash */
static int owner;      /* the copy that has made the arrays */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  void *const another = load_second_copy();
#define FIND(name)       \
  copies[0].name = name; \
  *(void **)(&copies[1].name) = dlsym(another, #name);
  FUNCTIONS(FIND)
  MUST_HOLD(copies[0].cai_drain != copies[1].cai_drain);
}

/* The copy for the next call, of which these numbers are a part. */
static int next(int what, int number) {
  calls = (calls ^ (uint64_t)(what * 16 + number + 1)) * UINT64_C(0x9E3779B97F4A7C15);
  calls ^= calls >> 29;
  return calls >> 11 & 1;
}

/* An exporter's imports are all one copy's: two copies do not find each other's uses by address. */
static cai_status own_by_one(int array, const cai_array *borrowed, uint32_t flags,
                             void (*release)(void *), const cai_array **made, cai_error *error) {
  pthread_once(&once, load);
  if (array == 0) {
    calls = (uint64_t)borrowed->stream_kind * 8 + flags;
    owner = next(0, 0);
  }
  const cai_status status =
      copies[owner].cai_array_own(borrowed, release, NULL, (cai_array **)made, error);
  if (status == CAI_OK) arrays[array] = *made;
  return status;
}

static cai_status publish_by_one(int array, int copy, const uint64_t *streams, int32_t count,
                                 uint64_t target, const cai_array **made, cai_error *error) {
  const int by = next(1, array);
  const cai_status status = copies[by].cai_array_publish(arrays[array], streams, count, target,
                                                         (cai_array **)made, error);
  if (status == CAI_OK) arrays[copy] = *made;
  return status;
}

static cai_status publish_event_by_one(int array, int copy, uint64_t stream, const cai_array **made,
                                       cai_error *error) {
  const int by = next(2, array);
  const cai_status status =
      copies[by].cai_array_publish_event(arrays[array], stream, (cai_array **)made, error);
  if (status == CAI_OK) arrays[copy] = *made;
  return status;
}

static cai_status reclaim_by_one(int array, uint64_t stream, uint32_t access, cai_error *error) {
  return copies[next(3, array)].cai_array_reclaim(arrays[array], stream, access, error);
}

static cai_status begin_by_one(int number, int array, uint64_t stream, uint32_t order,
                               uint32_t access, cai_error *error) {
  const cai_use_options options = {sizeof options, order, access, 0, NULL};
  begun_by[number] = next(4, array);
  return copies[begun_by[number]].cai_use_begin(&uses[number], &arrays[array], 1, stream, &options,
                                                error);
}

static cai_status end_by_one(int number, cai_error *error) {
  return copies[begun_by[number]].cai_use_end(&uses[number], error);
}

static cai_status release_on_by_one(int array, uint64_t stream, cai_error *error) {
  cai_array *const held = (cai_array *)arrays[array];
  cai_array_retain(held);
  const cai_status status = copies[next(5, array)].cai_array_release_on(held, stream, error);
  if (status != CAI_OK) cai_array_release(held);
  return status;
}

/* Another copy refuses: no end of a use would tell the owner of the stream. */
static cai_status same_stream_by_one(int array, uint64_t *stream, cai_error *error) {
  return copies[owner].cai_arrays_same_stream(&arrays[array], 1, stream, error);
}

static cai_status sync_host_by_one(int array, cai_error *error) {
  return copies[next(6, array)].cai_array_sync_host(arrays[array], error);
}

/* What a dict says is a mark that only the copy with the owner's uses can leave there. */
static cai_status say_by_one(int array, uint64_t *stream, cai_error *error) {
  uint64_t storage[64];
  cai_interface dict = {.struct_size = sizeof dict};
  const cai_status status =
      copies[owner].cai_interface_write(arrays[array], 3, storage, sizeof storage, &dict, error);
  if (status == CAI_OK) *stream = dict.stream.form == CAI_FORM_INT ? dict.stream.integer : 0;
  return status;
}

static void release_by_one(int array) { cai_array_release(arrays[array]); }

/* What one copy ends may be the other's last reference. */
static cai_status drain_by_both(int64_t *left, cai_error *error) {
  cai_status status = CAI_OK;
  *left = 1;
  for (int turn = 0; turn < 4 && status == CAI_OK; ++turn) {
    int64_t of_it = 0;
    status = copies[turn % 2].cai_drain(1, &of_it, error);
    *left = turn % 2 ? *left + of_it : of_it;
  }
  return status;
}

const struct binding by_copies = {
    .name = "two copies of libcai",
    .own = own_by_one,
    .publish = publish_by_one,
    .publish_event = publish_event_by_one,
    .reclaim = reclaim_by_one,
    .begin = begin_by_one,
    .end = end_by_one,
    .release_on = release_on_by_one,
    .same_stream = same_stream_by_one,
    .sync_host = sync_host_by_one,
    .say = say_by_one,
    .release = release_by_one,
    .drain = drain_by_both,
};
