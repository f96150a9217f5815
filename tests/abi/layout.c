/* SPDX-License-Identifier: BSD-3-Clause */
/* Every size, alignment, offset and value of the headers, as layout.def has frozen them, and the
 * type of every function, as functions.def has. Nothing to run: it compiles, as C11 and as C++
 * (layout.cpp), or it does not. */
#include <cai/adaptors.h>
#include <cai/arrow.h>
#include <cai/dlpack.h>
#include <cai/exchange.h>

#include <stddef.h>

#ifdef __cplusplus
#include <type_traits>
#define ASSERT(condition, text) static_assert(condition, text)
#define ALIGNOF(type) alignof(type)
#else
#define ASSERT(condition, text) _Static_assert(condition, text)
#define ALIGNOF(type) _Alignof(type)
#endif

#define STRUCT(name, size, alignment)              \
  ASSERT(sizeof(name) == (size), "sizeof " #name); \
  ASSERT(ALIGNOF(name) == (alignment), "alignof " #name);
#define MEMBER(name, member, offset, size)                                    \
  ASSERT(offsetof(name, member) == (offset), "offset of " #name "." #member); \
  ASSERT(sizeof(((name *)0)->member) == (size), "size of " #name "." #member);
#define VALUE(name, value) ASSERT(name == (value), #name);

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
