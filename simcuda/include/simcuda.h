/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for tests, which simcuda's libcuda.so.1 exports beside CUDA's driver API. Look them up
 * by dlsym. Any thread may call them at any time, and an int32_t result is a CUresult, unless the
 * documentation says otherwise.
 *
 * A `name` is a base name: "cuMemAlloc" stands for all its versions and per-thread variants. A
 * stream is a CUstream; 0, 1 and 2 mean the same as for cuStreamSynchronize. */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Races ------------------------------------------------------------------------------------ */

/* Returns the number of races found so far in this process; 0 under SIMCUDA_RACES=off. */
uint64_t simcuda_races(void);
/* Returns the number of findings so far in this process. A finding is a fault in a PTX kernel; by
 * the checks of SIMCUDA_CHECK, a race between threads of a kernel, a read of bytes that were never
 * written, or a barrier that some threads do not reach; and a call with a destroyed stream or
 * event, or with another object in its place, unless SIMCUDA_STALE_HANDLES is 0; and, if
 * SIMCUDA_GIL is 1, a call while the thread holds Python's GIL. */
uint64_t simcuda_findings(void);
/* Reports that the host reads memory now, or writes it if `write` is not 0. simcuda compares this
 * with the work on streams, like any other use. In a host function, the access has the function's
 * place in the stream. Returns CUDA_ERROR_INVALID_VALUE for an address that the host cannot
 * access. */
int32_t simcuda_host_access(const void *address, uint64_t size, int32_t write);
/* Finishes all work, and clears races, findings, uses of memory, call counts and pending faults of
 * simcuda_fail(). Earlier races no longer affect the exit status. In a host function, which is work
 * itself, it does nothing. */
void simcuda_reset(void);
/* Like simcuda_reset(), but keeps counts and faults. It is faster, for use between many short
 * programs that keep their streams, contexts and memory. */
void simcuda_forget(void);
/* Restarts the random schedule (SIMCUDA_SCHEDULE=random:SEED) with this seed. What a thread does
 * after simcuda_forget() and this call is scheduled in the same way each time, whatever came
 * before. Does nothing under other schedules. */
void simcuda_reseed(uint64_t seed);

/* --- Order ------------------------------------------------------------------------------------ */

/* Returns a mark for the calling thread's last step: the last operation that it submitted (for a
 * graph launch, the end of the graph), or the host's last access to memory, frees included.
 * Captured work is not submitted. Returns 0 if there is no such step, or under SIMCUDA_RACES=off. A
 * mark is valid until simcuda_forget() or simcuda_reset(). */
uint64_t simcuda_last_work(void);
/* Returns 1 if the step of mark `first` comes before the step of `second` under every schedule, by
 * the rules of order in docs/races.md; else 0. Returns -1 if a mark is invalid. */
int32_t simcuda_ordered(uint64_t first, uint64_t second);

/* --- Calls ------------------------------------------------------------------------------------ */

/* Returns how often a function has been called in this process; for NULL, the sum over all
 * functions. Returns UINT64_MAX if there is no such name. */
uint64_t simcuda_calls(const char *name);
/* Returns how often functions were called that simcuda does not implement. */
uint64_t simcuda_unsupported(void);
/* Sets both counts to 0. */
void simcuda_reset_counts(void);
/* Returns the number of operations that were submitted and have not run. */
uint64_t simcuda_pending(void);
/* How many objects of the client's there are, by the name of their type: "CUcontext" (and each
 * reference to a primary one), "CUstream", "CUevent", "CUdeviceptr" (memory of any kind, from its
 * allocation to its free), "CUarray" (but for the levels of another), "CUmipmappedArray",
 * "CUtexObject", "CUsurfObject", "CUmemoryPool" (but for the devices' own), "CUgraph",
 * "CUgraphExec", "CUuserObject"; UINT64_MAX if it is none of them. */
uint64_t simcuda_objects(const char *type);

/* Makes the nth call of `name` from now on (1: the next one) do nothing and return `status`. nth 0
 * cancels all faults of that name. A sticky error (214, 700, 702, 710, 714 to 719) makes the
 * caller's current context unusable: all later calls in it return that error. Returns 0, or 500 if
 * there is no such name. */
int32_t simcuda_fail(const char *name, uint64_t nth, int32_t status);

/* A status for simcuda_fail: that call loses the device of the caller's current context, as
 * simcuda_lose_device() does, and returns what a call for a lost device returns. */
#define SIMCUDA_LOSE_DEVICE (-1)

/* Loses a device for good, like a GPU that has fallen off the bus. From now on calls that use its
 * contexts, memory or pools return CUDA_ERROR_UNKNOWN (999), including frees and new contexts, and
 * none of its work runs any more. Resetting its primary context does not help. Other devices are
 * not affected. Returns 0, 3 before cuInit, or 101 if there is no such device. */
int32_t simcuda_lose_device(int32_t ordinal);

/* --- Work ------------------------------------------------------------------------------------- */

/* Submits work that keeps the stream busy for a time, measured by the virtual clock that
 * cuEventElapsedTime reads: work that nothing orders takes place at the same time. Under every
 * schedule, later work on the stream is late: only a call that waits, or quiet time, ends the
 * busy time at once. Each query passes one virtual millisecond, and returns CUDA_ERROR_NOT_READY
 * while any time is left. In a capture the work becomes a node. Returns 0, or what cuLaunchKernel
 * would return. */
int32_t simcuda_busy(void *stream, uint64_t nanoseconds);

/* --- Kernels ---------------------------------------------------------------------------------- */

/* A launch, as a kernel sees it. The arguments are copies that the launch made. */
typedef struct simcuda_launch {
  uint32_t grid[3];  /* blocks */
  uint32_t block[3]; /* threads */
  uint32_t shared_bytes;
  uint32_t argument_count;
  const void *const *arguments;
} simcuda_launch;

/* Memory that a launch reads or writes. */
typedef struct simcuda_range {
  uint64_t address; /* on the device */
  uint64_t size;    /* in bytes */
  int32_t write;    /* 0: the launch reads it; else it writes, or reads and writes it */
  int32_t reserved; /* 0 */
  void *bytes;      /* for `run`: the memory, also of ranges that are only read */
} simcuda_range;

/* States the ranges of a launch: fills in the first `capacity` of them, except `bytes`, and returns
 * how many there are. Each launch, or each capture of one, calls it once or twice. */
typedef uint32_t (*simcuda_kernel_ranges)(const simcuda_launch *launch, simcuda_range *out,
                                          uint32_t capacity);
/* Does the work of all threads of a launch, on those ranges in the same order. Returns 0, or an
 * error such as 719 that ends the context. */
typedef int32_t (*simcuda_kernel_run)(const simcuda_launch *launch, const simcuda_range *ranges,
                                      uint32_t count);

/* Registers a kernel. If the name is registered already, the new kernel replaces the old one for
 * functions that are looked up later. The kernel has `argument_count` arguments, of
 * `argument_sizes` bytes each. `ranges` may be NULL if the kernel uses no memory, and `run` if it
 * changes none. Both functions are part of the device, not of the client: they run on any thread,
 * must call neither CUDA (which returns 800) nor simcuda, must not wait, and must not throw. If a
 * range is outside of any allocation, or in memory that the device cannot access, the kernel fails
 * with an illegal address (700) when it runs. Freed memory reads as 0xDB, and writes to it are
 * dropped.
 *
 * Clients load a module or library whose image is the text "simcuda module\n" and then one line for
 * the name of each kernel: by cuModuleLoadData and cuModuleGetFunction, or by cuLibraryLoadData and
 * cuLibraryGetKernel.
 *
 * Returns 0, or 1 if the name is NULL, is empty or has a line feed, or an argument has 0 bytes. */
int32_t simcuda_kernel(const char *name, const uint32_t *argument_sizes, uint32_t argument_count,
                       simcuda_kernel_ranges ranges, simcuda_kernel_run run);

/* The function of a stand-in: a kernel that reports what it uses while it runs. Like a PTX kernel,
 * it runs on a thread of the driver, at its place in stream order, and simcuda compares the memory
 * that it has used with that of other work. `data` is the test's. Returns 0, or an error such as
 * 719 that ends the context. It must not call CUDA (which returns 800), but it may call
 * simcuda_use(), and may run for long.
 *
 * simcuda_stand_in() registers it as simcuda_kernel() does. Apart from images that name it, it
 * replaces the kernel with its name in PTX, which must have the same arguments, and in machine
 * code: an image of machine code alone (a cubin, or a fat binary without PTX) can then be loaded,
 * and has the registered kernels. The name is the one in the image, as mangled by the compiler.
 * This also holds for kernels of simcuda_kernel().
 *
 * Returns 0, or 1 if simcuda_kernel() would return 1, or if `run` is NULL. */
typedef int32_t (*simcuda_stand_in_run)(const simcuda_launch *launch, void *data);
int32_t simcuda_stand_in(const char *name, const uint32_t *argument_sizes, uint32_t argument_count,
                         simcuda_stand_in_run run, void *data);
/* Called by a stand-in: reports that it reads these `size` bytes, or writes them if `write` is not
 * 0. Returns a pointer to them, valid until the stand-in returns. Returns NULL, and the launch
 * fails with 700, if the context can access no memory there. Freed memory reads as 0xDB, and writes
 * to it are dropped. */
void *simcuda_use(uint64_t address, uint64_t size, int32_t write);

#ifdef __cplusplus
}
#endif

#endif
