/* SPDX-License-Identifier: BSD-3-Clause */
/* How a module drops Python objects on any thread without waiting for the GIL. Without the GIL an
 * object is queued, and the queue is drained by a pending call, or at the next entry into the
 * module. Dropping may free memory of a GPU, which invalidates a capture: so it goes through
 * cai_spare_captures(), and waits while the thread is seen to capture. After close() all is
 * leaked. */
#ifndef CAI_PY_LETTING_GO_H
#define CAI_PY_LETTING_GO_H

#include <Python.h>

#include "_compat.h"
#include "_table.h"

/* Begins what is queued. */
typedef struct cai_py_going {
  struct cai_py_going *next;
} cai_py_going;

typedef struct {
  PyInterpreterState *interpreter;
  cai_py_going *first; /* a stack; taken whole, so there is no ABA */
  int scheduled;       /* a pending call is under way */
  int closing;         /* the interpreter ends: leak, and never touch Python */
  int inside; /* threads between their look at `closing` and the end of what they do here */
} cai_py_queue;

static inline int cai_py_is_closing(cai_py_queue *queue) {
  return __atomic_load_n(&queue->closing, __ATOMIC_SEQ_CST);
}

/* Between these two the interpreter does not go, unless it is closing. */
static inline void cai_py_come_in(cai_py_queue *queue) {
  __atomic_fetch_add(&queue->inside, 1, __ATOMIC_SEQ_CST);
}
static inline void cai_py_go_out(cai_py_queue *queue) {
  __atomic_fetch_sub(&queue->inside, 1, __ATOMIC_SEQ_CST);
}

static inline int cai_py_is_queued(cai_py_queue *queue) {
  return __atomic_load_n(&queue->first, __ATOMIC_RELAXED) != NULL;
}

/* On any thread. */
static void cai_py_put(cai_py_queue *queue, cai_py_going *link) {
  link->next = __atomic_load_n(&queue->first, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&queue->first, &link->next, link, 1, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
}

/* Has `pending` run with the GIL as soon as the main thread runs Python. On any thread. */
static void cai_py_schedule(cai_py_queue *queue, int (*pending)(void *unused)) {
  if (!__atomic_exchange_n(&queue->scheduled, 1, __ATOMIC_SEQ_CST) &&
      Py_AddPendingCall(pending, NULL) != 0)
    __atomic_store_n(&queue->scheduled, 0, __ATOMIC_SEQ_CST); /* Python's queue is full */
}

/* All that is queued. */
static cai_py_going *cai_py_take(cai_py_queue *queue) {
  __atomic_store_n(&queue->scheduled, 0, __ATOMIC_SEQ_CST);
  return __atomic_exchange_n(&queue->first, NULL, __ATOMIC_SEQ_CST);
}

typedef struct {
  PyThreadState *thread; /* which has let the GIL go */
  cai_py_going *links;
  void (*finish)(cai_py_going *links);
} cai_py_sparing;

static void cai_py_finish_sparing(void *context) {
  cai_py_sparing *const it = (cai_py_sparing *)context;
  PyEval_RestoreThread(it->thread);
  it->finish(it->links);
  it->thread = PyEval_SaveThread();
}

/* Drops what was taken. With the GIL, which is released meanwhile. Returns 0 if it had to stay,
 * since the thread is seen to capture on `stream`, which may be 0, or on a current stream: no code
 * is called for it then, and the next call of libcai tries again. */
static int cai_py_finish(cai_py_queue *queue, uint64_t stream, cai_py_going *links,
                         void (*finish)(cai_py_going *links)) {
  cai_py_sparing it = {NULL, links, finish};
  int done;
  cai_py_come_in(queue);
  it.thread = PyEval_SaveThread();
  done = cai_spare_captures(stream, cai_py_finish_sparing, &it);
  PyEval_RestoreThread(it.thread);
  cai_py_go_out(queue);
  while (!done && links) {
    cai_py_going *const next = links->next;
    cai_py_put(queue, links);
    links = next;
  }
  return done;
}

static void cai_py_queue_open(cai_py_queue *queue) {
  queue->interpreter = PyInterpreterState_Get();
}

/* From here on nobody touches Python; returns how many are inside. */
static int cai_py_queue_close(cai_py_queue *queue) {
  __atomic_store_n(&queue->closing, 1, __ATOMIC_SEQ_CST);
  return __atomic_load_n(&queue->inside, __ATOMIC_SEQ_CST);
}

#endif
