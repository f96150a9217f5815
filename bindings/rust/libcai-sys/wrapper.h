/* SPDX-License-Identifier: BSD-3-Clause */
/* What bindgen reads: every public header in C that declares something of the library's. */
#include <cai.h>
#include <cai/adaptors.h>
#include <cai/arrow.h>
#include <cai/device.h>
#include <cai/dlpack.h>
#include <cai/exchange.h>
#include <cai/memory.h>
