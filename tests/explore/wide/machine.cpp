// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include "must.h"

namespace wide {

Machine::Machine() {
  Handle context = nullptr;
  MUST(cu().cuInit(0));
  MUST(cu().cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cu().cuCtxSetCurrent(context));
  streams[kLegacy] = reinterpret_cast<Handle>(1);
  streams[kPerThread] = reinterpret_cast<Handle>(2);
  for (int i = kFirstHandle; i < kStreams; ++i) make_stream(i);
  MUST(cu().cuStreamCreate(&free_stream, kNonBlocking));
  for (Address &block : blocks) MUST(cu().cuMemAlloc_v2(&block, 2 * kBytes));
  MUST(cu().cuMemAlloc_v2(&scratch, 4096));
}

void Machine::make_stream(int i) {
  MUST(cu().cuStreamCreate(&streams[i], is_blocking(i) ? 0 : kNonBlocking));
}

Machine &machine() {
  static Machine made;
  return made;
}

}  // namespace wide
