/* SPDX-License-Identifier: BSD-3-Clause */
/* cai_array_own(), retain and release: one allocation, and one end, after the last release. */
#define _POSIX_C_SOURCE 200809L
#include "allocations.h"
#include "make.h"

#include <pthread.h>

static int released;
static void *released_with;

static void on_release(void *context) {
  released_with = context;
  __atomic_fetch_add(&released, 1, __ATOMIC_SEQ_CST);
}

static made m, mask;
static cai_field fields[2], inner[1];
static int64_t field_shape[] = {2};
static const int64_t shape[] = {2, 3, 4, 5};

/* A masked, structured, read-only array with a stream. */
static cai_array *fresh_rich(void) {
  make(&m, "|V16", 4, shape, NULL);
  make(&mask, "|b1", 2, shape + 2, NULL);
  mask.array.stream_kind = CAI_STREAM_STREAM, mask.array.stream = 2;
  make_mask(&m, &mask);
  memset(fields, 0, sizeof fields);
  memset(inner, 0, sizeof inner);
  inner[0].name = "inner";
  CHECK_OK(cai_dtype_parse("<f4", 3, &inner[0].dtype, ERR));
  inner[0].shape = field_shape, inner[0].ndim = 1;
  fields[0].name = "outer", fields[0].title = "a title";
  CHECK_OK(cai_dtype_parse("|V8", 3, &fields[0].dtype, ERR));
  fields[0].fields = inner, fields[0].field_count = 1;
  fields[1].name = "plain", fields[1].offset = 8;
  CHECK_OK(cai_dtype_parse("<f8", 3, &fields[1].dtype, ERR));
  m.array.descr = fields, m.array.descr_count = 2;
  m.array.flags |= CAI_FLAG_READONLY;
  m.array.stream_kind = CAI_STREAM_STREAM, m.array.stream = 77;
  m.array.device_type = CAI_DEVICE_CUDA_MANAGED, m.array.device_id = 1;
  m.array.version = 2;
  return &m.array;
}

static void test_copies(void) {
  cai_array *a;
  check_context = "copies";
  released = 0;
  fresh_rich();
  CHECK_OK(cai_array_validate(&m.array, ERR));
  if (!CHECK_OK(cai_array_own(&m.array, on_release, &m, &a, ERR))) return;
  /* Nothing of what was borrowed is needed any more. */
  memset(&m, 0xA5, sizeof m);
  memset(&mask, 0xA5, sizeof mask);
  memset(fields, 0xA5, sizeof fields);
  memset(inner, 0xA5, sizeof inner);
  CHECK_OK(cai_array_validate(a, ERR));
  CHECK(a->abi_major == CAI_ABI_MAJOR && a->owner && a->data == ADDRESS && a->ndim == 4);
  CHECK(a->owner->struct_size >= 24 && a->owner->flags == 0);
  CHECK(memcmp(a->shape, shape, sizeof shape) == 0);
  CHECK(a->strides[0] == 960 && a->strides[1] == 320 && a->strides[2] == 80 && a->strides[3] == 16);
  CHECK(a->flags == (CAI_FLAG_READONLY | CAI_FLAG_MASKED));
  CHECK(a->stream_kind == CAI_STREAM_STREAM && a->stream == 77 && a->version == 2);
  CHECK(a->device_type == CAI_DEVICE_CUDA_MANAGED && a->device_id == 1);
  CHECK(a->mask && a->mask->owner == a->owner && a->mask->ndim == 2 && a->mask->shape[0] == 4 &&
        a->mask->shape[1] == 5 && a->mask->stream == 2 && a->mask->dtype.kind == 'b');
  CHECK(a->descr_count == 2 && strcmp(a->descr[0].name, "outer") == 0 &&
        strcmp(a->descr[0].title, "a title") == 0);
  CHECK(strcmp(a->descr[1].name, "plain") == 0 && !a->descr[1].title && a->descr[1].offset == 8);
  CHECK(a->descr[0].field_count == 1 && strcmp(a->descr[0].fields[0].name, "inner") == 0);
  CHECK(a->descr[0].fields[0].ndim == 1 && a->descr[0].fields[0].shape != field_shape &&
        a->descr[0].fields[0].shape[0] == 2 && a->descr[0].fields[0].dtype.byteorder == '<');
  cai_array_retain(a);
  cai_array_retain(a->mask); /* "every array in the block points to it" */
  cai_array_release(a);
  cai_array_release(a);
  CHECK(released == 0);
  cai_array_release(a);
  CHECK(released == 1 && released_with == &m);
}

static void test_no_release(void) {
  cai_array *a;
  check_context = "no release function";
  make(&m, "<f4", 2, shape, NULL);
  CHECK_OK(cai_array_own(&m.array, NULL, NULL, &a, ERR));
  cai_array_retain(a);
  cai_array_release(a);
  cai_array_release(a);
  make(&m, "<f4", 0, NULL, NULL);
  CHECK_OK(cai_array_own(&m.array, NULL, &m, &a, ERR));
  CHECK(a->ndim == 0);
  cai_array_release(a);
}

/* "its owner, if any, is neither retained nor released" */
static void test_owner_of_borrowed(void) {
  cai_array *first, *second, copy;
  int first_released;
  check_context = "owner of the borrowed array";
  released = 0;
  make(&m, "<f4", 2, shape, NULL);
  CHECK_OK(cai_array_own(&m.array, on_release, NULL, &first, ERR));
  CHECK_OK(cai_array_own(first, on_release, NULL, &second, ERR));
  CHECK(second->owner != first->owner);
  cai_array_release(first);
  first_released = released;
  CHECK(first_released == 1);
  CHECK(second->shape[1] == 3);
  copy = *second; /* a copy of the struct is released as the array is */
  cai_array_retain(&copy);
  cai_array_release(second);
  CHECK(released == 1 && copy.shape[0] == 2);
  cai_array_release(&copy);
  CHECK(released == 2);
}

static void test_borrowed_and_null(void) {
  check_context = "borrowed";
  make(&m, "<f4", 2, shape, NULL);
  cai_array_retain(&m.array);
  cai_array_release(&m.array);
  cai_array_retain(NULL);
  cai_array_release(NULL);
}

static void test_allocations(void) {
  int32_t ndim;
  check_context = "allocations";
  if (!allocations_counted()) return;
  for (ndim = 0; ndim <= CAI_MAX_NDIM; ++ndim) {
    int64_t ones[CAI_MAX_NDIM];
    cai_array *a;
    allocations now;
    int32_t i;
    for (i = 0; i < ndim; ++i) ones[i] = 1;
    make(&m, "<M8[25s]", ndim, ones, NULL);
    allocations_reset();
    if (!CHECK_OK(cai_array_own(&m.array, on_release, NULL, &a, ERR))) continue;
    now = allocations_now();
    CHECK(now.made == 1 && now.freed == 0);
    if (ndim <= 4 && !CHECK(now.largest <= 320)) fprintf(stderr, "  %zu bytes\n", now.largest);
    cai_array_retain(a);
    cai_array_release(a);
    now = allocations_now();
    CHECK(now.made == 1 && now.freed == 0);
    cai_array_release(a);
    now = allocations_now();
    CHECK(now.made == 1 && now.freed == 1);
  }
  fresh_rich();
  allocations_reset();
  {
    cai_array *a;
    allocations now;
    CHECK_OK(cai_array_own(&m.array, on_release, NULL, &a, ERR));
    now = allocations_now();
    CHECK(now.made == 1);
    cai_array_release(a);
    now = allocations_now();
    CHECK(now.made == 1 && now.freed == 1);
  }
}

/* On failure the context stays the caller's. */
static void test_failures(void) {
  cai_array *a;
  allocations now;
  check_context = "failures";
  released = 0;
  memset(&a, 0xA5, sizeof a);
  make(&m, "<f4", 2, shape, NULL);
  m.shape[0] = -1;
  CHECK_FAILS(CAI_ERR_VALUE, CAI_ENTRY_SHAPE, cai_array_own(&m.array, on_release, NULL, &a, ERR));
  m.array.abi_major = 2;
  CHECK_FAILS(CAI_ERR_VERSION, ANY, cai_array_own(&m.array, on_release, NULL, &a, ERR));
  CHECK(released == 0 && check_untouched(&a, sizeof a));
  if (!allocations_counted()) return;
  fresh_rich();
  allocations_reset();
  allocations_fail(0);
  CHECK_FAILS(CAI_ERR_MEMORY, CAI_ENTRY_NONE, cai_array_own(&m.array, on_release, NULL, &a, ERR));
  allocations_fail(-1);
  now = allocations_now();
  CHECK(now.made == now.freed);
  CHECK(released == 0 && check_untouched(&a, sizeof a));
  CHECK_OK(cai_array_own(&m.array, on_release, NULL, &a, ERR));

  /* Views, at whichever allocation memory ends. */
  {
    static const int64_t wide[] = {2, 2, 3, 4, 5};
    int kind, nth, ok = 0;
    for (kind = 0; kind < 4; ++kind) {
      for (nth = 0, ok = 0; nth < 8 && !ok; ++nth) {
        cai_array *view;
        cai_status status;
        memset(&view, 0xA5, sizeof view);
        allocations_reset();
        allocations_fail(nth);
        check_arm();
        status = kind == 0   ? cai_array_slice(a, NULL, 0, &view, ERR)
                 : kind == 1 ? cai_array_reshape(a, wide + 1, 4, &view, ERR)
                 : kind == 2 ? cai_array_transpose(a, NULL, &view, ERR)
                             : cai_array_broadcast(a, wide, 5, &view, ERR);
        allocations_fail(-1);
        ok = status == CAI_OK;
        if (ok) {
          CHECK(nth > 0);
          cai_array_release(view);
        } else {
          CHECK(status == CAI_ERR_MEMORY && check_untouched(&view, sizeof view));
        }
        now = allocations_now();
        CHECK(now.made == now.freed);
      }
      CHECK(ok);
    }
  }
  CHECK(released == 0);
  cai_array_release(a); /* views that failed hold nothing */
  CHECK(released == 1);
}

/* Reading and writing allocate nothing that outlives the call, and say it if they cannot. */
static void test_reading(void) {
  made_interface d;
  static uint64_t storage[512];
  cai_array a;
  allocations now;
  cai_status status;
  long nth;
  check_context = "reading";
  if (!allocations_counted()) return;
  make_interface(&d);
  allocations_reset();
  CHECK_OK(cai_interface_read(&d.in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &a, ERR));
  CHECK_OK(cai_array_validate(&a, ERR));
  now = allocations_now();
  CHECK(now.made == now.freed);
  for (nth = 0, status = CAI_ERR_MEMORY; nth < 8 && status != CAI_OK; ++nth) {
    memset(&a, 0xA5, sizeof a);
    allocations_fail(nth);
    status = cai_interface_read(&d.in, CAI_LENIENT, NULL, NULL, storage, sizeof storage, &a, NULL);
    allocations_fail(-1);
    CHECK(status == CAI_OK || (status == CAI_ERR_MEMORY && check_untouched(&a, sizeof a)));
  }
  CHECK(status == CAI_OK);
}

#define THREADS 8
#define ROUNDS 20000

static cai_array *shared;

static void *hold_and_let_go(void *unused) {
  int i;
  (void)unused;
  for (i = 0; i < ROUNDS; ++i) {
    cai_array *view;
    cai_array_retain(shared);
    if (i % 64 == 0 && cai_array_transpose(shared, NULL, &view, NULL) == CAI_OK) {
      CHECK(view->shape[0] == 3);
      cai_array_release(view);
    }
    CHECK(shared->shape[1] == 3);
    cai_array_release(shared);
  }
  cai_array_release(shared); /* the one that main() took for this thread */
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[THREADS];
  int i;
  check_context = "threads";
  released = 0;
  make(&m, "<f4", 2, shape, NULL);
  CHECK_OK(cai_array_own(&m.array, on_release, &released, &shared, ERR));
  for (i = 0; i < THREADS; ++i) {
    cai_array_retain(shared);
    MUST(pthread_create(&threads[i], NULL, hold_and_let_go, NULL));
  }
  cai_array_release(shared);
  for (i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  CHECK(released == 1);
}

/* The release function sees all that other threads did before they let go (for TSan). */
static int touched[THREADS];

static void read_touched(void *context) {
  int i, sum = 0;
  for (i = 0; i < THREADS; ++i) sum += touched[i];
  *(int *)context = sum;
}

static void *touch_and_let_go(void *slot) {
  *(int *)slot = 1;
  cai_array_release(shared);
  return NULL;
}

static void test_order(void) {
  pthread_t threads[THREADS];
  int i, sum = 0;
  check_context = "order of the last release";
  make(&m, "<f4", 2, shape, NULL);
  CHECK_OK(cai_array_own(&m.array, read_touched, &sum, &shared, ERR));
  for (i = 1; i < THREADS; ++i) cai_array_retain(shared);
  for (i = 0; i < THREADS; ++i) {
    MUST(pthread_create(&threads[i], NULL, touch_and_let_go, &touched[i]));
  }
  for (i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  CHECK(sum == THREADS);
}

/* An owner that is not libcai's. */
static int foreign_holders = 1;
static void foreign_retain(cai_owner *self) { (void)self, ++foreign_holders; }
static void foreign_release(cai_owner *self) { (void)self, --foreign_holders; }

static void test_foreign_owner(void) {
  cai_owner owner;
  cai_array *view;
  check_context = "foreign owner";
  memset(&owner, 0, sizeof owner);
  owner.struct_size = sizeof owner, owner.retain = foreign_retain, owner.release = foreign_release;
  make(&m, "<f4", 2, shape, NULL)->owner = &owner;
  CHECK_OK(cai_array_transpose(&m.array, NULL, &view, ERR));
  CHECK(foreign_holders == 2);
  cai_array_release(view);
  CHECK(foreign_holders == 1);
}

/* What a newer minor may mean by reserved words and advisory flags is not known here, so a copy or
 * a view, which says that it is of this minor, has none of it. */
static void test_newer_minor(void) {
  cai_array *a, *view;
  int i;
  check_context = "newer minor";
  fresh_rich();
  fields[0].reserved = inner[0].reserved = 7;
  m.array.abi_minor = mask.array.abi_minor = CAI_ABI_MINOR + 1;
  m.array.flags |= 0xFFFF, mask.array.flags |= 0xFFFE;
  m.array.reserved0 = 1, m.array.reserved1 = 2, m.array.reserved2 = 3, m.array.reserved3 = 4;
  mask.array.reserved0 = 1, mask.array.reserved1 = 2, mask.array.reserved2 = 3;
  mask.array.reserved3 = 4;
  if (!CHECK_OK(cai_array_own(&m.array, NULL, NULL, &a, ERR))) return;
  CHECK(a->flags == (CAI_FLAG_READONLY | CAI_FLAG_MASKED | CAI_FLAG_STRIDES_NONE));
  CHECK(a->mask->flags == 0 && a->descr[0].reserved == 0 && a->descr[0].fields[0].reserved == 0);
  /* The same for a foreign array, seen through a view. */
  m.array.owner = a->owner;
  if (!CHECK_OK(cai_array_transpose(&m.array, NULL, &view, ERR))) return;
  CHECK(view->flags == (CAI_FLAG_READONLY | CAI_FLAG_MASKED) && view->mask->flags == 0);
  for (i = 0; i < 2; ++i) {
    const cai_array *made_here = i ? view : a;
    CHECK(made_here->abi_minor == CAI_ABI_MINOR && made_here->mask->abi_minor == CAI_ABI_MINOR);
    CHECK(!made_here->reserved0 && !made_here->reserved1 && !made_here->reserved2 &&
          !made_here->reserved3);
    CHECK(!made_here->mask->reserved0 && !made_here->mask->reserved1 &&
          !made_here->mask->reserved2 && !made_here->mask->reserved3);
  }
  cai_array_release(view);
  cai_array_release(a);
}

/* What C has as macros is in the library, too: a parenthesis, or an address, asks for it. */
static void test_functions(void) {
  void (*const release)(const cai_array *) = cai_array_release;
  cai_array *a;
  check_context = "functions";
  released = 0;
  fresh_rich();
  if (!CHECK_OK(cai_array_own(&m.array, on_release, &m, &a, ERR))) return;
  CHECK((cai_array_refuses)(a, CAI_FLAG_READONLY) == CAI_FLAG_MASKED);
  CHECK((cai_array_refuses)(NULL, UINT32_MAX) == UINT32_C(0xFFFF0000));
  (cai_array_retain)(a);
  release(a);
  CHECK(released == 0);
  release(a);
  CHECK(released == 1);
  m.array.owner = NULL;
  (cai_array_retain)(&m.array), (cai_array_retain)(NULL);
  release(&m.array), release(NULL);
}

/* "no lock held": the release function may use the library. */
static void release_within(void *context) {
  cai_array *other;
  CHECK(cai_array_own(&m.array, on_release, NULL, &other, NULL) == CAI_OK);
  cai_array_release(other);
  cai_array_release((cai_array *)context);
}

static void test_nested_release(void) {
  cai_array *inside, *outside;
  check_context = "release within release";
  released = 0;
  make(&m, "<f4", 2, shape, NULL);
  CHECK_OK(cai_array_own(&m.array, on_release, NULL, &inside, ERR));
  CHECK_OK(cai_array_own(&m.array, release_within, inside, &outside, ERR));
  cai_array_release(outside);
  CHECK(released == 2);
}

int main(void) {
  test_copies();
  test_no_release();
  test_owner_of_borrowed();
  test_borrowed_and_null();
  test_allocations();
  test_failures();
  test_reading();
  test_threads();
  test_order();
  test_nested_release();
  test_foreign_owner();
  test_newer_minor();
  test_functions();
  if (!allocations_counted()) puts("allocations not counted: something else has malloc");
  return CHECK_RESULT();
}
