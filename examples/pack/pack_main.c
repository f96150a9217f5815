/* SPDX-License-Identifier: BSD-3-Clause */
/* pack() with no Python: views of host memory and of GPU memory, which is still being filled on
 * another stream, are packed and compared with what plain C makes of them. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "pack.h"

enum { ROWS = 6, COLUMNS = 8 };
static int32_t numbers[ROWS][COLUMNS];

/* A view of `numbers`, in elements. */
typedef struct view {
  const char *name;
  int64_t shape[2];
  int64_t offset;
  int64_t strides[2];
} view;

static const view views[] = {
    {"contiguous", {6, 8}, 0, {8, 1}},
    {"columns 2 to 5", {6, 3}, 2, {8, 1}},
    {"every second column", {6, 4}, 0, {8, 2}},
    {"transposed", {8, 6}, 0, {1, 8}},
    {"rows backwards", {6, 8}, 40, {-8, 1}},
    {"columns backwards", {6, 8}, 7, {8, -1}},
    {"both backwards", {3, 4}, 47, {-16, -2}},
    {"one row, repeated", {5, 8}, 16, {0, 1}},
    {"one column, repeated", {6, 3}, 4, {8, 0}},
    {"one element, repeated", {2, 2}, 9, {0, 0}},
    {"overlapping windows", {5, 4}, 0, {1, 1}},
    {"one column", {6, 1}, 3, {8, 1}},
    {"nothing", {0, 8}, 0, {8, 1}},
};
enum { VIEWS = sizeof views / sizeof *views };

#define TRY(cu, call) try(cu, (cu)->call, #call)

static void try(const driver *cu, CUresult result, const char *call) {
  cai_error error;
  if (check(cu, result, call, &error) == CAI_OK) return;
  fprintf(stderr, "pack-main: %s\n", error.message);
  exit(1);
}

/* An array that nobody owns: it lives on our stack during the call. */
static cai_array describe(const view *v, int64_t strides[2], uint64_t memory, int32_t device,
                          uint64_t stream) {
  const int64_t item = sizeof(int32_t);
  const int empty = v->shape[0] == 0 || v->shape[1] == 0;
  strides[0] = v->strides[0] * item;
  strides[1] = v->strides[1] * item;
  cai_array array;
  memset(&array, 0, sizeof array);
  array.abi_major = CAI_ABI_MAJOR;
  array.abi_minor = CAI_ABI_MINOR;
  array.data = empty ? 0 : memory + (uint64_t)(v->offset * item);
  array.device_type = device;
  array.device_id = device == CAI_DEVICE_CPU ? 0 : -1;
  cai_dtype_parse("<i4", 3, &array.dtype, NULL);
  array.ndim = 2;
  array.shape = v->shape;
  array.strides = strides;
  array.stream = stream;
  array.stream_kind = stream ? CAI_STREAM_STREAM : CAI_STREAM_NONE;
  array.version = CAI_INTERFACE_VERSION;
  return array;
}

/* Packs one view, and says whether the result is right. */
static int packs(const driver *cu, const view *v, uint64_t memory, uint64_t producer) {
  int64_t strides[2];
  const cai_array in =
      describe(v, strides, memory, cu ? CAI_DEVICE_CUDA : CAI_DEVICE_CPU, producer);
  cai_array *out = NULL;
  cai_error error;
  if (pack(&in, NULL, &out, &error) != CAI_OK) {
    printf("  %-22s %s: %s\n", v->name, cai_status_name(error.status), error.message);
    return 0;
  }
  const int64_t count = v->shape[0] * v->shape[1];
  int32_t got[ROWS * COLUMNS] = {0};
  if (cu && count) {
    /* We work on the result's own stream, so there is nothing to wait for. */
    const CUstream stream = (CUstream)(uintptr_t)out->stream;
    TRY(cu, cuMemcpyDtoHAsync(got, out->data, (size_t)count * sizeof *got, stream));
    TRY(cu, cuStreamSynchronize(stream));
  } else if (count) {
    memcpy(got, (const void *)(uintptr_t)out->data, (size_t)count * sizeof *got);
  }
  cai_array_release(out);

  const int32_t *const all = &numbers[0][0] + v->offset;
  int wrong = 0;
  for (int64_t i = 0; i < count; i++) {
    const int64_t row = i / v->shape[1], column = i % v->shape[1];
    wrong += got[i] != all[row * v->strides[0] + column * v->strides[1]];
  }
  printf("  %-22s %s\n", v->name, wrong ? "WRONG" : "ok");
  return wrong == 0;
}

static int pack_host_arrays(void) {
  int good = 0;
  printf("on the host:\n");
  for (int i = 0; i < VIEWS; i++) good += packs(NULL, &views[i], (uintptr_t)numbers, 0);
  return good;
}

static int pack_device_arrays(const driver *cu) {
  CUdevice device;
  CUcontext context;
  char name[80];
  TRY(cu, cuDeviceGet(&device, 0));
  TRY(cu, cuDeviceGetName(name, sizeof name, device));
  TRY(cu, cuDevicePrimaryCtxRetain(&context, device));
  TRY(cu, cuCtxPushCurrent(context));
  void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  printf("on %s, by the %s driver:\n", name,
         library && dlsym(library, "simcuda_calls") ? "simulated" : "real");

  int good = 0;
  for (int i = 0; i < VIEWS; i++) {
    /* Filled for each view anew, so that the work is pending when pack() is called. */
    CUstream producer;
    CUdeviceptr memory;
    TRY(cu, cuStreamCreate(&producer, CU_STREAM_NON_BLOCKING));
    TRY(cu, cuMemAllocAsync(&memory, sizeof numbers, producer));
    TRY(cu, cuMemcpyHtoDAsync(memory, numbers, sizeof numbers, producer));
    good += packs(cu, &views[i], memory, (uintptr_t)producer);
    /* pack() has made our stream wait for its own, so this needs no thought. */
    TRY(cu, cuMemFreeAsync(memory, producer));
    TRY(cu, cuStreamSynchronize(producer));
    TRY(cu, cuStreamDestroy(producer));
  }
  TRY(cu, cuCtxPopCurrent(&context));
  TRY(cu, cuDevicePrimaryCtxRelease(device));
  return good;
}

int main(void) {
  for (int i = 0; i < ROWS * COLUMNS; i++) numbers[i / COLUMNS][i % COLUMNS] = 100 + i;
  int good = pack_host_arrays(), all = VIEWS;
  cai_error error;
  const driver *const cu = driver_get(&error);
  if (cu) {
    good += pack_device_arrays(cu);
    all += VIEWS;
  } else {
    printf("not on a GPU: %s\n", error.message);
  }
  printf("%d of %d arrays were packed correctly\n", good, all);
  return good == all ? 0 : 1;
}
