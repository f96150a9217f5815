/* SPDX-License-Identifier: BSD-3-Clause */
/* As released in 0.1, without the comments. Never changed. */
#ifndef CAI_EXCHANGE_H
#define CAI_EXCHANGE_H
#include <cai.h>
#define CAI_EXCHANGE_ATTRIBUTE "__cai_c_exchange_api__"
#define CAI_EXCHANGE_CAPSULE "cai_exchange_api"
#define CAI_EXCHANGE_HAS(api, member)                                                            \
  ((api)->struct_size >= (uint32_t)((const char *)(&(api)->member + 1) - (const char *)(api)) && \
   (api)->member)
#ifdef __cplusplus
extern "C" {
#endif
typedef struct cai_exchange_order {
  uint64_t stream;
  uint32_t stream_kind;
  uint32_t flags;
} cai_exchange_order;
typedef struct cai_exchange_api {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const struct cai_exchange_api *older;
  int32_t (*describe)(void *object, cai_array *out, int64_t *dims);
  int32_t (*order)(void *object, cai_exchange_order *out);
  int32_t (*used)(void *object, uint64_t stream, uint32_t access);
  int32_t (*own)(void *object, cai_array **out);
  int32_t (*wrap)(cai_array *array, void **out);
} cai_exchange_api;
#ifdef __cplusplus
}
#endif
#endif
