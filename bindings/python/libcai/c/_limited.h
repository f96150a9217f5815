/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of _full.h, which describes them, for the limited API of Python 3.13 and later:
 * what one wheel for all later Pythons is made of. Structs are not seen there, so types that may
 * change are asked each time, and macros are functions. */
#ifndef CAI_PY_LIMITED_H
#define CAI_PY_LIMITED_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#define PyBytes_AS_STRING PyBytes_AsString
#define PyBytes_GET_SIZE PyBytes_Size
#define PyDict_GET_SIZE PyDict_Size
#define PyList_GET_SIZE PyList_Size
#define PyTuple_GET_ITEM PyTuple_GetItem
#define PyTuple_GET_SIZE PyTuple_Size
#define PyTuple_SET_ITEM PyTuple_SetItem

static inline int cai_py_optional_attribute(PyObject *object, PyObject *name, PyObject **out) {
  return PyObject_GetOptionalAttr(object, name, out);
}

/* What type's own descriptor says of a class, whatever its metaclass says: a new reference. */
static PyObject *cai_py_of_type(PyTypeObject *type, const char *name) {
  PyObject *const all = PyObject_GetAttrString((PyObject *)&PyType_Type, "__dict__");
  PyObject *const descriptor = all ? PyMapping_GetItemString(all, name) : NULL;
  PyObject *const value =
      descriptor ? PyObject_CallMethod(descriptor, "__get__", "O", (PyObject *)type) : NULL;
  Py_XDECREF(descriptor);
  Py_XDECREF(all);
  return value;
}

static PyObject *cai_py_classes(PyTypeObject *type) {
  return cai_py_of_type(type, "__mro__");
}

static PyObject *cai_py_own_attribute(PyTypeObject *type, PyObject *name) {
  PyObject *const dict = cai_py_of_type(type, "__dict__");
  PyObject *value = NULL;
  if (dict) (void)PyMapping_GetOptionalItem(dict, name, &value);
  Py_XDECREF(dict);
  return value;
}

static int cai_py_class_has(PyTypeObject *type, PyObject *name) {
  PyObject *const classes = cai_py_classes(type);
  const Py_ssize_t count = classes ? PyTuple_Size(classes) : 0;
  PyObject *value = NULL;
  int found;
  for (Py_ssize_t i = 0; i < count && !value; ++i)
    value = cai_py_own_attribute((PyTypeObject *)PyTuple_GetItem(classes, i), name);
  found = value && value != Py_None;
  Py_XDECREF(value);
  Py_XDECREF(classes);
  PyErr_Clear(); /* of memory */
  return found;
}

static inline int cai_py_weakly_refers_to(PyObject *weak, PyObject *object) {
  PyObject *found = NULL;
  (void)PyWeakref_GetRef(weak, &found);
  Py_XDECREF(found); /* the caller has a reference, too, if it is this object */
  return found == object;
}

static inline unsigned cai_py_type_tag(PyTypeObject *type) {
  return (PyType_GetFlags(type) & Py_TPFLAGS_IMMUTABLETYPE) != 0;
}

/* A class written in Python has no module before its name there, and one of C mostly has. */
static const char *cai_py_type_name(PyTypeObject *type) {
  static PyObject *last;
  const char *utf8;
  Py_XDECREF(last);
  last = PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE ? PyType_GetName(type)
                                                     : PyType_GetFullyQualifiedName(type);
  utf8 = last ? PyUnicode_AsUTF8AndSize(last, NULL) : NULL;
  if (!utf8) PyErr_Clear();
  return utf8 ? utf8 : "?";
}

static inline int cai_py_small_int(PyObject *number, uint64_t *out) {
  int overflow;
  *out = (uint64_t)PyLong_AsLongLongAndOverflow(number, &overflow);
  return !overflow;
}

static inline const char *cai_py_plain_text(PyObject *text, Py_ssize_t *length) {
  const char *const utf8 = PyUnicode_AsUTF8AndSize(text, length);
  if (!utf8) PyErr_Clear();
  return utf8;
}

/* Only a thread that may run Python has a dict of its own; to ask for it is always allowed. */
static inline int cai_py_may_run(PyInterpreterState *interpreter) {
  return PyThreadState_GetDict() && PyInterpreterState_Get() == interpreter;
}

static traverseproc cai_py_base_traverse, cai_py_own_traverse;
static inquiry cai_py_base_clear, cai_py_own_clear;

static int cai_py_traverse(PyObject *self, visitproc visit, void *arg) {
  return cai_py_own_traverse(self, visit, arg);
}

static int cai_py_clear(PyObject *self) {
  return cai_py_own_clear(self);
}

static inline void cai_py_replace_gc(PyTypeObject *type, traverseproc traverse, inquiry clear) {
  (void)type;
  cai_py_own_traverse = traverse;
  cai_py_own_clear = clear;
}

/* A type's functions cannot be replaced once it has been made, but in what it is made of. */
static inline PyObject *cai_py_make_type(PyObject *module, PyType_Spec *spec, PyObject *bases) {
  PyType_Slot *slot = spec->slots;
  for (; slot->slot && strcmp(spec->name, "libcai._core.Array") == 0; ++slot) {
    if (slot->slot == Py_tp_traverse) {
      cai_py_base_traverse = (traverseproc)slot->pfunc;
      slot->pfunc = (void *)cai_py_traverse;
    } else if (slot->slot == Py_tp_clear) {
      cai_py_base_clear = (inquiry)slot->pfunc;
      slot->pfunc = (void *)cai_py_clear;
    }
  }
  return PyType_FromModuleAndSpec(module, spec, bases);
}
#define PyType_FromModuleAndSpec cai_py_make_type

#endif
