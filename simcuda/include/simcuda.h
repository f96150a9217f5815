/* SPDX-License-Identifier: BSD-3-Clause */
/* What simcuda's libcuda.so.1 exports beside CUDA's driver interface, for tests: found by dlsym.
 * Any thread may call these, at any time, unless it says otherwise. A result is a CUresult.
 *
 * A `name` is a base name: "cuMemAlloc" stands for all its versions and flavours. A stream is a
 * CUstream, with the same meaning of 0, 1 and 2 as in cuStreamSynchronize. */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Races ------------------------------------------------------------------------------------ */

/* Races found so far in this process; 0 under SIMCUDA_RACES=off. */
uint64_t simcuda_races(void);
/* What was found so far in this process: inside kernels of PTX faults, and, by the checks of
 * SIMCUDA_CHECK, races between their threads, reads of bytes that nobody wrote, barriers that are
 * not met; and calls that were given a destroyed stream or event, unless SIMCUDA_STALE_HANDLES is
 * 0. */
uint64_t simcuda_findings(void);
/* The host reads memory now, or (`write` not 0) writes it: compared with the work on streams as any
 * other use. In a host function, at its place in the stream. INVALID_VALUE for an address that the
 * host cannot use. */
int32_t simcuda_host_access(const void *address, uint64_t size, int32_t write);
/* Finishes all work; forgets races, findings, uses of memory, counts of calls and faults that a
 * test left. A race that was reported changes no exit status any more. In a host function, which is
 * work itself, it does nothing. */
void simcuda_reset(void);
/* The same, but for counts and faults: quicker, between many short programs that keep their
 * streams, contexts and memory. */
void simcuda_forget(void);
/* Under SIMCUDA_SCHEDULE=random:SEED, draws from this seed from now on: what a thread does after
 * simcuda_forget() and this is scheduled the same each time, whatever came before. Nothing under
 * other schedules. */
void simcuda_reseed(uint64_t seed);

/* --- Order ------------------------------------------------------------------------------------ */

/* A mark of what the calling thread did last: the last operation that it has submitted (of a
 * graph's launch, its end), or the host's last access to memory, a free among them. What is
 * captured is not submitted. 0 if there is none, or under SIMCUDA_RACES=off; good until
 * simcuda_forget() or simcuda_reset(). */
uint64_t simcuda_last_work(void);
/* Whether what `first` marks comes before what `second` marks, whatever the schedule does, by what
 * orders work: the table in docs/races.md. 1 or 0; -1 if one is no good mark. */
int32_t simcuda_ordered(uint64_t first, uint64_t second);

/* --- Calls ------------------------------------------------------------------------------------ */

/* How often a function has been called in this process, or (NULL) all of them; UINT64_MAX if there
 * is no such name. */
uint64_t simcuda_calls(const char *name);
/* How often something was called that simcuda does not implement. */
uint64_t simcuda_unsupported(void);
/* Sets both to 0. */
void simcuda_reset_counts(void);
/* Operations that have been submitted and have not run. */
uint64_t simcuda_pending(void);
/* How many objects of the client's there are, by the name of their type: "CUcontext" (and each
 * reference to a primary one), "CUstream", "CUevent", "CUdeviceptr" (memory of any kind, from its
 * allocation to its free), "CUarray" (but for the levels of another), "CUmipmappedArray",
 * "CUtexObject", "CUsurfObject", "CUmemoryPool" (but for the devices' own), "CUgraph",
 * "CUgraphExec", "CUuserObject"; UINT64_MAX if it is none of them. */
uint64_t simcuda_objects(const char *type);

/* The nth call of `name` from now on (1: the next) does nothing and returns `status`; nth 0 takes
 * back all of that name. An error that a device would not recover from (214, 700, 702, 710, 714 to
 * 719) becomes the state of the caller's current context: all its calls return it from there on.
 * Returns 0, or 500 if there is no such name. */
int32_t simcuda_fail(const char *name, uint64_t nth, int32_t status);

/* As a status for simcuda_fail: from that call on the device of the caller's current context is
 * lost, as by simcuda_lose_device; the call returns what it then does. */
#define SIMCUDA_LOSE_DEVICE (-1)

/* The device is lost, as one that has fallen off the bus: for good. From now on what uses its
 * contexts, its memory or its pools returns CUDA_ERROR_UNKNOWN (999), frees and new contexts as
 * well, and none of its work runs any more; resetting its primary context heals nothing. Other
 * devices go on. Returns 0, 3 before cuInit, or 101 if there is no such device. */
int32_t simcuda_lose_device(int32_t ordinal);

/* --- Work ------------------------------------------------------------------------------------- */

/* Submits work that keeps the stream busy for so long, by the virtual clock that
 * cuEventElapsedTime reads (one clock for all streams: work beside it adds up). Under every
 * schedule, what follows is late: nothing but a call that waits, or quiet time, ends it at once; a
 * query passes a virtual millisecond, and says CUDA_ERROR_NOT_READY while any is left. In a
 * capture it becomes a node. Returns 0 or what cuLaunchKernel would. */
int32_t simcuda_busy(void *stream, uint64_t nanoseconds);

/* --- Kernels ---------------------------------------------------------------------------------- */

/* A launch, as a kernel sees it. The arguments are copies, taken by the launch. */
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
  int32_t write;    /* 0: it is read; else written, or read and written */
  int32_t reserved; /* 0 */
  void *bytes;      /* for `run`: where the memory is. Of ranges that are only read, too. */
} simcuda_range;

/* States the ranges of a launch: fills the first `capacity` of them, but for `bytes`, and returns
 * how many there are. Called once or twice by each launch, or by each capture of one. */
typedef uint32_t (*simcuda_kernel_ranges)(const simcuda_launch *launch, simcuda_range *out,
                                          uint32_t capacity);
/* Does the work of all threads of a launch, on those ranges in the same order. Returns 0, or an
 * error such as 719 that ends the context. */
typedef int32_t (*simcuda_kernel_run)(const simcuda_launch *launch, const simcuda_range *ranges,
                                      uint32_t count);

/* Registers a kernel, or replaces it for functions that are got later. It has `argument_count`
 * arguments, of `argument_sizes` bytes each. `ranges` may be NULL: it touches nothing; `run` may be
 * NULL: it changes nothing. Both are part of the device, not of the client: they run on any thread,
 * may call neither CUDA (that returns 800) nor simcuda, wait for nobody and throw nothing. A range
 * outside of any allocation, or of another device without access to it, is an illegal address
 * (700) when the kernel runs; freed memory reads as 0xDB and keeps nothing.
 *
 * Clients find it through a module or library whose image is the text "simcuda module\n" and then
 * a line for the name of each kernel: cuModuleLoadData and cuModuleGetFunction, or
 * cuLibraryLoadData and cuLibraryGetKernel.
 *
 * Returns 0, or 1 for no name, one with a line feed, or an argument of 0 bytes. */
int32_t simcuda_kernel(const char *name, const uint32_t *argument_sizes, uint32_t argument_count,
                       simcuda_kernel_ranges ranges, simcuda_kernel_run run);

/* A kernel that says what it uses while it runs: it is executed as one of PTX is, on a thread of
 * the driver's own, at its place in stream order, and compared with other work by what it has used.
 * `data` is the test's. Returns 0, or an error such as 719 that ends the context. It may not call
 * CUDA (that returns 800), but it may call simcuda_use(), and take its time.
 *
 * Registers it as simcuda_kernel() does. Beside images that name it, it takes the place of the
 * kernel of its name in PTX, which must have the same arguments, and in machine code: an image of
 * that alone (a cubin, or a fat binary without PTX) can then be loaded, and has the kernels that
 * are registered. The name is the image's, as a compiler mangled it. The same holds for kernels of
 * simcuda_kernel().
 *
 * Returns 0, or 1 for what simcuda_kernel() refuses, and without `run`. */
typedef int32_t (*simcuda_stand_in_run)(const simcuda_launch *launch, void *data);
int32_t simcuda_stand_in(const char *name, const uint32_t *argument_sizes, uint32_t argument_count,
                         simcuda_stand_in_run run, void *data);
/* In a stand-in: it reads these `size` bytes, or (`write` not 0) writes them. Returns where they
 * are, until it returns; NULL, and the launch ends with 700, if no memory is there within the
 * context's reach. Freed memory reads as 0xDB and keeps nothing. */
void *simcuda_use(uint64_t address, uint64_t size, int32_t write);

#ifdef __cplusplus
}
#endif

#endif
