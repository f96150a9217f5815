/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays and raw values for the tests. */
#ifndef MAKE_H
#define MAKE_H

#include "check.h"

#define ADDRESS UINT64_C(0x7f5500000400) /* of device memory; nobody reads it */
#define COUNT(a) ((int32_t)(sizeof(a) / sizeof(a)[0]))

/* An array with room for its dims. Never copy it: the array points into it. */
typedef struct made {
  cai_array array;
  int64_t shape[CAI_MAX_NDIM], strides[CAI_MAX_NDIM];
} made;

/* Fills in a valid borrowed array; strides NULL means C order. */
static inline cai_array *make(made *m, const char *typestr, int32_t ndim, const int64_t *shape,
                              const int64_t *strides) {
  cai_array *a = &m->array;
  int64_t step;
  int32_t i;
  memset(m, 0, sizeof *m);
  a->abi_major = CAI_ABI_MAJOR;
  a->abi_minor = CAI_ABI_MINOR;
  a->data = ADDRESS;
  a->device_type = CAI_DEVICE_CUDA;
  a->device_id = -1;
  CHECK_OK(cai_dtype_parse(typestr, strlen(typestr), &a->dtype, ERR));
  if (a->dtype.byteorder == '>') a->flags |= CAI_FLAG_SWAPPED;
  a->ndim = ndim;
  a->shape = m->shape;
  a->strides = m->strides;
  a->stream_kind = CAI_STREAM_NONE;
  a->version = 3;
  step = a->dtype.itemsize;
  for (i = ndim - 1; i >= 0; --i) {
    m->shape[i] = shape[i];
    m->strides[i] = strides ? strides[i] : step;
    if (shape[i])
      step = (int64_t)((uint64_t)step * (uint64_t)shape[i]); /* wraps in tests of overflow */
    else
      a->data = 0;
  }
  return a;
}

static inline void make_mask(made *array, made *mask) {
  array->array.mask = &mask->array;
  array->array.flags |= CAI_FLAG_MASKED;
}

static inline cai_value make_int(int64_t integer) {
  cai_value value;
  memset(&value, 0, sizeof value);
  value.integer = (uint64_t)integer;
  value.form = CAI_FORM_INT;
  return value;
}

static inline cai_value make_uint(uint64_t integer) {
  cai_value value = make_int((int64_t)integer);
  value.range = integer > INT64_MAX ? CAI_RANGE_UINT64 : CAI_RANGE_INT64;
  return value;
}

static inline cai_value make_form(uint8_t form) {
  cai_value value = make_int(0);
  value.form = form;
  return value;
}

static inline cai_value make_bool(int truth) {
  cai_value value = make_form(CAI_FORM_BOOL);
  value.integer = truth ? 1 : 0;
  return value;
}

static inline cai_value make_bytes_of(uint8_t form, const char *text, uint32_t length) {
  cai_value value = make_form(form);
  value.text = text;
  value.length = length;
  return value;
}

static inline cai_value make_text(const char *text) {
  return make_bytes_of(CAI_FORM_TEXT, text, (uint32_t)strlen(text));
}

static inline cai_value make_items(uint8_t form, const cai_value *items, uint32_t length) {
  cai_value value = make_form(form);
  value.items = items;
  value.length = length;
  return value;
}

/* A dict with room for its items: {"shape": (2, 3), "typestr": "<f4", "data": (ADDRESS, False),
 * "version": 3, "strides": None, "stream": None}. Never copy it. */
typedef struct made_interface {
  cai_interface in;
  cai_value shape[2], data[2];
} made_interface;

static inline cai_interface *make_interface(made_interface *m) {
  memset(m, 0, sizeof *m);
  m->in.struct_size = sizeof m->in;
  m->in.dict = make_form(CAI_FORM_DICT);
  m->shape[0] = make_int(2);
  m->shape[1] = make_int(3);
  m->in.shape = make_items(CAI_FORM_TUPLE, m->shape, 2);
  m->in.typestr = make_text("<f4");
  m->data[0] = make_uint(ADDRESS);
  m->data[1] = make_bool(0);
  m->in.data = make_items(CAI_FORM_TUPLE, m->data, 2);
  m->in.version = make_int(3);
  m->in.strides = make_form(CAI_FORM_NONE);
  m->in.stream = make_form(CAI_FORM_NONE);
  return &m->in;
}

#endif /* MAKE_H */
