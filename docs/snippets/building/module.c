/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls nothing of the library: the functions that it needs are in the header. */
#include <cai/array.h>

int module_refuses(const cai_array *x) { return cai_array_refuses(x, 0); }
