/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file memory.h
 * Memory of every kind, and the managers that it comes from.
 * Provisional, in the version node CAI_MEMORY_0: until this has users, a later release may change
 * it. `pkg-config libcai-memory` asks for it.
 *
 * The rules at the head of cai.h and of cai/device.h hold here too. Beside them:
 *
 * - Sizes, offsets, alignments and pitches are in bytes.
 * - A manager is a table of functions, #cai_manager_table, written once; libcai carries it to
 *   Numba, CuPy, PyTorch, cuda.core, RMM, CCCL and UMF. "NBEP 7" is Numba's proposal for external
 *   memory managers, of which the table's required functions are the C side.
 * - Memory is given back in the order of a stream: its free stream, at first the one that it was
 *   allocated on. Whoever used it on another stream says so, by cai_memory_record() or, for arrays,
 *   by cai_use_end().
 * - What a manager must wait for to free (as the driver does for plain device memory) is not freed
 *   at once, but together with more of its kind; see "Pending frees".
 */
/* clang-format off: the comments beside the fields are set by hand */
#ifndef CAI_MEMORY_H
#define CAI_MEMORY_H

#include <cai/device.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* memory.h: declarations begin */

/* ---- Kinds of memory ---------------------------------------------------------------------- */

/** Where memory is and who may use it. On the CPU, all kinds but NONE and CUDA_ARRAY give memory
 * that the host may use. PITCHED and PITCHED_MANAGED: rows begin at multiples of 256 bytes.
 * Since 0.1. */
enum {
  CAI_KIND_NONE = 0,            /**< no memory */
  CAI_KIND_DEFAULT = 1,         /**< "default": the device's own; of the CPU: the heap */
  CAI_KIND_ASYNC = 2,           /**< "async": the device's own, allocated and freed in the order of
                                     the stream; used on others only after an event */
  CAI_KIND_PITCHED = 3,         /**< "pitched": the device's own, in padded rows */
  CAI_KIND_PITCHED_MANAGED = 4, /**< "pitched_managed": managed, in padded rows */
  CAI_KIND_PINNED = 5,          /**< "pinned": the host's, from which a GPU copies fast; of the CPU:
                                     for the current GPU, or the heap if there is none */
  CAI_KIND_MAPPED = 6,          /**< "mapped": pinned, and used by kernels where it is */
  CAI_KIND_MANAGED = 7,         /**< "managed": migrates; only its stream and the host use it. On a
                                     default stream: as MANAGED_GLOBAL */
  CAI_KIND_MANAGED_GLOBAL = 8,  /**< "managed_global": migrates; every stream uses it */
  CAI_KIND_CUDA_ARRAY = 9,      /**< "cuda_array": a CUarray, for textures alone: no address */
  CAI_KIND_HOST = 10            /**< "host": the heap, whatever the device */
};

/** Returns a kind's name, as in the quotes above; NULL if it is none. Since 0.1. */
const char *cai_kind_name(uint32_t kind);

/** Reads a kind by name; case and blanks at both ends do not matter. "unified", "unified_global"
 * and "pitched_unified" are other names of the managed ones.
 *
 * @param text  NUL-terminated UTF-8
 * @return #CAI_OK; #CAI_ERR_VALUE; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_kind_parse(const char *text, uint32_t *kind, cai_error *error);

/** Says whether the host may use the memory of a kind on a device: all of the CPU's that has an
 * address, and pinned, mapped, managed and host memory of GPUs. 1 or 0. Since 0.1. */
int32_t cai_is_dereferenceable(cai_device device, uint32_t kind);

/* ---- Managers ----------------------------------------------------------------------------- */

/** A manager at work for one device. Counted, as streams are. Since 0.1. */
typedef struct cai_manager cai_manager;

/** Memory as a manager gives and takes it. 32 bytes. Since 0.1. */
typedef struct cai_block {
  uint64_t data;   /**< address, as kernels use it; for the CPU, as the host does */
  uint64_t host;   /**< address, as the host uses it; 0 if it must not */
  uint64_t size;   /**< bytes, at least what was asked for */
  uint64_t cookie; /**< the manager's own */
} cai_block;

/** Flags of host memory. Since 0.1. */
enum {
  CAI_HOST_PORTABLE = 1 << 0,      /**< pinned for all GPUs */
  CAI_HOST_WRITE_COMBINED = 1 << 1 /**< fast to write, and for the GPU to read; slow to read */
};

/** How memory is shared with another process. Since 0.1. */
enum {
  CAI_IPC_LEGACY = 1, /**< by the bytes alone: memory of the kind DEFAULT */
  CAI_IPC_POOL = 2    /**< by the bytes and a file descriptor of the pool, which is passed beside
                           them: memory of an exportable pool */
};

/** Memory for another process: to be sent as it is. 160 bytes, never more. Since 0.1. */
typedef struct cai_ipc_handle {
  uint32_t struct_size; /**< sizeof(cai_ipc_handle) of who made it */
  uint32_t kind;        /**< CAI_IPC_* */
  uint64_t size;        /**< bytes of the memory */
  uint64_t offset;      /**< of the memory in the allocation that `data` names */
  uint64_t process;     /**< of who made it; a process does not open its own */
  uint64_t pool;        /**< POOL: tells the pool from others of that process */
  uint8_t uuid[16];     /**< the device's identity, as cai_device_info.uuid */
  int32_t pci_domain;
  int32_t pci_bus;
  int32_t pci_slot;
  uint32_t reserved;      /**< 0 */
  uint8_t data[64];       /**< the driver's */
  uint64_t process_start; /**< when that process began: process ids recur */
  uint64_t reserved1;     /**< 0 */
  uint64_t reserved2;     /**< 0 */
} cai_ipc_handle;

/** The version of #cai_manager_table. Since 0.1. */
enum { CAI_MANAGER_VERSION = 1 };

/** A manager: functions, of which the first six are required, and NULL in the place of any other
 * means the upstream manager's, if there is one, else what is said there. It grows at the tail; a
 * table of a newer version is refused.
 *
 * All but create and destroy may be called from any thread, by several at a time. They are called
 * with the GPU's primary context current, and with no lock of libcai's held; they may call libcai.
 * What comes back to the manager itself must end: of a function that has called itself eight times
 * on the thread, of `initialize` that asks for memory of its own manager, and of `create` that asks
 * for the device's manager while it makes that, libcai returns #CAI_ERR_STATE. They must not throw,
 * and leave outputs alone on failure. A `stream` is 1, 2 or a CUstream; 0 for the CPU.
 * Since 0.1. */
typedef struct cai_manager_table {
  uint32_t struct_size; /**< sizeof(cai_manager_table) */
  uint32_t version;     /**< #CAI_MANAGER_VERSION */
  const char *name;     /**< for errors and logs; must stay for ever */
  /** Makes the manager of a device.
   * @param params    what cai_manager_create() was given; NULL if libcai makes it by itself
   * @param upstream  held as long as the manager lives; may be NULL */
  cai_status (*create)(const void *params, cai_device device, cai_manager *upstream, void **self,
                       cai_error *error);
  /** Ends it. Memory may be out still; it is then not freed any more. */
  void (*destroy)(void *self);
  /** Called before the first allocation, perhaps again, and by several threads at once if they come
   * first together; keeps what is there. NBEP 7, initialize. */
  cai_status (*initialize)(void *self, cai_error *error);
  /** Gives up what it keeps for later: the device is being reset. May come before initialize, which
   * is called again afterwards. What is out is still freed, unless the primary context is
   * destroyed: then nothing but destroy follows. NBEP 7, reset. */
  cai_status (*reset)(void *self, cai_error *error);
  /** Allocates. NBEP 7, memalloc.
   * @param size   bytes, never 0
   * @param align  bytes, a power of two
   * @param kind   DEFAULT, ASYNC, MANAGED or MANAGED_GLOBAL
   * @return #CAI_ERR_MEMORY if there is not so much left: then what is pending is freed, and it is
   *         called once more (a manager with an upstream one only if something was pending);
   *         #CAI_ERR_UNSUPPORTED for a kind that it does not have */
  cai_status (*memalloc)(void *self, uint64_t size, uint64_t align, uint32_t kind, uint64_t stream,
                         cai_block *out, cai_error *error);
  /** Frees what memalloc gave, in the order of `stream`. It must not wait for the device: see
   * cai_pending_add(). ASYNC memory is neither asked for nor freed on a stream that is being
   * captured, since libcai looks; whoever gives other kinds in the order of the stream, too, looks
   * by itself.
   * @return #CAI_ERR_CAPTURE if the capture forbids it: the block is out still, and comes again.
   *         After any other failure it does not. So it is for all functions that undo something */
  cai_status (*memfree)(void *self, const cai_block *block, uint64_t stream, cai_error *error);
  /** Allocates the host's memory. NULL: the driver's, which is freed with what is pending, or the
   * heap. NBEP 7, memhostalloc.
   * @param kind   PINNED, MAPPED or HOST
   * @param flags  CAI_HOST_* */
  cai_status (*memhostalloc)(void *self, uint64_t size, uint64_t align, uint32_t kind,
                             uint32_t flags, cai_block *out, cai_error *error);
  /** Frees what memhostalloc gave. NULL if and only if memhostalloc is. */
  cai_status (*memhostfree)(void *self, const cai_block *block, cai_error *error);
  /** Pins memory of the host's that is there. NULL: by the driver. NBEP 7, mempin.
   * @param kind   PINNED or MAPPED */
  cai_status (*mempin)(void *self, void *host, uint64_t size, uint32_t kind, uint32_t flags,
                       cai_block *out, cai_error *error);
  /** Undoes mempin, at once, even if that waits for the device: the memory may be pinned again by
   * anybody, or end. NULL if and only if mempin is. */
  cai_status (*memunpin)(void *self, const cai_block *block, cai_error *error);
  /** Finds the driver's allocation around an address. NULL: the driver is asked. */
  cai_status (*base)(void *self, uint64_t address, uint64_t *base, uint64_t *size,
                     cai_error *error);
  /** Shares memory with other processes. NULL: by the driver. NBEP 7, get_ipc_handle.
   * @param fd  gets the descriptor for #CAI_IPC_POOL, the caller's to close; else -1 */
  cai_status (*get_ipc_handle)(void *self, const cai_block *block, cai_ipc_handle *out, int32_t *fd,
                               cai_error *error);
  /** Opens memory of another process where it is, for work on any stream. A handle that is open is
   * not opened again. NULL: by the driver. */
  cai_status (*open_ipc_handle)(void *self, const cai_ipc_handle *handle, int32_t fd,
                                uint64_t stream, cai_block *out, cai_error *error);
  /** Closes what open_ipc_handle opened. NULL if and only if open_ipc_handle is. */
  cai_status (*close_ipc_handle)(void *self, const cai_block *block, uint64_t stream,
                                 cai_error *error);
  /** Says how much there is. NULL: cai_device_memory(). NBEP 7, get_memory_info. */
  cai_status (*get_memory_info)(void *self, uint64_t *free, uint64_t *total, cai_error *error);
  /** Frees nothing that it keeps pending (`enter` 1) until as many calls with 0. NULL: it keeps
   * nothing but by cai_pending_add(). NBEP 7, defer_cleanup. */
  cai_status (*defer_cleanup)(void *self, int32_t enter, cai_error *error);
  /** Gives what is freed but kept back, down to `keep` bytes. NULL: there is nothing. */
  cai_status (*trim)(void *self, uint64_t keep, cai_error *error);
} cai_manager_table;

/** Gives a table a name, for the life of the process.
 *
 * @param name   of letters, digits, '_', '-' and '.'; copied
 * @param table  must stay for ever, with its code
 * @return #CAI_OK; #CAI_ERR_VERSION for a table of another version, and the message says which is
 *         needed; #CAI_ERR_VALUE for a name that is taken or invalid, and for a table that lacks a
 *         required function or has one of a pair; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_manager_register(const char *name, const cai_manager_table *table, cai_error *error);

/** Makes a manager. Built in are
 *
 * - "default": each kind its own way; plain device memory, freed with others like it, for DEFAULT;
 * - "async": DEFAULT in the order of the stream, too, from the device's current pool;
 * - "pool": likewise, from a pool of its own, see #cai_pool_params;
 * - "managed", or "unified": all memory is managed;
 * - "host": the heap; for the CPU, as the others are for GPUs;
 *
 * and, around an upstream manager, for its device's memory and the host's alike,
 *
 * - "statistics": counts, see cai_manager_statistics();
 * - "limiting": refuses what exceeds a limit, see #cai_limit_params;
 * - "logging": writes a line for each call, see #cai_log_params;
 * - "tracking": knows what is out, see cai_manager_outstanding();
 * - "retrying": asks somebody what to do when memory is short, see #cai_retry_params.
 *
 * @param name      one of these, of cai_manager_register(), or "/path/lib.so" or
 *                  "/path/lib.so:symbol", a library that exports a #cai_manager_table under that
 *                  name (cai_manager_table_export if there is none), and is never unloaded
 * @param params    as the manager wants it; may be NULL where it says so
 * @param device    the GPU, or the CPU
 * @param upstream  what it is put around; gets one holder more. NULL where it needs none
 * @param out       one holder; end with cai_manager_release()
 * @return #CAI_OK; #CAI_ERR_VALUE for an unknown name, a library that cannot be loaded, a missing
 *          symbol, wrong params, and an upstream manager of another device, or that is missing;
 *          #CAI_ERR_VERSION; #CAI_ERR_UNSUPPORTED if the device has no such memory; what `create`
 *          returned; the rest as cai_device_set_current().
 * Since 0.1. */
cai_status cai_manager_create(const char *name, const void *params, cai_device device,
                              cai_manager *upstream, cai_manager **out, cai_error *error);

/** Adds one holder. Since 0.1. */
void cai_manager_retain(cai_manager *manager);

/** Takes one holder away. Memory that it gave holds it, too. Since 0.1. */
void cai_manager_release(cai_manager *manager);

/** Returns the name of the manager's table; NULL for NULL. Since 0.1. */
const char *cai_manager_name(const cai_manager *manager);

/** Returns the manager's device. Since 0.1. */
cai_device cai_manager_device(const cai_manager *manager);

/** Finds a device's manager. It is made at the first need by the name that cai_manager_choose() was
 * given, else by the environment's CAI_MEMORY_MANAGER (a name or path as for cai_manager_create()),
 * else "default"; of the CPU always "host". After #CAI_RESET_CONTEXT it is made anew.
 *
 * @param out  one holder more
 * @return as cai_manager_create(); a bad CAI_MEMORY_MANAGER is an error that names it, each time.
 * Since 0.1. */
cai_status cai_manager_of(cai_device device, cai_manager **out, cai_error *error);

/** Makes a manager that of its device, from now on. Memory that is out stays with its own.
 *
 * @param manager  gets one holder more; NULL: the one that cai_manager_of() would make anew
 * @return #CAI_OK; #CAI_ERR_DEVICE if it is another device's; #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_manager_install(cai_device device, cai_manager *manager, cai_error *error);

/** Chooses by name the manager of every GPU that has none yet; stronger than the environment.
 *
 * @param name  as for cai_manager_create(), with params NULL and no upstream, of which the manager
 *              itself may want more: that cai_manager_of() tells. NULL: the environment's again
 * @return #CAI_OK; #CAI_ERR_VALUE and #CAI_ERR_VERSION, and nothing changed, as
 *         cai_manager_create(); #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_manager_choose(const char *name, cai_error *error);

/** Allocates from a manager: what #cai_memory does, without the handle; for adaptors. If there is
 * not so much memory, what is pending is freed and the manager is asked once more. What a manager
 * gives is looked at: a block that is too small or not aligned is freed by the manager's memfree or
 * memhostfree at once, and the caller gets #CAI_ERR_STATE.
 *
 * @param size    0 gives a block of zeros, and the manager is not called
 * @param align   a power of two; 0: 256
 * @param kind    DEFAULT, ASYNC, MANAGED or MANAGED_GLOBAL (memalloc), PINNED, MAPPED or HOST
 *                (memhostalloc, flags 0)
 * @param stream  1 or 2 of the primary context, or a CUstream; 0 for the CPU
 * @return #CAI_OK; #CAI_ERR_MEMORY, native 2 if it is the device's; #CAI_ERR_VALUE for a bad
 *         alignment, kind or stream; #CAI_ERR_UNSUPPORTED for a kind that it does not have;
 *         #CAI_ERR_CAPTURE on a stream that is being captured, for ASYNC memory, and then no
 *         manager is asked, and of those that are built in for MANAGED memory, and for DEFAULT
 *         memory of "async" and "pool"; #CAI_ERR_STATE after a reset with #CAI_RESET_CONTEXT, and
 * for a manager that lies; #CAI_ERR_ARGUMENT; what the manager returned. Since 0.1. */
cai_status cai_manager_alloc(cai_manager *manager, uint64_t size, uint64_t align, uint32_t kind,
                             uint64_t stream, cai_block *out, cai_error *error);

/** Frees what cai_manager_alloc() gave.
 *
 * @param kind    as for the allocation
 * @param stream  the free happens in the order of this one
 * @return #CAI_OK, also for a block of zeros and, doing nothing, after a reset with
 *         #CAI_RESET_CONTEXT and once the driver is gone; #CAI_ERR_VALUE for a kind or a stream
 *         that is none; #CAI_ERR_CAPTURE on a stream that is being captured, for ASYNC memory, for
 *         DEFAULT memory of "async" and "pool", and where the manager says so: it is not freed, and
 *         can be once the capture has ended; what the manager returned, and what kept it from being
 *         asked, and then it is not to be freed again; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_manager_free(cai_manager *manager, const cai_block *block, uint32_t kind,
                            uint64_t stream, cai_error *error);

/** Says how much memory there is, to the manager's knowledge.
 *
 * @param free   bytes; may be NULL
 * @param total  bytes; may be NULL
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED; what the manager returned; #CAI_ERR_ARGUMENT.
 * NBEP 7, get_memory_info. Since 0.1. */
cai_status cai_manager_memory(cai_manager *manager, uint64_t *free, uint64_t *total,
                              cai_error *error);

/** Gives back what is freed but kept, down to `keep` bytes.
 *
 * @return as cai_manager_memory(), save #CAI_ERR_UNSUPPORTED.
 * Since 0.1. */
cai_status cai_manager_trim(cai_manager *manager, uint64_t keep, cai_error *error);

/** Params of "pool"; NULL: all 0. It grows at the tail. 40 bytes. Since 0.1. */
typedef struct cai_pool_params {
  uint32_t struct_size;
  uint32_t flags;     /**< CAI_POOL_* */
  uint64_t initial;   /**< bytes that it holds from the beginning, and keeps */
  uint64_t maximum;   /**< bytes that it never exceeds; 0: the device's */
  uint64_t threshold; /**< bytes that it keeps when they are freed; UINT64_MAX: all */
  uint64_t reserved;  /**< 0 */
} cai_pool_params;

/** Flags of cai_pool_params. Since 0.1. */
enum {
  CAI_POOL_EXPORTABLE = 1 << 0, /**< its memory can be shared, #CAI_IPC_POOL */
  CAI_POOL_INSTALL = 1 << 1     /**< the device's current pool until the manager ends: CuPy,
                                     cuda.core, RMM and all who allocate in stream order
                                     draw from it */
};

/** Params of "limiting". 16 bytes. Since 0.1. */
typedef struct cai_limit_params {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  uint64_t limit;    /**< bytes that may be out at a time, by cai_block.size */
} cai_limit_params;

/** Says who calls, for logs: writes at most `size` bytes of UTF-8 and a NUL, as "file.py:12". An
 * empty text: not known. Any thread. Since 0.1. */
typedef void (*cai_caller_fn)(void *context, char *text, uint64_t size);

/** Params of "logging": to a file or to a function; the first line names the columns: time (seconds
 * since the manager was made), device, action, address, size, stream, status, caller. 48 bytes.
 * Since 0.1. */
typedef struct cai_log_params {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  const char *path;  /**< appended to; NULL if `write` is set */
  void (*write)(void *context, const char *line, uint64_t length); /**< takes whole lines, with
                                                                        their end; any thread */
  cai_caller_fn caller;                                            /**< may be NULL */
  void *context;                  /**< for both; the manager's once it is made */
  void (*destroy)(void *context); /**< called once, when the manager has ended, on any thread; not
                                       if making it fails: then the context is still the caller's.
                                       NULL: the context must outlive the manager */
} cai_log_params;

/** Params of "tracking"; NULL: all 0. 32 bytes. Since 0.1. */
typedef struct cai_track_params {
  uint32_t struct_size;
  uint32_t reserved;              /**< 0 */
  cai_caller_fn caller;           /**< may be NULL */
  void *context;                  /**< for it; the manager's once it is made */
  void (*destroy)(void *context); /**< as in #cai_log_params */
} cai_track_params;

/** Params of "retrying". 32 bytes. Since 0.1. */
typedef struct cai_retry_params {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  /** Memory is short: returns 1 to try again, having freed something, or 0 to give up.
   * @param attempt  0 at the first failure of an allocation, then 1 and so on */
  int32_t (*retry)(void *context, uint64_t size, uint64_t attempt);
  void *context;                  /**< for retry; the manager's once it is made */
  void (*destroy)(void *context); /**< as in #cai_log_params */
} cai_retry_params;

/** Counts of "statistics", and of "limiting" and "tracking", too. Each is exact; while other
 * threads allocate or free, they may be of different moments. What a free has failed for is out
 * still, for a capture or for good. It grows at the tail. 64 bytes. Since
 * 0.1. */
typedef struct cai_statistics {
  uint32_t struct_size; /**< in: sizeof(cai_statistics), at least 8; as in cai_device_info */
  uint32_t reserved;    /**< 0 */
  uint64_t bytes;       /**< that are out, by cai_block.size */
  uint64_t bytes_peak;  /**< the most that ever were */
  uint64_t bytes_total; /**< ever allocated */
  uint64_t count;       /**< allocations that are out */
  uint64_t count_peak;
  uint64_t count_total;
  uint64_t failures; /**< allocations that failed */
} cai_statistics;

/** Reads the counts of a manager, or of the first one upstream that counts.
 *
 * @param out  struct_size set by the caller
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED if none counts; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_manager_statistics(const cai_manager *manager, cai_statistics *out,
                                  cai_error *error);

/** An allocation that is out. Lives during the callback. 48 bytes. Since 0.1. */
typedef struct cai_allocation {
  uint32_t struct_size; /**< bytes of this struct; it grows at the tail */
  uint32_t kind;        /**< CAI_KIND_* */
  uint64_t data;
  uint64_t size;
  uint64_t stream;
  double seconds;     /**< when, since the manager was made */
  const char *caller; /**< as #cai_caller_fn said */
} cai_allocation;

/** Shows what a manager, or the first one upstream that tracks, has given and not got back, the
 * oldest first; what a free has failed for is among it. `visit` runs with no lock held.
 *
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED if none tracks; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_manager_outstanding(const cai_manager *manager,
                                   void (*visit)(void *context, const cai_allocation *allocation),
                                   void *context, cai_error *error);

/* ---- Memory ------------------------------------------------------------------------------- */

/** Memory with holders. Counted, as streams are; the last release frees it in the order of its free
 * stream, and waits for nothing, unless too many frees are pending (see "Pending frees"), or it is
 * cai_memory_pin()'s, which is unpinned at once: for that the driver waits for the device. Memory
 * that is not freed in the order of streams, which is pinned memory, CUDA arrays, and what was
 * wrapped or opened, goes once what is queued on its stream by then and the uses that were recorded
 * are complete: a later call of libcai or cai_drain() finds out. So does memory that the driver,
 * as it fails, does not put in order; what no event tells of stays until cai_drain() with `wait`.
 *
 * Stream 2 is one of a thread. If another thread releases memory whose free stream it is, the
 * legacy stream of the device stands for it, which comes after the streams 2 of all threads. While
 * the free stream is being captured, nothing is freed, whoever's the manager is: a later
 * cai_memory_alloc() or cai_pending_flush() does it, and until then managers count it as out.
 * Since 0.1. */
typedef struct cai_memory cai_memory;

/** What memory is wanted. Zero it, set struct_size, kind and size. It grows at the tail. 88 bytes.
 * Since 0.1. */
typedef struct cai_request {
  uint32_t struct_size; /**< sizeof(cai_request) */
  uint32_t kind;        /**< CAI_KIND_*, not NONE */
  uint64_t size;        /**< bytes; of one row for PITCHED, PITCHED_MANAGED, CUDA_ARRAY */
  uint64_t rows;        /**< for those three: rows; CUDA_ARRAY: 0 has one dimension. Else 0 */
  uint64_t depth;       /**< CUDA_ARRAY: slices; 0 has no third dimension. Else 0 */
  uint64_t align;       /**< a power of two; 0: 256 (of GPUs; 64 of the host) */
  uint32_t flags;       /**< CAI_HOST_*, for PINNED and MAPPED */
  uint32_t channels;    /**< CUDA_ARRAY: items of an element, 1, 2 or 4. Else 0 */
  cai_dtype dtype;      /**< CUDA_ARRAY: of an item: 1 to 4 bytes of kind i, u or f. Else all 0 */
  uint32_t reserved;    /**< 0 */
  cai_stream *stream;   /**< NULL: the thread's current one of the device */
  cai_manager *manager; /**< NULL: the device's */
  uint64_t reserved1;   /**< 0 */
} cai_request;

/** Allocates memory. Size, rows or depth 0 where a number is wanted gives memory with no address,
 * and nobody is asked for it.
 *
 * @param request  its stream and manager get a holder more as long as they are needed
 * @param out      one holder; end with cai_memory_release()
 * @return #CAI_OK; #CAI_ERR_MEMORY, native 2 if it is the device's; #CAI_ERR_VALUE for a field that
 *          is none of its values, for sizes whose product overflows, and for a stream or manager of
 *          another device; #CAI_ERR_UNSUPPORTED for a kind that the device does not have;
 *          #CAI_ERR_CAPTURE if the stream's capture, or one on this thread, forbids it; the rest as
 *          cai_manager_alloc() and cai_device_set_current().
 * Since 0.1. */
cai_status cai_memory_alloc(cai_device device, const cai_request *request, cai_memory **out,
                            cai_error *error);

/** Pins memory of the host's that is there already, until the last release; once the uses that were
 * recorded are complete, that is. It is unpinned at once, since it may be pinned again, or end, and
 * the driver waits for the device first: release it where the host may wait.
 *
 * @param host     `size` bytes
 * @param kind     PINNED or MAPPED
 * @param flags    CAI_HOST_*
 * @param release  ends the host's memory, after it was unpinned; may be NULL
 * @param context  for release; on failure it is the caller's
 * @return as cai_memory_alloc(); #CAI_ERR_UNSUPPORTED for MAPPED where the device cannot use the
 *          host's memory.
 * NBEP 7, mempin. Since 0.1. */
cai_status cai_memory_pin(cai_device device, void *host, uint64_t size, uint32_t kind,
                          uint32_t flags, void (*release)(void *context), void *context,
                          cai_memory **out, cai_error *error);

/** Flags of cai_memory_info. Since 0.1. */
enum {
  CAI_MEMORY_DEREFERENCEABLE = 1 << 0, /**< the host may use `host` */
  CAI_MEMORY_FREED = 1 << 1,           /**< cai_memory_free() was called, or the device reset */
  CAI_MEMORY_FOREIGN = 1 << 2,         /**< cai_memory_wrap(), or of another process */
  CAI_MEMORY_VIEW = 1 << 3,            /**< cai_memory_view() */
  CAI_MEMORY_READONLY = 1 << 4         /**< nobody may write it, and arrays of it say so */
};

/** What is known of memory. It grows at the tail. 96 bytes. Since 0.1. */
typedef struct cai_memory_info {
  uint32_t struct_size; /**< in: sizeof(cai_memory_info), at least 8; as in cai_device_info */
  uint32_t flags;       /**< CAI_MEMORY_* */
  cai_device device;
  uint32_t kind;     /**< CAI_KIND_* */
  uint32_t channels; /**< CUDA_ARRAY */
  uint64_t data;     /**< address for kernels; CUDA_ARRAY: 0 */
  uint64_t host;     /**< address for the host, or 0 */
  uint64_t array;    /**< CUDA_ARRAY: the CUarray; else 0 */
  uint64_t size;     /**< bytes in all, the padding of rows too */
  uint64_t row;      /**< bytes of a row that are used: as asked for; size if there are none */
  uint64_t pitch;    /**< bytes from one row to the next; size if there are none */
  uint64_t rows;     /**< 1 if there are none */
  uint64_t depth;    /**< 1 if there are none */
  uint64_t stream;   /**< the free stream's value; 0 for the CPU */
} cai_memory_info;

/** Takes memory of somebody else's in. It has no free stream until it is given one.
 *
 * @param info     device, kind, data, host and size are read, pitch (0: the size), row (0: the
 *                 pitch, or the size if that is less) and rows (0: 1), and of the flags
 *                 CAI_MEMORY_READONLY; the rest must be 0. Whether it is true is asked by
 *                 cai_memory_validate()
 * @param release  ends the memory; runs once, no lock held, in no order with streams but the
 *                 host's: when uses that were recorded are complete. May be NULL
 * @param context  for release; on failure it is the caller's
 * @return #CAI_OK; #CAI_ERR_VALUE for a field that is none of its values; #CAI_ERR_DEVICE;
 *          #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_wrap(const cai_memory_info *info, void (*release)(void *context),
                           void *context, cai_memory **out, cai_error *error);

/** Makes memory of a part of it; the view holds the whole.
 *
 * @param start  bytes from its beginning
 * @param stop   likewise; start <= stop <= size
 * @return #CAI_OK; #CAI_ERR_BOUNDS; #CAI_ERR_UNSUPPORTED for a CUDA array; #CAI_ERR_STATE if it was
 *         freed; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * NBEP 7, MemoryPointer.view. Since 0.1. */
cai_status cai_memory_view(cai_memory *memory, uint64_t start, uint64_t stop, cai_memory **out,
                           cai_error *error);

/** Adds one holder. Since 0.1. */
void cai_memory_retain(cai_memory *memory);

/** Takes one holder away. Since 0.1. */
void cai_memory_release(cai_memory *memory);

/** Frees memory now, whoever holds it still, in the order of its free stream and after the uses
 * that were recorded; views are dead with it. The handle stays the holders'. Its arrays stay, too,
 * #CAI_OWNER_FREED: no use of one begins, and none is handed out. What has been handed out by a
 * dict, a tensor or a column nobody can call back: whoever has that uses freed memory.
 *
 * @return #CAI_OK, also where a reset has freed it; #CAI_ERR_STATE if it was freed already by this;
 *         #CAI_ERR_UNSUPPORTED for a view; what the manager returned, and then it is freed for
 *         good; what the driver returned where it did not let libcai ask the manager, which libcai
 *         does later then; #CAI_ERR_ARGUMENT.
 * NBEP 7, MemoryPointer.free. Since 0.1. */
cai_status cai_memory_free(cai_memory *memory, cai_error *error);

/** Says what is known of memory.
 *
 * @param out  struct_size set by the caller
 * @return #CAI_OK; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_describe(const cai_memory *memory, cai_memory_info *out, cai_error *error);

/** Finds the memory that cai_memory_alloc() of this copy of libcai gave around an address, as
 * kernels use it. Memory that was pinned, wrapped or opened, which others may know by another name,
 * is never found, nor are views, nor what a manager took inside of its functions, to give it: they
 * hide nothing of what they are of. Where a manager gives parts of memory that it had allocated
 * before, either may be found; of two of one address and size the later, and never again the other.
 *
 * @param out     one holder more
 * @param offset  may be NULL; gets the bytes from its beginning to the address
 * @return #CAI_OK; #CAI_ERR_DEVICE if there is none; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_find(uint64_t address, cai_memory **out, uint64_t *offset, cai_error *error);

/** Asks the driver whether memory is what somebody says it is.
 *
 * On the CPU it must not be a GPU's own; the driver may know nothing of it only if it is DEFAULT,
 * ASYNC, PITCHED or HOST, pinned memory must be PINNED or MAPPED, and managed memory of a managed
 * kind; so it is for HOST on a GPU. Otherwise the driver must know memory of a GPU; the device's
 * own must be that device's; managed memory must be of a managed kind; pinned memory must be PINNED
 * or MAPPED. The range must not leave the allocation.
 *
 * @param size  0: only the kind is asked about, and not even that for address 0
 * @return #CAI_OK; #CAI_ERR_DEVICE if it is another device's, or of another kind; #CAI_ERR_BOUNDS;
 *          #CAI_ERR_VALUE for address 0 with a size, for an unknown kind, and for CUDA_ARRAY;
 *          #CAI_ERR_CUDA; #CAI_ERR_DRIVER for GPUs.
 * Since 0.1. */
cai_status cai_memory_validate(uint64_t address, uint64_t size, cai_device device, uint32_t kind,
                               cai_error *error);

/** Sets the stream in whose order memory is freed. What is pending on the old one still comes
 * before; so it does before uses of arrays of the memory, since it was allocated there. It counts
 * as an array that comes with another stream: before its own work on the new one the producer calls
 * cai_array_reclaim(), and after its own work on another one it publishes.
 *
 * @param stream  of the memory's device; gets one holder more
 * @return #CAI_OK; #CAI_ERR_DEVICE; #CAI_ERR_STATE if it was freed; #CAI_ERR_UNSUPPORTED for a
 *          view; #CAI_ERR_CAPTURE if the old one is being captured; #CAI_ERR_CUDA; #CAI_ERR_MEMORY;
 *          #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_set_stream(cai_memory *memory, cai_stream *stream, cai_error *error);

/** Says that what is queued on a stream by now uses the memory: it is not freed before that ends,
 * and whoever begins a use of an array of it comes after, as after a write. No array's stream waits
 * for it, as it would at the end of a use: who works on one without a use calls
 * cai_array_reclaim() before.
 *
 * @param memory  of a view: the whole is used
 * @param stream  of any device
 * @return #CAI_OK; #CAI_ERR_STATE if it was freed, or the stream is dead; #CAI_ERR_CAPTURE if the
 *         stream is being captured; #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_record(cai_memory *memory, cai_stream *stream, cai_error *error);

/** Makes an array of memory. The array holds the memory, and keeps uses: it ends once those are
 * complete. Its stream is the memory's free stream; NONE if there is none, and for the CPU.
 *
 * @param offset   bytes from the beginning of the memory to the first element
 * @param dtype    of an element
 * @param shape    `ndim` extents, elements; may be NULL if ndim is 0
 * @param strides  bytes, `ndim` of them; NULL: C order, with the pitch for the last but one axis of
 *                 pitched memory
 * @param out      owned; end with cai_array_release()
 * @return #CAI_OK; #CAI_ERR_BOUNDS if it leaves the memory; #CAI_ERR_UNSUPPORTED for a CUDA array;
 *         #CAI_ERR_STATE if it was freed; #CAI_ERR_VALUE as cai_array_validate(); #CAI_ERR_ORDER if
 *         arrays of it came with another thread's stream 2; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_array(cai_memory *memory, uint64_t offset, const cai_dtype *dtype,
                            int32_t ndim, const int64_t *shape, const int64_t *strides,
                            cai_array **out, cai_error *error);

/** Makes an array of memory that is as another one: of its dtype and descr, shape and strides, and
 * with a mask if that has one. Only these count of `like`, and its ABI; whoever has no such array
 * fills in a zeroed #cai_array: abi_major, dtype, descr, ndim, shape, and of the mask likewise. All
 * of it is copied. Elements and mask are this memory's, one owner's; the rest is as
 * cai_memory_array().
 *
 * @param offset       bytes from the beginning of the memory to the first element
 * @param like         its strides, and the mask's, may be NULL: C order, of the elements as
 *                     cai_memory_array(). #CAI_FLAG_SWAPPED follows from dtype and descr, and
 *                     #CAI_FLAG_READONLY from the memory
 * @param mask_offset  bytes to the first element of the mask; does not count without one
 * @param out          owned; end with cai_array_release()
 * @return as cai_memory_array(); #CAI_ERR_VALUE also for a wrong descr (entry descr), and for a
 *         mask that does not broadcast to the shape; #CAI_ERR_LAYOUT if the mask overlaps the
 *         elements, #CAI_ERR_BOUNDS if it leaves the memory (entry mask); #CAI_ERR_VERSION for a
 *         `like` of another ABI major, or with an unknown critical flag.
 * The text, "descr" and "mask". Since 0.1. */
cai_status cai_memory_array_like(cai_memory *memory, uint64_t offset, const cai_array *like,
                                 uint64_t mask_offset, cai_array **out, cai_error *error);

/** Makes an array in new memory of its own, as `like` is but in C order, with what happens to be
 * there. A mask is of the mask's dtype and shape, one that broadcasts too, and lies behind the
 * elements; of an axis of stride 0 each element has a place. cai_array_copy() then copies both.
 *
 * @param like     as for cai_memory_array_like(); its strides do not count
 * @param request  kind, align, flags, stream and manager; size, rows and depth are 0. Of the kinds
 *                 PITCHED and PITCHED_MANAGED the last axis lies in rows. NULL: of kind DEFAULT
 * @param out      owned; end with cai_array_release()
 * @return as cai_memory_alloc() and cai_memory_array_like(); #CAI_ERR_UNSUPPORTED for a mask in
 *         memory of rows (entry mask), and for CUDA_ARRAY.
 * The text, "descr" and "mask". Since 0.1. */
cai_status cai_array_empty_like(const cai_array *like, cai_device device,
                                const cai_request *request, cai_array **out, cai_error *error);

/** Finds the memory of an array: that of cai_memory_array(), also for its views, and the whole
 * where it was made of a view of memory. For any other array, memory of the extent of its elements
 * that holds it until the last holder has gone, freed by hand or not, and is an owner of its own; a
 * mask is other memory. Until it is released, uses of arrays of it and of `array` do not find each
 * other, so use the one or the other; its stream is the thread's current one, which comes after the
 * array's, and the array's will come after it when the memory is released. If one of the two is in
 * a capture by then that the other is not in, or that has begun since, the array's does not, and
 * the array's owner alone hears of the work: who begins a use comes after it, and a producer
 * reclaims. An owner with functions of its own hears of it once the capture is over, and arrays of
 * such memory are used in a capture only if its stream is in that. Work of streams of the CPU's is
 * one with the array's at any time. Of a read-only array the memory is #CAI_MEMORY_READONLY: a
 * view, if the whole may be written. It is #CAI_MEMORY_FREED once the array's owner says
 * #CAI_OWNER_FREED.
 *
 * @param array   owned
 * @param out     one holder (more)
 * @param offset  may be NULL; gets the bytes from the beginning of the memory to the first element
 * @return #CAI_OK; #CAI_ERR_ARGUMENT for a borrowed array, too; #CAI_ERR_DEVICE for ROCm and where
 *          the driver does not know it; #CAI_ERR_VALUE and #CAI_ERR_VERSION as
 *          cai_array_validate(); #CAI_ERR_DRIVER; #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_STATE
 *          for another array than those, of memory that was freed (#CAI_OWNER_FREED).
 * Since 0.1. */
cai_status cai_memory_of(const cai_array *array, cai_memory **out, uint64_t *offset,
                         cai_error *error);

/* ---- Work on arrays ----------------------------------------------------------------------- */

/** Copies the elements of an array to another one, in the order of a stream, between any two
 * devices; begin and end of their use included. Where a GPU copies from or to an array of the
 * CPU's, the host waits until that is done. A stream of the CPU's comes after what others of the
 * CPU's have yet to do on the arrays; for what a GPU has pending on pinned memory, the host waits.
 *
 * A GPU needs one call of the driver for most layouts, more where axes run in opposite directions,
 * are repeated (stride 0) or do not nest: one for each step of such an axis. A stream of the CPU
 * that is #CAI_MODE_ASYNC holds both arrays until it is done, and their owners keep the work: uses
 * begin after it, on GPUs too. If one is borrowed, or its owner's used_on is not
 * cai_owner_used_on(), the call waits.
 *
 * A mask is copied, too: `to` needs one, of the same type, not read-only, whose shape `from`'s mask
 * broadcasts to; of bits, the same shape, and whole bytes. If `from` has none, `to`'s becomes true.
 *
 * @param from    any strides; CAI_ACCESS_READ
 * @param to      not read-only; of the same shape and dtype; must not overlap `from`
 * @param stream  of the device of either, or that the memory of either was made for, and a GPU's
 *                unless the host may use both (the CPU's, and pinned memory); NULL: the thread's
 *                current one of `to`'s device, or of `from`'s if `to` is the host's, or managed and
 *                `from` a GPU's own
 * @return #CAI_OK; #CAI_ERR_VALUE if shapes or types differ, or `to` is read-only, and (entry
 *         mask) for a mask that `to` lacks or cannot take; #CAI_ERR_LAYOUT if elements of `to`
 *         overlap, or `from`'s with them; #CAI_ERR_UNSUPPORTED for bits, but in masks whose bits
 *         fill their bytes; #CAI_ERR_DEVICE for a stream of a third device; #CAI_ERR_CAPTURE also
 *         if the stream is being captured and the host must wait; #CAI_ERR_STATE if the memory was
 *         freed, or the stream is dead; what earlier work on a stream of the CPU's failed with,
 *         once; the rest as cai_use_begin().
 * Since 0.1. */
cai_status cai_array_copy(const cai_array *from, const cai_array *to, cai_stream *stream,
                          cai_error *error);

/** Sets all elements of an array, in the order of a stream; begin and end of use included. Those
 * that a mask says are invalid are set, too; the mask stays as it is.
 *
 * @param array   not read-only
 * @param value   itemsize bytes, in the array's byte order, of the host's memory; read before the
 *                call returns. They are copied as they are, whatever the type: of bfloat16 and
 *                float8 they are its bits
 * @param stream  of the array's device, or that its memory was made for; the CPU's if the host may
 *                use it; NULL: the thread's current one of the array's device
 * @return as cai_array_copy().
 * Since 0.1. */
cai_status cai_array_fill(const cai_array *array, const void *value, cai_stream *stream,
                          cai_error *error);

/** Brings one element to the host, whatever the memory: waits for what is pending on the array; of
 * the CPU's, for what is queued on the thread's current stream, too.
 *
 * @param index  ndim indices, elements; negative counts from the end; may be NULL if ndim is 0
 * @param out    gets itemsize bytes, in the array's byte order
 * @return as cai_array_copy(); #CAI_ERR_UNSUPPORTED for a masked array; #CAI_ERR_ARGUMENT for an
 *         index out of range, cai_error.index is the axis.
 * Since 0.1. */
cai_status cai_array_item(const cai_array *array, const int64_t *index, void *out,
                          cai_error *error);

/** Brings the first element of an array to the host, as cai_array_item() does.
 *
 * @param out  gets itemsize bytes, in the array's byte order
 * @return as cai_array_item(); #CAI_ERR_ARGUMENT if there are no elements.
 * Since 0.1. */
cai_status cai_array_first(const cai_array *array, void *out, cai_error *error);

/** Waits for the thread's current stream of the device that works on an array, and for all that is
 * pending on the array, its mask included.
 *
 * @return as cai_stream_synchronize() and cai_array_sync_host().
 * Since 0.1. */
cai_status cai_array_eval(const cai_array *array, cai_error *error);

/* ---- Pending frees ------------------------------------------------------------------------ */

/* What waits to be freed on a device is freed
 *
 * - once more than 10 are waiting (the environment's CAI_MAX_PENDING_DEALLOCS_COUNT), as far as the
 *   host need not wait: not while there is work on the streams that they were freed on, on the
 *   thread's current one, or on a default or blocking stream. The driver would wait for the device;
 * - once they are more than a fifth of the device's memory (CAI_MAX_PENDING_DEALLOCS_RATIO), each
 *   counted as 64 KiB at least, when memory is short, and when somebody asks: then the host waits.
 *
 * Never while it is deferred, and never while a capture is seen: of the thread's current stream, of
 * a default stream, or of a blocking stream of the primary context. A capture not seen comes to no
 * harm. Streams and events are destroyed once more than 10 of them are waiting. One that fails does
 * not keep the others; the first failure goes to cai_on_failure(). The default manager frees plain
 * and managed memory so, by cuMemFree, after an event on the stream that frees it. */

/** What is out and what is pending on a device. It grows at the tail. 48 bytes. Since 0.1. */
typedef struct cai_usage {
  uint32_t struct_size;   /**< in: sizeof(cai_usage), at least 8; as in cai_device_info */
  uint32_t deferred;      /**< calls of cai_pending_defer() that are open */
  uint64_t bytes;         /**< of #cai_memory that is out, but not what a manager takes inside of
                               its functions, to give it; pinned and managed memory of a GPU counts
                               for the CPU, too */
  uint64_t count;         /**< of them */
  uint64_t pending_bytes; /**< of frees that are pending */
  uint64_t pending_count; /**< of them, and of streams and events to be destroyed */
  uint64_t reserved;      /**< 0 */
} cai_usage;

/** Says what is out and what is pending.
 *
 * @param out  struct_size set by the caller
 * @return #CAI_OK; #CAI_ERR_DEVICE; #CAI_ERR_VALUE as cai_device_format(); #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_usage(cai_device device, cai_usage *out, cai_error *error);

/** Adds a free, for managers: `free` runs once, later or before the call returns, on any thread,
 * with the GPU's primary context current and no lock held. A reset of the device runs it at the
 * latest. What is added while #CAI_RESET_CONTEXT destroys the context is forgotten with it, and
 * `free` does not run: the addresses may be somebody else's by then.
 *
 * @param bytes    that it frees; may be 0
 * @param free     returns its status, and writes the error on failure
 * @param context  for free; on failure it is the caller's
 * @return #CAI_OK; #CAI_ERR_MEMORY; #CAI_ERR_DEVICE; #CAI_ERR_VALUE as cai_device_format();
 *         #CAI_ERR_ARGUMENT, also if a limit in the environment is no number; #CAI_ERR_DRIVER;
 *         #CAI_ERR_CUDA; #CAI_ERR_STATE.
 * NBEP 7, "pending deallocations". Since 0.1. */
cai_status cai_pending_add(cai_device device, uint64_t bytes,
                           cai_status (*free)(void *context, cai_error *error), void *context,
                           cai_error *error);

/** Frees all that is pending on a device. Nothing while it is deferred. Memory of any device that a
 * capture, want of memory or the driver has kept from being freed is tried again, as by
 * cai_memory_alloc().
 *
 * @return #CAI_OK; the first failure, also of what is tried again, the others being freed all the
 *         same; #CAI_ERR_CAPTURE while a capture is seen, and nothing is freed; the rest as
 *         cai_device_set_current().
 * Since 0.1. */
cai_status cai_pending_flush(cai_device device, cai_error *error);

/** Begins a time in which nothing but a reset frees what is pending, even if memory is short; they
 * nest, and may overlap. The device's manager is told, too, if it has a way of its own; of an end,
 * once it knows of more beginnings than are open, since an end does not say which one it is of. Any
 * thread ends it, which frees nothing by itself.
 *
 * @param defer  1 begins it, 0 ends it
 * @return #CAI_OK; #CAI_ERR_STATE for an end without a beginning; what the manager returned;
 *          #CAI_ERR_VALUE for another number; #CAI_ERR_DEVICE; #CAI_ERR_MEMORY; the rest as
 *          cai_manager_of().
 * NBEP 7, defer_cleanup. Since 0.1. */
cai_status cai_pending_defer(cai_device device, int32_t defer, cai_error *error);

/* ---- Memory of other processes ------------------------------------------------------------ */

/** Makes a handle that another process opens. What that process finds there is what is complete by
 * the time it looks: the two agree on it by messages, after waiting.
 *
 * @param memory  of the kind DEFAULT, or ASYNC of an exportable pool; may be a view. Keep it until
 *                the others have closed theirs
 * @param fd      gets the pool's descriptor, the caller's to close; -1 for #CAI_IPC_LEGACY
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED for other kinds and pools, and for memory that is read-only
 *          or has no bytes; #CAI_ERR_STATE if it was freed, or for a handle of the manager's that
 *          nobody could open; #CAI_ERR_CUDA; what the manager returned; #CAI_ERR_ARGUMENT.
 * NBEP 7, get_ipc_handle. Since 0.1. */
cai_status cai_memory_share(cai_memory *memory, cai_ipc_handle *out, int32_t *fd, cai_error *error);

/** How cai_memory_open() does. Since 0.1. */
enum {
  CAI_OPEN_DIRECT = 1, /**< where it is: on its own device, or from one that can access that */
  CAI_OPEN_STAGED = 2, /**< as a copy in new memory, queued on the stream; nothing foreign is held
                            once that is done */
  CAI_OPEN_AUTO = 3    /**< direct where that can be, else staged */
};

/** Opens memory of another process. What the driver has open already for this device is opened no
 * second time, but shared.
 *
 * @param handle  the process that made it must be alive, and must not have freed the memory
 * @param fd      for #CAI_IPC_POOL: the descriptor as it came, the caller's to close; else -1
 * @param device  who is to use it; where it is is found by its identity, whatever the ordinals
 * @param stream  in whose order it is copied and closed; NULL: the thread's current one of `device`
 * @param how     CAI_OPEN_*
 * @param out     one holder; the last release closes it
 * @return #CAI_OK; #CAI_ERR_STATE for a handle of this process, or of one that is gone;
 *          #CAI_ERR_DEVICE if this process does not see the device, or for DIRECT cannot access it;
 *          #CAI_ERR_VALUE for a handle that is none; #CAI_ERR_CUDA; the rest as cai_memory_alloc().
 * NBEP 7, IpcHandle.open. Since 0.1. */
cai_status cai_memory_open(const cai_ipc_handle *handle, int32_t fd, cai_device device,
                           cai_stream *stream, uint32_t how, cai_memory **out, cai_error *error);

/* memory.h: declarations end */

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* CAI_MEMORY_H */
