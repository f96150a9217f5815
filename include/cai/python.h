/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file python.h
 * For Python modules written in C or C++: from objects to arrays, and back.
 *
 * Include it after Python.h, and call cai_py_import() when the module is imported; then `cai_py`
 * has the functions. The module need not link libcai. The functions are those of the installed
 * libcai package. A newer package works with a module that was compiled with an older header. An
 * older package works with a newer module if the module asks #CAI_PY_HAS for functions beyond the
 * table's minimum, #CAI_PY_API_SIZE.
 *
 * Call all functions with the GIL. A function that returns an int returns 0 on success. On failure
 * it returns -1 with a Python exception set, writes no output, and takes no reference. A function
 * that returns a pointer returns NULL on failure.
 *
 * In C++, cai/python.hpp, cai/nanobind.h and cai/pybind11.h wrap this in constructors, destructors
 * and type casters.
 *
 * @code
 * static PyObject *scale(PyObject *self, PyObject *object) {
 *   cai_py_argument x;
 *   if (cai_py->open(object, CAI_PY_WRITES, &x) < 0) return NULL;
 *   uint64_t stream;
 *   cai_use use;
 *   int failed = cai_py->current_stream(x.array, &stream) < 0 ||
 *                cai_py->begin(&use, &x.array, 1, stream, NULL) < 0;
 *   if (!failed) {
 *     launch(x.array->data, x.array->shape[0], (CUstream)stream);
 *     failed = cai_py->end(&use) < 0;
 *     if (failed) cai_py->abandon(&use);
 *   }
 *   cai_py->close(&x);
 *   if (failed) return NULL;
 *   Py_RETURN_NONE;
 * }
 * @endcode
 */
#ifndef CAI_PYTHON_H
#define CAI_PYTHON_H

#include <Python.h>

#include <cai.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Flags of cai_py_api.open and cai_py_api.own. Since 0.1. */
enum {
  CAI_PY_WRITES = 1 << 0, /**< the array will be written: a read-only array is refused */
  CAI_PY_TRY = 1 << 1     /**< for an object without an array, the function returns 1 and sets no
                               exception; for an invalid array it still returns -1. For callers that
                               then try another overload */
};

/** The array of an object that the caller holds: an argument of a function. Since 0.1. */
typedef struct cai_py_argument {
  const cai_array *array; /**< valid until close(), as long as the caller holds the object */
  void *held;             /**< reserved for close() */
  cai_array described;    /**< where `array` may point */
  Py_buffer buffer;       /**< reserved for open() */
  int64_t dims[2 * CAI_MAX_NDIM];
} cai_py_argument;

/** The functions. It grows at the tail. The first #CAI_PY_API_SIZE bytes are in every table, and
 * none of their functions is NULL. Since 0.1. */
typedef struct cai_py_api {
  uint32_t struct_size; /**< bytes, at least #CAI_PY_API_SIZE */
  uint16_t abi_major;   /**< #CAI_ABI_MAJOR */
  uint16_t abi_minor;   /**< #CAI_ABI_MINOR */

  /** Opens the array of an object, as libcai.asarray() does, but takes a reference only where it
   * must. A libcai.Array is used directly, and closing it does nothing. If the type describes or
   * lends its array, and for a NumPy array, the memory is neither copied nor held.
   *
   * @param flags  #CAI_PY_WRITES, #CAI_PY_TRY
   * @param out    must be closed; need not be initialised. Without CAI_PY_WRITES the array may be
   *               marked read-only although the object is not */
  int (*open)(PyObject *object, uint32_t flags, cai_py_argument *out);

  /** Closes an argument of open(). An exception that is set stays. */
  void (*close)(cai_py_argument *argument);

  /** Returns an owned array of an object.
   *
   * @param flags  as for open()
   * @param out    the array; the caller owns one reference, and releases it with
   *               cai_array_release() on any thread */
  int (*own)(PyObject *object, uint32_t flags, cai_array **out);

  /** Makes a libcai.Array of an owned array. On success it takes over one reference. */
  PyObject *(*wrap)(cai_array *array);

  /** Makes an array for a result, on `like`'s device, in C order and uninitialised. If
   * `like`'s type has a DLPack table with an allocator, the result is of that type, and allocated
   * by it, in the order of that library. Else the memory is libcai's, ordered on current_stream(),
   * and the result is of `like`'s type if that wraps libcai's arrays (#cai_exchange_api), else a
   * libcai.Array. Write to it within a use, which knows the order of both.
   *
   * @param like   what open() takes
   * @param shape  `ndim` extents, elements; may be NULL if ndim is 0
   * @param dtype  NULL: the dtype of `like` */
  PyObject *(*empty_like)(PyObject *like, int32_t ndim, const int64_t *shape,
                          const cai_dtype *dtype);

  /** Parses a stream as libcai.use() takes it: 1, 2, a CUstream, or an object that has one.
   *
   * @param out  UINT64_MAX for -1, no order at all */
  int (*stream)(PyObject *object, uint64_t *out);

  /** Returns libcai's current stream of the array's device; 1 for arrays on the host. NULL is
   * refused. */
  int (*current_stream)(const cai_array *array, uint64_t *out);

  /** cai_use_begin(), with the GIL released. Call it for arrays on the host, too: CPU streams may
   * have pending work on them. The arrays must not be closed before the use is over.
   *
   * @param use     receives the open use; on failure it is not open
   * @param stream  must live until the use is ended, finished or abandoned; UINT64_MAX: nothing is
   *                done, and the use is not open */
  int (*begin)(cai_use *use, const cai_array *const *arrays, int32_t count, uint64_t stream,
               const cai_use_options *options);

  /** cai_use_end(), likewise. On failure the use is still open: end it again, or finish() or
   * abandon() it. */
  int (*end)(cai_use *use);

  /** cai_use_finish(), likewise, for work that is complete or was never queued. An exception that
   * is set stays, unless this fails.
   *
   * @param wait  not 0: the host waits for the stream first */
  int (*finish)(cai_use *use, int32_t wait);

  /** cai_use_abandon(), likewise: the last resort, which does not fail. An exception that is set
   * stays. Call libcai.drain(wait=True) in Python before other code uses the arrays. */
  void (*abandon)(cai_use *use);

  /** Sets the exception for an error that a function of libcai has written; returns -1. */
  int (*raise)(const cai_error *error);
} cai_py_api;

/** The minimum of cai_py_api.struct_size, bytes: all up to `raise`; it never changes. Since 0.1. */
enum { CAI_PY_API_SIZE = 104 };

/** The functions, once cai_py_import() has succeeded: in this file or, in C++17 and later, in any
 * file of the module. Since 0.1. */
#if defined(__cplusplus) && __cplusplus >= 201703L
inline const cai_py_api *cai_py __attribute__((visibility("hidden")));
#else
static const cai_py_api *cai_py;
#endif

/** Whether the functions were found, and `member` is one of them; for functions beyond
 * #CAI_PY_API_SIZE. Since 0.1. */
#define CAI_PY_HAS(member)                                                                   \
  (cai_py && cai_py->struct_size >= offsetof(cai_py_api, member) + sizeof(cai_py->member) && \
   cai_py->member)

/** Imports libcai and finds its functions; returns 0, or -1 with an exception set. Call it in the
 * function that initialises the module, and from each other file that has a `cai_py` of its own.
 * Since 0.1. */
static inline int cai_py_import(void) {
  PyObject *const module = PyImport_ImportModule("libcai._core");
  PyObject *const capsule = module ? PyObject_GetAttrString(module, "_C_API") : NULL;
  const cai_py_api *const api =
      capsule ? (const cai_py_api *)PyCapsule_GetPointer(capsule, "libcai._core._C_API") : NULL;
  Py_XDECREF(capsule);
  Py_XDECREF(module);
  if (!api) return -1;
  if (api->abi_major != CAI_ABI_MAJOR || api->struct_size < CAI_PY_API_SIZE) {
    PyErr_SetString(PyExc_ImportError, "the installed libcai is older than this module wants");
    return -1;
  }
  cai_py = api;
  return 0;
}

#ifdef __cplusplus
}
#endif

#endif
