/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions by which owners keep uses, publish and release, from strict C99, where there may be
 * no driver: NULL, wrong arguments, and a producer's own owner that fills in all of its struct. */
#include "make.h"

#define REFUSED(call_with_error, call_without)           \
  do {                                                   \
    CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, call_with_error); \
    CHECK((call_without) == CAI_ERR_ARGUMENT);           \
  } while (0)

/* One call, with ERR and with NULL in the place of `error`. */
#define CALL(function, ...) REFUSED(function(__VA_ARGS__, ERR), function(__VA_ARGS__, NULL))

static made m;
static const int64_t shape[] = {2, 3};
static int retained, released, ended;

/* A producer's block: the owner comes first. */
typedef struct block {
  cai_owner owner;
  int holders;
} block;

static void end(cai_owner *self) {
  ++ended;
  ((block *)self)->holders = -1;
}

static void retain(cai_owner *self) {
  ++retained;
  ++((block *)self)->holders;
}

static void release(cai_owner *self) {
  ++released;
  if (--((block *)self)->holders == 0) cai_owner_end(self, end);
}

static void start(block *b, uint32_t struct_size) {
  memset(b, 0xA5, sizeof *b);
  CHECK_OK(cai_owner_init(&b->owner, retain, release, ERR));
  CHECK(b->owner.struct_size == sizeof b->owner && b->owner.flags == 0);
  CHECK(b->owner.retain == retain && b->owner.release == release && !b->owner.uses);
  b->owner.struct_size = struct_size;
  b->holders = 1;
  retained = released = ended = 0;
}

static int32_t current(void *context, const cai_array *array, uint64_t *stream) {
  (void)context, (void)array, (void)stream;
  return 0;
}

static void test_arrays(void) {
  cai_array before, *a = make(&m, "<f4", 2, shape, NULL), *view = NULL;
  const uint64_t zero = 0, good = 7;
  before = *a;
  check_context = "arrays";
  CALL(cai_array_reclaim, NULL, 1, CAI_ACCESS_READ);
  CALL(cai_array_reclaim, a, 0, CAI_ACCESS_READ);
  CALL(cai_array_reclaim, a, 1, CAI_ACCESS_WRITE + 1);
  CALL(cai_array_publish, NULL, &good, 1, 7, &view);
  CALL(cai_array_publish, a, NULL, 1, 7, &view);
  CALL(cai_array_publish, a, &good, -1, 7, &view);
  CALL(cai_array_publish, a, &zero, 1, 7, &view);
  CALL(cai_array_publish, a, &good, 1, 0, &view);
  CALL(cai_array_publish, a, &good, 1, 7, NULL);
  CALL(cai_array_publish_event, NULL, 7, &view);
  CALL(cai_array_publish_event, a, 0, &view);
  CALL(cai_array_publish_event, a, 7, NULL);
  CHECK(!view);
  CALL(cai_array_release_on, NULL, 7);
  CALL(cai_array_release_on, a, 0);
  CALL(cai_array_release_on, a, 7); /* borrowed: there is no holder */
  CHECK(memcmp(&before, a, sizeof before) == 0);
}

static void test_owners(void) {
  block b;
  check_context = "owners";
  start(&b, sizeof b.owner);
  CALL(cai_owner_used_on, NULL, 1, CAI_ACCESS_READ);
  CALL(cai_owner_used_on, &b.owner, 0, CAI_ACCESS_READ);
  CALL(cai_owner_used_on, &b.owner, 1, CAI_ACCESS_DEFAULT);
  CALL(cai_owner_used_on, &b.owner, 1, CAI_ACCESS_WRITE + 1);
  CALL(cai_owner_await_uses, NULL, 1, CAI_ACCESS_READ);
  CALL(cai_owner_await_uses, &b.owner, 1, CAI_ACCESS_DEFAULT);
  CHECK_OK(cai_owner_await_uses(&b.owner, 0, CAI_ACCESS_WRITE, ERR)); /* nothing was kept */
  CHECK(b.owner.uses == NULL);
  cai_owner_end(NULL, end);
  cai_owner_end(&b.owner, NULL);
  cai_owner_end(NULL, NULL);
  CHECK(ended == 0);
  b.owner.struct_size = 24;
  CALL(cai_owner_used_on, &b.owner, 1, CAI_ACCESS_READ);
  CALL(cai_owner_await_uses, &b.owner, 1, CAI_ACCESS_READ);
}

/* With nothing pending, an owner of either size ends at once, and no driver is missed. */
static void test_end(void) {
  static const uint32_t sizes[] = {24, sizeof(cai_owner)};
  cai_array *a = make(&m, "<f4", 2, shape, NULL);
  cai_slice all;
  size_t i;
  memset(&all, 0, sizeof all);
  all.kind = CAI_SLICE_ELLIPSIS;
  check_context = "end";
  for (i = 0; i < 2; ++i) {
    block b;
    cai_array *view;
    int64_t left = -1;
    start(&b, sizes[i]);
    a->owner = &b.owner;
    if (!CHECK_OK(cai_array_slice(a, &all, 1, &view, ERR))) return;
    CHECK(retained == 1 && b.holders == 2);
    cai_array_release(a);
    CHECK(ended == 0);
    cai_array_release(view);
    CHECK(released == 2 && ended == 1 && b.holders == -1);
    CHECK_OK(cai_drain(0, &left, ERR));
    CHECK(left == 0);
    CHECK(cai_drain(1, NULL, NULL) == CAI_OK);
  }
}

/* A host array is released on a stream at once: nothing can be pending. */
static void test_release_on(void) {
  cai_array *a = make(&m, "<f4", 2, shape, NULL);
  block b;
  check_context = "release on";
  start(&b, sizeof b.owner);
  a->device_type = CAI_DEVICE_CPU;
  a->device_id = 0;
  a->owner = &b.owner;
  CHECK_OK(cai_array_release_on(a, 7, ERR));
  CHECK(released == 1 && ended == 1);
}

static void test_providers(void) {
  cai_stream_provider provider;
  check_context = "providers";
  memset(&provider, 0, sizeof provider);
  provider.struct_size = sizeof provider;
  provider.current = current;
  REFUSED(cai_provide_streams(NULL, ERR), cai_provide_streams(NULL, NULL));
  provider.struct_size = sizeof provider - 1;
  REFUSED(cai_provide_streams(&provider, ERR), cai_provide_streams(&provider, NULL));
  provider.struct_size = sizeof provider;
  provider.current = NULL;
  REFUSED(cai_provide_streams(&provider, ERR), cai_provide_streams(&provider, NULL));
  provider.current = current;
  CHECK_OK(cai_provide_streams(&provider, ERR));
}

int main(void) {
  test_arrays();
  test_owners();
  test_end();
  test_release_on();
  test_providers();
  return CHECK_RESULT();
}
