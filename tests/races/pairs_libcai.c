/* SPDX-License-Identifier: BSD-3-Clause */
/* What libcai orders, and who must call it. */
#include "cai.h"
#include "pairs.h"

static const int64_t shape[] = {BYTES}, strides[] = {1};

static uint64_t number(const void *handle) { return (uint64_t)(uintptr_t)handle; }

static cai_array array_of(CUdeviceptr memory, uint32_t kind, const void *handle) {
  return (cai_array){.abi_major = CAI_ABI_MAJOR,
                     .abi_minor = CAI_ABI_MINOR,
                     .data = memory,
                     .device_type = CAI_DEVICE_CUDA,
                     .device_id = -1,
                     .dtype = {'u', '|', 0, 0, 1, 0},
                     .ndim = 1,
                     .shape = shape,
                     .strides = strides,
                     .stream = number(handle),
                     .stream_kind = kind,
                     .version = kind == CAI_STREAM_UNSTATED ? 2 : 3};
}

static void free_on_three(void *block) { MUST(cuMemFreeAsync(*(CUdeviceptr *)block, three)); }

static cai_array *own(CUdeviceptr *block, uint32_t kind, const void *handle) {
  const cai_array array = array_of(*block, kind, handle);
  cai_array *made;
  MUST(cai_array_own(&array, block == &data ? NULL : free_on_three, block, &made, NULL));
  return made;
}

// From a pool, to which it returns in the end.
static cai_array *own_block(void) {
  static CUdeviceptr block;
  MUST(cuMemAllocAsync(&block, BYTES, three));
  finish(three);
  return own(&block, CAI_STREAM_NONE, NULL);
}

static void begin_as(const cai_array *array, CUstream on, uint32_t order, uint32_t access) {
  const cai_use_options options = {sizeof options, order, access, 0, NULL};
  cai_use use;
  MUST(cai_use_begin(&use, &array, 1, number(on), &options, NULL));
}

static void begin(const cai_array *array, CUstream on) {
  begin_as(array, on, CAI_ORDER_BEGIN, CAI_ACCESS_DEFAULT);
}

static void end_as(const cai_array *array, CUstream on, uint32_t access) {
  const cai_use_options options = {sizeof options, CAI_ORDER_END, access, 0, NULL};
  cai_use use;
  MUST(cai_use_begin(&use, &array, 1, number(on), &options, NULL));
  MUST(cai_use_end(&use, NULL));
}

static void end(const cai_array *array, CUstream on) { end_as(array, on, CAI_ACCESS_DEFAULT); }

static void reclaim(const cai_array *array, CUstream on) {
  MUST(cai_array_reclaim(array, number(on), CAI_ACCESS_DEFAULT, NULL));
}

PAIR(use_begin, FILL, TAKE) {
  cai_array x = array_of(data, CAI_STREAM_STREAM, one);
  fill(data, one);
  if (ordered) begin(&x, two);
  take(data, two);
}

PAIR(use_begin_on_another_stream, FILL, TAKE) {
  cai_array x = array_of(data, CAI_STREAM_STREAM, one);
  fill(data, one);
  begin(&x, ordered ? two : three);
  take(data, two);
}

PAIR(use_begin_too_early, FILL, TAKE) {
  cai_array x = array_of(data, CAI_STREAM_STREAM, one);
  if (!ordered) begin(&x, two);
  fill(data, one);
  if (ordered) begin(&x, two);
  take(data, two);
}

PAIR(use_end, TAKE, FILL) {
  cai_array x = array_of(data, CAI_STREAM_STREAM, one);
  begin(&x, two);
  take(data, two);
  if (ordered) end(&x, two);
  fill(data, one);
}

PAIR(use_end_too_early, TAKE, FILL) {
  cai_array x = array_of(data, CAI_STREAM_STREAM, one);
  begin(&x, two);
  if (!ordered) end(&x, two);
  take(data, two);
  if (ordered) end(&x, two);
  fill(data, one);
}

PAIR(array_says_another_stream, FILL, TAKE) {
  cai_array x = array_of(data, CAI_STREAM_STREAM, ordered ? one : three);
  fill(data, one);
  begin(&x, two);
  take(data, two);
}

PAIR(array_of_none_has_work_pending, FILL, TAKE) {
  cai_array x = array_of(data, CAI_STREAM_NONE, NULL);
  fill(data, one);
  if (ordered) finish(one);
  begin(&x, two);
  take(data, two);
}

PAIR(array_of_unstated, FILL, TAKE) {
  CUstream other = stream(ordered ? BLOCKING : NON_BLOCKING);  // the legacy stream stands in
  cai_array x = array_of(data, CAI_STREAM_UNSTATED, NULL);
  fill(data, other);
  begin(&x, two);
  take(data, two);
}

PAIR(array_of_event, FILL, TAKE) {
  CUevent before = mark(one);
  fill(data, one);
  CUevent marked = mark(one);
  cai_array x = array_of(data, CAI_STREAM_EVENT, ordered ? marked : before);
  begin(&x, two);
  take(data, two);
}

PAIR(mask, FILL, TAKE) {
  cai_array of_mask = array_of(data, CAI_STREAM_STREAM, one);
  cai_array x = array_of(fresh(), CAI_STREAM_STREAM, three);
  if (ordered) x.mask = &of_mask, x.flags |= CAI_FLAG_MASKED;
  fill(data, one);
  begin(&x, two);
  take(data, two);
}

PAIR(order_none, FILL, TAKE) {
  cai_array x = array_of(data, CAI_STREAM_STREAM, one);
  fill(data, one);
  begin_as(&x, two, ordered ? CAI_ORDER_BEGIN : CAI_ORDER_NONE, CAI_ACCESS_DEFAULT);
  take(data, two);
}

PAIR(order_host, FILL, HOST) {
  cai_array x = array_of(managed, CAI_STREAM_STREAM, one);
  fill(managed, one);
  begin_as(&x, two, ordered ? CAI_ORDER_HOST : CAI_ORDER_BOTH, CAI_ACCESS_DEFAULT);
  look(host(managed));
}

PAIR(sync_host, FILL, HOST) {
  cai_array x = array_of(managed, CAI_STREAM_STREAM, one);
  fill(managed, one);
  if (ordered) MUST(cai_array_sync_host(&x, NULL));
  look(host(managed));
}

PAIR(same_stream, FILL, TAKE) {
  cai_array x = array_of(data, CAI_STREAM_STREAM, one);
  const cai_array *const list = &x;
  uint64_t same;
  fill(data, one);
  MUST(cai_arrays_same_stream(&list, 1, &same, NULL));
  take(data, ordered ? (CUstream)host(same) : two);
}

PAIR(kept_use, FILL, TAKE) {
  cai_array *const x = own(&data, CAI_STREAM_NONE, NULL);
  begin(x, one);
  fill(data, one);
  if (ordered) end(x, one);
  begin(x, two);
  take(data, two);
}

// Who says that it reads waits for nobody that reads.
PAIR(access, TAKE, FILL) {
  cai_array *const x = own(&data, CAI_STREAM_NONE, NULL);
  take(data, one);
  end_as(x, one, CAI_ACCESS_READ);
  begin_as(x, two, CAI_ORDER_BEGIN, ordered ? CAI_ACCESS_WRITE : CAI_ACCESS_READ);
  fill(data, two);
}

PAIR(reclaim_before_write, TAKE, FILL) {
  cai_array *const x = own(&data, CAI_STREAM_NONE, NULL);
  begin(x, two);
  take(data, two);
  end(x, two);
  if (ordered) reclaim(x, one);
  fill(data, one);
}

PAIR(use_of_view, TAKE, FILL) {
  cai_array *const x = own(&data, CAI_STREAM_NONE, NULL);
  cai_array *view;
  MUST(cai_array_transpose(x, NULL, &view, NULL));
  take(data, two);
  if (ordered) end(view, two);
  reclaim(x, one);
  fill(data, one);
}

PAIR(publish, FILL, TAKE) {
  const cai_array x = array_of(data, CAI_STREAM_NONE, NULL);
  const uint64_t streams[] = {number(three), number(one)};
  cai_array *view = NULL;
  fill(data, one);
  MUST(cai_array_publish(&x, streams, ordered ? 2 : 1, number(stream(NON_BLOCKING)), &view, NULL));
  begin(view, two);
  take(data, two);
}

PAIR(publish_and_reclaim, TAKE, FILL) {
  cai_array *const x = own(&data, CAI_STREAM_NONE, NULL);
  const uint64_t mine = number(one);
  cai_array *view = NULL;
  MUST(cai_array_publish(x, &mine, 1, number(three), &view, NULL));
  begin(view, two);
  take(data, two);
  end(view, two);
  if (ordered) reclaim(x, one);
  fill(data, one);
}

PAIR(publish_event, FILL, TAKE) {
  cai_array *const x = own(&data, CAI_STREAM_NONE, NULL);
  cai_array *view = NULL;
  fill(data, one);
  MUST(cai_array_publish_event(x, number(ordered ? one : three), &view, NULL));
  begin(view, two);
  take(data, two);
}

PAIR(release_on, FILL, "cuMemFreeAsync") {
  cai_array *const x = own_block();
  fill(x->data, two);
  if (ordered)
    MUST(cai_array_release_on(x, number(two), NULL));
  else
    cai_array_release(x);
  MUST(cai_drain(1, NULL, NULL));
}

PAIR(release_after_use, FILL, "cuMemFreeAsync") {
  cai_array *const x = own_block();
  begin(x, two);
  fill(x->data, two);
  if (ordered) end(x, two);
  cai_array_release(x);
  MUST(cai_drain(1, NULL, NULL));
}

PAIR(owner_functions, FILL, TAKE) {
  cai_owner *const owner = own(&data, CAI_STREAM_NONE, NULL)->owner;
  fill(data, one);
  MUST(cai_owner_used_on(owner, number(one), CAI_ACCESS_WRITE, NULL));
  if (ordered) MUST(cai_owner_await_uses(owner, number(two), CAI_ACCESS_READ, NULL));
  take(data, two);
}

PAIR(use_within_capture, LAUNCH, LAUNCH) {
  cai_array x = array_of(data, CAI_STREAM_STREAM, one);
  capture(one);
  after(two, one);
  fill(data, one);
  if (ordered) begin(&x, two);
  fill(data, two);
  after(one, two);
  launch(captured(one), one);
}
