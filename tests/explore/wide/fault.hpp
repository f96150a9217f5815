// SPDX-License-Identifier: BSD-3-Clause
// What fails while libcai is called: calls of the driver's, or allocations.
#pragma once

#include <cstdint>
#include <mutex>

namespace wide {

// "memory" is allocations; the rest is what libcai calls, but for what loads it and what it undoes.
// What is drawn more often stands here more often.
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
  unsigned every = 1;  // at each so many calls of it
};

class Fault {
 public:
  // Returns its word.
  const char *choose(const Failing &failing);
  void forget();
  void swap(Fault &other);

  // What cannot be refused has a second way where there is no memory, and no third.
  void spare_memory() {
    if (is_for_memory()) failing_.times = 1;
  }

  // Around a call of libcai's.
  void arm();
  void disarm();
  // In it, where a party calls the driver, on any thread: nothing fails while this is held.
  std::unique_lock<std::recursive_mutex> pause();
  // In a forked child: whoever held a lock is not there.
  static void forget_threads();
  bool is_armed() const { return is_armed_; }
  // Whether allocations are to fail.
  bool is_for_memory() const { return is_chosen_ && !function_; }
  // Whether the last call has met it.
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
