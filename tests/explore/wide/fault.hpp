// SPDX-License-Identifier: BSD-3-Clause
// What fails while libcai is called: calls of the driver's, or allocations.
#pragma once

#include <cstdint>
#include <mutex>

namespace wide {

// "memory" means allocations; the rest are calls of libcai, except those that load the driver or
// undo something. Calls that are drawn more often occur more often here.
inline constexpr unsigned kAllocations = 8;
inline constexpr const char *kFailWords[] = {"memory",
                                             "memory",
                                             "memory",
                                             "memory",
                                             "memory",
                                             "memory",
                                             "memory",
                                             "memory",
                                             "cuCtxGetCurrent",
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

struct Failing {
  unsigned what = 0;   // of kFailWords
  unsigned nth = 1;    // the first call of it that fails, counted from 1
  unsigned calls = 0;  // of libcai's, before the one in which it fails
  unsigned times = 1;  // it fails so often,
  unsigned every = 1;  // at each of this many calls
};

class Fault {
 public:
  // Returns its word.
  const char *choose(const Failing &failing);
  void forget();
  void swap(Fault &other);

  // A call that cannot fail has a fallback if there is no memory, and no second fallback.
  void spare_memory() {
    if (is_for_memory()) failing_.times = 1;
  }

  // Around a call of libcai's.
  void arm();
  void disarm();
  // While held, a party calls the driver, on any thread: nothing fails meanwhile.
  std::unique_lock<std::recursive_mutex> pause();
  // In a forked child, the thread that held a lock does not exist.
  static void forget_threads();
  bool is_armed() const { return is_armed_; }
  // Whether allocations must fail.
  bool is_for_memory() const { return is_chosen_ && !function_; }
  // Whether the last call met the fault.
  bool has_struck() const { return has_struck_; }
  bool is_of_memory() const { return has_struck_ && !function_; }

 private:
  bool is_chosen_ = false, is_armed_ = false, has_struck_ = false;
  const char *function_ = nullptr;  // null: allocations
  Failing failing_;
  unsigned asked_ = 0;  // of memory
  std::uint64_t before_ = 0;

  void at_allocation();
};

}  // namespace wide
