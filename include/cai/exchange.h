/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file exchange.h
 * A table of functions on a Python type, by which its objects hand their arrays to compiled code:
 * no dict, no attribute of the object, nothing allocated. It says what DLPack's table cannot: the
 * stream, the read-only mark, the owner, types and masks as the interface has them.
 *
 * A type has the attribute #CAI_EXCHANGE_ATTRIBUTE: a capsule named #CAI_EXCHANGE_CAPSULE without a
 * destructor, of a #cai_exchange_api that is never changed, and stays until the process ends. The
 * attribute is looked for in the type's own dict; a subclass that hands out arrays in the same way
 * repeats it. Neither side need link libcai: the header is enough.
 *
 * Each function may be NULL. A type with DLPack's table needs no more than `order`; one without it
 * has `describe`, or `own`, or both. They return 0; or -1 with a Python exception set, and have
 * then written nothing and taken nothing.
 *
 * The caller's thread is attached to Python (it has the GIL, if there is one), and holds a
 * reference to the object, which is of exactly the type that has the table, until the call returns.
 * Without a GIL, other threads may call the functions at the same time, with the same object, and
 * change it: a type whose objects change locks them for as long as a function runs.
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

/** Where work on an array is pending: what the dict says in "stream" and in "data"[1]. Since 0.1.
 */
typedef struct cai_exchange_order {
  uint64_t stream;      /**< 1, 2, a CUstream or a CUevent; 0 if the kind is NONE or UNSTATED */
  uint32_t stream_kind; /**< CAI_STREAM_* */
  uint32_t flags;       /**< #CAI_FLAG_READONLY, or 0 */
} cai_exchange_order;

/** A type's functions. Grows at its end. Since 0.1. */
typedef struct cai_exchange_api {
  uint32_t struct_size; /**< bytes that the type filled in, at least 16 */
  uint16_t abi_major;   /**< #CAI_ABI_MAJOR as it was compiled, then the minor. Of another major: */
  uint16_t abi_minor;   /**< no more than the first 16 bytes may be read */
  const struct cai_exchange_api *older; /**< the same for an older major, or NULL */

  /** Describes the object's array, which stays the object's: valid until the caller gives back its
   * reference to the object, or the object is changed, by whatever thread. So whoever needs the
   * array beyond the call keeps the reference, and relies on nobody giving the object other memory
   * meanwhile, as users of the object itself do; or asks `own`.
   *
   * @param out   all of it is written: as for cai_array_validate(), with `owner` NULL. It
   *              points to `dims`, or to what the object has, if no thread can change that before
   *              the caller has copied it
   * @param dims  2 * #CAI_MAX_NDIM elements of the caller's, not initialised: room for `shape` and
   *              `strides` */
  int32_t (*describe)(void *object, cai_array *out, int64_t *dims);

  /** Says where work on the object's array is pending, and whether it may be written. For a type
   * that has DLPack's table and not `describe`. */
  int32_t (*order)(void *object, cai_exchange_order *out);

  /** Is told that work on the array was queued on `stream`, up to now, by somebody else. The type
   * keeps such uses, and waits for them before it works on the memory or gives it to another array;
   * that the object ends first changes nothing.
   *
   * @param stream  1, 2 or a CUstream, of the context that is current
   * @param access  #CAI_ACCESS_READ or #CAI_ACCESS_WRITE */
  int32_t (*used)(void *object, uint64_t stream, uint32_t access);

  /** Hands out an owned array, with one holder, which is the caller's. The array is valid until its
   * last holder lets go, on any thread, attached or not; nobody needs a reference to the object for
   * that. Without `own`, `describe` and a reference to the object do as well. */
  int32_t (*own)(void *object, cai_array **out);

  /** Makes an object of the type of an array.
   *
   * @param array  owned; a holder is taken over on success, and stays the caller's on failure. The
   *               object lets go of it when it ends
   * @param out    a new reference, to a PyObject */
  int32_t (*wrap)(cai_array *array, void **out);
} cai_exchange_api;

/* exchange.h: declarations end */

#ifdef __cplusplus
}
#endif

#endif
