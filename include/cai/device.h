/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file device.h
 * Devices, streams and events, on CPU and GPU alike.
 * Provisional, in the version node CAI_MEMORY_0: until this has users, a later release may change
 * it. `pkg-config libcai-memory` asks for it.
 *
 * The rules at the head of cai.h hold here too. Beside them:
 *
 * - The CPU is a device like any other, and is always present. Without a driver there are no GPUs;
 *   that is no error until a call asks for one.
 * - A GPU is named by its ordinal, and used in its primary context. The first function that needs
 *   the context retains it, and libcai keeps it until cai_device_reset() with #CAI_RESET_CONTEXT or
 *   the end of the process; until then other code must not reset it, by cudaDeviceReset() or
 *   cuDevicePrimaryCtxReset(). Only cai_device_set_current() and the guards change the calling
 *   thread's current context; all other functions leave it unchanged.
 * - Handles (`cai_stream *`, `cai_event *`) are reference-counted: a function that returns a handle
 *   gives the caller one reference, to be released with `_release`. Retain and release accept NULL,
 *   may run on any thread, and never fail.
 * - A process that has used a GPU and then forks must not use a GPU in the child. There a call that
 *   needs the driver returns #CAI_ERR_STATE, as does one that needs the thread of a CPU stream that
 *   was made before the fork. A call that needs neither succeeds: cai_memory_usage() always does,
 *   and cai_pending_flush() of a GPU where nothing is pending. Releasing a stream, an event or
 *   memory that was made before the fork frees nothing.
 * - The child may only release what another thread was using in a call at the moment of the fork.
 * - A failure that no call can return, in a release or in a callback, goes to the hook of
 *   cai_on_failure().
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

/** Parses a device: "cpu", "gpu" (the thread's current GPU), "gpu:1" or "cuda:1", "gpu:free" (the
 * GPU with the most free memory). "cuda" means the same as "gpu". Case does not matter, nor do
 * blanks at both ends and around the colon.
 *
 * @param text  NUL-terminated UTF-8
 * @return #CAI_OK; #CAI_ERR_VALUE for any other text; #CAI_ERR_DEVICE if there is no such GPU;
 *         #CAI_ERR_DRIVER and #CAI_ERR_CUDA for GPUs; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_parse(const char *text, cai_device *out, cai_error *error);

/** Writes a device as "cpu" or "gpu:1". It does not check whether there is such a GPU.
 *
 * @param text  #CAI_DEVICE_TEXT_SIZE bytes; receives the text and its NUL
 * @return #CAI_OK; #CAI_ERR_VALUE if the type or the id is invalid; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_format(cai_device device, char *text, cai_error *error);

/** Counts the devices of a type: 1 for the CPU; 0 for GPUs if there is no driver that libcai can
 * use.
 *
 * @param type  #CAI_DEVICE_CPU or #CAI_DEVICE_CUDA
 * @return #CAI_OK; #CAI_ERR_VALUE for another type; #CAI_ERR_CUDA; #CAI_ERR_STATE;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_count(int32_t type, int32_t *count, cai_error *error);

/** Returns the calling thread's current device of a type: the CPU, or the GPU of its current
 * context, or GPU 0 if no context is current.
 *
 * @return #CAI_OK; #CAI_ERR_VALUE for another type; #CAI_ERR_DRIVER; #CAI_ERR_CUDA; #CAI_ERR_DEVICE
 *         if there is no GPU; #CAI_ERR_STATE; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_current(int32_t type, cai_device *out, cai_error *error);

/** Makes a GPU's primary context current on the calling thread, in place of the current one. Does
 * nothing for the CPU.
 *
 * @return #CAI_OK; #CAI_ERR_DEVICE if there is no such device; #CAI_ERR_DRIVER; #CAI_ERR_CUDA;
 *         #CAI_ERR_STATE; #CAI_ERR_VALUE as cai_device_format(); #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_device_set_current(cai_device device, cai_error *error);

/** A guard of the current device. cai_device_enter() fills it in for cai_device_leave(); it must
 * not be copied or changed between the two. 32 bytes. Since 0.1. */
typedef struct cai_device_guard {
  cai_device device;
  uint64_t context;  /**< CUcontext that was entered; 0 for the CPU */
  uint64_t previous; /**< CUcontext that was current before, or 0 */
  uint64_t thread;   /**< the thread of cai_device_enter(); 0 once left */
} cai_device_guard;

/** Makes a device current until cai_device_leave() with the same guard on the same thread: pushes a
 * GPU's primary context. Does nothing for the CPU.
 *
 * @return as cai_device_set_current(); #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_enter(cai_device device, cai_device_guard *guard, cai_error *error);

/** Restores the context that was current before cai_device_enter(). Leave guards in the reverse
 * order.
 *
 * @return #CAI_OK; #CAI_ERR_STATE, with nothing changed, on another thread, for a guard that was
 *         left already, and if the entered context is not the current one; #CAI_ERR_CUDA;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_leave(cai_device_guard *guard, cai_error *error);

/** Capabilities of a device, in cai_device_info.flags. Since 0.1. */
enum {
  CAI_DEVICE_MAPS_HOST = 1 << 0,           /**< it can use pinned host memory in place */
  CAI_DEVICE_MANAGED_MEMORY = 1 << 1,      /**< it has managed memory */
  CAI_DEVICE_CONCURRENT_MANAGED = 1 << 2,  /**< the host may use managed memory while the device
                                                works */
  CAI_DEVICE_POOLS = 1 << 3,               /**< it has memory pools (stream-ordered memory) */
  CAI_DEVICE_POOLS_BY_DESCRIPTOR = 1 << 4, /**< pools can be shared by a file descriptor */
  CAI_DEVICE_INTEGRATED = 1 << 5           /**< its memory is the host's */
};

/** Properties of a device. It grows at the tail. 304 bytes. Since 0.1. */
typedef struct cai_device_info {
  uint32_t struct_size; /**< in: sizeof(cai_device_info), at least 8. The library fills in at most
                             that many bytes, and only members that it knows: zero the rest */
  uint32_t flags;       /**< CAI_DEVICE_MAPS_HOST and so on */
  uint8_t uuid[16];     /**< identifies the device, whatever its ordinal; 0 for the CPU */
  int32_t pci_domain;   /**< 0 for the CPU, as the next two */
  int32_t pci_bus;
  int32_t pci_slot;
  int32_t reserved; /**< 0 */
  uint64_t total;   /**< bytes of its memory */
  char name[256];   /**< NUL-terminated UTF-8 */
} cai_device_info;

/** Returns the properties of a device.
 *
 * @param out  the caller sets struct_size
 * @return #CAI_OK; #CAI_ERR_DEVICE if there is no such device; #CAI_ERR_DRIVER; #CAI_ERR_CUDA;
 *         #CAI_ERR_STATE; #CAI_ERR_VALUE as cai_device_format(); #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_describe(cai_device device, cai_device_info *out, cai_error *error);

/** Writes a few lines for people: name, UUID, memory, capabilities.
 *
 * @param text  `size` bytes; receives the lines, cut to fit, and a NUL. May be NULL if size is 0
 * @param length  may be NULL; receives the bytes of the whole text, without the NUL
 * @return as cai_device_describe(); #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_device_summary(cai_device device, char *text, uint64_t size, uint64_t *length,
                              cai_error *error);

/** Finds the GPU with a UUID, whatever its ordinal in this process.
 *
 * @param uuid  16 bytes, as cai_device_info.uuid
 * @return #CAI_OK; #CAI_ERR_DEVICE if there is none; #CAI_ERR_DRIVER; #CAI_ERR_CUDA;
 *         #CAI_ERR_STATE; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_find(const uint8_t *uuid, cai_device *out, cai_error *error);

/** Returns a device's free and total memory; for the CPU, the machine's.
 *
 * @param free   bytes; may be NULL
 * @param total  bytes; may be NULL
 * @return as cai_device_describe(); #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_device_memory(cai_device device, uint64_t *free, uint64_t *total, cai_error *error);

/** Returns the device of a type with the most free memory; of several, the first.
 *
 * @return as cai_device_current(); #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_device_most_free(int32_t type, cai_device *out, cai_error *error);

/** Reports whether kernels on a device can be given access to another device's memory. A device can
 * access its own memory; a GPU and the CPU cannot access each other's.
 *
 * @param yes  receives 1 or 0
 * @return as cai_device_describe().
 * Since 0.1. */
cai_status cai_device_can_access(cai_device device, cai_device peer, int32_t *yes,
                                 cai_error *error);

/** Waits for the calling thread's current stream of the device, and then for all other work queued
 * in the GPU's primary context.
 *
 * The driver refuses this while any stream of the context is being captured, and invalidates the
 * capture. libcai checks first the streams that it has handles for, and those ordered with the
 * legacy stream. It cannot see other streams: make a handle for such a stream with
 * cai_stream_wrap(), or do not call this while it is being captured.
 *
 * @return #CAI_OK; #CAI_ERR_CAPTURE if a stream that it sees is being captured, and the capture
 *         goes on; #CAI_ERR_CUDA with 900 in `native` if another stream is being captured, and the
 *         driver has invalidated that capture; a failure of earlier work as
 *         cai_stream_synchronize(); the rest as cai_device_set_current().
 * Since 0.1. */
cai_status cai_device_synchronize(cai_device device, cai_error *error);

/** Called by cai_device_reset(). May call any function but cai_device_reset(). Since 0.1. */
typedef void (*cai_reset_fn)(void *context, cai_device device);

/** Adds a callback. Each cai_device_reset() of any device calls it once, after it has synchronised
 * and before it resets. A pair of function and context that is registered already is not added
 * again.
 *
 * @return #CAI_OK; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_on_reset(cai_reset_fn callback, void *context, cai_error *error);

/** Removes a callback; does nothing if it is not registered. A reset that has begun may still call
 * it.
 *
 * @return #CAI_OK; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_device_off_reset(cai_reset_fn callback, void *context, cai_error *error);

/** Flags of cai_device_reset(). Since 0.1. */
enum {
  CAI_RESET_CONTEXT = 1 << 0 /**< also destroys the GPU's primary context, and all that the process
                                  has in it */
};

/** Synchronises a device, calls the callbacks, runs the pending frees (cai_pending_add()), resets
 * the managers of the device, and drops the calling thread's current streams of it. Callbacks run
 * in the order in which they were added, with no lock held. It waits for frees and ends that other
 * threads are running, where cai_pending_flush() does, and for that no lock that they need may be
 * held: release the GIL first.
 *
 * @param flags  CAI_RESET_*. With #CAI_RESET_CONTEXT no other thread may be in a call that uses the
 *               device, of libcai or of the driver, until this one returns; nor in cai_drain() or
 *               cai_pending_flush(), or in a use, a copy, an allocation or a free on another GPU,
 *               which look at what is pending on all GPUs. It waits for the work of CPU streams on
 *               memory that ends with the context, but not for that of other GPUs: synchronise
 *               these before. If work of a CPU stream calls it, it does not wait, since that would
 *               be for itself: then no other stream's work on such memory may be pending. It frees
 *               what libcai's managers have allocated from pools, which outlive the context, and
 *               calls the `release` of wrapped streams of the context, while these exist. Close
 *               open uses on the context's streams before. After it, using memory, streams and
 *               events of the device that are still referenced returns #CAI_ERR_STATE; releasing
 *               them is safe. The context stays current wherever it was, and the next function that
 *               works on the device creates it again
 * @return as cai_device_synchronize(), after which nothing but synchronising has happened;
 *         #CAI_ERR_CUDA, also for the reset itself; #CAI_ERR_STATE inside of a callback;
 *         #CAI_ERR_ARGUMENT for other flags.
 * Since 0.1. */
cai_status cai_device_reset(cai_device device, uint32_t flags, cai_error *error);

/** Sets how much freed memory the device's current pool caches: the driver releases the excess
 * whenever streams synchronise. Does nothing for the CPU.
 *
 * @param bytes  0 by default
 * @return as cai_device_set_current(); #CAI_ERR_UNSUPPORTED for a GPU without pools.
 * Since 0.1. */
cai_status cai_device_set_cache(cai_device device, uint64_t bytes, cai_error *error);

/** Releases cached memory of the device's current pool, down to `keep` bytes. Does nothing for the
 * CPU.
 *
 * @return as cai_device_set_cache().
 * Since 0.1. */
cai_status cai_device_trim_cache(cai_device device, uint64_t keep, cai_error *error);

/* ---- Streams ------------------------------------------------------------------------------ */

/** A queue of ordered work, on a GPU or on the CPU. Since 0.1. */
typedef struct cai_stream cai_stream;

/** Modes of a stream. Since 0.1. */
enum {
  CAI_MODE_DEFAULT = 0, /**< CPU: at once, on the calling thread. GPU: the legacy default stream */
  CAI_MODE_SYNC = 1,    /**< CPU: likewise. GPU: a stream that the legacy stream waits for, and that
                             waits for it */
  CAI_MODE_ASYNC = 2    /**< CPU: its own thread, first in, first out. GPU: a stream that is
                             independent of the legacy stream */
};

/** Creates a stream.
 *
 * @param mode      CAI_MODE_*
 * @param priority  0 is the default, and lower is more urgent; the driver clips it. Must be 0 for
 *                  the CPU and for #CAI_MODE_DEFAULT
 * @param out       the stream; the caller owns one reference. The last cai_stream_release() does
 *                  not wait: queued work still runs, and a GPU stream is destroyed with the pending
 *                  frees
 * @return #CAI_OK; #CAI_ERR_VALUE for another mode or priority; the rest as
 *         cai_device_set_current(), and #CAI_ERR_UNSUPPORTED if a thread cannot be created.
 * Since 0.1. */
cai_status cai_stream_create(cai_device device, uint32_t mode, int32_t priority, cai_stream **out,
                             cai_error *error);

/** Makes a handle for a GPU stream that other code created. Two handles mean the same stream if
 * their values, contexts and (for 2) threads are the same.
 *
 * @param device   the stream's device
 * @param value    1 or 2 of the device's primary context, or a CUstream. 2 is the calling thread's:
 *                 using the handle on another thread returns #CAI_ERR_STATE
 * @param release  called when libcai no longer needs the stream, to destroy it; runs once, on any
 *                 thread, with no lock held; may be NULL
 * @param context  for release. On success it belongs to the handle; on failure it is the caller's
 * @return #CAI_OK; #CAI_ERR_VALUE for 0; #CAI_ERR_DEVICE if the stream is not of that device, or
 *         the device is the CPU; #CAI_ERR_ARGUMENT; the rest as cai_device_set_current().
 * Since 0.1. */
cai_status cai_stream_wrap(cai_device device, uint64_t value, void (*release)(void *context),
                           void *context, cai_stream **out, cai_error *error);

/** Adds a reference. Since 0.1. */
void cai_stream_retain(cai_stream *stream);

/** Releases a reference. Work on a CPU stream may release that stream, even the last reference.
 * Since 0.1. */
void cai_stream_release(cai_stream *stream);

/** Returns the stream's value for the functions under "Order" in cai.h and for the dict: 1, 2 or a
 * CUstream; 0 for a CPU stream, and for NULL. Since 0.1. */
uint64_t cai_stream_value(const cai_stream *stream);

/** Values of cai_stream_info.capture. Since 0.1. */
enum {
  CAI_CAPTURE_NONE = 0,
  CAI_CAPTURE_ACTIVE = 1,     /**< being captured into a graph */
  CAI_CAPTURE_INVALIDATED = 2 /**< invalidated by an error; the capturing code must end it */
};

/** Properties of a stream. It grows at the tail. 64 bytes. Since 0.1. */
typedef struct cai_stream_info {
  uint32_t struct_size; /**< in: sizeof(cai_stream_info), at least 8; as in cai_device_info */
  uint32_t mode;        /**< CAI_MODE_*; for a wrapped stream, as the driver reports it */
  cai_device device;
  uint64_t value; /**< as cai_stream_value() */
  uint64_t id; /**< unique among all streams of this process, ever; 0 if the stream was wrapped in a
                    capture that goes on: the driver ends captures in which it is asked for it */
  int32_t priority;
  uint32_t capture;     /**< CAI_CAPTURE_* */
  uint64_t capture_id;  /**< id of the capture; 0 if there is none */
  int32_t thread_limit; /**< see cai_stream_set_thread_limit(); 0 for a GPU */
  uint32_t wrapped;     /**< 1 if from cai_stream_wrap() */
  uint64_t reserved;    /**< 0 */
} cai_stream_info;

/** Returns the properties of a stream.
 *
 * @param out  the caller sets struct_size
 * @return #CAI_OK; #CAI_ERR_STATE after a reset; #CAI_ERR_CUDA; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_describe(cai_stream *stream, cai_stream_info *out, cai_error *error);

/** Sets how many threads the work on a CPU stream may use; the work must read it itself.
 *
 * @param threads  at least 1; the default is the machine's number of processors
 * @return #CAI_OK; #CAI_ERR_VALUE; #CAI_ERR_DEVICE for a GPU's stream; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_set_thread_limit(cai_stream *stream, int32_t threads, cai_error *error);

/** A work function. On failure it writes the error and returns its status. Must not throw. On a GPU
 * stream it runs on a thread of the driver, and must not call the driver. It may release arrays and
 * handles there, as no other host callback may: later calls end them. (The owner of an array with
 * a `release` of its own must see to that itself.) Since 0.1. */
typedef cai_status (*cai_work_fn)(void *context, cai_error *error);

/** Queues a function. A CPU stream that is not #CAI_MODE_ASYNC runs it before the call returns.
 *
 * The first failure of work on a stream is returned once, by the next call for the handle of
 * cai_stream_enqueue(), which then queues nothing, cai_stream_query(), cai_stream_synchronize(),
 * cai_stream_follow(), cai_event_wait(), or, on the CPU, cai_event_record(). If there is no such
 * call, the failure goes to the hook of cai_on_failure(). On a CPU stream the failure also drops
 * all work queued after it (`done` is still called), but not the stream's waits for other streams
 * and events. Then a call that waits for dropped work on an array, or for the failed work if that
 * was recorded, returns the failure unless an earlier call did, or the stream was released, and the
 * hook has it. Such a call may have waited for no other work: repeat it. A call that waits for
 * earlier work of the stream returns no failure.
 *
 * Work on a CPU stream may use arrays. A call inside it that waits for pending work (a use,
 * cai_array_copy(), cai_array_item(), cai_array_eval(), cai_array_sync_host(), writing the dict)
 * waits for what was queued on CPU streams before this work, and not for what was queued after it,
 * not even by this work. For later uses to wait for this work, record it: cai_memory_record().
 *
 * The work must not wait for work on another stream that waits for it, for example because it
 * uses memory on which this work was recorded (cai_memory_record()): both would wait forever.
 *
 * @param work     the function; NULL: there is only `done`, as by cai_stream_attach()
 * @param done     called once after `work`, or when the work is dropped; it frees `context`. On a
 *                 GPU stream it is called by a later call for this stream or by cai_drain(), not by
 *                 the driver's thread, so it may call the driver. May be NULL
 * @param context  for both. On failure it is the caller's, and `done` is never called
 * @return #CAI_OK; the failure of earlier work; the failure of `work` if it ran at once (the
 *         context is the caller's then, too); #CAI_ERR_CAPTURE if `work` and `done` are given and
 *         the stream is being captured, and if its capture was invalidated; #CAI_ERR_STATE after a
 *         reset; #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_enqueue(cai_stream *stream, cai_work_fn work, void (*done)(void *context),
                              void *context, cai_error *error);

/** Keeps an object until the work queued on the stream so far is complete. In a capture, the graph
 * keeps it.
 *
 * @param release  frees the object. It is called once, by a later call for the stream, a later call
 *                 under "Order" or cai_drain(), never by the driver's thread; on a CPU stream, by
 *                 the thread that runs its work
 * @param context  for release; on failure it is the caller's
 * @return #CAI_OK; #CAI_ERR_STATE after a reset; #CAI_ERR_CAPTURE if the capture was invalidated;
 *         #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_attach(cai_stream *stream, void (*release)(void *context), void *context,
                             cai_error *error);

/** Reports whether work is pending on a stream.
 *
 * @param busy  receives 1 or 0
 * @return #CAI_OK; the failure of earlier work; #CAI_ERR_CAPTURE if the stream is being captured,
 *         and the capture goes on; #CAI_ERR_STATE after a reset; #CAI_ERR_CUDA; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_query(cai_stream *stream, int32_t *busy, cai_error *error);

/** Waits until the queued work is complete; then releases what was attached. What another thread is
 * releasing at that moment it does not wait for: cai_drain() with `wait` does. Release the GIL
 * first.
 *
 * @return as cai_stream_query(); #CAI_ERR_STATE also on the CPU stream's own thread.
 * Since 0.1. */
cai_status cai_stream_synchronize(cai_stream *stream, cai_error *error);

/** Makes later work on `stream` wait for the work queued on `other` so far. The host waits only if
 * a GPU stream follows an ASYNC stream of the CPU, or if a CPU stream that works at once follows
 * any stream. A GPU stream that follows a stream that is being captured joins the capture; the
 * captured stream must follow it back before the capture ends.
 *
 * @return #CAI_OK; #CAI_ERR_CAPTURE where a capture allows no such order; the failure of earlier
 *         work on either; #CAI_ERR_STATE after a reset, and where a CPU stream would wait for
 *         itself; #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_follow(cai_stream *stream, cai_stream *other, cai_error *error);

/** Returns the calling thread's current stream of a device; the default is a stream of
 * #CAI_MODE_DEFAULT. A thread that ends releases its current streams; what it calls after that, in
 * destructors of static and thread-local objects or in functions of atexit(), gets the default.
 *
 * @param out  the stream, with a new reference
 * @return as cai_stream_create().
 * Since 0.1. */
cai_status cai_stream_current(cai_device device, cai_stream **out, cai_error *error);

/** Makes a stream the calling thread's current stream of the stream's device.
 *
 * @param stream  the function adds a reference to it, and releases the reference to the stream that
 *                it replaces
 * @return #CAI_OK; #CAI_ERR_STATE after a reset, and once the ending thread has released its
 *         current streams: pass the stream to each call instead; #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_stream_set_current(cai_stream *stream, cai_error *error);

/** A guard of the current stream. cai_stream_enter() fills it in for cai_stream_leave(); it must
 * not be copied or changed between the two. 32 bytes. Since 0.1. */
typedef struct cai_stream_guard {
  cai_stream *stream;   /**< a reference */
  cai_stream *previous; /**< a reference */
  uint64_t thread;      /**< the thread of cai_stream_enter(); 0 once left */
  uint64_t depth;       /**< how many guards of this device the thread had entered */
} cai_stream_guard;

/** Makes a stream current until cai_stream_leave() with the same guard on the same thread.
 *
 * @return as cai_stream_set_current().
 * Since 0.1. */
cai_status cai_stream_enter(cai_stream *stream, cai_stream_guard *guard, cai_error *error);

/** Flags of cai_stream_leave(). Since 0.1. */
enum {
  CAI_LEAVE_QUEUED = 1 << 0 /**< do not wait for the work on the stream */
};

/** Synchronises the stream, and makes the previous stream current again. Leave the guards of a
 * device in the reverse order; in any, once the ending thread has released its current streams
 * (cai_stream_current()): then nothing is made current, and all else is the same.
 *
 * @param flags  CAI_LEAVE_*
 * @return #CAI_OK; #CAI_ERR_STATE, with nothing changed, on another thread, for a guard that was
 *         left already, and out of order; a failure as cai_stream_synchronize(), its
 *         #CAI_ERR_STATE included, and the guard is left all the same: its thread is 0 then;
 *         #CAI_ERR_ARGUMENT, also for other flags.
 * Since 0.1. */
cai_status cai_stream_leave(cai_stream_guard *guard, uint32_t flags, cai_error *error);

/* ---- Events ------------------------------------------------------------------------------- */

/** A point in the work of a stream. Since 0.1. */
typedef struct cai_event cai_event;

/** Flags of cai_event_create(). Since 0.1. */
enum {
  CAI_EVENT_TIMING = 1 << 0 /**< it records the time, for cai_event_elapsed() */
};

/** Creates an event. It is complete until it is recorded.
 *
 * @param flags  CAI_EVENT_*
 * @param out    the event; the caller owns one reference. The last cai_event_release() does not
 *               wait
 * @return #CAI_OK; #CAI_ERR_VALUE for other flags; the rest as cai_device_set_current().
 * Since 0.1. */
cai_status cai_event_create(cai_device device, uint32_t flags, cai_event **out, cai_error *error);

/** Adds a reference. Since 0.1. */
void cai_event_retain(cai_event *event);

/** Releases a reference. Since 0.1. */
void cai_event_release(cai_event *event);

/** Returns the CUevent, as in arrays of #CAI_STREAM_EVENT; 0 for a CPU event, and for NULL. Since
 * 0.1. */
uint64_t cai_event_value(const cai_event *event);

/** Records the event after the work queued on a stream so far. Work that waits for an earlier
 * record of the event still waits for that.
 *
 * @param stream  of the event's device
 * @return #CAI_OK; #CAI_ERR_DEVICE for a stream of another device, or of another context than the
 *         GPU's primary context; #CAI_ERR_CAPTURE if the capture was invalidated; the failure of
 *         earlier work on a CPU stream; #CAI_ERR_STATE after a reset; #CAI_ERR_CUDA;
 *         #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_event_record(cai_event *event, cai_stream *stream, cai_error *error);

/** Makes later work on a stream wait for the last record of the event; does nothing if it was never
 * recorded.
 *
 * @param stream  of any device
 * @return as cai_stream_follow().
 * Since 0.1. */
cai_status cai_event_wait(cai_event *event, cai_stream *stream, cai_error *error);

/** Reports whether work before the event is pending.
 *
 * @param busy  receives 1 or 0
 * @return #CAI_OK; #CAI_ERR_CAPTURE if it was recorded in a capture; #CAI_ERR_STATE after a reset,
 *         and in a forked child if work of the parent's is pending; #CAI_ERR_CUDA;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_event_query(cai_event *event, int32_t *busy, cai_error *error);

/** Waits for the work before the event. Release the GIL first.
 *
 * @return as cai_event_query(); #CAI_ERR_STATE, also on the thread of the CPU stream that must
 *         complete it.
 * Since 0.1. */
cai_status cai_event_synchronize(cai_event *event, cai_error *error);

/** Returns the time between two events of one device.
 *
 * @param start  made with #CAI_EVENT_TIMING, recorded, and complete
 * @param end    likewise
 * @param milliseconds  negative if `end` came first
 * @return #CAI_OK; #CAI_ERR_STATE if one was not recorded or is not complete, and after a reset;
 *         #CAI_ERR_DEVICE if their devices differ; #CAI_ERR_VALUE if one was made without
 *         #CAI_EVENT_TIMING; #CAI_ERR_CAPTURE; #CAI_ERR_CUDA; #CAI_ERR_ARGUMENT.
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
