/* SPDX-License-Identifier: BSD-3-Clause */
/* What is quicker through CPython's structs, and parts of its API that changed their names between
 * 3.10 and 3.13. _limited.h has the same functions for the limited API. */
#ifndef CAI_PY_FULL_H
#define CAI_PY_FULL_H

#include <Python.h>
#include <stdint.h>

/* 1: found, 0: absent (no error is raised, nor formatted), -1: an error. */
static inline int cai_py_optional_attribute(PyObject *object, PyObject *name, PyObject **out) {
#if PY_VERSION_HEX >= 0x030D0000
  return PyObject_GetOptionalAttr(object, name, out);
#else
  return _PyObject_LookupAttr(object, name, out);
#endif
}

/* Whether a class or one of its bases has an attribute, and not None in its place, by which a class
 * says that it does without; no code runs. */
static inline int cai_py_class_has(PyTypeObject *type, PyObject *name) {
  PyObject *const value = _PyType_Lookup(type, name);
  return value != NULL && value != Py_None;
}

/* A new reference to a type's classes, itself the first, as a tuple. */
static inline PyObject *cai_py_classes(PyTypeObject *type) {
  return Py_XNewRef(type->tp_mro);
}

/* A new reference to what a type itself has by a name, or NULL, perhaps with an exception. */
static inline PyObject *cai_py_own_attribute(PyTypeObject *type, PyObject *name) {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject *const dict = PyType_GetDict(type);
#else
  PyObject *const dict = Py_XNewRef(type->tp_dict);
#endif
  PyObject *const value = dict ? Py_XNewRef(PyDict_GetItemWithError(dict, name)) : NULL;
  Py_XDECREF(dict);
  return value;
}

/* Whether a weak reference is to this object, which is alive. */
static inline int cai_py_weakly_refers_to(PyObject *weak, PyObject *object) {
  return ((PyWeakReference *)weak)->wr_object == object;
}

/* A number that changes when the type, or what it inherits from, does. 0: it has none. */
static inline unsigned cai_py_type_tag(PyTypeObject *type) {
  return type->tp_version_tag;
}

/* A type's name as in messages. Valid until the next call. With the GIL. */
static inline const char *cai_py_type_name(PyTypeObject *type) {
  return type->tp_name;
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

/* The UTF-8 of a str that has it without more ado, or NULL. */
static inline const char *cai_py_plain_text(PyObject *text, Py_ssize_t *length) {
  if (!PyUnicode_IS_COMPACT_ASCII(text)) return NULL;
  *length = PyUnicode_GET_LENGTH(text);
  return (const char *)PyUnicode_1BYTE_DATA(text);
}

/* Whether this very thread may run Python in `interpreter`. (PyGILState_Check() says yes when it
 * does not know, and PyGILState_Ensure() would wait.) */
static inline int cai_py_may_run(PyInterpreterState *interpreter) {
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState *here = PyThreadState_GetUnchecked();
#elif PY_VERSION_HEX >= 0x030C0000
  PyThreadState *here = _PyThreadState_UncheckedGet();
#else
  PyThreadState *here = PyGILState_GetThisThreadState();
  if (here != _PyThreadState_UncheckedGet()) here = NULL;
#endif
  return here != NULL && PyThreadState_GetInterpreter(here) == interpreter;
}

/* Cython's own functions, which see the members of libcai.Array that are Python's. */
static traverseproc cai_py_base_traverse;
static inquiry cai_py_base_clear;

/* Puts others in their place. */
static inline void cai_py_replace_gc(PyTypeObject *type, traverseproc traverse, inquiry clear) {
  cai_py_base_traverse = type->tp_traverse;
  cai_py_base_clear = type->tp_clear;
  type->tp_traverse = traverse;
  type->tp_clear = clear;
}

#endif
