/* SPDX-License-Identifier: BSD-3-Clause */
/* As released in 0.1, without the comments. Never changed. */
#ifndef CAI_ADAPTORS_H
#define CAI_ADAPTORS_H
#include <cai/memory.h>
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif
void *cai_torch_alloc(uint64_t size, int32_t device, void *stream);
void cai_torch_free(void *ptr, uint64_t size, int32_t device, void *stream);
void *cai_torch_base(void *ptr, uint64_t *size);
void cai_torch_record_stream(void *ptr, void *stream);
void cai_torch_init(int32_t device_count);
void cai_torch_reset(void);
void *cai_cupy_alloc(void *param, uint64_t size, int32_t device);
void cai_cupy_free(void *param, void *ptr, int32_t device);
#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
