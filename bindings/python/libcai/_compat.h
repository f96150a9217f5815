/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of CPython's API that changed their names between 3.10 and 3.13. */
#ifndef CAI_PY_COMPAT_H
#define CAI_PY_COMPAT_H

#include <Python.h>
#include <stdint.h>

/* memset() of a known size becomes `rep stos`, which takes longer to start than all of this. */
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((noinline, optimize("no-tree-loop-distribute-patterns")))
#endif
static void cai_py_zero(void *memory, size_t size) {
  uint64_t *word = (uint64_t *)memory;
  size_t i;
  for (i = 0; i < size / sizeof *word; i++) word[i] = 0;
}

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
    case 0: *out = 0; return 1;
    case 1: *out = digits[0]; return 1;
    case -1: *out = (uint64_t) - (int64_t)digits[0]; return 1;
    case 2: *out = digits[0] | (uint64_t)digits[1] << PyLong_SHIFT; return 1;
    default: return 0;
  }
#endif
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
