/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file memory.h
 * Memory of every kind, and the managers that allocate it. Provisional, in the version node
 * CAI_MEMORY_0: until this has users, a later release may change it. `pkg-config libcai-memory`
 * asks for it.
 *
 * The rules at the head of cai.h and of cai/device.h hold here too. Beside them:
 *
 * - Sizes, offsets, alignments and pitches are in bytes.
 * - A manager is a table of functions, #cai_manager_table, written once; libcai carries it to
 *   Numba, CuPy, PyTorch, cuda.core, RMM, CCCL and UMF. "NBEP 7" is Numba's proposal for external
 *   memory managers, of which the table's required functions are the C side.
 * - Memory is freed in the order of a stream, its free stream. At first this is the stream that it
 *   was allocated on. A caller that used the memory on another stream must record that, by
 *   cai_memory_record() or, for arrays, by cai_use_end().
 * - Memory whose free makes the host wait (as for the driver's plain device memory) is not freed at
 *   once, but together with other such memory; see "Pending frees".
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

/** Kinds of memory: where it is, and which processors may use it. On the CPU, all kinds except NONE
 * and CUDA_ARRAY are memory that the host may use. PITCHED and PITCHED_MANAGED: rows begin at
 * multiples of 256 bytes. Since 0.1. */
enum {
  CAI_KIND_NONE = 0,            /**< no memory */
  CAI_KIND_DEFAULT = 1,         /**< "default": the device's own; on the CPU: the heap */
  CAI_KIND_ASYNC = 2,           /**< "async": the device's own, allocated and freed in the order of
                                     the stream; used on others only after an event */
  CAI_KIND_PITCHED = 3,         /**< "pitched": the device's own, in padded rows */
  CAI_KIND_PITCHED_MANAGED = 4, /**< "pitched_managed": managed, in padded rows */
  CAI_KIND_PINNED = 5,          /**< "pinned": the host's, fast for a GPU to copy; on the CPU:
                                     pinned for the current GPU, or the heap if there is none */
  CAI_KIND_MAPPED = 6,          /**< "mapped": pinned, and kernels use it in place */
  CAI_KIND_MANAGED = 7,         /**< "managed": migrates; only its stream and the host may use it.
                                     On a default stream: as MANAGED_GLOBAL */
  CAI_KIND_MANAGED_GLOBAL = 8,  /**< "managed_global": migrates; every stream may use it */
  CAI_KIND_CUDA_ARRAY = 9,      /**< "cuda_array": a CUarray, for textures only; it has no
                                     address */
  CAI_KIND_HOST = 10            /**< "host": the heap, whatever the device */
};

/** Returns a kind's name, as quoted above; NULL if the kind is invalid. Since 0.1. */
const char *cai_kind_name(uint32_t kind);

/** Parses the name of a kind. Case and blanks at both ends do not matter. "unified",
 * "unified_global" and "pitched_unified" are other names of the managed kinds.
 *
 * @param text  NUL-terminated UTF-8
 * @return #CAI_OK; #CAI_ERR_VALUE; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_kind_parse(const char *text, uint32_t *kind, cai_error *error);

/** Returns 1 if the host may use memory of a kind on a device, else 0. The host may use all memory
 * of the CPU that has an address, and pinned, mapped, managed and host memory of GPUs. Since
 * 0.1. */
int32_t cai_is_dereferenceable(cai_device device, uint32_t kind);

/* ---- Managers ----------------------------------------------------------------------------- */

/** A manager of one device. Reference-counted, as streams are. Since 0.1. */
typedef struct cai_manager cai_manager;

/** A block of memory, as a manager allocates and frees it. 32 bytes. Since 0.1. */
typedef struct cai_block {
  uint64_t data;   /**< address for kernels; on the CPU, for the host */
  uint64_t host;   /**< address for the host; 0 if the host must not use it */
  uint64_t size;   /**< bytes, at least the requested size */
  uint64_t cookie; /**< reserved for the manager; one that hands on its upstream manager's blocks
                        must free them with the upstream's cookie unchanged */
} cai_block;

/** Flags of host memory. Since 0.1. */
enum {
  CAI_HOST_PORTABLE = 1 << 0,      /**< pinned for all GPUs */
  CAI_HOST_WRITE_COMBINED = 1 << 1 /**< fast to write, and for the GPU to read; slow to read */
};

/** Ways to share memory with another process. Since 0.1. */
enum {
  CAI_IPC_LEGACY = 1, /**< by the handle alone: plain memory of the driver's */
  CAI_IPC_POOL = 2    /**< by the handle and a file descriptor of the pool, which must be passed
                           beside it: memory of an exportable pool */
};

/** A handle of memory for another process. Send its bytes unchanged. 160 bytes, never more. Since
 * 0.1. */
typedef struct cai_ipc_handle {
  uint32_t struct_size; /**< sizeof(cai_ipc_handle) in the process that made it */
  uint32_t kind;        /**< CAI_IPC_* */
  uint64_t size;        /**< bytes of the memory */
  uint64_t offset;      /**< of the memory in the allocation that `data` names */
  uint64_t process;     /**< the process that made it; a process cannot open its own handles */
  uint64_t pool;        /**< POOL: identifies the pool in that process */
  uint8_t uuid[16];     /**< the device's identity, as cai_device_info.uuid */
  int32_t pci_domain;
  int32_t pci_bus;
  int32_t pci_slot;
  uint32_t reserved;      /**< 0 */
  uint8_t data[64];       /**< the driver's */
  uint64_t process_start; /**< when that process started, since process ids are reused */
  uint64_t reserved1;     /**< 0 */
  uint64_t reserved2;     /**< 0 */
} cai_ipc_handle;

/** The version of #cai_manager_table. Since 0.1. */
enum { CAI_MANAGER_VERSION = 1 };

/** The functions of a manager. The first six are required. NULL for any other means the function of
 * the upstream manager, if there is one, else the default that is documented at the function. It
 * grows at the tail; a table of a newer version is refused.
 *
 * All functions may be called from any thread, and by several threads at a time; create and destroy
 * only for different managers. If several threads need a device's manager first at the same time,
 * each may create one; one stays, and the others are destroyed. libcai calls the functions with the
 * GPU's primary context current, and with no lock of libcai held. They may call libcai, but
 * recursion into the manager itself must end: libcai returns #CAI_ERR_STATE to a function that has
 * called itself eight times on the thread, to an `initialize` that allocates from its own manager,
 * and to a `create` that asks for the device's manager while that manager is being made. They must
 * not throw, and must not write outputs on failure.
 *
 * A `stream` is 1, 2 or a CUstream; 0 for the CPU. It is valid until the call returns: then it may
 * be destroyed, and another stream may get its value, which no function tells the manager. To
 * allocate a freed block again, the manager must record an event on the stream before memfree
 * returns, and make the stream of the next memalloc wait for it. Since 0.1. */
typedef struct cai_manager_table {
  uint32_t struct_size; /**< sizeof(cai_manager_table) */
  uint32_t version;     /**< #CAI_MANAGER_VERSION */
  const char *name;     /**< for errors and logs; must stay valid for the life of the process */
  /** Makes the manager of a device.
   * @param params    as passed to cai_manager_create(); NULL if libcai makes the manager itself
   * @param upstream  libcai holds a reference as long as the manager lives; may be NULL */
  cai_status (*create)(const void *params, cai_device device, cai_manager *upstream, void **self,
                       cai_error *error);
  /** Destroys the manager. Memory may still be allocated from it; that memory is never freed. The
   * pending frees that the manager has added (cai_pending_add()) may run after it. */
  void (*destroy)(void *self);
  /** Called before the first allocation. It may be called again, and by several threads at once if
   * they allocate first at the same time; it must keep existing state. NBEP 7, initialize. */
  cai_status (*initialize)(void *self, cai_error *error);
  /** Drops cached memory, since the device is being reset. May be called before initialize;
   * initialize is called again afterwards. Allocated memory is still freed later, unless the
   * primary context is destroyed: then only destroy follows. NBEP 7, reset. */
  cai_status (*reset)(void *self, cai_error *error);
  /** Allocates. NBEP 7, memalloc.
   * @param size   bytes, never 0
   * @param align  bytes, a power of two
   * @param kind   DEFAULT, ASYNC, MANAGED or MANAGED_GLOBAL
   * @return #CAI_ERR_MEMORY if memory is short: libcai then frees what is pending and calls the
   *         function once more (if there is an upstream manager, only if something was pending);
   *         #CAI_ERR_UNSUPPORTED for a kind that the manager does not have */
  cai_status (*memalloc)(void *self, uint64_t size, uint64_t align, uint32_t kind, uint64_t stream,
                         cai_block *out, cai_error *error);
  /** Frees a block of memalloc in the order of `stream`. It must not wait for the device: see
   * cai_pending_add(). libcai checks that ASYNC memory is neither allocated nor freed on a stream
   * that is being captured; a manager that allocates other kinds in stream order must check that
   * itself.
   * @return #CAI_ERR_CAPTURE if the capture forbids it: the block stays allocated, and libcai frees
   *         it again later. After any other failure libcai does not. The same holds for all
   *         functions that undo another one */
  cai_status (*memfree)(void *self, const cai_block *block, uint64_t stream, cai_error *error);
  /** Allocates host memory. NULL: libcai uses the driver, and frees the memory with the pending
   * frees, or the heap. NBEP 7, memhostalloc.
   * @param kind   PINNED, MAPPED or HOST
   * @param flags  CAI_HOST_* */
  cai_status (*memhostalloc)(void *self, uint64_t size, uint64_t align, uint32_t kind,
                             uint32_t flags, cai_block *out, cai_error *error);
  /** Frees a block of memhostalloc. NULL if and only if memhostalloc is. */
  cai_status (*memhostfree)(void *self, const cai_block *block, cai_error *error);
  /** Pins existing host memory. NULL: by the driver. NBEP 7, mempin.
   * @param kind   PINNED or MAPPED */
  cai_status (*mempin)(void *self, void *host, uint64_t size, uint32_t kind, uint32_t flags,
                       cai_block *out, cai_error *error);
  /** Undoes mempin at once, even if that waits for the device: other code may pin the memory again,
   * or free it. If it fails, libcai never frees the host memory. NULL if and only if mempin is. */
  cai_status (*memunpin)(void *self, const cai_block *block, cai_error *error);
  /** Returns the driver's allocation around an address. NULL: libcai asks the driver. */
  cai_status (*base)(void *self, uint64_t address, uint64_t *base, uint64_t *size,
                     cai_error *error);
  /** Shares memory with other processes. NULL: by the driver. NBEP 7, get_ipc_handle.
   * @param fd  receives the descriptor for #CAI_IPC_POOL, which the caller must close; else -1 */
  cai_status (*get_ipc_handle)(void *self, const cai_block *block, cai_ipc_handle *out, int32_t *fd,
                               cai_error *error);
  /** Opens memory of another process in place, for work on any stream. libcai does not open a
   * handle that is open already. NULL: by the driver. */
  cai_status (*open_ipc_handle)(void *self, const cai_ipc_handle *handle, int32_t fd,
                                uint64_t stream, cai_block *out, cai_error *error);
  /** Closes a block of open_ipc_handle. NULL if and only if open_ipc_handle is. */
  cai_status (*close_ipc_handle)(void *self, const cai_block *block, uint64_t stream,
                                 cai_error *error);
  /** Returns the free and total memory in bytes. NULL: cai_device_memory(). NBEP 7,
   * get_memory_info. */
  cai_status (*get_memory_info)(void *self, uint64_t *free, uint64_t *total, cai_error *error);
  /** Stops the manager's own pending frees (`enter` 1) until it is called as often with 0. NULL:
   * the manager has no pending frees except those of cai_pending_add(). NBEP 7, defer_cleanup. */
  cai_status (*defer_cleanup)(void *self, int32_t enter, cai_error *error);
  /** Releases cached memory, down to `keep` bytes. NULL: the manager caches nothing. */
  cai_status (*trim)(void *self, uint64_t keep, cai_error *error);
} cai_manager_table;

/** Registers a table under a name, for the life of the process.
 *
 * @param name   letters, digits, '_', '-' and '.'; copied
 * @param table  must stay valid for the life of the process, with its code
 * @return #CAI_OK; #CAI_ERR_VERSION for a table of another version, and the message names the
 *         version needed; #CAI_ERR_VALUE if the name is already registered or invalid, or if the
 *         table lacks a required function or has only one of a pair; #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_manager_register(const char *name, const cai_manager_table *table, cai_error *error);

/** Creates a manager. These are built in:
 *
 * - "default": allocates each kind in its own way; DEFAULT is plain device memory, freed in
 *   batches;
 * - "async": DEFAULT is stream-ordered, too, from the device's current pool;
 * - "pool": likewise, from its own pool, see #cai_pool_params;
 * - "managed", or "unified": all memory is managed;
 * - "host": the heap; for the CPU only, as the others are for GPUs only;
 *
 * and these wrap an upstream manager, for device and host memory alike:
 *
 * - "statistics": counts allocations, see cai_manager_statistics();
 * - "limiting": refuses what exceeds a limit, see #cai_limit_params;
 * - "logging": writes a line for each call, see #cai_log_params;
 * - "tracking": lists what is allocated, see cai_manager_outstanding();
 * - "retrying": calls a function when memory is short, see #cai_retry_params.
 *
 * @param name      one of these, or a name of cai_manager_register(). A text with a slash is the
 *                  path of a library, as dlopen() takes it: "/path/lib.so" or "./lib.so:symbol". It
 *                  exports a #cai_manager_table under that symbol (default
 *                  cai_manager_table_export), and is never unloaded
 * @param params    the manager's params; may be NULL where the manager says so
 * @param device    the GPU, or the CPU
 * @param upstream  the manager to wrap; the function adds a reference to it. NULL for a manager
 *                  that wraps none
 * @param out       the manager; the caller owns one reference; release it with
 *                  cai_manager_release()
 * @return #CAI_OK; #CAI_ERR_VALUE for an unknown name, a library that cannot be loaded, a missing
 *         symbol, invalid params, and an upstream manager that is missing or of another device;
 *         #CAI_ERR_VERSION; #CAI_ERR_UNSUPPORTED if the device does not have that memory; the
 *         status of `create`; the rest as cai_device_set_current().
 * Since 0.1. */
cai_status cai_manager_create(const char *name, const void *params, cai_device device,
                              cai_manager *upstream, cai_manager **out, cai_error *error);

/** Adds a reference. Since 0.1. */
void cai_manager_retain(cai_manager *manager);

/** Releases a reference. Memory that the manager allocated holds references, too. Since 0.1. */
void cai_manager_release(cai_manager *manager);

/** Returns the name of the manager's table; NULL for NULL. Since 0.1. */
const char *cai_manager_name(const cai_manager *manager);

/** Returns the manager's device. Since 0.1. */
cai_device cai_manager_device(const cai_manager *manager);

/** Returns a device's manager. Unless one was installed, libcai creates it on first need: the CPU's
 * is "host"; a GPU's goes by the name passed to cai_manager_choose(), else by the environment
 * variable CAI_MEMORY_MANAGER (a name or path as for cai_manager_create()), else it is "default".
 * After #CAI_RESET_CONTEXT it is created again, also where one was installed.
 *
 * @param out  the manager, with a new reference
 * @return as cai_manager_create(); for an invalid CAI_MEMORY_MANAGER each call fails, and the
 *         message names it.
 * Since 0.1. */
cai_status cai_manager_of(cai_device device, cai_manager **out, cai_error *error);

/** Makes a manager the device's manager. Memory that is already allocated stays with its own
 * manager.
 *
 * @param manager  the function adds a reference to it; NULL: the manager that cai_manager_of()
 *                 would create
 * @return #CAI_OK; #CAI_ERR_DEVICE if the manager is another device's; #CAI_ERR_STATE if a reset
 *         with #CAI_RESET_CONTEXT has ended it; #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_manager_install(cai_device device, cai_manager *manager, cai_error *error);

/** Chooses by name the manager of every GPU that has none yet. Overrides the environment.
 *
 * @param name  as for cai_manager_create(); params are NULL and there is no upstream manager. If
 *              the manager needs them, cai_manager_of() fails. NULL: use the environment again
 * @return #CAI_OK; #CAI_ERR_VALUE and #CAI_ERR_VERSION as cai_manager_create(), with nothing
 *         changed; #CAI_ERR_MEMORY.
 * Since 0.1. */
cai_status cai_manager_choose(const char *name, cai_error *error);

/** Allocates from a manager, as cai_memory_alloc() does, but without a handle; for adaptors. If
 * memory is short, libcai frees what is pending and asks the manager once more, on the condition
 * that memalloc names. libcai checks the manager's block: if it is too small or misaligned, libcai
 * frees it at once by the manager's memfree or memhostfree, and returns #CAI_ERR_STATE; a block at
 * address 0 is refused likewise, and not freed.
 *
 * @param size    0: the block is all zeros, and the manager is not called
 * @param align   a power of two; 0: 256
 * @param kind    DEFAULT, ASYNC, MANAGED or MANAGED_GLOBAL (memalloc), PINNED, MAPPED or HOST
 *                (memhostalloc, flags 0)
 * @param stream  1 or 2 of the primary context, or a CUstream; 0 for the CPU
 * @return #CAI_OK; #CAI_ERR_MEMORY, with native 2 if the driver has no more; #CAI_ERR_VALUE for an
 *         invalid alignment, kind or stream; #CAI_ERR_UNSUPPORTED for a kind that the manager does
 *         not have; #CAI_ERR_CAPTURE on a stream that is being captured: for ASYNC memory (no
 *         manager is asked), and, by the built-in managers, for MANAGED memory and for DEFAULT
 *         memory of "async" and "pool"; #CAI_ERR_STATE after a reset with #CAI_RESET_CONTEXT, and
 *         if the manager returned a block that is too small or misaligned; #CAI_ERR_ARGUMENT; the
 *         manager's status. Since 0.1. */
cai_status cai_manager_alloc(cai_manager *manager, uint64_t size, uint64_t align, uint32_t kind,
                             uint64_t stream, cai_block *out, cai_error *error);

/** Frees a block of cai_manager_alloc(). A block of ASYNC memory, or of "async" and "pool", must be
 * freed before a reset with #CAI_RESET_CONTEXT: its pool outlives the context, and keeps it.
 *
 * @param kind    as for the allocation; within memfree, which gets no kind, DEFAULT stands for all
 *                kinds of memalloc: libcai has looked for captures already
 * @param stream  the free happens in the order of this stream
 * @return #CAI_OK, also for a block of zeros, and, without doing anything, after a reset with
 *         #CAI_RESET_CONTEXT and once the driver is unloaded; #CAI_ERR_VALUE for an invalid kind or
 *         stream; #CAI_ERR_CAPTURE on a stream that is being captured, for ASYNC memory, for
 *         DEFAULT memory of "async" and "pool", and where the manager returns it: the block is not
 *         freed, and can be freed once the capture has ended; the manager's status, or the failure
 *         that kept libcai from calling the manager: after these the block must not be freed again;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_manager_free(cai_manager *manager, const cai_block *block, uint32_t kind,
                            uint64_t stream, cai_error *error);

/** Returns the free and total memory that the manager reports.
 *
 * @param free   bytes; may be NULL
 * @param total  bytes; may be NULL
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED; the manager's status; #CAI_ERR_ARGUMENT.
 * NBEP 7, get_memory_info. Since 0.1. */
cai_status cai_manager_memory(cai_manager *manager, uint64_t *free, uint64_t *total,
                              cai_error *error);

/** Releases memory that the manager caches, down to `keep` bytes.
 *
 * @return as cai_manager_memory(), except #CAI_ERR_UNSUPPORTED.
 * Since 0.1. */
cai_status cai_manager_trim(cai_manager *manager, uint64_t keep, cai_error *error);

/** Params of "pool"; NULL: all 0. It grows at the tail. 40 bytes. Since 0.1. */
typedef struct cai_pool_params {
  uint32_t struct_size;
  uint32_t flags;     /**< CAI_POOL_* */
  uint64_t initial;   /**< bytes that the pool allocates at creation, and keeps */
  uint64_t maximum;   /**< the most bytes that the pool may have; 0: the device's limit */
  uint64_t threshold; /**< freed bytes that the pool caches; UINT64_MAX: all */
  uint64_t reserved;  /**< 0 */
} cai_pool_params;

/** Flags of cai_pool_params. Since 0.1. */
enum {
  CAI_POOL_EXPORTABLE = 1 << 0, /**< other processes can open its memory, #CAI_IPC_POOL */
  CAI_POOL_INSTALL = 1 << 1     /**< makes it the device's current pool until the manager ends:
                                     CuPy, cuda.core, RMM and all other stream-ordered allocation
                                     use it */
};

/** Params of "limiting". 16 bytes. Since 0.1. */
typedef struct cai_limit_params {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  uint64_t limit;    /**< bytes that may be allocated at a time, by cai_block.size */
} cai_limit_params;

/** Names the caller, for logs: writes at most `size` bytes of UTF-8 and a NUL, as "file.py:12". An
 * empty text means unknown. Any thread. Since 0.1. */
typedef void (*cai_caller_fn)(void *context, char *text, uint64_t size);

/** Params of "logging", which writes to a file or to a function. The first line names the columns:
 * time (seconds since the manager was created), device, action, address, size, stream, status,
 * caller. 48 bytes. Since 0.1. */
typedef struct cai_log_params {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  const char *path;  /**< appended to; NULL if `write` is set */
  void (*write)(void *context, const char *line, uint64_t length); /**< receives whole lines, with
                                                                        their line end; any
                                                                        thread */
  cai_caller_fn caller;                                            /**< may be NULL */
  void *context;                  /**< for both; belongs to the manager once that is created */
  void (*destroy)(void *context); /**< called once, when the manager has ended, on any thread. If
                                       creating it fails, the context is still the caller's. NULL:
                                       the context must outlive the manager */
} cai_log_params;

/** Params of "tracking"; NULL: all 0. 32 bytes. Since 0.1. */
typedef struct cai_track_params {
  uint32_t struct_size;
  uint32_t reserved;              /**< 0 */
  cai_caller_fn caller;           /**< may be NULL */
  void *context;                  /**< for `caller`; belongs to the manager once that is created */
  void (*destroy)(void *context); /**< as in #cai_log_params */
} cai_track_params;

/** Params of "retrying". 32 bytes. Since 0.1. */
typedef struct cai_retry_params {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  /** Called when memory is short. Returns 1 if it has freed something, to try again, or 0 to fail.
   * @param attempt  0 at the first failure of an allocation, then 1 and so on */
  int32_t (*retry)(void *context, uint64_t size, uint64_t attempt);
  void *context;                  /**< for retry; belongs to the manager once that is created */
  void (*destroy)(void *context); /**< as in #cai_log_params */
} cai_retry_params;

/** Counts of "statistics", "limiting" and "tracking". Each count is exact; while other threads
 * allocate or free, the counts may be of different moments. A block whose free has failed counts as
 * allocated, until the capture ends or for good. It grows at the tail. 64 bytes. Since 0.1. */
typedef struct cai_statistics {
  uint32_t struct_size; /**< in: sizeof(cai_statistics), at least 8; as in cai_device_info */
  uint32_t reserved;    /**< 0 */
  uint64_t bytes;       /**< bytes allocated now, by cai_block.size */
  uint64_t bytes_peak;  /**< the most bytes allocated at a time */
  uint64_t bytes_total; /**< bytes ever allocated */
  uint64_t count;       /**< allocations now */
  uint64_t count_peak;
  uint64_t count_total;
  uint64_t failures; /**< allocations that failed */
} cai_statistics;

/** Returns the counts of a manager, or of the first upstream manager that counts.
 *
 * @param out  the caller sets struct_size
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED if none counts; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_manager_statistics(const cai_manager *manager, cai_statistics *out,
                                  cai_error *error);

/** An allocation that is not freed. Valid during the callback. 48 bytes. Since 0.1. */
typedef struct cai_allocation {
  uint32_t struct_size; /**< bytes of this struct; it grows at the tail */
  uint32_t kind;        /**< CAI_KIND_* */
  uint64_t data;        /**< its address; of memhostalloc, the host's */
  uint64_t size;
  uint64_t stream;
  double seconds;     /**< time of the allocation, since the manager was created */
  const char *caller; /**< as #cai_caller_fn wrote it */
} cai_allocation;

/** Calls `visit` for each allocation that is not freed, the oldest first, of a manager or of the
 * first upstream manager that tracks. Blocks whose free has failed are included. `visit` runs with
 * no lock held.
 *
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED if none tracks; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_manager_outstanding(const cai_manager *manager,
                                   void (*visit)(void *context, const cai_allocation *allocation),
                                   void *context, cai_error *error);

/* ---- Memory ------------------------------------------------------------------------------- */

/** Reference-counted memory. The last release frees it in the order of its free stream. It does not
 * wait, unless too many frees are pending (see "Pending frees"), or the memory is from
 * cai_memory_pin(): that is unpinned at once, and the driver waits for the device first. Pinned
 * memory, CUDA arrays, and wrapped or opened memory are not freed in stream order: they are freed
 * once the work queued on their stream by then and the recorded uses are complete; a later call of
 * libcai or cai_drain() finds that. The same holds for memory that a failing driver does not put in
 * order. If no event could be recorded, or another thread releases a published view of the memory
 * at that moment, the memory stays until cai_drain() with `wait`.
 *
 * Stream 2 belongs to a thread. If another thread releases memory whose free stream is 2, libcai
 * frees it in the order of the device's legacy stream, which comes after the streams 2 of all
 * threads. While the free stream is being captured, memory is not freed, whatever its manager: a
 * later cai_memory_alloc() or cai_pending_flush() frees it, and until then managers count it as
 * allocated. Since 0.1. */
typedef struct cai_memory cai_memory;

/** A request for memory. Zero it, then set struct_size, kind and size. It grows at the tail. 88
 * bytes. Since 0.1. */
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

/** Allocates memory. If size, rows or depth is 0 where the kind needs a number, the memory has no
 * address, and no manager is asked.
 *
 * @param request  libcai adds references to its stream and manager as long as it needs them
 * @param out      the memory; the caller owns one reference; release it with cai_memory_release()
 * @return #CAI_OK; #CAI_ERR_MEMORY, with native 2 if the driver has no more; #CAI_ERR_VALUE for a
 *         field with an invalid value, for sizes whose product overflows, and for a stream or
 *         manager of another device; #CAI_ERR_UNSUPPORTED for a kind that the device does not have;
 *         #CAI_ERR_CAPTURE if the stream's capture, or one on this thread, forbids it;
 *         #CAI_ERR_STATE if a reset has ended the stream; the rest as cai_manager_alloc() and
 *         cai_device_set_current().
 * Since 0.1. */
cai_status cai_memory_alloc(cai_device device, const cai_request *request, cai_memory **out,
                            cai_error *error);

/** Pins existing host memory until the last release and until the recorded uses are complete. It is
 * then unpinned at once, since the host memory may be pinned again or freed, and the driver waits
 * for the device first: release it where the host may wait. The last release does not ask whether
 * uses are complete. If there are any, a later call unpins the memory: cai_drain(),
 * cai_pending_flush(), another cai_memory_pin() that overlaps it, or a wait for the stream. Work of
 * CPU streams has references to the memory until it is over: wait for those streams first. So
 * without `release`, wait for the CPU streams that work on it, and then call cai_drain() with
 * `wait`, before you free the host memory or pin it again. If its `left` is not 0, the memory may
 * be pinned still. Another cai_memory_pin() also waits for what other threads are ending, as
 * cai_drain() with `wait` does.
 *
 * @param host     `size` bytes
 * @param kind     PINNED or MAPPED
 * @param flags    CAI_HOST_*
 * @param release  frees the host memory after it was unpinned; may be NULL. If unpinning fails, it
 *                 is never called: a GPU may still use the memory. In captures it is called as
 *                 that of cai_memory_wrap()
 * @param context  for release; on failure it is the caller's
 * @return as cai_memory_alloc(); #CAI_ERR_UNSUPPORTED for MAPPED where the device cannot use the
 *         host's memory.
 * NBEP 7, mempin. Since 0.1. */
cai_status cai_memory_pin(cai_device device, void *host, uint64_t size, uint32_t kind,
                          uint32_t flags, void (*release)(void *context), void *context,
                          cai_memory **out, cai_error *error);

/** Flags of cai_memory_info. Since 0.1. */
enum {
  CAI_MEMORY_DEREFERENCEABLE = 1 << 0, /**< the host may use `host` */
  CAI_MEMORY_FREED = 1 << 1,           /**< freed by cai_memory_free(), or by a reset of the
                                            device */
  CAI_MEMORY_FOREIGN = 1 << 2,         /**< from cai_memory_wrap(), or of another process */
  CAI_MEMORY_VIEW = 1 << 3,            /**< cai_memory_view() */
  CAI_MEMORY_READONLY = 1 << 4         /**< must not be written; arrays of it are read-only */
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
  uint64_t size;     /**< bytes in all, padding of rows included */
  uint64_t row;      /**< bytes used of a row, as requested; size if there are no rows */
  uint64_t pitch;    /**< bytes from one row to the next; size if there are no rows */
  uint64_t rows;     /**< 1 if there are no rows */
  uint64_t depth;    /**< 1 if there is no third dimension */
  uint64_t stream;   /**< the free stream's value; 0 for the CPU */
} cai_memory_info;

/** Wraps memory that other code allocated. It has no free stream until cai_memory_set_stream().
 *
 * @param info     the call reads device, kind, data, host, size, pitch (0: the size), row (0: the
 *                 pitch, or the size if that is less; else at most `pitch`, which is then not 0),
 *                 rows (0: 1), and of the flags CAI_MEMORY_READONLY; the rest must be 0. To check
 *                 them against the driver, call cai_memory_validate()
 * @param release  frees the memory. It runs once, with no lock held, on the host, when the recorded
 *                 uses are complete; it is not ordered with any stream. For memory of a GPU the
 *                 thread's capture mode is relaxed then: release may free memory, whatever the
 *                 thread captures, but not in the order of a stream that is being captured. May be
 *                 NULL
 * @param context  for release; on failure it is the caller's
 * @return #CAI_OK; #CAI_ERR_VALUE for a field with an invalid value; #CAI_ERR_DEVICE;
 *         #CAI_ERR_DRIVER and #CAI_ERR_CUDA for GPUs; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_wrap(const cai_memory_info *info, void (*release)(void *context),
                           void *context, cai_memory **out, cai_error *error);

/** Makes a view of a part of the memory. The view holds a reference to the whole.
 *
 * @param start  bytes from its beginning
 * @param stop   likewise; start <= stop <= size
 * @return #CAI_OK; #CAI_ERR_BOUNDS; #CAI_ERR_UNSUPPORTED for a CUDA array; #CAI_ERR_STATE if it was
 *         freed; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * NBEP 7, MemoryPointer.view. Since 0.1. */
cai_status cai_memory_view(cai_memory *memory, uint64_t start, uint64_t stop, cai_memory **out,
                           cai_error *error);

/** Adds a reference. Since 0.1. */
void cai_memory_retain(cai_memory *memory);

/** Releases a reference. Since 0.1. */
void cai_memory_release(cai_memory *memory);

/** Frees memory now, even if references to it remain, in the order of its free stream and after the
 * recorded uses. If cai_memory_find() finds it, fills and copies by CPU streams of imports of it
 * come before, too. Its views are freed with it. The handle stays valid until the last reference is
 * released. Its arrays stay, marked #CAI_OWNER_FREED: no use of one can begin, and none can be
 * exported. Dicts, tensors and columns that were exported before cannot be revoked: their consumers
 * use freed memory.
 *
 * @return #CAI_OK, also if a reset has freed it; #CAI_ERR_STATE if this function has freed it
 *         already; #CAI_ERR_UNSUPPORTED for a view; the manager's status, after which the memory
 *         counts as freed; the driver's status if it kept libcai from calling the manager, which
 *         libcai then calls later; #CAI_ERR_ARGUMENT.
 * NBEP 7, MemoryPointer.free. Since 0.1. */
cai_status cai_memory_free(cai_memory *memory, cai_error *error);

/** Describes memory.
 *
 * @param out  the caller sets struct_size
 * @return #CAI_OK; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_describe(const cai_memory *memory, cai_memory_info *out, cai_error *error);

/** Finds the memory around an address, for kernels or for the host, if cai_memory_alloc() of this
 * copy of libcai allocated it. It never finds views, memory that was pinned, wrapped or opened
 * (other code may know it under another handle), or memory that a manager allocated inside of its
 * own functions; none of these hides the memory that it is part of. If a manager returns parts of
 * memory that it had allocated before by cai_memory_alloc(), a part may hide the whole: at the
 * part's addresses either is found, at higher ones perhaps neither as long as the part exists. Of
 * two that begin at the same address, the earlier may never be found again.
 *
 * @param out     the memory, with a new reference
 * @param offset  may be NULL; receives the bytes from its beginning to the address
 * @return #CAI_OK; #CAI_ERR_DEVICE if there is none; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_find(uint64_t address, cai_memory **out, uint64_t *offset, cai_error *error);

/** Checks with the driver whether memory has the device, kind and size that the caller states.
 *
 * On the CPU, and for HOST on a GPU, the memory must not be a GPU's own. If the driver does not
 * know it, the kind must be DEFAULT, ASYNC, PITCHED, HOST or, on the CPU, a managed one, since all
 * these are of the heap there; without a driver any kind is. Pinned memory must be PINNED or
 * MAPPED, and managed memory must be of a managed kind. For other kinds on a GPU the driver must
 * know the memory; device memory must be that device's own; managed memory must be of a managed
 * kind; pinned memory must be PINNED or MAPPED. The range must not leave the allocation.
 *
 * @param size  0: only the kind is checked; for address 0 not even the kind
 * @return #CAI_OK; #CAI_ERR_DEVICE if the memory is another device's, or of another kind;
 *         #CAI_ERR_BOUNDS; #CAI_ERR_VALUE for address 0 with a size, for an unknown kind, and for
 *         CUDA_ARRAY; #CAI_ERR_CUDA; #CAI_ERR_DRIVER for GPUs.
 * Since 0.1. */
cai_status cai_memory_validate(uint64_t address, uint64_t size, cai_device device, uint32_t kind,
                               cai_error *error);

/** Sets the stream in whose order memory is freed. The free, and uses of the memory's arrays, still
 * come after the work that is pending on the old stream. The new stream counts as an array that
 * comes with another stream: before its own work on the new stream the producer must call
 * cai_array_reclaim(), and after its own work on any stream it must publish: arrays that were made
 * before come with the old stream.
 *
 * @param stream  of the memory's device; the function adds a reference to it
 * @return #CAI_OK; #CAI_ERR_DEVICE; #CAI_ERR_STATE if it was freed, or if the old stream is another
 *         thread's stream 2; #CAI_ERR_UNSUPPORTED for a view; #CAI_ERR_CAPTURE if the old stream is
 *         being captured; #CAI_ERR_CUDA; #CAI_ERR_MEMORY; #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_set_stream(cai_memory *memory, cai_stream *stream, cai_error *error);

/** Records that the work queued on a stream so far uses the memory. The memory is not freed before
 * that work is complete, and later uses of its arrays wait for it, as for a write. Unlike the end
 * of a use, it does not make the array's stream wait: to work on that stream without a use, call
 * cai_array_reclaim() before. What a function on a CPU stream queues on other streams is not work
 * of its stream: the function must wait for it, or record it as well.
 *
 * @param memory  for a view, the whole memory counts as used
 * @param stream  of any device
 * @return #CAI_OK; #CAI_ERR_STATE if the memory was freed, or a reset has ended the stream;
 *         #CAI_ERR_CAPTURE if the stream is being captured; #CAI_ERR_CUDA; #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_record(cai_memory *memory, cai_stream *stream, cai_error *error);

/** Makes an array of memory. The array holds a reference to the memory, and keeps uses: it ends
 * once they are complete. Its stream is the memory's free stream; NONE if there is none, and for
 * the CPU.
 *
 * @param offset   bytes from the beginning of the memory to the first element
 * @param dtype    of an element
 * @param shape    `ndim` extents, elements; may be NULL if ndim is 0
 * @param strides  `ndim` strides, bytes; NULL: C order, with the pitch for the next to last axis of
 *                 pitched memory
 * @param out      owned; release it with cai_array_release()
 * @return #CAI_OK; #CAI_ERR_BOUNDS if the array leaves the memory; #CAI_ERR_UNSUPPORTED for a CUDA
 *         array; #CAI_ERR_STATE if it was freed; #CAI_ERR_VALUE as cai_array_validate();
 *         #CAI_ERR_ORDER if arrays of it came with another thread's stream 2; #CAI_ERR_MEMORY;
 *         #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_array(cai_memory *memory, uint64_t offset, const cai_dtype *dtype,
                            int32_t ndim, const int64_t *shape, const int64_t *strides,
                            cai_array **out, cai_error *error);

/** Makes an array of memory like another array: with its dtype, descr, shape and strides, and with
 * a mask if it has one. Only these members of `like`, and its ABI, are read, and they are copied.
 * Without such an array, zero a #cai_array and set abi_major, dtype, descr, ndim and shape;
 * likewise for the mask. Elements and mask are in this memory, and have one owner; the rest is as
 * cai_memory_array().
 *
 * @param offset       bytes from the beginning of the memory to the first element
 * @param like         its strides, and the mask's, may be NULL: C order, for the elements as in
 *                     cai_memory_array(). #CAI_FLAG_SWAPPED follows from dtype and descr, and
 *                     #CAI_FLAG_READONLY from the memory
 * @param mask_offset  bytes to the first element of the mask; ignored without a mask
 * @param out          owned; release it with cai_array_release()
 * @return as cai_memory_array(); #CAI_ERR_VALUE also for an invalid descr (entry descr), and for a
 *         mask that does not broadcast to the shape; #CAI_ERR_LAYOUT if the mask overlaps the
 *         elements, #CAI_ERR_BOUNDS if it leaves the memory (entry mask); #CAI_ERR_VERSION for a
 *         `like` of another ABI major, or with an unknown critical flag.
 * The text, "descr" and "mask". Since 0.1. */
cai_status cai_memory_array_like(cai_memory *memory, uint64_t offset, const cai_array *like,
                                 uint64_t mask_offset, cai_array **out, cai_error *error);

/** Makes an uninitialised array like `like` in new memory, in C order. If `like` has a mask, the
 * array gets a mask of the mask's dtype and shape (also if it broadcasts), after the elements. An
 * axis of stride 0 is not repeated: each element has its own place. cai_array_copy() then copies
 * elements and mask.
 *
 * @param like     as for cai_memory_array_like(); its strides are ignored
 * @param request  kind, align, flags, stream and manager; size, rows and depth are 0. For the kinds
 *                 PITCHED and PITCHED_MANAGED, each row holds the last axis. NULL: of kind DEFAULT
 * @param out      owned; release it with cai_array_release()
 * @return as cai_memory_alloc() and cai_memory_array_like(); #CAI_ERR_UNSUPPORTED for a mask in
 *         pitched memory (entry mask), and for CUDA_ARRAY.
 * The text, "descr" and "mask". Since 0.1. */
cai_status cai_array_empty_like(const cai_array *like, cai_device device,
                                const cai_request *request, cai_array **out, cai_error *error);

/** Returns the memory of an array. For an array of cai_memory_array(), and for its views, that is
 * the memory it was made of (the whole, if it was made of a view of memory).
 *
 * For any other array it is new memory of the extent of its elements, without the mask. That memory
 * holds a reference to the array until its own last reference is released, also if it is freed by
 * cai_memory_free(), and it is an owner of its own. Until it is released, uses of its arrays and of
 * `array` do not see each other, so use only one of the two. Its stream is the thread's current
 * stream, which waits for the array's stream; when the memory is released, the array's stream waits
 * for that stream. If by then one of the two streams is in a capture that the other is not in, or
 * that has begun since, the array's stream does not wait, and only the array's owner keeps the
 * work: later uses wait for it, and a producer must reclaim. An owner with functions of its own is
 * told of work that is still pending once the capture has ended. Arrays of such memory can be used
 * in a capture only if the memory's stream is in it. Work of CPU streams is always ordered between
 * the two. A release in a function on a GPU stream, or while a blocking stream is being captured
 * and the memory's stream is 1, or in which the driver fails (the hook of cai_on_failure() receives
 * that), is completed by a later call: call cai_drain(), after the capture, before `array` is used.
 *
 * For a read-only array the memory is #CAI_MEMORY_READONLY; it is a view if the whole may be
 * written. It is #CAI_MEMORY_FREED once the array's owner is #CAI_OWNER_FREED.
 *
 * @param array   owned
 * @param out     the memory; the caller owns a reference
 * @param offset  may be NULL; receives the bytes from the beginning of the memory to the first
 *                element
 * @return #CAI_OK; #CAI_ERR_ARGUMENT, also for a borrowed array; #CAI_ERR_DEVICE for ROCm, and if
 *         the driver does not know the memory; #CAI_ERR_STATE if the memory was freed
 *         (#CAI_OWNER_FREED) and is not of cai_memory_array(); the rest as cai_array_locate() and
 *         cai_use_begin().
 * Since 0.1. */
cai_status cai_memory_of(const cai_array *array, cai_memory **out, uint64_t *offset,
                         cai_error *error);

/* ---- Work on arrays ----------------------------------------------------------------------- */

/** Copies the elements of an array to another array, in the order of a stream, between any two
 * devices. It begins and ends the use of both. If a GPU copies from or to an array on the CPU, the
 * host waits until the copy is complete. A CPU stream waits for pending work of other CPU streams
 * on the arrays; for pending work of a GPU on pinned memory, the host waits.
 *
 * On a GPU most layouts take one driver call. Axes that run in opposite directions, are repeated
 * (stride 0) or do not nest take one call for each step of such an axis. A CPU stream with
 * #CAI_MODE_ASYNC holds references to both arrays until the copy is complete, and their owners keep
 * the work: later uses wait for it, on GPUs too. If one array is borrowed, or its owner's used_on
 * is not cai_owner_used_on(), the call waits for the copy.
 *
 * A mask is copied, too: `to` must have a mask of the same type, not read-only, whose shape
 * `from`'s mask broadcasts to; masks of bits must have the same shape, and fill whole bytes. If
 * `from` has no mask, `to`'s mask is set to true. Elements and masks are one use: if it is refused,
 * neither has changed. If the driver fails, work may have been queued, whose use is abandoned, as
 * by cai_use_abandon(): call cai_drain() with `wait` before other code uses the arrays. If a mask
 * must be copied or set by another GPU than the stream's, the thread's current stream of that GPU
 * does it, between what the stream has done and what it does next; not in a capture.
 *
 * @param from    any strides; CAI_ACCESS_READ
 * @param to      not read-only; of the same shape and dtype, and with fields of the same types if
 *                both are of kind V and have a descr; their names may differ. Must not overlap
 *                `from`
 * @param stream  of the device of either array, or of the device that either's memory was allocated
 *                for. It must be a GPU's unless the host may use both arrays (memory of the CPU,
 *                and pinned memory). NULL: the thread's current stream of `to`'s device; of
 *                `from`'s device if `to` is on the host, or if `to` is managed and `from` is a
 *                GPU's own memory
 * @return #CAI_OK; #CAI_ERR_VALUE if shapes or types differ, if `to` is read-only, and (entry mask)
 *         if `to` has no mask for `from`'s or its mask does not match; #CAI_ERR_LAYOUT if elements
 *         of `to` overlap each other or `from`'s; #CAI_ERR_UNSUPPORTED for bits, except masks whose
 *         bits fill whole bytes; #CAI_ERR_DEVICE for a stream of a third device; #CAI_ERR_CAPTURE,
 *         also if the stream is being captured and the host, or another GPU, must do a part;
 *         #CAI_ERR_STATE if the memory was freed, or a reset has ended the stream; the failure of
 *         earlier work on a CPU stream, once; the rest as cai_use_begin(), of a mask's stream with
 *         "mask: " before the message.
 * Since 0.1. */
cai_status cai_array_copy(const cai_array *from, const cai_array *to, cai_stream *stream,
                          cai_error *error);

/** Sets all elements of an array, in the order of a stream. It begins and ends the use. Elements
 * that the mask marks invalid are set, too; the mask does not change.
 *
 * @param array   not read-only
 * @param value   itemsize bytes of host memory, in the array's byte order; read before the call
 *                returns. They are copied unchanged, whatever the type: for bfloat16 and float8
 *                they are the bits
 * @param stream  of the array's device, or of the device that its memory was allocated for; or a
 *                CPU stream for memory of the CPU and pinned memory. NULL: the thread's current
 *                stream of the array's device
 * @return as cai_array_copy().
 * Since 0.1. */
cai_status cai_array_fill(const cai_array *array, const void *value, cai_stream *stream,
                          cai_error *error);

/** Copies one element to the host, from any memory. It waits for pending work on the array; for an
 * array on the CPU, also for the work queued on the thread's current CPU stream.
 *
 * @param index  `ndim` indices, elements; a negative index counts from the end; may be NULL if ndim
 *               is 0
 * @param out    receives itemsize bytes, in the array's byte order
 * @return as cai_array_copy(); #CAI_ERR_UNSUPPORTED for a masked array; #CAI_ERR_ARGUMENT for an
 *         index out of range (cai_error.index is the axis).
 * Since 0.1. */
cai_status cai_array_item(const cai_array *array, const int64_t *index, void *out,
                          cai_error *error);

/** Copies the first element of an array to the host, as cai_array_item() does.
 *
 * @param out  receives itemsize bytes, in the array's byte order
 * @return as cai_array_item(); #CAI_ERR_ARGUMENT if there are no elements.
 * Since 0.1. */
cai_status cai_array_first(const cai_array *array, void *out, cai_error *error);

/** Waits for the thread's current stream of the array's device, and for all pending work on the
 * array and its mask. Does not wait if the array has no elements.
 *
 * @return as cai_stream_synchronize() and cai_array_sync_host().
 * Since 0.1. */
cai_status cai_array_eval(const cai_array *array, cai_error *error);

/* ---- Pending frees ------------------------------------------------------------------------ */

/* libcai frees the pending frees of a device
 *
 * - once there are more than 10 (the environment variable CAI_MAX_PENDING_DEALLOCS_COUNT), as far
 *   as the host need not wait, since the driver would wait for the device: not while there is work
 *   on the streams that they were freed on. If the stream of the last one is not known (pinned
 *   memory, CUDA arrays, and cai_pending_add()), the thread's current stream and the default and
 *   blocking streams count, too. The thread of a CPU stream frees none so;
 * - once they exceed a fifth of the device's memory (CAI_MAX_PENDING_DEALLOCS_RATIO), each counted
 *   as 64 KiB at least; when memory is short; and when the program asks, cai_pending_flush(). Then
 *   the host waits. If memory is short, it also waits for frees that other threads are running of
 *   memory that the built-in managers allocated. They call no function outside libcai.
 *
 * It frees nothing while cai_pending_defer() is open, or while it sees a capture: of the thread's
 * current stream, of a default stream, or of a blocking stream of the primary context. A capture
 * that it does not see is not harmed. Streams and events are destroyed once more than 10 of them
 * are pending. A free that fails does not stop the others; the first failure goes to
 * cai_on_failure(). The default manager frees plain and managed memory in this way, by cuMemFree,
 * after an event on the free stream. */

/** The allocated and the pending memory of a device. It grows at the tail. 48 bytes. Since 0.1. */
typedef struct cai_usage {
  uint32_t struct_size;   /**< in: sizeof(cai_usage), at least 8; as in cai_device_info */
  uint32_t deferred;      /**< calls of cai_pending_defer() that have not ended */
  uint64_t bytes;         /**< bytes of allocated #cai_memory, without the memory that a manager
                               allocates inside of its own functions; pinned and managed memory of a
                               GPU counts for the CPU, too. Memory counts until its last release or
                               cai_memory_free(), even if its free is deferred then; memory that a
                               built-in manager has from a pool, until #CAI_RESET_CONTEXT, too */
  uint64_t count;         /**< allocations of these bytes */
  uint64_t pending_bytes; /**< bytes of pending frees */
  uint64_t pending_count; /**< pending frees, and streams and events to be destroyed */
  uint64_t reserved;      /**< 0 */
} cai_usage;

/** Returns the allocated and the pending memory of a device.
 *
 * @param out  the caller sets struct_size
 * @return #CAI_OK; #CAI_ERR_DEVICE; #CAI_ERR_VALUE as cai_device_format(); #CAI_ERR_ARGUMENT.
 * Since 0.1. */
cai_status cai_memory_usage(cai_device device, cai_usage *out, cai_error *error);

/** Adds a pending free, for managers. `free` runs once, later or before the call returns, on any
 * thread, with the GPU's primary context current and no lock held. It may run after the manager's
 * `destroy`, unless that calls cai_pending_flush(); even then another thread may be running it. A
 * reset of the device runs it at the latest. If it is added while #CAI_RESET_CONTEXT destroys the
 * context, `free` does not run: the addresses may belong to other memory by then.
 *
 * @param bytes    bytes that `free` frees; may be 0
 * @param free     the function; returns a status, and writes the error on failure
 * @param context  for free; on failure it is the caller's
 * @return #CAI_OK; #CAI_ERR_MEMORY; #CAI_ERR_DEVICE; #CAI_ERR_VALUE as cai_device_format();
 *         #CAI_ERR_ARGUMENT, also if a limit in the environment is not a number; #CAI_ERR_DRIVER;
 *         #CAI_ERR_CUDA; #CAI_ERR_STATE.
 * NBEP 7, "pending deallocations". Since 0.1. */
cai_status cai_pending_add(cai_device device, uint64_t bytes,
                           cai_status (*free)(void *context, cai_error *error), void *context,
                           cai_error *error);

/** Runs all pending frees of a device; none while cai_pending_defer() is open. It also retries to
 * free memory of any device whose free failed because of a capture, out of memory or the driver, as
 * cai_memory_alloc() does; it waits for the work that uses that memory, as cai_memory_alloc() does
 * not. It waits for the pending frees, of any device, and for the deferred ends of arrays that
 * other threads are running at that moment, unless it is called within one, within a manager's
 * function, in a function on a GPU stream, or by work of a CPU stream. So none of them may wait for
 * the caller, or need a lock that the caller holds. A free that a free adds may stay pending.
 *
 * @return #CAI_OK; the first failure of a free, retried frees included (the others are freed all
 *         the same); #CAI_ERR_CAPTURE if anything is pending while libcai sees a capture, and then
 *         nothing of it is freed; #CAI_ERR_VALUE as cai_device_format() (nothing is pending on a
 *         device that does not exist); the rest as cai_device_set_current(). A retried free that
 *         cannot run yet is no failure: it stays deferred, and what hinders it, unless that is a
 *         capture, goes to cai_on_failure().
 * Since 0.1. */
cai_status cai_pending_flush(cai_device device, cai_error *error);

/** Begins or ends a period in which only a reset runs pending frees, even if memory is short.
 * Periods nest, and may overlap. If the device's manager has defer_cleanup, libcai calls it, too;
 * it calls it for an end once the manager has had more beginnings than are open, since an end does
 * not name its beginning. Any thread may end a period; an end frees nothing by itself. Frees that
 * another thread is running as a period begins go on.
 *
 * @param defer  1 begins it, 0 ends it
 * @return #CAI_OK; #CAI_ERR_STATE for an end without a beginning; the manager's status;
 *         #CAI_ERR_VALUE for another value of `defer`; #CAI_ERR_DEVICE; #CAI_ERR_MEMORY; the rest
 *         as cai_manager_of().
 * NBEP 7, defer_cleanup. Since 0.1. */
cai_status cai_pending_defer(cai_device device, int32_t defer, cai_error *error);

/* ---- Memory of other processes ------------------------------------------------------------ */

/** Makes a handle that another process can open. libcai does not order work between processes: wait
 * for the work on the memory, then tell the other process by a message.
 *
 * @param memory  a GPU's, of the kind DEFAULT or ASYNC, as its manager has it: plain memory of the
 *                driver's, or memory of an exportable pool; may be a view. Hold a reference until
 *                the other processes have closed theirs, which is not before the work on it there
 *                is complete
 * @param fd      receives the pool's descriptor, which the caller must close; -1 for
 *                #CAI_IPC_LEGACY
 * @return #CAI_OK; #CAI_ERR_UNSUPPORTED for other kinds and pools, for managed memory, and for
 *         memory that is the CPU's or another library's, was opened, is read-only or has no bytes;
 *         #CAI_ERR_STATE if it was freed, or if the manager returned an invalid handle;
 *         #CAI_ERR_CUDA; the manager's status; #CAI_ERR_ARGUMENT.
 * NBEP 7, get_ipc_handle. Since 0.1. */
cai_status cai_memory_share(cai_memory *memory, cai_ipc_handle *out, int32_t *fd, cai_error *error);

/** How cai_memory_open() opens memory. Since 0.1. */
enum {
  CAI_OPEN_DIRECT = 1, /**< in place: on its own device, or on a device that can access that one */
  CAI_OPEN_STAGED = 2, /**< as a copy in new memory, queued on the stream; the original is closed
                            once the copy is complete */
  CAI_OPEN_AUTO = 3    /**< DIRECT where possible, else STAGED */
};

/** Opens memory of another process. Memory that is already open on this device is shared, not
 * opened again.
 *
 * @param handle  its process must be alive, and must not have freed the memory
 * @param fd      for #CAI_IPC_POOL the received descriptor, which stays the caller's to close; else
 *                -1
 * @param device  the device that will use the memory; libcai finds the memory's own device by its
 *                UUID, whatever its ordinal
 * @param stream  the stream in whose order it is copied and closed; NULL: the thread's current
 *                stream of `device`. A copy is not captured: #CAI_ERR_CAPTURE
 * @param how     CAI_OPEN_*
 * @param out     the memory; the caller owns one reference, and the last release closes it
 * @return #CAI_OK; #CAI_ERR_STATE for a handle of this process, or of a process that has ended;
 *         #CAI_ERR_DEVICE if this process does not see the device, or, for DIRECT, `device` cannot
 *         access it; #CAI_ERR_VALUE for an invalid handle; #CAI_ERR_CUDA; the rest as
 *         cai_memory_alloc().
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
