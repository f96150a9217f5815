/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file umf.h libcai managers as memory providers of UMF (Unified Memory Framework) 1.x, and UMF
 *       providers as libcai managers.
 *
 * Header-only: cai_umf_provider_ops() goes to umfMemoryProviderCreate(), cai_umf_manager_table() to
 * cai_manager_register(). Only the second needs to link with UMF.
 *
 *     cai_umf_params params = {sizeof params, CAI_KIND_DEFAULT, {CAI_DEVICE_CUDA, 0}, NULL};
 *     umf_memory_provider_handle_t provider;
 *     umfMemoryProviderCreate(cai_umf_provider_ops(), &params, &provider);
 *
 * UMF has no streams. Any stream may use the memory that it allocates at once. Before it frees
 * memory, the work that uses it must be complete, or queued on the legacy default stream or on a
 * stream that the legacy stream waits for.
 */
#ifndef CAI_UMF_H
#define CAI_UMF_H

#include <cai/memory.h>
#include <sched.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <umf/base.h>
#include <umf/memory_provider.h>
#include <umf/memory_provider_ops.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Params of the provider; zero the members that are not needed. 24 bytes. Since 0.1. */
typedef struct cai_umf_params {
  uint32_t struct_size; /**< sizeof(cai_umf_params) */
  uint32_t kind;        /**< CAI_KIND_*; 0: DEFAULT */
  cai_device device;    /**< read if there is no manager */
  cai_manager *manager; /**< the provider adds a reference to it; NULL: the device's current
                             manager */
} cai_umf_params;

/* Allocated memory. cai_memory_find() does not find memory that a manager allocates inside of its
 * own functions, and this provider may belong to such a manager. */
typedef struct cai_umf_block {
  uintptr_t address;
  cai_memory *memory;
} cai_umf_block;

/* Memory of another process. */
typedef struct cai_umf_opened {
  struct cai_umf_opened *next;
  cai_memory *memory;
  void *ptr;
} cai_umf_opened;

typedef struct cai_umf_provider {
  cai_manager *manager;
  cai_stream *own;  /* for allocation only: no other work is ever queued on it */
  cai_stream *free; /* the legacy default stream, or the CPU */
  cai_device device;
  uint32_t kind;
  uint32_t lock; /* of the members below; held for a look-up only */
  void *blocks;  /* #cai_umf_block by address: a tree of <search.h> */
  cai_umf_opened *opened;
} cai_umf_provider;

/* The last failure of the calling thread, for get_last_native_error. */
static inline cai_error *cai_umf_error(void) {
  static __thread cai_error error;
  return &error;
}

static inline umf_result_t cai_umf_result(cai_status status) {
  switch (status) {
    case CAI_OK:
      return UMF_RESULT_SUCCESS;
    case CAI_ERR_UNSUPPORTED:
      return UMF_RESULT_ERROR_NOT_SUPPORTED;
    case CAI_ERR_ARGUMENT:
      return UMF_RESULT_ERROR_INVALID_ARGUMENT;
    case CAI_ERR_DRIVER:
      return UMF_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    default:
      return UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC;
  }
}

static inline void cai_umf_lock(cai_umf_provider *provider) {
  while (__atomic_exchange_n(&provider->lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

static inline void cai_umf_unlock(cai_umf_provider *provider) {
  __atomic_store_n(&provider->lock, 0, __ATOMIC_RELEASE);
}

static inline int cai_umf_compare(const void *a, const void *b) {
  const uintptr_t one = ((const cai_umf_block *)a)->address;
  const uintptr_t other = ((const cai_umf_block *)b)->address;
  return (one > other) - (one < other);
}

/* Removes a block from the tree; returns NULL if it is not there. The caller holds the lock, or is
 * the only user. */
static inline cai_umf_block *cai_umf_take(cai_umf_provider *provider, const cai_umf_block *like) {
  void *const node = tfind(like, &provider->blocks, cai_umf_compare);
  cai_umf_block *const block = node ? *(cai_umf_block **)node : NULL;
  if (block) tdelete(block, &provider->blocks, cai_umf_compare);
  return block;
}

static inline void cai_umf_end(cai_umf_block *block) {
  cai_memory_release(block->memory);
  free(block);
}

static inline umf_result_t cai_umf_finalize(void *self) {
  cai_umf_provider *provider = (cai_umf_provider *)self;
  cai_umf_opened *opened = provider->opened, *next;
  while (provider->blocks) cai_umf_end(cai_umf_take(provider, *(cai_umf_block **)provider->blocks));
  for (; opened; opened = next) {
    next = opened->next;
    cai_memory_release(opened->memory);
    free(opened);
  }
  cai_stream_release(provider->own);
  cai_stream_release(provider->free);
  cai_manager_release(provider->manager);
  free(provider);
  return UMF_RESULT_SUCCESS;
}

static inline umf_result_t cai_umf_initialize(const void *given, void **out) {
  const cai_umf_params *params = (const cai_umf_params *)given;
  cai_error *error = cai_umf_error();
  cai_umf_provider *made;
  cai_status status = CAI_OK;
  if (!params || params->struct_size < sizeof *params) return UMF_RESULT_ERROR_INVALID_ARGUMENT;
  made = (cai_umf_provider *)calloc(1, sizeof *made);
  if (!made) return UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  made->kind = params->kind ? params->kind : (uint32_t)CAI_KIND_DEFAULT;
  if (params->manager) {
    cai_manager_retain(params->manager);
    made->manager = params->manager;
  } else {
    status = cai_manager_of(params->device, &made->manager, error);
  }
  if (status == CAI_OK) {
    made->device = cai_manager_device(made->manager);
    if (made->device.type == CAI_DEVICE_CPU) {
      status = cai_stream_create(made->device, CAI_MODE_DEFAULT, 0, &made->own, error);
      if (status == CAI_OK) cai_stream_retain(made->free = made->own);
    } else {
      status = cai_stream_create(made->device, CAI_MODE_ASYNC, 0, &made->own, error);
      if (status == CAI_OK)
        status = cai_stream_wrap(made->device, 1, NULL, NULL, &made->free, error);
    }
  }
  if (status != CAI_OK) {
    cai_umf_finalize(made);
    return cai_umf_result(status);
  }
  *out = made;
  return UMF_RESULT_SUCCESS;
}

static inline cai_status cai_umf_describe(cai_memory *memory, cai_memory_info *info) {
  memset(info, 0, sizeof *info);
  info->struct_size = sizeof *info;
  return cai_memory_describe(memory, info, cai_umf_error());
}

/* Records an allocation, and takes over the caller's reference. A reset of the device may have left
 * freed memory under the same address. */
static inline int cai_umf_add(cai_umf_provider *provider, uint64_t address, cai_memory *memory) {
  cai_umf_block *const block = (cai_umf_block *)malloc(sizeof *block), *dead;
  int added;
  if (!block) return 0;
  block->address = (uintptr_t)address;
  block->memory = memory;
  cai_umf_lock(provider);
  dead = cai_umf_take(provider, block);
  added = tsearch(block, &provider->blocks, cai_umf_compare) != NULL;
  cai_umf_unlock(provider);
  if (dead) cai_umf_end(dead);
  if (!added) free(block);
  return added;
}

static inline umf_result_t cai_umf_alloc(void *self, size_t size, size_t align, void **out) {
  cai_umf_provider *provider = (cai_umf_provider *)self;
  cai_memory *memory = NULL;
  cai_memory_info info;
  cai_request request;
  cai_status status;
  umf_result_t result;
  uint64_t address;
  memset(&request, 0, sizeof request);
  request.struct_size = sizeof request;
  request.kind = provider->kind;
  request.size = size;
  request.align = align;
  request.stream = provider->own;
  request.manager = provider->manager;
  if (align & (align - 1)) return UMF_RESULT_ERROR_INVALID_ALIGNMENT;
  status = cai_memory_alloc(provider->device, &request, &memory, cai_umf_error());
  if (status != CAI_OK) return cai_umf_result(status);
  status = cai_stream_synchronize(provider->own, cai_umf_error());
  if (status == CAI_OK) status = cai_memory_set_stream(memory, provider->free, cai_umf_error());
  if (status == CAI_OK) status = cai_umf_describe(memory, &info);
  result = cai_umf_result(status);
  if (status == CAI_OK && size != 0) {
    address = info.host ? info.host : info.data;
    if (cai_umf_add(provider, address, memory)) {
      *out = (void *)(uintptr_t)address;
      return UMF_RESULT_SUCCESS;
    }
    result = UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  cai_memory_release(memory);
  if (result == UMF_RESULT_SUCCESS) *out = NULL; /* of no bytes */
  return result;
}

static inline umf_result_t cai_umf_free(void *self, void *ptr, size_t size) {
  cai_umf_provider *provider = (cai_umf_provider *)self;
  const cai_umf_block like = {(uintptr_t)ptr, NULL};
  cai_umf_block *block;
  (void)size;
  if (!ptr) return UMF_RESULT_SUCCESS;
  cai_umf_lock(provider);
  block = cai_umf_take(provider, &like);
  cai_umf_unlock(provider);
  if (!block) return UMF_RESULT_ERROR_INVALID_ARGUMENT;
  cai_umf_end(block);
  return UMF_RESULT_SUCCESS;
}

static inline umf_result_t cai_umf_last_error(void *self, const char **message, int32_t *code) {
  (void)self;
  if (message) *message = cai_umf_error()->message;
  if (code) *code = cai_umf_error()->status;
  return UMF_RESULT_SUCCESS;
}

static inline umf_result_t cai_umf_recommended_page(void *self, size_t size, size_t *page) {
  const cai_umf_provider *provider = (const cai_umf_provider *)self;
  (void)size;
  /* The driver's granularity, for memory of the device's own. */
  *page = cai_is_dereferenceable(provider->device, provider->kind) ? (size_t)sysconf(_SC_PAGESIZE)
                                                                   : (size_t)1 << 21;
  return UMF_RESULT_SUCCESS;
}

static inline umf_result_t cai_umf_minimum_page(void *self, const void *ptr, size_t *page) {
  (void)ptr;
  return cai_umf_recommended_page(self, 0, page);
}

static inline umf_result_t cai_umf_name(void *self, const char **name) {
  *name = cai_manager_name(((const cai_umf_provider *)self)->manager);
  return UMF_RESULT_SUCCESS;
}

#if UMF_PROVIDER_OPS_VERSION_CURRENT >= UMF_MAKE_VERSION(1, 2)
static inline umf_result_t cai_umf_cache_line(void *self, size_t *size) {
  const cai_umf_provider *provider = (const cai_umf_provider *)self;
  *size = provider->device.type == CAI_DEVICE_CPU ? 64 : 128;
  return UMF_RESULT_SUCCESS;
}
#endif

/* Handles are #cai_ipc_handle of the kind #CAI_IPC_LEGACY: UMF cannot pass a descriptor. */
static inline umf_result_t cai_umf_ipc_size(void *self, size_t *size) {
  if (((const cai_umf_provider *)self)->device.type != CAI_DEVICE_CUDA)
    return UMF_RESULT_ERROR_NOT_SUPPORTED;
  *size = sizeof(cai_ipc_handle);
  return UMF_RESULT_SUCCESS;
}

static inline umf_result_t cai_umf_ipc_get(void *self, const void *ptr, size_t size, void *data) {
  cai_umf_provider *provider = (cai_umf_provider *)self;
  const cai_umf_block like = {(uintptr_t)ptr, NULL};
  cai_memory *memory = NULL;
  cai_ipc_handle handle;
  int32_t fd = -1;
  cai_status status;
  void *node;
  (void)size;
  cai_umf_lock(provider);
  node = tfind(&like, &provider->blocks, cai_umf_compare);
  if (node) cai_memory_retain(memory = (*(cai_umf_block **)node)->memory);
  cai_umf_unlock(provider);
  if (!node) return UMF_RESULT_ERROR_INVALID_ARGUMENT;
  status = cai_memory_share(memory, &handle, &fd, cai_umf_error());
  cai_memory_release(memory);
  if (status != CAI_OK) return cai_umf_result(status);
  if (handle.kind != CAI_IPC_LEGACY) {
    if (fd >= 0) close(fd);
    return UMF_RESULT_ERROR_NOT_SUPPORTED;
  }
  memcpy(data, &handle, sizeof handle);
  return UMF_RESULT_SUCCESS;
}

static inline umf_result_t cai_umf_ipc_put(void *self, void *data) {
  (void)self;
  (void)data;
  return UMF_RESULT_SUCCESS; /* a handle is bytes */
}

static inline umf_result_t cai_umf_ipc_open(void *self, void *data, void **ptr) {
  cai_umf_provider *provider = (cai_umf_provider *)self;
  cai_umf_opened *opened = (cai_umf_opened *)calloc(1, sizeof *opened);
  cai_memory_info info;
  cai_ipc_handle handle;
  cai_status status;
  if (!opened) return UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  memcpy(&handle, data, sizeof handle);
  status = cai_memory_open(&handle, -1, provider->device, provider->free, CAI_OPEN_DIRECT,
                           &opened->memory, cai_umf_error());
  if (status == CAI_OK) status = cai_umf_describe(opened->memory, &info);
  if (status != CAI_OK) {
    cai_memory_release(opened->memory);
    free(opened);
    return cai_umf_result(status);
  }
  *ptr = opened->ptr = (void *)(uintptr_t)info.data;
  cai_umf_lock(provider);
  opened->next = provider->opened;
  provider->opened = opened;
  cai_umf_unlock(provider);
  return UMF_RESULT_SUCCESS;
}

static inline umf_result_t cai_umf_ipc_close(void *self, void *ptr, size_t size) {
  cai_umf_provider *provider = (cai_umf_provider *)self;
  cai_umf_opened **at, *found;
  (void)size;
  cai_umf_lock(provider);
  for (at = &provider->opened; *at && (*at)->ptr != ptr; at = &(*at)->next) continue;
  found = *at;
  if (found) *at = found->next;
  cai_umf_unlock(provider);
  if (!found) return UMF_RESULT_ERROR_INVALID_ARGUMENT;
  cai_memory_release(found->memory);
  free(found);
  return UMF_RESULT_SUCCESS;
}

/** Returns the operations of a provider on a libcai manager; its params are #cai_umf_params. A
 * failure UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC has a #cai_status and libcai's message as its
 * native error. Never NULL. Since 0.1. */
static inline const umf_memory_provider_ops_t *cai_umf_provider_ops(void) {
  static const umf_memory_provider_ops_t ops = {
      UMF_PROVIDER_OPS_VERSION_CURRENT,
      cai_umf_initialize,
      cai_umf_finalize,
      cai_umf_alloc,
      cai_umf_free,
      cai_umf_last_error,
      cai_umf_recommended_page,
      cai_umf_minimum_page,
      cai_umf_name,
      NULL, /* ext_purge_lazy */
      NULL, /* ext_purge_force */
      NULL, /* ext_allocation_merge */
      NULL, /* ext_allocation_split */
      cai_umf_ipc_size,
      cai_umf_ipc_get,
      cai_umf_ipc_put,
      cai_umf_ipc_open,
      cai_umf_ipc_close,
      NULL, /* ext_ctl */
#if UMF_PROVIDER_OPS_VERSION_CURRENT >= UMF_MAKE_VERSION(1, 1)
      NULL, /* ext_get_allocation_properties */
      NULL, /* ext_get_allocation_properties_size */
#endif
#if UMF_PROVIDER_OPS_VERSION_CURRENT >= UMF_MAKE_VERSION(1, 2)
      cai_umf_cache_line,
#endif
  };
  return &ops;
}

#ifdef __cplusplus
}
#endif

#endif /* CAI_UMF_H */
