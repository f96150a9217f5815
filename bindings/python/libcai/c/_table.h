/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of the bundled libcai, found by name when the module is imported. The module never
 * links libcai, so that another copy in the process cannot stand in for it. */
#ifndef CAI_PY_TABLE_H
#define CAI_PY_TABLE_H

#include <dlfcn.h>

#include "cai/arrow.h"
#include "cai/dlpack.h"
#include "cai/memory.h"

#include "_functions.h" /* first: CAI_PY_FUNCTIONS */

#define CAI_PY_MEMBER(name) __typeof__(&name) p_##name;
static struct {
  CAI_PY_FUNCTIONS(CAI_PY_MEMBER)
} cai_py_table;
#undef CAI_PY_MEMBER

/* Opens the library and fills in the table. Returns NULL, or what is missing (static, or
 * dlerror's). */
static const char *cai_py_table_open(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
#define CAI_PY_FIND(name)                                   \
  *(void **)&cai_py_table.p_##name = dlsym(library, #name); \
  if (!cai_py_table.p_##name) return "the bundled libcai has no function " #name;
  CAI_PY_FUNCTIONS(CAI_PY_FIND)
#undef CAI_PY_FIND
  return NULL;
}

#include "_functions.h" /* again: from here on, every call goes through the table */

#endif
