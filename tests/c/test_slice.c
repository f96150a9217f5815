/* SPDX-License-Identifier: BSD-3-Clause */
/* cai_array_slice(), by Python's definition of a slice, against the oracle. */
#include "views.h"

static void map_walk(const void *context, const int64_t *index, int64_t *source) {
  const walk *w = (const walk *)context;
  int32_t k;
  memcpy(source, w->fixed, (size_t)w->source_ndim * 8);
  for (k = 0; k < w->ndim; ++k) {
    if (w->axis[k] >= 0) source[w->axis[k]] = w->start[k] + index[k] * w->step[k];
  }
}

/* Python's slice, by its definition: the indices start, start + step, ... before stop. */
static void python_range(const cai_slice *s, int64_t extent, int64_t *start, int64_t *count) {
  int64_t low = s->step < 0 ? -1 : 0, high = s->step < 0 ? extent - 1 : extent;
  int64_t stop, i;
  *start = s->kind & START ? (s->step < 0 ? high : low)
           : s->start < 0  ? s->start + extent
                           : s->start;
  stop = s->kind & STOP ? (s->step < 0 ? low : high) : s->stop < 0 ? s->stop + extent : s->stop;
  *start = *start < low ? low : *start > high ? high : *start;
  stop = stop < low ? low : stop > high ? high : stop;
  *count = 0;
  for (i = *start; s->step < 0 ? i > stop : i < stop; i += s->step) ++*count;
}

/* The view that a[slices] is, or the status and item of the error. */
static cai_status expect_slice(expectation *e, walk *w, const cai_array *a, const cai_slice *slices,
                               int32_t count, int32_t *item) {
  int32_t used = 0, ellipses = 0, axis = 0, i, k;
  memset(w, 0, sizeof *w);
  e->ndim = 0;
  w->source_ndim = a->ndim;
  for (i = 0; i < count; ++i) {
    int32_t kind = slices[i].kind & 255;
    used += kind == CAI_SLICE_RANGE || kind == CAI_SLICE_INDEX;
    ellipses += kind == CAI_SLICE_ELLIPSIS;
  }
  *item = ANY;
  if (used > a->ndim || ellipses > 1) return CAI_ERR_ARGUMENT;
  for (i = 0; i <= count; ++i) {
    int32_t kind = i < count ? slices[i].kind & 255 : CAI_SLICE_ELLIPSIS;
    if (kind == CAI_SLICE_ELLIPSIS) {
      /* What is missing counts as one more at the end. */
      int32_t whole = i < count || !ellipses ? a->ndim - used : 0;
      for (k = 0; k < whole; ++k, ++axis, ++e->ndim) {
        w->axis[e->ndim] = axis, w->step[e->ndim] = 1;
        e->shape[e->ndim] = a->shape[axis];
      }
    } else if (kind == CAI_SLICE_NEWAXIS) {
      w->axis[e->ndim] = -1;
      e->shape[e->ndim++] = 1;
    } else if (kind == CAI_SLICE_INDEX) {
      int64_t at = slices[i].start < 0 ? slices[i].start + a->shape[axis] : slices[i].start;
      if (at < 0 || at >= a->shape[axis]) return *item = i, CAI_ERR_ARGUMENT;
      w->fixed[axis++] = at;
    } else {
      if (slices[i].step == 0) return *item = i, CAI_ERR_ARGUMENT;
      python_range(&slices[i], a->shape[axis], &w->start[e->ndim], &e->shape[e->ndim]);
      w->axis[e->ndim] = axis++, w->step[e->ndim] = slices[i].step;
      ++e->ndim;
    }
  }
  w->ndim = e->ndim;
  expect(e, a, map_walk, w);
  return CAI_OK;
}

static void check_slice(const cai_array *a, const cai_slice *slices, int32_t count) {
  static expectation e;
  static walk w;
  cai_array *view;
  int32_t item;
  cai_status status = expect_slice(&e, &w, a, slices, count, &item);
  memset(&view, 0xA5, sizeof view);
  if (status) {
    if (CHECK_FAILS(status, ANY, cai_array_slice(a, slices, count, &view, ERR)))
      CHECK(item == ANY || ERR->index == item);
    CHECK(check_untouched(&view, sizeof view));
  } else if (CHECK_OK(cai_array_slice(a, slices, count, &view, ERR))) {
    check_view(&e, a, view);
    cai_array_release(view);
  }
}

static void test_python_slices(void) {
  static const int64_t five[] = {5};
  static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -7, -6, -5, -4, -1, 0, 1, 3, 4, 5, 6,
                                 7,         INT64_MAX};
  static const int64_t steps[] = {-6, -5, -2, -1, 1, 2, 4, 5, 6, 0};
  cai_array *a;
  int i, k, n, without;
  check_context = "all slices of five";
  make(&m, "<f4", 1, five, NULL);
  a = own();
  for (i = 0; i < COUNT(ends); ++i) {
    cai_slice at = item(CAI_SLICE_INDEX, ends[i]);
    check_slice(a, &at, 1);
    for (k = 0; k < COUNT(ends); ++k) {
      for (n = 0; n < COUNT(steps); ++n) {
        for (without = 0; without < 4; ++without) {
          cai_slice s = range(ends[i], ends[k], steps[n],
                              (without & 1 ? START : 0) | (without & 2 ? STOP : 0));
          check_slice(a, &s, 1);
        }
      }
    }
  }
  cai_array_release(a);
}

/* Steps so large that a stride cannot say them: but then there is one element at most. */
static void test_large_steps(void) {
  static const int64_t five[] = {5};
  static const int64_t steps[] = {INT64_MAX, INT64_MAX / 2, INT64_MIN, INT64_MIN + 1,
                                  -INT64_MAX / 4};
  cai_array *a, *view;
  int i;
  check_context = "large steps";
  make(&m, "<f4", 1, five, NULL);
  a = own();
  for (i = 0; i < COUNT(steps); ++i) {
    cai_slice s = range(0, 0, steps[i], START | STOP);
    if (!CHECK_OK(cai_array_slice(a, &s, 1, &view, ERR))) continue;
    CHECK(view->shape[0] == 1 && view->data == (steps[i] > 0 ? a->data : a->data + 16));
    CHECK_OK(cai_array_validate(view, ERR));
    cai_array_release(view);
  }
  cai_array_release(a);
}

static void test_slice_errors(void) {
  static const int64_t shape[] = {2, 3};
  static cai_slice many[CAI_MAX_NDIM + 1];
  cai_slice s[3];
  cai_array *a, *view;
  int i;
  check_context = "slice errors";
  make(&m, "<f4", 2, shape, NULL);
  a = own();
  memset(&view, 0xA5, sizeof view);
#define REFUSED(count, at)                                                                         \
  do {                                                                                             \
    if (CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(a, s, count, &view, ERR)) && at != ANY) \
      CHECK(ERR->index == at);                                                                     \
  } while (0)
  s[0] = item(CAI_SLICE_INDEX, 0), s[1] = item(CAI_SLICE_INDEX, 3), s[2] = item(CAI_SLICE_INDEX, 0);
  REFUSED(2, 1);
  s[1] = item(CAI_SLICE_INDEX, -4);
  REFUSED(2, 1);
  s[1] = item(CAI_SLICE_INDEX, 2);
  REFUSED(3, ANY);
  s[1] = range(0, 3, 0, 0);
  REFUSED(2, 1);
  s[0] = s[1] = item(CAI_SLICE_ELLIPSIS, 0);
  REFUSED(2, ANY);
  s[0] = item(0, 0);
  REFUSED(1, 0);
  s[0] = item(5, 0);
  REFUSED(1, 0);
  s[0] = item(-1, 0);
  REFUSED(1, 0);
  s[0] = item(CAI_SLICE_RANGE | 1 << 10, 0), s[0].step = 1;
  REFUSED(1, 0);
  REFUSED(-1, ANY);
  REFUSED(INT32_MIN, ANY);
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(a, NULL, 1, &view, ERR));
  for (i = 0; i <= CAI_MAX_NDIM; ++i) many[i] = item(CAI_SLICE_NEWAXIS, 0);
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(a, many, CAI_MAX_NDIM + 1, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(a, many, CAI_MAX_NDIM - 1, &view, ERR));
  /* Whichever of them is the one too many. */
  many[CAI_MAX_NDIM] = item(CAI_SLICE_ELLIPSIS, 0);
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(a, many, CAI_MAX_NDIM + 1, &view, ERR));
  many[CAI_MAX_NDIM] = range(0, 1, 1, 0);
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(a, many, CAI_MAX_NDIM + 1, &view, ERR));
  many[CAI_MAX_NDIM] = item(CAI_SLICE_NEWAXIS, 0), many[0] = range(0, 1, 1, 0);
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(a, many, CAI_MAX_NDIM + 1, &view, ERR));
  CHECK(strstr(ERR->message, "more than 64 dimensions") != NULL);
  many[0] = item(CAI_SLICE_NEWAXIS, 0);
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(&m.array, s, 1, &view, ERR)); /* borrowed */
  CHECK(check_untouched(&view, sizeof view));
  check_slice(a, many, CAI_MAX_NDIM - 2);
  cai_array_release(a);
}

static void test_random_slices(void) {
  int round, try;
  check_context = "random slices";
  for (round = 0; round < 3000; ++round) {
    cai_array *a = random_array();
    for (try = 0; try < 4; ++try) {
      cai_slice s[6];
      int32_t count = pick(a->ndim + 3), i;
      for (i = 0; i < count; ++i) {
        int32_t kind = pick(10);
        s[i] = kind < 6   ? range(pick(13) - 6, pick(13) - 6, pick(2) ? 1 + pick(3) : -1 - pick(3),
                                  (pick(3) ? 0 : START) | (pick(3) ? 0 : STOP))
               : kind < 8 ? item(CAI_SLICE_INDEX, pick(6) - 3)
               : kind < 9 ? item(CAI_SLICE_NEWAXIS, 0)
                          : item(CAI_SLICE_ELLIPSIS, 0);
      }
      check_slice(a, s, count);
    }
    cai_array_release(a);
  }
}

/* Dims that come out as they were, though the elements have changed places: the mask's must too. */
static void test_mask_under_equal_dims(void) {
  static const int64_t shape[] = {2, 2}, zero[] = {0, 0}, rows[] = {2, 1};
  cai_slice back = range(0, 0, -1, START | STOP);
  cai_array *a;
  check_context = "mask under equal dims";
  make(&m, "<f4", 2, shape, zero);
  make(&mask, "|b1", 2, shape, rows);
  make_mask(&m, &mask);
  a = own();
  check_slice(a, &back, 1);
  cai_array_release(a);
}

int main(void) {
  test_python_slices();
  test_large_steps();
  test_slice_errors();
  test_random_slices();
  test_mask_under_equal_dims();
  return CHECK_RESULT();
}
