/* SPDX-License-Identifier: BSD-3-Clause */
/* reshape, transpose and broadcast against the oracle; masks under views; lifetime. */
#define _POSIX_C_SOURCE 200809L
#include "allocations.h"
#include "views.h"

#include <pthread.h>

static void map_transpose(const void *context, const int64_t *index, int64_t *source) {
  const walk *w = (const walk *)context;
  int32_t k;
  for (k = 0; k < w->ndim; ++k) source[w->axis[k]] = index[k];
}

static void test_transpose(void) {
  static expectation e;
  static walk w;
  int round;
  check_context = "transpose";
  for (round = 0; round < 2000; ++round) {
    cai_array *a = random_array(), *view;
    int32_t axes[4], k, reversed = pick(4) == 0;
    e.ndim = w.ndim = a->ndim;
    for (k = 0; k < a->ndim; ++k) w.axis[k] = a->ndim - 1 - k;
    for (k = a->ndim - 1; k > 0 && !reversed; --k) {
      int32_t other = pick(k + 1), swap = w.axis[k];
      w.axis[k] = w.axis[other], w.axis[other] = swap;
    }
    for (k = 0; k < a->ndim; ++k) {
      e.shape[k] = a->shape[w.axis[k]];
      axes[k] = pick(2) ? w.axis[k] : w.axis[k] - a->ndim;
    }
    expect(&e, a, map_transpose, &w);
    if (CHECK_OK(cai_array_transpose(a, reversed ? NULL : axes, &view, ERR))) {
      check_view(&e, a, view);
      cai_array_release(view);
    }
    memset(&view, 0xA5, sizeof view);
    if (a->ndim > 1) {
      axes[0] = axes[1];
      CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_transpose(a, axes, &view, ERR));
      axes[0] = axes[1] < 0 ? axes[1] + a->ndim : axes[1] - a->ndim;
      CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_transpose(a, axes, &view, ERR));
    }
    if (a->ndim) {
      axes[a->ndim - 1] = a->ndim;
      CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_transpose(a, axes, &view, ERR));
      axes[a->ndim - 1] = -a->ndim - 1;
      CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_transpose(a, axes, &view, ERR));
      axes[a->ndim - 1] = INT32_MIN;
      CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_transpose(a, axes, &view, ERR));
    }
    CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_transpose(&m.array, NULL, &view, ERR));
    CHECK(check_untouched(&view, sizeof view));
    cai_array_release(a);
  }
}

static void map_broadcast(const void *context, const int64_t *index, int64_t *source) {
  const void *const *both = (const void *const *)context;
  const cai_array *a = (const cai_array *)both[0];
  const expectation *e = (const expectation *)both[1];
  int32_t k;
  for (k = 0; k < a->ndim; ++k) source[k] = a->shape[k] == 1 ? 0 : index[k + e->ndim - a->ndim];
}

static void test_broadcast(void) {
  static expectation e;
  int round;
  check_context = "broadcast";
  for (round = 0; round < 2000; ++round) {
    cai_array *a = random_array(), *view;
    const void *both[2];
    int32_t more = pick(3), k;
    int agrees = 1;
    e.ndim = a->ndim + more;
    for (k = 0; k < e.ndim; ++k) {
      int64_t old = k < more ? 1 : a->shape[k - more];
      e.shape[k] = old == 1 ? pick(5) : pick(20) ? old : old + 1 - 2 * (old > 0 && pick(2));
      if (old != 1 && e.shape[k] != old) agrees = 0;
    }
    both[0] = a, both[1] = &e;
    memset(&view, 0xA5, sizeof view);
    if (!agrees) {
      CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_broadcast(a, e.shape, e.ndim, &view, ERR));
      CHECK(check_untouched(&view, sizeof view));
    } else if (CHECK_OK(cai_array_broadcast(a, e.shape, e.ndim, &view, ERR))) {
      expect(&e, a, map_broadcast, both);
      check_view(&e, a, view);
      CHECK(view->flags & CAI_FLAG_READONLY);
      for (k = 0; k < e.ndim; ++k) {
        int fresh_axis = k < more || (a->shape[k - more] == 1 && e.shape[k] != 1);
        CHECK(!fresh_axis || e.shape[k] == 1 || view->strides[k] == 0);
      }
      cai_array_release(view);
    }
    cai_array_release(a);
  }
}

static void test_broadcast_errors(void) {
  static const int64_t shape[] = {1, 3}, fewer[] = {3}, negative[] = {-1, 3};
  static const int64_t huge[] = {INT64_MAX, 3},
                       huge_two[] = {INT64_C(1) << 32, INT64_C(1) << 31, 1, 3};
  int64_t many[CAI_MAX_NDIM + 1];
  cai_array *a, *view;
  int i;
  check_context = "broadcast errors";
  for (i = 0; i <= CAI_MAX_NDIM; ++i) many[i] = 1;
  many[CAI_MAX_NDIM - 1] = 3;
  make(&m, "<f4", 2, shape, NULL);
  a = own();
  memset(&view, 0xA5, sizeof view);
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_broadcast(a, fewer, 1, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_broadcast(a, NULL, 0, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_broadcast(a, NULL, 2, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_broadcast(a, negative, 2, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_broadcast(a, shape, -1, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_broadcast(a, many, CAI_MAX_NDIM + 1, &view, ERR));
  CHECK_FAILS(ANY, ANY, cai_array_broadcast(a, huge, 2, &view, ERR));
  CHECK_FAILS(ANY, ANY, cai_array_broadcast(a, huge_two, 4, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_broadcast(&m.array, shape, 2, &view, ERR));
  CHECK(check_untouched(&view, sizeof view));
  if (CHECK_OK(cai_array_broadcast(a, many, CAI_MAX_NDIM, &view, ERR))) cai_array_release(view);
  cai_array_release(a);
}

static void map_reshape(const void *context, const int64_t *index, int64_t *source) {
  const void *const *both = (const void *const *)context;
  const cai_array *a = (const cai_array *)both[0];
  const expectation *e = (const expectation *)both[1];
  int64_t flat = 0;
  int32_t k;
  for (k = 0; k < e->ndim; ++k) flat = flat * e->shape[k] + index[k];
  for (k = a->ndim - 1; k >= 0; --k) source[k] = flat % a->shape[k], flat /= a->shape[k];
}

/* A random shape of that many elements. */
static int32_t factors(int64_t count, int64_t *shape) {
  int32_t ndim = 0, k;
  while (ndim < 5 && (count > 1 || pick(3) == 0)) {
    int64_t f;
    do f = 1 + pick(count < 30 ? (int32_t)count : 30);
    while (count % f);
    if (ndim == 4) f = count;
    shape[ndim++] = f;
    count /= f;
  }
  for (k = 0; k < ndim; ++k) { /* axes of extent 1 anywhere */
    int32_t other = pick(ndim);
    int64_t swap = shape[k];
    shape[k] = shape[other], shape[other] = swap;
  }
  return ndim;
}

static void test_reshape(void) {
  static expectation e;
  int round, possible = 0, impossible = 0;
  check_context = "reshape";
  for (round = 0; round < 6000; ++round) {
    cai_array *a = random_array(), *view;
    int64_t asked[6], count = count_of(a->shape, a->ndim);
    const void *both[2];
    int32_t k;
    if (pick(4) == 0) { /* an axis split, so that more often a view exists */
      e.ndim = 0;
      for (k = 0; k < a->ndim; ++k) {
        if (a->shape[k] == 4 && e.ndim < 5)
          e.shape[e.ndim++] = 2, e.shape[e.ndim++] = 2;
        else
          e.shape[e.ndim++] = a->shape[k];
        if (e.ndim > 5) break;
      }
      if (count_of(e.shape, e.ndim) != count || e.ndim > 5)
        e.ndim = a->ndim, memcpy(e.shape, a->shape, (size_t)a->ndim * 8);
    } else if (count) {
      e.ndim = factors(count, e.shape);
    } else {
      e.ndim = 2, e.shape[0] = pick(4), e.shape[1] = e.shape[0] ? 0 : pick(4);
    }
    memcpy(asked, e.shape, (size_t)e.ndim * 8);
    if (count && e.ndim && pick(3) == 0) asked[pick(e.ndim)] = -1;
    both[0] = a, both[1] = &e;
    expect(&e, a, map_reshape, both);
    memset(&view, 0xA5, sizeof view);
    if (is_linear(&e, e.address) && (!a->mask || is_linear(&e, e.mask))) {
      ++possible;
      if (CHECK_OK(cai_array_reshape(a, asked, e.ndim, &view, ERR))) {
        check_view(&e, a, view);
        cai_array_release(view);
      }
    } else {
      ++impossible;
      CHECK_FAILS(CAI_ERR_LAYOUT, ANY, cai_array_reshape(a, asked, e.ndim, &view, ERR));
      CHECK(check_untouched(&view, sizeof view));
    }
    cai_array_release(a);
  }
  CHECK(possible > 500 && impossible > 500);
}

static void test_reshape_errors(void) {
  static const int64_t shape[] = {2, 3}, empty[] = {0, 3}, square[] = {2, 2}, four[] = {4};
  static const int64_t single[] = {1, 1};
  static const int64_t far[] = {1, INT64_C(1) << 62};
  static const struct {
    int32_t ndim;
    int64_t shape[3];
  } refused[] = {{1, {5}},
                 {1, {7}},
                 {0, {0}},
                 {2, {2, 2}},
                 {2, {-1, -1}},
                 {2, {-2, -3}},
                 {2, {-6, -1}},
                 {2, {4, -1}},
                 {2, {0, -1}},
                 {1, {INT64_MIN}},
                 {2, {INT64_C(1) << 62, 4}},
                 {2, {INT64_C(1) << 32, INT64_C(1) << 32}},
                 {3, {INT64_MAX, INT64_MAX, 6}},
                 {3, {(INT64_C(1) << 62) + 3, 2, 2}},
                 {3, {INT64_MAX, INT64_MAX, -1}}};
  static const struct {
    int32_t ndim;
    int64_t shape[3], result[3];
  } taken[] = {{1, {0}, {0}},
               {1, {-1}, {0}},
               {2, {-1, 3}, {0, 3}},
               {2, {5, 0}, {5, 0}},
               {3, {1, 0, 7}, {1, 0, 7}}};
  static const struct {
    int64_t shape[4];
  } hostile[] = {{{INT64_MAX, INT64_MAX, 0, 1}},         {{INT64_MAX, INT64_MAX, -5, 0}},
                 {{INT64_MAX, INT64_MAX, 7, 0}},         {{0, -5, INT64_MAX, INT64_MAX}},
                 {{INT64_MAX, 0, INT64_MAX, INT64_MAX}}, {{INT64_MIN, 0, 1, 1}}};
  int64_t ones[CAI_MAX_NDIM + 1];
  cai_array *a, *view, *again = NULL;
  int i, k;
  check_context = "reshape errors";
  make(&m, "<f4", 2, shape, NULL);
  a = own();
  memset(&view, 0xA5, sizeof view);
  for (i = 0; i < COUNT(refused); ++i) {
    CHECK_FAILS(CAI_ERR_ARGUMENT, ANY,
                cai_array_reshape(a, refused[i].shape, refused[i].ndim, &view, ERR));
  }
  CHECK_FAILS(CAI_ERR_ARGUMENT, CAI_ENTRY_SHAPE,
              cai_array_reshape(a, (const int64_t[]){-1, -1}, 2, &view, ERR));
  CHECK(ERR->index == 1);
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, NULL, 1, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, shape, -1, &view, ERR));
  for (i = 0; i <= CAI_MAX_NDIM; ++i) ones[i] = 1;
  ones[0] = 5;
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, ones, CAI_MAX_NDIM, &view, ERR));
  CHECK(strstr(ERR->message, "(5, 1, 1, 1, 1, 1, 1, 1, ...") != NULL); /* not all 64 */
  ones[0] = 6;
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, ones, CAI_MAX_NDIM + 1, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY,
              cai_array_reshape(&m.array, shape, 2, &view, ERR)); /* borrowed */
  CHECK(check_untouched(&view, sizeof view));
  if (CHECK_OK(cai_array_reshape(a, ones, CAI_MAX_NDIM, &view, ERR))) cai_array_release(view);
  cai_array_release(a);

  /* The elements of the last axis are so far apart that the first one's cannot follow them. */
  make(&m, "|u1", 2, square, far);
  m.array.data = 4096;
  a = own();
  memset(&view, 0xA5, sizeof view);
  CHECK_FAILS(CAI_ERR_LAYOUT, ANY, cai_array_reshape(a, four, 1, &view, ERR));
  CHECK(check_untouched(&view, sizeof view));
  cai_array_release(a);

  check_context = "no shape, and none needed";
  make(&m, "<f4", 2, single, NULL);
  a = own();
  if (CHECK_OK(cai_array_reshape(a, NULL, 0, &view, ERR))) {
    CHECK(view->ndim == 0 && view->data == a->data);
    CHECK_OK(cai_array_broadcast(view, NULL, 0, &again, ERR));
    cai_array_release(again);
    cai_array_release(view);
  }
  cai_array_release(a);

  check_context = "reshape of nothing";
  make(&m, "<f4", 2, empty, NULL);
  a = own();
  for (i = 0; i < COUNT(taken); ++i) {
    if (!CHECK_OK(cai_array_reshape(a, taken[i].shape, taken[i].ndim, &view, ERR))) continue;
    CHECK(view->data == 0);
    for (k = 0; k < taken[i].ndim; ++k) CHECK(view->shape[k] == taken[i].result[k]);
    CHECK_OK(cai_array_validate(view, ERR));
    cai_array_release(view);
  }
  /* It would hold as many, none. */
  CHECK_FAILS(ANY, CAI_ENTRY_SHAPE,
              cai_array_reshape(a, (const int64_t[]){INT64_C(1) << 62, 4, 0}, 3, &view, ERR));
  CHECK(strstr(ERR->message, "(4611686018427387904, 4, 0) is too large") != NULL);
  for (i = 0; i < COUNT(hostile); ++i) { /* lawful or not: never a wrong view */
    if (cai_array_reshape(a, hostile[i].shape, 4, &view, NULL)) continue;
    for (k = 0; k < 4; ++k)
      CHECK(hostile[i].shape[k] >= 0 && view->shape[k] == hostile[i].shape[k]);
    CHECK_OK(cai_array_validate(view, ERR));
    cai_array_release(view);
  }
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY,
              cai_array_reshape(a, refused[8].shape, 2, &view, ERR)); /* (0, -1) */
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, shape, 2, &view, ERR));
  cai_array_release(a);
}

static void test_bit_masks(void) {
  static const int64_t shape[] = {2, 3}, flat[] = {6}, wide[] = {2, 2, 3}, square[] = {3, 3};
  static const int32_t same_axes[] = {0, -1};
  cai_slice s[2];
  cai_array *a, *view;
  check_context = "mask of bits";
  make(&m, "<f4", 2, shape, NULL);
  make(&mask, "|t1", 2, shape, NULL);
  make_mask(&m, &mask);
  a = own();
  memset(&view, 0xA5, sizeof view);
  s[0] = range(1, 2, 1, 0);
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, ANY, cai_array_slice(a, s, 1, &view, ERR));
  s[0] = item(CAI_SLICE_INDEX, 0);
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, ANY, cai_array_slice(a, s, 1, &view, ERR));
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, ANY, cai_array_reshape(a, flat, 1, &view, ERR));
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, ANY, cai_array_transpose(a, NULL, &view, ERR));
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, ANY, cai_array_broadcast(a, wide, 3, &view, ERR));
  CHECK(check_untouched(&view, sizeof view));
  /* "unless the view leaves the array as it is" */
  s[0] = range(0, 0, 1, START | STOP), s[1] = item(CAI_SLICE_ELLIPSIS, 0);
#define SAME(call)                                                                           \
  if (CHECK_OK(call)) {                                                                      \
    CHECK(view->mask && view->mask->dtype.kind == 't' && view->mask->data == a->mask->data); \
    CHECK(view->ndim == 2 && view->shape[0] == 2 && view->shape[1] == 3);                    \
    CHECK_OK(cai_array_validate(view, ERR));                                                 \
    cai_array_release(view);                                                                 \
  }
  SAME(cai_array_slice(a, NULL, 0, &view, ERR))
  SAME(cai_array_slice(a, s, 2, &view, ERR))
  SAME(cai_array_reshape(a, shape, 2, &view, ERR))
  SAME(cai_array_transpose(a, same_axes, &view, ERR))
  SAME(cai_array_broadcast(a, shape, 2, &view, ERR))
#undef SAME
  cai_array_release(a);
  check_context = "mask of bits, elements that change places";
  make(&m, "<f4", 2, square, NULL);
  make(&mask, "|t1", 2, square, NULL);
  make_mask(&m, &mask);
  a = own();
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, ANY, cai_array_transpose(a, NULL, &view, ERR));
  cai_array_release(a);
}

/* A step from no element to another changes nothing. */
static void test_bit_mask_of_one(void) {
  static const int64_t shape[] = {1, 3};
  cai_slice s;
  cai_array *a, *view;
  check_context = "mask of bits, an axis of one element";
  make(&m, "<f4", 2, shape, NULL);
  make(&mask, "|t1", 2, shape, NULL);
  make_mask(&m, &mask);
  a = own();
  s = range(0, 0, 5, START | STOP);
  if (CHECK_OK(cai_array_slice(a, &s, 1, &view, ERR))) {
    CHECK(view->mask && view->mask->data == a->mask->data);
    CHECK_OK(cai_array_validate(view, ERR));
    cai_array_release(view);
  }
  cai_array_release(a);
}

/* A view without elements has a mask that fits it, or is refused. */
static void test_bit_mask_of_nothing(void) {
  static const int64_t shape[] = {0, 3}, row[] = {3}, other[] = {2, 0};
  cai_slice s[2];
  cai_array *a, *view;
  check_context = "mask of bits, no elements";
  make(&m, "<f4", 2, shape, NULL);
  make(&mask, "|t1", 1, row, NULL);
  make_mask(&m, &mask);
  a = own();
  s[0] = item(CAI_SLICE_ELLIPSIS, 0), s[1] = range(0, 2, 1, START);
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, CAI_ENTRY_MASK, cai_array_slice(a, s, 2, &view, ERR));
  s[1] = item(CAI_SLICE_INDEX, 0);
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, CAI_ENTRY_MASK, cai_array_slice(a, s, 2, &view, ERR));
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, CAI_ENTRY_MASK, cai_array_transpose(a, NULL, &view, ERR));
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, CAI_ENTRY_MASK, cai_array_reshape(a, other, 2, &view, ERR));
  if (CHECK_OK(cai_array_slice(a, s, 1, &view, ERR))) {
    CHECK_OK(cai_array_validate(view, ERR));
    cai_array_release(view);
  }
  if (CHECK_OK(cai_array_reshape(a, shape, 2, &view, ERR))) {
    CHECK_OK(cai_array_validate(view, ERR));
    cai_array_release(view);
  }
  cai_array_release(a);
}

/* A mask that the view cannot have is named as such. */
static void test_mask_errors(void) {
  static const int64_t shape[] = {2, 3}, flat[] = {6}, row[] = {3}, zero[] = {0};
  static const int64_t huge[] = {INT64_C(1) << 62};
  cai_slice back = range(0, 0, -1, START | STOP);
  cai_array *a, *view;
  check_context = "mask that needs a copy";
  make(&m, "<f4", 2, shape, NULL);
  make(&mask, "|b1", 1, row, NULL);
  make_mask(&m, &mask);
  a = own();
  CHECK_FAILS(CAI_ERR_LAYOUT, CAI_ENTRY_MASK, cai_array_reshape(a, flat, 1, &view, ERR));
  CHECK(strncmp(ERR->message, "mask", 4) == 0);
  cai_array_release(a);
  check_context = "mask that gets too large";
  make(&m, "|u1", 1, huge, zero);
  make(&mask, "<i8", 0, NULL, NULL);
  make_mask(&m, &mask);
  a = own();
  CHECK_FAILS(CAI_ERR_ARGUMENT, CAI_ENTRY_MASK, cai_array_slice(a, &back, 1, &view, ERR));
  cai_array_release(a);
}

/* Dims that come out as they were, though the elements have changed places: the mask's must too. */
static void test_mask_under_equal_dims(void) {
  static const int64_t shape[] = {2, 2}, equal[] = {4, 4}, rows[] = {2, 1};
  static expectation e;
  static walk w;
  cai_array *a, *view;
  check_context = "mask under equal dims";
  make(&m, "<f4", 2, shape, equal);
  make(&mask, "|b1", 2, shape, rows);
  make_mask(&m, &mask);
  a = own();
  e.ndim = w.ndim = 2, e.shape[0] = e.shape[1] = 2, w.axis[0] = 1, w.axis[1] = 0;
  expect(&e, a, map_transpose, &w);
  if (CHECK_OK(cai_array_transpose(a, NULL, &view, ERR))) {
    check_view(&e, a, view);
    cai_array_release(view);
  }
  cai_array_release(a);
}

static void test_lifetime(void) {
  static const int64_t shape[] = {2, 3}, flat[] = {6};
  cai_array *a, *first, *second;
  cai_field field;
  check_context = "lifetime";
  memset(&field, 0, sizeof field);
  make(&m, "|V4", 2, shape, NULL);
  field.name = "a";
  CHECK_OK(cai_dtype_parse("<f4", 3, &field.dtype, ERR));
  m.array.descr = &field, m.array.descr_count = 1;
  released = 0;
  a = own();
  CHECK_OK(cai_array_transpose(a, NULL, &first, ERR));
  cai_array_release(a);
  CHECK(released == 0);
  CHECK_OK(cai_array_transpose(first, NULL, &second, ERR));
  cai_array_release(first);
  CHECK(released == 0);
  CHECK_OK(cai_array_reshape(second, flat, 1, &first, ERR));
  cai_array_release(second);
  CHECK(released == 0 && first->shape[0] == 6);
  CHECK(first->descr_count == 1 && strcmp(first->descr->name, "a") == 0);
  cai_array_retain(first);
  cai_array_release(first);
  CHECK(released == 0);
  cai_array_release(first);
  CHECK(released == 1);
}

static int32_t chain_length = 1000000;

static void *chain(void *unused) {
  static const int64_t shape[] = {2, 3};
  cai_array *a, *view;
  int32_t i;
  (void)unused;
  check_context = "chain of views";
  released = 0;
  make(&m, "<f4", 2, shape, NULL);
  a = own();
  for (i = 0; i < chain_length; ++i) {
    if (!CHECK_OK(cai_array_transpose(a, NULL, &view, ERR))) break;
    cai_array_release(a);
    a = view;
  }
  CHECK(released == 0 && a->shape[0] == 2);
  cai_array_release(a);
  CHECK(released == 1);
  return NULL;
}

static void test_chain(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  if (!allocations_counted()) chain_length /= 10;
  pthread_attr_init(&attributes);
  MUST(pthread_attr_setstacksize(&attributes, allocations_counted() ? 65536 : 262144));
  MUST(pthread_create(&thread, &attributes, chain, NULL));
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv) {
  if (argc > 1) chain_length = atoi(argv[1]); /* for valgrind */
  test_transpose();
  test_broadcast();
  test_broadcast_errors();
  test_reshape();
  test_reshape_errors();
  test_bit_masks();
  test_bit_mask_of_one();
  test_bit_mask_of_nothing();
  test_mask_errors();
  test_mask_under_equal_dims();
  test_lifetime();
  test_chain();
  return CHECK_RESULT();
}
