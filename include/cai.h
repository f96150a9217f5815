/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file cai.h
 * The C side of the CUDA Array Interface.
 *
 * The CUDA Array Interface (CAI) lets Python libraries share GPU arrays through a dict,
 * `__cuda_array_interface__`. libcai gives the same array to compiled code. #cai_array
 * (cai/array.h, which this header includes) carries the dict's entries under the dict's names, and
 * adds what a dict cannot carry: an owner. "The text" below means version 3 of the interface, in
 * Numba's documentation.
 *
 * These rules hold for every function that does not say otherwise:
 *
 * - Units. Strides, offsets, sizes of items and extents are in bytes; shapes and dimensions are
 *   in elements. Device addresses are integers. (For kind 't', bits, see #cai_dtype.)
 * - Streams are integers as in the text: 1 is the legacy default stream, 2 the calling thread's
 *   per-thread default stream, anything else a `CUstream`. 0 is never a stream.
 * - Results. A function that can fail returns a #cai_status and takes a #cai_error last, which
 *   may be NULL. Outputs are written on success only; the error is written on failure only.
 * - Pointers must not be NULL unless the function's documentation allows it. A NULL that is not
 *   allowed returns #CAI_ERR_ARGUMENT; it never crashes.
 * - Ownership. Arguments are borrowed during the call. An array whose `owner` is NULL is borrowed
 *   too: the array and all that it points to are valid only as long as the provider says, usually
 *   during the call that passed it. An owned array is released by cai_array_release().
 * - Threads. Every function may be called from any thread, with or without Python's GIL. An array
 *   is never changed once a second party has seen it, so any number of threads may read it.
 * - No function throws, keeps hidden per-thread state, or holds a lock while it runs code outside
 *   libcai. Only the functions under "Order", cai_array_locate(), cai_array_host(), and
 *   cai_interface_write() and cai_array_release() of an array in use, use the driver. They load it
 *   on first need, once for the process, and leave the caller's current context unchanged, as must
 *   the callers' functions that they run.
 * - A process that has loaded the driver and then forks must not use it in the child: there every
 *   function that needs the driver returns #CAI_ERR_STATE. In the child the last release of an
 *   array runs the producer's code at once, without deferring it. A release that was deferred
 *   before the fork never runs in the child.
 * - Other threads may be inside libcai when a process forks: fork() waits for its locks. But an
 *   array or another object that such a thread was using in a call may only be released in the
 *   child.
 *
 * The lines between the two markers hold no directive, macro or inline function, so that cffi and
 * LuaJIT can parse them unchanged; bindgen parses the whole file.
 */
/* clang-format off: the comments beside the fields are set by hand */
#ifndef CAI_H
#define CAI_H

#include <cai/array.h>

#if CAI_HEADER_VERSION < 100
#error "the copy of cai/array.h that was included before is older than this cai.h"
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* cai.h: declarations begin */

/** Returns the version of the library in use, 10000 * major + 100 * minor + patch.
 * Compare with CAI_VERSION_* to find a header that is newer than the library. Since 0.1. */
int32_t cai_version(void);

/** Returns the name of a status, such as "CAI_ERR_VALUE"; "CAI_ERR_UNKNOWN" for a value that this
 * library does not know. The string is static. Since 0.1. */
const char *cai_status_name(cai_status status);

/** Returns the dict's key for a CAI_ENTRY_*, such as "shape"; "interface" for the dict as a whole;
 * "" for any other value. The string is static. Since 0.1. */
const char *cai_entry_name(int32_t entry);

/** Receives a failure that no call can return. The error is valid during the call. It may run on
 * any thread, including threads of libcai and of the driver: it must not throw, call the driver, or
 * block. Since 0.1. */
typedef void (*cai_failure_fn)(void *context, const cai_error *error);

/** Sets the hook that receives failures that no call can return. NULL, the default, drops them.
 *
 * @param hook     the function; its code and its context must stay valid for the life of the
 *                 process
 * @return #CAI_OK; #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_on_failure(cai_failure_fn hook, void *context, cai_error *error);

/** Parses a typestr. Accepts what the text and NumPy's array interface allow. Like lenient reading,
 * it also accepts a missing byte order, '=' and '|' (all three mean the host's order), and leading
 * zeros in a number.
 *
 * @param typestr  UTF-8, need not end in NUL
 * @param length   bytes of it
 * @param out      the type. Bits are accepted as "|t1" only
 * @return #CAI_OK; #CAI_ERR_VALUE (entry typestr); #CAI_ERR_ARGUMENT.
 * The text, "typestr". Since 0.1. */
cai_status cai_dtype_parse(const char *typestr, uint64_t length, cai_dtype *out, cai_error *error);

/** Writes the canonical typestr of a type: byte order '|' where it does not matter, else '<' or
 * '>'; "<V2" for bfloat16 and "|V1" for the float8 types.
 *
 * @param out  #CAI_TYPESTR_SIZE bytes; receives the text and its NUL
 * @return #CAI_OK; #CAI_ERR_VALUE (entry typestr) if the type is invalid; #CAI_ERR_ARGUMENT.
 * The text, "typestr". Since 0.1. */
cai_status cai_dtype_format(const cai_dtype *dtype, char *out, cai_error *error);

/** The layout that follows from shape, strides and item size. 40 bytes. Since 0.1. */
typedef struct cai_layout {
  int64_t size;   /**< number of elements: the product of the shape */
  int64_t nbytes; /**< size * itemsize; for kind 't', bits rounded up to bytes */
  int64_t lo;     /**< the bytes touched are [lo, hi) relative to `data`: the extent, summed */
  int64_t hi;     /**< over all axes; lo <= 0, and both are 0 if there are no elements */
  int32_t c_contiguous; /**< 1 or 0. NumPy's rules: an axis of extent 1 does not matter, an empty */
  int32_t f_contiguous; /**< array is both; but stride 0 over a larger extent is neither */
} cai_layout;

/** Computes the layout of an array. Checks every product and sum for overflow.
 *
 * @return #CAI_OK; #CAI_ERR_VALUE (entry shape, strides or typestr) if one of them is wrong or a
 *         size does not fit in 63 bits; #CAI_ERR_VERSION as cai_array_validate();
 *         #CAI_ERR_ARGUMENT.
 * The text, "strides". Since 0.1. */
cai_status cai_array_layout(const cai_array *array, cai_layout *out, cai_error *error);

/** Returns the address by which the host uses an array. Pinned memory may have two addresses:
 * `data` is the device's, as kernels use it; tensors, columns and libcai's own host work use the
 * host's. For memory that libcai did not allocate, libcai asks the driver, if there is one, in the
 * current context; it makes no context for that. So it does for an array that says CUDA, as a dict
 * of pinned or managed memory does. It does not wait for pending work.
 *
 * @param out  receives the address of the first element; 0 if there are no elements
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED for a device's own memory; #CAI_ERR_DEVICE for ROCm;
 *         #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_array_validate(); #CAI_ERR_ARGUMENT;
 *         #CAI_ERR_STATE, entry data, for memory that was freed or reset; #CAI_ERR_CUDA if the
 *         driver fails.
 * Since 0.1. */
cai_status cai_array_host(const cai_array *array, uint64_t *out, cai_error *error);

/** Validates a struct that other code filled in: prefix, critical flags, reserved words, kinds,
 * null pointers, dimensions, sizes and extents, the mask and the descr. It reads everything the
 * struct points to, so the pointers themselves must be valid. It never asks the driver. A mask may
 * be validated by itself, so kind 't' is valid here; in a dict only a mask may have it.
 *
 * @return #CAI_OK; #CAI_ERR_VALUE, with the entry; #CAI_ERR_VERSION for another ABI major or an
 *         unknown critical flag; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_array_validate(const cai_array *array, cai_error *error);

/* ---- Reading and writing the dict --------------------------------------------------------- */

/** Values of cai_value.form: the form of a producer's value, before it is judged. The names are
 * Python's; other languages use MISSING, NONE, INT, BOOL, FLOAT, TEXT and TUPLE. Since 0.1. */
enum {
  CAI_FORM_MISSING = 0, /**< the dict has no such key */
  CAI_FORM_NONE = 1,
  CAI_FORM_INT = 2,             /**< exactly int */
  CAI_FORM_INDEX = 3,           /**< an integer by `__index__`; subclasses of int too */
  CAI_FORM_BOOL = 4,            /**< integer is 0 or 1 */
  CAI_FORM_FLOAT = 5,           /**< text: its printed form */
  CAI_FORM_TEXT = 6,            /**< exactly str; text, length */
  CAI_FORM_TEXT_SUBCLASS = 7,   /**< likewise */
  CAI_FORM_BYTES = 8,           /**< text, length */
  CAI_FORM_TUPLE = 9,           /**< exactly tuple; items, length */
  CAI_FORM_TUPLE_SUBCLASS = 10, /**< likewise */
  CAI_FORM_LIST = 11,           /**< list, and subclasses; likewise */
  CAI_FORM_DICT = 12,           /**< exactly dict */
  CAI_FORM_DICT_SUBCLASS = 13,
  CAI_FORM_OBJECT = 14,    /**< any other object. text: its printed form, or NULL */
  CAI_FORM_INTERFACE = 15, /**< for "mask": an object with an interface of its own */
  CAI_FORM_MAPPING = 16    /**< for the dict: an object that is no dict but has its items, as
                                versions 0 and 1 of the text allowed */
};

/** Values of cai_value.range. Since 0.1. */
enum {
  CAI_RANGE_INT64 = 0,  /**< `integer` is an int64 in two's complement */
  CAI_RANGE_UINT64 = 1, /**< above that: `integer` is a uint64 */
  CAI_RANGE_BEYOND = 2  /**< fits neither; text: its digits, or how many it has */
};

/** One raw value. 32 bytes. A zeroed one is MISSING. Since 0.1. */
typedef struct cai_value {
  uint64_t integer;              /**< for INT, INDEX and BOOL, as `range` says */
  const char *text;              /**< for TEXT and BYTES the contents; for a value that no other
                                      member can hold, its printed form, or NULL. UTF-8 is expected
                                      and checked; a NUL does not end it */
  const struct cai_value *items; /**< for TUPLE and LIST: `length` items; NULL means that the
                                      binding did not go so deep (see #CAI_MAX_DESCR_DEPTH) */
  uint32_t length;               /**< items, or bytes of text */
  uint8_t form;                  /**< CAI_FORM_* */
  uint8_t range;                 /**< CAI_RANGE_*, for INT and INDEX */
  uint16_t reserved;             /**< 0 */
} cai_value;

/** Values of cai_interface.protocol. Since 0.1. */
enum {
  CAI_PROTOCOL_CUDA = 0, /**< `__cuda_array_interface__` */
  CAI_PROTOCOL_HOST = 1  /**< NumPy's `__array_interface__`: device CPU, no stream */
};

/** The raw values of a dict. A binding only unpacks: it sets what it finds, and judges nothing.
 * Zero the struct, then set struct_size, dict and the entries that the dict has. It grows at the
 * tail; members that this library does not know must be zero. struct_size must be at least 336
 * bytes. Since 0.1. */
typedef struct cai_interface {
  uint32_t struct_size; /**< sizeof(cai_interface) */
  uint32_t protocol;    /**< CAI_PROTOCOL_* */
  cai_value dict;       /**< the dict itself: its form, and its printed form */
  cai_value shape;
  cai_value typestr;
  cai_value data;
  cai_value version;
  cai_value strides;
  cai_value descr;
  cai_value mask;                             /**< INTERFACE if mask_interface is set */
  cai_value stream;                           /**< #CAI_PROTOCOL_CUDA only */
  cai_value offset;                           /**< #CAI_PROTOCOL_HOST only */
  const struct cai_interface *mask_interface; /**< the mask's own dict, or NULL */
} cai_interface;

/** Modes of cai_interface_read(). Since 0.1. */
enum {
  CAI_LENIENT = 0, /**< import: accepts every value whose meaning is certain */
  CAI_STRICT = 1   /**< lint for producers: the text of version 3 to the letter */
};

/** Values of cai_finding.severity. Since 0.1. */
enum {
  CAI_SEVERITY_ERROR = 1,   /**< reading fails for it */
  CAI_SEVERITY_WARNING = 2, /**< accepted, although the text forbids it */
  CAI_SEVERITY_ADVICE = 3   /**< valid, but likely a mistake, or hard for consumers */
};

/** One remark on an interface. Its strings live during the callback. 48 bytes. Since 0.1. */
typedef struct cai_finding {
  uint32_t struct_size; /**< bytes of this struct; it grows at the tail */
  int32_t severity;     /**< CAI_SEVERITY_* */
  int32_t entry;        /**< CAI_ENTRY_*; of a mask's own dict, always #CAI_ENTRY_MASK */
  int32_t index;        /**< axis, item or field, from 0; -1 for the whole */
  cai_status status;    /**< the status that reading returns for it, if severity is ERROR; else 0 */
  uint32_t reserved;    /**< 0 */
  const char *value;    /**< the value, printed */
  const char *clause;   /**< the rule: which text, and what it says */
  const char *text;     /**< the remark, one line; names the entry and shows the value */
} cai_finding;

/** Receives one finding. `context` is the caller's. Must not throw. Since 0.1. */
typedef void (*cai_finding_fn)(void *context, const cai_finding *finding);

/** Returns the number of bytes of storage that cai_interface_read() needs at most for this
 * interface; it may be 0. Returns 0 too if `in` is NULL, or if this library cannot read its
 * struct_size or that of mask_interface. It judges nothing else. Since 0.1. */
uint64_t cai_interface_storage(const cai_interface *in);

/** Reads an interface, and is the one place that applies the rules of the text.
 *
 * @param in          the raw values
 * @param mode        #CAI_LENIENT or #CAI_STRICT
 * @param on_finding  receives every finding; errors come in the order in which they are found. May
 *                    be NULL: then reading ends at the first error
 * @param context     for on_finding; may be NULL
 * @param storage     holds shape, strides, descr and mask; aligned to 8 bytes. May be NULL
 *                    if storage_size is 0
 * @param storage_size  bytes; cai_interface_storage(in) is always enough. Contents are unspecified
 *                      after a failure
 * @param out         a borrowed array that points into `storage`, never into `in`. Its device is
 *                    CUDA with id -1, or CPU with id 0. An array without elements gets data 0.
 *                    Stream 0 becomes 1. A version below 3 without a stream becomes UNSTATED
 * @return #CAI_OK; #CAI_ERR_VALUE or #CAI_ERR_TYPE, with the entry; #CAI_ERR_STORAGE;
 *         #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * The text, "Python Interface Specification". Since 0.1. */
cai_status cai_interface_read(const cai_interface *in, uint32_t mode, cai_finding_fn on_finding,
                              void *context, void *storage, uint64_t storage_size, cai_array *out,
                              cai_error *error);

/** Returns the number of bytes of storage that cai_interface_write() needs for this array; 0 if
 * `array` is NULL, or cai_array_validate() rejects it. Since 0.1. */
uint64_t cai_interface_write_storage(const cai_array *array);

/** Writes an array as the values of a dict: the reverse of cai_interface_read(). Strides are NONE
 * if and only if the array is C-contiguous. For an UNSTATED stream the dict names the stream that a
 * provider returns, or 1. A mask is written as mask_interface. A trivial descr is left out; one
 * with the type's name is written for a type that a typestr cannot express (CAI_EXT_*). A mask may
 * be written by itself. A dict cannot name pending work of CPU streams (cai/device.h) on the
 * memory: the host waits for that work.
 *
 * The dict's stream comes after the uses that the owner has kept: where it does not already, it is
 * made to wait, as by cai_array_publish(). So write an array anew for each reader. From then on,
 * uses of the owner's arrays that come with another stream wait for the dict's stream, unless the
 * owner has an await_uses of its own.
 *
 * @param array         valid; on the CPU it is written as #CAI_PROTOCOL_HOST, else as
 *                      #CAI_PROTOCOL_CUDA
 * @param version       3, or 2, which has no "stream": then the array's stream must be NONE or
 *                      UNSTATED (synchronise, and set NONE in a copy of the struct)
 * @param storage       aligned to 8 bytes; holds the items of the values
 * @param storage_size  bytes; cai_interface_write_storage(array) is enough
 * @param out           the caller sets struct_size, and no more than that is written. Points into
 *                      `storage`, `array` and what the array points to
 * @return #CAI_OK; #CAI_ERR_EXPORT if a dict cannot express the array: an event, a stream in
 *         version 2, a device that is neither CPU nor CUDA, another thread's stream 2, and NONE
 *         where the owner has kept uses or was told of a stream, or another import of the memory
 *         has (publish it); #CAI_ERR_STORAGE; #CAI_ERR_STATE if the memory was freed;
 *         #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_array_validate(); #CAI_ERR_ARGUMENT; where the
 *         stream has to wait, as cai_array_publish().
 * The text, "Python Interface Specification". Since 0.1. */
cai_status cai_interface_write(const cai_array *array, uint32_t version, void *storage,
                               uint64_t storage_size, cai_interface *out, cai_error *error);

/* ---- Ownership and views ------------------------------------------------------------------ */

/** Makes an owned array in one allocation that holds copies of the dims, the mask and the descr,
 * and that calls `release` when its last reference is released. The memory of the array itself is
 * not copied. The copy has this library's ABI minor: unknown advisory flags and the reserved words
 * of a newer minor are left out, as in a view.
 *
 * @param borrowed  valid. Its owner, if any, is neither retained nor released, and uses kept by the
 *                  one owner are not seen by the other: for an array that has an owner, make a view
 *                  instead (cai_array_slice() with no items)
 * @param release   runs once, with no lock held, on the thread that releases the last reference, or
 *                  later, see cai_owner.release; may be NULL
 * @param context   for release. On success it belongs to the array; on failure it stays the
 *                  caller's, and `release` is not called
 * @param out       the owned array; the caller owns one reference; release it with
 *                  cai_array_release()
 * @return #CAI_OK; #CAI_ERR_MEMORY; #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_array_validate();
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_array_own(const cai_array *borrowed, void (*release)(void *context), void *context,
                         cai_array **out, cai_error *error);

/** Values of cai_slice.kind. Since 0.1. */
enum {
  CAI_SLICE_RANGE = 1,         /**< start:stop:step on one axis */
  CAI_SLICE_INDEX = 2,         /**< one index, `start`; removes the axis */
  CAI_SLICE_NEWAXIS = 3,       /**< a new axis of extent 1 */
  CAI_SLICE_ELLIPSIS = 4,      /**< all axes that the other items leave; at most once */
  CAI_SLICE_NO_START = 1 << 8, /**< with RANGE: start is left out */
  CAI_SLICE_NO_STOP = 1 << 9   /**< with RANGE: stop is left out */
};

/** One item of an index expression. 32 bytes. Since 0.1. */
typedef struct cai_slice {
  int64_t start;     /**< elements; negative counts from the end, as in Python */
  int64_t stop;      /**< likewise, exclusive */
  int64_t step;      /**< elements, not 0 */
  int32_t kind;      /**< CAI_SLICE_* */
  uint32_t reserved; /**< 0 */
} cai_slice;

/** Makes a view as Python's `a[...]` does: ranges are clipped, an index out of range is an error,
 * missing items mean whole axes.
 *
 * A view is an owned array whose owner holds a reference to the original array; the memory, stream,
 * descr and read-only mark are the same. The mask is viewed likewise; if it cannot be, the call
 * fails with the entry mask. A mask of bits cannot be viewed, unless shape and elements stay the
 * same. On failure no reference is added.
 *
 * @param array  owned (a borrowed array cannot be held)
 * @param slices  `count` items; may be NULL if count is 0
 * @param out    an owned array; the caller owns one reference
 * @return #CAI_OK; #CAI_ERR_ARGUMENT for an index out of range (cai_error.index is the item), a
 *         step of 0, too many items or a borrowed array; #CAI_ERR_UNSUPPORTED for a mask of bits;
 *         #CAI_ERR_MEMORY; #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_array_validate().
 * Since 0.1. */
cai_status cai_array_slice(const cai_array *array, const cai_slice *slices, int32_t count,
                           cai_array **out, cai_error *error);

/** Makes a view of another shape, in C order. As cai_array_slice() but for:
 *
 * @param shape  `ndim` extents, elements; one may be -1: then it is computed; may be NULL if ndim
 *               is 0
 * @return also #CAI_ERR_LAYOUT if the strides allow no such view without a copy;
 *         #CAI_ERR_ARGUMENT if the number of elements differs.
 * Since 0.1. */
cai_status cai_array_reshape(const cai_array *array, const int64_t *shape, int32_t ndim,
                             cai_array **out, cai_error *error);

/** Makes a view with its axes in another order. As cai_array_slice() but for:
 *
 * @param axes  array->ndim of them: axis i of the view is axis axes[i] of the array; negative
 * counts from the end. NULL reverses the axes
 * @return also #CAI_ERR_ARGUMENT if an axis is out of range or repeated.
 * Since 0.1. */
cai_status cai_array_transpose(const cai_array *array, const int32_t *axes, cai_array **out,
                               cai_error *error);

/** Makes a read-only view of a larger shape by NumPy's broadcasting: stride 0 over axes that are
 * new or had extent 1. As cai_array_slice() but for:
 *
 * @param shape  `ndim` extents, elements; may be NULL if ndim is 0
 * @return also #CAI_ERR_ARGUMENT if the shapes do not agree.
 * Since 0.1. */
cai_status cai_array_broadcast(const cai_array *array, const int64_t *shape, int32_t ndim,
                               cai_array **out, cai_error *error);

/* ---- Order on the GPU --------------------------------------------------------------------- */

/* How work on a stream is handed from one library to another, and back. `P` is the producer's
 * stream, as the array names it; `C` is the consumer's:
 *
 *     P  --[ writes x ]--+                                   +--[ writes x again ]-->
 *                        | record                     wait   |
 *                  cai_use_begin                       cai_use_end
 *                        | wait                       record |
 *     C  ----------------+--[ kernels that read x ]----------+----------------------->
 *
 * docs/reference/order.rst has the rules, five for consumers and five for producers, what happens
 * to each kind of array, and ten programs. */

/** Values of cai_use_options.order. Since 0.1. */
enum {
  CAI_ORDER_BOTH = 0,  /**< what the text requires: both the beginning and the end make streams
                            wait */
  CAI_ORDER_BEGIN = 1, /**< the end does nothing */
  CAI_ORDER_END = 2,   /**< the beginning makes no stream wait */
  CAI_ORDER_NONE = 3,  /**< neither makes a stream wait */
  CAI_ORDER_HOST = 4   /**< the host waits: at the beginning for the producers' streams, at the end
                            for the consumer's stream */
};

/** Flags of cai_use_options.flags: what to do where only one side is being captured into a graph.
 * By default the call fails. Since 0.1. */
enum {
  CAI_USE_EXTERNAL = 1 << 0, /**< the consumer captures; the producer does not, and has work
                                  pending. Each launch of the graph waits for the work that was
                                  pending at the beginning (and for no later work: order each launch
                                  with a use of its own). That is work on the array's stream, or its
                                  event; kept uses must be complete. The event of a borrowed array
                                  must outlive the graph */
  CAI_USE_FORK = 1 << 1 /**< the producer captures; the consumer does not. The consumer's stream,
                             which must not be 1, joins the capture at the beginning, and is joined
                             back at the end. It stays in the capture until that ends: until then no
                             other code may use the stream or arrays that come with it, and both
                             streams must live. Code that queues more work there after the end must
                             join it back; a further use does so at its end, if an array came with
                             another stream of the capture and its owner is not #CAI_OWNER_RECLAIMS.
                             If one of the two streams is 2, end or abandon the use on the thread
                             that began it: on another thread the streams cannot be joined, and the
                             capture is lost (904 at cuStreamEndCapture()) */
};

/** Options of a use. It grows at the tail; members that this library does not know must be zero, or
 * the call fails. NULL, or all 0 after struct_size, means the full order. 24 bytes; struct_size
 * must be at least 8. If struct_size ends before `flags`, error messages do not suggest a flag.
 * Since 0.1. */
typedef struct cai_use_options {
  uint32_t struct_size;     /**< sizeof(cai_use_options) */
  uint32_t order;           /**< CAI_ORDER_* */
  uint32_t access;          /**< CAI_ACCESS_*, for all arrays; ignored if `accesses` is set */
  uint32_t flags;           /**< CAI_USE_* */
  const uint32_t *accesses; /**< NULL, or one CAI_ACCESS_* for each array, which replaces `access`;
                                 read during the call */
} cai_use_options;

/** An open use: what its end must know of its beginning. The caller provides it, usually on the
 * stack, and must not read its members. All 0 is a use that is not open. Its bytes may be moved but
 * not copied: only one of the two may be used. 352 bytes; never more. Since 0.1. */
typedef struct cai_use {
  uint64_t state[44];
} cai_use;

/** Begins a use. Call it before work on `stream` reads or writes the arrays. It makes the stream
 * wait for the producers' pending work on the arrays and their masks, and for kept uses that
 * conflict with the access. It takes one event record and one wait for each distinct producer
 * stream, and one wait for each kept use that these do not cover. It takes none for `stream`
 * itself, for NONE, for empty arrays, for host arrays, and where the legacy stream and a blocking
 * stream of one context are ordered by the driver. The host does not wait (except with
 * #CAI_ORDER_HOST). To wait for `stream` is not to wait for the arrays: `stream` may be idle.
 * UNSTATED means the stream that a provider returns (cai_provide_streams()), else the legacy stream
 * of the array's device.
 *
 * Queue the work on `stream`, and on no other stream. Uses that conflict must not overlap: begin
 * one after the other has ended. Readers may overlap. A mask is used with the access of its array,
 * since a writer of elements may mark them as valid; a mask that is read-only is only read. To
 * write elements and not wait for the mask's readers, pass the array without its mask.
 *
 * No GPU stream can wait for pending work of CPU streams (cai/device.h): the host waits for it, and
 * the call returns its failure, once; in a forked child it returns #CAI_ERR_STATE. The thread of a
 * CPU stream does not wait for that stream's own work, nor for work that was queued after it.
 *
 * For an array, 1 and 2 mean streams of the context of its memory. A pool's memory has no context:
 * then they mean the primary context of its device if that is active, else the current context if
 * it is on that device. For `stream`, they mean the current context; if none is current,
 * cai_arrow_write() uses the array's context. A 2 is valid only on the thread that named it.
 *
 * Captures: streams of one capture are ordered within it. If only `stream` captures, a producer
 * with nothing pending needs no order (the caller orders the launch); with work pending, the call
 * fails, see #CAI_USE_EXTERNAL. If only the producer captures, see #CAI_USE_FORK. No capture that
 * has begun before the call is ever invalidated. One that another thread begins meanwhile, on a
 * stream that the call works on, may be: the driver cannot be asked and called at once.
 *
 * The environment relaxes this; it is read once. CAI_SYNC=0 turns every order except
 * #CAI_ORDER_HOST into #CAI_ORDER_NONE. CAI_NONE=legacy treats NONE as UNSTATED. CAI_TRACE=1 prints
 * each edge that a function under "Order" makes or leaves out to stderr, and why.
 *
 * Call one of the next three functions in the end; otherwise a use of more than 8 arrays, or of
 * more than 4 if one has a mask, leaks memory. With #CAI_ORDER_BEGIN, and without #CAI_USE_FORK,
 * there is nothing to end. Keep references to the arrays until then: the use takes none.
 *
 * @param use      receives the open use; its previous contents do not matter. On failure it is not
 *                 open
 * @param arrays   `count` arrays; may be NULL if count is 0. The structs need not outlive the call
 * @param stream   the consumer's: 1, 2 or a CUstream. It must live until the use is ended, finished
 *                 or abandoned: the driver may give its handle to another stream
 * @param options  may be NULL
 * @return #CAI_OK; #CAI_ERR_CAPTURE if a capture allows no such order (the streams are asked first,
 *         and nothing has changed); #CAI_ERR_DRIVER; #CAI_ERR_CUDA, after which some of the waits
 *         may be queued; #CAI_ERR_DEVICE for ROCm, and for an array whose 1 or 2 has no context;
 *         #CAI_ERR_ORDER for a 2 of another thread, for an array for which a provider returned
 *         stream 0, and for an array that came with an event and whose owner keeps no uses, since
 *         no end is possible (except with #CAI_ORDER_HOST, and with #CAI_ORDER_BEGIN, after which
 *         cai_array_release_on() is required); #CAI_ERR_VALUE for a write to a read-only array;
 *         #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_array_validate(); #CAI_ERR_STATE if the memory
 *         was freed; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT, also for stream 0, for 1 or 2 if no
 *         context is current, for 2 (entry stream) if a green context is current, which has no
 *         stream 2, and for an environment variable with an invalid value. cai_error.index is the
 *         array, or -1 for the consumer's stream. The driver is neither needed nor loaded if no
 *         array needs order, before or after the work.
 * The text, "Synchronization". Since 0.1. */
cai_status cai_use_begin(cai_use *use, const cai_array *const *arrays, int32_t count,
                         uint64_t stream, const cai_use_options *options, cai_error *error);

/** Ends a use. Call it after the work on the stream was queued. It makes every producer stream wait
 * for the work, after reads too, so that the producer may write, free or reuse the memory in its
 * own order; and it lets the owners keep the use. It takes one event record in all. Any thread may
 * call it, unless the stream or a producer's is 2: then only the thread that began the use.
 *
 * If one producer cannot be ordered, for example since its stream is being captured, the others
 * still are; its owner keeps the use, and the call returns the first failure. Call it again once
 * the capture has ended, or let the producer reclaim. In a consumer's capture the call does nothing
 * if one producer cannot be ordered. It does nothing either if the stream is being captured now and
 * was not at the beginning: end the use once that capture has ended. A beginning that needed no
 * order has not asked whether the stream captures: where all arrays came with `stream`, the end
 * fails only if an array of an owner has since been published with another stream, outside that
 * capture. A stream that #CAI_USE_FORK has taken into a capture is joined back on every path,
 * except a 2 on another thread than the one that began.
 *
 * Every owner that has `used_on` keeps the use, with that event, except where the array's stream
 * waits for it and the owner is #CAI_OWNER_STREAM_ORDERED, where the array's stream is `stream`,
 * and in a capture. The owner keeps it even so where its arrays come with different streams, and
 * where a blocking stream, or 2, uses an array of stream 1. A use that is not kept marks the
 * array's stream, on which the last release records an event. If the owner is #CAI_OWNER_RECLAIMS,
 * the array's stream does not wait. Where no owner keeps the use of an array of stream 1, stream 1
 * waits for a blocking stream, too: a barrier for its context. In a capture, conflicting uses are
 * ordered where the owner keeps uses.
 *
 * @param use  closed on success, still open on failure. If it is not open, the call does nothing
 * @return #CAI_OK; #CAI_ERR_CAPTURE; #CAI_ERR_DRIVER; #CAI_ERR_CUDA; #CAI_ERR_ORDER on another
 *         thread than that of a 2; #CAI_ERR_STATE in a forked child; #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT if `use` is NULL. cai_error.index as for cai_use_begin().
 * The text, "Synchronization", Consumer. Since 0.1. */
cai_status cai_use_end(cai_use *use, cai_error *error);

/** Ends a use whose work is complete, or was never queued. It orders nothing, and keeps nothing.
 * Call it when other code did the work and the host has waited for it, as for a message that was
 * sent, and for a use whose end fails.
 *
 * @param use   closed on success, still open on failure. If it is not open, as after
 *              #CAI_ORDER_NONE, the call does nothing
 * @param wait  not 0: the host waits for the stream first. If no array needed order at the
 *              beginning, 1 and 2 mean streams of the current context. Release the GIL first
 * @return #CAI_OK; with `wait`, #CAI_ERR_CAPTURE if the stream is being captured;
 *         #CAI_ERR_DRIVER; #CAI_ERR_CUDA; #CAI_ERR_ORDER on another thread than that of a 2;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_use_finish(cai_use *use, int32_t wait, cai_error *error);

/** Abandons a use that cannot be ended in another way, usually in a destructor. It does not wait,
 * and does not fail. The producers' streams do not wait for the work. The owners keep the use if an
 * event can be recorded on the stream, which must still live; cai_drain() with `wait` waits for
 * that event. No event can be recorded if the stream is another thread's 2, or is in a capture that
 * it was not in at the beginning (or that a beginning without order has not asked about), or if the
 * driver fails. Then the use takes references to the owners, which cai_drain() with `wait` releases
 * (if there is no memory to record them, they leak, and nothing waits for the work: the hook of
 * cai_on_failure() receives that). The call does not return which case it was: after every abandon,
 * call cai_drain() with `wait`, outside of captures and with the stream's context current, before
 * other code uses the arrays. In a capture the graph takes references, too. A stream that
 * #CAI_USE_FORK has taken into a capture is joined back, except if it is a 2 on another thread than
 * the one that began, or if the driver fails: then that capture is lost, and the hook of
 * cai_on_failure() receives that.
 *
 * @param use  closed. If it is NULL or not open, the call does nothing
 * Since 0.1. */
void cai_use_abandon(cai_use *use);

/** Returns the one stream on which the arrays can be used without any event: the producer's own.
 * The function makes that stream wait for kept uses, and records it as used, until its producer
 * publishes an event of it: then call the function again before more work. An owner whose array,
 * or mask, came with None is told of the stream, as by a dict; the stream must then live as long as
 * that owner.
 *
 * @param out  1, 2 or a CUstream; 0 if no array names a stream: then nothing is pending. The owners
 *             do not learn of work on a stream of the caller's: begin a use for that
 * @return #CAI_OK; #CAI_ERR_ORDER if there is no such stream; if it is 1 or 2 of another context
 *         than the current one; if arrays of an owner, or its memory (cai_memory_set_stream()),
 *         have come with different streams; if all came with None, and an owner has kept uses; or
 *         if an owner cannot be told of the stream, since it has an await_uses of its own, or is
 *         #CAI_OWNER_IMPORTED and the array, or its mask, came with None; the rest as
 *         cai_use_begin().
 * The text, "Synchronization". Since 0.1. */
cai_status cai_arrays_same_stream(const cai_array *const *arrays, int32_t count, uint64_t *out,
                                  cai_error *error);

/** Blocks the calling thread until the producer's pending work on the array and its mask, and all
 * uses that its owner has kept, are complete; work of CPU streams included. It records an event on
 * the array's stream, since an idle stream 1 does not wait for the blocking streams. If
 * cai_device_reset() has destroyed the context of the memory, nothing is pending on the array's
 * stream. Use it as the last resort. Release the GIL first.
 *
 * @return #CAI_OK; the rest as cai_use_begin(), cai_error.index as cai_array_validate().
 * The text, "Synchronization". Since 0.1. */
cai_status cai_array_sync_host(const cai_array *array, cai_error *error);

/** Producer's side: reclaims an array. Call it before the producer's own work on `stream` reads or
 * writes an array that others may have used. It makes `stream` wait for the array's own stream,
 * which consumers made wait at the end of their uses, and for kept uses that conflict with the
 * access. After the work, publish the array again, unless `stream` is the array's own and that of
 * all arrays of the owner. Within a capture that began on another stream, call it for the array's
 * own stream, too: that stream may have joined the capture after uses there, which it would
 * otherwise not wait for.
 *
 * @param stream  1, 2 or a CUstream
 * @param access  CAI_ACCESS_*: what the producer will do with the array and its mask. It may write
 *                an array that it has marked read-only for others
 * @return as cai_use_begin(), cai_error.index as cai_array_validate().
 * The text, "Synchronization", Producer. Since 0.1. */
cai_status cai_array_reclaim(const cai_array *array, uint64_t stream, uint32_t access,
                             cai_error *error);

/** Producer's side: returns a view that names one stream for work that is pending on several. Makes
 * `target` wait for `streams`, for the stream or event that the array comes with, and for kept
 * uses. The array itself does not change. A producer that writes the memory again must publish it
 * again.
 *
 * The view has an owner of its own, which holds a reference to the array's owner. When the view's
 * last reference is released, its stream is forgotten. If a dict or a tensor has named that stream
 * to a consumer, an event is recorded there first, and kept as a write. If the driver fails to
 * record it, or there is no memory, the host waits for the stream, unless that is 1: then later
 * uses wait for it. If `target` is being captured by then, no event can be recorded, and the stream
 * must live as long as the array.
 *
 * The array's owner keeps the pending work on `streams` as a write, with the event that `target`
 * waits for: consumers of the array itself, or of another view of it, wait for that event, and not
 * for `target`. They wait for work on `target` itself, and so does the release of the memory, only
 * if `target` is among `streams`, too. As long as the view lives, arrays of the owner come with
 * different streams, and all their uses are kept. An owner with functions of its own is told of
 * `target` by used_on.
 *
 * Within a capture, `target` and the streams it waits for must be in that capture, or idle. No
 * event covers work that was pending on the stream of the array, or of its mask, before that stream
 * joined the capture. Uses of the owner's arrays that come with another stream therefore wait for
 * that stream, in the capture too, as if a dict had named it; it must live as long as such a dict
 * requires. Work that was pending on `streams` before the capture is not kept: publish it before
 * the capture. An owner that keeps uses by itself cannot be told of that: the call returns
 * #CAI_ERR_CAPTURE, unless `target` is the array's stream.
 *
 * The call does not wait for pending work of CPU streams (cai/device.h): a later use of the view
 * does.
 *
 * Before the producer works on one of `streams` again, it calls cai_array_reclaim() for that
 * stream. If the array came from another producer, its own stream must in the end wait for
 * `target`: call cai_use_begin() and cai_use_end() with the original array.
 *
 * @param array    valid, and not on the CPU. The view of a borrowed array holds no reference: the
 *                 memory, and all that `array` points to, must live as long as the view and the
 *                 work on it
 * @param streams  `count` streams, each 1, 2 or a CUstream; may be NULL if count is 0
 * @param target   1 or 2 of the context of the array's memory, or a CUstream; must live as long as
 *                 the view, and all that is made from it. If a function on a GPU stream releases
 *                 the view, that is until the later call that ends it
 * @param out      the view, with one reference: stream `target`, stream_kind STREAM, version 3; so
 *                 has its mask. Unchanged on failure
 * @return as cai_use_begin(); #CAI_ERR_ARGUMENT also for an array on the CPU, which has no stream,
 *         and #CAI_ERR_ORDER for a target 2 if arrays of the owner come with another thread's;
 *         cai_error.index is the stream of `streams`, or -1.
 * The text, "Synchronization", Producer: streams 7, 9, 15 exported as 3. Since 0.1. */
cai_status cai_array_publish(const cai_array *array, const uint64_t *streams, int32_t count,
                             uint64_t target, cai_array **out, cai_error *error);

/** Producer's side: returns a view that comes with an event instead of a stream. The stream may
 * then be destroyed, but not its context. If arrays of the owner are used on the stream again, the
 * event does not cover that: the stream must live until they have ended. With an event, work on a
 * stream 2 can be handed to another thread. A dict cannot carry the view. `stream` waits as for
 * cai_array_publish(); then an event is recorded there, which lives as long as the view. The owner
 * keeps that event as a write, for consumers that have the array already. CPU streams are as for
 * cai_array_publish().
 *
 * @param array  as for cai_array_publish()
 * @param out    the view, with one reference: the event, stream_kind EVENT, version 3; so has its
 *               mask. Unchanged on failure
 * @return as cai_array_publish(); #CAI_ERR_CAPTURE if `stream` is being captured.
 * Since 0.1. */
cai_status cai_array_publish_event(const cai_array *array, uint64_t stream, cai_array **out,
                                   cai_error *error);

/** Releases a reference, as cai_array_release(), once all work queued on `stream` so far is
 * complete. For a consumer that does not end its use, or does not know whether the memory's
 * allocation stream is the array's. The array's stream waits for the work, as at the end of a use.
 * The host does not wait, and no CUDA callback is used: a later call under "Order" or cai_drain()
 * finds the work complete. If `stream` is being captured, the graph takes over the reference, and
 * releases it when the graph, and all that was made from it, is destroyed. Work that was queued
 * before the capture began is in no graph, so call the function before the capture, or after its
 * end. Without a capture the owner keeps the use, if it keeps uses; an owner with functions of its
 * own is told by used_on. CPU streams (cai/device.h) are not waited for.
 *
 * @param array  owned. On failure the reference is still the caller's
 * @return #CAI_OK; #CAI_ERR_ARGUMENT, also for a borrowed array; the rest as cai_use_begin().
 * Since 0.1. */
cai_status cai_array_release_on(const cai_array *array, uint64_t stream, cai_error *error);

/** Ends the arrays whose release was deferred until kept uses were complete, if they are complete
 * now. It runs the producers' code on this thread; that code may make calls that a capture
 * elsewhere would forbid. The functions under "Order" also do so, for a few of the contexts that
 * they work in. This function does it for the current context and the active primary contexts: if
 * there are others, call it in each of them until `left` is 0. No array ends while a stream that
 * the call works on, or that is current on the thread (cai/device.h), is being captured, since
 * memory must not be freed into a graph; a later call ends it. Call the function with `wait`, and
 * with that context current, before destroying or resetting a context in which arrays were used.
 * For arrays that still have references, call cai_owner_pending() with 2; and release them before
 * memory is allocated in a new context, since the driver is asked about their address to learn that
 * they went with the old one. A use that was not drained is dropped once a context with the same
 * handle is met, and then the producer's code runs; until then it stays deferred. If the driver
 * does not report whether a use is complete, the use is kept, unless its context was destroyed or
 * has failed for good. Where no event could be recorded (for a use that was abandoned, or at a last
 * release, in a capture, in a function on a GPU stream or because the driver failed), the host must
 * wait for the context; if the context is not known either, it waits for each context that the
 * function is called for. Like cai_device_synchronize(), that is allowed only outside of captures,
 * on other threads too: while libcai sees a capture there, it does not wait, and those are left.
 * Memory whose free a capture has put off is no array: this function retries the free, too, but
 * `left` does not count it; cai_pending_flush() frees it.
 *
 * @param wait  not 0: the host waits for the uses of what was released before the call, and of what
 *              the code that then runs releases: while that always releases something, the call
 *              does not return. It does not wait for what other threads release meanwhile. Within
 *              an end, what was deferred before ends after that end. The call also waits for
 *              deferred ends, and pending frees (cai/memory.h), that other threads are running at
 *              that moment, unless it is called within one, within a manager's function, in a
 *              function on a GPU stream, or by work of a CPU stream. So none of them may wait for
 *              the caller, or need a lock that the caller holds: release the GIL first
 * @param left  may be NULL; receives the number of arrays whose end is still deferred, plus the
 *              abandoned uses that are pending. References that CPU streams hold do not count: wait
 *              for those streams by their own functions. Nor do ends that another thread is running
 *              at that moment, or, where the caller must not wait for those, has found possible;
 *              nor, within an end, those that follow it; nor references that living graphs hold:
 *              they are released when the graph is destroyed, or some time after, by a thread of
 *              the driver
 * @return #CAI_OK, also without a driver if nothing was deferred; #CAI_ERR_DRIVER; #CAI_ERR_CUDA,
 *         also in a function on a GPU stream, which must not call the driver; #CAI_ERR_STATE in a
 *         forked child, if anything is deferred: what was before the fork never ends there;
 *         #CAI_ERR_MEMORY. Since 0.1. */
cai_status cai_drain(int32_t wait, int64_t *left, cai_error *error);

/** Calls body(context) so that it may free memory and harms no capture. For callers that defer
 * releases themselves, as a language binding does that must not run producers' code on every
 * thread. `body` runs on this thread, and may make calls that a capture elsewhere would forbid.
 * While `stream`, or a stream that is current on the thread (cai/device.h), is being captured,
 * `body` is not called: try again later. The functions under "Order" and cai_drain() run deferred
 * releases in the same way. `body` is called without this protection if there is no driver, if the
 * driver fails, and if `stream` is 0 and no other call has needed the driver yet. No lock is held.
 * Any thread.
 *
 * @param stream   the stream that the caller works on: 1, 2 (of the current context) or a CUstream;
 *                 0 for none
 * @param body     may run any code; must not throw. NULL: nothing is called
 * @param context  for `body`; may be NULL
 * @return 1 if `body` was called, else 0.
 * Since 0.1. */
int32_t cai_spare_captures(uint64_t stream, void (*body)(void *context), void *context);

/** A framework's stream for its UNSTATED arrays: the stream that is current where they were made.
 * 24 bytes; it grows at the tail. Since 0.1. */
typedef struct cai_stream_provider {
  uint32_t struct_size; /**< sizeof(cai_stream_provider) */
  uint32_t reserved;    /**< must be 0, or registering the provider fails */
  /** Returns the stream on which work on the array is pending.
   *
   * @param array   valid, stream_kind UNSTATED; do not keep it
   * @param stream  receives 1, 2 or a CUstream of the array's context. 0 is invalid: the call that
   *                asked then returns #CAI_ERR_ORDER
   * @return 1 if the array is the framework's own and *stream is set; 0 to ask the next provider. 2
   *         means the stream of the first thread for which it is returned for an array's owner; on
   *         other threads uses of the array fail. Any thread, with or without the GIL; no lock is
   *         held. It must not call the functions under "Order". */
  int32_t (*current)(void *context, const cai_array *array, uint64_t *stream);
  void *context; /**< for `current` */
} cai_stream_provider;

/** Registers a provider for the life of the process; providers are asked in order of registration.
 *
 * @param provider  copied; its code and its context must stay valid for the life of the process
 * @return #CAI_OK; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_provide_streams(const cai_stream_provider *provider, cai_error *error);

/** Returns a number that identifies the calling thread among all threads since the machine started.
 * It is never 0, and the same in every copy of the library: the low 22 bits are the kernel's id of
 * the thread; above them is the time at which it began (field 22 of /proc/thread-self/stat), or 0
 * if that cannot be read. For cai_owner.thread. Since 0.1. */
uint64_t cai_this_thread(void);

/** Fills in the owner of a producer's own block, whose uses this copy of the library keeps. It
 * writes every member, and sets no flags. This copy always recognises the used_on and await_uses
 * that it writes. It may not recognise the addresses of cai_owner_used_on() and
 * cai_owner_await_uses() in a program that is not position-independent, or has two copies of the
 * library.
 *
 * @param owner    all members are written, struct_size too
 * @param retain   as cai_owner.retain
 * @param release  as cai_owner.release; ends the block through cai_owner_end()
 * @return #CAI_OK; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_owner_init(cai_owner *owner, void (*retain)(cai_owner *self),
                          void (*release)(cai_owner *self), cai_error *error);

/** Keeps a use in cai_owner.uses, one for each stream, and records an event on `stream`. It is the
 * implementation of cai_owner.used_on, or is called by the producer's own used_on. With
 * #CAI_ACCESS_CAPTURED it records no event: it keeps what `stream` has captured so far, for other
 * streams in the same capture only. Any thread.
 *
 * @param self    filled in by cai_owner_init(); for a view, its owner's keeper. A view's own
 *                owner is #CAI_ERR_ARGUMENT. So is an owner with an await_uses of its own: if that
 *                calls libcai's function, it must pass another owner of the block, which
 *                cai_owner_init() has filled in, and which cai_owner_end() ends
 * @param stream  1, 2 (of the current context) or a CUstream. 0 means the host: in
 *                cai_owner_await_uses() it waits until the uses are complete; in
 *                cai_owner_used_on() it is #CAI_ERR_ARGUMENT, since the host queues no work
 * @param access  #CAI_ACCESS_READ or #CAI_ACCESS_WRITE; and #CAI_ACCESS_CAPTURED, if used_on
 *                received it
 * @return #CAI_OK; #CAI_ERR_CAPTURE if the stream is being captured, and `access` does not say so;
 *         #CAI_ERR_DRIVER; #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_owner_used_on(cai_owner *self, uint64_t stream, uint32_t access, cai_error *error);

/** Makes `stream` wait for the uses kept in cai_owner.uses that conflict with the access: a read
 * conflicts with writes, a write with all. It is the implementation of cai_owner.await_uses. In a
 * capture, `stream` is ordered after the uses kept in that capture. Any thread.
 *
 * @param self    as cai_owner_used_on()
 * @param stream  as for cai_owner_used_on(); may be 0
 * @param access  #CAI_ACCESS_READ or #CAI_ACCESS_WRITE
 * @return as cai_owner_used_on(); #CAI_ERR_CAPTURE if the stream is being captured, and a use that
 *         was kept outside of the capture is pending.
 * Since 0.1. */
cai_status cai_owner_await_uses(cai_owner *self, uint64_t stream, uint32_t access,
                                cai_error *error);

/** Ends a producer's block. The producer's cai_owner.release calls it after the last reference is
 * released. It calls end(self) now if no use is kept, else once the uses are complete, on a thread
 * that calls a function under "Order" or cai_drain(). It does not wait, does not ask the driver
 * whether the uses are complete, and does not fail. It records an event on a stream that uses are
 * ordered with and that the memory is not freed on. The block stays valid until `end` is called.
 *
 * @param self  filled in by cai_owner_init(). used_on may have been replaced by a function that
 *              calls the original. If await_uses has been replaced, `end` is called at once, since
 *              only that function knows which uses are kept
 * @param end   frees the block, and may run any code; no lock is held
 * Since 0.1. */
void cai_owner_end(cai_owner *self, void (*end)(cai_owner *self));

/** Counts the uses that are kept in cai_owner.uses, and the streams that other uses are ordered
 * with. For a binding whose garbage collector must not free the producer before these are complete.
 * Any thread.
 *
 * @param self  an owner with an await_uses of its own counts as 0: only that function knows which
 *              uses are kept
 * @param ask   0: counts all, without a driver call. 1: records an event on those streams, asks the
 *              driver about uses of the current context and of the active primary contexts, and
 *              forgets those that are complete. 2: the host waits for them, as cai_drain() does
 * @param left  the uses still kept, plus the streams on which no event is recorded
 * @return #CAI_OK; #CAI_ERR_VALUE for another value of `ask`; #CAI_ERR_DRIVER; #CAI_ERR_CUDA;
 *         #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_owner_pending(cai_owner *self, int32_t ask, int64_t *left, cai_error *error);

/** Flags of cai_location.flags. Since 0.1. */
enum {
  CAI_LOCATION_HOST_ACCESSIBLE = 1 << 0, /**< the host may dereference `data` */
  CAI_LOCATION_MANAGED = 1 << 1          /**< managed (unified) memory */
};

/** What the driver reports of an array's memory. It grows at the tail. 48 bytes. Since 0.1. */
typedef struct cai_location {
  uint32_t struct_size;    /**< in: sizeof(cai_location), at least 8. The library fills in at most
                                that many bytes, and only members that it knows: zero the rest */
  uint32_t flags;          /**< CAI_LOCATION_* */
  int32_t device_type;     /**< CAI_DEVICE_*, now known exactly */
  int32_t device_id;       /**< ordinal */
  uint64_t context;        /**< CUcontext; 0 if the memory belongs to no context, as pool memory */
  uint64_t device_pointer; /**< of the first element, as kernels of the current context use it; may
                                differ from `data` for registered host memory; 0 if they cannot */
  uint64_t base;           /**< address of the allocation; 0 if it is not known */
  uint64_t size;           /**< bytes of the allocation; 0 if it is not known */
} cai_location;

/** Asks the driver about an array's memory; the array itself is not changed. The driver is not
 * asked about an empty array: its location is its own device, with all else 0. Nor is it asked
 * about a host array: device_pointer is `data`, flags is HOST_ACCESSIBLE, and all else is 0.
 *
 * @param array  valid
 * @param out    the caller sets struct_size
 * @return #CAI_OK; #CAI_ERR_BOUNDS if the extent leaves the allocation; #CAI_ERR_DEVICE if the
 *         driver does not know the pointer, or for ROCm; #CAI_ERR_DRIVER, #CAI_ERR_CUDA;
 *         #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_array_validate(); #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT.
 * The text, "data". Since 0.1. */
cai_status cai_array_locate(const cai_array *array, cai_location *out, cai_error *error);

/* cai.h: declarations end */

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* CAI_H */
