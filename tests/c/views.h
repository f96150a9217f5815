/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of views: arrays to view, and an oracle that lists the address of every element (and of
 * its mask element) by index. */
#ifndef VIEWS_H
#define VIEWS_H

#include "make.h"

#define MOST 4096 /* elements of an oracle */
#define START CAI_SLICE_NO_START
#define STOP CAI_SLICE_NO_STOP

static int released;

static inline void on_release(void *context) {
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
static inline uint64_t address_of(const cai_array *a, const int64_t *index, int32_t ndim) {
  uint64_t address = a->data;
  int32_t k;
  for (k = 0; k < a->ndim; ++k) {
    int64_t i = a->shape[k] == 1 ? 0 : index[k + ndim - a->ndim];
    address += (uint64_t)i * (uint64_t)a->strides[k];
  }
  return address;
}

/* Steps an index through a shape in C order; 0 at the end. */
static inline int next_index(int64_t *index, const int64_t *shape, int32_t ndim) {
  while (ndim-- > 0) {
    if (++index[ndim] < shape[ndim]) return 1;
    index[ndim] = 0;
  }
  return 0;
}

static inline int64_t count_of(const int64_t *shape, int32_t ndim) {
  int64_t count = 1;
  while (ndim-- > 0) count *= shape[ndim];
  return count;
}

/* Which source index an index of the view stands for. */
typedef void (*mapping)(const void *context, const int64_t *index, int64_t *source);

static inline void expect(expectation *e, const cai_array *a, mapping map, const void *context) {
  int64_t index[CAI_MAX_NDIM] = {0}, source[CAI_MAX_NDIM];
  e->count = count_of(e->shape, e->ndim);
  MUST_HOLD(e->count <= MOST);
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

static inline void check_view(const expectation *e, const cai_array *a, const cai_array *view) {
  int64_t index[CAI_MAX_NDIM] = {0}, n = 0;
  int same = 1;
  CHECK_OK(cai_array_validate(view, ERR));
  CHECK(view->owner != NULL && view->owner != a->owner);
  CHECK(view->data == 0 || e->count != 0);
  CHECK(view->stream == a->stream && view->stream_kind == a->stream_kind &&
        view->version == a->version);
  CHECK(view->device_type == a->device_type && view->device_id == a->device_id);
  CHECK(memcmp(&view->dtype, &a->dtype, sizeof a->dtype) == 0);
  CHECK((view->flags & CAI_FLAG_SWAPPED) == (a->flags & CAI_FLAG_SWAPPED));
  CHECK(!(a->flags & CAI_FLAG_READONLY) || (view->flags & CAI_FLAG_READONLY));
  CHECK(view->descr_count == a->descr_count && !view->descr == !a->descr);
  CHECK(!view->mask == !a->mask);
  CHECK(!view->mask || view->mask->owner == view->owner);
  if (!CHECK(view->ndim == e->ndim)) return;
  if (!CHECK(!e->ndim || memcmp(view->shape, e->shape, (size_t)e->ndim * 8) == 0) || !e->count)
    return;
  do {
    same &= address_of(view, index, view->ndim) == e->address[n];
    if (a->mask && view->mask) same &= address_of(view->mask, index, view->ndim) == e->mask[n];
    ++n;
  } while (next_index(index, e->shape, e->ndim));
  CHECK(same);
}

/* 1 if strides exist that give these addresses to this shape. */
static inline int is_linear(const expectation *e, const uint64_t *address) {
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

/* How an axis of the view walks an axis of the source; axis -1 is a new one. */
typedef struct walk {
  int32_t axis[CAI_MAX_NDIM], ndim, source_ndim;
  int64_t start[CAI_MAX_NDIM], step[CAI_MAX_NDIM], fixed[CAI_MAX_NDIM];
} walk;

/* ---- Slices ------------------------------------------------------------------------------- */

static inline cai_slice range(int64_t start, int64_t stop, int64_t step, int32_t without) {
  cai_slice slice;
  memset(&slice, 0, sizeof slice);
  slice.start = start, slice.stop = stop, slice.step = step;
  slice.kind = CAI_SLICE_RANGE | without;
  return slice;
}

static inline cai_slice item(int32_t kind, int64_t start) {
  cai_slice slice = range(start, 0, 0, 0);
  slice.kind = kind;
  return slice;
}

/* ---- Sources ------------------------------------------------------------------------------ */

static made m, mask;

static inline cai_array *own(void) {
  cai_array *a = NULL;
  MUST(cai_array_own(&m.array, on_release, NULL, &a, ERR));
  return a;
}

static uint32_t seed = 1;

static inline int32_t pick(int32_t bound) { /* 0 to bound - 1 */
  seed = seed * 1664525u + 1013904223u;
  return (int32_t)((seed >> 8) % (uint32_t)bound);
}

/* An owned array of up to four axes, with any strides, with no mask, a full one or one to
 * broadcast. */
static inline cai_array *random_array(void) {
  int64_t shape[4], strides[4], step = 4;
  int32_t ndim = pick(5), k, how = pick(4);
  for (k = ndim - 1; k >= 0; --k) {
    shape[k] = pick(8) ? 1 + pick(4) : 0;
    strides[k] = how == 0   ? step
                 : how == 1 ? -step
                 : how == 2 ? 4 * (pick(60) - 30)
                            : step + 4 * pick(2);
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
    for (k = drop; k < ndim; ++k)
      if (drop && pick(2)) shape[k] = 1;
    for (k = drop; k < ndim; ++k) strides[k] = pick(40) - 20;
    make(&mask, "|b1", ndim - drop, shape + drop, pick(2) ? strides + drop : NULL);
    if (mask.array.data) mask.array.data += UINT64_C(1) << 32;
    make_mask(&m, &mask);
  }
  return own();
}

#endif /* VIEWS_H */
