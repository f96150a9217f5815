/* SPDX-License-Identifier: BSD-3-Clause */
/* A program in C that embeds Python: its threads share arrays that Python owns, and release them
 * with the GIL and without it, while Python runs. Exits 0 if each exporter has ended once. */
#include <cai/python.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ARRAYS = 32, ROUNDS = 200 };

static const char *const script =
    "import libcai\n"
    "ended = []\n"
    "class Exporter:\n"
    "    def __init__(self, address):\n"
    "        self.__array_interface__ = {'shape': (2, 3), 'typestr': '<f4', 'version': 3,\n"
    "                                    'data': (address, False)}\n"
    "    def __del__(self):\n"
    "        ended.append(1)\n";

static float memory[6];
static const cai_array *arrays[ARRAYS];
static PyObject *names;

static void must(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "embedder: %s\n", what);
  if (PyGILState_Check()) PyErr_Print();
  exit(1);
}

/* With the GIL: an array of a new exporter, that nobody else knows. */
static const cai_array *new_array(void) {
  PyObject *const type = PyDict_GetItemString(names, "Exporter");
  PyObject *const exporter =
      PyObject_CallFunction(type, "K", (unsigned long long)(uintptr_t)memory);
  cai_array *array;
  must(exporter && cai_py->own(exporter, 0, &array) == 0, "no array");
  Py_DECREF(exporter);
  return array;
}

/* Each thread is the last holder of some, and each makes some of its own. */
static void *share(void *argument) {
  (void)argument;
  for (int round = 0; round < ROUNDS; ++round) {
    const cai_array *const array = arrays[round % ARRAYS];
    PyGILState_STATE state;
    const cai_array *mine;
    cai_array_retain(array);
    must(array->shape[1] == 3, "another shape");
    cai_array_release(array);
    state = PyGILState_Ensure();
    mine = new_array();
    if (round % 2) cai_array_release(mine);
    PyGILState_Release(state);
    if (round % 2 == 0) cai_array_release(mine);
  }
  for (int i = 0; i < ARRAYS; ++i) cai_array_release(arrays[i]);
  return NULL;
}

static const cai_array *late;

/* When the interpreter has ended nobody is there to end what it owned: it leaks. */
static void *release_late(void *argument) {
  (void)argument;
  cai_array_release(late);
  return NULL;
}

/* Imports with a table of so many bytes, as an older or a newer libcai would have. */
static int import_table(cai_py_api *table, uint32_t size) {
  PyObject *const module = PyImport_ImportModule("libcai._core");
  PyObject *const real = PyObject_GetAttrString(module, "_C_API");
  PyObject *const capsule = PyCapsule_New(table, "libcai._core._C_API", NULL);
  int imported;
  table->struct_size = size;
  must(PyObject_SetAttrString(module, "_C_API", capsule) == 0, "no other table");
  imported = cai_py_import() == 0;
  must(imported || PyErr_ExceptionMatches(PyExc_ImportError), "no ImportError");
  PyErr_Clear();
  must(PyObject_SetAttrString(module, "_C_API", real) == 0, "the table is lost");
  Py_DECREF(capsule);
  Py_DECREF(real);
  Py_DECREF(module);
  return imported;
}

/* A table of the floor's size serves, and a shorter one does not. */
static void check_tables(void) {
  cai_py_api table;
  must(!CAI_PY_HAS(open), "functions before they were imported");
  must(cai_py_import() == 0, "no libcai");
  must(CAI_PY_HAS(open) && CAI_PY_HAS(raise), "a function is missing");
  table = *cai_py;
  must(!import_table(&table, CAI_PY_API_SIZE - 8), "a table below the floor");
  must(import_table(&table, CAI_PY_API_SIZE) && CAI_PY_HAS(raise), "a table of the floor's size");
  must(import_table(&table, CAI_PY_API_SIZE + 64), "a longer table");
  table.raise = NULL;
  must(!CAI_PY_HAS(raise), "a function that is NULL");
  table.struct_size = CAI_PY_API_SIZE - 8; /* as if `raise` were younger than the floor */
  must(!CAI_PY_HAS(raise) && CAI_PY_HAS(abandon), "a function beyond the end");
  must(cai_py_import() == 0, "no libcai");
}

int main(void) {
  pthread_t threads[THREADS], last;
  PyThreadState *state;
  PyObject *ended;
  Py_Initialize();
  names = PyModule_GetDict(PyImport_AddModule("__main__"));
  check_tables();
  must(PyRun_SimpleString(script) == 0, "no exporter");
  for (int i = 0; i < ARRAYS; ++i) {
    arrays[i] = new_array();
    for (int holder = 1; holder < THREADS; ++holder) cai_array_retain(arrays[i]);
  }
  for (int i = 0; i < THREADS; ++i)
    must(pthread_create(&threads[i], NULL, share, NULL) == 0, "no thread");
  /* What was released ends while Python runs, and when it is asked to. */
  must(PyRun_SimpleString("for i in range(200000):\n    if i % 1000 == 0: libcai.drain()\n") == 0,
       "Python failed");
  state = PyEval_SaveThread();
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  PyEval_RestoreThread(state);
  must(PyRun_SimpleString("libcai.drain()") == 0, "not drained");
  ended = PyDict_GetItemString(names, "ended");
  if (PyList_GET_SIZE(ended) != ARRAYS + THREADS * ROUNDS) {
    fprintf(stderr, "embedder: %d of %d ended\n", (int)PyList_GET_SIZE(ended),
            ARRAYS + THREADS * ROUNDS);
    return 1;
  }
  late = new_array();
  must(Py_FinalizeEx() == 0, "not finalized");
  must(pthread_create(&last, NULL, release_late, NULL) == 0, "no thread");
  pthread_join(last, NULL);
  return 0;
}
