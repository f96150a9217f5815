// SPDX-License-Identifier: BSD-3-Clause
// What kernels read and write by textures and surfaces races with copies as other memory does. An
// object that was destroyed after a launch is still good for it, one that was destroyed before, or
// is of another context, or whose array is gone, is an invalid address.
#include "textures.h"

#include "race_ptx.h"

enum { WIDTH = 16, ROWS = 8, BYTES = WIDTH * ROWS * 4 };

static CUfunction fetch, set_row, copy_row;
static CUarray array;
static CUtexObject texture;
static CUsurfObject surface;
static CUdeviceptr data, out;
static CUstream a, b;
static const Sampling sampling = {.modes = {CLAMP, CLAMP, CLAMP}, .flags = AS_INTEGERS};

static void make_objects(void) {
  USE_TEXTURES;
  const Array3DDescriptor descriptor = {WIDTH, ROWS, 0, 3, 1, SURFACE_LDST};
  unsigned zeros[ROWS * WIDTH] = {0};
  MUST(cuArray3DCreate(&array, &descriptor));
  copy_array(array, zeros, WIDTH * 4, ROWS, 1);
  const Resource resource = {.type = OF_ARRAY, .of.array = array};
  MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  MUST(cuSurfObjectCreate(&surface, &resource));
}

static CUresult fetch_at(CUtexObject from, float x, float y, CUstream stream) {
  return launch(fetch, 1, 1, stream, ARGUMENTS(&from, &x, &y, &out));
}

static void set(unsigned row, CUstream stream) {
  MUST(launch(set_row, 1, WIDTH, stream, ARGUMENTS(&surface, &row, &data)));
}

static void check_races(void) {
  USE_TEXTURES;
  USE_STREAMS;
  USE_EVENTS;
  USE_MEMORY;
  CUevent done;
  MUST(cuEventCreate(&done, 2));
#define ORDER(first, second)        \
  MUST(cuEventRecord(done, first)); \
  MUST(cuStreamWaitEvent(second, done, 0))
  Copy2D copy = {.width = WIDTH * 4, .height = ROWS};
  copy.from = (Side2D){.type = DEVICE, .device = data, .pitch = WIDTH * 4};
  copy.to = (Side2D){.type = ARRAY, .array = array};
  // A copy into an array, and a kernel that reads it.
  RACY(MUST(cuMemcpy2DAsync(&copy, a)); MUST(fetch_at(texture, 3, 2, b)););
  RACE_FREE(MUST(cuMemcpy2DAsync(&copy, a)); ORDER(a, b); MUST(fetch_at(texture, 3, 2, b)););
  RACY(MUST(fetch_at(texture, 3, 2, b)); MUST(cuMemcpy2DAsync(&copy, a)););
  RACE_FREE(MUST(fetch_at(texture, 3, 2, b)); ORDER(b, a); MUST(cuMemcpy2DAsync(&copy, a)););
  // Exactly the texels: the copy is of the rows behind.
  Copy2D lower = copy;
  lower.height = ROWS / 2;
  lower.to.y = ROWS / 2;
  RACE_FREE(MUST(cuMemcpy2DAsync(&lower, a)); MUST(fetch_at(texture, 3, 2, b)););
  RACY(MUST(cuMemcpy2DAsync(&lower, a)); MUST(fetch_at(texture, 3, 5, b)););
  // Stores, by row.
  RACE_FREE(set(0, a); set(1, b););
  RACY(set(1, a); set(1, b););
  RACE_FREE(set(1, a); ORDER(a, b); MUST(fetch_at(texture, 3, 1, b)););
  RACY(set(1, a); MUST(fetch_at(texture, 3, 1, b)););
  // Memory with an address is the same by whatever means.
  CUtexObject of_memory;
  const Resource resource = {.type = OF_PITCHED,
                             .of.pitched = {data, 3, 1, WIDTH, ROWS, WIDTH * 4}};
  MUST(cuTexObjectCreate(&of_memory, &resource, &sampling, NULL));
  RACY(MUST(cuMemsetD8Async(data, 0, 64, a)); MUST(fetch_at(of_memory, 3, 0, b)););
  RACE_FREE(MUST(cuMemsetD8Async(data, 0, 64, a)); MUST(fetch_at(of_memory, 3, 1, b)););
  MUST(cuTexObjectDestroy(of_memory));
  MUST(cuEventDestroy(done));
}

// Launches come first, whenever they run.
static void check_lives(void) {
  USE_TEXTURES;
  USE_STREAMS;
  USE_MEMORY;
  USE_SIM(uint64_t, simcuda_objects, const char *);
  unsigned words[4] = {0}, given[WIDTH];
  for (unsigned i = 0; i < WIDTH; ++i) given[i] = 50 + i;
  MUST(cuMemcpyHtoD(data, given, sizeof given));
  finish_all();
  MUST_BE(simcuda_objects("CUtexObject"), 1);
  MUST_BE(simcuda_objects("CUsurfObject"), 1);
  MUST_BE(simcuda_objects("CUarray"), 1);
  set(3, a);
  MUST(cuSurfObjectDestroy(surface));
  MUST(fetch_at(texture, 5, 3, a));
  MUST(cuTexObjectDestroy(texture));
  // Another one of the same handle, if these recur.
  CUarray other;
  CUtexObject of_other;
  MUST(cuArray3DCreate(&other, &(Array3DDescriptor){WIDTH, ROWS, 0, 3, 1, 0}));
  const Resource resource = {.type = OF_ARRAY, .of.array = other};
  MUST(cuTexObjectCreate(&of_other, &resource, &sampling, NULL));
  MUST(cuStreamSynchronize(a));
  MUST(cuMemcpyDtoH(words, out, 16));
  MUST_BE(words[0], 55);
  MUST_BE(simcuda_objects("CUtexObject"), 1);
  MUST_BE(simcuda_objects("CUsurfObject"), 0);
  MUST(cuTexObjectDestroy(of_other));
  MUST(cuArrayDestroy(other));
  MUST(cuArrayDestroy(array));
}

static void expect_fault(CUtexObject handle, const char *why, CUresult status) {
  USE(cuCtxSynchronize, 2000, void);
  USE(cuDevicePrimaryCtxReset, 11000, CUdevice);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE_MEMORY;
  int ends[2];
  char text[4096] = "";
  MUST_BE(pipe(ends), 0);
  const int before = dup(2);
  dup2(ends[1], 2);
  close(ends[1]);
  MUST(fetch_at(handle, 1, 1, NULL));
  const CUresult result = cuCtxSynchronize();
  dup2(before, 2);
  close(before);
  MUST_BE(result, status);
  MUST_BE(read(ends[0], text, sizeof text - 1) > 0, 1);
  close(ends[0]);
  if (!strstr(text, why) || !strstr(text, "fault: Kernel fetch: thread (0, 0, 0)"))
    fprintf(stderr, "%s", text);
  MUST_BE(strstr(text, why) != NULL, 1);
  CUcontext context;
  MUST(cuDevicePrimaryCtxReset(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
}

static void begin(void) {
  USE_MEMORY;
  USE_STREAMS;
  const CUmodule module = module_of(PTX_HEADER PTX_FETCH PTX_ROWS);
  fetch = function_in(module, "fetch");
  set_row = function_in(module, "set_row");
  copy_row = function_in(module, "copy_row");
  MUST(cuMemAlloc(&data, BYTES));
  MUST(cuMemAlloc(&out, 16));
  MUST(cuMemsetD8Async(data, 0, BYTES, NULL));
  MUST(cuStreamCreate(&a, NON_BLOCKING));
  MUST(cuStreamCreate(&b, NON_BLOCKING));
  make_objects();
  finish_all();
}

static void check_faults(void) {
  USE_TEXTURES;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  CUcontext own, primary;
  begin();
  expect_fault(12345, "No texture and no surface has it.", ILLEGAL_ADDRESS);
  begin();
  MUST(cuTexObjectDestroy(texture));
  expect_fault(texture, "It was destroyed before the launch was submitted.", ILLEGAL_ADDRESS);
  begin();
  MUST(cuArrayDestroy(array));
  expect_fault(texture, "The array that it leads to was destroyed.", ILLEGAL_ADDRESS);
  begin();
  expect_fault(surface, "It is a surface's, not a texture's.", ILLEGAL_ADDRESS);
  begin();
  const CUtexObject of_primary = texture;
  MUST(cuCtxCreate(&own, 0, 0));
  make_objects();
  const CUtexObject of_own = texture;
  MUST_BE(cuTexObjectDestroy(of_primary), INVALID_VALUE);
  MUST(cuDevicePrimaryCtxRetain(&primary, 0));
  MUST(cuCtxSetCurrent(primary));
  expect_fault(of_own, "It is of another context.", ILLEGAL_ADDRESS);
  // Objects end with their context.
  begin();
  MUST(cuCtxDestroy(own));
  MUST(cuCtxSetCurrent(primary));
  MUST_BE(cuTexObjectDestroy(of_own), INVALID_VALUE);
  expect_fault(of_own, "It was destroyed before the launch was submitted.", ILLEGAL_ADDRESS);
}

int main(void) {
  start_races();
  begin();
  check_races();
  check_lives();
  check_faults();
  return 0;
}
