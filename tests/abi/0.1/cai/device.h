/* SPDX-License-Identifier: BSD-3-Clause */
/* As released in 0.1, without the comments. Never changed. */
#ifndef CAI_DEVICE_H
#define CAI_DEVICE_H
#include <cai.h>
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif
typedef struct cai_device {
  int32_t type;
  int32_t id;
} cai_device;
enum { CAI_DEVICE_TEXT_SIZE = 32 };
cai_status cai_device_parse(const char *text, cai_device *out, cai_error *error);
cai_status cai_device_format(cai_device device, char *text, cai_error *error);
cai_status cai_device_count(int32_t type, int32_t *count, cai_error *error);
cai_status cai_device_current(int32_t type, cai_device *out, cai_error *error);
cai_status cai_device_set_current(cai_device device, cai_error *error);
typedef struct cai_device_guard {
  cai_device device;
  uint64_t context;
  uint64_t previous;
  uint64_t thread;
} cai_device_guard;
cai_status cai_device_enter(cai_device device, cai_device_guard *guard, cai_error *error);
cai_status cai_device_leave(cai_device_guard *guard, cai_error *error);
enum {
  CAI_DEVICE_MAPS_HOST = 1 << 0,
  CAI_DEVICE_MANAGED_MEMORY = 1 << 1,
  CAI_DEVICE_CONCURRENT_MANAGED = 1 << 2,
  CAI_DEVICE_POOLS = 1 << 3,
  CAI_DEVICE_POOLS_BY_DESCRIPTOR = 1 << 4,
  CAI_DEVICE_INTEGRATED = 1 << 5
};
typedef struct cai_device_info {
  uint32_t struct_size;
  uint32_t flags;
  uint8_t uuid[16];
  int32_t pci_domain;
  int32_t pci_bus;
  int32_t pci_slot;
  int32_t reserved;
  uint64_t total;
  char name[256];
} cai_device_info;
cai_status cai_device_describe(cai_device device, cai_device_info *out, cai_error *error);
cai_status cai_device_summary(cai_device device, char *text, uint64_t size, uint64_t *length,
                              cai_error *error);
cai_status cai_device_find(const uint8_t *uuid, cai_device *out, cai_error *error);
cai_status cai_device_memory(cai_device device, uint64_t *free, uint64_t *total, cai_error *error);
cai_status cai_device_most_free(int32_t type, cai_device *out, cai_error *error);
cai_status cai_device_can_access(cai_device device, cai_device peer, int32_t *yes,
                                 cai_error *error);
cai_status cai_device_synchronize(cai_device device, cai_error *error);
typedef void (*cai_reset_fn)(void *context, cai_device device);
cai_status cai_device_on_reset(cai_reset_fn callback, void *context, cai_error *error);
cai_status cai_device_off_reset(cai_reset_fn callback, void *context, cai_error *error);
enum { CAI_RESET_CONTEXT = 1 << 0 };
cai_status cai_device_reset(cai_device device, uint32_t flags, cai_error *error);
cai_status cai_device_set_cache(cai_device device, uint64_t bytes, cai_error *error);
cai_status cai_device_trim_cache(cai_device device, uint64_t keep, cai_error *error);
typedef void (*cai_failure_fn)(void *context, const cai_error *error);
cai_status cai_on_failure(cai_failure_fn hook, void *context, cai_error *error);
typedef struct cai_stream cai_stream;
enum { CAI_MODE_DEFAULT = 0, CAI_MODE_SYNC = 1, CAI_MODE_ASYNC = 2 };
cai_status cai_stream_create(cai_device device, uint32_t mode, int32_t priority, cai_stream **out,
                             cai_error *error);
cai_status cai_stream_wrap(cai_device device, uint64_t value, void (*release)(void *context),
                           void *context, cai_stream **out, cai_error *error);
void cai_stream_retain(cai_stream *stream);
void cai_stream_release(cai_stream *stream);
uint64_t cai_stream_value(const cai_stream *stream);
enum { CAI_CAPTURE_NONE = 0, CAI_CAPTURE_ACTIVE = 1, CAI_CAPTURE_INVALIDATED = 2 };
typedef struct cai_stream_info {
  uint32_t struct_size;
  uint32_t mode;
  cai_device device;
  uint64_t value;
  uint64_t id;
  int32_t priority;
  uint32_t capture;
  uint64_t capture_id;
  int32_t thread_limit;
  uint32_t wrapped;
  uint64_t reserved;
} cai_stream_info;
cai_status cai_stream_describe(cai_stream *stream, cai_stream_info *out, cai_error *error);
cai_status cai_stream_set_thread_limit(cai_stream *stream, int32_t threads, cai_error *error);
typedef cai_status (*cai_work_fn)(void *context, cai_error *error);
cai_status cai_stream_enqueue(cai_stream *stream, cai_work_fn work, void (*done)(void *context),
                              void *context, cai_error *error);
cai_status cai_stream_attach(cai_stream *stream, void (*release)(void *context), void *context,
                             cai_error *error);
cai_status cai_stream_query(cai_stream *stream, int32_t *busy, cai_error *error);
cai_status cai_stream_synchronize(cai_stream *stream, cai_error *error);
cai_status cai_stream_follow(cai_stream *stream, cai_stream *other, cai_error *error);
cai_status cai_stream_current(cai_device device, cai_stream **out, cai_error *error);
cai_status cai_stream_set_current(cai_stream *stream, cai_error *error);
typedef struct cai_stream_guard {
  cai_stream *stream;
  cai_stream *previous;
  uint64_t thread;
  uint64_t depth;
} cai_stream_guard;
cai_status cai_stream_enter(cai_stream *stream, cai_stream_guard *guard, cai_error *error);
enum { CAI_LEAVE_QUEUED = 1 << 0 };
cai_status cai_stream_leave(cai_stream_guard *guard, uint32_t flags, cai_error *error);
typedef struct cai_event cai_event;
enum { CAI_EVENT_TIMING = 1 << 0 };
cai_status cai_event_create(cai_device device, uint32_t flags, cai_event **out, cai_error *error);
void cai_event_retain(cai_event *event);
void cai_event_release(cai_event *event);
uint64_t cai_event_value(const cai_event *event);
cai_status cai_event_record(cai_event *event, cai_stream *stream, cai_error *error);
cai_status cai_event_wait(cai_event *event, cai_stream *stream, cai_error *error);
cai_status cai_event_query(cai_event *event, int32_t *busy, cai_error *error);
cai_status cai_event_synchronize(cai_event *event, cai_error *error);
cai_status cai_event_elapsed(cai_event *start, cai_event *end, double *milliseconds,
                             cai_error *error);
#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
