/* SPDX-License-Identifier: BSD-3-Clause */
/* cai/umf.h and cai/umf_manager.h with the UMF that pip provides, on simcuda and on the CPU. */
#include <cai/umf.h>
#include <cai/umf_manager.h>
#include <sys/wait.h>
#include <umf/memory_pool.h>
#include <umf/pools/pool_proxy.h>
#include <umf/providers/provider_os_memory.h>

#include "adaptors.h"
#include "driver_test.h"

static umf_memory_provider_handle_t provider_on(cai_device device, uint32_t kind,
                                                cai_manager *manager) {
  cai_umf_params params;
  umf_memory_provider_handle_t provider = NULL;
  memset(&params, 0, sizeof params);
  params.struct_size = sizeof params;
  params.kind = kind;
  params.device = device;
  params.manager = manager;
  CHECK(umfMemoryProviderCreate(cai_umf_provider_ops(), &params, &provider) == UMF_RESULT_SUCCESS);
  return provider;
}

static cai_device cpu(void) {
  cai_device device;
  device.type = CAI_DEVICE_CPU;
  device.id = 0;
  return device;
}

static void test_gpu(const char *name) {
  USE_MEMORY;
  cai_manager *manager = NULL;
  umf_memory_provider_handle_t provider;
  const char *found = NULL;
  void *block = NULL, *none = NULL;
  unsigned char back[BYTES];
  size_t page = 0;
  check_context = name;
  CHECK_OK(cai_manager_create(name, NULL, gpu(1), NULL, &manager, ERR));
  provider = provider_on(gpu(1), 0, manager);
  cai_manager_release(manager);
  CHECK(umfMemoryProviderGetName(provider, &found) == UMF_RESULT_SUCCESS && !strcmp(found, name));
  CHECK(umfMemoryProviderGetMinPageSize(provider, NULL, &page) == UMF_RESULT_SUCCESS && page > 0);
  CHECK(umfMemoryProviderGetRecommendedPageSize(provider, 1, &page) == UMF_RESULT_SUCCESS);

  CHECK(umfMemoryProviderAlloc(provider, BYTES, 4096, &block) == UMF_RESULT_SUCCESS);
  CHECK(block && address_of(block) % 4096 == 0 && usage_of(1).bytes == BYTES);
  MUST(cuMemsetD8Async(address_of(block), 9, BYTES, LEGACY));
  MUST(cuMemcpyDtoH(back, address_of(block), BYTES));
  CHECK(back[0] == 9 && back[BYTES - 1] == 9);
  CHECK(umfMemoryProviderFree(provider, block, BYTES) == UMF_RESULT_SUCCESS);
  CHECK(usage_of(1).count == 0);

  /* Freed already; never given; too much; no alignment. */
  CHECK(umfMemoryProviderFree(provider, block, BYTES) != UMF_RESULT_SUCCESS);
  CHECK(umfMemoryProviderFree(provider, back, BYTES) != UMF_RESULT_SUCCESS);
  CHECK(umfMemoryProviderAlloc(provider, (size_t)1 << 60, 0, &none) ==
        UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC);
  {
    const char *message = NULL;
    int32_t code = 0;
    umfMemoryProviderGetLastNativeError(provider, &message, &code);
    CHECK(code == CAI_ERR_MEMORY && message && *message);
  }
  CHECK(umfMemoryProviderAlloc(provider, BYTES, 3, &none) == UMF_RESULT_ERROR_INVALID_ALIGNMENT);
  CHECK(none == NULL);
  CHECK(umfMemoryProviderDestroy(provider) == UMF_RESULT_SUCCESS);
  CHECK_SILENT();
}

/* Below one of UMF's pools. */
static void test_pool(cai_device device, uint32_t kind) {
  umf_memory_provider_handle_t provider = provider_on(device, kind, NULL);
  umf_memory_pool_handle_t pool = NULL;
  void *blocks[8];
  size_t i;
  check_context = "pool";
  CHECK(umfPoolCreate(umfProxyPoolOps(), provider, NULL, 0, &pool) == UMF_RESULT_SUCCESS);
  for (i = 0; i < 8; ++i) {
    blocks[i] = umfPoolMalloc(pool, BYTES * (i + 1));
    CHECK(blocks[i] != NULL);
    if (blocks[i] && cai_is_dereferenceable(device, kind)) memset(blocks[i], 1, BYTES * (i + 1));
  }
  for (i = 8; i-- > 0;) CHECK(umfPoolFree(pool, blocks[i]) == UMF_RESULT_SUCCESS);
  umfPoolDestroy(pool);
  CHECK(umfMemoryProviderDestroy(provider) == UMF_RESULT_SUCCESS);
}

static void test_bad_params(void) {
  cai_umf_params params;
  umf_memory_provider_handle_t provider = NULL;
  check_context = "params";
  memset(&params, 0, sizeof params);
  CHECK(umfMemoryProviderCreate(cai_umf_provider_ops(), NULL, &provider) ==
        UMF_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(umfMemoryProviderCreate(cai_umf_provider_ops(), &params, &provider) ==
        UMF_RESULT_ERROR_INVALID_ARGUMENT);
  params.struct_size = sizeof params;
  params.device = gpu(7);
  CHECK(umfMemoryProviderCreate(cai_umf_provider_ops(), &params, &provider) ==
        UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC);
  CHECK(provider == NULL);
}

/* Another process, which opens what it is sent the handle of, and looks at the bytes. It is started
 * before the driver is, since nobody uses a GPU on both sides of a fork. */
static pid_t child;
static int to_child, from_child;

static int look_at(const cai_ipc_handle *given) {
  cai_ipc_handle handle = *given;
  umf_memory_provider_handle_t provider;
  unsigned char back[BYTES];
  void *opened = NULL;
  start();
  USE_MEMORY;
  provider = provider_on(gpu(0), 0, NULL);
  CHECK(umfMemoryProviderOpenIPCHandle(provider, &handle, &opened) == UMF_RESULT_SUCCESS);
  MUST(cuMemcpyDtoH(back, address_of(opened), BYTES));
  CHECK(back[0] == 5 && back[BYTES - 1] == 5);
  CHECK(umfMemoryProviderCloseIPCHandle(provider, opened, BYTES) == UMF_RESULT_SUCCESS);
  CHECK(umfMemoryProviderCloseIPCHandle(provider, opened, BYTES) != UMF_RESULT_SUCCESS);
  handle.kind = 77;
  CHECK(umfMemoryProviderOpenIPCHandle(provider, &handle, &opened) != UMF_RESULT_SUCCESS);
  CHECK(umfMemoryProviderDestroy(provider) == UMF_RESULT_SUCCESS);
  return CHECK_RESULT();
}

static void start_child(void) {
  int there[2], back[2];
  CHECK(pipe(there) == 0 && pipe(back) == 0);
  child = fork();
  if (child == 0) {
    cai_ipc_handle handle;
    char result;
    close(there[1]);
    if (read(there[0], &handle, sizeof handle) != (ssize_t)sizeof handle) _exit(1);
    result = (char)look_at(&handle);
    _exit(write(back[1], &result, 1) == 1 ? result : 1);
  }
  close(there[0]);
  close(back[1]);
  to_child = there[1];
  from_child = back[0];
}

/* A handle is made here, and opened by the other process: that this one may not is libcai's rule.
 */
static void test_ipc(void) {
  char result = 1;
  umf_memory_provider_handle_t provider = provider_on(gpu(0), 0, NULL);
  void *block = NULL, *opened = NULL;
  size_t size = 0;
  cai_ipc_handle handle;
  USE_MEMORY;
  USE_STREAMS;
  check_context = "ipc";
  CHECK(umfMemoryProviderAlloc(provider, BYTES, 0, &block) == UMF_RESULT_SUCCESS);
  CHECK(umfMemoryProviderGetIPCHandleSize(provider, &size) == UMF_RESULT_SUCCESS);
  CHECK(size == sizeof handle);
  CHECK(umfMemoryProviderGetIPCHandle(provider, block, BYTES, &handle) == UMF_RESULT_SUCCESS);
  CHECK(handle.kind == CAI_IPC_LEGACY && handle.size == BYTES);
  MUST(cuMemsetD8Async(address_of(block), 5, BYTES, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  CHECK(write(to_child, &handle, sizeof handle) == (ssize_t)sizeof handle);
  CHECK(read(from_child, &result, 1) == 1 && result == 0);
  CHECK(umfMemoryProviderOpenIPCHandle(provider, &handle, &opened) ==
        UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC);
  CHECK(umfMemoryProviderPutIPCHandle(provider, &handle) == UMF_RESULT_SUCCESS);
  CHECK(umfMemoryProviderFree(provider, block, BYTES) == UMF_RESULT_SUCCESS);
  CHECK(umfMemoryProviderDestroy(provider) == UMF_RESULT_SUCCESS);
  provider = provider_on(cpu(), CAI_KIND_HOST, NULL);
  CHECK(umfMemoryProviderGetIPCHandleSize(provider, &size) == UMF_RESULT_ERROR_NOT_SUPPORTED);
  CHECK(umfMemoryProviderDestroy(provider) == UMF_RESULT_SUCCESS);
  CHECK_SILENT();
}

/* UMF's provider of the system's memory, as the manager of the CPU; and ours of a GPU, as another
 * manager of that GPU: there and back. */
static void test_manager(void) {
  umf_os_memory_provider_params_handle_t os = NULL;
  umf_memory_provider_handle_t provider = NULL;
  cai_umf_manager_params params;
  cai_manager *manager = NULL;
  cai_memory *memory = NULL;
  cai_request request;
  cai_block block;
  check_context = "manager";
  memset(&request, 0, sizeof request);
  memset(&params, 0, sizeof params);
  params.struct_size = sizeof params;
  CHECK_OK(cai_manager_register("umf", cai_umf_manager_table(), ERR));
  CHECK_FAILS(CAI_ERR_VALUE, ANY, cai_manager_create("umf", NULL, cpu(), NULL, &manager, ERR));
  CHECK_FAILS(CAI_ERR_VALUE, ANY, cai_manager_create("umf", &params, cpu(), NULL, &manager, ERR));

  CHECK(umfOsMemoryProviderParamsCreate(&os) == UMF_RESULT_SUCCESS);
  CHECK(umfMemoryProviderCreate(umfOsMemoryProviderOps(), os, &provider) == UMF_RESULT_SUCCESS);
  params.provider = provider;
  CHECK_OK(cai_manager_create("umf", &params, cpu(), NULL, &manager, ERR));
  CHECK_OK(cai_manager_alloc(manager, BYTES, 4096, CAI_KIND_DEFAULT, 0, &block, ERR));
  CHECK(block.host == block.data && block.size >= BYTES);
  memset((void *)(uintptr_t)block.host, 3, BYTES);
  CHECK_OK(cai_manager_free(manager, &block, CAI_KIND_DEFAULT, 0, ERR));
  CHECK_FAILS(CAI_ERR_UNSUPPORTED, ANY,
              cai_manager_alloc(manager, BYTES, 0, CAI_KIND_ASYNC, 0, &block, ERR));
  cai_manager_release(manager);
  umfMemoryProviderDestroy(provider);
  umfOsMemoryProviderParamsDestroy(os);

  provider = provider_on(gpu(0), 0, NULL);
  params.provider = provider;
  CHECK_OK(cai_manager_create("umf", &params, gpu(0), NULL, &manager, ERR));
  CHECK_OK(cai_manager_alloc(manager, BYTES, 0, CAI_KIND_DEFAULT, 1, &block, ERR));
  CHECK(block.data && block.host == 0);
  CHECK_OK(cai_manager_free(manager, &block, CAI_KIND_DEFAULT, 1, ERR));
  request.struct_size = sizeof request;
  request.kind = CAI_KIND_DEFAULT;
  request.size = BYTES;
  request.manager = manager;
  CHECK_OK(cai_memory_alloc(gpu(0), &request, &memory, ERR));
  cai_memory_release(memory);
  CHECK_FAILS(CAI_ERR_MEMORY, ANY,
              cai_manager_alloc(manager, (uint64_t)1 << 60, 0, CAI_KIND_DEFAULT, 1, &block, ERR));
  cai_manager_release(manager);
  CHECK(usage_of(0).count == 0);
  umfMemoryProviderDestroy(provider);
  CHECK_SILENT();
}

static uint64_t allocated_by(const cai_manager *counter) {
  cai_statistics counts;
  memset(&counts, 0, sizeof counts);
  counts.struct_size = sizeof counts;
  CHECK_OK(cai_manager_statistics(counter, &counts, ERR));
  return counts.count;
}

/* Memory goes back to the provider only once the work on its stream is complete: not in a capture,
 * whose event does not cover earlier work, nor if the wait fails. */
static void test_frees(void) {
  cai_manager *manager = NULL, *source = NULL, *counter = NULL;
  umf_memory_provider_handle_t provider;
  cai_umf_manager_params params;
  CUstream stream = NULL;
  CUgraph graph = NULL;
  cai_block block;
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  FIND_SIM(simcuda_fail);
  check_context = "frees";
  memset(&params, 0, sizeof params);
  params.struct_size = sizeof params;
  CHECK_OK(cai_manager_create("default", NULL, gpu(0), NULL, &source, ERR));
  CHECK_OK(cai_manager_create("statistics", NULL, gpu(0), source, &counter, ERR));
  params.provider = provider = provider_on(gpu(0), 0, counter);
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  CHECK_OK(cai_manager_create("umf", &params, gpu(0), NULL, &manager, ERR));
  CHECK_OK(cai_manager_alloc(manager, BYTES, 0, CAI_KIND_DEFAULT, address_of(stream), &block, ERR));
  MUST(cuMemsetD8Async(block.data, 1, BYTES, stream));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  CHECK_FAILS(CAI_ERR_CAPTURE, ANY,
              cai_manager_free(manager, &block, CAI_KIND_DEFAULT, address_of(stream), ERR));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphDestroy(graph));
  CHECK_OK(cai_pending_flush(gpu(0), ERR));
  CHECK(allocated_by(counter) == 1);

  CHECK_OK(cai_manager_free(manager, &block, CAI_KIND_DEFAULT, address_of(stream), ERR));
  CHECK(simcuda_fail("cuEventSynchronize", 1, 999) == 0);
  CHECK_FAILS(CAI_ERR_CUDA, ANY, cai_pending_flush(gpu(0), ERR));
  CHECK(simcuda_fail("cuEventSynchronize", 0, 0) == 0);
  CHECK(allocated_by(counter) == 1);
  MUST(cuStreamSynchronize(stream));
  CHECK(umfMemoryProviderFree(provider, (void *)(uintptr_t)block.data, block.size) ==
        UMF_RESULT_SUCCESS);
  CHECK_OK(cai_pending_flush(gpu(0), ERR));
  CHECK(allocated_by(counter) == 0);
  cai_manager_release(manager);
  umfMemoryProviderDestroy(provider);
  cai_manager_release(counter);
  cai_manager_release(source);
  MUST(cuStreamDestroy(stream));
  CHECK_SILENT();
}

/* The provider may be destroyed after the manager, whose end runs the pending frees: nothing calls
 * it later. In a capture they stay pending until a flush succeeds. */
static void test_end_of_manager(int in_capture) {
  cai_manager *manager = NULL, *source = NULL, *counter = NULL;
  umf_memory_provider_handle_t provider;
  cai_umf_manager_params params;
  CUstream stream = NULL;
  CUgraph graph = NULL;
  cai_block block;
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  check_context = in_capture ? "end of a manager in a capture" : "end of a manager";
  memset(&params, 0, sizeof params);
  params.struct_size = sizeof params;
  CHECK_OK(cai_manager_create("default", NULL, gpu(0), NULL, &source, ERR));
  CHECK_OK(cai_manager_create("statistics", NULL, gpu(0), source, &counter, ERR));
  params.provider = provider = provider_on(gpu(0), 0, counter);
  MUST(cuStreamCreate(&stream, 0));
  CHECK_OK(cai_manager_create("umf", &params, gpu(0), NULL, &manager, ERR));
  CHECK_OK(cai_manager_alloc(manager, BYTES, 0, CAI_KIND_DEFAULT, address_of(stream), &block, ERR));
  MUST(cuMemsetD8Async(block.data, 1, BYTES, stream));
  CHECK_OK(cai_manager_free(manager, &block, CAI_KIND_DEFAULT, address_of(stream), ERR));
  if (in_capture) MUST(cuStreamBeginCapture(stream, RELAXED));
  cai_manager_release(manager);
  if (in_capture) {
    CHECK_FAILS(CAI_ERR_CAPTURE, ANY, cai_pending_flush(gpu(0), ERR));
    CHECK(allocated_by(counter) == 1);
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphDestroy(graph));
    CHECK_OK(cai_pending_flush(gpu(0), ERR));
  }
  CHECK(allocated_by(counter) == 0);
  umfMemoryProviderDestroy(provider);
  cai_manager_release(counter);
  cai_manager_release(source);
  MUST(cuStreamDestroy(stream));
  CHECK_SILENT();
}

int main(void) {
  int status = 1;
  start_child();
  start();
  FIND_SIM(simcuda_races);
  CHECK_OK(cai_on_failure(hear, NULL, ERR));
  test_gpu("default");
  test_gpu("async");
  test_pool(gpu(0), CAI_KIND_DEFAULT);
  test_pool(gpu(0), CAI_KIND_MANAGED_GLOBAL);
  test_pool(cpu(), CAI_KIND_HOST);
  test_bad_params();
  test_ipc();
  test_manager();
  test_frees();
  test_end_of_manager(0);
  test_end_of_manager(1);
  CHECK(simcuda_races() == 0);
  close(to_child);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  return CHECK_RESULT();
}
