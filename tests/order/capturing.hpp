// SPDX-License-Identifier: BSD-3-Clause
// Graph captures, for tests that begin and end them.
#pragma once

#include "owned.hpp"

namespace test {

inline constexpr int global = 0;
inline constexpr int thread_local_mode = 1;
inline constexpr int relaxed = 2;

class Capturing : public OnGpu {
 protected:
  static void begin_capture(std::uint64_t stream, int mode) {
    MUST(gpu().cuStreamBeginCapture_v2(handle(stream), mode));
  }

  // The capture has lived on: it ends well.
  static void end_capture(std::uint64_t stream) {
    int status = 0;
    EXPECT_EQ(gpu().cuStreamIsCapturing(handle(stream), &status), 0);
    EXPECT_EQ(status, 1) << "the capture was invalidated";
    Handle graph = nullptr;
    EXPECT_EQ(gpu().cuStreamEndCapture(handle(stream), &graph), 0);
    if (graph) MUST(gpu().cuGraphDestroy(graph));
  }

  static bool capturing(std::uint64_t stream) {
    int status = 0;
    EXPECT_EQ(gpu().cuStreamIsCapturing(handle(stream), &status), 0);
    return status == 1;
  }

  // One stream after another, by an event of the test's own.
  static void fork(std::uint64_t from, std::uint64_t to) {
    Handle event = nullptr;
    MUST(gpu().cuEventCreate(&event, 2));
    MUST(gpu().cuEventRecord(event, handle(from)));
    MUST(gpu().cuStreamWaitEvent(handle(to), event, 0));
    int mode = relaxed;
    MUST(gpu().cuThreadExchangeStreamCaptureMode(&mode));
    MUST(gpu().cuEventDestroy_v2(event));
    MUST(gpu().cuThreadExchangeStreamCaptureMode(&mode));
  }

  // Ends the capture, and runs what was captured.
  static void launch(std::uint64_t stream) {
    ASSERT_TRUE(capturing(stream)) << "the capture was invalidated";
    Handle graph = nullptr;
    Handle runnable = nullptr;
    MUST(gpu().cuStreamEndCapture(handle(stream), &graph));
    MUST(gpu().cuGraphInstantiateWithFlags(&runnable, graph, 0));
    MUST(gpu().cuGraphLaunch(runnable, handle(stream)));
    MUST(gpu().cuStreamSynchronize(handle(stream)));
    MUST(gpu().cuGraphExecDestroy(runnable));
    MUST(gpu().cuGraphDestroy(graph));
  }
};

}  // namespace test
