/* SPDX-License-Identifier: BSD-3-Clause */
/* How a C function takes an array of another library, uses it on a stream of its own in order with
 * the producer's work, and hands out an array that others can use in the same way. Read it from
 * the bottom up. */
#include "pack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- The result: an owned array ------------------------------------------------------------- */

/* Makes the result of its memory; `release(context)` will free it. A cai_array on the stack says
 * what the result is, and cai_array_own() copies it, with all that it points to. */
static cai_status own(const cai_array *in, uint64_t data, const cai_location *where,
                      uint64_t stream, void (*release)(void *), void *context, cai_array **out,
                      cai_error *error) {
  const int64_t item = in->dtype.itemsize;
  const int64_t strides[2] = {in->shape[1] * item, item};
  cai_array packed;
  memset(&packed, 0, sizeof packed); /* zero means absent, also in fields that are yet to come */
  packed.abi_major = CAI_ABI_MAJOR;
  packed.abi_minor = CAI_ABI_MINOR;
  packed.flags = in->flags & CAI_FLAG_SWAPPED; /* the bytes are as they were; nobody else's, so */
  packed.data = data;                          /* not READONLY */
  packed.device_type = where->device_type;
  packed.device_id = where->device_id;
  packed.dtype = in->dtype;
  packed.descr = in->descr;
  packed.descr_count = in->descr_count;
  packed.ndim = 2;
  packed.shape = in->shape;
  packed.strides = strides;
  packed.stream = stream;
  packed.stream_kind = stream ? CAI_STREAM_STREAM : CAI_STREAM_NONE;
  packed.version = CAI_INTERFACE_VERSION;
  return cai_array_own(&packed, release, context, out, error);
}

/* ---- On the host ----------------------------------------------------------------------------- */

static cai_status pack_on_host(const cai_array *in, const cai_layout *layout, cai_array **out,
                               cai_error *error) {
  char *memory = malloc((size_t)layout->nbytes);
  if (!memory)
    return fail(error, CAI_ERR_MEMORY, "no memory for %" PRId64 " bytes", layout->nbytes);
  const int64_t rows = in->shape[0], columns = in->shape[1];
  const size_t item = in->dtype.itemsize;
  char *to = memory;
  for (int64_t i = 0; i < rows; i++) {
    const char *from = (const char *)(uintptr_t)in->data + i * in->strides[0];
    for (int64_t j = 0; j < columns; j++, to += item) memcpy(to, from + j * in->strides[1], item);
  }
  const cai_location where = {.device_type = CAI_DEVICE_CPU};
  cai_status status = own(in, (uintptr_t)memory, &where, 0, free, memory, out, error);
  if (status != CAI_OK) free(memory);
  return status;
}

/* ---- On the GPU: the copies ------------------------------------------------------------------ */

typedef struct stream {
  const driver *cu;
  CUstream handle;
} stream;

/* Whether a 2-D copy can go on by so many bytes: forwards, past what it has copied, and not too
 * far. */
static int is_pitch(int64_t step, int64_t width) { return step >= width && step <= CU_MAX_PITCH; }

/* Copies pieces of `width` bytes that lie some bytes apart, there and here: by one 2-D copy if it
 * can express that, else one by one. */
static cai_status copy_pieces(stream on, int64_t count, int64_t width, CUdeviceptr to,
                              int64_t to_step, CUdeviceptr from, int64_t from_step,
                              cai_error *error) {
  if (from_step == width && to_step == width) { /* no gaps */
    width *= count;
    count = 1;
  }
  if (count > 1 && is_pitch(from_step, width) && is_pitch(to_step, width)) {
    const CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = from,
        .srcPitch = (size_t)from_step,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = to,
        .dstPitch = (size_t)to_step,
        .WidthInBytes = (size_t)width,
        .Height = (size_t)count,
    };
    return check(on.cu, on.cu->cuMemcpy2DAsync(&copy, on.handle), "cuMemcpy2DAsync", error);
  }
  for (int64_t i = 0; i < count; i++) {
    const CUresult result = on.cu->cuMemcpyAsync(
        to + (uint64_t)(i * to_step), from + (uint64_t)(i * from_step), (size_t)width, on.handle);
    if (result != 0) return check(on.cu, result, "cuMemcpyAsync", error);
  }
  return CAI_OK;
}

/* Queues copies of all elements, in as few pieces as it takes. */
static cai_status copy(stream on, const cai_array *in, CUdeviceptr to, cai_error *error) {
  const int64_t rows = in->shape[0], columns = in->shape[1];
  const int64_t row_step = in->strides[0], column_step = in->strides[1];
  const int64_t item = in->dtype.itemsize, row = columns * item;

  if (columns == 1 || column_step == item) { /* a row has no gaps */
    return copy_pieces(on, rows, row, to, row, in->data, row_step, error);
  }
  const int by_columns =
      is_pitch(row_step, item) && (columns <= rows || !is_pitch(column_step, item));
  const int64_t lines = by_columns ? columns : rows;
  for (int64_t i = 0; i < lines; i++) {
    const cai_status status =
        by_columns ? copy_pieces(on, rows, item, to + (uint64_t)(i * item), row,
                                 in->data + (uint64_t)(i * column_step), row_step, error)
                   : copy_pieces(on, columns, item, to + (uint64_t)(i * row), item,
                                 in->data + (uint64_t)(i * row_step), column_step, error);
    if (status != CAI_OK) return status;
  }
  return CAI_OK;
}

/* The same, in order with the producer: our stream waits for its work, then it waits for ours. */
static cai_status copy_in_order(stream on, const cai_array *in, const cai_use_options *options,
                                CUdeviceptr to, cai_error *error) {
  const uint64_t handle = (uint64_t)(uintptr_t)on.handle;
  cai_use use;
  cai_status begun = cai_use_begin(&use, &in, 1, handle, options, error);
  if (begun == CAI_ERR_ORDER) { /* it came with an event, and cannot wait for us: the host does */
    const cai_use_options host = {.struct_size = sizeof host, .order = CAI_ORDER_HOST};
    begun = cai_use_begin(&use, &in, 1, handle, &host, error);
  }
  if (begun != CAI_OK) return begun;

  const cai_status copied = copy(on, in, to, error);

  /* Also if a copy failed: those before it read the array. */
  cai_error end_error;
  const cai_status ended = cai_use_end(&use, &end_error);
  /* If the producer does not wait for us, we must not let it go on before the copies are done. */
  if (ended != CAI_OK && cai_use_finish(&use, 1, NULL) != CAI_OK) cai_use_abandon(&use);
  if (copied != CAI_OK) return copied;
  if (ended != CAI_OK && error) *error = end_error;
  return ended;
}

/* ---- On the GPU: memory and context ---------------------------------------------------------- */

/* What a result holds. */
typedef struct block {
  const driver *cu;
  CUcontext context;
  CUstream stream;
  CUdeviceptr memory;
} block;

/* The last holder has let go; or pack() failed half way. This runs on any thread, and must not
 * wait: the memory is freed in the order of our stream, behind what consumers have made it wait for
 * (that is what cai_use_end() is for), and the driver keeps the stream until then. If the
 * context has gone meanwhile, so has all that was in it. */
static void release_block(void *context) {
  block *const held = context;
  const driver *const cu = held->cu;
  if (cu->cuCtxPushCurrent(held->context) == 0) {
    if (held->memory) cu->cuMemFreeAsync(held->memory, held->stream);
    if (held->stream) cu->cuStreamDestroy(held->stream);
    cu->cuCtxPopCurrent(&held->context);
  }
  free(held);
}

/* The context in which to work: that of the array's memory. Memory from a pool belongs to none;
 * then the current one, which must be on the same device. */
static cai_status find_context(const driver *cu, const cai_location *where, CUcontext *out,
                               cai_error *error) {
  *out = (CUcontext)(uintptr_t)where->context;
  if (*out) return CAI_OK;
  CUdevice current, wanted;
  if (cu->cuCtxGetCurrent(out) == 0 && *out && cu->cuCtxGetDevice(&current) == 0 &&
      cu->cuDeviceGet(&wanted, where->device_id) == 0 && current == wanted) {
    return CAI_OK;
  }
  return fail(error, CAI_ERR_DEVICE, "the current context is not on device %d", where->device_id);
}

/* Its context is current. */
static cai_status pack_in_block(block *held, const cai_array *in, const cai_layout *layout,
                                const cai_location *where, const cai_use_options *options,
                                cai_array **out, cai_error *error) {
  const driver *const cu = held->cu;
  cai_status status =
      check(cu, cu->cuStreamCreate(&held->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate", error);
  if (status != CAI_OK) return status;
  const size_t bytes = (size_t)layout->nbytes;
  status =
      check(cu, cu->cuMemAllocAsync(&held->memory, bytes, held->stream), "cuMemAllocAsync", error);
  if (status != CAI_OK) return status;
  const stream on = {cu, held->stream};
  status = copy_in_order(on, in, options, held->memory, error);
  if (status != CAI_OK) return status;
  return own(in, held->memory, where, (uintptr_t)held->stream, release_block, held, out, error);
}

static cai_status pack_on_gpu(const cai_array *in, const cai_layout *layout,
                              const cai_use_options *options, cai_array **out, cai_error *error) {
  const driver *const cu = driver_get(error);
  if (!cu) return CAI_ERR_DRIVER;
  cai_location where = {.struct_size = sizeof where};
  cai_status status = cai_array_locate(in, &where, error);
  if (status != CAI_OK) return status;
  where.device_type = CAI_DEVICE_CUDA; /* of the result, wherever it comes from */

  block *const held = calloc(1, sizeof *held);
  if (!held) return fail(error, CAI_ERR_MEMORY, "no host memory");
  held->cu = cu;
  status = find_context(cu, &where, &held->context, error);
  if (status == CAI_OK) {
    status = check(cu, cu->cuCtxPushCurrent(held->context), "cuCtxPushCurrent", error);
  }
  if (status != CAI_OK) {
    free(held);
    return status;
  }
  status = pack_in_block(held, in, layout, &where, options, out, error);
  if (status != CAI_OK) release_block(held);
  CUcontext ours;
  cu->cuCtxPopCurrent(&ours); /* the caller's is current again */
  return status;
}

/* ---- The function ---------------------------------------------------------------------------- */

EXPORT cai_status pack(const cai_array *in, const cai_use_options *options, cai_array **out,
                       cai_error *error) {
  if (!in || !out) return fail(error, CAI_ERR_ARGUMENT, "in or out is NULL");

  /* First of all: is there anything about the array that we do not honour? We only read, and copy
   * bytes in whatever order they are. */
  const uint32_t refused = cai_array_refuses(in, CAI_FLAG_READONLY | CAI_FLAG_SWAPPED);
  if (refused == CAI_FLAG_MASKED) {
    return fail(error, CAI_ERR_UNSUPPORTED, "the array has a mask, which packing would lose");
  }
  if (refused) return fail(error, CAI_ERR_VERSION, "the array is of a newer libcai");

  /* Then: is it sound? A producer that fills in a struct can make mistakes. */
  cai_status status = cai_array_validate(in, error);
  if (status != CAI_OK) return status;
  if (in->ndim != 2 || in->dtype.kind == 't') {
    return fail(error, CAI_ERR_UNSUPPORTED,
                "the array has %d dimensions of kind '%c', and not 2 of bytes", in->ndim,
                in->dtype.kind);
  }
  cai_layout layout; /* its sizes are checked for overflow */
  status = cai_array_layout(in, &layout, error);
  if (status != CAI_OK) return status;

  if (layout.size == 0) { /* no memory, no work, no order */
    const cai_location where = {.device_type = in->device_type, .device_id = in->device_id};
    return own(in, 0, &where, 0, NULL, NULL, out, error);
  }
  if (in->device_type == CAI_DEVICE_CPU) return pack_on_host(in, &layout, out, error);
  return pack_on_gpu(in, &layout, options, out, error);
}
