/* SPDX-License-Identifier: BSD-3-Clause */
/* What is quicker in C, of either of CPython's APIs. */
#ifndef CAI_PY_COMPAT_H
#define CAI_PY_COMPAT_H

#include <Python.h>
#include <stdint.h>

#include "cai.h"

#ifdef Py_LIMITED_API
#include "_limited.h"
#else
#include "_full.h"
#endif

/* Piece by piece: memset() of all 96 bytes becomes `rep stos`, which takes long to start. */
static inline void cai_py_no_entries(PyObject **value) {
  typedef struct {
    PyObject *value[4];
  } four;
  static const four none = {{NULL}};
  ((four *)value)[0] = none;
  ((four *)value)[1] = none;
  ((four *)value)[2] = none;
}

static inline void cai_py_missing(cai_value *out) {
  static const cai_value missing = {0};
  *out = missing;
}

/* Fills in the whole of `out` for what a dict mostly has, small ints, None, bools and ASCII text,
 * and for NULL, a missing value: 1. Another value: 0, and `out` is zeroed. No code runs. */
static inline int cai_py_plain_value(PyObject *value, cai_value *out) {
  cai_py_missing(out);
  if (!value) return 1;
  if (PyLong_CheckExact(value)) {
    if (!cai_py_small_int(value, &out->integer)) return 0;
    out->form = CAI_FORM_INT;
    return 1;
  }
  if (value == Py_None) {
    out->form = CAI_FORM_NONE;
    return 1;
  }
  if (PyBool_Check(value)) {
    out->form = CAI_FORM_BOOL;
    out->integer = value == Py_True;
    return 1;
  }
  if (PyUnicode_CheckExact(value)) {
    Py_ssize_t length;
    const char *const text = cai_py_plain_text(value, &length);
    if (!text || length > UINT32_MAX) return 0;
    out->form = CAI_FORM_TEXT;
    out->text = text;
    out->length = (uint32_t)length;
    return 1;
  }
  return 0;
}

/* The current exception, taken: a new reference with its traceback. */
static inline PyObject *cai_py_take_exception(void) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
}

#endif
