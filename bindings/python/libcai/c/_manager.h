/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of managers that are written in Python: each function takes the GIL and calls the
 * module's, which is in cai_py_inner. */
#ifndef CAI_PY_MANAGER_H
#define CAI_PY_MANAGER_H

#include "_calls.h"

static cai_manager_table cai_py_inner;

#define CAI_PY_OUTER(name, parameters, arguments)         \
  static cai_status cai_py_##name parameters {            \
    PyGILState_STATE state;                               \
    cai_status status;                                    \
    if (!cai_py_enter(&state)) return cai_py_gone(error); \
    status = cai_py_inner.name arguments;                 \
    cai_py_leave(state);                                  \
    return status;                                        \
  }

CAI_PY_OUTER(create,
             (const void *params, cai_device device, cai_manager *upstream, void **self,
              cai_error *error),
             (params, device, upstream, self, error))
CAI_PY_OUTER(initialize, (void *self, cai_error *error), (self, error))
CAI_PY_OUTER(reset, (void *self, cai_error *error), (self, error))
CAI_PY_OUTER(memalloc,
             (void *self, uint64_t size, uint64_t align, uint32_t kind, uint64_t stream,
              cai_block *out, cai_error *error),
             (self, size, align, kind, stream, out, error))
CAI_PY_OUTER(memfree, (void *self, const cai_block *block, uint64_t stream, cai_error *error),
             (self, block, stream, error))
CAI_PY_OUTER(memhostalloc,
             (void *self, uint64_t size, uint64_t align, uint32_t kind, uint32_t flags,
              cai_block *out, cai_error *error),
             (self, size, align, kind, flags, out, error))
CAI_PY_OUTER(memhostfree, (void *self, const cai_block *block, cai_error *error),
             (self, block, error))
CAI_PY_OUTER(mempin,
             (void *self, void *host, uint64_t size, uint32_t kind, uint32_t flags, cai_block *out,
              cai_error *error),
             (self, host, size, kind, flags, out, error))
CAI_PY_OUTER(memunpin, (void *self, const cai_block *block, cai_error *error), (self, block, error))
CAI_PY_OUTER(base, (void *self, uint64_t address, uint64_t *base, uint64_t *size, cai_error *error),
             (self, address, base, size, error))
CAI_PY_OUTER(get_ipc_handle,
             (void *self, const cai_block *block, cai_ipc_handle *out, int32_t *fd,
              cai_error *error),
             (self, block, out, fd, error))
CAI_PY_OUTER(open_ipc_handle,
             (void *self, const cai_ipc_handle *handle, int32_t fd, uint64_t stream, cai_block *out,
              cai_error *error),
             (self, handle, fd, stream, out, error))
CAI_PY_OUTER(close_ipc_handle,
             (void *self, const cai_block *block, uint64_t stream, cai_error *error),
             (self, block, stream, error))
CAI_PY_OUTER(get_memory_info, (void *self, uint64_t *free, uint64_t *total, cai_error *error),
             (self, free, total, error))
CAI_PY_OUTER(defer_cleanup, (void *self, int32_t enter, cai_error *error), (self, enter, error))
CAI_PY_OUTER(trim, (void *self, uint64_t keep, cai_error *error), (self, keep, error))
#undef CAI_PY_OUTER

/* A manager of a Python class, as C has it. */
typedef struct cai_py_link {
  PyObject *manager;  /* borrowed; NULL once it has gone. With the GIL */
  cai_py_kept *owned; /* the same, if C made it by itself and so keeps it alive; else NULL */
} cai_py_link;

static void cai_py_destroy(void *self) {
  cai_py_link *const link = (cai_py_link *)self;
  if (link->owned) cai_py_let_go(link->owned);
  free(link);
}

static const cai_manager_table cai_py_outer = {
    .struct_size = sizeof(cai_manager_table),
    .version = CAI_MANAGER_VERSION,
    .create = cai_py_create,
    .destroy = cai_py_destroy,
    .initialize = cai_py_initialize,
    .reset = cai_py_reset,
    .memalloc = cai_py_memalloc,
    .memfree = cai_py_memfree,
    .memhostalloc = cai_py_memhostalloc,
    .memhostfree = cai_py_memhostfree,
    .mempin = cai_py_mempin,
    .memunpin = cai_py_memunpin,
    .base = cai_py_base,
    .get_ipc_handle = cai_py_get_ipc_handle,
    .open_ipc_handle = cai_py_open_ipc_handle,
    .close_ipc_handle = cai_py_close_ipc_handle,
    .get_memory_info = cai_py_get_memory_info,
    .defer_cleanup = cai_py_defer_cleanup,
    .trim = cai_py_trim,
};

#endif
