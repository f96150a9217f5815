/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CAI_PY_GIL_H
#define CAI_PY_GIL_H

#include <Python.h>

/* Whether this very thread may run Python in `interpreter`. (PyGILState_Check() says yes when it
 * does not know, and PyGILState_Ensure() would wait.) */
static int cai_py_may_run(PyInterpreterState *interpreter) {
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState *here = PyThreadState_GetUnchecked();
#elif PY_VERSION_HEX >= 0x030C0000
  PyThreadState *here = _PyThreadState_UncheckedGet();
#else
  PyThreadState *here = PyGILState_GetThisThreadState();
  if (here != _PyThreadState_UncheckedGet()) here = NULL;
#endif
  return here != NULL && PyThreadState_GetInterpreter(here) == interpreter;
}

#endif
