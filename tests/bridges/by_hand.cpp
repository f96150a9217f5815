// SPDX-License-Identifier: BSD-3-Clause
// A module by cai/python.hpp alone, which never calls cai_py_import(); and a second file of others.
#include <cai/python.hpp>

bool by_hand_knows_libcai();

bool by_hand_knows_libcai() {
  return cai_py != nullptr;
}

static PyObject *ndim(PyObject *, PyObject *object) {
  cai::writable x;
  const int answer = x.try_open(object);
  if (answer < 0) return nullptr;
  if (answer == 1) Py_RETURN_NONE;
  return PyLong_FromLong(x->ndim);
}

static PyObject *own_to_write(PyObject *, PyObject *object) {
  cai_array *array;
  const int answer = cai_py->own(object, CAI_PY_WRITES, &array);
  return answer < 0 ? nullptr : cai::detail::to_python(cai::array::adopt(array));
}

static PyMethodDef methods[] = {
    {"ndim", ndim, METH_O, nullptr}, {"own_to_write", own_to_write, METH_O, nullptr}, {}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "by_hand", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_by_hand() {
  return PyModule_Create(&definition);
}
