/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner of an array that Python exported: one block with the exporter, the struct and its
 * dims. The last release may come from any thread: with the GIL the exporter goes at once; without
 * it the block is queued, and drained by a pending call or at the next entry into the module; if
 * the queue is full, the thread takes the GIL and drains it. While uses of the memory are kept,
 * libcai puts that off; the block has no holder then.
 *
 * The exporter may free memory of a GPU as it goes, which ruins a capture: so the queue lets go of
 * it by cai_spare_captures(), and keeps it while the thread is seen to capture. */
#ifndef CAI_PY_OWNER_H
#define CAI_PY_OWNER_H

#include <Python.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "_compat.h"
#include "_table.h"
#include "cai.h"

typedef struct cai_py_block {
  cai_owner owner;           /* first: its address is the block's */
  cai_array array;           /* behind it: CAI_OWNER_ARRAY_FOLLOWS */
  PyObject *exporter;        /* one reference, or NULL */
  PyObject *mask_exporter;   /* likewise */
  const cai_array *inner;    /* of a view: the block that libcai made; one holder of it is ours */
  cai_owner *held;           /* of a view: what `inner` holds */
  PyObject *streams;         /* a dict of stream objects that live as long, by id(); or NULL */
  struct cai_py_block *next; /* in the queue, or among the suspects */
  int64_t holders;
  uint64_t pooled; /* 1: of CAI_PY_POOLED bytes, and may be kept for the next array */
  /* storage follows: dims, descr, mask */
} cai_py_block;

static struct {
  PyInterpreterState *interpreter;
  cai_py_block *queue; /* a stack; taken whole, so there is no ABA */
  int64_t queued;      /* blocks in it, or on their way into or out of it */
  int64_t most;        /* of them */
  int scheduled;       /* a pending call is under way */
  int closing;         /* the interpreter ends: leak, and never touch Python */
  int pushing;         /* threads between the look at `closing` and the end of what they do here */
} cai_py_state;

static int cai_py_has_gil(void) {
  return cai_py_may_run(cai_py_state.interpreter);
}

static void cai_py_block_free(cai_py_block *block) {
  const cai_array *inner = block->inner;
  free(block);
  cai_array_release(inner);
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
static void cai_py_release(cai_owner *self);

static void cai_py_put_back(cai_py_block *block) {
  block->next = __atomic_load_n(&cai_py_state.queue, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&cai_py_state.queue, &block->next, block, 1, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
}

/* On any thread; `queued` has been counted up. */
static void cai_py_enqueue(cai_py_block *block) {
  cai_py_put_back(block);
  if (!__atomic_exchange_n(&cai_py_state.scheduled, 1, __ATOMIC_SEQ_CST) &&
      Py_AddPendingCall(cai_py_drain_pending, NULL) != 0)
    __atomic_store_n(&cai_py_state.scheduled, 0, __ATOMIC_SEQ_CST); /* Python's queue is full */
}

/* With the GIL, which is let go where a view holds what Python does not own: its release may wait
 * for the driver, which may wait for the GIL. */
static void cai_py_block_finish(cai_py_block *block) {
  PyObject *exporter = block->exporter, *mask = block->mask_exporter, *streams = block->streams;
  if (cai_py_depth == CAI_PY_DEEP) {
    __atomic_fetch_add(&cai_py_state.queued, 1, __ATOMIC_RELAXED);
    cai_py_enqueue(block);
    return;
  }
  ++cai_py_depth;
  if (block->pooled && !block->inner && cai_py_pool.count < CAI_PY_POOL) {
    cai_py_pool.block[cai_py_pool.count++] = block;
  } else if (block->held && block->held->release != cai_py_release) {
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

/* With the GIL: what is queued, or what is of the host if `device` is there to get the rest. */
static void cai_py_finish_queued(cai_py_block *block, cai_py_block **device) {
  while (block) {
    cai_py_block *next = block->next;
    if (device && block->array.device_type != CAI_DEVICE_CPU) {
      block->next = *device;
      *device = block;
    } else {
      __atomic_fetch_sub(&cai_py_state.queued, 1, __ATOMIC_RELAXED);
      cai_py_block_finish(block);
    }
    block = next;
  }
}

typedef struct {
  PyThreadState *thread; /* which has let the GIL go */
  cai_py_block *blocks;
} cai_py_finishing;

static void cai_py_finish_sparing(void *context) {
  cai_py_finishing *const it = (cai_py_finishing *)context;
  PyEval_RestoreThread(it->thread);
  cai_py_finish_queued(it->blocks, NULL);
  it->thread = PyEval_SaveThread();
}

/* With the GIL. Returns 0 if some of it has to stay, since the thread is seen to capture on
 * `stream`, which may be 0, or on a current one. */
static int cai_py_drain_queue(uint64_t stream) {
  cai_py_finishing device = {NULL, NULL};
  cai_py_block *block;
  int done = 1;
  __atomic_store_n(&cai_py_state.scheduled, 0, __ATOMIC_SEQ_CST);
  block = __atomic_exchange_n(&cai_py_state.queue, NULL, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&cai_py_state.closing, __ATOMIC_SEQ_CST)) {
    cai_py_finish_queued(block, NULL);
    return 1;
  }
  cai_py_finish_queued(block, &device.blocks);
  if (!device.blocks) return 1;
  __atomic_fetch_add(&cai_py_state.pushing, 1, __ATOMIC_SEQ_CST);
  device.thread = PyEval_SaveThread();
  done = cai_spare_captures(stream, cai_py_finish_sparing, &device);
  PyEval_RestoreThread(device.thread);
  __atomic_fetch_sub(&cai_py_state.pushing, 1, __ATOMIC_SEQ_CST);
  if (done) return 1;
  /* Nobody is called for these: the next call of libcai's looks at them. */
  while ((block = device.blocks)) {
    device.blocks = block->next;
    cai_py_put_back(block);
  }
  return 0;
}

/* The stream that this thread's call is about, while the objects are read that it is given; or 0.
 */
static __thread uint64_t cai_py_named;

static inline int cai_py_any_queued(void) {
  return __atomic_load_n(&cai_py_state.queue, __ATOMIC_RELAXED) != NULL;
}

/* Returns whether all that was in the queue has gone, and there was anything. Within a release, who
 * began it sees to it. */
static inline int cai_py_drain(uint64_t stream) {
  if (!cai_py_any_queued() || cai_py_depth) return 0;
  if (!stream) stream = cai_py_named;
  while (cai_py_any_queued())
    if (!cai_py_drain_queue(stream)) return 0;
  return 1;
}

/* How many are queued. */
static inline int64_t cai_py_queued(void) {
  return __atomic_load_n(&cai_py_state.queued, __ATOMIC_RELAXED);
}

static int cai_py_drain_pending(void *unused) {
  (void)unused;
  cai_py_drain_queue(0);
  return 0;
}

/* Without the GIL. */
static void cai_py_push(cai_py_block *block) {
  __atomic_fetch_add(&cai_py_state.pushing, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&cai_py_state.closing, __ATOMIC_SEQ_CST)) {
    /* leaked */
  } else if (__atomic_fetch_add(&cai_py_state.queued, 1, __ATOMIC_RELAXED) <
             __atomic_load_n(&cai_py_state.most, __ATOMIC_RELAXED)) {
    cai_py_enqueue(block);
  } else {
    const PyGILState_STATE state = PyGILState_Ensure();
    __atomic_fetch_sub(&cai_py_state.queued, 1, __ATOMIC_RELAXED);
    cai_py_drain_queue(0);
    cai_py_block_finish(block);
    PyGILState_Release(state);
  }
  __atomic_fetch_sub(&cai_py_state.pushing, 1, __ATOMIC_SEQ_CST);
}

/* How many may be queued. */
static void cai_py_set_most(int64_t most) {
  __atomic_store_n(&cai_py_state.most, most, __ATOMIC_RELAXED);
}

static void cai_py_retain(cai_owner *self) {
  __atomic_fetch_add(&((cai_py_block *)self)->holders, 1, __ATOMIC_RELAXED);
}

/* Whether libcai has ever kept a use in this owner; NULL, one that keeps none, is not used. */
static inline int cai_py_keeps_uses(const cai_owner *owner) {
  const uintptr_t uses = (uintptr_t)__atomic_load_n(&owner->uses, __ATOMIC_ACQUIRE);
  return uses && uses % 2 == 0;
}
/* Memory of somebody's array leaves the host's own work to whoever keeps the uses of that. */
static inline int cai_py_was_used(const cai_owner *owner) {
  return owner && (cai_py_keeps_uses(owner) || (owner->keeper && cai_py_keeps_uses(owner->keeper)));
}

/* Whether a stream that somebody was told of, and no use, is all that libcai has kept. */
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
  const cai_array *inner = block->inner;
  if (!block->exporter && !block->mask_exporter && !block->streams) {
    cai_py_block_free(block);
  } else if (cai_py_has_gil()) {
    cai_py_block_finish(block);
  } else { /* what libcai made need not wait for the GIL */
    block->inner = NULL;
    block->held = NULL;
    cai_array_release(inner);
    cai_py_push(block);
  }
}

static void cai_py_release(cai_owner *self) {
  if (__atomic_sub_fetch(&((cai_py_block *)self)->holders, 1, __ATOMIC_ACQ_REL) != 0) return;
  if (cai_py_may_be_pending(self))
    cai_owner_end(self, cai_py_end);
  else
    cai_py_end(self);
}

/* The same for who has the GIL, and knows it; somebody else's release may wait for the driver,
 * which may wait for the GIL. Nobody else can retain what has one holder, which is the caller's, so
 * that one needs no locked subtraction. */
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
    Py_BEGIN_ALLOW_THREADS; /* around the driver */
    cai_owner_end(owner, cai_py_end);
    Py_END_ALLOW_THREADS;
    cai_py_drain(0);
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

/* Whether uses are kept of an array, or others find it by address, whose uses may be. */
static inline int cai_py_may_be_used(const cai_array *array) {
  const cai_owner *const keeper = cai_py_keeper(array->owner);
  int is_import;
  if (cai_py_was_used(keeper)) return 1;
  if (!keeper) return 0;
  is_import = ((keeper->keeper ? keeper->keeper : keeper)->flags & CAI_OWNER_IMPORTED) != 0;
  if (array->device_type == CAI_DEVICE_CPU) return is_import;
  if (array->stream_kind != CAI_STREAM_NONE) return 0;
  return cai_py_has_told(keeper) || (is_import && cai_py_none_is_stale(array));
}

static inline cai_status cai_py_keep_use(cai_owner *keeper, uint64_t stream, uint32_t access,
                                         cai_error *error) {
  return keeper->used_on(keeper, stream, access, error);
}

/* A block with room for `storage` bytes behind it; one holder. NULL if there is no memory. With the
 * GIL. */
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

/* The block behind an owner, or NULL if the owner is somebody else's. */
static inline cai_py_block *cai_py_block_of(cai_owner *owner) {
  return owner && owner->release == cai_py_release ? (cai_py_block *)owner : NULL;
}

/* Blocks whose exporter the collector was not shown, since uses of the memory were kept: what it
 * takes apart, it may free. Each has a holder more. With the GIL. */
static struct {
  cai_py_block *first, *last;
} cai_py_suspects;

/* How many uses are kept, or in order with a stream; `ask` as for cai_owner_pending(). */
static int64_t cai_py_pending(cai_owner *owner, int ask) {
  int64_t left = 0;
  const cai_owner *const keeper = cai_py_keeper(owner);
  if (!keeper || !cai_py_may_be_pending(keeper)) return 0;
  return cai_owner_pending(owner, ask, &left, NULL) == CAI_OK ? left : 1;
}

static void cai_py_suspect(cai_py_block *block) {
  block->next = NULL;
  *(cai_py_suspects.first ? &cai_py_suspects.last->next : &cai_py_suspects.first) = block;
  cai_py_suspects.last = block;
}

/* Asks about `most` of the suspects, or waits for them: those whose uses are complete are none any
 * more, and the next collection may take them. Returns how many of the others nobody else holds.
 * With the GIL, which is let go meanwhile. */
static int64_t cai_py_ask_suspects(int64_t most, int wait) {
  cai_py_block *asked = cai_py_suspects.first, *block = asked;
  int64_t alone = 0;
  if (!asked) return 0;
  while (--most > 0 && block->next) block = block->next;
  cai_py_suspects.first = block->next;
  block->next = NULL;
  while ((block = asked)) {
    int64_t left;
    asked = block->next;
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

/* For tp_traverse of `self`, a holder of `block`. The collector's first pass, which alone has
 * `self` for `arg`, takes away each reference that it is shown: so there, only what nobody but this
 * one holder keeps alive, and whose memory no kept use needs. The later passes keep alive what they
 * are shown, and must not miss what the first one took away, though a thread without the GIL has
 * retained the array meanwhile. */
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
  cai_py_state.interpreter = PyInterpreterState_Get();
}

/* At exit, with the GIL, which is let go for whoever is about to take it. This ends soon; the bound
 * is for a child of fork() that inherited a count. */
static void cai_py_close(void) {
  int tries = 0;
  cai_py_drain_queue(0);
  __atomic_store_n(&cai_py_state.closing, 1, __ATOMIC_SEQ_CST);
  Py_BEGIN_ALLOW_THREADS;
  while (__atomic_load_n(&cai_py_state.pushing, __ATOMIC_SEQ_CST) && ++tries < 100000)
    sched_yield();
  Py_END_ALLOW_THREADS;
  cai_py_drain_queue(0);
}

#endif
