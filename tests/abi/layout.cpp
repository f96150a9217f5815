// SPDX-License-Identifier: BSD-3-Clause
// layout.c as C++: one header, one layout.
#include "layout.c"
