/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file exchange.h
 * A table of functions on a Python type, by which its objects hand their arrays to compiled code
 * without a dict, an attribute of the object, or an allocation. It carries what DLPack's table
 * cannot: the stream, the read-only mark, the owner, and the interface's types and masks.
 *
 * The type has the attribute #CAI_EXCHANGE_ATTRIBUTE: a capsule named #CAI_EXCHANGE_CAPSULE without
 * a destructor, which points to a #cai_exchange_api that never changes, and stays valid until the
 * process ends. Consumers look for the attribute in the type's own dict; a subclass that exports
 * arrays in the same way must repeat it. Neither side needs to link libcai: the header is enough.
 *
 * Each function may be NULL. A type with DLPack's table needs no more than `order`; a type without
 * it has `describe`, or `own`, or both. The functions return 0 on success. On failure they return
 * -1 with a Python exception set, write no output, and take no reference.
 *
 * The caller's thread must be attached to Python (it has the GIL, if there is one), and must hold a
 * reference to the object until the call returns. The object is of exactly the type that has the
 * table. Without a GIL, other threads may call the functions at the same time, with the same
 * object, and change it: a type with mutable objects must lock them while a function runs.
 */
#ifndef CAI_EXCHANGE_H
#define CAI_EXCHANGE_H

#include <cai.h>

/** The attribute of a type, and the name of its capsule. Since 0.1. */
#define CAI_EXCHANGE_ATTRIBUTE "__cai_c_exchange_api__"
#define CAI_EXCHANGE_CAPSULE "cai_exchange_api"

/** Whether a table is long enough to have `member`, and has it. Since 0.1. */
#define CAI_EXCHANGE_HAS(api, member)                                                            \
  ((api)->struct_size >= (uint32_t)((const char *)(&(api)->member + 1) - (const char *)(api)) && \
   (api)->member)

#ifdef __cplusplus
extern "C" {
#endif

/* exchange.h: declarations begin */

/** Where work on an array is pending: the dict's "stream" and "data"[1]. Since 0.1.
 */
typedef struct cai_exchange_order {
  uint64_t stream;      /**< 1, 2, a CUstream or a CUevent; 0 if the kind is NONE or UNSTATED */
  uint32_t stream_kind; /**< CAI_STREAM_* */
  uint32_t flags;       /**< #CAI_FLAG_READONLY, or 0 */
} cai_exchange_order;

/** A type's functions. It grows at the tail. Since 0.1. */
typedef struct cai_exchange_api {
  uint32_t struct_size; /**< bytes that the type filled in, at least 16 */
  uint16_t abi_major;   /**< #CAI_ABI_MAJOR at compile time, and the minor. Of another major */
  uint16_t abi_minor;   /**< no more than the first 16 bytes may be read */
  const struct cai_exchange_api *older; /**< the same for an older major, or NULL */

  /** Describes the object's array, which the object still owns. The description is valid until the
   * caller releases its reference to the object, or any thread changes the object. A consumer that
   * needs the array beyond the call must keep the reference, and rely on other code not giving the
   * object other memory meanwhile, as users of the object itself do; or call `own`.
   *
   * @param out   all of it is written, valid by cai_array_validate(), with `owner` NULL. It points
   *              into `dims`, or into the object if no thread can change that part before the
   *              caller has copied it
   * @param dims  the caller's 2 * #CAI_MAX_NDIM uninitialised elements: room for `shape` and
   *              `strides` */
  int32_t (*describe)(void *object, cai_array *out, int64_t *dims);

  /** Returns where work on the object's array is pending, and whether the array may be written. For
   * a type that has DLPack's table and not `describe`. */
  int32_t (*order)(void *object, cai_exchange_order *out);

  /** Called after a consumer has queued work on the array on `stream`. The type must keep such
   * uses, and wait for them before it works on the memory or reuses it for another array, even if
   * the object ends first.
   *
   * @param stream  1, 2 or a CUstream, of the current context
   * @param access  #CAI_ACCESS_READ or #CAI_ACCESS_WRITE */
  int32_t (*used)(void *object, uint64_t stream, uint32_t access);

  /** Returns an owned array; the caller owns one reference. The array is valid until its last
   * reference is released, on any thread, attached or not, without a reference to the object. If
   * `own` is NULL, use `describe` and keep a reference to the object. */
  int32_t (*own)(void *object, cai_array **out);

  /** Makes an object of the type from an array.
   *
   * @param array  owned; the object takes over one reference on success, which stays the caller's
   *               on failure. The object releases it when it ends
   * @param out    a new reference, to a PyObject */
  int32_t (*wrap)(cai_array *array, void **out);
} cai_exchange_api;

/* exchange.h: declarations end */

#ifdef __cplusplus
}
#endif

#endif
