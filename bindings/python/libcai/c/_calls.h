/* SPDX-License-Identifier: BSD-3-Clause */
/* How C calls Python, and lets go of its objects, on whatever thread it does so.
 *
 * To call, a thread takes the GIL; at exit that is over: close() waits for who is inside, and
 * nobody enters after it. To let go, nobody waits for the GIL: without it the object is queued, and
 * drained by a pending call or at the next entry into the module; by cai_spare_captures(), since
 * it may free memory of a GPU. */
#ifndef CAI_PY_CALLS_H
#define CAI_PY_CALLS_H

#include <Python.h>
#include <stdlib.h>

#include "_compat.h"
#include "_table.h"

/* A Python object that C holds: one reference, or an exported buffer, or both. */
typedef struct cai_py_kept {
  PyObject *object;
  Py_buffer buffer; /* `obj` is NULL: none */
  int awaited;      /* work of a CPU's stream, which exit waits for */
  struct cai_py_kept *next;
} cai_py_kept;

static struct {
  PyInterpreterState *interpreter;
  cai_py_kept *queue; /* a stack; taken whole, so there is no ABA */
  int scheduled;      /* a pending call is under way */
  int closing;        /* the interpreter ends: leak, and never touch Python */
  int inside;         /* threads that run Python, or are about to look at `closing` */
  int awaited;        /* kept objects that are */
} cai_py_calls;

/* Takes the GIL for a call from C: 1, or 0 if Python is gone. */
static int cai_py_enter(PyGILState_STATE *state) {
  __atomic_fetch_add(&cai_py_calls.inside, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&cai_py_calls.closing, __ATOMIC_SEQ_CST)) {
    __atomic_fetch_sub(&cai_py_calls.inside, 1, __ATOMIC_SEQ_CST);
    return 0;
  }
  *state = PyGILState_Ensure();
  return 1;
}

static void cai_py_leave(PyGILState_STATE state) {
  PyGILState_Release(state);
  __atomic_fetch_sub(&cai_py_calls.inside, 1, __ATOMIC_SEQ_CST);
}

/* For a callback that cannot run: what it answers. */
static cai_status cai_py_gone(cai_error *error) {
  static const cai_error gone = {
      .status = CAI_ERR_STATE, .index = -1, .message = "Python has ended"};
  if (error) *error = gone;
  return gone.status;
}

/* Whether the calling thread has run Python, and may be doing so now. */
static int cai_py_runs_python(void) {
  return PyGILState_GetThisThreadState() != NULL;
}

/* With the GIL. NULL if there is no memory. */
static cai_py_kept *cai_py_keep(PyObject *object, int awaited) {
  cai_py_kept *const kept = (cai_py_kept *)calloc(1, sizeof *kept);
  if (!kept) return NULL;
  Py_XINCREF(object);
  kept->object = object;
  kept->awaited = awaited;
  if (awaited) __atomic_fetch_add(&cai_py_calls.awaited, 1, __ATOMIC_SEQ_CST);
  return kept;
}

/* With the GIL. */
static void cai_py_drop(cai_py_kept *kept) {
  PyObject *const object = kept->object;
  if (kept->buffer.obj) PyBuffer_Release(&kept->buffer);
  free(kept);
  Py_XDECREF(object);
}

/* On any thread. */
static void cai_py_queue(cai_py_kept *kept) {
  kept->next = __atomic_load_n(&cai_py_calls.queue, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&cai_py_calls.queue, &kept->next, kept, 1, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
}

typedef struct {
  PyThreadState *thread; /* which has let the GIL go */
  cai_py_kept *kept;
} cai_py_dropping;

/* With the GIL. */
static void cai_py_drop_all(cai_py_kept *kept) {
  while (kept) {
    cai_py_kept *const next = kept->next;
    cai_py_drop(kept);
    kept = next;
  }
}

static void cai_py_drop_sparing(void *context) {
  cai_py_dropping *const it = (cai_py_dropping *)context;
  PyEval_RestoreThread(it->thread);
  cai_py_drop_all(it->kept);
  it->thread = PyEval_SaveThread();
}

/* With the GIL. */
static void cai_py_drop_queue(void) {
  cai_py_dropping it = {NULL, NULL};
  int done;
  __atomic_store_n(&cai_py_calls.scheduled, 0, __ATOMIC_SEQ_CST);
  it.kept = __atomic_exchange_n(&cai_py_calls.queue, NULL, __ATOMIC_SEQ_CST);
  if (!it.kept) return;
  if (__atomic_load_n(&cai_py_calls.closing, __ATOMIC_SEQ_CST)) {
    cai_py_drop_all(it.kept);
    return;
  }
  __atomic_fetch_add(&cai_py_calls.inside, 1, __ATOMIC_SEQ_CST);
  it.thread = PyEval_SaveThread();
  done = cai_spare_captures(0, cai_py_drop_sparing, &it);
  PyEval_RestoreThread(it.thread);
  __atomic_fetch_sub(&cai_py_calls.inside, 1, __ATOMIC_SEQ_CST);
  /* Nobody is called for what stays: the next call of libcai's looks at it. */
  while (!done && it.kept) {
    cai_py_kept *const next = it.kept->next;
    cai_py_queue(it.kept);
    it.kept = next;
  }
}

static inline void cai_py_drop_queued(void) {
  if (__atomic_load_n(&cai_py_calls.queue, __ATOMIC_RELAXED)) cai_py_drop_queue();
}

/* A failure that C could tell nobody. */
typedef struct cai_py_failure {
  cai_error error;
  struct cai_py_failure *next;
} cai_py_failure;

static cai_py_failure *cai_py_failures;    /* a stack, as the queue is */
static void (*cai_py_tell_failures)(void); /* the module's */

static int cai_py_has_failures(void) {
  return __atomic_load_n(&cai_py_failures, __ATOMIC_RELAXED) != NULL;
}

/* All of them, the first one first; the caller's to free. */
static cai_py_failure *cai_py_take_failures(void) {
  cai_py_failure *failure = __atomic_exchange_n(&cai_py_failures, NULL, __ATOMIC_SEQ_CST);
  cai_py_failure *first = NULL;
  while (failure) {
    cai_py_failure *const next = failure->next;
    failure->next = first;
    first = failure;
    failure = next;
  }
  return first;
}

static int cai_py_do_pending(void *unused) {
  (void)unused;
  cai_py_drop_queue();
  if (cai_py_has_failures()) cai_py_tell_failures();
  return 0;
}

/* Has what is queued be seen to, as soon as the main thread runs Python. */
static void cai_py_schedule(void) {
  if (!__atomic_exchange_n(&cai_py_calls.scheduled, 1, __ATOMIC_SEQ_CST) &&
      Py_AddPendingCall(cai_py_do_pending, NULL) != 0)
    __atomic_store_n(&cai_py_calls.scheduled, 0, __ATOMIC_SEQ_CST); /* Python's queue is full */
}

/* For cai_on_failure(): neither blocks nor runs Python. */
static void cai_py_hear(void *context, const cai_error *error) {
  cai_py_failure *const failure = (cai_py_failure *)malloc(sizeof *failure);
  (void)context;
  if (!failure) return;
  failure->error = *error;
  __atomic_fetch_add(&cai_py_calls.inside, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&cai_py_calls.closing, __ATOMIC_SEQ_CST)) {
    free(failure);
  } else {
    failure->next = __atomic_load_n(&cai_py_failures, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&cai_py_failures, &failure->next, failure, 1,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    cai_py_schedule();
  }
  __atomic_fetch_sub(&cai_py_calls.inside, 1, __ATOMIC_SEQ_CST);
}

/* What C calls once it needs an object no more: a `release` or a `done`. Any thread. */
static void cai_py_let_go(void *context) {
  cai_py_kept *const kept = (cai_py_kept *)context;
  const int awaited = kept->awaited;
  __atomic_fetch_add(&cai_py_calls.inside, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&cai_py_calls.closing, __ATOMIC_SEQ_CST)) {
    /* leaked */
  } else if (cai_py_may_run(cai_py_calls.interpreter)) {
    cai_py_drop(kept);
  } else {
    cai_py_queue(kept);
    cai_py_schedule();
  }
  if (awaited) __atomic_fetch_sub(&cai_py_calls.awaited, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_sub(&cai_py_calls.inside, 1, __ATOMIC_SEQ_CST);
}

static void cai_py_calls_open(void) {
  cai_py_calls.interpreter = PyInterpreterState_Get();
}

/* In the child of a fork(): the threads that were counted are not there. */
static void cai_py_calls_forked(void) {
  cai_py_calls.inside = 0;
  cai_py_calls.awaited = 0;
}

static int cai_py_calls_awaited(void) {
  return __atomic_load_n(&cai_py_calls.awaited, __ATOMIC_SEQ_CST);
}

/* From here on nobody enters; returns how many are inside. */
static int cai_py_calls_close(void) {
  __atomic_store_n(&cai_py_calls.closing, 1, __ATOMIC_SEQ_CST);
  return __atomic_load_n(&cai_py_calls.inside, __ATOMIC_SEQ_CST);
}

#endif
