/* SPDX-License-Identifier: BSD-3-Clause */
/* Every size, offset and value of cai/python.h, as layout_python.def has frozen them. It compiles,
 * as C11 and as C++ (layout_python.cpp), or it does not. */
#include <cai/python.h>

#include "layout.h"

#include "layout_python.def"

/* The floor is the table's first size, and stays when the table grows. */
ASSERT(CAI_PY_API_SIZE == offsetof(cai_py_api, raise) + sizeof(cai_py->raise), "the table's floor");

int cai_py_floor(void);
int cai_py_floor(void) { return cai_py_import() == 0 && CAI_PY_HAS(raise); }
