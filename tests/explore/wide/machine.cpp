// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include "must.h"

namespace wide {

Machine::Machine() {
  MUST(cu().cuInit(0));
  streams[kLegacy] = reinterpret_cast<Handle>(1);
  streams[kPerThread] = streams[kPerThread + 1] = streams[kGone] = reinterpret_cast<Handle>(2);
  make();
}

void Machine::renew() {
  MUST(cu().cuDevicePrimaryCtxReset_v2(0));
  make();
}

void Machine::make() {
  MUST(cu().cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cu().cuCtxSetCurrent(context));
  for (int i = kFirstHandle; i < kFirstOfGuest; ++i) make_stream(i);
  MUST(cu().cuStreamCreate(&free_stream, kNonBlocking));
  for (Address &block : blocks) MUST(cu().cuMemAlloc_v2(&block, 2 * kBytes));
  MUST(cu().cuMemAlloc_v2(&scratch, 4096));
}

void Machine::make_stream(int i) {
  MUST(cu().cuStreamCreate(&streams[i], is_blocking(i) || i == kFirstOfGuest ? 0 : kNonBlocking));
}

void Machine::open_guest() {
  MUST(cu().cuCtxCreate_v2(&guest, 0, 0));
  for (int i = kFirstOfGuest; i < kStreams; ++i) make_stream(i);
  set_current(context);
}

void Machine::end_guest() {
  MUST(cu().cuCtxDestroy_v2(guest));
  guest = nullptr;
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
