/* SPDX-License-Identifier: BSD-3-Clause */
/* How C calls Python, and drops its objects, on any thread. To call, a thread takes the GIL. At
 * exit close() waits for threads that are inside, and no thread enters after it. For dropping, see
 * _letting_go.h. */
#ifndef CAI_PY_CALLS_H
#define CAI_PY_CALLS_H

#include <Python.h>
#include <stdlib.h>

#include "_letting_go.h"

/* A Python object that C holds: one reference, or an exported buffer, or both. */
typedef struct {
  cai_py_going link;
  PyObject *object;
  Py_buffer buffer; /* `obj` is NULL: none */
  int awaited;      /* work of a CPU's stream, which exit waits for */
} cai_py_kept;

static cai_py_queue cai_py_calls;
static int cai_py_awaited; /* kept objects that are */

/* Of this thread: the calls from C that it is in, and whether it had not run Python before the
 * first one, and so forgets then what it keeps of Python. */
static __thread int cai_py_calls_here;
static __thread int cai_py_is_visiting;

/* Takes the GIL for a call from C: 1, or 0 if Python is gone. */
static int cai_py_enter(PyGILState_STATE *state) {
  cai_py_come_in(&cai_py_calls);
  if (cai_py_is_closing(&cai_py_calls)) {
    cai_py_go_out(&cai_py_calls);
    return 0;
  }
  if (!cai_py_calls_here) cai_py_is_visiting = !PyGILState_GetThisThreadState();
  *state = PyGILState_Ensure();
  ++cai_py_calls_here;
  return 1;
}

static void cai_py_leave(PyGILState_STATE state) {
  PyGILState_Release(state);
  --cai_py_calls_here;
  cai_py_go_out(&cai_py_calls);
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
  if (awaited) __atomic_fetch_add(&cai_py_awaited, 1, __ATOMIC_SEQ_CST);
  return kept;
}

/* With the GIL. */
static void cai_py_drop(cai_py_kept *kept) {
  PyObject *const object = kept->object;
  if (kept->buffer.obj) PyBuffer_Release(&kept->buffer);
  free(kept);
  Py_XDECREF(object);
}

/* With the GIL. */
static void cai_py_drop_all(cai_py_going *link) {
  while (link) {
    cai_py_going *const next = link->next;
    cai_py_drop((cai_py_kept *)link);
    link = next;
  }
}

/* With the GIL. */
static void cai_py_drop_queue(void) {
  cai_py_going *const taken = cai_py_take(&cai_py_calls);
  if (cai_py_is_closing(&cai_py_calls))
    cai_py_drop_all(taken);
  else if (taken)
    cai_py_finish(&cai_py_calls, 0, taken, cai_py_drop_all);
}

static inline void cai_py_drop_queued(void) {
  if (cai_py_is_queued(&cai_py_calls)) cai_py_drop_queue();
}

/* A failure that no C call could return. */
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

/* For cai_on_failure(): neither blocks nor runs Python. */
static void cai_py_hear(void *context, const cai_error *error) {
  cai_py_failure *const failure = (cai_py_failure *)malloc(sizeof *failure);
  (void)context;
  if (!failure) return;
  failure->error = *error;
  cai_py_come_in(&cai_py_calls);
  if (cai_py_is_closing(&cai_py_calls)) {
    free(failure);
  } else {
    failure->next = __atomic_load_n(&cai_py_failures, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&cai_py_failures, &failure->next, failure, 1,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    cai_py_schedule(&cai_py_calls, cai_py_do_pending);
  }
  cai_py_go_out(&cai_py_calls);
}

/* What C calls once it needs an object no more: a `release` or a `done`. Any thread. */
static void cai_py_let_go(void *context) {
  cai_py_kept *const kept = (cai_py_kept *)context;
  const int awaited = kept->awaited;
  cai_py_come_in(&cai_py_calls);
  if (cai_py_is_closing(&cai_py_calls)) {
    /* leaked */
  } else if (cai_py_may_run(cai_py_calls.interpreter)) {
    cai_py_drop(kept);
  } else {
    cai_py_put(&cai_py_calls, &kept->link);
    cai_py_schedule(&cai_py_calls, cai_py_do_pending);
  }
  if (awaited) __atomic_fetch_sub(&cai_py_awaited, 1, __ATOMIC_SEQ_CST);
  cai_py_go_out(&cai_py_calls);
}

static void cai_py_calls_open(void) {
  cai_py_queue_open(&cai_py_calls);
}

/* In the child of a fork(): the threads that were counted are not there. */
static void cai_py_calls_forked(void) {
  cai_py_calls.inside = 0;
  cai_py_awaited = 0;
}

static int cai_py_calls_awaited(void) {
  return __atomic_load_n(&cai_py_awaited, __ATOMIC_SEQ_CST);
}

static int cai_py_calls_close(void) {
  return cai_py_queue_close(&cai_py_calls);
}

#endif
