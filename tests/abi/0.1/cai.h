/* SPDX-License-Identifier: BSD-3-Clause */
/* As released in 0.1, without the comments. Never changed. */
#ifndef CAI_H
#define CAI_H
#include <stdint.h>
#if defined(UINTPTR_MAX) && UINTPTR_MAX < 0xFFFFFFFFFFFFFFFF
#error "cai.h is laid out for 64-bit pointers"
#endif
#define CAI_HEADER_VERSION 100
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif
enum {
  CAI_VERSION_MAJOR = 0,
  CAI_VERSION_MINOR = 1,
  CAI_VERSION_PATCH = 0,
  CAI_ABI_MAJOR = 1,
  CAI_ABI_MINOR = 0,
  CAI_INTERFACE_VERSION = 3
};
typedef int32_t cai_status;
enum {
  CAI_OK = 0,
  CAI_ERR_ARGUMENT = -1,
  CAI_ERR_VALUE = -2,
  CAI_ERR_TYPE = -3,
  CAI_ERR_VERSION = -4,
  CAI_ERR_MEMORY = -5,
  CAI_ERR_STORAGE = -6,
  CAI_ERR_LAYOUT = -7,
  CAI_ERR_UNSUPPORTED = -8,
  CAI_ERR_EXPORT = -9,
  CAI_ERR_DRIVER = -10,
  CAI_ERR_CUDA = -11,
  CAI_ERR_CAPTURE = -12,
  CAI_ERR_DEVICE = -13,
  CAI_ERR_BOUNDS = -14,
  CAI_ERR_ORDER = -15,
  CAI_ERR_STATE = -16
};
enum {
  CAI_ENTRY_NONE = 0,
  CAI_ENTRY_INTERFACE = 1,
  CAI_ENTRY_VERSION = 2,
  CAI_ENTRY_SHAPE = 3,
  CAI_ENTRY_STRIDES = 4,
  CAI_ENTRY_TYPESTR = 5,
  CAI_ENTRY_DESCR = 6,
  CAI_ENTRY_DATA = 7,
  CAI_ENTRY_STREAM = 8,
  CAI_ENTRY_MASK = 9,
  CAI_ENTRY_OFFSET = 10
};
enum {
  CAI_MAX_NDIM = 64,
  CAI_MAX_DESCR_DEPTH = 64,
  CAI_MAX_DESCR_FIELDS = 1 << 16,
  CAI_TYPESTR_SIZE = 32
};
typedef struct cai_error {
  cai_status status;
  int32_t native;
  int32_t entry;
  int32_t index;
  char message[240];
} cai_error;
enum {
  CAI_FLAG_STRIDES_NONE = 1 << 0,
  CAI_FLAG_READONLY = 1 << 16,
  CAI_FLAG_MASKED = 1 << 17,
  CAI_FLAG_SWAPPED = 1 << 18
};
enum {
  CAI_DEVICE_CPU = 1,
  CAI_DEVICE_CUDA = 2,
  CAI_DEVICE_CUDA_HOST = 3,
  CAI_DEVICE_ROCM = 10,
  CAI_DEVICE_CUDA_MANAGED = 13
};
enum { CAI_STREAM_NONE = 1, CAI_STREAM_UNSTATED = 2, CAI_STREAM_STREAM = 3, CAI_STREAM_EVENT = 4 };
enum {
  CAI_EXT_NONE = 0,
  CAI_EXT_BFLOAT16 = 1,
  CAI_EXT_FLOAT8_E4M3FN = 2,
  CAI_EXT_FLOAT8_E5M2 = 3,
  CAI_EXT_FLOAT8_E4M3FNUZ = 4,
  CAI_EXT_FLOAT8_E5M2FNUZ = 5,
  CAI_EXT_FLOAT8_E4M3 = 6,
  CAI_EXT_FLOAT8_E3M4 = 7,
  CAI_EXT_FLOAT8_E4M3B11FNUZ = 8,
  CAI_EXT_FLOAT8_E8M0FNU = 9
};
enum {
  CAI_TIME_GENERIC = 0,
  CAI_TIME_Y = 1,
  CAI_TIME_M = 2,
  CAI_TIME_W = 3,
  CAI_TIME_D = 4,
  CAI_TIME_H = 5,
  CAI_TIME_MIN = 6,
  CAI_TIME_S = 7,
  CAI_TIME_MS = 8,
  CAI_TIME_US = 9,
  CAI_TIME_NS = 10,
  CAI_TIME_PS = 11,
  CAI_TIME_FS = 12,
  CAI_TIME_AS = 13
};
typedef struct cai_dtype {
  uint8_t kind;
  uint8_t byteorder;
  uint8_t ext;
  uint8_t time_unit;
  uint32_t itemsize;
  uint32_t time_step;
} cai_dtype;
typedef struct cai_field {
  const char *name;
  const char *title;
  const struct cai_field *fields;
  const int64_t *shape;
  uint64_t offset;
  cai_dtype dtype;
  int32_t ndim;
  uint32_t field_count;
  uint32_t reserved;
} cai_field;
enum {
  CAI_OWNER_STREAM_ORDERED = 1 << 0,
  CAI_OWNER_RECLAIMS = 1 << 1,
  CAI_OWNER_IMPORTED = 1 << 2
};
typedef struct cai_owner {
  uint32_t struct_size;
  uint32_t flags;
  void (*retain)(struct cai_owner *self);
  void (*release)(struct cai_owner *self);
  cai_status (*used_on)(struct cai_owner *self, uint64_t stream, uint32_t access, cai_error *error);
  cai_status (*await_uses)(struct cai_owner *self, uint64_t stream, uint32_t access,
                           cai_error *error);
  void *uses;
  uint64_t thread;
  struct cai_owner *keeper;
  uint64_t freed_on;
} cai_owner;
typedef struct cai_array {
  uint16_t abi_major;
  uint16_t abi_minor;
  uint32_t flags;
  cai_owner *owner;
  uint64_t data;
  int32_t device_type;
  int32_t device_id;
  cai_dtype dtype;
  int32_t ndim;
  const int64_t *shape;
  const int64_t *strides;
  uint64_t stream;
  uint32_t stream_kind;
  uint32_t version;
  const struct cai_array *mask;
  const cai_field *descr;
  uint64_t reserved0;
  uint32_t descr_count;
  uint32_t reserved1;
  uint64_t reserved2;
  uint64_t reserved3;
} cai_array;
int32_t cai_version(void);
const char *cai_status_name(cai_status status);
const char *cai_entry_name(int32_t entry);
cai_status cai_dtype_parse(const char *typestr, uint64_t length, cai_dtype *out, cai_error *error);
cai_status cai_dtype_format(const cai_dtype *dtype, char *out, cai_error *error);
typedef struct cai_layout {
  int64_t size;
  int64_t nbytes;
  int64_t lo;
  int64_t hi;
  int32_t c_contiguous;
  int32_t f_contiguous;
} cai_layout;
cai_status cai_array_layout(const cai_array *array, cai_layout *out, cai_error *error);
cai_status cai_array_validate(const cai_array *array, cai_error *error);
enum {
  CAI_FORM_MISSING = 0,
  CAI_FORM_NONE = 1,
  CAI_FORM_INT = 2,
  CAI_FORM_INDEX = 3,
  CAI_FORM_BOOL = 4,
  CAI_FORM_FLOAT = 5,
  CAI_FORM_TEXT = 6,
  CAI_FORM_TEXT_SUBCLASS = 7,
  CAI_FORM_BYTES = 8,
  CAI_FORM_TUPLE = 9,
  CAI_FORM_TUPLE_SUBCLASS = 10,
  CAI_FORM_LIST = 11,
  CAI_FORM_DICT = 12,
  CAI_FORM_DICT_SUBCLASS = 13,
  CAI_FORM_OBJECT = 14,
  CAI_FORM_INTERFACE = 15,
  CAI_FORM_MAPPING = 16
};
enum { CAI_RANGE_INT64 = 0, CAI_RANGE_UINT64 = 1, CAI_RANGE_BEYOND = 2 };
typedef struct cai_value {
  uint64_t integer;
  const char *text;
  const struct cai_value *items;
  uint32_t length;
  uint8_t form;
  uint8_t range;
  uint16_t reserved;
} cai_value;
enum { CAI_PROTOCOL_CUDA = 0, CAI_PROTOCOL_HOST = 1 };
typedef struct cai_interface {
  uint32_t struct_size;
  uint32_t protocol;
  cai_value dict;
  cai_value shape;
  cai_value typestr;
  cai_value data;
  cai_value version;
  cai_value strides;
  cai_value descr;
  cai_value mask;
  cai_value stream;
  cai_value offset;
  const struct cai_interface *mask_interface;
} cai_interface;
enum { CAI_LENIENT = 0, CAI_STRICT = 1 };
enum { CAI_SEVERITY_ERROR = 1, CAI_SEVERITY_WARNING = 2, CAI_SEVERITY_ADVICE = 3 };
typedef struct cai_finding {
  uint32_t struct_size;
  int32_t severity;
  int32_t entry;
  int32_t index;
  cai_status status;
  uint32_t reserved;
  const char *value;
  const char *clause;
  const char *text;
} cai_finding;
typedef void (*cai_finding_fn)(void *context, const cai_finding *finding);
uint64_t cai_interface_storage(const cai_interface *in);
cai_status cai_interface_read(const cai_interface *in, uint32_t mode, cai_finding_fn on_finding,
                              void *context, void *storage, uint64_t storage_size, cai_array *out,
                              cai_error *error);
uint64_t cai_interface_write_storage(const cai_array *array);
cai_status cai_interface_write(const cai_array *array, uint32_t version, void *storage,
                               uint64_t storage_size, cai_interface *out, cai_error *error);
void cai_array_retain(const cai_array *array);
void cai_array_release(const cai_array *array);
uint32_t cai_array_refuses(const cai_array *array, uint32_t understood);
cai_status cai_array_own(const cai_array *borrowed, void (*release)(void *context), void *context,
                         cai_array **out, cai_error *error);
enum {
  CAI_SLICE_RANGE = 1,
  CAI_SLICE_INDEX = 2,
  CAI_SLICE_NEWAXIS = 3,
  CAI_SLICE_ELLIPSIS = 4,
  CAI_SLICE_NO_START = 1 << 8,
  CAI_SLICE_NO_STOP = 1 << 9
};
typedef struct cai_slice {
  int64_t start;
  int64_t stop;
  int64_t step;
  int32_t kind;
  uint32_t reserved;
} cai_slice;
cai_status cai_array_slice(const cai_array *array, const cai_slice *slices, int32_t count,
                           cai_array **out, cai_error *error);
cai_status cai_array_reshape(const cai_array *array, const int64_t *shape, int32_t ndim,
                             cai_array **out, cai_error *error);
cai_status cai_array_transpose(const cai_array *array, const int32_t *axes, cai_array **out,
                               cai_error *error);
cai_status cai_array_broadcast(const cai_array *array, const int64_t *shape, int32_t ndim,
                               cai_array **out, cai_error *error);
enum {
  CAI_ORDER_BOTH = 0,
  CAI_ORDER_BEGIN = 1,
  CAI_ORDER_END = 2,
  CAI_ORDER_NONE = 3,
  CAI_ORDER_HOST = 4
};
enum { CAI_ACCESS_DEFAULT = 0, CAI_ACCESS_READ = 1, CAI_ACCESS_WRITE = 2 };
enum { CAI_USE_EXTERNAL = 1 << 0, CAI_USE_FORK = 1 << 1 };
typedef struct cai_use_options {
  uint32_t struct_size;
  uint32_t order;
  uint32_t access;
  uint32_t flags;
  const uint32_t *accesses;
} cai_use_options;
typedef struct cai_use {
  uint64_t state[44];
} cai_use;
cai_status cai_use_begin(cai_use *use, const cai_array *const *arrays, int32_t count,
                         uint64_t stream, const cai_use_options *options, cai_error *error);
cai_status cai_use_end(cai_use *use, cai_error *error);
cai_status cai_use_finish(cai_use *use, int32_t wait, cai_error *error);
void cai_use_abandon(cai_use *use);
cai_status cai_arrays_same_stream(const cai_array *const *arrays, int32_t count, uint64_t *out,
                                  cai_error *error);
cai_status cai_array_sync_host(const cai_array *array, cai_error *error);
cai_status cai_array_reclaim(const cai_array *array, uint64_t stream, uint32_t access,
                             cai_error *error);
cai_status cai_array_publish(const cai_array *array, const uint64_t *streams, int32_t count,
                             uint64_t target, cai_array **out, cai_error *error);
cai_status cai_array_publish_event(const cai_array *array, uint64_t stream, cai_array **out,
                                   cai_error *error);
cai_status cai_array_release_on(const cai_array *array, uint64_t stream, cai_error *error);
cai_status cai_drain(int32_t wait, int64_t *left, cai_error *error);
typedef struct cai_stream_provider {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*current)(void *context, const cai_array *array, uint64_t *stream);
  void *context;
} cai_stream_provider;
cai_status cai_provide_streams(const cai_stream_provider *provider, cai_error *error);
cai_status cai_owner_used_on(cai_owner *self, uint64_t stream, uint32_t access, cai_error *error);
cai_status cai_owner_await_uses(cai_owner *self, uint64_t stream, uint32_t access,
                                cai_error *error);
uint64_t cai_this_thread(void);
cai_status cai_owner_init(cai_owner *owner, void (*retain)(cai_owner *self),
                          void (*release)(cai_owner *self), cai_error *error);
void cai_owner_end(cai_owner *self, void (*end)(cai_owner *self));
cai_status cai_owner_pending(cai_owner *self, int32_t ask, int64_t *left, cai_error *error);
enum { CAI_LOCATION_HOST_ACCESSIBLE = 1 << 0, CAI_LOCATION_MANAGED = 1 << 1 };
typedef struct cai_location {
  uint32_t struct_size;
  uint32_t flags;
  int32_t device_type;
  int32_t device_id;
  uint64_t context;
  uint64_t device_pointer;
  uint64_t base;
  uint64_t size;
} cai_location;
cai_status cai_array_locate(const cai_array *array, cai_location *out, cai_error *error);
#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
#define CAI_INLINE inline
#else
#define CAI_INLINE static inline
#endif
CAI_INLINE void cai_array_retain_inline(const cai_array *array) {
  if (array && array->owner) array->owner->retain(array->owner);
}
CAI_INLINE void cai_array_release_inline(const cai_array *array) {
  if (array && array->owner) array->owner->release(array->owner);
}
CAI_INLINE uint32_t cai_array_refuses_inline(const cai_array *array, uint32_t understood) {
  if (!array || array->abi_major != (uint16_t)CAI_ABI_MAJOR) return UINT32_C(0xFFFF0000);
  return array->flags & UINT32_C(0xFFFF0000) & ~understood;
}
#undef CAI_INLINE
#define cai_array_retain(array) cai_array_retain_inline(array)
#define cai_array_release(array) cai_array_release_inline(array)
#define cai_array_refuses(array, understood) cai_array_refuses_inline(array, understood)
#endif
