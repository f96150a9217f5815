/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions for PyTorch, called as its CUDAPluggableAllocator calls them: through pointers of
 * exactly these types, from any thread. */
#include <cai/adaptors.h>

#include "adaptors.h"
#include "driver_test.h"

static void *(*const alloc_fn)(size_t, int, void *) = cai_torch_alloc;
static void (*const free_fn)(void *, size_t, int, void *) = cai_torch_free;
static void *(*const base_alloc_fn)(void *, size_t *) = cai_torch_base;
static void (*const record_stream_fn)(void *, void *) = cai_torch_record_stream;
static void (*const init_fn)(int) = cai_torch_init;
static void (*const reset_fn)(void) = cai_torch_reset;

static CUcontext contexts[2];

static void test_size(void) {
  check_context = "size";
  CHECK(alloc_fn(0, 0, NULL) == NULL);
  free_fn(NULL, 0, 0, NULL);
  record_stream_fn(NULL, NULL);
  CHECK_SILENT();

  void *one = alloc_fn(1, 0, NULL), *many = alloc_fn((size_t)1 << 20, 0, NULL);
  CHECK(one && many && address_of(one) % 256 == 0 && address_of(many) % 256 == 0);
  CHECK(usage_of(0).bytes == 1 + (1 << 20) && usage_of(0).count == 2);
  free_fn(one, 1, 0, NULL);
  free_fn(many, (size_t)1 << 20, 0, NULL);
  CHECK(usage_of(0).bytes == 0 && usage_of(0).count == 0);
  CHECK_SILENT();
}

/* The bytes are really the GPU's, and the caller's context stays current. */
static void test_use(void) {
  USE_MEMORY;
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  unsigned char back[BYTES];
  CUcontext current = NULL;
  int device;
  check_context = "use";
  for (device = 0; device < 2; ++device) {
    cai_location where;
    memset(&where, 0, sizeof where);
    void *block = alloc_fn(BYTES, device, LEGACY);
    MUST(cuMemsetD8Async(address_of(block), (unsigned char)(7 + device), BYTES, LEGACY));
    MUST(cuMemcpyDtoH(back, address_of(block), BYTES));
    CHECK(back[0] == 7 + device && back[BYTES - 1] == 7 + device);
    CHECK(usage_of(device).bytes == BYTES && usage_of(1 - device).bytes == 0);
    free_fn(block, BYTES, device, LEGACY);
    MUST(cuCtxGetCurrent(&current));
    CHECK(current == contexts[0]);
  }
  CHECK_SILENT();
}

static void test_failures(void) {
  int here;
  size_t size = 77;
  void *block = alloc_fn(BYTES, 0, NULL);
  check_context = "failures";
  CHECK(alloc_fn((size_t)1 << 60, 0, NULL) == NULL);
  CHECK_TOLD(CAI_ERR_MEMORY, "");
  CHECK(alloc_fn(16, 2, NULL) == NULL);
  CHECK_TOLD(CAI_ERR_DEVICE, "gpu:2");
  CHECK(alloc_fn(16, -1, NULL) == NULL);
  check_told(last_told.status, "", __LINE__); /* whichever it is, it is one */
  CHECK(alloc_fn(16, 1000, NULL) == NULL);
  CHECK_TOLD(CAI_ERR_DEVICE, "1000");
  /* Never given, given only as a part, freed already. */
  free_fn(&here, sizeof here, 0, NULL);
  CHECK_TOLD(CAI_ERR_STATE, "freed already");
  free_fn((char *)block + 256, BYTES, 0, NULL);
  CHECK_TOLD(CAI_ERR_STATE, "freed already");
  free_fn(block, BYTES, 0, NULL);
  CHECK_SILENT();
  free_fn(block, BYTES, 0, NULL);
  CHECK_TOLD(CAI_ERR_STATE, "freed already");
  record_stream_fn(block, NULL);
  CHECK_TOLD(CAI_ERR_STATE, "freed already");
  CHECK(base_alloc_fn(&here, &size) == NULL && size == 77);
  CHECK_TOLD(CAI_ERR_DEVICE, "");
  init_fn(2);
  CHECK_SILENT();
  init_fn(8);
  CHECK_TOLD(CAI_ERR_DEVICE, "8");
  CHECK(usage_of(0).count == 0);
}

/* Memory that is not of this allocator is not freed by it. */
static void test_others_memory(void) {
  cai_request request;
  cai_memory *memory = NULL;
  cai_memory_info info;
  check_context = "others' memory";
  memset(&request, 0, sizeof request);
  request.struct_size = sizeof request;
  request.kind = CAI_KIND_DEFAULT;
  request.size = BYTES;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  CHECK_OK(cai_memory_alloc(gpu(0), &request, &memory, ERR));
  CHECK_OK(cai_memory_describe(memory, &info, ERR));
  free_fn((void *)(uintptr_t)info.data, BYTES, 0, NULL);
  CHECK_TOLD(CAI_ERR_STATE, "not of this allocator");
  CHECK_OK(cai_memory_describe(memory, &info, ERR));
  CHECK(!(info.flags & CAI_MEMORY_FREED));
  cai_memory_release(memory);
  CHECK_SILENT();
}

static void test_base(void) {
  size_t size = 0;
  char *block = (char *)alloc_fn(BYTES, 1, NULL);
  check_context = "base";
  CHECK(base_alloc_fn(block, &size) == block && size == BYTES);
  CHECK(base_alloc_fn(block + BYTES - 1, NULL) == block);
  free_fn(block, BYTES, 1, NULL);
  CHECK_SILENT();
}

static void test_reset(void) {
  int i;
  check_context = "reset";
  for (i = 0; i < 5; ++i) free_fn(alloc_fn(BYTES, 0, NULL), BYTES, 0, NULL);
  reset_fn();
  CHECK(usage_of(0).pending_count == 0);
  CHECK_SILENT();
}

static void *allocate_many(void *device) {
  int i, round;
  void *blocks[64];
  for (round = 0; round < 20; ++round) {
    for (i = 0; i < 64; ++i) blocks[i] = alloc_fn((size_t)i + 1, *(int *)device, NULL);
    for (i = 64; i-- > 0;) free_fn(blocks[i], (size_t)i + 1, *(int *)device, NULL);
  }
  return NULL;
}

static void test_threads(void) {
  static int devices[] = {0, 1};
  pthread_t threads[6];
  size_t i;
  check_context = "threads";
  for (i = 0; i < 6; ++i)
    CHECK(pthread_create(&threads[i], NULL, allocate_many, &devices[i % 2]) == 0);
  for (i = 0; i < 6; ++i) pthread_join(threads[i], NULL);
  CHECK(usage_of(0).count == 0 && usage_of(1).count == 0);
  CHECK_SILENT();
}

/* Memory used on another stream than its own: once that is said, a free does not come too early. */
static void use_elsewhere(int said) {
  USE_MEMORY;
  USE_STREAMS;
  CUstream one, two;
  void *block, *next;
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  block = alloc_fn(BYTES, 0, one);
  MUST(cuStreamSynchronize(one)); /* another stream may use it */
  MUST(cuMemsetD8Async(address_of(block), 1, BYTES, two));
  if (said) record_stream_fn(block, two);
  free_fn(block, BYTES, 0, one);
  next = alloc_fn(BYTES, 0, one);
  CHECK(next == block); /* or there is nothing to race for */
  MUST(cuMemsetD8Async(address_of(next), 2, BYTES, one));
  free_fn(next, BYTES, 0, one);
  MUST(cuStreamSynchronize(one));
  MUST(cuStreamSynchronize(two));
  MUST(cuStreamDestroy(one));
  MUST(cuStreamDestroy(two));
}

static void test_record(void) {
  FIND_SIM(simcuda_races);
  FIND_SIM(simcuda_reset);
  check_context = "record";
  install("async", 0);
  use_elsewhere(1);
  CHECK(simcuda_races() == 0);
  use_elsewhere(0);
  CHECK(simcuda_races() > 0);
  simcuda_reset();
  CHECK_OK(cai_manager_install(gpu(0), NULL, ERR));
  CHECK_SILENT();
}

/* Freed on another stream than it came on: it is that stream's from there on. */
static void test_free_elsewhere(void) {
  USE_MEMORY;
  USE_STREAMS;
  FIND_SIM(simcuda_races);
  CUstream one, two;
  void *block, *next;
  check_context = "free elsewhere";
  install("async", 0);
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  block = alloc_fn(BYTES, 0, one);
  MUST(cuStreamSynchronize(one));
  MUST(cuMemsetD8Async(address_of(block), 1, BYTES, two));
  free_fn(block, BYTES, 0, two);
  next = alloc_fn(BYTES, 0, two);
  CHECK(next == block);
  MUST(cuMemsetD8Async(address_of(next), 2, BYTES, two));
  free_fn(next, BYTES, 0, two);
  MUST(cuStreamSynchronize(two));
  MUST(cuStreamDestroy(one));
  MUST(cuStreamDestroy(two));
  CHECK_OK(cai_manager_install(gpu(0), NULL, ERR));
  CHECK(simcuda_races() == 0);
  CHECK_SILENT();
}

/* Freed on another stream while its own is being captured, which allows no change of the stream:
 * the free comes after the work on both, once the capture has ended. */
static void test_free_elsewhere_in_capture(void) {
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  FIND_SIM(simcuda_races);
  CUstream one, two;
  CUgraph graph;
  cai_memory *kept = NULL;
  void *block, *next;
  check_context = "free elsewhere in a capture";
  install("async", 0);
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  block = alloc_fn(BYTES, 0, one);
  MUST(cuStreamSynchronize(one));
  MUST(cuMemsetD8Async(address_of(block), 1, BYTES, two));
  MUST(cuStreamBeginCapture(one, RELAXED));
  free_fn(block, BYTES, 0, two);
  CHECK_SILENT();
  MUST(cuStreamEndCapture(one, &graph));
  MUST(cuGraphDestroy(graph));
  next = alloc_fn(BYTES, 0, one);
  MUST(cuMemsetD8Async(address_of(next), 2, BYTES, one));
  free_fn(next, BYTES, 0, one);
  MUST(cuStreamSynchronize(one));
  MUST(cuStreamSynchronize(two));
  CHECK_OK(cai_pending_flush(gpu(0), ERR));
  CHECK(simcuda_races() == 0);
  CHECK(usage_of(0).count == 0);

  /* Both are being captured: it is told, and the memory is kept rather than freed too early. */
  block = alloc_fn(BYTES, 0, one);
  MUST(cuStreamBeginCapture(one, RELAXED));
  MUST(cuStreamBeginCapture(two, RELAXED));
  free_fn(block, BYTES, 0, two);
  CHECK_TOLD(CAI_ERR_CAPTURE, "");
  MUST(cuStreamEndCapture(one, &graph));
  MUST(cuGraphDestroy(graph));
  MUST(cuStreamEndCapture(two, &graph));
  MUST(cuGraphDestroy(graph));
  CHECK_OK(cai_pending_flush(gpu(0), ERR));
  CHECK(usage_of(0).count == 1);
  CHECK_OK(cai_memory_find(address_of(block), &kept, NULL, ERR));
  cai_memory_release(kept);
  cai_memory_release(kept); /* the reference that was kept */
  CHECK(usage_of(0).count == 0);
  MUST(cuStreamDestroy(one));
  MUST(cuStreamDestroy(two));
  CHECK_OK(cai_manager_install(gpu(0), NULL, ERR));
  CHECK_SILENT();
}

/* Memory may be used on a stream of another GPU's: record_stream_fn() is not told of which. */
static void test_record_on_another_gpu(void) {
  USE_STREAMS;
  USE(cuCtxPushCurrent, 4000, CUcontext);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, int);
  CUstream stream;
  void *block = alloc_fn(BYTES, 0, NULL);
  check_context = "record on another GPU";
  MUST(cuDevicePrimaryCtxRetain(&contexts[1], 1));
  MUST(cuCtxPushCurrent(contexts[1]));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuCtxPopCurrent(&contexts[1]));
  record_stream_fn(block, stream);
  CHECK_SILENT();
  free_fn(block, BYTES, 0, NULL);
  CHECK_OK(cai_pending_flush(gpu(0), ERR));
  CHECK(usage_of(0).count == 0);
  MUST(cuStreamDestroy(stream));
  record_stream_fn(block, stream);
  CHECK_TOLD(CAI_ERR_STATE, "freed already");
  CHECK_SILENT();
}

/* An unloaded driver at the end of the process is no failure, and is not reported. */
static void test_driver_that_has_gone(void) {
  FIND_SIM(simcuda_fail);
  static const char *const functions[] = {"cuMemAlloc", "cuMemAllocAsync",
                                          "cuMemAllocFromPoolAsync"};
  static const int statuses[] = {4, 999};
  size_t i, k;
  check_context = "a driver that has gone";
  for (k = 0; k < 2; ++k) {
    for (i = 0; i < 3; ++i) CHECK(simcuda_fail(functions[i], 1, statuses[k]) == 0);
    CHECK(alloc_fn(BYTES, 0, NULL) == NULL);
    if (k == 0)
      CHECK_SILENT();
    else
      CHECK_TOLD(CAI_ERR_CUDA, "(999)");
    for (i = 0; i < 3; ++i) CHECK(simcuda_fail(functions[i], 0, 0) == 0);
  }
}

/* A reset of the device frees all of it; the framework's own free comes late, and is nothing. */
static void test_device_reset(void) {
  void *block = alloc_fn(BYTES, 1, NULL);
  check_context = "device reset";
  CHECK_OK(cai_device_reset(gpu(1), CAI_RESET_CONTEXT, ERR));
  free_fn(block, BYTES, 1, NULL);
  CHECK_SILENT();
  block = alloc_fn(BYTES, 1, NULL);
  CHECK(block != NULL);
  free_fn(block, BYTES, 1, NULL);
  CHECK_SILENT();
}

int main(void) {
  contexts[0] = start();
  FIND_SIM(simcuda_races);
  CHECK_OK(cai_on_failure(hear, NULL, ERR));
  test_size();
  test_use();
  test_failures();
  test_others_memory();
  test_base();
  test_reset();
  test_threads();
  CHECK(simcuda_races() == 0);
  test_record();
  test_free_elsewhere();
  test_free_elsewhere_in_capture();
  test_record_on_another_gpu();
  test_driver_that_has_gone();
  test_device_reset();
  return CHECK_RESULT();
}
