/* SPDX-License-Identifier: BSD-3-Clause */
/* As released in 0.1, without the comments. Never changed. */
#ifndef CAI_MEMORY_H
#define CAI_MEMORY_H
#include <cai/device.h>
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif
enum {
  CAI_KIND_NONE = 0,
  CAI_KIND_DEFAULT = 1,
  CAI_KIND_ASYNC = 2,
  CAI_KIND_PITCHED = 3,
  CAI_KIND_PITCHED_MANAGED = 4,
  CAI_KIND_PINNED = 5,
  CAI_KIND_MAPPED = 6,
  CAI_KIND_MANAGED = 7,
  CAI_KIND_MANAGED_GLOBAL = 8,
  CAI_KIND_CUDA_ARRAY = 9,
  CAI_KIND_HOST = 10
};
const char *cai_kind_name(uint32_t kind);
cai_status cai_kind_parse(const char *text, uint32_t *kind, cai_error *error);
int32_t cai_is_dereferenceable(cai_device device, uint32_t kind);
typedef struct cai_manager cai_manager;
typedef struct cai_block {
  uint64_t data;
  uint64_t host;
  uint64_t size;
  uint64_t cookie;
} cai_block;
enum { CAI_HOST_PORTABLE = 1 << 0, CAI_HOST_WRITE_COMBINED = 1 << 1 };
enum { CAI_IPC_LEGACY = 1, CAI_IPC_POOL = 2 };
typedef struct cai_ipc_handle {
  uint32_t struct_size;
  uint32_t kind;
  uint64_t size;
  uint64_t offset;
  uint64_t process;
  uint64_t pool;
  uint8_t uuid[16];
  int32_t pci_domain;
  int32_t pci_bus;
  int32_t pci_slot;
  uint32_t reserved;
  uint8_t data[64];
  uint64_t process_start;
  uint64_t reserved1;
  uint64_t reserved2;
} cai_ipc_handle;
enum { CAI_MANAGER_VERSION = 1 };
typedef struct cai_manager_table {
  uint32_t struct_size;
  uint32_t version;
  const char *name;
  cai_status (*create)(const void *params, cai_device device, cai_manager *upstream, void **self,
                       cai_error *error);
  void (*destroy)(void *self);
  cai_status (*initialize)(void *self, cai_error *error);
  cai_status (*reset)(void *self, cai_error *error);
  cai_status (*memalloc)(void *self, uint64_t size, uint64_t align, uint32_t kind, uint64_t stream,
                         cai_block *out, cai_error *error);
  cai_status (*memfree)(void *self, const cai_block *block, uint64_t stream, cai_error *error);
  cai_status (*memhostalloc)(void *self, uint64_t size, uint64_t align, uint32_t kind,
                             uint32_t flags, cai_block *out, cai_error *error);
  cai_status (*memhostfree)(void *self, const cai_block *block, cai_error *error);
  cai_status (*mempin)(void *self, void *host, uint64_t size, uint32_t kind, uint32_t flags,
                       cai_block *out, cai_error *error);
  cai_status (*memunpin)(void *self, const cai_block *block, cai_error *error);
  cai_status (*base)(void *self, uint64_t address, uint64_t *base, uint64_t *size,
                     cai_error *error);
  cai_status (*get_ipc_handle)(void *self, const cai_block *block, cai_ipc_handle *out, int32_t *fd,
                               cai_error *error);
  cai_status (*open_ipc_handle)(void *self, const cai_ipc_handle *handle, int32_t fd,
                                uint64_t stream, cai_block *out, cai_error *error);
  cai_status (*close_ipc_handle)(void *self, const cai_block *block, uint64_t stream,
                                 cai_error *error);
  cai_status (*get_memory_info)(void *self, uint64_t *free, uint64_t *total, cai_error *error);
  cai_status (*defer_cleanup)(void *self, int32_t enter, cai_error *error);
  cai_status (*trim)(void *self, uint64_t keep, cai_error *error);
} cai_manager_table;
cai_status cai_manager_register(const char *name, const cai_manager_table *table, cai_error *error);
cai_status cai_manager_create(const char *name, const void *params, cai_device device,
                              cai_manager *upstream, cai_manager **out, cai_error *error);
void cai_manager_retain(cai_manager *manager);
void cai_manager_release(cai_manager *manager);
const char *cai_manager_name(const cai_manager *manager);
cai_device cai_manager_device(const cai_manager *manager);
cai_status cai_manager_of(cai_device device, cai_manager **out, cai_error *error);
cai_status cai_manager_install(cai_device device, cai_manager *manager, cai_error *error);
cai_status cai_manager_choose(const char *name, cai_error *error);
cai_status cai_manager_alloc(cai_manager *manager, uint64_t size, uint64_t align, uint32_t kind,
                             uint64_t stream, cai_block *out, cai_error *error);
cai_status cai_manager_free(cai_manager *manager, const cai_block *block, uint32_t kind,
                            uint64_t stream, cai_error *error);
cai_status cai_manager_memory(cai_manager *manager, uint64_t *free, uint64_t *total,
                              cai_error *error);
cai_status cai_manager_trim(cai_manager *manager, uint64_t keep, cai_error *error);
typedef struct cai_pool_params {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t initial;
  uint64_t maximum;
  uint64_t threshold;
  uint64_t reserved;
} cai_pool_params;
enum { CAI_POOL_EXPORTABLE = 1 << 0, CAI_POOL_INSTALL = 1 << 1 };
typedef struct cai_limit_params {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t limit;
} cai_limit_params;
typedef void (*cai_caller_fn)(void *context, char *text, uint64_t size);
typedef struct cai_log_params {
  uint32_t struct_size;
  uint32_t reserved;
  const char *path;
  void (*write)(void *context, const char *line, uint64_t length);
  cai_caller_fn caller;
  void *context;
  void (*destroy)(void *context);
} cai_log_params;
typedef struct cai_track_params {
  uint32_t struct_size;
  uint32_t reserved;
  cai_caller_fn caller;
  void *context;
  void (*destroy)(void *context);
} cai_track_params;
typedef struct cai_retry_params {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*retry)(void *context, uint64_t size, uint64_t attempt);
  void *context;
  void (*destroy)(void *context);
} cai_retry_params;
typedef struct cai_statistics {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t bytes;
  uint64_t bytes_peak;
  uint64_t bytes_total;
  uint64_t count;
  uint64_t count_peak;
  uint64_t count_total;
  uint64_t failures;
} cai_statistics;
cai_status cai_manager_statistics(const cai_manager *manager, cai_statistics *out,
                                  cai_error *error);
typedef struct cai_allocation {
  uint32_t struct_size;
  uint32_t kind;
  uint64_t data;
  uint64_t size;
  uint64_t stream;
  double seconds;
  const char *caller;
} cai_allocation;
cai_status cai_manager_outstanding(const cai_manager *manager,
                                   void (*visit)(void *context, const cai_allocation *allocation),
                                   void *context, cai_error *error);
typedef struct cai_memory cai_memory;
typedef struct cai_request {
  uint32_t struct_size;
  uint32_t kind;
  uint64_t size;
  uint64_t rows;
  uint64_t depth;
  uint64_t align;
  uint32_t flags;
  uint32_t channels;
  cai_dtype dtype;
  uint32_t reserved;
  cai_stream *stream;
  cai_manager *manager;
  uint64_t reserved1;
} cai_request;
cai_status cai_memory_alloc(cai_device device, const cai_request *request, cai_memory **out,
                            cai_error *error);
cai_status cai_memory_pin(cai_device device, void *host, uint64_t size, uint32_t kind,
                          uint32_t flags, void (*release)(void *context), void *context,
                          cai_memory **out, cai_error *error);
enum {
  CAI_MEMORY_DEREFERENCEABLE = 1 << 0,
  CAI_MEMORY_FREED = 1 << 1,
  CAI_MEMORY_FOREIGN = 1 << 2,
  CAI_MEMORY_VIEW = 1 << 3,
  CAI_MEMORY_READONLY = 1 << 4
};
typedef struct cai_memory_info {
  uint32_t struct_size;
  uint32_t flags;
  cai_device device;
  uint32_t kind;
  uint32_t channels;
  uint64_t data;
  uint64_t host;
  uint64_t array;
  uint64_t size;
  uint64_t row;
  uint64_t pitch;
  uint64_t rows;
  uint64_t depth;
  uint64_t stream;
} cai_memory_info;
cai_status cai_memory_wrap(const cai_memory_info *info, void (*release)(void *context),
                           void *context, cai_memory **out, cai_error *error);
cai_status cai_memory_view(cai_memory *memory, uint64_t start, uint64_t stop, cai_memory **out,
                           cai_error *error);
void cai_memory_retain(cai_memory *memory);
void cai_memory_release(cai_memory *memory);
cai_status cai_memory_free(cai_memory *memory, cai_error *error);
cai_status cai_memory_describe(const cai_memory *memory, cai_memory_info *out, cai_error *error);
cai_status cai_memory_find(uint64_t address, cai_memory **out, uint64_t *offset, cai_error *error);
cai_status cai_memory_validate(uint64_t address, uint64_t size, cai_device device, uint32_t kind,
                               cai_error *error);
cai_status cai_memory_set_stream(cai_memory *memory, cai_stream *stream, cai_error *error);
cai_status cai_memory_record(cai_memory *memory, cai_stream *stream, cai_error *error);
cai_status cai_memory_array(cai_memory *memory, uint64_t offset, const cai_dtype *dtype,
                            int32_t ndim, const int64_t *shape, const int64_t *strides,
                            cai_array **out, cai_error *error);
cai_status cai_memory_of(const cai_array *array, cai_memory **out, uint64_t *offset,
                         cai_error *error);
cai_status cai_array_host(const cai_array *array, uint64_t *out, cai_error *error);
cai_status cai_array_copy(const cai_array *from, const cai_array *to, cai_stream *stream,
                          cai_error *error);
cai_status cai_array_fill(const cai_array *array, const void *value, cai_stream *stream,
                          cai_error *error);
cai_status cai_array_item(const cai_array *array, const int64_t *index, void *out,
                          cai_error *error);
cai_status cai_array_first(const cai_array *array, void *out, cai_error *error);
cai_status cai_array_eval(const cai_array *array, cai_error *error);
typedef struct cai_usage {
  uint32_t struct_size;
  uint32_t deferred;
  uint64_t bytes;
  uint64_t count;
  uint64_t pending_bytes;
  uint64_t pending_count;
  uint64_t reserved;
} cai_usage;
cai_status cai_memory_usage(cai_device device, cai_usage *out, cai_error *error);
cai_status cai_pending_add(cai_device device, uint64_t bytes,
                           cai_status (*free)(void *context, cai_error *error), void *context,
                           cai_error *error);
cai_status cai_pending_flush(cai_device device, cai_error *error);
cai_status cai_pending_defer(cai_device device, int32_t defer, cai_error *error);
cai_status cai_memory_share(cai_memory *memory, cai_ipc_handle *out, int32_t *fd, cai_error *error);
enum { CAI_OPEN_DIRECT = 1, CAI_OPEN_STAGED = 2, CAI_OPEN_AUTO = 3 };
cai_status cai_memory_open(const cai_ipc_handle *handle, int32_t fd, cai_device device,
                           cai_stream *stream, uint32_t how, cai_memory **out, cai_error *error);
#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
