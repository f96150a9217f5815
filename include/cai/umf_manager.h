/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file umf_manager.h
 * Memory providers of UMF (Unified Memory Framework) 1.x as libcai managers.
 *
 * Header-only; needs to link with UMF.
 *
 *     cai_umf_manager_params params = {sizeof params, CAI_KIND_DEFAULT, provider};
 *     cai_manager_register("umf", cai_umf_manager_table(), NULL);
 *     cai_manager_create("umf", &params, device, NULL, &manager, NULL);
 */
#ifndef CAI_UMF_MANAGER_H
#define CAI_UMF_MANAGER_H

#include <cai/memory.h>
#include <stdlib.h>
#include <string.h>
#include <umf/base.h>
#include <umf/memory_provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Params of the manager. 16 bytes. Since 0.1. */
typedef struct cai_umf_manager_params {
  uint32_t struct_size; /**< sizeof(cai_umf_manager_params) */
  uint32_t kind; /**< CAI_KIND_*: the kind of the provider's memory, and the only kind that the
                      manager allocates; 0: DEFAULT */
  umf_memory_provider_handle_t provider; /**< the caller's; must outlive the manager and its
                                              pending frees. The manager's end runs these, but
                                              none while libcai sees a capture or
                                              cai_pending_defer() is open, and it does not wait for
                                              those that other threads are running. So call
                                              cai_pending_flush() after it, and destroy the provider
                                              once that has succeeded with nothing deferred */
} cai_umf_manager_params;

typedef struct cai_umf_manager {
  umf_memory_provider_handle_t provider;
  cai_device device;
  uint32_t kind;
} cai_umf_manager;

/* Memory to be freed once an event is complete. */
typedef struct cai_umf_given {
  umf_memory_provider_handle_t provider;
  void *ptr;
  size_t size;
  cai_event *after;
} cai_umf_given;

static inline cai_status cai_umf_fail(cai_error *error, cai_status status, const char *message) {
  if (error) {
    memset(error, 0, sizeof *error);
    error->status = status;
    error->index = -1;
    strncpy(error->message, message, sizeof error->message - 1);
  }
  return status;
}

static inline cai_status cai_umf_status(umf_result_t result, cai_error *error) {
  switch (result) {
    case UMF_RESULT_SUCCESS:
      return CAI_OK;
    case UMF_RESULT_ERROR_NOT_SUPPORTED:
      return cai_umf_fail(error, CAI_ERR_UNSUPPORTED, "the UMF provider does not support it");
    case UMF_RESULT_ERROR_INVALID_ARGUMENT:
    case UMF_RESULT_ERROR_INVALID_ALIGNMENT:
      return cai_umf_fail(error, CAI_ERR_VALUE, "the UMF provider refuses the arguments");
    default:
      /* Providers have no common result for out of memory. */
      return cai_umf_fail(error, CAI_ERR_MEMORY, "the UMF provider has no memory");
  }
}

static inline cai_status cai_umf_manager_create(const void *given, cai_device device,
                                                cai_manager *upstream, void **self,
                                                cai_error *error) {
  const cai_umf_manager_params *params = (const cai_umf_manager_params *)given;
  cai_umf_manager *made;
  if (!params || params->struct_size < sizeof *params || !params->provider || upstream)
    return cai_umf_fail(error, CAI_ERR_VALUE, "a UMF manager wants its params, and no upstream");
  made = (cai_umf_manager *)malloc(sizeof *made);
  if (!made) return cai_umf_fail(error, CAI_ERR_MEMORY, "no host memory left");
  made->provider = params->provider;
  made->device = device;
  made->kind = params->kind ? params->kind : (uint32_t)CAI_KIND_DEFAULT;
  *self = made;
  return CAI_OK;
}

/* The provider may be destroyed after the manager, and pending frees call it. */
static inline void cai_umf_manager_destroy(void *self) {
  cai_umf_manager *manager = (cai_umf_manager *)self;
  if (manager->device.type != CAI_DEVICE_CPU) cai_pending_flush(manager->device, NULL);
  free(manager);
}

static inline cai_status cai_umf_manager_ready(void *self, cai_error *error) {
  (void)self;
  (void)error;
  return CAI_OK;
}

static inline cai_status cai_umf_memalloc(void *self, uint64_t size, uint64_t align, uint32_t kind,
                                          uint64_t stream, cai_block *out, cai_error *error) {
  const cai_umf_manager *manager = (const cai_umf_manager *)self;
  void *ptr = NULL;
  cai_status status;
  (void)stream;
  if (kind != manager->kind)
    return cai_umf_fail(error, CAI_ERR_UNSUPPORTED, "not the kind of the UMF provider's memory");
  status = cai_umf_status(umfMemoryProviderAlloc(manager->provider, size, align, &ptr), error);
  if (status != CAI_OK) return status;
  out->data = (uint64_t)(uintptr_t)ptr;
  out->host = cai_is_dereferenceable(manager->device, kind) ? out->data : 0;
  out->size = size;
  out->cookie = 0;
  return CAI_OK;
}

static inline cai_status cai_umf_free_given(void *context, cai_error *error) {
  cai_umf_given *given = (cai_umf_given *)context;
  cai_status status = CAI_OK;
  if (given->after) status = cai_event_synchronize(given->after, error);
  cai_event_release(given->after);
  /* Without the wait the provider could give the memory to others while the GPU still uses it. */
  if (status == CAI_OK)
    status = cai_umf_status(umfMemoryProviderFree(given->provider, given->ptr, given->size), error);
  free(given);
  return status;
}

/* The event of a captured stream does not cover work that was queued there before the capture. */
static inline cai_status cai_umf_require_uncaptured(cai_stream *stream, cai_error *error) {
  cai_stream_info info;
  cai_status status;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  status = cai_stream_describe(stream, &info, error);
  if (status != CAI_OK || info.capture == (uint32_t)CAI_CAPTURE_NONE) return status;
  return cai_umf_fail(error, CAI_ERR_CAPTURE, "the stream that frees the memory is being captured");
}

static inline cai_status cai_umf_memfree(void *self, const cai_block *block, uint64_t stream,
                                         cai_error *error) {
  const cai_umf_manager *manager = (const cai_umf_manager *)self;
  cai_stream *order = NULL;
  cai_status status = CAI_OK;
  cai_umf_given *given = (cai_umf_given *)calloc(1, sizeof *given);
  if (!given) return cai_umf_fail(error, CAI_ERR_MEMORY, "no host memory left");
  given->provider = manager->provider;
  given->ptr = (void *)(uintptr_t)block->data;
  given->size = block->size;
  if (manager->device.type == CAI_DEVICE_CPU) return cai_umf_free_given(given, error);
  status = cai_stream_wrap(manager->device, stream, NULL, NULL, &order, error);
  if (status == CAI_OK) status = cai_umf_require_uncaptured(order, error);
  if (status == CAI_OK) status = cai_event_create(manager->device, 0, &given->after, error);
  if (status == CAI_OK) status = cai_event_record(given->after, order, error);
  cai_stream_release(order);
  if (status == CAI_OK)
    status = cai_pending_add(manager->device, block->size, cai_umf_free_given, given, error);
  if (status != CAI_OK) {
    cai_event_release(given->after);
    free(given);
  }
  return status;
}

/** Returns the table of a manager on a UMF provider, whose params are #cai_umf_manager_params; for
 * cai_manager_register(). Frees stay pending until the work on the stream is complete; if that wait
 * fails, the memory does not go back to the provider. On a stream that is being captured a free
 * fails with #CAI_ERR_CAPTURE. The manager's end runs the pending frees, and waits. Never NULL.
 * Since 0.1. */
static inline const cai_manager_table *cai_umf_manager_table(void) {
  static const cai_manager_table table = {sizeof(cai_manager_table),
                                          CAI_MANAGER_VERSION,
                                          "umf",
                                          cai_umf_manager_create,
                                          cai_umf_manager_destroy,
                                          cai_umf_manager_ready,
                                          cai_umf_manager_ready,
                                          cai_umf_memalloc,
                                          cai_umf_memfree,
                                          NULL, /* memhostalloc and all after it */
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL};
  return &table;
}

#ifdef __cplusplus
}
#endif

#endif /* CAI_UMF_MANAGER_H */
