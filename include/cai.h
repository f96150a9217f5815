/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file cai.h
 * The C side of the CUDA Array Interface.
 *
 * The CUDA Array Interface (CAI) lets Python libraries share GPU arrays through a dict,
 * `__cuda_array_interface__`. libcai gives the same array to compiled code: #cai_array
 * (cai/array.h, which this includes) carries the dict's entries under the dict's names, and
 * beside them what a dict cannot carry, an owner. "The text" below is version 3 of the interface,
 * in Numba's documentation.
 *
 * These rules hold for every function that does not say otherwise:
 *
 * - Units. Strides, offsets, sizes of items and extents are in bytes; shapes and dimensions are
 *   in elements. Device addresses are integers. (For kind 't', bits, see #cai_dtype.)
 * - Streams are integers as in the text: 1 is the legacy default stream, 2 the calling thread's
 *   per-thread default stream, anything else a `CUstream`. 0 is never a stream.
 * - Results. A function that can fail returns a #cai_status and takes a #cai_error last, which
 *   may be NULL. Outputs are written on success only; the error is written on failure only.
 * - Pointers must not be NULL unless the text of the function allows it; one that is NULL all the
 *   same gives #CAI_ERR_ARGUMENT, never a crash.
 * - Ownership. Arguments are borrowed during the call. An array whose `owner` is NULL is borrowed
 *   too: it, and all that it points to, is valid only while whoever gave it says so, usually
 *   during the call that passed it. An owned array is released by cai_array_release().
 * - Threads. Every function may be called from any thread, with or without Python's GIL. An array
 *   is never changed once a second party has seen it, so any number of threads may read it.
 * - No function throws, keeps hidden per-thread state, or holds a lock while it runs code that is
 *   not libcai's. Only the functions under "Order", cai_array_locate(), and cai_interface_write()
 *   and cai_array_release() of an array in use, use the driver; they load it when first they need
 *   it, once for the process, and leave the caller's current context as it was.
 * - A process that has loaded the driver and then forks must not use it in the child: there every
 *   function that needs it returns #CAI_ERR_STATE. The last release of an array puts nothing off
 *   there, and runs the producer's code at once; what was put off before the fork never ends there.
 *
 * The lines between the two markers hold no directive, macro or inline function, so that cffi and
 * LuaJIT can take them as they are; bindgen takes the whole file.
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

/** Takes a failure that can be told to nobody; the error lives during the call. Any thread, perhaps
 * one of libcai's or of the driver's: it must neither throw, nor call the driver, nor block.
 * Since 0.1. */
typedef void (*cai_failure_fn)(void *context, const cai_error *error);

/** Sets who hears of failures that can be told to nobody; NULL, as at first: nobody.
 *
 * @param hook     its code and its context must stay for the life of the process
 * @return #CAI_OK; #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_on_failure(cai_failure_fn hook, void *context, cai_error *error);

/** Parses a typestr. Takes what the text and NumPy's array interface allow; beyond that, as lenient
 * reading does, a missing byte order, '=' and '|' (all meaning the host's), and zeros before a
 * number.
 *
 * @param typestr  UTF-8, need not end in NUL
 * @param length   bytes of it
 * @param out      the type. Bits are taken as "|t1"; any other number of them is refused
 * @return #CAI_OK; #CAI_ERR_VALUE (entry typestr); #CAI_ERR_ARGUMENT.
 * The text, "typestr". Since 0.1. */
cai_status cai_dtype_parse(const char *typestr, uint64_t length, cai_dtype *out, cai_error *error);

/** Writes the canonical typestr of a type: byte order '|' where it does not matter, else '<' or
 * '>'; "<V2" for bfloat16 and "|V1" for the float8 types.
 *
 * @param out  #CAI_TYPESTR_SIZE bytes; gets the text and its NUL
 * @return #CAI_OK; #CAI_ERR_VALUE (entry typestr) if the type is none; #CAI_ERR_ARGUMENT.
 * The text, "typestr". Since 0.1. */
cai_status cai_dtype_format(const cai_dtype *dtype, char *out, cai_error *error);

/** What follows from shape, strides and item size. 40 bytes. Since 0.1. */
typedef struct cai_layout {
  int64_t size;   /**< number of elements: the product of the shape */
  int64_t nbytes; /**< size * itemsize; for kind 't', bits rounded up to bytes */
  int64_t lo;     /**< the bytes touched are [lo, hi) relative to `data`: the extent, summed */
  int64_t hi;     /**< over all axes; lo <= 0, and both are 0 if there are no elements */
  int32_t c_contiguous; /**< 1 or 0. NumPy's rules: an axis of extent 1 does not matter, an empty */
  int32_t f_contiguous; /**< array is both; but stride 0 over a larger extent is neither */
} cai_layout;

/** Computes the layout of an array. Trusts nothing: every product and sum is checked.
 *
 * @return #CAI_OK; #CAI_ERR_VALUE (entry shape, strides or typestr) if one of them is wrong or a
 *         size does not fit in 63 bits; #CAI_ERR_VERSION as cai_array_validate();
 *         #CAI_ERR_ARGUMENT.
 * The text, "strides". Since 0.1. */
cai_status cai_array_layout(const cai_array *array, cai_layout *out, cai_error *error);

/** Finds the address by which the host uses an array. Pinned memory may have two: an array of it
 * goes by the device's, as kernels do; tensors and columns of it, and all that the host does here,
 * by the host's. Of memory that is not libcai's the driver is asked, if there is one, in whatever
 * context is current; none is made for it. What is pending is not waited for.
 *
 * @param out  gets the address of the first element; 0 if there are no elements
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED for a device's own memory; #CAI_ERR_DEVICE for ROCm;
 *         #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_array_validate(); #CAI_ERR_ARGUMENT;
 *         #CAI_ERR_STATE, entry data, for memory that was freed or reset.
 * Since 0.1. */
cai_status cai_array_host(const cai_array *array, uint64_t *out, cai_error *error);

/** Judges a struct that someone else filled in: prefix, critical flags, reserved words, kinds, null
 * pointers, dimensions, sizes and extents, the mask and the descr. Reads everything the struct
 * points to, so the pointers themselves must be good. It never asks the driver. A mask may be
 * judged by itself; so kind 't' is lawful here, though no dict may have it but a mask's.
 *
 * @return #CAI_OK; #CAI_ERR_VALUE, which names the entry; #CAI_ERR_VERSION for another ABI major or
 *         an unknown critical flag; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_array_validate(const cai_array *array, cai_error *error);

/* ---- Reading and writing the dict --------------------------------------------------------- */

/** Values of cai_value.form: what a producer's value is, before anybody judges it. The names are
 * Python's; other languages use MISSING, NONE, INT, BOOL, FLOAT, TEXT and TUPLE. Since 0.1. */
enum {
  CAI_FORM_MISSING = 0, /**< the dict has no such key */
  CAI_FORM_NONE = 1,
  CAI_FORM_INT = 2,             /**< exactly int */
  CAI_FORM_INDEX = 3,           /**< an integer by `__index__`, a subclass of int included */
  CAI_FORM_BOOL = 4,            /**< integer is 0 or 1 */
  CAI_FORM_FLOAT = 5,           /**< text: how it prints */
  CAI_FORM_TEXT = 6,            /**< exactly str; text, length */
  CAI_FORM_TEXT_SUBCLASS = 7,   /**< likewise */
  CAI_FORM_BYTES = 8,           /**< text, length */
  CAI_FORM_TUPLE = 9,           /**< exactly tuple; items, length */
  CAI_FORM_TUPLE_SUBCLASS = 10, /**< likewise */
  CAI_FORM_LIST = 11,           /**< list, and subclasses; likewise */
  CAI_FORM_DICT = 12,           /**< exactly dict */
  CAI_FORM_DICT_SUBCLASS = 13,
  CAI_FORM_OBJECT = 14,    /**< anything else. text: how it prints, or NULL */
  CAI_FORM_INTERFACE = 15, /**< for "mask": an object with an interface of its own */
  CAI_FORM_MAPPING = 16    /**< for the dict: no dict, but an object that has its items, as
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
  const char *text;              /**< for TEXT and BYTES the contents; for what no other member can
                                      hold a printed form, or NULL. UTF-8 is expected and checked;
                                      NUL is not the end */
  const struct cai_value *items; /**< for TUPLE and LIST: `length` of them; NULL means that the
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
 * Zero it, set struct_size, dict and the entries that are there. It grows at the tail; a tail that
 * the library is too old for must be zero. 336 bytes; none of them may be missing. Since 0.1. */
typedef struct cai_interface {
  uint32_t struct_size; /**< sizeof(cai_interface) */
  uint32_t protocol;    /**< CAI_PROTOCOL_* */
  cai_value dict;       /**< the dict itself: its form, and how it prints */
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

/** How cai_interface_read() judges. Since 0.1. */
enum {
  CAI_LENIENT = 0, /**< import: takes all whose meaning is certain, nothing else */
  CAI_STRICT = 1   /**< lint for producers: the text of version 3 to the letter */
};

/** Values of cai_finding.severity. Since 0.1. */
enum {
  CAI_SEVERITY_ERROR = 1,   /**< a reason for the verdict */
  CAI_SEVERITY_WARNING = 2, /**< taken, though the text says otherwise */
  CAI_SEVERITY_ADVICE = 3   /**< lawful, but likely a mistake or hard on consumers */
};

/** One remark on an interface. Its strings live during the callback. 48 bytes. Since 0.1. */
typedef struct cai_finding {
  uint32_t struct_size; /**< bytes of this struct; it grows at the tail */
  int32_t severity;     /**< CAI_SEVERITY_* */
  int32_t entry;        /**< CAI_ENTRY_*; of a mask's own dict, always #CAI_ENTRY_MASK */
  int32_t index;        /**< axis, item or field, from 0; -1 for the whole */
  cai_status status;    /**< what reading returns for it, if severity is ERROR; else 0 */
  uint32_t reserved;    /**< 0 */
  const char *value;    /**< the value, printed */
  const char *clause;   /**< the rule: which text, and what it says */
  const char *text;     /**< the remark, one line; names the entry and shows the value */
} cai_finding;

/** Takes one finding. `context` is the caller's. Must not throw. Since 0.1. */
typedef void (*cai_finding_fn)(void *context, const cai_finding *finding);

/** Returns how many bytes of storage cai_interface_read() needs at most for this interface, which
 * may be 0; and 0 if `in` is NULL, or if its struct_size or that of mask_interface is none that
 * this library can read. It judges nothing else. Since 0.1. */
uint64_t cai_interface_storage(const cai_interface *in);

/** Reads an interface: the one place where the text is judged.
 *
 * @param in          the raw values
 * @param mode        #CAI_LENIENT or #CAI_STRICT
 * @param on_finding  takes every finding, the errors first noticed first; may be NULL. Without it
 *                    reading ends at the first error
 * @param context     for on_finding; may be NULL
 * @param storage     holds shape, strides, descr and mask; aligned to 8 bytes. May be NULL
 *                    if storage_size is 0
 * @param storage_size  bytes; cai_interface_storage(in) always suffice. Contents are unspecified
 *                    after a failure
 * @param out         a borrowed array: it points into `storage`, and to nothing of `in`. Its device
 *                    is CUDA with id -1, or CPU with id 0. An array without elements gets data 0.
 *                    Stream 0 becomes 1, UNSTATED stands for a version below 3 that gives none
 * @return #CAI_OK; #CAI_ERR_VALUE or #CAI_ERR_TYPE, with the entry; #CAI_ERR_STORAGE;
 *         #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * The text, "Python Interface Specification". Since 0.1. */
cai_status cai_interface_read(const cai_interface *in, uint32_t mode, cai_finding_fn on_finding,
                              void *context, void *storage, uint64_t storage_size, cai_array *out,
                              cai_error *error);

/** Returns how many bytes of storage cai_interface_write() needs for this array; 0 if `array` is
 * NULL, or not valid by cai_array_validate(). Since 0.1. */
uint64_t cai_interface_write_storage(const cai_array *array);

/** Says an array as the values of a dict: the reverse of cai_interface_read(). Strides are NONE if
 * and only if the array is C-contiguous; an UNSTATED stream leaves as what a provider says,
 * or as 1; a mask leaves as
 * mask_interface; trivial descr is left out. A mask may be written by itself.
 * A dict cannot say what streams of the CPU's (cai/device.h) have yet to do on the memory: the host
 * waits for that.
 *
 * The stream that is said comes after the uses that the owner has kept: where it does not by
 * itself, it is made to wait, as by cai_array_publish(). So write an array anew for each reader.
 * From then on users of the owner's arrays that come with another stream wait for it, unless the
 * owner has an await_uses of its own.
 *
 * @param array         valid; its device CPU gives #CAI_PROTOCOL_HOST, any other CUDA
 * @param version       3, or 2, which has no "stream": then the array's stream must be NONE or
 *                      UNSTATED (synchronise, and say NONE in a copy of the struct)
 * @param storage       aligned to 8 bytes; holds the items of the values
 * @param storage_size  bytes; cai_interface_write_storage(array) suffice
 * @param out           struct_size set by the caller: no more than that is written. Points into
 *                      `storage`, `array` and what the array points to
 * @return #CAI_OK; #CAI_ERR_EXPORT if a dict cannot say it: an event, a stream in version 2, a
 *         device that is neither CPU nor CUDA, another thread's stream 2, and NONE where the owner
 *         has kept uses or told a stream, or another import of the memory has (publish it);
 *         #CAI_ERR_STORAGE; #CAI_ERR_STATE if the memory was freed; #CAI_ERR_VALUE and
 *         #CAI_ERR_VERSION as cai_array_validate(); #CAI_ERR_ARGUMENT; and, where the stream has to
 * wait, as cai_array_publish(). The text, "Python Interface Specification". Since 0.1. */
cai_status cai_interface_write(const cai_array *array, uint32_t version, void *storage,
                               uint64_t storage_size, cai_interface *out, cai_error *error);

/* ---- Ownership and views ------------------------------------------------------------------ */

/** Makes an owned array: one block, one allocation, that holds copies of the dims, the mask and
 * the descr, and calls `release` when its last holder lets go. The memory of the array
 * itself is not copied. The copy is of this library's ABI minor: unknown advisory flags, and the
 * reserved words of a newer minor, are left out; so they are of a view.
 *
 * @param borrowed  valid; its owner, if any, is neither retained nor released, and uses of the two
 *                  owners do not find each other: of an array that has one, make a view
 *                  (cai_array_slice() with no items)
 * @param release   runs once, on whatever thread lets go last, with no lock held, or later, as
 *                  cai_owner.release says; may be NULL
 * @param context   for release. On success it belongs to the array; on failure it stays the
 *                  caller's, and `release` is not called
 * @param out       the owned array, with one holder; end with cai_array_release()
 * @return #CAI_OK; #CAI_ERR_MEMORY; #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_array_validate();
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_array_own(const cai_array *borrowed, void (*release)(void *context), void *context,
                         cai_array **out, cai_error *error);

/** Values of cai_slice.kind. Since 0.1. */
enum {
  CAI_SLICE_RANGE = 1,         /**< start:stop:step on one axis */
  CAI_SLICE_INDEX = 2,         /**< one index, `start`; the axis goes */
  CAI_SLICE_NEWAXIS = 3,       /**< a new axis of extent 1 */
  CAI_SLICE_ELLIPSIS = 4,      /**< all axes that the others leave; at most once */
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
 * A view is an owned array whose owner holds the one it was made of; the memory, stream, descr and
 * read-only mark are the same. A mask is viewed likewise, and if it cannot be, the error's entry is
 * mask; a mask of bits cannot be, unless shape and elements stay as they are. On failure nothing is
 * held.
 *
 * @param array  owned (a borrowed array cannot be held)
 * @param slices  `count` items; may be NULL if count is 0
 * @param out    an owned array with one holder
 * @return #CAI_OK; #CAI_ERR_ARGUMENT for an index out of range (cai_error.index is the item), a
 * step of 0, too many items or a borrowed array; #CAI_ERR_UNSUPPORTED for a mask of bits;
 *         #CAI_ERR_MEMORY; #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_array_validate().
 * Since 0.1. */
cai_status cai_array_slice(const cai_array *array, const cai_slice *slices, int32_t count,
                           cai_array **out, cai_error *error);

/** Makes a view of another shape, in C order. As cai_array_slice() but for:
 *
 * @param shape  `ndim` extents, elements; one may be -1, and is then computed; may be NULL if ndim
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
 * @return also #CAI_ERR_ARGUMENT if an axis is out of range or comes twice.
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
 * stream, as the array says it; `C` is the consumer's:
 *
 *     P  --[ writes x ]--+                                   +--[ writes x again ]-->
 *                        | record                     wait   |
 *                  cai_use_begin                       cai_use_end
 *                        | wait                       record |
 *     C  ----------------+--[ kernels that read x ]----------+----------------------->
 *
 * docs/order.rst says the rules, five for consumers and five for producers, what happens to each
 * kind of array, and shows ten programs. */

/** Values of cai_use_options.order. Since 0.1. */
enum {
  CAI_ORDER_BOTH = 0,  /**< what the text asks for: the beginning and the end both do their part */
  CAI_ORDER_BEGIN = 1, /**< the end does nothing */
  CAI_ORDER_END = 2,   /**< the beginning makes nobody wait */
  CAI_ORDER_NONE = 3,  /**< neither does anything */
  CAI_ORDER_HOST = 4   /**< the host waits: at the beginning for the producers' streams, at the end
                            for the consumer's */
};

/** Flags of cai_use_options.flags: what to do where only one side is being captured into a graph.
 * By default the call is refused. Since 0.1. */
enum {
  CAI_USE_EXTERNAL = 1 << 0, /**< the consumer captures, the producer does not, and has work
                                  pending: the graph waits, at each launch, for what was pending at
                                  the beginning (and for nothing later: order each launch with a use
                                  of its own). That is work on the array's stream, or its event;
                                  kept uses must be complete. The event of a borrowed array must
                                  outlive the graph */
  CAI_USE_FORK = 1 << 1 /**< the producer captures, the consumer does not: the consumer's stream,
                             which must not be 1, joins the capture at the beginning, and is
                             joined back at the end. Until the capture has ended the stream is in
                             it: nobody else uses it, nor arrays that come with it, and both streams
                             live. Who queues work there after the end joins it back; a further use
                             does so at its end, where an array came with another stream of the
                             capture and its owner is not #CAI_OWNER_RECLAIMS. If one of the two
                             streams is 2, the use is ended, or given up, on the thread that began
                             it: elsewhere they cannot be joined, and the capture is lost (904 at
                             cuStreamEndCapture()) */
};

/** How arrays are used. It grows at the tail; a tail that the library is too old for must be zero,
 * or the call is refused. NULL, or all 0 after struct_size, is the full order. 24 bytes; of 8 at
 * least. Where it ends before `flags`, a failure advises none of them. Since 0.1. */
typedef struct cai_use_options {
  uint32_t struct_size; /**< sizeof(cai_use_options) */
  uint32_t order;       /**< CAI_ORDER_* */
  uint32_t access;      /**< CAI_ACCESS_*, for all the arrays; ignored if there are `accesses` */
  uint32_t flags;       /**< CAI_USE_* */
  const uint32_t *accesses; /**< NULL; or CAI_ACCESS_*, one for each array, in the place of
                               `access`; read during the call */
} cai_use_options;

/** Arrays in use: what the end of a use must know of its beginning. The caller's, on the stack as a
 * rule, and not to be looked into; all 0 is a use that is not open. It may be moved, as bytes, but
 * not copied: one of the two must be forgotten. 352 bytes; never more. Since 0.1. */
typedef struct cai_use {
  uint64_t state[44];
} cai_use;

/** Before work on `stream` reads or writes the arrays: makes the stream wait for what their
 * producers have pending, their masks' too, and for kept uses that conflict with the access. One
 * event record and one wait for each distinct producer stream, one wait for each kept use that none
 * of these covers; none for `stream` itself, for NONE, for empty arrays, for host arrays, nor where
 * the legacy stream and a blocking stream of one context are in order anyway. The host never waits
 * (but for #CAI_ORDER_HOST), and is no stream: `stream` may be idle, so that a host that waits for
 * it has not waited for the arrays. UNSTATED is what cai_provide_streams() made it, else the legacy
 * stream of the array's device.
 *
 * The work goes to `stream`, and to no other. Uses that conflict do not overlap: one begins after
 * the other has ended; readers may. A mask is used as its array is: who writes elements may mark
 * them as valid. One that is read-only itself is read. Who leaves it to its readers uses the array
 * without it.
 *
 * What streams of the CPU's (cai/device.h) have yet to do on an array, no stream can wait for: the
 * host does, and is told what it failed with, once; it is #CAI_ERR_STATE in a forked child. The
 * thread of such a stream does not wait for its own.
 *
 * 1 and 2 mean, for an array, the context of its memory (a pool's has none: then the primary one of
 * its device if that is active, else the current one if it is on that device); for `stream`, the
 * current context. Where none is current, cai_arrow_write() takes it for one of the array's. A 2 is
 * valid on the thread that said it only.
 *
 * Captures: streams of one capture are ordered within it. If only `stream` captures, a producer
 * with nothing pending needs no order (the launch's place is the caller's affair); one with work
 * pending is refused, see #CAI_USE_EXTERNAL. If only the producer does, see #CAI_USE_FORK. No
 * capture is ever invalidated.
 *
 * The environment relaxes it, read once: CAI_SYNC=0 makes every order but #CAI_ORDER_HOST
 * #CAI_ORDER_NONE; CAI_NONE=legacy distrusts NONE, and takes it for UNSTATED. CAI_TRACE=1 prints
 * each edge that a function under "Order" makes or leaves out, and why, to stderr.
 *
 * Call one of the next three functions in the end; beyond 8 arrays the use has memory of its own,
 * which leaks otherwise. With #CAI_ORDER_BEGIN, and without #CAI_USE_FORK, there is nothing to end.
 * Hold the arrays till then: the use takes no reference.
 *
 * @param use      gets the open use, whatever it was before; on failure one that is not open
 * @param arrays   `count` arrays; may be NULL if count is 0; the structs need not stay
 * @param stream   the consumer's: 1, 2 or a CUstream, which must live until the use is over, also
 *                 where it is finished or abandoned: its handle may recur as another stream's
 * @param options  may be NULL
 * @return #CAI_OK; #CAI_ERR_CAPTURE if a capture allows no such order (the streams are asked first,
 *         and nothing has happened); #CAI_ERR_DRIVER; #CAI_ERR_CUDA, after which some of the waits
 *         may stand; #CAI_ERR_DEVICE for ROCm, and for an array whose 1 or 2 has no context;
 *         #CAI_ERR_ORDER for a 2 of another thread, for an array of which a provider says stream 0,
 *         and for one that came with an event, and whose owner keeps no uses, since no end is
 *         possible (but for #CAI_ORDER_BEGIN, after which cai_array_release_on() is due, and
 *         #CAI_ORDER_HOST); #CAI_ERR_VALUE for a write to a read-only array; #CAI_ERR_VALUE and
 *         #CAI_ERR_VERSION as cai_array_validate(); #CAI_ERR_STATE if the memory was freed;
 *         #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT, also for
 * stream 0, for 1 or 2 if no context is current, for 2 (entry stream) if a green one is, which has
 * none, and for a variable of the environment that has an invalid value. cai_error.index is the
 * array, or -1 for the consumer's stream. No driver is needed, nor loaded, if no array needs order,
 * before the work or after it. The text, "Synchronization". Since 0.1. */
cai_status cai_use_begin(cai_use *use, const cai_array *const *arrays, int32_t count,
                         uint64_t stream, const cai_use_options *options, cai_error *error);

/** After work on the stream was queued: makes every producer stream wait for it, after reads too,
 * so that the producer may write, free or reuse the memory in its own order; and lets the owners
 * keep the use. One event record in all. Any thread, unless the stream or a producer's is 2: then
 * the one that began.
 *
 * If one producer cannot be ordered, since its stream is being captured, say, the others still are;
 * its owner keeps the use; and the first failure is returned. Call it again once the capture has
 * ended, or let the producer reclaim. In a consumer's capture nothing is done if one of them cannot
 * be ordered; nor where the stream is being captured by now, and was not at the beginning: end the
 * use once that capture has ended. A beginning that needed no order has not asked: where all arrays
 * came with `stream`, the end fails only if one of the owner's has been published with another
 * stream since, and not within that capture. What #CAI_USE_FORK has taken into a capture is joined
 * back on every path, but for a 2 on another thread than that which began.
 *
 * A use is kept by every owner that has `used_on`, with that event, save where the array's stream
 * waits for it and the owner is #CAI_OWNER_STREAM_ORDERED, where the array's stream is `stream`,
 * and in a capture. It is kept all the same where arrays of the owner come with different streams,
 * and where a blocking stream, or 2, uses an array of stream 1. What is not kept marks the array's
 * stream, on which the last release records an event. If the owner is #CAI_OWNER_RECLAIMS, the
 * array's stream does not wait. Where nobody keeps the use of an array of stream 1, stream 1 waits
 * for a blocking one, too: a barrier for its context. In a capture, uses that conflict come after
 * each other where the owner keeps uses.
 *
 * @param use  is open no more; on failure it still is. One that is not open: nothing is done
 * @return #CAI_OK; #CAI_ERR_CAPTURE; #CAI_ERR_DRIVER; #CAI_ERR_CUDA; #CAI_ERR_ORDER on another
 *         thread than that of a 2; #CAI_ERR_STATE in a forked child; #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT if `use` is NULL. cai_error.index as for cai_use_begin().
 * The text, "Synchronization", Consumer. Since 0.1. */
cai_status cai_use_end(cai_use *use, cai_error *error);

/** Ends a use whose work is complete, or was never queued: orders nothing, and keeps nothing. For
 * work that somebody else did, and the host has seen the end of, as with a message that was sent;
 * and for a use whose end fails.
 *
 * @param use   is open no more; on failure it still is. One that is not open, as after
 *              #CAI_ORDER_NONE: nothing is done
 * @param wait  not 0: the host waits for the stream first; where no array needed order at the
 *              beginning, 1 and 2 are of the current context. Release the GIL first
 * @return #CAI_OK; with `wait` also #CAI_ERR_CAPTURE if the stream is being captured;
 *         #CAI_ERR_DRIVER; #CAI_ERR_CUDA; #CAI_ERR_ORDER on another thread than that of a 2;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_use_finish(cai_use *use, int32_t wait, cai_error *error);

/** Gives a use up that can be ended in no other way, in a destructor as a rule: it does not wait,
 * and does not fail. The producers' streams do not wait. The owners keep the use if an event can be
 * recorded on the stream, which lives still, and cai_drain() with `wait` waits for that. Where none
 * can, since it is another thread's 2, or in a capture that it was not in at the beginning (or that
 * this, needing no order, has not asked for), or the driver refuses, the use takes references to
 * the owners, which cai_drain() with `wait` lets go of (without memory to remember that by, nobody
 * does). Nobody is told which it was: call cai_drain() with `wait` after every abandon, outside of
 * captures, before anybody else uses the arrays. In a capture the graph takes references, too. What
 * #CAI_USE_FORK has taken into a capture is joined back, but for a 2 on another thread than that
 * which began: then that capture is lost.
 *
 * @param use  is open no more. NULL, or one that is not open: nothing is done
 * Since 0.1. */
void cai_use_abandon(cai_use *use);

/** Finds the one stream on which the arrays can be used with no event at all: the producer's own.
 * It waits for kept uses, and counts as used; an owner whose array, or mask, came with None is told
 * of it, as by a dict, and the stream must live as long as that owner.
 *
 * @param out  1, 2 or a CUstream; 0 if none of the arrays asks for any: then nothing is pending,
 *             and nobody is told of work on a stream of one's own, for which a use is begun
 * @return #CAI_OK; #CAI_ERR_ORDER if there is no such stream, or it is 1 or 2 of another context
 *         than the current one, arrays of an owner, or its memory (cai_memory_set_stream()), have
 *         come with different streams, all came with None, and an owner has kept uses, or an owner
 *         cannot be told of the stream: one with an await_uses of its own, or #CAI_OWNER_IMPORTED
 *         where the array, or its mask, came with None; the rest as cai_use_begin().
 * The text, "Synchronization". Since 0.1. */
cai_status cai_arrays_same_stream(const cai_array *const *arrays, int32_t count, uint64_t *out,
                                  cai_error *error);

/** Blocks the calling thread until what the producer has pending on the array and on its mask, and
 * all uses that its owner has kept, the work of streams of the CPU's among them, are complete. An
 * event is recorded on the array's stream: stream 1 alone need not be behind the blocking streams.
 * Of memory whose context cai_device_reset() has destroyed, nothing is pending on the array's
 * stream. The last resort. Release the GIL first.
 *
 * @return #CAI_OK; the rest as cai_use_begin(), cai_error.index as cai_array_validate().
 * The text, "Synchronization". Since 0.1. */
cai_status cai_array_sync_host(const cai_array *array, cai_error *error);

/** Producer's side: before the producer's own work on `stream` reads or writes an array that others
 * may have used. Makes `stream` wait for the array's own stream, where consumers have put their
 * ends, and for kept uses that conflict with the access. After the work, the array is published
 * again, unless `stream` is the array's own and that of all arrays of the owner. Within a capture
 * that began on another stream this is needed on the array's own one, too: it may have joined that
 * after uses there, of which nobody else can tell it.
 *
 * @param stream  1, 2 or a CUstream
 * @param access  CAI_ACCESS_*; what the producer is about to do, to the mask, too. It may write
 * what it has marked read-only for others
 * @return as cai_use_begin(), cai_error.index as cai_array_validate().
 * The text, "Synchronization", Producer. Since 0.1. */
cai_status cai_array_reclaim(const cai_array *array, uint64_t stream, uint32_t access,
                             cai_error *error);

/** Producer's side: returns a view that says one stream for work that is pending on several. Makes
 * `target` wait for `streams`, for the stream or event that the array comes with, and for kept
 * uses. The array itself stays as it is. A producer that writes the memory again, publishes it
 * again.
 *
 * The view has an owner of its own, which holds the array's. When its last reference is released,
 * its stream is forgotten: if a dict or a tensor said it to somebody who knows of no owner, an
 * event is recorded there first, and kept as a write. Where `target` is being captured by then,
 * that cannot be done, and the stream must live as long as the array.
 *
 * The array's owner keeps what is pending on `streams` as a write, with the event that `target`
 * waits for: whoever has the array itself, or another view of it, waits for that, and not for
 * `target`. Work on `target` itself reaches them, and is waited for before the memory is freed,
 * only if `target` is among `streams`, too. As long as the view lives, arrays of the owner come
 * with different streams, and all their uses are kept. An owner with functions of its own is told
 * of `target` by used_on.
 *
 * Within a capture `target`, and those it waits for, must be in it, or idle. What was pending on
 * the stream of the array, or its mask, before that was in the capture, no event tells: users of
 * arrays of the owner that come with another stream wait for that one, as if a dict had said it,
 * and so within the capture; it must live as long as that would have to. What was pending on
 * `streams` nobody hears of: publish it before. An owner that keeps uses by itself cannot be told:
 * #CAI_ERR_CAPTURE, unless `target` is the array's stream.
 *
 * What streams of the CPU's (cai/device.h) have yet to do is not waited for: who uses the view
 * later does that.
 *
 * Before the producer works on one of `streams` again, it calls cai_array_reclaim() for it. If the
 * array had come from somebody else, its own stream must in the end wait for `target`: call
 * cai_use_begin() and cai_use_end() with the original.
 *
 * @param array    valid, and not on the CPU. The view of a borrowed one holds nothing: the memory,
 *                 and what `array` says of it, must live as long as the view and the work on it
 * @param streams  `count` streams, each 1, 2 or a CUstream; may be NULL if count is 0
 * @param target   1 or 2 of the context of the array's memory, or a CUstream; must live as long as
 *                 the view, and all that is made of it
 * @param out      the view, with one reference: stream `target`, stream_kind STREAM, version 3, and
 *                 so its mask; unchanged on failure
 * @return as cai_use_begin(); #CAI_ERR_ARGUMENT also for an array on the CPU, which has no stream,
 *         and #CAI_ERR_ORDER for a target 2 if arrays of the owner come with another thread's;
 *         cai_error.index is the stream of `streams`, or -1.
 * The text, "Synchronization", Producer: streams 7, 9, 15 exported as 3. Since 0.1. */
cai_status cai_array_publish(const cai_array *array, const uint64_t *streams, int32_t count,
                             uint64_t target, cai_array **out, cai_error *error);

/** Producer's side: returns a view that comes with an event instead of a stream, which may then go,
 * though not its context, and which is the way to another thread for work on a stream 2. A dict
 * cannot carry it. `stream` waits for what cai_array_publish() says; then an event is recorded
 * there, which lives as long as the view. For whoever has the array already, the owner keeps it as
 * a write. Streams of the CPU's are as for cai_array_publish().
 *
 * @param array  as for cai_array_publish()
 * @param out    the view, with one reference: the event, stream_kind EVENT, version 3, and so its
 *               mask; unchanged on failure
 * @return as cai_array_publish(); #CAI_ERR_CAPTURE if `stream` is being captured.
 * Since 0.1. */
cai_status cai_array_publish_event(const cai_array *array, uint64_t stream, cai_array **out,
                                   cai_error *error);

/** Takes one holder away, as cai_array_release(), once all that is queued on `stream` by now is
 * complete; for a consumer that does not end its use, or does not trust the memory's allocation
 * stream to be the array's. The array's stream waits for it, as at an end. The host does not wait,
 * and no CUDA callback is used: a later call under "Order" or cai_drain() finds out. If `stream` is
 * being captured, the graph takes it over: it goes when the graph, and what was made of it, has
 * gone; what was queued before the capture began is in no graph, so call it before that, or after
 * the end. Else the owner keeps the use, if it keeps any; one with functions of its own is told by
 * used_on. Streams of the CPU's (cai/device.h) are not waited for.
 *
 * @param array  owned. On failure the holder is still the caller's
 * @return #CAI_OK; #CAI_ERR_ARGUMENT for a borrowed array, too; the rest as cai_use_begin().
 * Since 0.1. */
cai_status cai_array_release_on(const cai_array *array, uint64_t stream, cai_error *error);

/** Ends the arrays whose release was put off until kept uses were complete, and now are; runs their
 * producers' code on this thread, which may make calls there that a capture elsewhere forbids. The
 * functions under "Order" do so in passing, for a few of the contexts that they touch anyway; this
 * one does it for the current context and the active primary ones: where there are others, call it
 * in each of them until `left` is 0. Nothing ends while a stream that the call works on, or that is
 * current on the thread (cai/device.h), is being captured: a graph is no place to free memory in,
 * and a later call does it. Call it with `wait`, and that context current, before destroying or
 * resetting a context in which arrays were used (for those that are still held, cai_owner_pending()
 * with 2): uses that were not drained are given up once a context with the same handle is met, and
 * then the producer's code runs; till then nobody waits for them. A use of which the driver will
 * not say whether it is complete is kept, unless its context has gone or failed for good. Where the
 * driver records no event, as at a last release, only the host that waits for the context knows;
 * and if not even that is known, it has to wait in all that it is called for. Like
 * cai_device_synchronize() that is for outside of captures, others' too.
 *
 * @param wait  not 0: the host waits for the uses to complete. Release the GIL first
 * @param left  may be NULL; gets the number of arrays whose end is still put off, and of uses that
 *              were given up and are pending. What streams of the CPU's hold does not count: wait
 *              for those by their own functions. Nor does what living graphs hold, whose arrays a
 *              thread of the driver's lets go of some time after the graph has gone
 * @return #CAI_OK, also if nothing was put off, and then with no driver; #CAI_ERR_DRIVER;
 *         #CAI_ERR_CUDA; #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_drain(int32_t wait, int64_t *left, cai_error *error);

/** Calls body(context) where it may free memory and harms no capture: for who puts releases off by
 * itself, as the binding of a language does that runs no producer's code on any thread. The call is
 * on this thread, which may do there what a capture elsewhere forbids. While `stream`, or a stream
 * that is current on the thread (cai/device.h), is being captured, nothing is called: try again
 * later. The functions under "Order" do so for what they end in passing, and so does cai_drain().
 * Without a driver, where the driver refuses, and where `stream` is 0 and no other call has needed
 * the driver yet, `body` is called as it is. No lock is held. Any thread.
 *
 * @param stream   which the caller works on: 1, 2 (of the current context) or a CUstream; 0: it
 *                 names none
 * @param body     may run any code, and throws nothing. NULL: nothing is called
 * @param context  for `body`; may be NULL
 * @return 1 if `body` was called, else 0.
 * Since 0.1. */
int32_t cai_spare_captures(uint64_t stream, void (*body)(void *context), void *context);

/** A framework's word on UNSTATED arrays: which stream is current where they were made. 24 bytes;
 * it grows at the tail. Since 0.1. */
typedef struct cai_stream_provider {
  uint32_t struct_size; /**< sizeof(cai_stream_provider) */
  uint32_t reserved;    /**< 0, or the provider is refused */
  /** Says the stream on which work on the array is pending.
   *
   * @param array   valid, stream_kind UNSTATED; do not keep it
   * @param stream  gets 1, 2 or a CUstream of the array's context; 0 is none, with which the call
   *                that asked is #CAI_ERR_ORDER
   * @return 1 if the array is the framework's own and *stream is set; 0 to let another be asked.
   * 2 is the stream of the first thread that is told so of an array's owner; on others the array is
   * refused. Any thread, with or without the GIL; no lock is held. It must not call the functions
   * under "Order". */
  int32_t (*current)(void *context, const cai_array *array, uint64_t *stream);
  void *context; /**< for `current` */
} cai_stream_provider;

/** Registers a provider for the life of the process; providers are asked in order of registration.
 *
 * @param provider  is copied; its code and its context must stay for ever
 * @return #CAI_OK; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_provide_streams(const cai_stream_provider *provider, cai_error *error);

/** Returns what tells the calling thread from all others that there were since the machine started:
 * never 0, and the same in every copy of the library. For cai_owner.thread. Since 0.1. */
uint64_t cai_this_thread(void);

/** Fills in the owner of a producer's own block, whose uses this copy of the library keeps: all of
 * it, with no flags. What it writes as used_on and await_uses is known to this copy wherever it is
 * asked; the addresses of cai_owner_used_on() and cai_owner_await_uses() are not, in a program that
 * is not position-independent, or has two copies of the library.
 *
 * @param owner    struct_size, and all else, is written
 * @param retain   as cai_owner.retain
 * @param release  as cai_owner.release; ends the block through cai_owner_end()
 * @return #CAI_OK; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_owner_init(cai_owner *owner, void (*retain)(cai_owner *self),
                          void (*release)(cai_owner *self), cai_error *error);

/** For cai_owner.used_on, or for a function there that does more: keeps a use in cai_owner.uses,
 * one for each stream; an event is recorded on `stream`. With #CAI_ACCESS_CAPTURED none is: what
 * `stream` has in its capture by now is kept for others in that capture alone. Any thread.
 *
 * @param self    filled in by cai_owner_init(). One with an await_uses of its own is
 *                #CAI_ERR_ARGUMENT: where that one calls libcai's, it does so for another owner of
 *                the block, which cai_owner_init() has filled in, and which cai_owner_end() ends
 * @param stream  1, 2 (of the current context) or a CUstream. 0 is the host: it waits in
 *                cai_owner_await_uses(), until the uses are complete. Here it is
 *                #CAI_ERR_ARGUMENT, since the host queues nothing that could be kept
 * @param access  #CAI_ACCESS_READ or #CAI_ACCESS_WRITE; and #CAI_ACCESS_CAPTURED, as it came
 * @return #CAI_OK; #CAI_ERR_CAPTURE if the stream is being captured, and `access` does not say so;
 *         #CAI_ERR_DRIVER; #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_owner_used_on(cai_owner *self, uint64_t stream, uint32_t access, cai_error *error);

/** For cai_owner.await_uses: makes `stream` wait for the uses kept in cai_owner.uses that conflict
 * with the access: reads with writes, writes with all. In a capture it comes after those that are
 * kept there. Any thread.
 *
 * @param self    as cai_owner_used_on()
 * @param stream  as cai_owner_used_on(), 0 too
 * @param access  #CAI_ACCESS_READ or #CAI_ACCESS_WRITE
 * @return as cai_owner_used_on(); #CAI_ERR_CAPTURE if the stream is being captured, and one of the
 *         others is pending.
 * Since 0.1. */
cai_status cai_owner_await_uses(cai_owner *self, uint64_t stream, uint32_t access,
                                cai_error *error);

/** For a producer's own cai_owner.release, after the last holder has let go: calls end(self) now if
 * no use is kept, else once they are complete, on a thread that calls a function under "Order" or
 * cai_drain(). It waits for nothing, does not ask whether they are, and does not fail; on a stream
 * that uses are in order with, and that the memory is not freed on, it records an event. Until
 * `end` is called, the block stays.
 *
 * @param self  filled in by cai_owner_init(); used_on may be another one, that calls what was
 *              there. With another await_uses `end` is called at once, since only that one knows
 *              what is kept
 * @param end   frees the block, and may run any code; no lock is held
 * Since 0.1. */
void cai_owner_end(cai_owner *self, void (*end)(cai_owner *self));

/** Counts the uses that are kept in cai_owner.uses, and the streams that others are in order with,
 * for a binding whose garbage collector must not take the producer away before they are complete.
 * Any thread.
 *
 * @param self  of one with an await_uses of its own none counts: only that one knows what is kept
 * @param ask   0: no driver is called, and all count; 1: an event is recorded on those streams,
 *              uses of the current context and of the active primary ones are asked about, and
 *              forgotten if complete; 2: the host waits for those
 * @param left  the uses still kept, and the streams of which no event tells
 * @return #CAI_OK; #CAI_ERR_DRIVER; #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_owner_pending(cai_owner *self, int32_t ask, int64_t *left, cai_error *error);

/** Flags of cai_location.flags. Since 0.1. */
enum {
  CAI_LOCATION_HOST_ACCESSIBLE = 1 << 0, /**< the host may dereference `data` */
  CAI_LOCATION_MANAGED = 1 << 1          /**< managed (unified) memory */
};

/** What the driver says of an array's memory. It grows at the tail. 48 bytes. Since 0.1. */
typedef struct cai_location {
  uint32_t struct_size;    /**< in: sizeof(cai_location), at least 8. The library fills in no more
                                than that, nor more than it knows: zero the rest */
  uint32_t flags;          /**< CAI_LOCATION_* */
  int32_t device_type;     /**< CAI_DEVICE_*, now known exactly */
  int32_t device_id;       /**< ordinal */
  uint64_t context;        /**< CUcontext; 0 if the memory belongs to none, as pool memory */
  uint64_t device_pointer; /**< of the first element, as kernels of the current context use it; may
                                differ from `data` for registered host memory; 0 if they cannot */
  uint64_t base;           /**< address of the allocation; 0 if it is not known */
  uint64_t size;           /**< bytes of the allocation; 0 if it is not known */
} cai_location;

/** Asks the driver about an array's memory; the array itself is not changed. It is not asked about
 * an empty array, which is where it says, with all else 0; nor about a host array, whose
 * device_pointer is `data`, with HOST_ACCESSIBLE and all else 0.
 *
 * @param array  valid
 * @param out    struct_size set by the caller
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
