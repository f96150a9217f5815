/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of layout.def and layout_python.def as assertions, for C11 and for C++. */
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
