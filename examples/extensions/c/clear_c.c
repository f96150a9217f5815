/* SPDX-License-Identifier: BSD-3-Clause */
/* A module in plain C that takes arrays from any library, by cai/python.h. Neither libcai nor CUDA
 * is linked.
 *
 *   clear(array, stream=None)   zeros it, on the host or on a GPU
 *   zeros_like(array)           a new array like it, zeroed, of its own type where that can be had
 *   elements(a, b, c)           how many elements three arrays have */
#include <Python.h>
#include <dlfcn.h>
#include <string.h>

#include <cai/python.h>

typedef int (*cuMemsetD8Async_fn)(uint64_t data, unsigned char value, size_t count, void *stream);

static int raise_error(PyObject *kind, const char *text) {
  PyErr_SetString(kind, text);
  return -1;
}

/* The bytes of a contiguous array; -1 and an exception for another one. */
static int64_t bytes_of(const cai_array *array) {
  const int64_t bytes = cai_array_contiguous_nbytes(array);
  if (array->mask) return raise_error(PyExc_ValueError, "a masked array is not cleared");
  if (bytes < 0) return raise_error(PyExc_ValueError, "the array is not C-contiguous");
  return bytes;
}

static int clear_gpu(const cai_array *array, uint64_t stream, size_t bytes) {
  static cuMemsetD8Async_fn cuMemsetD8Async;
  if (!cuMemsetD8Async) {
    void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
    cuMemsetD8Async = driver ? (cuMemsetD8Async_fn)dlsym(driver, "cuMemsetD8Async") : NULL;
    if (!cuMemsetD8Async) return raise_error(PyExc_RuntimeError, "no CUDA driver");
  }
  if (cuMemsetD8Async(array->data, 0, bytes, (void *)(uintptr_t)stream) != 0)
    return raise_error(PyExc_RuntimeError, "cuMemsetD8Async() failed");
  return 0;
}

/* The work goes between the beginning and the end of the use, on its stream; also on the host,
 * where a stream of the CPU's may have work on the array yet. */
static int clear_used(const cai_array *array, uint64_t stream, size_t bytes) {
  cai_use use;
  int done = 0;
  if (stream == UINT64_MAX) return raise_error(PyExc_ValueError, "-1 is no stream");
  if (cai_py->begin(&use, &array, 1, stream, NULL) < 0) return -1;
  if (array->device_type == CAI_DEVICE_CPU)
    memset((void *)(uintptr_t)array->data, 0, bytes);
  else
    done = clear_gpu(array, stream, bytes);
  if (done == 0) done = cai_py->end(&use);
  if (done < 0) cai_py->abandon(&use); /* what was queued, if anything, its owner waits for */
  return done;
}

static int clear_array(PyObject *object, PyObject *on) {
  cai_py_argument argument;
  uint64_t stream;
  int64_t bytes;
  int failed;
  if (cai_py->open(object, CAI_PY_WRITES, &argument) < 0) return -1;
  bytes = bytes_of(argument.array);
  failed = bytes < 0;
  if (!failed && bytes > 0)
    failed = (on == Py_None ? cai_py->current_stream(argument.array, &stream)
                            : cai_py->stream(on, &stream)) < 0 ||
             clear_used(argument.array, stream, (size_t)bytes) < 0;
  cai_py->close(&argument);
  return failed ? -1 : 0;
}

static PyObject *clear(PyObject *module, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"array", "stream", NULL};
  PyObject *object, *stream = Py_None;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O", names, &object, &stream))
    return NULL;
  if (clear_array(object, stream) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *zeros_like(PyObject *module, PyObject *object) {
  cai_py_argument argument;
  PyObject *made;
  (void)module;
  if (cai_py->open(object, 0, &argument) < 0) return NULL;
  made = cai_py->empty_like(object, argument.array->ndim, argument.array->shape, NULL);
  cai_py->close(&argument);
  if (made && clear_array(made, Py_None) < 0) Py_CLEAR(made);
  return made;
}

static PyObject *elements(PyObject *module, PyObject *const *objects, Py_ssize_t count) {
  int64_t total = 0;
  (void)module;
  for (Py_ssize_t i = 0; i < count; ++i) {
    cai_py_argument argument;
    int64_t size = 1;
    if (cai_py->open(objects[i], 0, &argument) < 0) return NULL;
    for (int32_t axis = 0; axis < argument.array->ndim; ++axis) size *= argument.array->shape[axis];
    cai_py->close(&argument);
    total += size;
  }
  return PyLong_FromLongLong(total);
}

static PyMethodDef methods[] = {
    {"clear", (PyCFunction)(void (*)(void))clear, METH_VARARGS | METH_KEYWORDS, "Zeros an array."},
    {"zeros_like", zeros_like, METH_O, "A new array of zeros, like another one."},
    {"elements", (PyCFunction)(void (*)(void))elements, METH_FASTCALL,
     "How many elements some arrays have."},
    {0}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "clear_c", .m_size = -1,
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_clear_c(void) {
  if (cai_py_import() < 0) return NULL;
  return PyModule_Create(&definition);
}
