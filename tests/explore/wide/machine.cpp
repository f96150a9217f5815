// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include "cai/memory.h"
#include "must.h"

namespace wide {
namespace {

constexpr cai_device kDevice{CAI_DEVICE_CUDA, 0};

}  // namespace

Machine::Machine() {
  MUST(cu().cuInit(0));
  streams[kLegacy] = reinterpret_cast<Handle>(1);
  streams[kPerThread] = streams[kPerThread + 1] = streams[kGone] = reinterpret_cast<Handle>(2);
  make();
}

void Machine::renew() {
  for (cai_stream *const stream : made) cai_stream_release(stream);
  MUST(cai_pending_flush(kDevice, nullptr));
  MUST(cu().cuMemFreeAsync(blocks[kPoolBlock], free_stream));  // a pool's, it would outlive that
  MUST(cu().cuStreamSynchronize(free_stream));
  MUST(cu().cuDevicePrimaryCtxReset_v2(0));
  make();
}

void Machine::make() {
  MUST(cu().cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cu().cuCtxSetCurrent(context));
  for (int i = kFirstHandle; i < kFirstOfGuest; ++i) make_stream(i);
  MUST(cu().cuStreamCreate(&free_stream, kNonBlocking));
  for (int i = kFirstOfLibcai; i < kStreams; ++i) make_stream(i);
  for (int i = 0; i < kPoolBlock; ++i) MUST(cu().cuMemAlloc_v2(&blocks[i], 2 * kBytes));
  MUST(cu().cuMemAllocAsync(&blocks[kPoolBlock], 2 * kBytes, free_stream));
  MUST(cu().cuStreamSynchronize(free_stream));
  MUST(cu().cuMemAlloc_v2(&scratch, 4096));
}

void Machine::make_stream(int i) {
  if (i >= kFirstOfLibcai) {
    cai_stream *&stream = made[i - kFirstOfLibcai];
    MUST(cai_stream_create(kDevice, is_blocking(i) ? CAI_MODE_SYNC : CAI_MODE_ASYNC, 0, &stream,
                           nullptr));
    streams[i] = reinterpret_cast<Handle>(cai_stream_value(stream));
    return;
  }
  MUST(cu().cuStreamCreate(&streams[i], is_blocking(i) || i == kFirstOfGuest ? 0 : kNonBlocking));
}

void Machine::open_guest() {
  MUST(cu().cuCtxCreate_v2(&guest, 0, 0));
  for (int i = kFirstOfGuest; i < kFirstOfLibcai; ++i) make_stream(i);
  MUST(cu().cuMemAlloc_v2(&blocks[kGuestBlock], 2 * kBytes));
  set_current(context);
}

void Machine::end_guest() {
  MUST(cu().cuCtxDestroy_v2(guest));
  guest = nullptr;
  blocks[kGuestBlock] = 0;
}

Handle Machine::set_current(Handle to) {
  Handle before = nullptr;
  MUST(cu().cuCtxGetCurrent(&before));
  if (before != to) MUST(cu().cuCtxSetCurrent(to));
  return before;
}

Machine &machine() {
  static auto *const made = new Machine;  // a program may end on any of its threads
  return *made;
}

}  // namespace wide
