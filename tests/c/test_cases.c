/* SPDX-License-Identifier: BSD-3-Clause */
/* Every row of tests/cases/import.json: its verdict strict and lenient, with storage of every size,
 * and for what is taken the way on: validate, own, write, read again. */
#include "make.h"

/* What a row says of an array, or why it refuses it (status not 0). */
typedef struct verdict {
  cai_status status;
  int32_t entry;
  const char *shown;
  const int64_t *shape, *strides;
  int64_t size, lo, hi;
  uint64_t stream;
  int32_t ndim, strides_given, readonly, masked, c_contiguous, f_contiguous;
  uint32_t itemsize, version;
  char kind, byteorder;
} verdict;

typedef struct row {
  const char *id;
  const cai_interface *in;
  verdict strict, lenient;
} row;

#include "cases.inc"

#define GUARD 64
#define STORAGE 8192
static union {
  uint64_t align;
  unsigned char bytes[STORAGE + GUARD];
} first, second;

static int inside(const void *pointer, const void *start, uint64_t size) {
  return (uintptr_t)pointer >= (uintptr_t)start && (uintptr_t)pointer < (uintptr_t)start + size;
}

static void check_fields_inside(const cai_field *fields, uint32_t count, const void *start,
                                uint64_t size) {
  uint32_t i;
  for (i = 0; i < count; ++i) {
    CHECK(inside(&fields[i], start, size));
    CHECK(fields[i].name && inside(fields[i].name, start, size));
    CHECK(!fields[i].title || inside(fields[i].title, start, size));
    CHECK(!fields[i].shape || inside(fields[i].shape, start, size));
    if (fields[i].fields) check_fields_inside(fields[i].fields, fields[i].field_count, start, size);
  }
}

/* "it points into `storage`, and to nothing of `in`" */
static void check_inside(const cai_array *a, const void *start, uint64_t size) {
  CHECK(!a->ndim || inside(a->shape, start, size));
  CHECK(!a->ndim || inside(a->strides, start, size));
  if (a->descr) check_fields_inside(a->descr, a->descr_count, start, size);
  if (a->mask && CHECK(inside(a->mask, start, size))) check_inside(a->mask, start, size);
}

static void check_facts(const verdict *f, const cai_array *a, int as_read) {
  cai_layout layout;
  int32_t i;
  CHECK(a->abi_major == CAI_ABI_MAJOR && a->abi_minor == CAI_ABI_MINOR);
  CHECK(a->device_type == CAI_DEVICE_CUDA && a->device_id == -1);
  CHECK(a->dtype.kind == (uint8_t)f->kind && a->dtype.byteorder == (uint8_t)f->byteorder);
  CHECK(a->dtype.itemsize == f->itemsize && a->dtype.ext == 0);
  CHECK(!!(a->flags & CAI_FLAG_READONLY) == f->readonly);
  CHECK(!!(a->flags & CAI_FLAG_MASKED) == f->masked && !!a->mask == f->masked);
  CHECK(!!(a->flags & CAI_FLAG_SWAPPED) == (f->byteorder == '>'));
  CHECK((a->flags & ~(uint32_t)(CAI_FLAG_STRIDES_NONE | CAI_FLAG_READONLY | CAI_FLAG_MASKED |
                                CAI_FLAG_SWAPPED)) == 0);
  CHECK((a->data == 0) == (f->size == 0));
  CHECK(!a->reserved0 && !a->reserved1 && !a->reserved2 && !a->reserved3);
  CHECK(cai_array_refuses(a, CAI_FLAG_READONLY | CAI_FLAG_MASKED | CAI_FLAG_SWAPPED) == 0);
  if (!CHECK(a->ndim == f->ndim)) return;
  for (i = 0; i < f->ndim; ++i) {
    CHECK(a->shape[i] == f->shape[i]);
    /* Leaving as None (or as they are) may change strides that address nothing. */
    CHECK(a->strides[i] == f->strides[i] || (!as_read && (f->size == 0 || f->shape[i] == 1)));
  }
  if (as_read) {
    CHECK(a->version == f->version);
    CHECK(!!(a->flags & CAI_FLAG_STRIDES_NONE) == !f->strides_given);
    CHECK(a->stream == f->stream);
    CHECK(a->stream_kind == (uint32_t)(f->stream        ? CAI_STREAM_STREAM
                                       : f->version < 3 ? CAI_STREAM_UNSTATED
                                                        : CAI_STREAM_NONE));
  }
  if (CHECK_OK(cai_array_layout(a, &layout, ERR))) {
    CHECK(layout.size == f->size);
    CHECK(layout.nbytes == f->size * (int64_t)f->itemsize);
    CHECK(layout.lo == f->lo && layout.hi == f->hi);
    CHECK(layout.c_contiguous == f->c_contiguous && layout.f_contiguous == f->f_contiguous);
  }
}

static int fields_equal(const cai_field *a, uint32_t a_count, const cai_field *b,
                        uint32_t b_count) {
  uint32_t i;
  int32_t k;
  if (!a || !b) return !a && !b && a_count == b_count;
  if (a_count != b_count) return 0;
  for (i = 0; i < a_count; ++i) {
    const cai_field *x = &a[i], *y = &b[i];
    if (strcmp(x->name, y->name) || !x->title != !y->title || x->offset != y->offset ||
        (x->title && strcmp(x->title, y->title)) || x->ndim != y->ndim ||
        memcmp(&x->dtype, &y->dtype, sizeof x->dtype))
      return 0;
    for (k = 0; k < x->ndim; ++k)
      if (x->shape[k] != y->shape[k]) return 0;
    if (!fields_equal(x->fields, x->field_count, y->fields, y->field_count)) return 0;
  }
  return 1;
}

static void check_written_form(const verdict *f, const cai_array *a, const cai_interface *out,
                               uint32_t version) {
  cai_layout layout;
  CHECK_OK(cai_array_layout(a, &layout, ERR));
  CHECK(out->struct_size == sizeof *out && out->protocol == CAI_PROTOCOL_CUDA);
  CHECK(out->dict.form == CAI_FORM_DICT);
  CHECK(out->version.form == CAI_FORM_INT && out->version.integer == version);
  CHECK(out->shape.form == CAI_FORM_TUPLE && out->shape.length == (uint32_t)f->ndim);
  CHECK(out->strides.form == (layout.c_contiguous ? CAI_FORM_NONE : CAI_FORM_TUPLE));
  CHECK(out->typestr.form == CAI_FORM_TEXT);
  CHECK(out->data.form == CAI_FORM_TUPLE && out->data.length == 2);
  CHECK(out->mask.form == (f->masked ? CAI_FORM_INTERFACE : CAI_FORM_MISSING) ||
        (!f->masked && out->mask.form == CAI_FORM_NONE));
  CHECK(!!out->mask_interface == f->masked);
  CHECK(out->offset.form == CAI_FORM_MISSING);
  CHECK((out->descr.form == CAI_FORM_MISSING) == !a->descr);
  if (version == 2) CHECK(out->stream.form == CAI_FORM_MISSING);
}

/* Says the array as a dict and reads that, strictly: the same array must come back. */
static void check_written(const verdict *f, const cai_array *a) {
  uint64_t size = cai_interface_write_storage(a), need;
  cai_interface out;
  cai_array again;
  cai_status status;
  uint64_t small;
  if (!CHECK(size <= STORAGE)) return;
  for (small = 0; small < size; small += 8) {
    memset(&out, 0xA5, sizeof out);
    memset(first.bytes, 0xA5, sizeof first.bytes);
    status = cai_interface_write(a, 3, first.bytes, small, &out, NULL);
    CHECK(status == CAI_OK || (status == CAI_ERR_STORAGE && check_untouched(&out, sizeof out)));
    CHECK(check_untouched(first.bytes + small, GUARD));
  }
  memset(first.bytes, 0xA5, sizeof first.bytes);
  memset(&out, 0xA5, sizeof out);
  out.struct_size = sizeof out;
  if (!CHECK_OK(cai_interface_write(a, 3, first.bytes, size, &out, ERR))) return;
  CHECK(check_untouched(first.bytes + size, GUARD));
  check_written_form(f, a, &out, 3);
  if (f->stream) {
    CHECK(out.stream.form == CAI_FORM_INT && out.stream.integer == f->stream);
  } else if (f->version < 3) {
    CHECK(out.stream.form == CAI_FORM_INT && out.stream.integer == 1);
  } else {
    CHECK(out.stream.form == CAI_FORM_NONE);
  }
  need = cai_interface_storage(&out);
  if (CHECK(need <= STORAGE) &&
      CHECK_OK(cai_interface_read(&out, CAI_STRICT, NULL, NULL, second.bytes, need, &again, ERR))) {
    check_facts(f, &again, 0);
    CHECK(again.version == 3 && again.data == a->data);
    if (a->stream_kind == CAI_STREAM_UNSTATED) {
      CHECK(again.stream_kind == CAI_STREAM_STREAM && again.stream == 1);
    } else {
      CHECK(again.stream_kind == a->stream_kind && again.stream == a->stream);
    }
    CHECK(memcmp(&again.dtype, &a->dtype, sizeof a->dtype) == 0);
    CHECK(fields_equal(a->descr, a->descr_count, again.descr, again.descr_count));
    CHECK_OK(cai_array_validate(&again, ERR));
  }

  memset(&out, 0xA5, sizeof out);
  out.struct_size = sizeof out;
  if (f->stream) {
    CHECK_FAILS(CAI_ERR_EXPORT, ANY, cai_interface_write(a, 2, first.bytes, size, &out, ERR));
    CHECK(check_untouched(&out.protocol, sizeof out - sizeof out.struct_size));
  } else if (CHECK_OK(cai_interface_write(a, 2, first.bytes, size, &out, ERR))) {
    check_written_form(f, a, &out, 2);
    if (CHECK_OK(cai_interface_read(&out, CAI_LENIENT, NULL, NULL, second.bytes, STORAGE, &again,
                                    ERR))) {
      check_facts(f, &again, 0);
      CHECK(again.version == 2 && again.stream_kind == CAI_STREAM_UNSTATED && again.stream == 0);
    }
  }
}

static void count_release(void *context) { ++*(int *)context; }

static void check_taken(const row *r, uint32_t mode, const verdict *f) {
  uint64_t size = cai_interface_storage(r->in);
  cai_array a, *owned;
  int released = 0;
  memset(first.bytes, 0xA5, sizeof first.bytes);
  if (!CHECK_OK(cai_interface_read(r->in, mode, NULL, NULL, first.bytes, size, &a, ERR))) return;
  CHECK(check_untouched(first.bytes + size, GUARD));
  CHECK(a.owner == NULL);
  check_inside(&a, first.bytes, size);
  check_facts(f, &a, 1);
  CHECK_OK(cai_array_validate(&a, ERR));
  if (!CHECK_OK(cai_array_own(&a, count_release, &released, &owned, ERR))) return;
  memset(first.bytes, 0xA5, sizeof first.bytes); /* the owned one holds copies */
  CHECK(owned->owner != NULL && owned->owner->struct_size >= sizeof(cai_owner));
  check_facts(f, owned, 1);
  CHECK(!owned->mask || owned->mask->owner == owned->owner);
  CHECK_OK(cai_array_validate(owned, ERR));
  check_written(f, owned);
  CHECK(released == 0);
  cai_array_release(owned);
  CHECK(released == 1);
}

static void check_refused(const row *r, uint32_t mode, const verdict *f) {
  uint64_t size = cai_interface_storage(r->in);
  cai_array a;
  memset(&a, 0xA5, sizeof a);
  memset(first.bytes, 0xA5, sizeof first.bytes);
  if (CHECK_FAILS(f->status, f->entry,
                  cai_interface_read(r->in, mode, NULL, NULL, first.bytes, size, &a, ERR))) {
    int named = CHECK(strstr(ERR->message, cai_entry_name(f->entry)) != NULL);
    int shown = CHECK(strstr(ERR->message, f->shown) != NULL);
    CHECK(ERR->native == 0);
    CHECK(ERR->status == CAI_ERR_VALUE || ERR->status == CAI_ERR_TYPE);
    if (!named || !shown) {
      fprintf(stderr, "  message: %s\n  must name %s and show %s\n", ERR->message,
              cai_entry_name(f->entry), f->shown);
    }
  }
  CHECK(check_untouched(&a, sizeof a));
  CHECK(check_untouched(first.bytes + size, GUARD));
}

/* cai_interface_storage() says "at most": less may do, but never silently. */
static void check_sizes(const row *r, uint32_t mode, const verdict *f) {
  uint64_t size = cai_interface_storage(r->in), small;
  cai_array a;
  int enough = 0;
  if (!CHECK(size <= STORAGE)) return;
  for (small = 0; small < size; ++small) {
    cai_status status;
    memset(&a, 0xA5, sizeof a);
    memset(first.bytes, 0xA5, sizeof first.bytes);
    check_arm();
    status =
        cai_interface_read(r->in, mode, NULL, NULL, small ? first.bytes : NULL, small, &a, ERR);
    CHECK(check_untouched(first.bytes + small, GUARD));
    if (status == CAI_OK) {
      CHECK(!f->status);
      check_inside(&a, first.bytes, small);
      enough = 1;
    } else {
      CHECK(status == CAI_ERR_STORAGE || (f->status && status == ERR->status));
      CHECK(!enough); /* more is never too little */
      CHECK(check_untouched(&a, sizeof a));
    }
    if (!f->status && small < 16 * (uint64_t)f->ndim) CHECK(status == CAI_ERR_STORAGE);
  }
}

int main(void) {
  char context[128];
  size_t i;
  int mode;
  check_context = context;
  for (i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    for (mode = CAI_LENIENT; mode <= CAI_STRICT; ++mode) {
      const verdict *f = mode == CAI_STRICT ? &rows[i].strict : &rows[i].lenient;
      snprintf(context, sizeof context, "%s, %s", rows[i].id,
               mode == CAI_STRICT ? "strict" : "lenient");
      check_sizes(&rows[i], (uint32_t)mode, f);
      if (f->status)
        check_refused(&rows[i], (uint32_t)mode, f);
      else
        check_taken(&rows[i], (uint32_t)mode, f);
    }
  }
  printf("%zu cases, both modes\n", i);
  return CHECK_RESULT();
}
