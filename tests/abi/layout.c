/* SPDX-License-Identifier: BSD-3-Clause */
/* Every size, alignment, offset and value of the headers, as layout.def has frozen them. Nothing to
 * run: it compiles, as C11 and as C++ (layout.cpp), or it does not. */
#include <cai/memory.h>

#include <stddef.h>

#ifdef __cplusplus
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

/* The types of the functions, which a table of symbols does not show. */
typedef struct cai_functions {
  int32_t (*version)(void);
  const char *(*status_name)(cai_status);
  const char *(*entry_name)(int32_t);
  cai_status (*dtype_parse)(const char *, uint64_t, cai_dtype *, cai_error *);
  cai_status (*dtype_format)(const cai_dtype *, char *, cai_error *);
  cai_status (*layout)(const cai_array *, cai_layout *, cai_error *);
  cai_status (*validate)(const cai_array *, cai_error *);
  uint64_t (*storage)(const cai_interface *);
  cai_status (*read)(const cai_interface *, uint32_t, cai_finding_fn, void *, void *, uint64_t,
                     cai_array *, cai_error *);
  uint64_t (*write_storage)(const cai_array *);
  cai_status (*write)(const cai_array *, uint32_t, void *, uint64_t, cai_interface *, cai_error *);
  cai_status (*own)(const cai_array *, void (*)(void *), void *, cai_array **, cai_error *);
  cai_status (*slice)(const cai_array *, const cai_slice *, int32_t, cai_array **, cai_error *);
  cai_status (*reshape)(const cai_array *, const int64_t *, int32_t, cai_array **, cai_error *);
  cai_status (*transpose)(const cai_array *, const int32_t *, cai_array **, cai_error *);
  cai_status (*broadcast)(const cai_array *, const int64_t *, int32_t, cai_array **, cai_error *);
  cai_status (*begin_use)(const cai_array *const *, int32_t, uint64_t, const cai_use_options *,
                          cai_error *);
  cai_status (*end_use)(const cai_array *const *, int32_t, uint64_t, const cai_use_options *,
                        cai_error *);
  cai_status (*same_stream)(const cai_array *const *, int32_t, uint64_t *, cai_error *);
  cai_status (*sync_host)(const cai_array *, cai_error *);
  cai_status (*locate)(const cai_array *, cai_location *, cai_error *);
} cai_functions;

#ifdef __cplusplus
extern const cai_functions cai_all_functions_cpp;
const cai_functions cai_all_functions_cpp = {
#else
extern const cai_functions cai_all_functions;
const cai_functions cai_all_functions = {
#endif
    cai_version,
    cai_status_name,
    cai_entry_name,
    cai_dtype_parse,
    cai_dtype_format,
    cai_array_layout,
    cai_array_validate,
    cai_interface_storage,
    cai_interface_read,
    cai_interface_write_storage,
    cai_interface_write,
    cai_array_own,
    cai_array_slice,
    cai_array_reshape,
    cai_array_transpose,
    cai_array_broadcast,
    cai_arrays_begin_use,
    cai_arrays_end_use,
    cai_arrays_same_stream,
    cai_array_sync_host,
    cai_array_locate};
