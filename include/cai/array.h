/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026, libcai developers; a copy of this file keeps these lines, and comes with
 * LICENSE. */
/**
 * @file array.h
 * The array, its owner and the error: what a library needs to import arrays and to export its own,
 * without linking libcai. The file may be copied into another project: it includes no other header
 * of libcai, and stays compatible with every copy of the same ABI major. C99, or C++11.
 *
 * The rules at the head of cai.h hold here too: strides, offsets and sizes are in bytes, shapes in
 * elements, addresses are integers; a stream is 1 (the legacy default stream), 2 (the calling
 * thread's default stream) or a CUstream, never 0; an array is not changed once others have seen
 * it, and may be read by any thread. "The text" is version 3 of the CUDA Array Interface, in
 * Numba's documentation.
 */
/* clang-format off: the comments beside the fields are set by hand */
#ifndef CAI_ARRAY_H
#define CAI_ARRAY_H

#include <stdint.h>

#if defined(UINTPTR_MAX) && UINTPTR_MAX < 0xFFFFFFFFFFFFFFFF
#error "cai/array.h is laid out for 64-bit pointers"
#endif

/** This header's version, 10000 * major + 100 * minor + patch, for `#if`. Since 0.1. */
#define CAI_HEADER_VERSION 100

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* cai/array.h: declarations begin */

/** Versions. The library's own version changes with every release; the ABI's major changes with
 * the layout of #cai_array and its minor when reserved words, flags or values gain a meaning.
 * Since 0.1. */
enum {
  CAI_VERSION_MAJOR = 0,
  CAI_VERSION_MINOR = 1,
  CAI_VERSION_PATCH = 0,
  CAI_ABI_MAJOR = 1,
  CAI_ABI_MINOR = 0,
  CAI_INTERFACE_VERSION = 3 /**< of the CUDA Array Interface; 0 to 3 are read */
};

/** What a function returns: 0 or one of the negative values below. Since 0.1. */
typedef int32_t cai_status;

/** Values of #cai_status. New ones may be added: treat an unknown value as a failure. Since 0.1. */
enum {
  CAI_OK = 0,
  CAI_ERR_ARGUMENT = -1, /**< an argument of the call itself is wrong, or NULL */
  CAI_ERR_VALUE = -2,    /**< an entry of the interface or a field of the array has a value that
                              the text forbids; cai_error.entry says which */
  CAI_ERR_TYPE = -3,     /**< an entry has the wrong form: a list for a tuple, a float for an int */
  CAI_ERR_VERSION = -4,  /**< made for another ABI major, or marked with an unknown critical flag */
  CAI_ERR_MEMORY = -5,   /**< out of memory: of the host, or, if native is 2, of the device */
  CAI_ERR_STORAGE = -6,  /**< the caller's storage is too small */
  CAI_ERR_LAYOUT = -7,   /**< the view asked for needs a copy */
  CAI_ERR_UNSUPPORTED = -8, /**< valid, but libcai does not support it */
  CAI_ERR_EXPORT = -9,      /**< that form cannot express the array */
  CAI_ERR_DRIVER = -10,     /**< there is no CUDA driver or no device, or the driver is too old */
  CAI_ERR_CUDA = -11,       /**< a driver call failed; cai_error.native is its CUresult */
  CAI_ERR_CAPTURE = -12,    /**< a stream is being captured into a graph: refused, and nothing has
                                 changed */
  CAI_ERR_DEVICE = -13,     /**< the driver does not know the memory, or it is on a device of
                                 another kind */
  CAI_ERR_BOUNDS = -14,     /**< the array reaches outside its allocation */
  CAI_ERR_ORDER = -15,      /**< the arrays' streams allow no such order */
  CAI_ERR_STATE = -16       /**< the state allows no such call: freed, reset or left already, or in
                                 a forked child */
};

/** Entries of the interface, as cai_error.entry and cai_finding.entry name them. Since 0.1. */
enum {
  CAI_ENTRY_NONE = 0,
  CAI_ENTRY_INTERFACE = 1, /**< the dict as a whole */
  CAI_ENTRY_VERSION = 2,
  CAI_ENTRY_SHAPE = 3,
  CAI_ENTRY_STRIDES = 4,
  CAI_ENTRY_TYPESTR = 5,
  CAI_ENTRY_DESCR = 6,
  CAI_ENTRY_DATA = 7,
  CAI_ENTRY_STREAM = 8,
  CAI_ENTRY_MASK = 9,
  CAI_ENTRY_OFFSET = 10 /**< of NumPy's `__array_interface__` only */
};

/** Limits. Since 0.1. */
enum {
  CAI_MAX_NDIM = 64,              /**< dimensions, as in NumPy */
  CAI_MAX_DESCR_DEPTH = 64,       /**< descr lists within descr lists */
  CAI_MAX_DESCR_FIELDS = 1 << 16, /**< fields of a descr, nested ones included */
  CAI_TYPESTR_SIZE = 32           /**< bytes that hold any typestr and its NUL */
};

/** Why a call failed. 256 bytes, never more; the caller provides it, and there is nothing to free.
 * Every function writes all of it on failure and nothing on success. Since 0.1. */
typedef struct cai_error {
  cai_status status; /**< what the function returned */
  int32_t native;    /**< the driver's CUresult, or 0 */
  int32_t entry;     /**< CAI_ENTRY_*: the entry at fault, or #CAI_ENTRY_NONE */
  int32_t index;     /**< the axis, field, item or array at fault, counted from 0, or -1 */
  char message[240]; /**< NUL-terminated UTF-8: names the entry and shows the value */
} cai_error;

/* ---- The array ---------------------------------------------------------------------------- */

/** Flags of cai_array.flags. Bits 0 to 15 are advisory: unknown ones are ignored. Bits 16 to 30 are
 * critical: a consumer that does not know one must refuse the array, see cai_array_refuses(). Bit
 * 31 is always 0; a consumer must refuse an array that sets it. Since 0.1. */
enum {
  CAI_FLAG_STRIDES_NONE = 1 << 0, /**< advisory: the producer gave no strides (None or missing) */
  CAI_FLAG_READONLY = 1 << 16,    /**< critical: "data", second item: must not be written */
  CAI_FLAG_MASKED = 1 << 17,      /**< critical: `mask` is not NULL; some elements are invalid */
  CAI_FLAG_SWAPPED = 1 << 18 /**< critical: the byte order of the items, or of a field of descr,
                                  is not the host's */
};

/** Values of cai_array.device_type, which are DLPack's. Since 0.1. */
enum {
  CAI_DEVICE_CPU = 1,
  CAI_DEVICE_CUDA = 2,
  CAI_DEVICE_CUDA_HOST = 3, /**< pinned host memory */
  CAI_DEVICE_ROCM = 10,     /**< exchanged as metadata; the functions under "Order" refuse it */
  CAI_DEVICE_CUDA_MANAGED = 13
};

/** Values of cai_array.stream_kind. 0 is invalid, so that a zeroed struct cannot claim that no
 * order is needed. The text, "stream" and "Synchronization". Since 0.1. */
enum {
  CAI_STREAM_NONE = 1,     /**< the producer states that no order is needed ("stream": None) */
  CAI_STREAM_UNSTATED = 2, /**< versions 0 to 2, which have no such entry: order is unknown */
  CAI_STREAM_STREAM = 3,   /**< `stream` is 1, 2 or a CUstream: work may be pending there */
  CAI_STREAM_EVENT = 4     /**< `stream` is a CUevent to wait for. It must not be recorded in a
                                capture: waiting would draw the consumer into the capture, and
                                libcai cannot detect that */
};

/** Values of cai_dtype.ext: types that a typestr cannot express. kind is then 'V', byteorder '|',
 * itemsize as given here. A dict expresses them by a descr of one field with the type's name, such
 * as `[("bfloat16", "<V2")]`; without it they are plain bytes. Since 0.1. */
enum {
  CAI_EXT_NONE = 0,
  CAI_EXT_BFLOAT16 = 1,      /**< 2 bytes; exported as "<V2" */
  CAI_EXT_FLOAT8_E4M3FN = 2, /**< 1 byte, as the other float8 types; exported as "|V1" */
  CAI_EXT_FLOAT8_E5M2 = 3,
  CAI_EXT_FLOAT8_E4M3FNUZ = 4,
  CAI_EXT_FLOAT8_E5M2FNUZ = 5,
  CAI_EXT_FLOAT8_E4M3 = 6,
  CAI_EXT_FLOAT8_E3M4 = 7,
  CAI_EXT_FLOAT8_E4M3B11FNUZ = 8,
  CAI_EXT_FLOAT8_E8M0FNU = 9
};

/** Values of cai_dtype.time_unit, for kinds 'm' and 'M'. Since 0.1. */
enum {
  CAI_TIME_GENERIC = 0, /**< no unit: "<M8" */
  CAI_TIME_Y = 1,
  CAI_TIME_M = 2, /**< months */
  CAI_TIME_W = 3,
  CAI_TIME_D = 4,
  CAI_TIME_H = 5,   /**< "h" */
  CAI_TIME_MIN = 6, /**< "m": minutes */
  CAI_TIME_S = 7,
  CAI_TIME_MS = 8,
  CAI_TIME_US = 9,
  CAI_TIME_NS = 10,
  CAI_TIME_PS = 11,
  CAI_TIME_FS = 12,
  CAI_TIME_AS = 13
};

/** The type of an element, parsed from "typestr". 12 bytes. The text, "typestr", which refers to
 * NumPy's array interface. Since 0.1. */
typedef struct cai_dtype {
  uint8_t kind;       /**< one of `b i u f c m M S U V`, or `t` for the bits of a mask */
  uint8_t byteorder;  /**< '<' or '>'; '|' where the order does not matter */
  uint8_t ext;        /**< CAI_EXT_*; 0 for every type that a typestr can express */
  uint8_t time_unit;  /**< CAI_TIME_*; 0 unless kind is 'm' or 'M' */
  uint32_t itemsize;  /**< bytes, never 0 (4 * n for "<Un"); 1 for kind 't', meaning one bit */
  uint32_t time_step; /**< multiples of time_unit in a tick: 25 for "<M8[25s]", else 1; 0 if
                           there is no unit */
} cai_dtype;

/** One field of an element: one item of "descr". 64 bytes. The text, "descr", and NumPy's
 * array interface. Since 0.1. */
typedef struct cai_field {
  const char *name;               /**< UTF-8; "" for padding and for a type with no name */
  const char *title;              /**< UTF-8, or NULL */
  const struct cai_field *fields; /**< the nested fields, or NULL */
  const int64_t *shape;           /**< of a sub-array, in elements; NULL if ndim is 0 */
  uint64_t offset;                /**< bytes from the start of the enclosing item */
  cai_dtype dtype;                /**< of one element; kind 'V' if there are nested fields */
  int32_t ndim;                   /**< dimensions of the sub-array; usually 0 */
  uint32_t field_count;           /**< of `fields` */
  uint32_t reserved;              /**< 0 */
} cai_field;

/** How memory is used: cai_use_options.access, and the functions' `access`. Since 0.1. */
enum {
  CAI_ACCESS_DEFAULT = 0, /**< a write, or a read if the array is marked read-only */
  CAI_ACCESS_READ = 1,    /**< waits only for kept writes, and is kept as a read */
  CAI_ACCESS_WRITE = 2,   /**< reads or writes; refused for an array that is marked read-only */
  CAI_ACCESS_CAPTURED = 4 /**< only in cai_owner.used_on, added to one of the others: the use is in
                               a capture */
};

/** Flags of cai_owner.flags. Unknown ones are ignored. Since 0.1. */
enum {
  /** `release` frees the memory in the order of the stream cai_owner.freed_on: a use that this
   * stream waits for need not delay the release; a use in a capture does. */
  CAI_OWNER_STREAM_ORDERED = 1 << 0,
  /** The producer calls cai_array_reclaim() before it writes again, so its stream need not wait at
   * the end of a use. */
  CAI_OWNER_RECLAIMS = 1 << 1,
  /** The memory belongs to an exporter that keeps no uses, and frees the memory in the order of the
   * array's stream, cai_owner.freed_on: a use on that stream need not delay the release. It frees
   * the mask in the order of the mask's stream, and memory that came with None in no order. The
   * exporter may give the memory to other consumers: a use of a view that is published with another
   * stream, or an event, waits for the array's stream, too. Imports of the same memory that come
   * with another stream do not: an exporter that names another stream ("a stream upon which
   * synchronization must take place") guarantees that it comes after the work queued on the stream
   * that it named before.
   *
   * Imports find each other's uses by address: each use, and, with #CAI_OWNER_ARRAY_FOLLOWS or in a
   * block of cai_array_own(), also uses that only cai_owner_used_on() keeps. If cai_owner_used_on()
   * keeps a use for any other owner, all imports find it, whatever their memory: they wait for more
   * than they need, and are refused in a capture while that use is pending. */
  CAI_OWNER_IMPORTED = 1 << 2,
  /** In the owner's block a cai_array follows, `struct_size` bytes from its start. It stays valid
   * as long as the block. */
  CAI_OWNER_ARRAY_FOLLOWS = 1 << 3,
  /** With #CAI_OWNER_IMPORTED: the arrays' stream is not the exporter's own, but one that the
   * exporter was asked to put in order, as by `__dlpack__(stream=)`. Another import of the memory
   * may ask for another stream, so uses on this stream are kept for other imports, too. No stream
   * is known on which work needs no event (cai_arrays_same_stream()), nor one in whose order the
   * memory is freed. */
  CAI_OWNER_ASKED = 1 << 4,
  /** The memory was freed while references to it remain, by cai_memory_free(), or with its context
   * by cai_device_reset(). It may be set at any time, by an atomic operation. From then on these
   * return #CAI_ERR_STATE, entry data, for its arrays: to export them as a dict, a tensor or a
   * column, to publish or reclaim them, to begin a use, and to copy, fill or read them. */
  CAI_OWNER_FREED = 1 << 5,
  /** Arrays of the owner have come with different streams, so that uses of each are kept. Who gives
   * a view another stream or an event, and does not store the owner's uses, as another copy of
   * libcai does not, sets it by an atomic operation. Nobody clears it. */
  CAI_OWNER_STREAMS_DIFFER = 1 << 6
};

/** The owner that keeps an array alive. The producer's own block begins with it. Every array in the
 * block points to it, and comes with the same stream as the others, an event of that stream, or
 * None; publish an array to give it another stream (cai_array_publish()). The first 24 bytes never
 * change, in any ABI major. It grows at the tail: test struct_size before using more. 72 bytes.
 *
 * The members from `used_on` on keep uses of the memory: work queued on streams that the array's
 * own stream need not wait for. A producer has three choices. It fills in the owner of its own
 * block by cai_owner_init(), and ends the block through cai_owner_end(). Or it provides functions
 * of its own. Or its struct ends after `release`, and then no use is kept: two consumers are
 * ordered through the array's stream alone, so the array must have a stream, not #CAI_STREAM_NONE,
 * unless it is never written. The block of a view names the owner that it holds in `keeper`
 * instead. Since 0.1. */
typedef struct cai_owner {
  uint32_t struct_size; /**< bytes of this struct that the producer filled in, at least 24 */
  uint32_t flags;       /**< CAI_OWNER_* */
  /** Adds a reference. Any thread, no GIL, no context; must not fail. */
  void (*retain)(struct cai_owner *self);
  /** Releases a reference; the last release ends the block, and may run the producer's code. Any
   * thread, no GIL, no context; must not fail. It does not wait for work on the GPU (but for one
   * case, see cai_array_publish()): while uses are kept, the end of the block is deferred. It may
   * record an event on the array's stream, but does not ask the driver whether the uses are
   * complete; cai_owner_pending(), cai_drain() and other calls ask. If no use is kept, the
   * producer's code runs at once, on the calling thread, in a capture too: code that frees memory
   * by calls that a capture forbids must allow for that (cuThreadExchangeStreamCaptureMode). */
  void (*release)(struct cai_owner *self);
  /** Keeps a use: the work queued on `stream` so far reads the memory, or (#CAI_ACCESS_WRITE) also
   * writes it. As cai_owner_used_on(). NULL: uses are not kept. If the owner has an await_uses of
   * its own, it is called for every use; otherwise not for uses that are ordered with the array's
   * stream. */
  cai_status (*used_on)(struct cai_owner *self, uint64_t stream, uint32_t access, cai_error *error);
  /** Makes `stream` wait for the kept uses that `access` conflicts with. As cai_owner_await_uses().
   * NULL if and only if used_on is. An owner with an await_uses of its own keeps all uses itself,
   * and decides when the block may end. When a view is published that comes with another stream
   * than the array, or for work on other streams, used_on is called for the target. In captures it
   * is called with #CAI_ACCESS_CAPTURED: such a use is for other streams in the same capture, and
   * not pending outside, see cai_owner_used_on(). An owner that cannot keep such uses returns
   * #CAI_ERR_CAPTURE from await_uses for a stream in a capture, and no use begins. used_on is not
   * called for a consumer that reads a dict or gets a tensor, and queues work on the stream that it
   * names: uses of arrays that come with another stream do not wait for that work. Read the dict
   * anew for each reader; and before those other uses, publish again, with that stream among
   * `streams`. */
  cai_status (*await_uses)(struct cai_owner *self, uint64_t stream, uint32_t access,
                           cai_error *error);
  void *uses;      /**< reserved for used_on; NULL before the first use, odd until a use is kept. In
                        a view's owner reserved for the library, or NULL: a block that wraps the
                        view, and holds it, copies this member with `keeper` */
  uint64_t thread; /**< cai_this_thread() of the thread whose stream 2 an array of the block came
                        with; 0 if there is none, or it is not known */
  struct cai_owner *keeper; /**< NULL, or an owner that this one holds. Its flags, used_on and later
                                 members are used in place of this owner's. It has no keeper
                                 itself */
  /** With #CAI_OWNER_STREAM_ORDERED or #CAI_OWNER_IMPORTED, the stream in whose order `release`
   * frees the memory: 1, of the context that is current then; 2, of `thread`; or a CUstream. 0: the
   * stream that the first array came with (not valid if a mask comes with another stream). For an
   * import it is that stream, or UINT64_MAX if the stream is unknown or another one; then all uses
   * delay the release. cai_array_own() fills it in. */
  uint64_t freed_on;
} cai_owner;

/** An array, with the dict's names: 128 bytes, never more; callers may keep it on the stack. The
 * first cache line is what a kernel needs. Zero always means absent. If abi_major is not yours, you
 * may only read bytes 0 to 15 and release the array. Since 0.1. */
typedef struct cai_array {
  uint16_t abi_major;           /**< #CAI_ABI_MAJOR of the code that filled the struct; 0 is
                                     invalid */
  uint16_t abi_minor;           /**< #CAI_ABI_MINOR, likewise */
  uint32_t flags;               /**< CAI_FLAG_* */
  cai_owner *owner;             /**< NULL: borrowed */
  uint64_t data;                /**< "data", first item: the device address of the first element,
                                     which need not be the lowest address; 0 if there are no
                                     elements */
  int32_t device_type;          /**< CAI_DEVICE_* */
  int32_t device_id;            /**< ordinal; -1: not known, see cai_array_locate() */
  cai_dtype dtype;              /**< "typestr", parsed: the authoritative type. cai_dtype_format()
                                     writes it as text */
  int32_t ndim;                 /**< 0 to #CAI_MAX_NDIM */
  const int64_t *shape;         /**< "shape": ndim extents, elements; may be NULL if ndim is 0 */
  const int64_t *strides;       /**< "strides": ndim steps, bytes, always filled in, any sign; may
                                     be NULL if ndim is 0 */
  uint64_t stream;              /**< "stream", see stream_kind; 0 for NONE and UNSTATED */
  uint32_t stream_kind;         /**< CAI_STREAM_* */
  uint32_t version;             /**< "version" of the producer's interface. For information only: a
                                     version above 3 is valid, since the flags and kinds guard what
                                     is unknown */
  const struct cai_array *mask; /**< "mask", which has no mask itself; its owner is this array's, or
                                     NULL. It is on the CPU if this array is, else in memory of any
                                     other device_type: look before the host reads it. NULL if all
                                     elements are valid. Of kind b, i, u, f, c or t. As in C, a
                                     value other than 0 is true, NaN too; a complex number is true
                                     if one of its parts is */
  const cai_field *descr;       /**< "descr": NULL if it adds nothing to typestr. Allowed for a
                                     dtype of any kind but 't': the parts of a complex number, or
                                     the fields packed in an integer. Its sizes add up to the item
                                     size */
  uint64_t reserved0;           /**< 0, as the other three reserved members; ignored if abi_minor is
                                     newer than yours */
  uint32_t descr_count;         /**< of `descr` */
  uint32_t reserved1;           /**< 0 */
  uint64_t reserved2;           /**< 0 */
  uint64_t reserved3;           /**< 0 */
} cai_array;

/* ---- Holding ------------------------------------------------------------------------------ */

/* These are functions of the library, for dlsym() and other languages. In C and C++ each is a
 * macro, too, which needs no linking. For the function write `&cai_array_release`, or
 * `(cai_array_release)(array)`. */

/** Adds a reference to an owned array, or to the owner of a view or copy of the struct. Does
 * nothing for a borrowed array or NULL. Works for any ABI major. Since 0.1. */
void cai_array_retain(const cai_array *array);

/** Releases a reference; after the last release the array and all it points to are invalid. Does
 * nothing for a borrowed array or NULL. It may run the producer's code: hold no lock that this code
 * may take, and do not call it from a CUDA host callback, except for work of cai_stream_enqueue():
 * there libcai leaves to later calls what its owners end. Works for any ABI major. Since 0.1. */
void cai_array_release(const cai_array *array);

/** Reports whether a caller that understands only some critical flags must refuse an array. Call it
 * first on every array from outside.
 *
 * @param understood  the CAI_FLAG_* that the caller understands
 * @return 0 if the array may be used; else the critical flags not understood (all of them if the
 *         array is NULL or of another ABI major).
 * Since 0.1. */
uint32_t cai_array_refuses(const cai_array *array, uint32_t understood);

/** Returns the size of an array whose elements lie in C order without gaps, as memset() or a kernel
 * of one index needs it. An axis of extent 1 may have any stride, and so may all axes of an array
 * without elements. The caller has called cai_array_refuses(); the array is valid, as all of
 * libcai's are, or cai_array_validate() has said so.
 *
 * @return bytes, of which the elements of kind 't' fill the last one in part; 0 without elements;
 *         -1 if the elements lie otherwise, and if the array is NULL or of another ABI major.
 * The text, "strides". Since 0.1. */
int64_t cai_array_contiguous_nbytes(const cai_array *array);

/* cai/array.h: declarations end */

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

/* Functions that need no linking. In C++ they are `inline`, one function in all files, since other
 * functions in headers call them. Their names have the ABI's major, since copies of two majors may
 * meet in one program. */
/** @cond */
#ifdef __cplusplus
#define CAI_INLINE inline
#else
#define CAI_INLINE static inline
#endif

CAI_INLINE void cai_array_retain_1(const cai_array *array) {
  if (array && array->owner) array->owner->retain(array->owner);
}
CAI_INLINE void cai_array_release_1(const cai_array *array) {
  if (array && array->owner) array->owner->release(array->owner);
}
CAI_INLINE uint32_t cai_array_refuses_1(const cai_array *array, uint32_t understood) {
  if (!array || array->abi_major != CAI_ABI_MAJOR) return UINT32_C(0xFFFF0000);
  return array->flags & UINT32_C(0xFFFF0000) & ~understood;
}
CAI_INLINE int64_t cai_array_contiguous_nbytes_1(const cai_array *array) {
  int64_t units; /* bytes, or bits */
  int32_t axis, has_gaps = 0;
  if (!array || array->abi_major != CAI_ABI_MAJOR) return -1;
  units = array->dtype.itemsize;
  for (axis = array->ndim; axis-- > 0;) {
    if (array->shape[axis] != 1 && array->strides[axis] != units) has_gaps = 1;
    units *= array->shape[axis];
  }
  if (has_gaps && units != 0) return -1;
  return array->dtype.kind == 't' ? units / 8 + (units % 8 != 0) : units;
}

#undef CAI_INLINE
#define cai_array_retain(...) cai_array_retain_1(__VA_ARGS__)
#define cai_array_release(...) cai_array_release_1(__VA_ARGS__)
#define cai_array_refuses(...) cai_array_refuses_1(__VA_ARGS__)
#define cai_array_contiguous_nbytes(...) cai_array_contiguous_nbytes_1(__VA_ARGS__)
/** @endcond */

#endif /* CAI_ARRAY_H */
