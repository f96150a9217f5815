/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file device.h
 * Devices, streams and events, on CPU and GPU alike.
 * Provisional, in the version node CAI_MEMORY_0: until this has users, a later release may change
 * it. `pkg-config libcai-memory` asks for it.
 *
 * The rules at the head of cai.h hold here too. Beside them:
 *
 * - The CPU is a device like any other, and is always there. Without a driver there are no GPUs,
 *   and that is no error until one is asked for.
 * - A GPU is known by its ordinal, and worked on in its primary context. The first function that
 *   needs the context makes it, and libcai then keeps it until cai_device_reset() with
 *   #CAI_RESET_CONTEXT or the end of the process. Only cai_device_set_current() and the guards
 *   change what is current on the calling thread; all else leaves it as it was.
 * - Handles (`cai_stream *`, `cai_event *`) are counted: who makes or is given one has one holder
 *   and ends with `_release`. Retain and release take NULL, run on any thread, and never fail.
 * - A process that has used a GPU and then forks must not use one in the child: the functions there
 *   return #CAI_ERR_STATE, and releasing does nothing. So it is with streams and events of the
 *   CPU's that were made before.
 * - Where a failure can be told to nobody, in a release or in a callback, cai_on_failure() says who
 *   hears of it.
 */
/* clang-format off: the comments beside the fields are set by hand */
#ifndef CAI_DEVICE_H
#define CAI_DEVICE_H

#include <cai.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* device.h: declarations begin */

/* ---- Devices ------------------------------------------------------------------------------ */

/** A device: passed by value. 8 bytes. Since 0.1. */
typedef struct cai_device {
  int32_t type; /**< #CAI_DEVICE_CPU or #CAI_DEVICE_CUDA */
  int32_t id;   /**< ordinal from 0; 0 for the CPU */
} cai_device;

/** Limits. Since 0.1. */
enum {
  CAI_DEVICE_TEXT_SIZE = 32 /**< bytes that hold any device's text and its NUL */
};

/** Reads a device: "cpu", "gpu" (the thread's current one), "gpu:1" or "cuda:1", "gpu:free" (the
 * one with the most free memory); "cuda" says the same as "gpu". Case does not matter, nor do
 * blanks at both ends and around the colon.
 *
 * @param text  NUL-terminated UTF-8
 * @return #CAI_OK; #CAI_ERR_VALUE if the text is none of these; #CAI_ERR_DEVICE if there is no such
 *         GPU; #CAI_ERR_DRIVER and #CAI_ERR_CUDA for GPUs; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_parse(const char *text, cai_device *out, cai_error *error);

/** Writes a device as "cpu" or "gpu:1"; whether there is such a GPU is not asked.
 *
 * @param text  #CAI_DEVICE_TEXT_SIZE bytes; gets the text and its NUL
 * @return #CAI_OK; #CAI_ERR_VALUE if its type or id is that of no device; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_format(cai_device device, char *text, cai_error *error);

/** Counts the devices of a type: 1 CPU; 0 GPUs if there is no driver, or none that libcai can use.
 *
 * @param type  #CAI_DEVICE_CPU or #CAI_DEVICE_CUDA
 * @return #CAI_OK; #CAI_ERR_VALUE for another type; #CAI_ERR_CUDA; #CAI_ERR_STATE;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_count(int32_t type, int32_t *count, cai_error *error);

/** Finds the calling thread's current device of a type: the CPU, or the GPU of its current context,
 * or, if none is current, GPU 0.
 *
 * @return #CAI_OK; #CAI_ERR_VALUE for another type; #CAI_ERR_DRIVER; #CAI_ERR_CUDA; #CAI_ERR_DEVICE
 *         if there is no GPU; #CAI_ERR_STATE; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_current(int32_t type, cai_device *out, cai_error *error);

/** Makes a GPU's primary context current on the calling thread, in the place of the one that is.
 * Nothing for the CPU.
 *
 * @return #CAI_OK; #CAI_ERR_DEVICE if there is no such device; #CAI_ERR_DRIVER; #CAI_ERR_CUDA;
 *         #CAI_ERR_STATE; #CAI_ERR_VALUE as cai_device_format(); #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_device_set_current(cai_device device, cai_error *error);

/** A device that is current for a while: filled in by cai_device_enter(), for cai_device_leave().
 * Neither copied nor changed between the two. 32 bytes. Since 0.1. */
typedef struct cai_device_guard {
  cai_device device;
  uint64_t context;  /**< CUcontext that was entered; 0 for the CPU */
  uint64_t previous; /**< CUcontext that was current before, or 0 */
  uint64_t thread;   /**< of cai_device_enter(); 0 once left */
} cai_device_guard;

/** Makes a device current until cai_device_leave() with the same guard on the same thread: pushes a
 * GPU's primary context. Nothing for the CPU.
 *
 * @return as cai_device_set_current(); #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_enter(cai_device device, cai_device_guard *guard, cai_error *error);

/** Makes what was current before cai_device_enter() current again. Guards are left in the reverse
 * order.
 *
 * @return #CAI_OK; #CAI_ERR_STATE, and nothing changed, on another thread, for a guard that was
 *         left already, and if the context that was entered is not the current one; #CAI_ERR_CUDA;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_leave(cai_device_guard *guard, cai_error *error);

/** What a device can do, in cai_device_info.flags. Since 0.1. */
enum {
  CAI_DEVICE_MAPS_HOST = 1 << 0,           /**< it can use pinned host memory where it is */
  CAI_DEVICE_MANAGED_MEMORY = 1 << 1,      /**< it has managed memory */
  CAI_DEVICE_CONCURRENT_MANAGED = 1 << 2,  /**< the host may use that while it works */
  CAI_DEVICE_POOLS = 1 << 3,               /**< it has stream-ordered memory */
  CAI_DEVICE_POOLS_BY_DESCRIPTOR = 1 << 4, /**< pools can be shared by a file descriptor */
  CAI_DEVICE_INTEGRATED = 1 << 5           /**< its memory is the host's */
};

/** What is known of a device. It grows at the tail. 304 bytes. Since 0.1. */
typedef struct cai_device_info {
  uint32_t struct_size; /**< in: sizeof(cai_device_info), at least 8. The library fills in no more
                             than that, nor more than it knows: zero the rest */
  uint32_t flags;       /**< CAI_DEVICE_MAPS_HOST and so on */
  uint8_t uuid[16];     /**< tells the device from all others, whatever its ordinal; 0 for the
                             CPU */
  int32_t pci_domain;   /**< 0 for the CPU, as the next two */
  int32_t pci_bus;
  int32_t pci_slot;
  int32_t reserved; /**< 0 */
  uint64_t total;   /**< bytes of its memory */
  char name[256];   /**< NUL-terminated UTF-8 */
} cai_device_info;

/** Says what is known of a device.
 *
 * @param out  struct_size set by the caller
 * @return #CAI_OK; #CAI_ERR_DEVICE if there is no such device; #CAI_ERR_DRIVER; #CAI_ERR_CUDA;
 *         #CAI_ERR_STATE; #CAI_ERR_VALUE as cai_device_format(); #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_describe(cai_device device, cai_device_info *out, cai_error *error);

/** Writes a few lines for people: name, identity, memory, what the device can do.
 *
 * @param text  `size` bytes; gets the lines, cut if need be, and a NUL. May be NULL if size is 0
 * @param length  may be NULL; gets the bytes of the whole text, without the NUL
 * @return as cai_device_describe(); #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_device_summary(cai_device device, char *text, uint64_t size, uint64_t *length,
                              cai_error *error);

/** Finds the GPU with an identity, under whatever ordinal this process knows it.
 *
 * @param uuid  16 bytes, as cai_device_info.uuid
 * @return #CAI_OK; #CAI_ERR_DEVICE if there is none; #CAI_ERR_DRIVER; #CAI_ERR_CUDA;
 *         #CAI_ERR_STATE; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_find(const uint8_t *uuid, cai_device *out, cai_error *error);

/** Says how much memory a device has free, and in all; of the machine for the CPU.
 *
 * @param free   bytes; may be NULL
 * @param total  bytes; may be NULL
 * @return as cai_device_describe(); #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_device_memory(cai_device device, uint64_t *free, uint64_t *total, cai_error *error);

/** Finds the device of a type with the most free memory; the first of several.
 *
 * @return as cai_device_current(); #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_device_most_free(int32_t type, cai_device *out, cai_error *error);

/** Says whether kernels on a device can be allowed to use the memory of another one. A device can
 * use its own; GPU and CPU cannot use each other's.
 *
 * @param yes  gets 1 or 0
 * @return as cai_device_describe().
 * Since 0.1. */
cai_status cai_device_can_access(cai_device device, cai_device peer, int32_t *yes,
                                 cai_error *error);

/** Waits until the calling thread's current stream of the device, and then all else that is queued
 * in the GPU's primary context, is complete.
 *
 * The driver refuses that while any stream of the context is being captured, and ends the capture.
 * libcai looks first, at the streams that it has handles of and at those in order with the legacy
 * stream. It cannot see others: make a handle of such a stream, cai_stream_wrap(), or do not call
 * this while it is captured.
 *
 * @return #CAI_OK; #CAI_ERR_CAPTURE if one of the streams that it sees is being captured, and the
 *         capture goes on; #CAI_ERR_CUDA with 900 in `native` if another one was, and the driver
 *         has ended the capture; a failure of earlier work as cai_stream_synchronize(); the rest as
 *         cai_device_set_current().
 * Since 0.1. */
cai_status cai_device_synchronize(cai_device device, cai_error *error);

/** Called by cai_device_reset(). May call any function but cai_device_reset(). Since 0.1. */
typedef void (*cai_reset_fn)(void *context, cai_device device);

/** Adds a callback that the next cai_device_reset() of any device calls once, after it has
 * synchronised and before it resets; it stays for later ones. A pair of function and context that
 * is there already is not added again.
 *
 * @return #CAI_OK; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_on_reset(cai_reset_fn callback, void *context, cai_error *error);

/** Takes a callback away; nothing if it is not there. A reset that has begun may still call it.
 *
 * @return #CAI_OK; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_off_reset(cai_reset_fn callback, void *context, cai_error *error);

/** Flags of cai_device_reset(). Since 0.1. */
enum {
  CAI_RESET_CONTEXT = 1 << 0 /**< also destroys the GPU's primary context, and with it all that
                                  anybody in the process has there */
};

/** Synchronises a device, calls the callbacks, frees what is pending (cai_pending_add()), resets
 * the managers of the device, and drops the calling thread's current streams of it. Callbacks run
 * in the order in which they were added, with no lock held.
 *
 * @param flags  CAI_RESET_*. After #CAI_RESET_CONTEXT, memory, streams and events of the device
 *               that somebody still holds are dead: using them is #CAI_ERR_STATE, releasing them is
 *               safe. The context stays current wherever it was, and the next function that works
 *               on the device makes it anew
 * @return as cai_device_synchronize(), and then nothing but synchronising has happened;
 *         #CAI_ERR_CUDA also for the reset itself; #CAI_ERR_STATE inside of a callback;
 *         #CAI_ERR_ARGUMENT for other flags.
 * Since 0.1. */
cai_status cai_device_reset(cai_device device, uint32_t flags, cai_error *error);

/** Says how much freed memory the device's current pool keeps for later: the driver gives back what
 * exceeds it whenever streams synchronise. Nothing for the CPU.
 *
 * @param bytes  at first 0
 * @return as cai_device_set_current(); #CAI_ERR_UNSUPPORTED for a GPU without pools.
 * Since 0.1. */
cai_status cai_device_set_cache(cai_device device, uint64_t bytes, cai_error *error);

/** Gives freed memory of the device's current pool back, down to `keep` bytes. Nothing for the CPU.
 *
 * @return as cai_device_set_cache().
 * Since 0.1. */
cai_status cai_device_trim_cache(cai_device device, uint64_t keep, cai_error *error);

/* ---- Streams ------------------------------------------------------------------------------ */

/** Work in order: on a GPU, or on the CPU. Since 0.1. */
typedef struct cai_stream cai_stream;

/** How a stream works. Since 0.1. */
enum {
  CAI_MODE_DEFAULT = 0, /**< CPU: at once, on the calling thread. GPU: the legacy default stream */
  CAI_MODE_SYNC = 1,    /**< CPU: likewise. GPU: a stream that the legacy one waits for, and that
                             waits for it */
  CAI_MODE_ASYNC = 2    /**< CPU: one thread of its own, first in, first out. GPU: a stream that is
                             independent of the legacy one */
};

/** Makes a stream.
 *
 * @param mode      CAI_MODE_*
 * @param priority  0 is the default, and lower is more urgent; the driver clips it. 0 for the CPU
 *                  and for #CAI_MODE_DEFAULT
 * @param out       one holder. The last cai_stream_release() waits for nothing: work that is queued
 *                  still runs, and a GPU's stream is destroyed with the frees that are pending
 * @return #CAI_OK; #CAI_ERR_VALUE for another mode or priority; the rest as
 *         cai_device_set_current(), and #CAI_ERR_UNSUPPORTED if no thread could be made.
 * Since 0.1. */
cai_status cai_stream_create(cai_device device, uint32_t mode, int32_t priority, cai_stream **out,
                             cai_error *error);

/** Makes a handle for a GPU's stream of somebody else's. Streams are the same if their values,
 * contexts and (for 2) threads are, whoever wrapped them.
 *
 * @param device   the stream's
 * @param value    1 or 2 of the device's primary context, or a CUstream. 2 is the calling thread's:
 *                 using the handle on another one is #CAI_ERR_STATE
 * @param release  ends the stream once libcai needs it no longer; runs once, on any thread, no lock
 *                 held; may be NULL
 * @param context  for release. On success it belongs to the handle; on failure it is the caller's
 * @return #CAI_OK; #CAI_ERR_VALUE for 0; #CAI_ERR_DEVICE if the stream is not that device's, or
 *         that is the CPU; #CAI_ERR_ARGUMENT; the rest as cai_device_set_current().
 * Since 0.1. */
cai_status cai_stream_wrap(cai_device device, uint64_t value, void (*release)(void *context),
                           void *context, cai_stream **out, cai_error *error);

/** Adds one holder. Since 0.1. */
void cai_stream_retain(cai_stream *stream);

/** Takes one holder away. Work that a CPU stream does may do so, even the last one. Since 0.1. */
void cai_stream_release(cai_stream *stream);

/** Returns the stream as the functions under "Order" in cai.h and the dict take it: 1, 2 or a
 * CUstream; 0 for a CPU's stream, and for NULL. Since 0.1. */
uint64_t cai_stream_value(const cai_stream *stream);

/** Values of cai_stream_info.capture. Since 0.1. */
enum {
  CAI_CAPTURE_NONE = 0,
  CAI_CAPTURE_ACTIVE = 1,     /**< into a graph */
  CAI_CAPTURE_INVALIDATED = 2 /**< by an error; whoever captures must end it */
};

/** What is known of a stream. It grows at the tail. 64 bytes. Since 0.1. */
typedef struct cai_stream_info {
  uint32_t struct_size; /**< in: sizeof(cai_stream_info), at least 8; as in cai_device_info */
  uint32_t mode;        /**< CAI_MODE_*; of a wrapped stream, as the driver describes it */
  cai_device device;
  uint64_t value; /**< as cai_stream_value() */
  uint64_t id;    /**< tells it from all streams that there ever were in this process */
  int32_t priority;
  uint32_t capture;     /**< CAI_CAPTURE_* */
  uint64_t capture_id;  /**< of the capture; 0 if there is none */
  int32_t thread_limit; /**< see cai_stream_set_thread_limit(); 0 for a GPU */
  uint32_t wrapped;     /**< 1 for cai_stream_wrap() */
  uint64_t reserved;    /**< 0 */
} cai_stream_info;

/** Says what is known of a stream.
 *
 * @param out  struct_size set by the caller
 * @return #CAI_OK; #CAI_ERR_STATE after a reset; #CAI_ERR_CUDA; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_describe(cai_stream *stream, cai_stream_info *out, cai_error *error);

/** Sets how many threads work on a CPU stream may use, for that work to read.
 *
 * @param threads  at least 1; at first the machine's number of processors
 * @return #CAI_OK; #CAI_ERR_VALUE; #CAI_ERR_DEVICE for a GPU's stream; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_set_thread_limit(cai_stream *stream, int32_t threads, cai_error *error);

/** A piece of work. On failure it writes the error and returns its status. Must not throw. On a
 * GPU's stream it runs on a thread of the driver's, and must not call the driver. Since 0.1. */
typedef cai_status (*cai_work_fn)(void *context, cai_error *error);

/** Queues a function. A CPU stream that is not #CAI_MODE_ASYNC runs it before the call returns.
 *
 * The first failure of work on a stream drops what waits there on the CPU (`done` is called all the
 * same), and is returned once, by the next of these for the handle: cai_stream_enqueue(), which
 * then queues nothing, cai_stream_query(), cai_stream_synchronize(), cai_stream_follow(),
 * cai_event_wait(); on the CPU, cai_event_record(). If none comes, cai_on_failure() hears of it.
 *
 * @param work     may be NULL: nothing to do
 * @param done     called once after `work`, or when it is dropped; it ends `context`. On a GPU's
 *                 stream not by the driver's thread, but by a later call for this stream or
 *                 cai_drain(), so that it may do anything. May be NULL
 * @param context  on failure it is the caller's, and `done` is not called, nor will it be
 * @return #CAI_OK; the failure of earlier work; of this one if it ran at once (the context is the
 *         caller's then, too); #CAI_ERR_CAPTURE if
 *         `done` is given and the stream is being captured; #CAI_ERR_STATE after a reset;
 *         #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_enqueue(cai_stream *stream, cai_work_fn work, void (*done)(void *context),
                              void *context, cai_error *error);

/** Keeps an object until the stream has passed what is queued on it by now. In a capture, the graph
 * keeps it.
 *
 * @param release  called once, on the thread of a later call for the stream, under "Order", or of
 *                 cai_drain(); never by the driver's; on a CPU stream by whoever does its work
 * @param context  for release; on failure it is the caller's
 * @return #CAI_OK; #CAI_ERR_STATE after a reset; #CAI_ERR_CAPTURE if the capture was invalidated;
 *         #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_attach(cai_stream *stream, void (*release)(void *context), void *context,
                             cai_error *error);

/** Says whether work is pending.
 *
 * @param busy  gets 1 or 0
 * @return #CAI_OK; the failure of earlier work; #CAI_ERR_CAPTURE if the stream is being captured,
 *         and the capture goes on; #CAI_ERR_STATE after a reset; #CAI_ERR_CUDA; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_query(cai_stream *stream, int32_t *busy, cai_error *error);

/** Waits until the work that is queued is complete; then ends what was attached. Release the GIL
 * first.
 *
 * @return as cai_stream_query(); #CAI_ERR_STATE also on the CPU stream's own thread.
 * Since 0.1. */
cai_status cai_stream_synchronize(cai_stream *stream, cai_error *error);

/** Makes later work on a stream wait for what is queued on another one by now. The host waits only
 * where a GPU's stream follows an ASYNC one of the CPU, or a CPU stream that works at once follows
 * any. A GPU's stream that follows one that is being captured joins the capture, and must be
 * followed back before that ends.
 *
 * @return #CAI_OK; #CAI_ERR_CAPTURE where a capture allows no such order; the failure of earlier
 *          work on either; #CAI_ERR_STATE after a reset, and where a CPU stream would wait for
 *          itself; #CAI_ERR_CUDA; #CAI_ERR_MEMORY;
 *          #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_follow(cai_stream *stream, cai_stream *other, cai_error *error);

/** Finds the calling thread's current stream of a device: at first one of #CAI_MODE_DEFAULT.
 *
 * @param out  one holder more
 * @return as cai_stream_create().
 * Since 0.1. */
cai_status cai_stream_current(cai_device device, cai_stream **out, cai_error *error);

/** Makes a stream the calling thread's current one of the stream's device. A thread that ends lets
 * go of its current streams.
 *
 * @param stream  gets one holder more; the one it replaces loses one
 * @return #CAI_OK; #CAI_ERR_STATE after a reset; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_set_current(cai_stream *stream, cai_error *error);

/** A stream that is current for a while: filled in by cai_stream_enter(), for cai_stream_leave().
 * Neither copied nor changed between the two. 32 bytes. Since 0.1. */
typedef struct cai_stream_guard {
  cai_stream *stream;   /**< held */
  cai_stream *previous; /**< held */
  uint64_t thread;      /**< of cai_stream_enter(); 0 once left */
  uint64_t depth;       /**< how many guards of this device the thread had entered */
} cai_stream_guard;

/** Makes a stream current until cai_stream_leave() with the same guard on the same thread.
 *
 * @return as cai_stream_set_current().
 * Since 0.1. */
cai_status cai_stream_enter(cai_stream *stream, cai_stream_guard *guard, cai_error *error);

/** Flags of cai_stream_leave(). Since 0.1. */
enum {
  CAI_LEAVE_QUEUED = 1 << 0 /**< does not wait for the work on the stream */
};

/** Synchronises the stream, and makes the one before it current again. Guards of a device are left
 * in the reverse order.
 *
 * @param flags  CAI_LEAVE_*
 * @return #CAI_OK; #CAI_ERR_STATE, and nothing changed, on another thread, for a guard that was
 *          left already, and out of turn; a failure as cai_stream_synchronize(), and then the guard
 *          is left all the same (its thread is 0); #CAI_ERR_ARGUMENT, also for other flags.
 * Since 0.1. */
cai_status cai_stream_leave(cai_stream_guard *guard, uint32_t flags, cai_error *error);

/* ---- Events ------------------------------------------------------------------------------- */

/** A point in the work of a stream. Since 0.1. */
typedef struct cai_event cai_event;

/** Flags of cai_event_create(). Since 0.1. */
enum {
  CAI_EVENT_TIMING = 1 << 0 /**< it keeps the time, for cai_event_elapsed() */
};

/** Makes an event; it is complete until it is recorded.
 *
 * @param flags  CAI_EVENT_*
 * @param out    one holder; the last cai_event_release() waits for nothing
 * @return #CAI_OK; #CAI_ERR_VALUE for other flags; the rest as cai_device_set_current().
 * Since 0.1. */
cai_status cai_event_create(cai_device device, uint32_t flags, cai_event **out, cai_error *error);

/** Adds one holder. Since 0.1. */
void cai_event_retain(cai_event *event);

/** Takes one holder away. Since 0.1. */
void cai_event_release(cai_event *event);

/** Returns the CUevent, as arrays of #CAI_STREAM_EVENT have it; 0 for a CPU's event, and for NULL.
 * Since 0.1. */
uint64_t cai_event_value(const cai_event *event);

/** Puts the event behind what is queued on a stream by now. What waits for its last place waits for
 * that still.
 *
 * @param stream  of the event's device
 * @return #CAI_OK; #CAI_ERR_DEVICE for a stream of another device, or of another context than the
 *         GPU's primary one; #CAI_ERR_CAPTURE if the capture was invalidated; the failure of
 *         earlier work on a CPU's stream; #CAI_ERR_STATE after a reset; #CAI_ERR_CUDA;
 *         #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_event_record(cai_event *event, cai_stream *stream, cai_error *error);

/** Makes later work on a stream wait for the event as it was recorded last; nothing if it never
 * was.
 *
 * @param stream  of any device
 * @return as cai_stream_follow().
 * Since 0.1. */
cai_status cai_event_wait(cai_event *event, cai_stream *stream, cai_error *error);

/** Says whether work before the event is pending.
 *
 * @param busy  gets 1 or 0
 * @return #CAI_OK; #CAI_ERR_CAPTURE if it was recorded in a capture; #CAI_ERR_STATE after a reset;
 *         #CAI_ERR_CUDA; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_event_query(cai_event *event, int32_t *busy, cai_error *error);

/** Waits for the work before the event. Release the GIL first.
 *
 * @return as cai_event_query(); #CAI_ERR_STATE also on the thread of the CPU stream that must pass
 *         it.
 * Since 0.1. */
cai_status cai_event_synchronize(cai_event *event, cai_error *error);

/** Measures the time between two events of one device.
 *
 * @param start  made with #CAI_EVENT_TIMING, recorded, and complete
 * @param end    likewise
 * @param milliseconds  negative if `end` came first
 * @return #CAI_OK; #CAI_ERR_STATE if one was not recorded, or is not complete, and after a reset;
 *         #CAI_ERR_DEVICE if their devices differ; #CAI_ERR_VALUE if one keeps no time;
 *         #CAI_ERR_CAPTURE; #CAI_ERR_CUDA; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_event_elapsed(cai_event *start, cai_event *end, double *milliseconds,
                             cai_error *error);

/* device.h: declarations end */

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* CAI_DEVICE_H */
