// SPDX-License-Identifier: BSD-3-Clause
// test_nolink.c as C++, where the functions that it calls are inline in another way.
#include "test_nolink.c"
