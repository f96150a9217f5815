/* SPDX-License-Identifier: BSD-3-Clause */
/* As released in 0.1, without the comments. Never changed. */
#ifndef CAI_DLPACK_H
#define CAI_DLPACK_H
#include <cai.h>
#include <cai/dlpack_abi.h>
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif
cai_status cai_dlpack_read(const DLTensor *tensor, uint64_t stream, int64_t *strides,
                           cai_array *out, cai_error *error);
cai_status cai_dlpack_own(DLManagedTensorVersioned *tensor, uint64_t stream, cai_array **out,
                          cai_error *error);
cai_status cai_dlpack_own_legacy(DLManagedTensor *tensor, uint64_t stream, cai_array **out,
                                 cai_error *error);
cai_status cai_dlpack_write(const cai_array *array, uint64_t stream, DLManagedTensorVersioned **out,
                            cai_error *error);
cai_status cai_dlpack_write_legacy(const cai_array *array, uint64_t stream, DLManagedTensor **out,
                                   cai_error *error);
cai_status cai_dlpack_lend(const cai_array *array, int64_t *strides, DLTensor *out,
                           cai_error *error);
#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
