/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies, memset, host and managed memory, ranges, memory pools. */
#include "pairs.h"

/* What the host may do with its memory while a copy is under way. */
PAIR(copy_from_host, "cuMemcpyHtoDAsync", HOST) {
  unsigned char *const source = ordered ? pageable : locked;  // pageable memory is read at once
  MUST(cuMemcpyHtoDAsync(data, source, BYTES, one));
  change(source);
}

PAIR(copy_from_locked_memory, "cuMemcpyHtoDAsync", HOST) {
  MUST(cuMemcpyHtoDAsync(data, locked, BYTES, one));
  if (ordered) finish(one);
  change(locked);
}

PAIR(copy_to_host, "cuMemcpyDtoHAsync", HOST) {
  unsigned char *const target = ordered ? pageable : locked;  // pageable memory is written at once
  MUST(cuMemcpyDtoHAsync(target, data, BYTES, one));
  look(target);
}

PAIR(copy_to_locked_memory, "cuMemcpyDtoHAsync", HOST) {
  MUST(cuMemcpyDtoHAsync(locked, data, BYTES, one));
  if (ordered) finish(one);
  look(locked);
}

PAIR(copy_to_locked_memory_that_blocks, "cuMemcpyDtoHAsync", HOST) {
  if (ordered)
    MUST(cuMemcpyDtoH(locked, data, BYTES));
  else
    MUST(cuMemcpyDtoHAsync(locked, data, BYTES, LEGACY));
  look(locked);
}

PAIR(copy_to_registered_memory, "cuMemcpyDtoHAsync", HOST) {
  static unsigned char page[4096] __attribute__((aligned(4096)));
  MUST(cuMemHostRegister(page, sizeof page, 0));
  MUST(cuMemcpyDtoHAsync(page, data, BYTES, one));
  if (ordered) finish(one);
  look(page);
}

PAIR(two_copies_to_locked_memory, "cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync") {
  MUST(cuMemcpyDtoHAsync(locked, data, BYTES, one));
  if (ordered) after(two, one);
  MUST(cuMemcpyDtoHAsync(locked, data, BYTES, two));
}

/* What another stream may do with memory of the device. */
PAIR(copy_from_host_and_use, "cuMemcpyHtoDAsync", TAKE) {
  MUST(cuMemcpyHtoDAsync(data, locked, BYTES, one));
  if (ordered) after(two, one);
  take(data, two);
}

PAIR(copy_from_pageable_memory_and_use, "cuMemcpyHtoDAsync", TAKE) {
  MUST(cuMemcpyHtoDAsync(data, pageable, BYTES, one));  // it has left the host, and not arrived
  if (ordered) after(two, one);
  take(data, two);
}

PAIR(copy_that_blocks_and_use, "cuMemcpyHtoD", TAKE) {
  MUST(cuMemcpyHtoD(data, pageable, BYTES));
  take(data, ordered ? stream(BLOCKING) : one);
}

PAIR(write_and_copy_to_host, FILL, "cuMemcpyDtoH") {
  fill(data, one);
  if (ordered) finish(one);
  MUST(cuMemcpyDtoH(pageable, data, BYTES));
}

PAIR(copy_to_host_and_write, "cuMemcpyDtoHAsync", FILL) {
  unsigned char *const target = ordered ? pageable : locked;
  MUST(cuMemcpyDtoHAsync(target, data, BYTES, one));
  fill(data, two);
}

PAIR(copy_within_device_that_blocks, "cuMemcpyDtoD", FILL) {
  MUST(cuMemcpyDtoD(fresh(), data, BYTES));  // it may return before it is done
  if (ordered) finish(LEGACY);
  fill(data, one);
}

PAIR(copy_by_unified_addresses, "cuMemcpyAsync", FILL) {
  MUST(cuMemcpyAsync(fresh(), data, BYTES, one));
  if (ordered) after(two, one);
  fill(data, two);
}

/* Memset. */
PAIR(memset_that_blocks, "cuMemsetD8", TAKE) {
  MUST(cuMemsetD8(data, 1, BYTES));
  if (ordered) finish(LEGACY);
  take(data, one);
}

PAIR(memset_of_managed_memory, FILL, HOST) {
  if (ordered)
    MUST(cuMemsetD8(managed, 1, BYTES));
  else
    fill(managed, LEGACY);
  look(host(managed));
}

PAIR(memset_of_locked_memory, FILL, HOST) {
  CUdeviceptr on_device;
  MUST(cuMemHostGetDevicePointer(&on_device, locked, 0));
  fill(on_device, one);
  if (ordered) finish(one);
  look(locked);
}

/* Managed memory. */
PAIR(managed_memory_is_changed, TAKE, HOST) {
  take(managed, one);
  if (ordered) finish(one);
  change(host(managed));
}

PAIR(managed_memory_after_event, FILL, HOST) {
  fill(managed, one);
  CUevent marked = mark(ordered ? one : two);
  MUST(cuEventSynchronize(marked));
  look(host(managed));
}

PAIR(managed_memory_on_two_streams, FILL, TAKE) {
  fill(managed, one);
  if (ordered) after(two, one);
  take(managed, two);
}

/* Ranges: what does not overlap cannot race. */
PAIR(halves, FILL, FILL) {
  MUST(cuMemsetD8Async(data, 1, BYTES / 2, one));
  MUST(cuMemsetD8Async(data + BYTES / 2 - !ordered, 2, BYTES / 2, two));
}

PAIR(one_byte_too_many, FILL, TAKE) {
  MUST(cuMemsetD8Async(data + 32, 1, 1, one));
  MUST(cuMemcpyDtoDAsync(fresh(), data, ordered ? 32 : 33, two));
}

enum { DEVICE = 2, PITCH = 16 };

// Four columns of four rows.
static void take_columns(CUdeviceptr from, size_t column, size_t row, CUstream on) {
  const struct copy_2d copy = {.from_x = column,
                               .from_y = row,
                               .from_type = DEVICE,
                               .from = from,
                               .from_pitch = PITCH,
                               .to_type = DEVICE,
                               .to = fresh(),
                               .to_pitch = PITCH,
                               .width = 4,
                               .height = 2};
  MUST(cuMemcpy2DAsync(&copy, on));
}

static void fill_columns(CUdeviceptr to, size_t column, size_t row, CUstream on) {
  MUST(cuMemsetD2D8Async(to + column + PITCH * row, PITCH, 1, 4, 2, on));
}

PAIR(columns, "cuMemsetD2D8Async", "cuMemcpy2DAsync") {
  fill_columns(data, 0, 0, one);
  take_columns(data, ordered ? 4 : 3, 0, two);
}

PAIR(rows, "cuMemsetD2D8Async", "cuMemcpy2DAsync") {
  fill_columns(data, 0, 0, one);
  take_columns(data, 0, ordered ? 2 : 1, two);
}

PAIR(rows_with_event, "cuMemcpy2DAsync", "cuMemsetD2D8Async") {
  take_columns(data, 2, 1, one);
  if (ordered) after(two, one);
  fill_columns(data, 0, 0, two);
}

/* Memory pools: a block begins and ends in the order of a stream. */
static CUdeviceptr allocate(CUstream on) {
  CUdeviceptr memory;
  MUST(cuMemAllocAsync(&memory, BYTES, on));
  return memory;
}

static void release(CUdeviceptr memory, CUstream on) { MUST(cuMemFreeAsync(memory, on)); }

PAIR(use_before_allocation, "cuMemAllocAsync", FILL) {
  CUdeviceptr block = allocate(one);
  if (ordered) after(two, one);
  fill(block, two);
}

PAIR(free_before_use_is_done, FILL, "cuMemFreeAsync") {
  CUdeviceptr block = allocate(one);
  after(two, one);
  fill(block, two);
  if (ordered) after(one, two);
  release(block, one);
}

PAIR(free_on_another_stream, FILL, "cuMemFreeAsync") {
  CUdeviceptr block = allocate(one);
  fill(block, one);
  if (ordered) after(two, one);
  release(block, two);
}

PAIR(free_before_allocation, "cuMemAllocAsync", "cuMemFreeAsync") {
  CUdeviceptr block = allocate(one);
  if (ordered) finish(one);
  release(block, two);
}

PAIR(use_after_free, "cuMemFreeAsync", FILL) {
  CUdeviceptr block = allocate(one);
  after(two, one);
  if (!ordered) release(block, one);
  (void)cuMemsetD8Async(block, 1, BYTES, two);  // refused once it is freed
  if (!ordered) return;
  after(one, two);
  release(block, one);
}

PAIR(free_in_no_stream_order, FILL, "cuMemFree") {
  CUdeviceptr block = allocate(one);
  fill(block, one);
  if (ordered) finish(one);
  MUST(cuMemFree(block));
}

/* Between devices. */
PAIR(peer_copy, FILL, "cuMemcpyPeerAsync") {
  CUdeviceptr source = fresh_in(there);
  fill(source, far);
  if (ordered) after(one, far);
  MUST(cuMemcpyPeerAsync(data, here, source, there, BYTES, one));
}

PAIR(peer_copy_that_blocks, "cuMemcpyPeerAsync", FILL) {
  CUdeviceptr source = fresh_in(there);
  if (ordered)
    MUST(
        cuMemcpyPeer(data, here, source, there, BYTES));  // in order with all work of both contexts
  else
    MUST(cuMemcpyPeerAsync(data, here, source, there, BYTES, one));
  fill(data, two);
}

PAIR(peer_copy_and_way_back, "cuMemcpyPeerAsync", FILL) {
  CUdeviceptr source = fresh_in(there);
  MUST(cuMemcpyPeerAsync(data, here, source, there, BYTES, one));
  if (ordered) after(far, one);
  fill(source, far);
}
