/* SPDX-License-Identifier: BSD-3-Clause */
/* What bindgen reads of the exchange: the headers in C that declare something of it. */
#include <cai.h>
#include <cai/arrow.h>
#include <cai/dlpack.h>
#include <cai/exchange.h>
