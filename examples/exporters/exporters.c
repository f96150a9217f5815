/* SPDX-License-Identifier: BSD-3-Clause */
/* Three Python types that hand their arrays to compiled code, each in another way. Nothing of
 * libcai's is linked, and its headers are all that is used:
 *
 *   Described  has cai/exchange.h's table, with all but `order`
 *   Ordered    has DLPack's table, and cai/exchange.h's with `order` alone
 *   Tensor     has DLPack's table alone
 *
 * All are made alike, of memory that another object owns: NAME(address, shape, device=(type, id),
 * stream=None, readonly=False, owner=None), of float32 in C order. `uses` of a Described are those
 * that it was told of. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>

#include <cai/dlpack_abi.h>
#include <cai/exchange.h>

enum { MOST_DIMS = 8 };

typedef struct {
  PyObject_HEAD uint64_t address, stream; /* stream 0: none */
  int64_t shape[MOST_DIMS], steps[MOST_DIMS];
  int ndim, device_type, device_id, readonly;
  PyObject *owner, *uses;
} Exporter;

static PyTypeObject Described_Type, Ordered_Type, Tensor_Type;

/* ---- cai/exchange.h ------------------------------------------------------------------------- */

static int32_t describe(void *object, cai_array *out, int64_t *dims) {
  const Exporter *const self = (const Exporter *)object;
  const cai_array array = {
      .abi_major = CAI_ABI_MAJOR,
      .abi_minor = CAI_ABI_MINOR,
      .flags = self->readonly ? CAI_FLAG_READONLY : 0,
      .data = self->address,
      .device_type = self->device_type,
      .device_id = self->device_id,
      .dtype = {.kind = 'f', .byteorder = '<', .itemsize = 4},
      .ndim = self->ndim,
      .shape = self->shape,
      .strides = dims,
      .stream = self->stream,
      .stream_kind = self->stream ? CAI_STREAM_STREAM : CAI_STREAM_NONE,
      .version = CAI_INTERFACE_VERSION,
  };
  for (int i = 0; i < self->ndim; ++i) dims[i] = 4 * self->steps[i];
  *out = array;
  return 0;
}

static int32_t order(void *object, cai_exchange_order *out) {
  const Exporter *const self = (const Exporter *)object;
  out->stream = self->stream;
  out->stream_kind = self->stream ? CAI_STREAM_STREAM : CAI_STREAM_NONE;
  out->flags = self->readonly ? CAI_FLAG_READONLY : 0;
  return 0;
}

/* A type that reuses its memory would have its stream wait for `stream` before it does. */
static int32_t used(void *object, uint64_t stream, uint32_t access) {
  Exporter *const self = (Exporter *)object;
  PyObject *const use = Py_BuildValue("(Ks)", (unsigned long long)stream,
                                      access == CAI_ACCESS_WRITE ? "write" : "read");
  const int failed = !use || PyList_Append(self->uses, use) < 0;
  Py_XDECREF(use);
  return failed ? -1 : 0;
}

/* What holds an array that was wrapped: a capsule, whose end is the holder's. */
static void release_array(PyObject *capsule) {
  cai_array_release((cai_array *)PyCapsule_GetPointer(capsule, "exporters.array"));
}

static int32_t wrap(cai_array *array, void **out) {
  Exporter *self;
  if (array->dtype.kind != 'f' || array->dtype.itemsize != 4 || array->ndim > MOST_DIMS) {
    PyErr_SetString(PyExc_BufferError, "a Described is of float32, in at most 8 dimensions");
    return -1;
  }
  self = (Exporter *)Described_Type.tp_alloc(&Described_Type, 0);
  if (!self) return -1;
  self->uses = PyList_New(0);
  self->owner = PyCapsule_New(array, "exporters.array", NULL);
  if (!self->uses || !self->owner) {
    Py_DECREF(self);
    return -1;
  }
  PyCapsule_SetDestructor(self->owner, release_array); /* from here on, the holder is ours */
  self->address = array->data;
  self->device_type = array->device_type;
  self->device_id = array->device_id;
  self->readonly = (array->flags & CAI_FLAG_READONLY) != 0;
  self->stream = array->stream;
  self->ndim = array->ndim;
  for (int i = 0; i < array->ndim; ++i) {
    self->shape[i] = array->shape[i];
    self->steps[i] = array->strides[i] / 4;
  }
  *out = self;
  return 0;
}

static const cai_exchange_api described_api = {
    .struct_size = sizeof(cai_exchange_api),
    .abi_major = CAI_ABI_MAJOR,
    .abi_minor = CAI_ABI_MINOR,
    .describe = describe,
    .used = used,
    .wrap = wrap,
};

static const cai_exchange_api ordered_api = {
    .struct_size = sizeof(cai_exchange_api),
    .abi_major = CAI_ABI_MAJOR,
    .abi_minor = CAI_ABI_MINOR,
    .order = order,
};

/* ---- DLPack's table ------------------------------------------------------------------------- */

static int borrow_tensor(void *object, DLTensor *out) {
  Exporter *const self = (Exporter *)object;
  const DLTensor tensor = {
      .data = (void *)(uintptr_t)self->address,
      .device = {(DLDeviceType)self->device_type, self->device_id},
      .ndim = self->ndim,
      .dtype = {kDLFloat, 32, 1},
      .shape = self->shape,
      .strides = self->steps,
  };
  *out = tensor;
  return 0;
}

/* On any thread. */
static void end_tensor(DLManagedTensorVersioned *tensor) {
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF((PyObject *)tensor->manager_ctx);
  PyGILState_Release(state);
  free(tensor);
}

static int make_tensor(void *object, DLManagedTensorVersioned **out) {
  DLManagedTensorVersioned *const tensor = (DLManagedTensorVersioned *)calloc(1, sizeof *tensor);
  if (!tensor) {
    PyErr_NoMemory();
    return -1;
  }
  tensor->version.major = DLPACK_MAJOR_VERSION;
  tensor->version.minor = DLPACK_MINOR_VERSION;
  tensor->flags = ((Exporter *)object)->readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  tensor->deleter = end_tensor;
  tensor->manager_ctx = object;
  Py_INCREF((PyObject *)object);
  borrow_tensor(object, &tensor->dl_tensor);
  *out = tensor;
  return 0;
}

/* This library has no current stream: an Ordered says more by its own table. */
static int current_stream(DLDeviceType type, int32_t id, void **out) {
  (void)type;
  (void)id;
  *out = NULL;
  return 0;
}

static const DLPackExchangeAPI dlpack_api = {
    .header = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}},
    .managed_tensor_from_py_object_no_sync = make_tensor,
    .dltensor_from_py_object_no_sync = borrow_tensor,
    .current_work_stream = current_stream,
};

/* ---- The types ------------------------------------------------------------------------------ */

static int exporter_init(PyObject *object, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"address", "shape", "device", "stream", "readonly", "owner", NULL};
  Exporter *const self = (Exporter *)object;
  unsigned long long address;
  PyObject *shape, *stream = Py_None, *owner = Py_None;
  self->device_type = CAI_DEVICE_CUDA;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "KO!|(ii)OpO", names, &address,
                                   &PyTuple_Type, &shape, &self->device_type, &self->device_id,
                                   &stream, &self->readonly, &owner))
    return -1;
  if (PyTuple_GET_SIZE(shape) > MOST_DIMS) {
    PyErr_SetString(PyExc_ValueError, "shape: at most 8 dimensions");
    return -1;
  }
  self->address = address;
  self->ndim = (int)PyTuple_GET_SIZE(shape);
  for (int i = self->ndim; i-- > 0;) {
    self->shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    self->steps[i] = i + 1 < self->ndim ? self->steps[i + 1] * self->shape[i + 1] : 1;
  }
  if (stream != Py_None) self->stream = PyLong_AsUnsignedLongLong(stream);
  if (PyErr_Occurred()) return -1;
  Py_INCREF(owner);
  Py_XSETREF(self->owner, owner);
  Py_XSETREF(self->uses, PyList_New(0));
  return self->uses ? 0 : -1;
}

static int exporter_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(((Exporter *)object)->owner);
  Py_VISIT(((Exporter *)object)->uses);
  return 0;
}

static int exporter_clear(PyObject *object) {
  Py_CLEAR(((Exporter *)object)->owner);
  Py_CLEAR(((Exporter *)object)->uses);
  return 0;
}

static void exporter_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  exporter_clear(object);
  Py_TYPE(object)->tp_free(object);
}

static PyObject *exporter_uses(PyObject *object, void *unused) {
  PyObject *const uses = ((Exporter *)object)->uses;
  (void)unused;
  return uses ? PySequence_List(uses) : PyList_New(0);
}

static PyGetSetDef getters[] = {
    {"uses", exporter_uses, NULL, "what it was told of: (stream, access)", NULL}, {0}};

static int add(PyObject *module, PyTypeObject *type, const char *name, const cai_exchange_api *cai,
               const DLPackExchangeAPI *dlpack) {
  PyObject *capsule;
  type->tp_name = name;
  type->tp_basicsize = sizeof(Exporter);
  type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE;
  type->tp_new = PyType_GenericNew;
  type->tp_init = exporter_init;
  type->tp_traverse = exporter_traverse;
  type->tp_clear = exporter_clear;
  type->tp_dealloc = exporter_dealloc;
  type->tp_getset = getters;
  type->tp_dict = PyDict_New(); /* what the type will have besides what is said above */
  if (!type->tp_dict) return -1;
  if (cai) {
    capsule = PyCapsule_New((void *)cai, CAI_EXCHANGE_CAPSULE, NULL);
    if (!capsule || PyDict_SetItemString(type->tp_dict, CAI_EXCHANGE_ATTRIBUTE, capsule)) return -1;
    Py_DECREF(capsule);
  }
  if (dlpack) {
    capsule = PyCapsule_New((void *)dlpack, "dlpack_exchange_api", NULL);
    if (!capsule || PyDict_SetItemString(type->tp_dict, "__dlpack_c_exchange_api__", capsule))
      return -1;
    Py_DECREF(capsule);
  }
  /* PyModule_AddType() takes a type that has a dict for one that is ready. */
  if (PyType_Ready(type) < 0) return -1;
  return PyModule_AddType(module, type);
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "exporters", .m_size = -1};

PyMODINIT_FUNC PyInit_exporters(void) {
  PyObject *const module = PyModule_Create(&definition);
  if (module && (add(module, &Described_Type, "exporters.Described", &described_api, NULL) ||
                 add(module, &Ordered_Type, "exporters.Ordered", &ordered_api, &dlpack_api) ||
                 add(module, &Tensor_Type, "exporters.Tensor", NULL, &dlpack_api))) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
