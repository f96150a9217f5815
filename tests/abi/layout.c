/* SPDX-License-Identifier: BSD-3-Clause */
/* Every size, alignment, offset and value of the headers, as layout.def has frozen them, and the
 * type of every function, as functions.def has. Nothing to run: it compiles, as C11 and as C++
 * (layout.cpp), or it does not. */
#include <cai/adaptors.h>
#include <cai/arrow.h>
#include <cai/dlpack.h>
#include <cai/exchange.h>

#include "layout.h"

#include "layout.def"

/* What the text promises beside the table. */
ASSERT(sizeof(cai_status) == 4 && (cai_status)-1 < 0, "cai_status is int32_t");
ASSERT(offsetof(cai_array, data) == 16, "bytes 0 to 15 never change");
ASSERT(offsetof(cai_array, stream) == 64, "the first cache line is what a kernel needs");
ASSERT(CAI_HEADER_VERSION ==
           10000 * CAI_VERSION_MAJOR + 100 * CAI_VERSION_MINOR + CAI_VERSION_PATCH,
       "the header's version, said twice");

#ifdef __cplusplus
#define IS_OF_TYPE(name, type) (std::is_same<decltype(&name), type>::value)
#else
#define IS_OF_TYPE(name, type) _Generic(&name, type: 1, default: 0)
#endif
#define FUNCTION(result, name, arguments) \
  ASSERT(IS_OF_TYPE(name, result(*) arguments), "type of " #name);

#include "functions.def"
