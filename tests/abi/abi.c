/* SPDX-License-Identifier: BSD-3-Clause */
/* The ABI as debugging information: a variable for each function, and for what has no function of
 * its type. check_abi.py compares it with the baseline. */
#include <cai/adaptors.h>
#include <cai/arrow.h>
#include <cai/dlpack.h>
#include <cai/exchange.h>
#include <cai/memory.h>

#define FUNCTION(result, name, arguments)    \
  extern __typeof__(name) *const abi_##name; \
  __typeof__(name) *const abi_##name = name;
#include "functions.def"

/* What functions take as void *, and what types of Python's hand out. */
cai_pool_params *abi_pool_params;
cai_limit_params *abi_limit_params;
cai_log_params *abi_log_params;
cai_track_params *abi_track_params;
cai_retry_params *abi_retry_params;
cai_exchange_api *abi_exchange_api;
