/* SPDX-License-Identifier: BSD-3-Clause */
/* slice, reshape, transpose and broadcast, against an oracle that lists the address of every
 * element (and of its mask element) by index. */
#define _POSIX_C_SOURCE 200809L
#include "allocations.h"
#include "make.h"

#include <pthread.h>

#define MOST 4096 /* elements of an oracle */
#define START CAI_SLICE_NO_START
#define STOP CAI_SLICE_NO_STOP

static int released;

static void on_release(void *context) {
  (void)context;
  ++released;
}

/* ---- The oracle --------------------------------------------------------------------------- */

typedef struct expectation {
  int32_t ndim;
  int64_t shape[CAI_MAX_NDIM], count;
  uint64_t address[MOST], mask[MOST];
} expectation;

/* The address of an element; `a` may have fewer dimensions, then it is broadcast. */
static uint64_t address_of(const cai_array *a, const int64_t *index, int32_t ndim) {
  uint64_t address = a->data;
  int32_t k;
  for (k = 0; k < a->ndim; ++k) {
    int64_t i = a->shape[k] == 1 ? 0 : index[k + ndim - a->ndim];
    address += (uint64_t)i * (uint64_t)a->strides[k];
  }
  return address;
}

/* Steps an index through a shape in C order; 0 at the end. */
static int next_index(int64_t *index, const int64_t *shape, int32_t ndim) {
  while (ndim-- > 0) {
    if (++index[ndim] < shape[ndim]) return 1;
    index[ndim] = 0;
  }
  return 0;
}

static int64_t count_of(const int64_t *shape, int32_t ndim) {
  int64_t count = 1;
  while (ndim-- > 0) count *= shape[ndim];
  return count;
}

/* Which source index an index of the view stands for. */
typedef void (*mapping)(const void *context, const int64_t *index, int64_t *source);

static void expect(expectation *e, const cai_array *a, mapping map, const void *context) {
  int64_t index[CAI_MAX_NDIM] = {0}, source[CAI_MAX_NDIM];
  e->count = count_of(e->shape, e->ndim);
  if (e->count > MOST) abort();
  if (e->count) {
    int64_t n = 0;
    do {
      map(context, index, source);
      e->address[n] = address_of(a, source, a->ndim);
      if (a->mask) e->mask[n] = address_of(a->mask, source, a->ndim);
      ++n;
    } while (next_index(index, e->shape, e->ndim));
  }
}

static void check_view(const expectation *e, const cai_array *a, const cai_array *view) {
  int64_t index[CAI_MAX_NDIM] = {0}, n = 0;
  int same = 1;
  CHECK_OK(cai_array_validate(view, ERR));
  CHECK(view->owner != NULL && view->owner != a->owner);
  CHECK(view->data == 0 || e->count != 0);
  CHECK(view->stream == a->stream && view->stream_kind == a->stream_kind && view->version == a->version);
  CHECK(view->device_type == a->device_type && view->device_id == a->device_id);
  CHECK(memcmp(&view->dtype, &a->dtype, sizeof a->dtype) == 0);
  CHECK((view->flags & CAI_FLAG_SWAPPED) == (a->flags & CAI_FLAG_SWAPPED));
  CHECK(!(a->flags & CAI_FLAG_READONLY) || (view->flags & CAI_FLAG_READONLY));
  CHECK(view->descr_count == a->descr_count && !view->descr == !a->descr);
  CHECK(!view->mask == !a->mask);
  CHECK(!view->mask || view->mask->owner == view->owner);
  if (!CHECK(view->ndim == e->ndim)) return;
  if (!CHECK(!e->ndim || memcmp(view->shape, e->shape, (size_t)e->ndim * 8) == 0) || !e->count) return;
  do {
    same &= address_of(view, index, view->ndim) == e->address[n];
    if (a->mask && view->mask) same &= address_of(view->mask, index, view->ndim) == e->mask[n];
    ++n;
  } while (next_index(index, e->shape, e->ndim));
  CHECK(same);
}

/* 1 if strides exist that give these addresses to this shape. */
static int is_linear(const expectation *e, const uint64_t *address) {
  int64_t index[CAI_MAX_NDIM] = {0}, n = 0, step[CAI_MAX_NDIM], inner = 1;
  int32_t k;
  if (!e->count) return 1;
  for (k = e->ndim - 1; k >= 0; --k) {
    step[k] = e->shape[k] > 1 ? (int64_t)(address[inner] - address[0]) : 0;
    inner *= e->shape[k];
  }
  do {
    uint64_t at = address[0];
    for (k = 0; k < e->ndim; ++k) at += (uint64_t)(index[k] * step[k]);
    if (at != address[n++]) return 0;
  } while (next_index(index, e->shape, e->ndim));
  return 1;
}

/* ---- Slices ------------------------------------------------------------------------------- */

/* How an axis of the view walks an axis of the source; axis -1 is a new one. */
typedef struct walk {
  int32_t axis[CAI_MAX_NDIM], ndim, source_ndim;
  int64_t start[CAI_MAX_NDIM], step[CAI_MAX_NDIM], fixed[CAI_MAX_NDIM];
} walk;

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
  *start = s->kind & START ? (s->step < 0 ? high : low) : s->start < 0 ? s->start + extent : s->start;
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
    if (CHECK_FAILS(status, ANY, cai_array_slice(a, slices, count, &view, ERR))) CHECK(item == ANY || ERR->index == item);
    CHECK(check_untouched(&view, sizeof view));
  } else if (CHECK_OK(cai_array_slice(a, slices, count, &view, ERR))) {
    check_view(&e, a, view);
    cai_array_release(view);
  }
}

static cai_slice range(int64_t start, int64_t stop, int64_t step, int32_t without) {
  cai_slice slice;
  memset(&slice, 0, sizeof slice);
  slice.start = start, slice.stop = stop, slice.step = step;
  slice.kind = CAI_SLICE_RANGE | without;
  return slice;
}

static cai_slice item(int32_t kind, int64_t start) {
  cai_slice slice = range(start, 0, 0, 0);
  slice.kind = kind;
  return slice;
}

/* ---- Sources ------------------------------------------------------------------------------ */

static made m, mask;

static cai_array *own(void) {
  cai_array *a = NULL;
  if (!CHECK_OK(cai_array_own(&m.array, on_release, NULL, &a, ERR))) abort();
  return a;
}

static uint32_t seed = 1;

static int32_t pick(int32_t bound) { /* 0 to bound - 1 */
  seed = seed * 1664525u + 1013904223u;
  return (int32_t)((seed >> 8) % (uint32_t)bound);
}

/* An owned array of up to four axes, with any strides, with no mask, a full one or one to broadcast. */
static cai_array *random_array(void) {
  int64_t shape[4], strides[4], step = 4;
  int32_t ndim = pick(5), k, how = pick(4);
  for (k = ndim - 1; k >= 0; --k) {
    shape[k] = pick(8) ? 1 + pick(4) : 0;
    strides[k] = how == 0 ? step : how == 1 ? -step : how == 2 ? 4 * (pick(60) - 30) : step + 4 * pick(2);
    if (shape[k]) step *= shape[k];
  }
  if (how == 3 && ndim > 1) { /* a permutation */
    int64_t swap = strides[0];
    strides[0] = strides[ndim - 1], strides[ndim - 1] = swap;
    swap = shape[0], shape[0] = shape[ndim - 1], shape[ndim - 1] = swap;
  }
  make(&m, "<f4", ndim, shape, strides);
  if (pick(3) == 0) m.array.flags |= CAI_FLAG_READONLY;
  m.array.stream_kind = CAI_STREAM_STREAM, m.array.stream = 5;
  if (pick(2)) {
    int32_t drop = pick(2) ? 0 : pick(ndim + 1);
    for (k = drop; k < ndim; ++k) if (drop && pick(2)) shape[k] = 1;
    for (k = drop; k < ndim; ++k) strides[k] = pick(40) - 20;
    make(&mask, "|b1", ndim - drop, shape + drop, pick(2) ? strides + drop : NULL);
    if (mask.array.data) mask.array.data += UINT64_C(1) << 32;
    make_mask(&m, &mask);
  }
  return own();
}

/* ---- Tests -------------------------------------------------------------------------------- */

static void test_python_slices(void) {
  static const int64_t five[] = {5};
  static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -7, -6, -5, -4, -1, 0, 1, 3, 4, 5, 6, 7, INT64_MAX};
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
          cai_slice s = range(ends[i], ends[k], steps[n], (without & 1 ? START : 0) | (without & 2 ? STOP : 0));
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
  static const int64_t steps[] = {INT64_MAX, INT64_MAX / 2, INT64_MIN, INT64_MIN + 1, -INT64_MAX / 4};
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
#define REFUSED(count, at)                                                                   \
  do {                                                                                       \
    if (CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_slice(a, s, count, &view, ERR)) && at != ANY) \
      CHECK(ERR->index == at);                                                               \
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
               : kind < 9 ? item(CAI_SLICE_NEWAXIS, 0) : item(CAI_SLICE_ELLIPSIS, 0);
      }
      check_slice(a, s, count);
    }
    cai_array_release(a);
  }
}

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
  static const int64_t huge[] = {INT64_MAX, 3}, huge_two[] = {INT64_C(1) << 32, INT64_C(1) << 31, 1, 3};
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
    do f = 1 + pick(count < 30 ? (int32_t)count : 30); while (count % f);
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
        if (a->shape[k] == 4 && e.ndim < 5) e.shape[e.ndim++] = 2, e.shape[e.ndim++] = 2;
        else e.shape[e.ndim++] = a->shape[k];
        if (e.ndim > 5) break;
      }
      if (count_of(e.shape, e.ndim) != count || e.ndim > 5) e.ndim = a->ndim, memcpy(e.shape, a->shape, (size_t)a->ndim * 8);
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
  static const int64_t shape[] = {2, 3}, empty[] = {0, 3};
  static const struct { int32_t ndim; int64_t shape[3]; } refused[] = {
      {1, {5}}, {1, {7}}, {0, {0}}, {2, {2, 2}}, {2, {-1, -1}}, {2, {-2, -3}}, {2, {-6, -1}}, {2, {4, -1}},
      {2, {0, -1}}, {1, {INT64_MIN}}, {2, {INT64_C(1) << 62, 4}}, {2, {INT64_C(1) << 32, INT64_C(1) << 32}},
      {3, {INT64_MAX, INT64_MAX, 6}}, {3, {(INT64_C(1) << 62) + 3, 2, 2}}, {3, {INT64_MAX, INT64_MAX, -1}}};
  static const struct { int32_t ndim; int64_t shape[3], result[3]; } taken[] = {
      {1, {0}, {0}}, {1, {-1}, {0}}, {2, {-1, 3}, {0, 3}}, {2, {5, 0}, {5, 0}}, {3, {1, 0, 7}, {1, 0, 7}}};
  static const struct { int64_t shape[4]; } hostile[] = {
      {{INT64_MAX, INT64_MAX, 0, 1}}, {{INT64_MAX, INT64_MAX, -5, 0}}, {{INT64_MAX, INT64_MAX, 7, 0}},
      {{0, -5, INT64_MAX, INT64_MAX}}, {{INT64_MAX, 0, INT64_MAX, INT64_MAX}}, {{INT64_MIN, 0, 1, 1}}};
  int64_t ones[CAI_MAX_NDIM + 1];
  cai_array *a, *view;
  int i, k;
  check_context = "reshape errors";
  make(&m, "<f4", 2, shape, NULL);
  a = own();
  memset(&view, 0xA5, sizeof view);
  for (i = 0; i < COUNT(refused); ++i) {
    CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, refused[i].shape, refused[i].ndim, &view, ERR));
  }
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, NULL, 1, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, shape, -1, &view, ERR));
  for (i = 0; i <= CAI_MAX_NDIM; ++i) ones[i] = 1;
  ones[0] = 6;
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, ones, CAI_MAX_NDIM + 1, &view, ERR));
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(&m.array, shape, 2, &view, ERR)); /* borrowed */
  CHECK(check_untouched(&view, sizeof view));
  if (CHECK_OK(cai_array_reshape(a, ones, CAI_MAX_NDIM, &view, ERR))) cai_array_release(view);
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
  for (i = 0; i < COUNT(hostile); ++i) { /* lawful or not: never a wrong view */
    if (cai_array_reshape(a, hostile[i].shape, 4, &view, NULL)) continue;
    for (k = 0; k < 4; ++k) CHECK(hostile[i].shape[k] >= 0 && view->shape[k] == hostile[i].shape[k]);
    CHECK_OK(cai_array_validate(view, ERR));
    cai_array_release(view);
  }
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, refused[8].shape, 2, &view, ERR)); /* (0, -1) */
  CHECK_FAILS(CAI_ERR_ARGUMENT, ANY, cai_array_reshape(a, shape, 2, &view, ERR));
  cai_array_release(a);
}

static void test_bit_masks(void) {
  static const int64_t shape[] = {2, 3}, flat[] = {6}, wide[] = {2, 2, 3};
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
#define SAME(call)                                                                          \
  if (CHECK_OK(call)) {                                                                     \
    CHECK(view->mask && view->mask->dtype.kind == 't' && view->mask->data == a->mask->data); \
    CHECK(view->ndim == 2 && view->shape[0] == 2 && view->shape[1] == 3);                   \
    CHECK_OK(cai_array_validate(view, ERR));                                                \
    cai_array_release(view);                                                                \
  }
  SAME(cai_array_slice(a, NULL, 0, &view, ERR))
  SAME(cai_array_slice(a, s, 2, &view, ERR))
  SAME(cai_array_reshape(a, shape, 2, &view, ERR))
  SAME(cai_array_transpose(a, same_axes, &view, ERR))
  SAME(cai_array_broadcast(a, shape, 2, &view, ERR))
  cai_array_release(a);
}

/* Dims that come out as they were, though the elements have changed places: the mask's must too. */
static void test_mask_under_equal_dims(void) {
  static const int64_t shape[] = {2, 2}, equal[] = {4, 4}, zero[] = {0, 0}, rows[] = {2, 1};
  static expectation e;
  static walk w;
  cai_slice back = range(0, 0, -1, START | STOP);
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
  make(&m, "<f4", 2, shape, zero);
  make_mask(&m, &mask);
  a = own();
  check_slice(a, &back, 1);
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
  m.array.typestr = "|V4";
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
  CHECK(!first->typestr || strcmp(first->typestr, "|V4") == 0);
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
  if (pthread_attr_setstacksize(&attributes, allocations_counted() ? 65536 : 262144) ||
      pthread_create(&thread, &attributes, chain, NULL)) abort();
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv) {
  if (argc > 1) chain_length = atoi(argv[1]); /* for valgrind */
  test_python_slices();
  test_large_steps();
  test_slice_errors();
  test_random_slices();
  test_transpose();
  test_broadcast();
  test_broadcast_errors();
  test_reshape();
  test_reshape_errors();
  test_bit_masks();
  test_mask_under_equal_dims();
  test_lifetime();
  test_chain();
  return CHECK_RESULT();
}
