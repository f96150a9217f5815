// SPDX-License-Identifier: BSD-3-Clause
// layout_python.c as C++: one header, one layout.
#include "layout_python.c"
