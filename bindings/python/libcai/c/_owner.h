/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner of an array that Python exported: one block with the exporter, the struct and its dims.
 * The last release may come from any thread: with the GIL the exporter is dropped at once; without
 * it the block is queued (_letting_go.h); if there are too many, the thread takes the GIL and
 * drains the queue. While uses of the memory are kept, libcai defers that; the block then has no
 * reference. */
#ifndef CAI_PY_OWNER_H
#define CAI_PY_OWNER_H

#include <Python.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "_letting_go.h"
#include "cai.h"

typedef struct cai_py_block {
  cai_owner owner;         /* first: its address is the block's */
  cai_array array;         /* behind it: CAI_OWNER_ARRAY_FOLLOWS */
  PyObject *exporter;      /* one reference, or NULL */
  PyObject *mask_exporter; /* likewise */
  const cai_array *inner;  /* of a view: the block that libcai made; we own one reference */
  cai_owner *held;         /* of a view: what `inner` holds */
  PyObject *streams;       /* a dict of stream objects that live as long, by id(); or NULL */
  cai_py_going link;       /* in the queue, or among the suspects */
  int64_t holders;
  uint64_t pooled; /* 1: of CAI_PY_POOLED bytes, and may be kept for the next array */
  /* storage follows: dims, descr, mask */
} cai_py_block;

static cai_py_queue cai_py_blocks;
static struct {
  int64_t queued; /* blocks in it, or on their way into or out of it */
  int64_t most;   /* of them */
} cai_py_counts;

static int cai_py_has_gil(void) {
  return cai_py_may_run(cai_py_blocks.interpreter);
}

static cai_py_block *cai_py_block_at(cai_py_going *link) {
  return (cai_py_block *)((char *)link - offsetof(cai_py_block, link));
}

static void cai_py_release(cai_owner *self);

/* What a view holds that Python does not own; NULL if there is nothing. */
static cai_owner *cai_py_foreign(const cai_py_block *block) {
  return block->held && block->held->release != cai_py_release ? block->held : NULL;
}

static void cai_py_let_go_inner(const cai_array *inner, cai_owner *foreign) {
  cai_array_release(inner);
  if (foreign) foreign->release(foreign);
}

static void cai_py_block_free(cai_py_block *block) {
  const cai_array *inner = block->inner;
  cai_owner *foreign = cai_py_foreign(block);
  free(block);
  cai_py_let_go_inner(inner, foreign);
}

/* Blocks of the usual size, for the next array. Touched with the GIL only. */
enum { CAI_PY_POOLED = 384, CAI_PY_POOL = 16 };
static struct {
  int count;
  cai_py_block *block[CAI_PY_POOL];
} cai_py_pool;

/* An array may be the owner of the next one, and so on. So many are finished one within another;
 * the rest is queued. */
enum { CAI_PY_DEEP = 50 };
static __thread int cai_py_depth;

static int cai_py_drain_pending(void *unused);

/* On any thread; `queued` has been counted up. */
static void cai_py_enqueue(cai_py_block *block) {
  cai_py_put(&cai_py_blocks, &block->link);
  cai_py_schedule(&cai_py_blocks, cai_py_drain_pending);
}

/* Whether the release of what is in the block may wait for the driver, which may wait for the GIL:
 * of a tensor on a device, and where a view holds what Python does not own. */
static int cai_py_ends_on_device(const cai_py_block *block) {
  if (!block->inner) return 0;
  if (block->held) return cai_py_foreign(block) != NULL;
  return block->array.device_type != CAI_DEVICE_CPU && !cai_py_is_closing(&cai_py_blocks);
}

/* With the GIL, which is let go where the driver may be needed. */
static void cai_py_block_finish(cai_py_block *block) {
  PyObject *exporter = block->exporter, *mask = block->mask_exporter, *streams = block->streams;
  if (cai_py_depth == CAI_PY_DEEP) {
    __atomic_fetch_add(&cai_py_counts.queued, 1, __ATOMIC_RELAXED);
    cai_py_enqueue(block);
    return;
  }
  ++cai_py_depth;
  if (block->pooled && !block->inner && cai_py_pool.count < CAI_PY_POOL) {
    cai_py_pool.block[cai_py_pool.count++] = block;
  } else if (cai_py_ends_on_device(block)) {
    Py_BEGIN_ALLOW_THREADS;
    cai_py_block_free(block);
    Py_END_ALLOW_THREADS;
  } else {
    cai_py_block_free(block);
  }
  Py_XDECREF(streams);
  Py_XDECREF(mask);
  Py_XDECREF(exporter);
  --cai_py_depth;
}

/* With the GIL. */
static void cai_py_finish_all(cai_py_going *link) {
  while (link) {
    cai_py_going *const next = link->next;
    __atomic_fetch_sub(&cai_py_counts.queued, 1, __ATOMIC_RELAXED);
    cai_py_block_finish(cai_py_block_at(link));
    link = next;
  }
}

/* Takes those of devices out of a list, whose other blocks stay in it. */
static cai_py_going *cai_py_take_devices(cai_py_going **list) {
  cai_py_going *devices = NULL;
  while (*list) {
    cai_py_going *const link = *list;
    if (cai_py_block_at(link)->array.device_type == CAI_DEVICE_CPU) {
      list = &link->next;
    } else {
      *list = link->next;
      link->next = devices;
      devices = link;
    }
  }
  return devices;
}

/* With the GIL. Returns 0 if some of it has to stay: see cai_py_finish(). */
static int cai_py_drain_queue(uint64_t stream) {
  cai_py_going *taken = cai_py_take(&cai_py_blocks), *devices = NULL;
  if (!cai_py_is_closing(&cai_py_blocks)) devices = cai_py_take_devices(&taken);
  cai_py_finish_all(taken);
  return !devices || cai_py_finish(&cai_py_blocks, stream, devices, cai_py_finish_all);
}

/* The stream that this thread's call is about, while the objects are read that it is given; or 0.
 */
static __thread uint64_t cai_py_named;

static inline int cai_py_any_queued(void) {
  return cai_py_is_queued(&cai_py_blocks);
}

/* Returns whether all that was in the queue has gone, and there was anything. Within a release, who
 * began it empties the queue. */
static inline int cai_py_drain(uint64_t stream) {
  if (!cai_py_any_queued() || cai_py_depth) return 0;
  if (!stream) stream = cai_py_named;
  while (cai_py_any_queued())
    if (!cai_py_drain_queue(stream)) return 0;
  return 1;
}

/* With the GIL: lets it go for the end of something on a device. cai_py_take_gil() follows. */
static PyThreadState *cai_py_let_go_gil(int32_t device_type) {
  const int on_device = device_type != CAI_DEVICE_CPU;
  return on_device && !cai_py_is_closing(&cai_py_blocks) ? PyEval_SaveThread() : NULL;
}

static void cai_py_take_gil(PyThreadState *state) {
  if (!state) return;
  PyEval_RestoreThread(state);
  cai_py_drain(0);
}

/* How many are queued. */
static inline int64_t cai_py_queued(void) {
  return __atomic_load_n(&cai_py_counts.queued, __ATOMIC_RELAXED);
}

static int cai_py_drain_pending(void *unused) {
  (void)unused;
  cai_py_drain_queue(0);
  return 0;
}

/* Without the GIL. */
static void cai_py_push(cai_py_block *block) {
  cai_py_come_in(&cai_py_blocks);
  if (cai_py_is_closing(&cai_py_blocks)) {
    /* leaked */
  } else if (__atomic_fetch_add(&cai_py_counts.queued, 1, __ATOMIC_RELAXED) <
             __atomic_load_n(&cai_py_counts.most, __ATOMIC_RELAXED)) {
    cai_py_enqueue(block);
  } else {
    const PyGILState_STATE state = PyGILState_Ensure();
    __atomic_fetch_sub(&cai_py_counts.queued, 1, __ATOMIC_RELAXED);
    cai_py_drain_queue(0);
    cai_py_block_finish(block);
    PyGILState_Release(state);
  }
  cai_py_go_out(&cai_py_blocks);
}

/* How many may be queued. */
static void cai_py_set_most(int64_t most) {
  __atomic_store_n(&cai_py_counts.most, most, __ATOMIC_RELAXED);
}

static void cai_py_retain(cai_owner *self) {
  __atomic_fetch_add(&((cai_py_block *)self)->holders, 1, __ATOMIC_RELAXED);
}

/* Whether libcai has ever kept a use in this owner; NULL, one that keeps none, is not used. */
static inline int cai_py_keeps_uses(const cai_owner *owner) {
  const uintptr_t uses = (uintptr_t)__atomic_load_n(&owner->uses, __ATOMIC_ACQUIRE);
  return uses && uses % 2 == 0;
}
/* Memory of a foreign array leaves the host's own work to the keeper of the array's uses. */
static inline int cai_py_was_used(const cai_owner *owner) {
  return owner && (cai_py_keeps_uses(owner) || (owner->keeper && cai_py_keeps_uses(owner->keeper)));
}

/* Whether libcai has kept no use, but only a stream that a consumer was told. */
static inline int cai_py_has_told(const cai_owner *owner) {
  return owner && (uintptr_t)__atomic_load_n(&owner->uses, __ATOMIC_ACQUIRE) % 4 == 3;
}

/* Whether its end may have to wait for work on a stream. */
static inline int cai_py_may_be_pending(const cai_owner *owner) {
  return __atomic_load_n(&owner->uses, __ATOMIC_ACQUIRE) != NULL;
}

/* What libcai calls once no use is pending, on any thread. */
static void cai_py_end(cai_owner *self) {
  cai_py_block *block = (cai_py_block *)self;
  if (cai_py_has_gil()) {
    cai_py_block_finish(block);
    return;
  }
  if (cai_py_depth == CAI_PY_DEEP) {
    cai_py_push(block);
    return;
  }
  ++cai_py_depth;
  if (!block->exporter && !block->mask_exporter && !block->streams) {
    cai_py_block_free(block);
  } else { /* what libcai made need not wait for the GIL */
    const cai_array *inner = block->inner;
    cai_owner *foreign = cai_py_foreign(block);
    block->inner = NULL;
    block->held = NULL;
    cai_py_let_go_inner(inner, foreign);
    cai_py_push(block);
  }
  --cai_py_depth;
}

/* With the GIL, which is let go around the driver. */
static void cai_py_end_pending(cai_owner *self) {
  Py_BEGIN_ALLOW_THREADS;
  cai_owner_end(self, cai_py_end);
  Py_END_ALLOW_THREADS;
  cai_py_drain(0);
}

static void cai_py_release(cai_owner *self) {
  if (__atomic_sub_fetch(&((cai_py_block *)self)->holders, 1, __ATOMIC_ACQ_REL) != 0) return;
  if (!cai_py_may_be_pending(self))
    cai_py_end(self);
  else if (cai_py_has_gil() && !cai_py_is_closing(&cai_py_blocks))
    cai_py_end_pending(self);
  else
    cai_owner_end(self, cai_py_end);
}

/* The same for a caller that knows it has the GIL; a foreign release may wait for the driver, which
 * may wait for the GIL. If the caller has the only reference, no other thread can add one, so no
 * locked subtraction is needed. */
static inline void cai_py_release_here(cai_owner *owner) {
  cai_py_block *block = (cai_py_block *)owner;
  if (owner->release != cai_py_release) {
    Py_BEGIN_ALLOW_THREADS;
    owner->release(owner);
    Py_END_ALLOW_THREADS;
  } else if (__atomic_load_n(&block->holders, __ATOMIC_ACQUIRE) != 1 &&
             __atomic_sub_fetch(&block->holders, 1, __ATOMIC_ACQ_REL) != 0) {
    return;
  } else if (cai_py_may_be_pending(owner)) {
    cai_py_end_pending(owner);
  } else {
    cai_py_block_finish(block);
  }
}

/* The owner that keeps the uses of what `owner` owns; NULL if it is too short to say. */
static inline cai_owner *cai_py_keeper(cai_owner *owner) {
  if (owner && owner->struct_size >= sizeof *owner && owner->keeper) owner = owner->keeper;
  return owner && owner->struct_size >= sizeof *owner ? owner : NULL;
}

/* Whether the memory has gone before the array, so that libcai refuses to write its dict. */
static inline int cai_py_is_freed(const cai_array *array) {
  const cai_owner *const keeper = cai_py_keeper(array->owner);
  const cai_owner *const root = keeper && keeper->keeper ? keeper->keeper : keeper;
  return root && (__atomic_load_n(&root->flags, __ATOMIC_RELAXED) & CAI_OWNER_FREED);
}

/* Whether libcai refuses a dict that says None, as it does before it looks at the storage. */
static inline int cai_py_none_is_stale(const cai_array *array) {
  cai_array elements = *array;
  cai_interface dict;
  cai_error error;
  elements.mask = NULL;
  elements.flags &= ~(uint32_t)CAI_FLAG_MASKED;
  dict.struct_size = sizeof dict;
  return cai_interface_write(&elements, CAI_INTERFACE_VERSION, NULL, 0, &dict, &error) ==
             CAI_ERR_EXPORT &&
         error.entry == CAI_ENTRY_STREAM;
}

static inline int cai_py_is_import(const cai_owner *keeper) {
  return keeper && (keeper->keeper ? keeper->keeper : keeper)->flags & CAI_OWNER_IMPORTED;
}

/* Whether uses are kept of an array, or others find it by address, whose uses may be; or its owner
 * keeps them by itself. */
static inline int cai_py_may_be_used(const cai_array *array) {
  const cai_owner *const keeper = cai_py_keeper(array->owner);
  if (array->device_type == CAI_DEVICE_CPU || cai_py_was_used(keeper)) return 1;
  if (keeper && keeper->await_uses && keeper->await_uses != cai_owner_await_uses) return 1;
  if (!keeper || array->stream_kind != CAI_STREAM_NONE) return 0;
  return cai_py_has_told(keeper) || (cai_py_is_import(keeper) && cai_py_none_is_stale(array));
}

static inline cai_status cai_py_keep_use(cai_owner *keeper, uint64_t stream, uint32_t access,
                                         cai_error *error) {
  return keeper->used_on(keeper, stream, access, error);
}

/* A block with room for `storage` bytes behind it, and one reference. NULL if there is no memory.
 * With the GIL. */
static cai_py_block *cai_py_block_new(uint64_t storage) {
  const int pooled = storage <= CAI_PY_POOLED - sizeof(cai_py_block);
  cai_py_block *block;
  if (pooled && cai_py_pool.count) {
    block = cai_py_pool.block[--cai_py_pool.count];
  } else {
    if (storage > (uint64_t)PTRDIFF_MAX - sizeof *block) return NULL;
    block = (cai_py_block *)malloc(pooled ? CAI_PY_POOLED : sizeof *block + (size_t)storage);
    if (!block) return NULL;
  }
  /* Field by field: memset() of all of it becomes `rep stos`, which takes long to start. */
  block->owner.struct_size = sizeof block->owner;
  block->owner.flags = CAI_OWNER_ARRAY_FOLLOWS;
  block->owner.retain = cai_py_retain;
  block->owner.release = cai_py_release;
  block->owner.used_on = cai_owner_used_on;
  block->owner.await_uses = cai_owner_await_uses;
  block->owner.uses = NULL;
  block->owner.thread = 0;
  block->owner.keeper = NULL;
  block->owner.freed_on = 0;
  block->exporter = block->mask_exporter = block->streams = NULL;
  block->inner = NULL;
  block->held = NULL;
  block->pooled = (uint64_t)pooled;
  block->holders = 1;
  return block;
}

static inline void *cai_py_block_storage(cai_py_block *block) {
  return block + 1;
}

/* After this the array, and its mask, belong to the block. */
static inline void cai_py_block_adopt(cai_py_block *block) {
  block->array.owner = &block->owner;
  if (block->array.mask) ((cai_array *)block->array.mask)->owner = &block->owner;
}

/* A view's block: `inner`, which libcai made and which holds `held`, becomes its own. Uses are kept
 * where `held` keeps them. */
static inline void cai_py_block_view(cai_py_block *block, const cai_array *inner, cai_owner *held) {
  cai_owner *const keeper = cai_py_keeper(held);
  block->inner = inner;
  block->held = held;
  if (cai_py_foreign(block)) held->retain(held); /* `inner` may hold what `held` holds */
  block->owner.keeper = keeper ? keeper : held;
  block->owner.uses = inner->owner->uses;
  block->owner.used_on = NULL;
  block->owner.await_uses = NULL;
}

static inline uint64_t cai_py_this_thread(void) {
  return cai_this_thread();
}

static inline int cai_py_is_per_thread(const cai_array *array) {
  return array && array->stream_kind == CAI_STREAM_STREAM && array->stream == 2;
}

/* Whether the array came with the stream 2 of a thread that is not this one. */
static inline int cai_py_is_elsewhere(const cai_array *array) {
  const cai_owner *const keeper = cai_py_keeper(array->owner);
  uint64_t thread;
  if (!cai_py_is_per_thread(array) || !keeper) return 0;
  thread = __atomic_load_n(&keeper->thread, __ATOMIC_ACQUIRE);
  return thread && thread != cai_py_this_thread();
}

/* The block behind an owner, or NULL if the owner is foreign. */
static inline cai_py_block *cai_py_block_of(cai_owner *owner) {
  return owner && owner->release == cai_py_release ? (cai_py_block *)owner : NULL;
}

/* Blocks whose exporter was hidden from the collector, since it may free what it sees, and uses of
 * the memory were kept. Each has an additional reference. With the GIL. */
static struct {
  cai_py_going *first, *last;
} cai_py_suspects;

/* How many uses are kept, or in order with a stream; `ask` as for cai_owner_pending(). */
static int64_t cai_py_pending(cai_owner *owner, int ask) {
  int64_t left = 0;
  const cai_owner *const keeper = cai_py_keeper(owner);
  if (!keeper || !cai_py_may_be_pending(keeper)) return 0;
  return cai_owner_pending(owner, ask, &left, NULL) == CAI_OK ? left : 1;
}

static void cai_py_suspect(cai_py_block *block) {
  block->link.next = NULL;
  *(cai_py_suspects.first ? &cai_py_suspects.last->next : &cai_py_suspects.first) = &block->link;
  cai_py_suspects.last = &block->link;
}

/* Asks about `most` of the suspects, or waits for them. Those whose uses are complete are removed
 * from the list, and the next collection may free them. Returns how many of the others have no
 * other reference. With the GIL, which is released meanwhile. */
static int64_t cai_py_ask_suspects(int64_t most, int wait) {
  cai_py_going *asked = cai_py_suspects.first, *last = asked;
  int64_t alone = 0;
  if (!asked) return 0;
  while (--most > 0 && last->next) last = last->next;
  cai_py_suspects.first = last->next;
  last->next = NULL;
  while (asked) {
    cai_py_block *const block = cai_py_block_at(asked);
    int64_t left;
    asked = asked->next;
    Py_BEGIN_ALLOW_THREADS;
    left = cai_py_pending(&block->owner, wait ? 2 : 1);
    Py_END_ALLOW_THREADS;
    if (left) {
      alone += __atomic_load_n(&block->holders, __ATOMIC_ACQUIRE) == 1;
      cai_py_suspect(block);
    } else {
      cai_py_release_here(&block->owner);
    }
  }
  return alone;
}

/* For tp_traverse of `self`, which has a reference to `block`. The collector's first pass, which
 * alone has `self` for `arg`, subtracts each reference that it visits: so there, visit only objects
 * that this one reference keeps alive, and whose memory no kept use needs. The later passes keep
 * visited objects alive, and must visit all that the first pass has subtracted, even if a thread
 * without the GIL has retained the array meanwhile. */
static int cai_py_block_traverse(PyObject *self, cai_py_block *block, visitproc visit, void *arg) {
  const int all = arg != (void *)self;
  for (; block; block = cai_py_block_of(block->held)) {
    if (!all) {
      if (__atomic_load_n(&block->holders, __ATOMIC_ACQUIRE) != 1) return 0;
      if (!block->exporter && !block->mask_exporter && !block->streams) continue;
      if (cai_py_pending(&block->owner, 0)) {
        cai_py_retain(&block->owner);
        cai_py_suspect(block);
        return 0;
      }
    }
    Py_VISIT(block->exporter);
    Py_VISIT(block->mask_exporter);
    Py_VISIT(block->streams);
  }
  return 0;
}

/* What an Array is after the collector has cleared it: an empty array on the host. */
static const int64_t cai_py_no_shape[1] = {0}, cai_py_no_strides[1] = {1};
static cai_array cai_py_no_array = {
    .abi_major = CAI_ABI_MAJOR,
    .abi_minor = CAI_ABI_MINOR,
    .device_type = CAI_DEVICE_CPU,
    .dtype = {.kind = 'u', .byteorder = '|', .itemsize = 1},
    .ndim = 1,
    .shape = cai_py_no_shape,
    .strides = cai_py_no_strides,
    .stream_kind = CAI_STREAM_NONE,
    .version = CAI_INTERFACE_VERSION,
};

static void cai_py_open(void) {
  cai_py_queue_open(&cai_py_blocks);
}

/* At exit, with the GIL, which is released for threads that are about to take it. This ends soon;
 * the bound is for a child of fork() that inherited a count. */
static void cai_py_close(void) {
  int tries = 0;
  cai_py_drain_queue(0);
  Py_BEGIN_ALLOW_THREADS;
  while (cai_py_queue_close(&cai_py_blocks) && ++tries < 100000) sched_yield();
  Py_END_ALLOW_THREADS;
  cai_py_drain_queue(0);
}

#endif
