/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of CPython's API that changed their names between 3.10 and 3.13, and what is quicker in C.
 */
#ifndef CAI_PY_COMPAT_H
#define CAI_PY_COMPAT_H

#include <Python.h>
#include <stdint.h>

#include "cai.h"

/* 1: found, 0: absent (no error is raised, nor formatted), -1: an error. */
static inline int cai_py_optional_attribute(PyObject *object, PyObject *name, PyObject **out) {
#if PY_VERSION_HEX >= 0x030D0000
  return PyObject_GetOptionalAttr(object, name, out);
#else
  return _PyObject_LookupAttr(object, name, out);
#endif
}

/* Borrowed, or NULL with no error: what a class and its bases have, with no code run. */
static inline PyObject *cai_py_class_attribute(PyTypeObject *type, PyObject *name) {
  return _PyType_Lookup(type, name);
}

/* An exact int of up to 60 bits, without a call: 1, or 0 if it is larger. */
static inline int cai_py_small_int(PyObject *number, uint64_t *out) {
#if PY_VERSION_HEX >= 0x030C0000
  if (!PyUnstable_Long_IsCompact((const PyLongObject *)number)) return 0;
  *out = (uint64_t)(int64_t)PyUnstable_Long_CompactValue((const PyLongObject *)number);
  return 1;
#else
  const digit *digits = ((const PyLongObject *)number)->ob_digit;
  switch (Py_SIZE(number)) {
    case 0:
      *out = 0;
      return 1;
    case 1:
      *out = digits[0];
      return 1;
    case -1:
      *out = (uint64_t)-(int64_t)digits[0];
      return 1;
    case 2:
      *out = digits[0] | (uint64_t)digits[1] << PyLong_SHIFT;
      return 1;
    default:
      return 0;
  }
#endif
}

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
  if (PyUnicode_CheckExact(value) && PyUnicode_IS_COMPACT_ASCII(value)) {
    const Py_ssize_t length = PyUnicode_GET_LENGTH(value);
    if (length > UINT32_MAX) return 0;
    out->form = CAI_FORM_TEXT;
    out->text = (const char *)PyUnicode_1BYTE_DATA(value);
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
