/* SPDX-License-Identifier: BSD-3-Clause */
/* What bindgen reads for the feature `memory`; what the exchange has, too, is left out. */
#include <cai/adaptors.h>
#include <cai/device.h>
#include <cai/memory.h>
