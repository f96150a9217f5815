/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool of UMF's, above the libcai manager of the device. */
#include <cai/umf.h>
#include <stdio.h>
#include <umf/memory_pool.h>
#include <umf/pools/pool_disjoint.h>

int main(void) {
  const cai_umf_params params = {sizeof params, CAI_KIND_DEFAULT, {CAI_DEVICE_CUDA, 0}, NULL};
  umf_memory_provider_handle_t provider;
  umf_disjoint_pool_params_handle_t pool_params;
  umf_memory_pool_handle_t pool;
  void *block;
  if (umfMemoryProviderCreate(cai_umf_provider_ops(), &params, &provider) ||
      umfDisjointPoolParamsCreate(&pool_params) ||
      umfPoolCreate(umfDisjointPoolOps(), provider, pool_params, 0, &pool)) {
    fprintf(stderr, "no pool: %s\n", cai_umf_error()->message);
    return 1;
  }
  block = umfPoolMalloc(pool, 4096);
  printf("4096 bytes at %p\n", block);
  umfPoolFree(pool, block);
  umfPoolDestroy(pool);
  umfDisjointPoolParamsDestroy(pool_params);
  umfMemoryProviderDestroy(provider);
  return block ? 0 : 1;
}
