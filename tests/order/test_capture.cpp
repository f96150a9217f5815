// SPDX-License-Identifier: BSD-3-Clause
// Graph capture: refused before anything has happened, and never harmed.
#include <thread>

#include "gpu.hpp"

namespace test {
namespace {

constexpr int global = 0;
constexpr int thread_local_mode = 1;
constexpr int relaxed = 2;

class Capture : public OnGpu {
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

  static void expect_refused(const std::vector<Array *> &arrays, std::uint64_t consumer,
                             std::int32_t index) {
    const cai_use_options host = order(CAI_ORDER_HOST);
    for (const cai_use_options *options : {static_cast<const cai_use_options *>(nullptr), &host}) {
      const auto check = [&](cai_status status, const cai_error &error) {
        EXPECT_EQ(status, CAI_ERR_CAPTURE);
        EXPECT_EQ(error.index, index) << error.message;
        EXPECT_NE(std::string(error.message).find("captur"), std::string::npos) << error.message;
        for (const char *name : {"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent",
                                 "cuStreamSynchronize", "cuEventSynchronize"}) {
          EXPECT_EQ(calls(name), 0U) << name;
        }
      };
      cai_error error{};
      gpu().simcuda_reset_counts();
      check(begin_use(arrays, consumer, &error, options), error);
      if (options && index >= 0) continue;  // at the end the host waits for the consumer alone
      error = {};
      check(end_use(arrays, consumer, &error, options), error);
    }
  }
};

TEST_F(Capture, ProducerIsCapturing) {
  for (const int mode : {global, thread_local_mode, relaxed}) {
    const std::uint64_t free_one = value(stream());
    const std::uint64_t producer = value(stream());
    Array first(memory(), CAI_STREAM_STREAM, free_one);
    Array second(memory(), CAI_STREAM_STREAM, producer);
    const std::uint64_t consumer = value(stream());
    begin_capture(producer, mode);
    expect_refused({&first, &second}, consumer, 1);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(cai_array_sync_host(&second.array, nullptr), CAI_ERR_CAPTURE);
    EXPECT_EQ(calls("cuStreamSynchronize"), 0U);
    end_capture(producer);
  }
}

// What is pending outside cannot be waited for in a capture; what is complete need not be.
TEST_F(Capture, ConsumerIsCapturing) {
  for (const int mode : {global, thread_local_mode, relaxed}) {
    const std::uint64_t producer = value(stream());
    Handle event = nullptr;
    OK(gpu().cuEventCreate(&event, 2));
    Array array(memory(), CAI_STREAM_STREAM, producer);
    Array legacy(memory(), CAI_STREAM_STREAM, 1);
    Array of_event(memory(), CAI_STREAM_EVENT, value(event));
    const std::uint64_t consumer = value(stream());
    for (Array *each : {&array, &legacy, &of_event}) {
      const std::uint64_t busy = each == &legacy ? 1 : producer;
      begin_capture(consumer, mode);
      {
        const Gate gate(busy);
        if (each == &of_event) MUST(gpu().cuEventRecord(event, handle(producer)));
        gpu().simcuda_reset_counts();
        cai_error error{};
        EXPECT_EQ(begin_use({each}, consumer, &error), CAI_ERR_CAPTURE);
        EXPECT_EQ(error.index, 0);
        EXPECT_NE(std::string(error.message).find("pending"), std::string::npos) << error.message;
        EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
      }
      end_capture(consumer);
      OK(gpu().cuStreamSynchronize(handle(busy)));
    }
    begin_capture(consumer, mode);
    gpu().simcuda_reset_counts();
    for (Array *each : {&array, &legacy, &of_event}) {
      cai_error error{};
      EXPECT_EQ(begin_use({each}, consumer, &error), CAI_OK) << error.message;
    }
    EXPECT_EQ(end_use({&array, &legacy}, consumer), CAI_OK);
    EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
    const cai_use_options host = order(CAI_ORDER_HOST);
    EXPECT_EQ(begin_use({&array}, consumer, nullptr, &host), CAI_ERR_CAPTURE);
    EXPECT_EQ(end_use({&array}, consumer, nullptr, &host), CAI_ERR_CAPTURE);
    end_capture(consumer);
    OK(gpu().cuEventDestroy_v2(event));
  }
}

TEST_F(Capture, PerThreadStreamIsCapturing) {
  Array array(memory(), CAI_STREAM_STREAM, 2);
  const std::uint64_t consumer = value(stream());
  begin_capture(2, global);
  expect_refused({&array}, consumer, 0);
  end_capture(2);
}

// The legacy stream cannot be used while a blocking stream of its context is capturing.
TEST_F(Capture, LegacyStreamWhileABlockingStreamIsCapturing) {
  const std::uint64_t other = value(stream(blocking));
  Array legacy(memory(), CAI_STREAM_STREAM, 1);
  Array unstated(memory(), CAI_STREAM_UNSTATED);
  Array of_stream(memory(), CAI_STREAM_STREAM, value(stream()));
  Array there(memory(context1), CAI_STREAM_STREAM, 1);
  const std::uint64_t consumer = value(stream());
  begin_capture(other, global);
  expect_refused({&legacy}, consumer, 0);
  expect_refused({&unstated}, consumer, 0);
  expect_refused({&of_stream}, 1, -1);
  cai_error error{};
  EXPECT_EQ(begin_use({&legacy}, other, &error), CAI_ERR_CAPTURE);  // in order, but for the capture
  EXPECT_EQ(error.index, 0);
  EXPECT_EQ(begin_use({&legacy}, consumer, &error), CAI_ERR_CAPTURE);
  EXPECT_EQ(error.native, 906);
  EXPECT_EQ(begin_use({&there}, consumer, &error), CAI_OK) << error.message;  // another context's
  end_capture(other);
}

TEST_F(Capture, InvalidatedCapture) {
  const std::uint64_t producer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, producer);
  begin_capture(producer, global);
  EXPECT_NE(gpu().cuStreamSynchronize(handle(producer)), 0);
  cai_error error{};
  EXPECT_EQ(begin_use({&array}, value(stream()), &error), CAI_ERR_CAPTURE);
  EXPECT_NE(std::string(error.message).find("invalidated"), std::string::npos);
  Handle graph = nullptr;
  EXPECT_NE(gpu().cuStreamEndCapture(handle(producer), &graph), 0);
}

// Where nothing is to be ordered, a capture does not matter.
TEST_F(Capture, NothingToOrder) {
  const std::uint64_t consumer = value(stream());
  Array same(memory(), CAI_STREAM_STREAM, consumer);
  Array stated(memory(), CAI_STREAM_NONE);
  begin_capture(consumer, global);
  EXPECT_EQ(begin_use({&same, &stated}, consumer), CAI_OK);
  EXPECT_EQ(end_use({&same, &stated}, consumer), CAI_OK);
  end_capture(consumer);

  Array per_thread(memory(), CAI_STREAM_STREAM, 2);
  begin_capture(2, global);
  EXPECT_EQ(begin_use({&per_thread}, 2), CAI_OK);
  EXPECT_EQ(end_use({&per_thread}, 2), CAI_OK);
  end_capture(2);
}

// Streams that nobody concerned captures are ordered, and the capture of somebody else lives on:
// this thread's or another's, in any mode.
TEST_F(Capture, SomebodyElseIsCapturing) {
  const std::uint64_t other = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  Array legacy(memory(), CAI_STREAM_STREAM, 1);
  Array there(memory(context1), CAI_STREAM_UNSTATED);
  const std::uint64_t consumer = value(stream());
  const cai_use_options host = order(CAI_ORDER_HOST);
  const auto use = [&] {
    const With with(context0);
    const int mode = capture_mode();
    cai_error error{};
    EXPECT_EQ(begin_use({&array, &legacy, &there}, consumer, &error), CAI_OK) << error.message;
    EXPECT_EQ(end_use({&array, &legacy, &there}, consumer, &error), CAI_OK) << error.message;
    // Once the events are in the pool there is nothing that a capture forbids; what it forbids is
    // done in relaxed mode, which is left again.
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({&array}, consumer), CAI_OK);
    EXPECT_EQ(calls("cuThreadExchangeStreamCaptureMode"), 0U);
    EXPECT_EQ(begin_use({&array, &legacy}, consumer, &error, &host), CAI_OK) << error.message;
    EXPECT_EQ(end_use({&array, &legacy}, consumer, &error, &host), CAI_OK) << error.message;
    EXPECT_EQ(cai_array_sync_host(&array.array, &error), CAI_OK) << error.message;
    cai_location where{};
    where.struct_size = sizeof where;
    EXPECT_EQ(cai_array_locate(&array.array, &where, &error), CAI_OK) << error.message;
    EXPECT_EQ(capture_mode(), mode);
  };
  for (const int mode : {global, thread_local_mode, relaxed}) {
    begin_capture(other, mode);
    use();
    std::thread(use).join();
    end_capture(other);
  }
}

}  // namespace
}  // namespace test
