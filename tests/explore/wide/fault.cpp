// SPDX-License-Identifier: BSD-3-Clause
#include "fault.hpp"

#include <iterator>

#include "allocations.h"
#include "driver.hpp"
#include "must.h"

namespace wide {
namespace {

// What libcai calls, but for what loads it and what it undoes.
constexpr const char *kFunctions[] = {"cuCtxGetCurrent",
                                      "cuCtxGetDevice",
                                      "cuCtxGetId",
                                      "cuCtxPushCurrent",
                                      "cuDevicePrimaryCtxGetState",
                                      "cuEventCreate",
                                      "cuEventQuery",
                                      "cuEventRecord",
                                      "cuEventRecord",
                                      "cuEventRecord",
                                      "cuEventSynchronize",
                                      "cuGraphRetainUserObject",
                                      "cuPointerGetAttributes",
                                      "cuStreamGetCaptureInfo",
                                      "cuStreamGetCtx",
                                      "cuStreamGetFlags",
                                      "cuStreamGetId",
                                      "cuStreamQuery",
                                      "cuStreamSynchronize",
                                      "cuStreamUpdateCaptureDependencies",
                                      "cuStreamWaitEvent",
                                      "cuStreamWaitEvent",
                                      "cuStreamWaitEvent",
                                      "cuThreadExchangeStreamCaptureMode",
                                      "cuUserObjectCreate"};
constexpr int kStatuses[] = {2, 999};  // that the driver recovers from

}  // namespace

const char *Fault::choose(unsigned function, unsigned nth, unsigned calls, bool is_memory) {
  *this = Fault{};
  is_chosen_ = true;
  if (!is_memory) function_ = kFunctions[function % std::size(kFunctions)];
  nth_ = nth;
  calls_ = calls;
  status_ = kStatuses[function % std::size(kStatuses)];
  return function_ ? function_ : "an allocation";
}

void Fault::arm() {
  has_struck_ = false;
  if (!is_chosen_ || calls_-- > 0) return;
  is_chosen_ = false;
  is_armed_ = true;
  if (function_) {
    before_ = cu().simcuda_calls(function_);
    MUST(cu().simcuda_fail(function_, nth_, status_));
  } else {
    allocations_reset();
    allocations_fail(nth_ - 1);
  }
}

void Fault::disarm() {
  if (!is_armed_) return;
  is_armed_ = false;
  if (function_) {
    has_struck_ = cu().simcuda_calls(function_) - before_ >= nth_;
    MUST(cu().simcuda_fail(function_, 0, 0));
  } else {
    has_struck_ = allocations_now().of_libcai >= static_cast<long>(nth_);
    allocations_fail(-1);
  }
}

}  // namespace wide
