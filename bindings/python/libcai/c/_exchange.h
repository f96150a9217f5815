/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of functions that types offer, found once for each type: cai/exchange.h, and DLPack's.
 * All of it with the GIL. */
#ifndef CAI_PY_EXCHANGE_H
#define CAI_PY_EXCHANGE_H

#include <Python.h>

#include "_compat.h"
#include "_owner.h"
#include "cai/dlpack.h"
#include "cai/exchange.h"
#include "cai/python.h"

/* What a type offers. `weak` is a weak reference to it, which tells it from a later one that comes
 * to its address: who has seen an object keeps no class of it alive, nor what that refers to. `tag`
 * changes when the type, or what it inherits from, does. */
typedef struct cai_py_tables {
  PyObject *weak; /* null: there is none in this place */
  unsigned tag;
  const cai_exchange_api *cai;
  const DLPackExchangeAPI *dlpack;
  int is_torch; /* PyTorch's: some of its tensors are not in memory what they are */
} cai_py_tables;

/* Types share a place by address, and the last one has it: programs use few. */
enum { CAI_PY_TYPES = 256, CAI_PY_OLDER = 16 };
static cai_py_tables cai_py_types[CAI_PY_TYPES];
static PyObject *cai_py_exchange_name;

static int cai_py_exchange_open(void) {
  cai_py_exchange_name = PyUnicode_InternFromString(CAI_EXCHANGE_ATTRIBUTE);
  return cai_py_exchange_name ? 0 : -1;
}

/* 1 and the address in a type's attribute, 0 if it has none, or -1. DLPack 1.2 had an int there
 * (`ignore_int`): nothing tells an address from any other number, so that is as good as none. */
static int cai_py_type_table(PyTypeObject *type, const char *name, const char *capsule,
                             int ignore_int, const void **out) {
  PyObject *const key = PyUnicode_InternFromString(name);
  PyObject *const value = key ? cai_py_own_attribute(type, key) : NULL;
  *out = NULL;
  Py_XDECREF(key);
  if (!value || value == Py_None || (ignore_int && PyLong_CheckExact(value))) {
    Py_XDECREF(value);
    return PyErr_Occurred() ? -1 : 0;
  }
  if (PyCapsule_IsValid(value, capsule)) {
    *out = PyCapsule_GetPointer(value, capsule);
  } else {
    PyErr_Format(PyExc_TypeError, "%s.%s is no capsule named \"%s\"", cai_py_type_name(type), name,
                 capsule);
  }
  Py_DECREF(value);
  if (PyErr_Occurred()) return -1;
  return *out != NULL;
}

/* The table of our major, or NULL. */
static const cai_exchange_api *cai_py_of_our_major(const cai_exchange_api *api) {
  int tries;
  for (tries = 0; api && tries < CAI_PY_OLDER; ++tries, api = api->older) {
    if (api->struct_size < offsetof(cai_exchange_api, describe)) return NULL;
    if (api->abi_major == CAI_ABI_MAJOR) return api;
  }
  return NULL;
}

static const DLPackExchangeAPI *cai_py_of_dlpacks_major(const DLPackExchangeAPIHeader *api) {
  int tries;
  for (tries = 0; api && tries < CAI_PY_OLDER; ++tries, api = api->prev_api)
    if (api->version.major == DLPACK_MAJOR_VERSION) return (const DLPackExchangeAPI *)api;
  return NULL;
}

static int cai_py_is_of_torch(PyTypeObject *type) {
  PyObject *const module = PyObject_GetAttrString((PyObject *)type, "__module__");
  const int answer =
      module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "torch") == 0;
  Py_XDECREF(module);
  PyErr_Clear();
  return answer;
}

/* Whether objects of a type are PyTorch's tensors, or of a subclass. */
static int cai_py_is_torch(PyTypeObject *type) {
  PyObject *const classes = cai_py_classes(type);
  const Py_ssize_t count = classes ? PyTuple_GET_SIZE(classes) : 0;
  int found = 0;
  for (Py_ssize_t i = 0; i < count && !found; ++i) {
    PyTypeObject *const base = (PyTypeObject *)PyTuple_GET_ITEM(classes, i);
    found = strcmp(cai_py_type_name(base), "Tensor") == 0 && cai_py_is_of_torch(base);
  }
  Py_XDECREF(classes);
  PyErr_Clear(); /* of memory */
  return found;
}

static int cai_py_find_tables(PyTypeObject *type, cai_py_tables *out) {
  const void *table = NULL;
  int found = cai_py_type_table(type, CAI_EXCHANGE_ATTRIBUTE, CAI_EXCHANGE_CAPSULE, 0, &table);
  if (found < 0) return -1;
  out->cai = found ? cai_py_of_our_major((const cai_exchange_api *)table) : NULL;
  found = cai_py_type_table(type, "__dlpack_c_exchange_api__", "dlpack_exchange_api", 0, &table);
  if (!found) {
    found = cai_py_type_table(type, "__c_dlpack_exchange_api__", "dlpack_exchange_api", 1, &table);
  }
  if (found < 0) return -1;
  out->dlpack = found ? cai_py_of_dlpacks_major((const DLPackExchangeAPIHeader *)table) : NULL;
  out->is_torch = cai_py_is_torch(type);
  return 0;
}

static int cai_py_is_place_of(const cai_py_tables *place, PyTypeObject *type) {
  return place->weak && cai_py_weakly_refers_to(place->weak, (PyObject *)type) &&
         place->tag == cai_py_type_tag(type);
}

static int cai_py_fill_tables(PyTypeObject *type, cai_py_tables *place, cai_py_tables *out) {
  PyObject *before;
  /* A lookup gives the type its tag, if it can have one. */
  (void)cai_py_class_has(type, cai_py_exchange_name);
  out->tag = cai_py_type_tag(type);
  if (cai_py_find_tables(type, out) < 0) return -1;
  out->weak = NULL;
  if (out->tag == 0 || out->tag != cai_py_type_tag(type)) return 0;
  out->weak = PyWeakref_NewRef((PyObject *)type, NULL);
  if (!out->weak) return -1;
  before = place->weak;
  *place = *out;
  Py_XDECREF(before);
  return 0;
}

/* Fills in what a type offers: 0, or -1 with an exception. */
static inline int cai_py_tables_of(PyTypeObject *type, cai_py_tables *out) {
  const uintptr_t address = (uintptr_t)type;
  cai_py_tables *const place = &cai_py_types[(address >> 4 ^ address >> 12) % CAI_PY_TYPES];
  if (!cai_py_is_place_of(place, type)) return cai_py_fill_tables(type, place, out);
  *out = *place;
  return 0;
}

/* What a function of a table has answered: 0 is success, -1 an exception. It may have said neither,
 * or both. */
static int cai_py_answer(PyObject *object, const char *function, int32_t answer) {
  if (PyErr_Occurred()) return -1;
  if (answer == 0) return 0;
  PyErr_Format(PyExc_SystemError, "%s() of %s's table failed, and set no exception", function,
               cai_py_type_name(Py_TYPE(object)));
  return -1;
}

static int cai_py_describes(const cai_exchange_api *api) {
  return api && CAI_EXCHANGE_HAS(api, describe) != NULL;
}

static int cai_py_hands_out(const cai_exchange_api *api) {
  return api && CAI_EXCHANGE_HAS(api, own) != NULL;
}

static int cai_py_gives_arrays(const cai_exchange_api *api) {
  return cai_py_hands_out(api) || cai_py_describes(api);
}

static int cai_py_orders(const cai_exchange_api *api) {
  return api && CAI_EXCHANGE_HAS(api, order) != NULL;
}

static int cai_py_wants_told(const cai_exchange_api *api) {
  return api && CAI_EXCHANGE_HAS(api, used) != NULL;
}

static int cai_py_describe(const cai_exchange_api *api, PyObject *object, cai_array *out,
                           int64_t *dims) {
  return cai_py_answer(object, "describe", api->describe(object, out, dims));
}

/* Ends what a table's function has returned, and the caller does not take. With the GIL, which is
 * let go where the driver may be needed. An invalid table may return any owner. */
static void cai_py_refuse_owner(cai_owner *owner) {
  if (!owner || owner->struct_size < offsetof(cai_owner, used_on) || !owner->release) return;
  cai_py_release_here(owner);
}
static void cai_py_end_tensor(DLManagedTensorVersioned *tensor) {
  PyThreadState *state;
  if (!tensor || !tensor->deleter) return;
  state = cai_py_let_go_gil((int32_t)tensor->dl_tensor.device.device_type);
  tensor->deleter(tensor);
  cai_py_take_gil(state);
}

static int cai_py_hand_out(const cai_exchange_api *api, PyObject *object, cai_array **out) {
  int32_t answer;
  *out = NULL;
  answer = api->own(object, out);
  if (cai_py_answer(object, "own", answer) == 0 && *out && (*out)->owner) return 0;
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_SystemError, "own() of %s's table returned no owned array",
                 cai_py_type_name(Py_TYPE(object)));
  if (answer == 0 && *out) cai_py_refuse_owner((*out)->owner);
  return -1;
}

static int cai_py_order_of(const cai_exchange_api *api, PyObject *object, cai_exchange_order *out) {
  return cai_py_answer(object, "order", api->order(object, out));
}

static int cai_py_gives_tensors(const DLPackExchangeAPI *api) {
  return api && api->managed_tensor_from_py_object_no_sync;
}

static int cai_py_take_tensor(const DLPackExchangeAPI *api, PyObject *object,
                              DLManagedTensorVersioned **out) {
  int answer;
  *out = NULL;
  answer = api->managed_tensor_from_py_object_no_sync(object, out);
  if (cai_py_answer(object, "managed_tensor_from_py_object_no_sync", answer) == 0 && *out) return 0;
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_SystemError, "%s's table returned no tensor",
                 cai_py_type_name(Py_TYPE(object)));
  if (answer == 0) cai_py_end_tensor(*out);
  return -1;
}

static int cai_py_working(const DLPackExchangeAPI *api, PyObject *object, int32_t type, int32_t id,
                          uint64_t *out) {
  void *stream = NULL;
  if (!api->current_work_stream) return 0;
  if (cai_py_answer(object, "current_work_stream",
                    api->current_work_stream((DLDeviceType)type, id, &stream)) < 0)
    return -1;
  *out = (uint64_t)(uintptr_t)stream;
  return 0;
}

static int cai_py_lends(const cai_py_tables *tables) {
  return tables->dlpack && tables->dlpack->dltensor_from_py_object_no_sync;
}

static int cai_py_borrow_tensor(const DLPackExchangeAPI *api, PyObject *object, DLTensor *out) {
  return cai_py_answer(object, "dltensor_from_py_object_no_sync",
                       api->dltensor_from_py_object_no_sync(object, out));
}

/* What made an object of a type has given: a new reference, or NULL and an exception. */
static PyObject *cai_py_made(PyObject *like, const char *function, int32_t answer, void *object) {
  if (cai_py_answer(like, function, answer) < 0) return NULL;
  if (!object)
    PyErr_Format(PyExc_SystemError, "%s() of %s's table returned nothing", function,
                 cai_py_type_name(Py_TYPE(like)));
  return (PyObject *)object;
}

static int cai_py_wraps(const cai_exchange_api *api) {
  return api && CAI_EXCHANGE_HAS(api, wrap) != NULL;
}

/* Releases a reference, and keeps the exception that is set. */
static void cai_py_let_go_of(cai_owner *owner) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  cai_py_release_here(owner);
  PyErr_Restore(type, value, traceback);
}

/* Drops an object that was made, and is refused for the exception that was set, too. */
static void cai_py_drop_made(void *object) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Py_DECREF((PyObject *)object);
  PyErr_Restore(type, value, traceback);
}

/* Takes over the reference to `array`, also on failure. */
static PyObject *cai_py_wrap_like(const cai_exchange_api *api, PyObject *like, cai_array *array) {
  void *object = NULL;
  const int32_t answer = api->wrap(array, &object);
  PyObject *const made = cai_py_made(like, "wrap", answer, object);
  if (!made && answer == 0 && object)
    cai_py_drop_made(object); /* with the reference, which is the object's */
  else if (!made)
    cai_py_let_go_of(array->owner);
  return made;
}

static int cai_py_allocates(const DLPackExchangeAPI *api) {
  return api && api->managed_tensor_allocator && api->managed_tensor_to_py_object_no_sync;
}

static void cai_py_set_error(void *unused, const char *kind, const char *message) {
  (void)unused;
  PyErr_Format(PyExc_RuntimeError, "%s: %s", kind ? kind : "the allocator", message ? message : "");
}

/* A new object of `like`'s type, made by that type's own functions. */
static PyObject *cai_py_allocate_like(const DLPackExchangeAPI *api, PyObject *like,
                                      DLTensor *prototype) {
  DLManagedTensorVersioned *tensor = NULL;
  void *object = NULL;
  PyObject *made;
  int answer = api->managed_tensor_allocator(prototype, &tensor, NULL, cai_py_set_error);
  if (!cai_py_made(like, "managed_tensor_allocator", answer, tensor)) {
    if (answer == 0) cai_py_end_tensor(tensor);
    return NULL;
  }
  answer = api->managed_tensor_to_py_object_no_sync(tensor, &object);
  made = cai_py_made(like, "managed_tensor_to_py_object_no_sync", answer, object);
  if (!made && answer == 0 && object)
    cai_py_drop_made(object); /* with the tensor, which is the object's */
  else if (!made)
    cai_py_end_tensor(tensor);
  return made;
}

/* An exception as what C is told. With the GIL. */
static cai_status cai_py_take_failure(cai_error *error) {
  PyObject *const exception = cai_py_take_exception();
  PyObject *const text = PyObject_Str(exception);
  const char *const utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  cai_error failure = {.status = CAI_ERR_ORDER, .index = -1};
  snprintf(failure.message, sizeof failure.message,
           "the exporter was told of a use, and raised %s: %.150s",
           cai_py_type_name(Py_TYPE(exception)), utf8 ? utf8 : "");
  PyErr_Clear();
  Py_XDECREF(text);
  Py_DECREF(exception);
  if (error) *error = failure;
  return failure.status;
}

/* For an owner's used_on where the exporter keeps uses itself: tells it, then keeps the use here,
 * too, for the block's own end. On any thread, without the GIL. */
static cai_status cai_py_tell_used(cai_owner *self, uint64_t stream, uint32_t access,
                                   cai_error *error) {
  cai_py_block *const block = (cai_py_block *)self;
  cai_status status = CAI_OK;
  cai_py_come_in(&cai_py_blocks);
  if (!cai_py_is_closing(&cai_py_blocks)) {
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *const exporter = Py_XNewRef(block->exporter);
    cai_py_tables tables;
    if (exporter &&
        (cai_py_tables_of(Py_TYPE(exporter), &tables) < 0 ||
         (cai_py_wants_told(tables.cai) &&
          cai_py_answer(exporter, "used", tables.cai->used(exporter, stream, access)) < 0)))
      status = cai_py_take_failure(error);
    Py_XDECREF(exporter);
    PyGILState_Release(state);
  }
  cai_py_go_out(&cai_py_blocks);
  return status == CAI_OK ? cai_owner_used_on(self, stream, access, error) : status;
}

/* A block with a copy of an array that has no mask and no descr. NULL if there is no memory. */
static cai_py_block *cai_py_block_copy(const cai_array *array) {
  const size_t size = (size_t)array->ndim * sizeof(int64_t);
  cai_py_block *const block = cai_py_block_new(2 * size);
  int64_t *dims;
  if (!block) return NULL;
  dims = (int64_t *)cai_py_block_storage(block);
  if (size) memcpy(dims, array->shape, size);
  if (size) memcpy(dims + array->ndim, array->strides, size);
  block->array = *array;
  block->array.shape = dims;
  block->array.strides = dims + array->ndim;
  return block;
}

/* The bytes of a letter of PEP 3118, in C's sizes or the standard ones; 0 if it has none. */
static Py_ssize_t cai_py_letter_size(char letter, int standard) {
  if (strchr("?bBcs", letter)) return 1;
  if (strchr("hHe", letter)) return 2;
  if (strchr("iIfw", letter)) return 4;
  if (strchr("qQd", letter)) return 8;
  if (strchr("lL", letter)) return standard ? 4 : (Py_ssize_t)sizeof(long);
  if (strchr("nN", letter)) return standard ? 0 : (Py_ssize_t)sizeof(Py_ssize_t);
  /* No size of it is standard: who states its order means C's all the same. */
  return letter == 'g' ? (Py_ssize_t)sizeof(long double) : 0;
}

/* The type of a buffer's items, PEP 3118: 1, or 0 for a format that is no type of an array's, or
 * whose items are not of the buffer's size. */
static int cai_py_buffer_dtype(const Py_buffer *buffer, cai_dtype *out) {
  const char *format = buffer->format ? buffer->format : "B";
  const char order = *format;
  Py_ssize_t count = 0, size;
  int counted = 0;
  if (buffer->itemsize > UINT32_MAX) return 0;
  out->ext = out->time_unit = 0;
  out->time_step = 0;
  out->itemsize = (uint32_t)buffer->itemsize;
  if (order && strchr("@=<>!^", order)) ++format;
  for (; *format >= '0' && *format <= '9'; ++format) {
    counted = 1;
    if (count <= buffer->itemsize) count = 10 * count + (*format - '0'); /* more is too much */
  }
  switch (*format) {
    case '?':
      out->kind = 'b';
      break;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      out->kind = 'i';
      break;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      out->kind = 'u';
      break;
    case 'e':
    case 'f':
    case 'd':
    case 'g':
      out->kind = 'f';
      break;
    case 'Z':
      out->kind = 'c';
      ++format;
      if (!*format || !strchr("fdg", *format)) return 0;
      break;
    case 'c':
    case 's':
      out->kind = 'S';
      break;
    case 'w':
      out->kind = 'U';
      break;
    default:
      return 0;
  }
  /* Counted items are strings. Of others there are as many in each item of the array. */
  if (format[1] || (counted && count != 1 && *format != 's' && *format != 'w')) return 0;
  size = cai_py_letter_size(*format, order && strchr("=<>!", order));
  if (out->kind == 'c') size *= 2;
  if (size == 0 || (counted ? count : 1) * size != buffer->itemsize) return 0;
  if (out->itemsize == 1 || out->kind == 'S')
    out->byteorder = '|';
  else
    out->byteorder = order == '>' || order == '!' ? '>' : '<';
  return 1;
}

/* Whether a buffer has pointers to what it consists of. A negative suboffset stands for none. */
static int cai_py_is_indirect(const Py_buffer *buffer) {
  int i;
  for (i = 0; buffer->suboffsets && i < buffer->ndim; ++i)
    if (buffer->suboffsets[i] >= 0) return 1;
  return 0;
}

/* Describes a buffer: 1, or 0 as above, and for one with pointers. */
static int cai_py_buffer_array(const Py_buffer *buffer, cai_array *out) {
  static const cai_array host = {
      .abi_major = CAI_ABI_MAJOR,
      .abi_minor = CAI_ABI_MINOR,
      .device_type = CAI_DEVICE_CPU,
      .stream_kind = CAI_STREAM_NONE,
      .version = CAI_INTERFACE_VERSION,
  };
  *out = host;
  if (cai_py_is_indirect(buffer) || !cai_py_buffer_dtype(buffer, &out->dtype)) return 0;
  if (buffer->readonly) out->flags |= CAI_FLAG_READONLY;
  if (out->dtype.byteorder == '>') out->flags |= CAI_FLAG_SWAPPED;
  out->ndim = buffer->ndim;
  out->shape = (const int64_t *)buffer->shape;
  out->strides = (const int64_t *)buffer->strides;
  out->data = buffer->len ? (uint64_t)(uintptr_t)buffer->buf : 0;
  return 1;
}

/* What __array_struct__ points to: NumPy's array interface, "C-struct access". */
typedef struct cai_py_array_struct {
  int two;
  int ndim;
  char kind;
  int itemsize;
  int flags;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  void *data;
  PyObject *descr;
} cai_py_array_struct;

/* Describes an array of numbers that has elements, as its dict would: 1, or 0 for any other. The
 * strides of one that is contiguous, which the dict leaves out, go to `strides`, CAI_MAX_NDIM. */
static int cai_py_struct_array(PyObject *capsule, cai_array *out, int64_t *strides) {
  enum { CONTIGUOUS = 1, NOT_SWAPPED = 0x200, WRITEABLE = 0x400 };
  const cai_py_array_struct *const given =
      (const cai_py_array_struct *)PyCapsule_GetPointer(capsule, NULL);
  static const cai_array host = {
      .abi_major = CAI_ABI_MAJOR,
      .abi_minor = CAI_ABI_MINOR,
      .device_type = CAI_DEVICE_CPU,
      .stream_kind = CAI_STREAM_NONE,
      .version = CAI_INTERFACE_VERSION,
  };
  int64_t step;
  if (!given) PyErr_Clear();
  /* With fields NumPy clears the flags, too. */
  if (!given || given->two != 2 || !strchr("biufc", given->kind) || given->descr) return 0;
  if (given->ndim < 0 || given->ndim > CAI_MAX_NDIM) return 0;
  *out = host;
  out->data = (uint64_t)(uintptr_t)given->data;
  out->dtype.kind = (uint8_t)given->kind;
  out->dtype.itemsize = (uint32_t)given->itemsize;
  out->dtype.byteorder = given->itemsize == 1 ? '|' : PY_BIG_ENDIAN ? '>' : '<';
  if (!(given->flags & NOT_SWAPPED)) {
    out->dtype.byteorder = PY_BIG_ENDIAN ? '<' : '>';
    out->flags |= CAI_FLAG_SWAPPED;
  }
  if (!(given->flags & WRITEABLE)) out->flags |= CAI_FLAG_READONLY;
  out->ndim = given->ndim;
  out->shape = (const int64_t *)given->shape;
  out->strides = (const int64_t *)given->strides;
  if (given->flags & CONTIGUOUS) {
    out->flags |= CAI_FLAG_STRIDES_NONE;
    out->strides = strides;
  }
  step = given->itemsize;
  for (int32_t i = given->ndim; i-- > 0;) {
    if (given->shape[i] == 0) return 0;
    strides[i] = step;
    step *= given->shape[i];
  }
  return 1;
}

/* Cython takes `obj` for a reference that is its own. */
static inline int cai_py_is_within(const int64_t *values, const int64_t *dims) {
  return (uintptr_t)values - (uintptr_t)dims < 2 * CAI_MAX_NDIM * sizeof *dims;
}

/* A description may point to what the object has, which others may change once they run. It is
 * copied to `dims`, where some of it may be already. */
static inline void cai_py_keep_dims(cai_array *array, int64_t *dims) {
  const int64_t *shape = array->shape, *strides = array->strides;
  const int32_t ndim = array->ndim;
  int64_t kept[CAI_MAX_NDIM];
  if (cai_py_is_within(shape, dims)) {
    if (cai_py_is_within(strides, dims)) return;
    shape = (const int64_t *)memcpy(kept, shape, (size_t)ndim * sizeof *kept);
  } else if (cai_py_is_within(strides, dims)) {
    strides = (const int64_t *)memcpy(kept, strides, (size_t)ndim * sizeof *kept);
  }
  for (int32_t i = 0; i < ndim; ++i) {
    dims[i] = shape[i];
    dims[CAI_MAX_NDIM + i] = strides[i];
  }
  array->shape = dims;
  array->strides = dims + CAI_MAX_NDIM;
}

static void cai_py_no_buffer(Py_buffer *buffer) {
  buffer->obj = NULL;
}
static int cai_py_has_buffer(const Py_buffer *buffer) {
  return buffer->obj != NULL;
}

#endif
