/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file cai.h
 * The C side of the CUDA Array Interface.
 *
 * The CUDA Array Interface (CAI) lets Python libraries share GPU arrays through a dict,
 * `__cuda_array_interface__`. This header gives the same array to compiled code: #cai_array
 * carries the dict's entries under the dict's names, and beside them what a dict cannot carry,
 * an owner. "The text" below is version 3 of the interface, in Numba's documentation.
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
 *   not libcai's. Only the functions under "Order" and cai_array_locate() use the driver; they
 *   load it when first they need it, once for the process, and leave the caller's current context
 *   as it was.
 *
 * The lines between the two markers hold no directive, macro or inline function, so that cffi and
 * LuaJIT can take them as they are; bindgen takes the whole file.
 */
/* clang-format off: the comments beside the fields are set by hand */
#ifndef CAI_H
#define CAI_H

#include <stdint.h>

#if defined(UINTPTR_MAX) && UINTPTR_MAX < 0xFFFFFFFFFFFFFFFF
#error "cai.h is laid out for 64-bit pointers"
#endif

/** This header's version, 10000 * major + 100 * minor + patch, for `#if`. Since 0.1. */
#define CAI_HEADER_VERSION 100

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* cai.h: declarations begin */

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
  CAI_ERR_MEMORY = -5,   /**< no host memory left */
  CAI_ERR_STORAGE = -6,  /**< the caller's storage is too small */
  CAI_ERR_LAYOUT = -7,   /**< the view asked for needs a copy */
  CAI_ERR_UNSUPPORTED = -8, /**< lawful, but nothing that libcai can do */
  CAI_ERR_EXPORT = -9,      /**< the array cannot be said in that form */
  CAI_ERR_DRIVER = -10,     /**< there is no CUDA driver or no device here, or it is too old */
  CAI_ERR_CUDA = -11,       /**< a driver call failed; cai_error.native is its CUresult */
  CAI_ERR_CAPTURE = -12,    /**< a stream is being captured into a graph: refused before any harm */
  CAI_ERR_DEVICE = -13,     /**< the memory is not the driver's, or on a device of another kind */
  CAI_ERR_BOUNDS = -14,     /**< the array reaches outside its allocation */
  CAI_ERR_ORDER = -15       /**< the arrays' streams admit no such order */
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
  CAI_MAX_DESCR_FIELDS = 1 << 16, /**< fields of a descr, the nested ones too */
  CAI_TYPESTR_SIZE = 32           /**< bytes that hold any typestr and its NUL */
};

/** Why a call failed: 256 bytes for ever, provided by the caller; there is nothing to free.
 * Every function writes all of it on failure and none of it on success. Since 0.1. */
typedef struct cai_error {
  cai_status status; /**< what the function returned */
  int32_t native;    /**< the driver's CUresult, or 0 */
  int32_t entry;     /**< CAI_ENTRY_*: the entry at fault, or #CAI_ENTRY_NONE */
  int32_t index;     /**< the axis, field, item or array at fault, counted from 0, or -1 */
  char message[240]; /**< NUL-terminated UTF-8: names the entry and shows the value */
} cai_error;

/* ---- The array ---------------------------------------------------------------------------- */

/** Flags of cai_array.flags. Bits 0 to 15 are advisory: unknown ones are ignored. Bits 16 to 30
 * are critical: who does not know one must refuse the array, see cai_array_refuses(). Bit 31 is
 * always 0, and is refused likewise. Since 0.1. */
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
  CAI_DEVICE_ROCM = 10,     /**< crosses as metadata; the functions under "Order" refuse it */
  CAI_DEVICE_CUDA_MANAGED = 13
};

/** Values of cai_array.stream_kind. 0 is invalid, so that a zeroed struct cannot claim that no
 * order is needed. The text, "stream" and "Synchronization". Since 0.1. */
enum {
  CAI_STREAM_NONE = 1,     /**< the producer states that no order is needed ("stream": None) */
  CAI_STREAM_UNSTATED = 2, /**< versions 0 to 2, which have no such entry: order is unknown */
  CAI_STREAM_STREAM = 3,   /**< `stream` is 1, 2 or a CUstream: work may be pending there */
  CAI_STREAM_EVENT = 4     /**< `stream` is a CUevent to wait for. Not one recorded in a capture:
                                waiting would draw the consumer into it, and nothing can tell */
};

/** Values of cai_dtype.ext: what a typestr cannot say. kind is then 'V', byteorder '|', itemsize
 * as given here. Since 0.1. */
enum {
  CAI_EXT_NONE = 0,
  CAI_EXT_BFLOAT16 = 1,      /**< 2 bytes; leaves as "<V2" */
  CAI_EXT_FLOAT8_E4M3FN = 2, /**< 1 byte, as the other float8; leaves as "|V1" */
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
  uint8_t byteorder;  /**< '<' or '>'; '|' where order does not matter */
  uint8_t ext;        /**< CAI_EXT_*; 0 for all that a typestr can say */
  uint8_t time_unit;  /**< CAI_TIME_*; 0 unless kind is 'm' or 'M' */
  uint32_t itemsize;  /**< bytes, never 0 (4 * n for "<Un"); 1 for kind 't', meaning one bit */
  uint32_t time_step; /**< multiples of time_unit in a tick: 25 for "<M8[25s]", else 1; 0 if
                           there is no unit */
} cai_dtype;

/** One field of a structured type: one item of "descr". 64 bytes. The text, "descr", and NumPy's
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

/** Who keeps an array alive. The producer's own block begins with it; every array in the block
 * points to it. These 24 bytes never change, in any ABI major; it grows at the tail: test struct_size
 * before using what is not listed here. Since 0.1. */
typedef struct cai_owner {
  uint32_t struct_size; /**< bytes of this struct that the producer filled in, at least 24 */
  uint32_t flags;       /**< 0 */
  /** Adds one holder. Any thread, no GIL, no context; must not fail. */
  void (*retain)(struct cai_owner *self);
  /** Takes one holder away; the last one ends the block, and may run the producer's code. Any
   * thread, no GIL, no context; must not fail. It does not wait for work on the GPU. */
  void (*release)(struct cai_owner *self);
} cai_owner;

/** An array, by the names of the dict: 128 bytes, never more; callers may keep it on the
 * stack. The first cache line is what a kernel needs. Zero always means absent. If abi_major
 * is not yours, you may read bytes 0 to 15 and release the array, no more. Since 0.1. */
typedef struct cai_array {
  uint16_t abi_major;           /**< #CAI_ABI_MAJOR of who filled the struct; 0 is invalid */
  uint16_t abi_minor;           /**< #CAI_ABI_MINOR, likewise */
  uint32_t flags;               /**< CAI_FLAG_* */
  cai_owner *owner;             /**< NULL: borrowed */
  uint64_t data;                /**< "data", first item: the device address of the first element,
                                     which need not be the lowest; 0 if there are no elements */
  int32_t device_type;          /**< CAI_DEVICE_* */
  int32_t device_id;            /**< ordinal; -1: not known, see cai_array_locate() */
  cai_dtype dtype;              /**< "typestr", parsed: the truth about the type */
  int32_t ndim;                 /**< 0 to #CAI_MAX_NDIM */
  const int64_t *shape;         /**< "shape": ndim extents, elements; may be NULL if ndim is 0 */
  const int64_t *strides;       /**< "strides": ndim steps, bytes, always filled in, any sign; may
                                     be NULL if ndim is 0 */
  uint64_t stream;              /**< "stream", see stream_kind; 0 for NONE and UNSTATED */
  uint32_t stream_kind;         /**< CAI_STREAM_* */
  uint32_t version;             /**< "version" of the interface that the producer spoke: 0 to 3 */
  const struct cai_array *mask; /**< "mask", which has none itself; its owner is this array's, or
                                     NULL. NULL if all elements are valid */
  const cai_field *descr;       /**< "descr": NULL if it says no more than typestr */
  const char *typestr;          /**< dtype's canonical text, for printing, or NULL */
  uint32_t descr_count;         /**< of `descr` */
  uint32_t reserved0;           /**< 0, as the next two; ignored if abi_minor is newer than yours */
  uint64_t reserved1;           /**< 0 */
  uint64_t reserved2;           /**< 0 */
} cai_array;

/** Returns the version of the library in use, 10000 * major + 100 * minor + patch.
 * Compare with CAI_VERSION_* to find a header that is newer than the library. Since 0.1. */
int32_t cai_version(void);

/** Returns the name of a status, such as "CAI_ERR_VALUE"; "CAI_ERR_UNKNOWN" for a value that this
 * library does not know. The string is static. Since 0.1. */
const char *cai_status_name(cai_status status);

/** Returns the dict's key for a CAI_ENTRY_*, such as "shape"; "interface" for the dict as a whole;
 * "" for any other value. The string is static. Since 0.1. */
const char *cai_entry_name(int32_t entry);

/** Parses a typestr. Takes what the text and NumPy's array interface allow; beyond that, as lenient
 * reading does, a missing byte order, '=' and '|' (all meaning the host's).
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
  CAI_FORM_OBJECT = 14,   /**< anything else. text: how it prints, or NULL */
  CAI_FORM_INTERFACE = 15 /**< for "mask": an object with an interface of its own */
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
 * Zero it, set struct_size, dict and the entries that are there. It grows at the tail.
 * 336 bytes. Since 0.1. */
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

/** Returns how many bytes of storage cai_interface_read() needs at most for this interface; 0 if
 * `in` is NULL, or if its struct_size or that of mask_interface is too small. It judges nothing.
 * Since 0.1. */
uint64_t cai_interface_storage(const cai_interface *in);

/** Reads an interface: the one place where the text is judged.
 *
 * @param in          the raw values
 * @param mode        #CAI_LENIENT or #CAI_STRICT
 * @param on_finding  takes every finding, the errors first noticed first; may be NULL. Without it
 *                    reading ends at the first error
 * @param context     for on_finding; may be NULL
 * @param storage     holds shape, strides, typestr, descr and mask; aligned to 8 bytes. May be NULL
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
 * and only if the array is C-contiguous; an UNSTATED stream leaves as 1; a mask leaves as
 * mask_interface; trivial descr is left out. A mask may be written by itself.
 *
 * @param array         valid; its device CPU gives #CAI_PROTOCOL_HOST, any other CUDA
 * @param version       3, or 2, which has no "stream": then the array's stream must be NONE or
 *                      UNSTATED (synchronise, and say NONE in a copy of the struct)
 * @param storage       aligned to 8 bytes; holds the items of the values
 * @param storage_size  bytes; cai_interface_write_storage(array) suffice
 * @param out           points into `storage`, `array` and what the array points to
 * @return #CAI_OK; #CAI_ERR_EXPORT if a dict cannot say it: an event, a stream in version 2, a
 *         device that is neither CPU nor CUDA; #CAI_ERR_STORAGE; #CAI_ERR_VALUE and
 *         #CAI_ERR_VERSION as cai_array_validate(); #CAI_ERR_ARGUMENT.
 * The text, "Python Interface Specification". Since 0.1. */
cai_status cai_interface_write(const cai_array *array, uint32_t version, void *storage,
                               uint64_t storage_size, cai_interface *out, cai_error *error);

/* ---- Ownership and views ------------------------------------------------------------------ */

/** Makes an owned array: one block, one allocation, that holds copies of the dims, the mask, the
 * descr and the typestr, and calls `release` when its last holder lets go. The memory of the array
 * itself is not copied. The copy is of this library's ABI minor: unknown advisory flags, and the
 * reserved words of a newer minor, are left out; so they are of a view.
 *
 * @param borrowed  valid; its owner, if any, is neither retained nor released
 * @param release   runs once, on whatever thread lets go last, with no lock held; may be NULL
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

/** Values of cai_use_options.order. Since 0.1. */
enum {
  CAI_ORDER_BOTH = 0,  /**< what the text asks for: begin_use() and end_use() both do their part */
  CAI_ORDER_BEGIN = 1, /**< end_use() does nothing */
  CAI_ORDER_END = 2,   /**< begin_use() does nothing */
  CAI_ORDER_NONE = 3,  /**< neither does anything */
  CAI_ORDER_HOST = 4   /**< the host waits: in begin_use() for the producers' streams, in end_use()
                            for the consumer's */
};

/** How arrays are used. It grows at the tail; a tail that the library is too old for must be zero,
 * or the call is refused. NULL, or order 0, is the full order. 8 bytes. Since 0.1. */
typedef struct cai_use_options {
  uint32_t struct_size; /**< sizeof(cai_use_options) */
  uint32_t order;       /**< CAI_ORDER_* */
} cai_use_options;

/** Before work on `stream` reads or writes the arrays: makes the stream wait for what their
 * producers have pending, their masks' too. One event record and one wait for each distinct
 * producer stream; none for `stream` itself, for NONE, for empty arrays, for host arrays, nor where
 * the legacy stream and a blocking stream of one context are in order anyway. The host never waits
 * (but for #CAI_ORDER_HOST). UNSTATED counts as the legacy stream of the array's device.
 *
 * 1 and 2 mean, for an array, the context of its memory (else the current one if it is on that
 * device, else the primary one if it is active); for `stream`, the current context. A 2 is valid
 * on the thread that said it only.
 *
 * @param arrays   `count` arrays; may be NULL if count is 0
 * @param stream   the consumer's: 1, 2 or a CUstream
 * @param options  may be NULL. Pass the same to cai_arrays_end_use()
 * @return #CAI_OK; #CAI_ERR_CAPTURE if a stream concerned is capturing (they are asked first, and
 *         nothing has happened); #CAI_ERR_DRIVER; #CAI_ERR_CUDA, after which some of the waits may
 *         stand; #CAI_ERR_DEVICE for ROCm, and for an array whose 1 or 2 has no context;
 *         #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_array_validate(); #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT, also for stream 0, and for 1 or 2 if no context is current.
 *         cai_error.index is the array, or -1 for the consumer's stream. No driver is needed, nor
 *         loaded, if no array needs order.
 * The text, "Synchronization". Since 0.1. */
cai_status cai_arrays_begin_use(const cai_array *const *arrays, int32_t count, uint64_t stream,
                                const cai_use_options *options, cai_error *error);

/** After work on `stream` was queued: makes every producer stream wait for `stream`, after reads
 * too, so that the producer may write, free or reuse the memory in its own order. Takes the same
 * arguments as cai_arrays_begin_use() and costs the same; it keeps nothing between the two. If one
 * producer cannot be ordered, the others still are, unless a stream is capturing, and the first
 * failure is returned.
 *
 * @return as cai_arrays_begin_use(); and #CAI_ERR_ORDER for an array that came with an event, which
 *         has no stream to wait (but for #CAI_ORDER_HOST): then synchronise `stream` before letting
 *         go of the array.
 * The text, "Synchronization", Consumer. Since 0.1. */
cai_status cai_arrays_end_use(const cai_array *const *arrays, int32_t count, uint64_t stream,
                              const cai_use_options *options, cai_error *error);

/** Finds the one stream on which the arrays can be used with no event at all: the producer's own.
 *
 * @param out  1, 2 or a CUstream; 0 if none of the arrays asks for any
 * @return #CAI_OK; #CAI_ERR_ORDER if there is no such stream; #CAI_ERR_DRIVER and #CAI_ERR_CUDA if
 *         the driver had to tell two contexts apart; the rest as cai_arrays_begin_use().
 * The text, "Synchronization". Since 0.1. */
cai_status cai_arrays_same_stream(const cai_array *const *arrays, int32_t count, uint64_t *out,
                                  cai_error *error);

/** Blocks the calling thread until what the producer has pending on the array, and on its mask, is
 * complete. The last resort. Release the GIL first.
 *
 * @return #CAI_OK; the rest as cai_arrays_begin_use(), cai_error.index as cai_array_validate().
 * The text, "Synchronization". Since 0.1. */
cai_status cai_array_sync_host(const cai_array *array, cai_error *error);

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

/** Adds one holder to an owned array, or to the owner of a view or copy of the struct. Does nothing
 * for a borrowed array or NULL. Needs no linking; works for any ABI major. Since 0.1. */
static inline void cai_array_retain(const cai_array *array) {
  if (array && array->owner) array->owner->retain(array->owner);
}

/** Takes one holder away; after the last one the array and all it points to are gone. Does nothing
 * for a borrowed array or NULL. It may run the producer's code: hold no lock that this may want,
 * and do not call it from a CUDA host callback. Needs no linking; works for any ABI major.
 * Since 0.1. */
static inline void cai_array_release(const cai_array *array) {
  if (array && array->owner) array->owner->release(array->owner);
}

/** Says whether an array must be refused by who understands only some critical flags. Call it first
 * on every array from outside.
 *
 * @param understood  the CAI_FLAG_* that the caller honours
 * @return 0 if the array may be used, else the critical flags not understood (all of them if the
 *         array is NULL or of another ABI major). Since 0.1. */
static inline uint32_t cai_array_refuses(const cai_array *array, uint32_t understood) {
  if (!array || array->abi_major != (uint16_t)CAI_ABI_MAJOR) return UINT32_C(0xFFFF0000);
  return array->flags & UINT32_C(0xFFFF0000) & ~understood;
}

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* CAI_H */
