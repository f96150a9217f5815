// SPDX-License-Identifier: BSD-3-Clause
// Ends that fail, or come when nothing may be freed, or no memory is left to remember them by: each
// is told once, and memory is neither freed early nor twice.
#include <cai/device.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "failing.hpp"
#include "managers.hpp"
#include "memories.hpp"
#include "slow.hpp"

namespace test::failing_ends_tests {
namespace {

constexpr std::uint64_t size = 64;

// A manager whose pinned memory is from the heap; its frees fail on request. It is passed as the
// params of its own table.
struct Pinning {
  std::vector<cai_status> answers;  // of the next frees
  int frees = 0, out = 0;

  static Pinning &of(void *self) { return *static_cast<Pinning *>(self); }
  static const char *name() {
    static const cai_manager_table made = table();
    static const cai_status registered = cai_manager_register("pinning", &made, nullptr);
    EXPECT_EQ(registered, CAI_OK);
    return "pinning";
  }

 private:
  static cai_manager_table table() {
    cai_manager_table made = Recorder::table();
    made.name = "pinning";
    made.create = [](const void *params, cai_device, cai_manager *, void **self, cai_error *) {
      *self = const_cast<void *>(params);
      return cai_status{CAI_OK};
    };
    made.destroy = [](void *) {};
    made.initialize = made.reset = [](void *, cai_error *) { return cai_status{CAI_OK}; };
    made.memhostalloc = [](void *self, std::uint64_t bytes, std::uint64_t align, std::uint32_t,
                           std::uint32_t, cai_block *out, cai_error *) {
      void *const memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
      const std::uint64_t address = value(memory);
      *out = {address, address, bytes, 0};
      ++of(self).out;
      return cai_status{CAI_OK};
    };
    made.memhostfree = [](void *self, const cai_block *block, cai_error *) {
      Pinning &me = of(self);
      ++me.frees;
      cai_status status = CAI_OK;
      if (!me.answers.empty()) {
        status = me.answers.front();
        me.answers.erase(me.answers.begin());
      }
      if (status == CAI_ERR_CAPTURE) return status;
      std::free(handle(block->host));
      --me.out;
      return status;
    };
    return made;
  }
};

// Memory that is pinned on request, and counts how often it is released.
struct OnRequest {
  std::vector<unsigned char> bytes = std::vector<unsigned char>(size);
  int released = 0;

  OwnMemory pin() {
    const auto release = [](void *count) { ++*static_cast<int *>(count); };
    cai_memory *made = nullptr;
    cai_error error{};
    EXPECT_EQ(cai_memory_pin(gpu0, bytes.data(), size, CAI_KIND_PINNED, 0, release, &released,
                             &made, &error),
              CAI_OK);
    return OwnMemory(made);
  }
};

class FailingEnds : public Memories {
 protected:
  FailingEnds() { manager = test::make(Pinning::name(), gpu0, &pinning); }

  OwnMemory pinned(cai_stream *on) {
    cai_request wanted = request(CAI_KIND_PINNED, size, on);
    wanted.manager = manager;
    cai_memory *made = nullptr;
    cai_error error{};
    EXPECT_EQ(cai_memory_alloc(gpu0, &wanted, &made, &error), CAI_OK) << error.message;
    return OwnMemory(made);
  }
  void unpin(OnRequest &host) const {
    const With with(primary[0]);
    MUST(gpu().cuMemHostUnregister(host.bytes.data()));
  }
  static void begin_capture(cai_stream *on) {
    MUST(gpu().cuStreamBeginCapture_v2(handle(cai_stream_value(on)), 2));
  }
  static void end_capture(cai_stream *on) {
    Handle graph = nullptr;
    MUST(gpu().cuStreamEndCapture(handle(cai_stream_value(on)), &graph));
    MUST(gpu().cuGraphDestroy(graph));
  }
  // A view on the stream, which a dict names to a consumer.
  static cai_array *told_on(cai_stream *on, const cai_array *array) {
    cai_array *view = nullptr;
    MUST(cai_array_publish(array, nullptr, 0, cai_stream_value(on), &view, nullptr));
    std::uint64_t storage[64];
    cai_interface dict{};
    dict.struct_size = sizeof dict;
    MUST(cai_interface_write(view, 3, storage, sizeof storage, &dict, nullptr));
    EXPECT_EQ(static_cast<std::uint64_t>(dict.stream.integer), cai_stream_value(on));
    return view;
  }
  std::size_t told(const char *what) const {
    return static_cast<std::size_t>(
        std::count_if(failures.messages.begin(), failures.messages.end(),
                      [&](const std::string &each) { return contains(each.c_str(), what); }));
  }

  Pinning pinning;
  Manager manager;
  const OwnStream stream = make_stream(gpu0), other = make_stream(gpu0);
  const Failures failures;
};

// An end that was deferred until a use is complete, and then fails.
TEST_F(FailingEnds, OfWhatWasPutOff) {
  OwnMemory memory = pinned(stream);
  ASSERT_OK(cai_memory_record(memory, other, error));
  {
    OwnArray array = array_of(memory, {static_cast<std::int64_t>(size)});
    const Gate gate(cai_stream_value(other));
    ASSERT_OK(cai_memory_record(memory, other, error));
    array.reset();
    memory.reset();
    EXPECT_EQ(pinning.frees, 0);
  }
  pinning.answers = {CAI_ERR_STATE};
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(pinning.frees, 1);
  EXPECT_EQ(told("memhostfree returned CAI_ERR_STATE"), 1U);
}

// A CPU stream had to work first, and the failure on its thread has no caller.
TEST_F(FailingEnds, OfWhatTheHostWorkedOn) {
  OwnMemory memory = pinned(stream);
  const Slow slow;
  ASSERT_OK(cai_memory_record(memory, slow, error));
  pinning.answers = {CAI_ERR_STATE};
  memory.reset();
  EXPECT_EQ(pinning.frees, 0);
  ASSERT_OK(cai_stream_synchronize(slow, error));
  while (pinning.out != 0) std::this_thread::yield();
  EXPECT_EQ(told("memhostfree returned CAI_ERR_STATE"), 1U);
}

// Frees that a capture prevented at first, by the manager or by libcai.
TEST_F(FailingEnds, OfWhatIsTriedAgain) {
  for (const bool by_manager : {true, false}) {
    pinning = {};
    OwnMemory memory = pinned(stream);
    if (by_manager) {
      pinning.answers = {CAI_ERR_CAPTURE, CAI_ERR_STATE};
    } else {
      pinning.answers = {CAI_ERR_STATE};
      begin_capture(stream);
    }
    memory.reset();
    EXPECT_EQ(pinning.frees, by_manager ? 1 : 0);
    EXPECT_EQ(pinning.out, 1);
    if (!by_manager) end_capture(stream);
    cai_error error{};
    EXPECT_EQ(cai_pending_flush(gpu0, &error), CAI_ERR_STATE);
    EXPECT_TRUE(contains(error.message, "memhostfree returned CAI_ERR_STATE"));
    EXPECT_EQ(pinning.out, 0);
    EXPECT_EQ(told("memhostfree says"), 0U);  // except to the caller that flushes
  }
}

// It is still not the time: the flush has not failed, and the memory stays allocated.
TEST_F(FailingEnds, OfWhatIsPreventedAgain) {
  OwnMemory memory = pinned(stream);
  pinning.answers = {CAI_ERR_CAPTURE, CAI_ERR_CAPTURE};
  memory.reset();
  cai_error error{};
  EXPECT_EQ(cai_pending_flush(gpu0, &error), CAI_OK);
  EXPECT_EQ(pinning.frees, 2);
  EXPECT_EQ(pinning.out, 1);
  EXPECT_EQ(cai_pending_flush(gpu0, &error), CAI_OK);
  EXPECT_EQ(pinning.out, 0);
  EXPECT_TRUE(failures.messages.empty());
}

// The caller that flushes is told, even if a capture then keeps it from what is pending.
TEST_F(FailingEnds, OfWhatIsTriedAgainBesideACapture) {
  ASSERT_OK(cai_stream_set_current(other, error));
  OwnMemory memory = pinned(stream), pending = allocate(gpu0, CAI_KIND_DEFAULT, size, other);
  pinning.answers = {CAI_ERR_CAPTURE, CAI_ERR_STATE};
  memory.reset();
  pending.reset();
  begin_capture(other);
  cai_error problem{};
  EXPECT_EQ(cai_pending_flush(gpu0, &problem), CAI_ERR_STATE) << problem.message;
  end_capture(other);
  ASSERT_OK(cai_pending_flush(gpu0, error));
  EXPECT_EQ(pinning.out, 0);
}

// An allocation retries them, and its caller is not the one to be told.
TEST_F(FailingEnds, OfWhatIsTriedAgainInPassing) {
  OwnMemory memory = pinned(stream);
  pinning.answers = {CAI_ERR_CAPTURE, CAI_ERR_STATE};
  memory.reset();
  EXPECT_EQ(told("memhostfree says"), 0U);
  const OwnMemory next = allocate(gpu0, CAI_KIND_DEFAULT, size, stream);
  EXPECT_EQ(told("memhostfree returned CAI_ERR_STATE"), 1U);
  EXPECT_EQ(pinning.frees, 2);
  EXPECT_EQ(pinning.out, 0);
}

// Memory that had another stream of the CPU's before is not freed until that one is done with it.
TEST_F(FailingEnds, AfterWhatTheOldStreamHasToDo) {
  Recorder recorder;
  const Manager on_host = test::make(recorder, cpu);
  const OwnStream next = make_stream(cpu);
  Slow slow(true);
  cai_request wanted = request(CAI_KIND_DEFAULT, size, slow);
  wanted.manager = on_host;
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_alloc(cpu, &wanted, &made, error));
  OwnMemory memory(made);
  ASSERT_OK(cai_memory_set_stream(memory, next, error));
  memory.reset();
  ASSERT_OK(cai_stream_synchronize(next, error));
  EXPECT_EQ(recorder.out, 1U);
  slow.let_go();
  ASSERT_OK(cai_stream_synchronize(slow, error));
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(recorder.out, 0U);
}

// In the order of a stream that is in a capture by now, with a use on another one.
TEST_F(FailingEnds, OfWhatIsInUseInACapture) {
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, size, stream);
  ASSERT_OK(cai_memory_record(memory, other, error));
  begin_capture(stream);
  gpu().simcuda_reset_counts();
  memory.reset();
  EXPECT_EQ(calls("cuMemFreeAsync"), 0U);
  end_capture(stream);
  ASSERT_OK(cai_pending_flush(gpu0, error));
  EXPECT_EQ(calls("cuMemFreeAsync"), 1U);
  EXPECT_TRUE(failures.messages.empty());
}

// A caller names another stream for the memory's array than the memory's, and uses it there.
TEST_F(FailingEnds, OfWhatWasUsedOnAStreamThatItNeverHad) {
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, size, stream);
  {
    const OwnArray array = array_of(memory, {static_cast<std::int64_t>(size)});
    cai_array said = *array.get();
    said.stream = cai_stream_value(other);
    ASSERT_OK(cai_stream_follow(other, stream, error));
    const cai_array *const one = &said;
    cai_use use;
    ASSERT_OK(cai_use_begin(&use, &one, 1, said.stream, nullptr, error));
    const With with(primary[0]);
    MUST(gpu().cuMemsetD8Async(said.data, 1, size, handle(said.stream)));
    ASSERT_OK(cai_use_end(&use, error));
  }
  gpu().simcuda_reset_counts();
  memory.reset();
  EXPECT_EQ(calls("cuStreamWaitEvent"), 1U);
  EXPECT_EQ(calls("cuMemFreeAsync"), 1U);
}

// Another thread captures the stream and ends that again, between the question and the free; the
// driver then says only that the stream is invalid.
TEST_F(FailingEnds, OnAStreamThatAnotherThreadCaptures) {
  constexpr int invalid = 1;
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, size, stream);
  MUST(gpu().simcuda_fail("cuMemFreeAsync", 1, invalid));
  gpu().simcuda_reset_counts();
  memory.reset();
  EXPECT_EQ(calls("cuMemFreeAsync"), 2U);
  EXPECT_TRUE(failures.messages.empty());
  memory = allocate(gpu0, CAI_KIND_ASYNC, size, stream);
  const Address data = describe(memory).data;
  for (std::uint64_t nth = 1; nth <= 10; ++nth) {  // it does so without end
    MUST(gpu().simcuda_fail("cuMemFreeAsync", nth, invalid));
  }
  memory.reset();
  EXPECT_EQ(told("[cuMemFreeAsync] CUDA_ERROR_INVALID_VALUE (1)"), 1U);
  const With with(primary[0]);
  MUST(gpu().cuMemFreeAsync(data, handle(cai_stream_value(stream))));
}

// The driver has ended, or frees no more: the memory counts as freed, and nothing is reported.
TEST_F(FailingEnds, WithoutADriverAreNone) {
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, size, stream);
  const Address data = describe(memory).data;
  constexpr int deinitialized = 4;
  MUST(gpu().simcuda_fail("cuMemFreeAsync", 1, deinitialized));
  memory.reset();
  EXPECT_TRUE(failures.messages.empty());
  const With with(primary[0]);
  MUST(gpu().cuMemFreeAsync(data, handle(cai_stream_value(stream))));
}

// The caller's context cannot be restored: the new memory is freed, and if that fails, too, it is
// also reported.
TEST_F(FailingEnds, OnTheWayBackToTheCallersContext) {
  constexpr const char *pop = "cuCtxPopCurrent";
  Recorder recorder;
  const Manager recording = test::make(recorder, gpu0);
  free_block(recording, test::allocate(static_cast<cai_manager *>(recording), size));
  recorder.during = [&] {
    MUST(gpu().simcuda_fail(pop, 1, 999));
    recorder.status = CAI_ERR_UNSUPPORTED;
  };
  EXPECT_EQ(allocation_failure(recording, size).native, 999);
  EXPECT_EQ(told("the recorder says"), 1U);
  recorder.status = CAI_OK;

  std::vector<unsigned char> bytes(size);
  cai_memory *memory = nullptr;
  cai_error error{};
  MUST(gpu().simcuda_fail(pop, 1, 999));
  MUST(gpu().simcuda_fail("cuMemHostUnregister", 1, 998));
  EXPECT_EQ(cai_memory_pin(gpu0, bytes.data(), size, CAI_KIND_PINNED, 0, nullptr, nullptr, &memory,
                           &error),
            CAI_ERR_CUDA);
  EXPECT_EQ(error.native, 999);
  EXPECT_EQ(told("cuMemHostUnregister"), 1U);
  const With with(primary[0]);
  MUST(gpu().cuMemHostUnregister(bytes.data()));
}

// A GPU may still use memory that is pinned, so it is never freed.
TEST_F(FailingEnds, OfWhatStaysPinned) {
  constexpr const char *unregister = "cuMemHostUnregister";
  OnRequest host;
  OwnMemory memory = host.pin();
  MUST(gpu().simcuda_fail(unregister, 1, 999));
  cai_error error{};
  EXPECT_EQ(cai_memory_free(memory, &error), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, 999);
  memory.reset();
  EXPECT_EQ(cai_pending_flush(gpu0, &error), CAI_OK);
  EXPECT_EQ(host.released, 0);
  unpin(host);

  memory = host.pin();
  MUST(gpu().simcuda_fail(unregister, 1, 999));
  memory.reset();
  EXPECT_EQ(told(unregister), 1U);
  EXPECT_EQ(host.released, 0);
  unpin(host);
}

// It is unpinned, but the context could not be entered, or the caller's cannot be restored. If the
// driver has failed before that, it is unpinned by a later call.
TEST_F(FailingEnds, OfWhatIsUnpinnedAllTheSame) {
  int failed_after = 0, failed_before = 0;
  for (const char *const call :
       {"cuCtxPushCurrent", "cuCtxPopCurrent", "cuThreadExchangeStreamCaptureMode"}) {
    for (std::uint64_t nth = 1; nth <= 4; ++nth) {
      OnRequest host;
      OwnMemory memory = host.pin();
      gpu().simcuda_reset_counts();
      MUST(gpu().simcuda_fail(call, nth, 999));
      const std::size_t before = failures.messages.size();
      cai_error error{};
      const cai_status status = cai_memory_free(memory, &error);
      MUST(gpu().simcuda_fail(call, 0, 0));
      const bool has_failed = status != CAI_OK || failures.messages.size() != before;
      const bool is_unpinned = calls("cuMemHostUnregister") != 0;
      EXPECT_EQ(host.released, is_unpinned ? 1 : 0) << call << " " << nth;
      failed_after += has_failed && is_unpinned;
      failed_before += has_failed && !is_unpinned;
      EXPECT_EQ(cai_pending_flush(gpu0, nullptr), CAI_OK);
      EXPECT_EQ(host.released, 1) << call << " " << nth;
      EXPECT_EQ(calls("cuMemHostUnregister"), 1U);
    }
  }
  EXPECT_GE(failed_after, 3);
  EXPECT_GE(failed_before, 1);
}

// What was pinned before is still used, and the driver fails as it is asked about that.
TEST_F(FailingEnds, BeforeMemoryIsPinnedAgain) {
  for (std::uint64_t nth = 1; nth <= 4; ++nth) {
    OnRequest host;
    OwnMemory memory = host.pin();
    OwnArray array = array_of(memory, {static_cast<std::int64_t>(size)});
    {
      const Gate gate(cai_stream_value(stream));
      EXPECT_EQ(end_use({array}, cai_stream_value(stream)), CAI_OK);
      array.reset();
      memory.reset();
      MUST(gpu().simcuda_fail("cuEventQuery", nth, 999));
      cai_memory *made = nullptr;
      cai_error error{};
      EXPECT_EQ(cai_memory_pin(gpu0, host.bytes.data(), size, CAI_KIND_PINNED, 0, nullptr, nullptr,
                               &made, &error),
                CAI_ERR_CUDA);
      EXPECT_EQ(error.native, 712) << error.message;
      EXPECT_EQ(made, nullptr);
      MUST(gpu().simcuda_fail("cuEventQuery", 0, 0));
    }
    MUST(cai_drain(1, nullptr, nullptr));
    EXPECT_EQ(host.released, 1);
    memory = host.pin();
    memory.reset();
    EXPECT_EQ(host.released, 2);
  }
}

// Another thread begins a capture of the memory's stream just before the driver is asked about it.
TEST_F(FailingEnds, WhereACaptureBeginsMeanwhile) {
  OwnMemory memory = pinned(stream);
  begin_capture(stream);
  memory.reset();
  end_capture(stream);
  EXPECT_EQ(pinning.frees, 0);
  constexpr int event_of_a_capture = 1;
  MUST(gpu().simcuda_fail("cuEventQuery", 1, event_of_a_capture));
  MUST(gpu().simcuda_fail("cuEventSynchronize", 1, event_of_a_capture));
  static_cast<void>(cai_pending_flush(gpu0, nullptr));
  EXPECT_EQ(pinning.frees, 0);
  MUST(gpu().simcuda_fail("cuEventQuery", 0, 0));
  MUST(gpu().simcuda_fail("cuEventSynchronize", 0, 0));
  flush(gpu0);
  EXPECT_EQ(pinning.frees, 1);
}

// The manager cannot be called: the caller is told, and it is called once it can be.
TEST_F(FailingEnds, WhereTheContextCannotBeEntered) {
  constexpr const char *push = "cuCtxPushCurrent";
  OwnMemory memory = allocate(gpu0, CAI_KIND_ASYNC, size, stream);
  for (std::uint64_t nth = 1; nth <= 16; ++nth) MUST(gpu().simcuda_fail(push, nth, 999));
  cai_error error{};
  EXPECT_EQ(cai_memory_free(memory, &error), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, 999);
  EXPECT_EQ(calls("cuMemFreeAsync"), 0U);
  EXPECT_EQ(cai_memory_free(memory, &error), CAI_ERR_STATE);
  EXPECT_EQ(cai_pending_flush(gpu0, &error), CAI_ERR_CUDA);  // no more than before
  EXPECT_EQ(calls("cuMemFreeAsync"), 0U);
  MUST(gpu().simcuda_fail(push, 0, 0));
  for (int times = 0; times < 2; ++times) {
    flush(gpu0);
    EXPECT_EQ(calls("cuMemFreeAsync"), 1U);
  }
}

// No event can be recorded, or it would not help: the driver waits for the device by itself.
TEST_F(FailingEnds, WithoutAnEvent) {
  const Manager plain = test::make("default", gpu0);
  const With with(primary[0]);
  for (const bool captured : {false, true}) {
    const cai_block block = test::allocate(static_cast<cai_manager *>(plain), size);
    Handle blocking_stream = nullptr;
    MUST(gpu().cuStreamCreate(&blocking_stream, blocking));
    if (captured) {
      MUST(gpu().cuStreamBeginCapture_v2(blocking_stream, 2));
    } else {
      MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
      MUST(gpu().simcuda_fail("cuEventRecord", 2, 999));
    }
    free_block(plain, block);
    Handle graph = nullptr;
    if (captured) {
      MUST(gpu().cuStreamEndCapture(blocking_stream, &graph));
      MUST(gpu().cuGraphDestroy(graph));
    }
    EXPECT_EQ(told("cuEventRecord"), 2U);
    gpu().simcuda_reset_counts();
    flush(gpu0);
    EXPECT_EQ(calls("cuMemFree"), 1U);
    MUST(gpu().cuStreamDestroy_v2(blocking_stream));
  }
}

// There is no memory to remember a free by, and nothing may be freed: what is left to do, once
// there is some, is done once.
TEST_F(FailingEnds, WithoutMemory) {
  ASSERT_OK(cai_stream_set_current(stream, error));
  for (const bool captured : {false, true}) {
    for (long nth = 0; nth < 12; ++nth) {
      SCOPED_TRACE(testing::Message() << captured << " " << nth);
      OwnMemory memory = allocate(gpu0, CAI_KIND_MANAGED_GLOBAL, size, other);
      flush(gpu0);
      if (captured) begin_capture(stream);
      gpu().simcuda_reset_counts();
      with_failing_new(nth, [&] { memory.reset(); });
      if (captured) {
        EXPECT_EQ(calls("cuMemFree"), 0U);
        end_capture(stream);
      }
      flush(gpu0);
      ASSERT_OK(cai_drain(1, nullptr, error));
      flush(gpu0);
      EXPECT_EQ(calls("cuMemFree"), 1U);
    }
  }
}

// No memory is left to wait for a CPU stream: the host waits, and receives its failure.
TEST_F(FailingEnds, WithoutMemoryToWaitForTheHostBy) {
  for (const bool fails : {false, true}) {
    int waited = 0;
    for (long nth = 0; nth < 4; ++nth) {
      const Slow slow;
      if (fails) ASSERT_OK(cai_stream_enqueue(slow, fail_work, nullptr, nullptr, error));
      OwnMemory memory = allocate(cpu, CAI_KIND_DEFAULT, size, slow);
      with_failing_new(nth, [&] { memory.reset(); });
      waited += !slow.is_pending();
    }
    EXPECT_GT(waited, 0);
    EXPECT_LT(waited, 4);
    EXPECT_EQ(failures.messages.empty(), !fails);
  }
}

// The memory of an array with a foreign stream: in a capture of that stream its end is deferred,
// and a reset ends it.
TEST_F(FailingEnds, OfMemoryOfAnArray) {
  for (const bool resets : {false, true}) {
    const cai_device device = resets ? gpu1 : gpu0;
    const OwnStream theirs = make_stream(device);
    const OwnMemory below = allocate(device, CAI_KIND_DEFAULT, size, theirs);
    Array array(describe(below).data, CAI_STREAM_STREAM, cai_stream_value(theirs));
    int ended = 0;
    const auto end = [](void *count) { ++*static_cast<int *>(count); };
    cai_array *made = nullptr;
    ASSERT_OK(cai_array_own(&array.array, end, &ended, &made, error));
    cai_memory *found = nullptr;
    ASSERT_OK(cai_memory_of(made, &found, nullptr, error));
    OwnMemory memory(found);
    OwnArray(made).reset();
    EXPECT_EQ(ended, 0);
    if (resets) {
      reset(1);
      memory.reset();
    } else {
      begin_capture(theirs);
      memory.reset();
      EXPECT_EQ(ended, 0);
      end_capture(theirs);
    }
    ASSERT_OK(cai_pending_flush(device, error));
    ASSERT_OK(cai_drain(1, nullptr, error));
    EXPECT_EQ(ended, 1) << resets;
  }
  EXPECT_TRUE(failures.messages.empty());
}

// The array's stream cannot be told of what is pending on the memory's: the array's owner is told
// of its end once that is complete.
TEST_F(FailingEnds, OfMemoryOfAnArrayThatIsNotTold) {
  const OwnMemory below = allocate(gpu0, CAI_KIND_DEFAULT, size, stream);
  const auto end = [](void *count) { ++*static_cast<int *>(count); };
  cai_stream *before = nullptr;
  ASSERT_OK(cai_stream_current(gpu0, &before, error));
  const OwnStream current(before);
  for (const char *const call : {"cuStreamGetCaptureInfo", "cuEventRecord", "cuStreamWaitEvent"}) {
    SCOPED_TRACE(call);
    Array array(describe(below).data, CAI_STREAM_STREAM, cai_stream_value(stream));
    int ended = 0;
    cai_array *made = nullptr;
    ASSERT_OK(cai_array_own(&array.array, end, &ended, &made, error));
    ASSERT_OK(cai_stream_set_current(other, error));
    cai_memory *found = nullptr;
    ASSERT_OK(cai_memory_of(made, &found, nullptr, error));
    ASSERT_OK(cai_stream_set_current(current, error));
    OwnMemory memory(found);
    OwnArray(made).reset();
    ASSERT_OK(cai_stream_synchronize(other, error));
    {
      const Gate gate(cai_stream_value(other));
      MUST(gpu().simcuda_fail(call, 1, 1));
      memory.reset();
      EXPECT_EQ(told(call), 1U);
      EXPECT_EQ(ended, 0);
    }
    ASSERT_OK(cai_drain(1, nullptr, error));
    EXPECT_EQ(ended, 1);
  }
}

// A reset takes a manager's own host memory with it, as the manager was told, and CUDA arrays.
TEST_F(FailingEnds, AfterAReset) {
  const Manager dying = test::make(Pinning::name(), gpu1, &pinning);
  const cai_block block = test::allocate(static_cast<cai_manager *>(dying), size, CAI_KIND_PINNED);
  cai_request wanted = request(CAI_KIND_CUDA_ARRAY, size);
  wanted.dtype = {'f', '<', 0, 0, 4, 0};
  wanted.channels = 1;
  cai_memory *made = nullptr;
  ASSERT_OK(cai_memory_alloc(gpu1, &wanted, &made, error));
  OwnMemory of_gpu(made);
  reset(1);
  gpu().simcuda_reset_counts();
  free_block(dying, block, CAI_KIND_PINNED);
  of_gpu.reset();
  flush(gpu1);
  EXPECT_EQ(pinning.frees, 0);
  EXPECT_EQ(calls("cuArrayDestroy"), 0U);
  EXPECT_TRUE(failures.messages.empty());
  std::free(handle(block.host));
}

// A dict named a view to a consumer, and its memory is freed under it: what is queued on its stream
// comes first, and when the view is released there is nothing left to do.
TEST_F(FailingEnds, UnderAViewThatWasPublished) {
  OwnMemory memory = pinned(stream);
  OwnArray array = array_of(memory, {static_cast<std::int64_t>(size)});
  cai_array *const view = told_on(other, array);
  {
    const Gate gate(cai_stream_value(other));
    ASSERT_OK(cai_memory_free(memory, error));
    EXPECT_EQ(pinning.frees, 0);
  }
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(pinning.frees, 1);
  cai_array_release(view);
  array.reset();
  memory.reset();
  ASSERT_OK(cai_drain(1, nullptr, error));
  EXPECT_EQ(pinning.frees, 1);
  EXPECT_TRUE(failures.messages.empty());
}

// And no event can be recorded of that stream, so that the host waits for its context.
TEST_F(FailingEnds, UnderAViewThatWasPublishedWithoutAnEvent) {
  OwnMemory memory = pinned(stream);
  OwnArray array = array_of(memory, {static_cast<std::int64_t>(size)});
  cai_array *const view = told_on(other, array);
  {
    const With with(primary[0]);
    const Gate gate(cai_stream_value(other));
    MUST(gpu().simcuda_fail("cuEventRecord", 1, 999));
    ASSERT_OK(cai_memory_free(memory, error));
    EXPECT_EQ(pinning.frees, 0);
  }
  const With with(primary[0]);
  std::int64_t left = -1;
  ASSERT_OK(cai_drain(1, &left, error));
  EXPECT_EQ(left, 0);
  EXPECT_EQ(pinning.frees, 1);
  cai_array_release(view);
}

// Memory is short until libcai's own free on another thread is over.
TEST_F(FailingEnds, OnAnotherThreadAreAwaitedForWantOfMemory) {
  const Manager plain = test::make("default", gpu0);
  Recorder recorder;
  const Manager recording = test::make(recorder, gpu0);
  flush(gpu0);
  const cai_block block = test::allocate(static_cast<cai_manager *>(plain), size);
  Gate gate(cai_stream_value(stream));
  ASSERT_OK(cai_manager_free(plain, &block, CAI_KIND_DEFAULT, cai_stream_value(stream), error));
  gpu().simcuda_reset_counts();
  std::thread flusher([] { flush(gpu0); });
  while (usage(gpu0).pending_count != 0) std::this_thread::yield();
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  recorder.out_of_memory = 1;
  const cai_block made = test::allocate(static_cast<cai_manager *>(recording), size);
  EXPECT_EQ(calls("cuMemFree"), 1U);
  free_block(recording, made);
  opener.join();
  flusher.join();
}

// An end for which the host has to wait for the context, which would invalidate a capture there.
TEST_F(FailingEnds, WaitForNoContextBesideACapture) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, size);
  const With with(primary[0]);
  Owned array(describe(memory).data, CAI_STREAM_STREAM, cai_stream_value(stream));
  EXPECT_EQ(end_use({array}, cai_stream_value(stream)), CAI_OK);
  cai_stream *anothers = nullptr;  // a 2, about which only its own thread could ask
  std::thread([&] {
    EXPECT_EQ(cai_stream_wrap(gpu0, 2, nullptr, nullptr, &anothers, nullptr), CAI_OK);
  }).join();
  begin_capture(stream);
  array.release();
  std::int64_t left = -1;
  ASSERT_OK(cai_drain(1, &left, error));
  EXPECT_EQ(left, 1);
  end_capture(stream);
  EXPECT_FALSE(array.ended());
  ASSERT_OK(cai_drain(1, &left, error));
  EXPECT_EQ(left, 0);
  cai_stream_release(anothers);
}

// It is left, even if the driver does not say which context that is; what needs no such wait ends.
TEST_F(FailingEnds, WaitForNoContextBesideACaptureAndTheOthersEnd) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, size);
  const OwnMemory another = allocate(gpu0, CAI_KIND_DEFAULT, size);
  const OwnStream captured = make_stream(gpu0);
  const With with(primary[0]);
  Owned array(describe(memory).data, CAI_STREAM_STREAM, cai_stream_value(stream));
  Owned covered(describe(another).data, CAI_STREAM_NONE);
  EXPECT_EQ(end_use({array}, cai_stream_value(stream)), CAI_OK);
  EXPECT_EQ(end_use({covered}, cai_stream_value(other)), CAI_OK);
  const auto release = [](void *held, cai_error *) {  // in a function on a GPU stream: no event
    static_cast<Owned *>(held)->release();
    return cai_status{CAI_OK};
  };
  ASSERT_OK(cai_stream_enqueue(other, release, nullptr, &array, error));
  ASSERT_OK(cai_stream_synchronize(other, error));
  begin_capture(captured);
  covered.release();
  std::int64_t left = -1;
  ASSERT_OK(cai_drain(1, &left, error));
  EXPECT_EQ(left, 1);
  EXPECT_TRUE(covered.ended());
  for (const int nth : {1, 2, 3, 4}) {
    MUST(gpu().simcuda_fail("cuCtxGetId", nth, 999));
    static_cast<void>(cai_drain(1, nullptr, nullptr));
    MUST(gpu().simcuda_fail("cuCtxGetId", 0, 0));
    EXPECT_FALSE(array.ended());
  }
  end_capture(captured);
  ASSERT_OK(cai_drain(1, &left, error));
  EXPECT_EQ(left, 0);
}

// While a stream that is current on the thread is being captured nothing ends, also if the driver
// does not say so.
TEST_F(FailingEnds, WaitForTheCaptureOfTheCurrentStream) {
  const OwnMemory memory = allocate(gpu0, CAI_KIND_DEFAULT, size);
  const With with(primary[0]);
  ASSERT_OK(cai_stream_set_current(stream, error));
  for (int nth = 1; nth <= 4; ++nth) {
    Owned array(describe(memory).data, CAI_STREAM_NONE);
    EXPECT_EQ(end_use({array}, cai_stream_value(other)), CAI_OK);
    array.release();
    MUST(gpu().cuStreamSynchronize(handle(cai_stream_value(other))));
    begin_capture(stream);
    MUST(gpu().simcuda_fail("cuStreamGetCaptureInfo", nth, 999));
    static_cast<void>(cai_drain(0, nullptr, nullptr));
    MUST(gpu().simcuda_fail("cuStreamGetCaptureInfo", 0, 0));
    EXPECT_FALSE(array.ended());
    end_capture(stream);
  }
}

// Memory is short once, and there is nothing pending to be freed for it; or something is.
TEST_F(FailingEnds, ThatComeForWantOfMemory) {
  constexpr int out_of_memory = 2;
  const Manager heap = test::make("host", cpu);
  flush(gpu0);
  MUST(gpu().simcuda_fail("cuMemHostAlloc", 1, out_of_memory));
  free_block(heap, test::allocate(static_cast<cai_manager *>(heap), size, CAI_KIND_PINNED),
             CAI_KIND_PINNED);
  MUST(gpu().simcuda_fail("cuCtxGetCurrent", 1, 999));
  EXPECT_EQ(allocation_failure(heap, size, CAI_KIND_PINNED).native, 999);
  int freed = 0;
  const auto run = [](void *count, cai_error *) {
    ++*static_cast<int *>(count);
    return cai_status{CAI_OK};
  };
  ASSERT_OK(cai_pending_add(gpu0, 8, run, &freed, error));
  cai_request wanted = request(CAI_KIND_CUDA_ARRAY, size);
  wanted.dtype = {'f', '<', 0, 0, 4, 0};
  wanted.channels = 1;
  cai_memory *made = nullptr;
  MUST(gpu().simcuda_fail("cuArray3DCreate", 1, out_of_memory));
  ASSERT_OK(cai_memory_alloc(gpu0, &wanted, &made, error));
  cai_memory_release(made);
  EXPECT_EQ(freed, 1);

  // A free that fails without a message.
  const auto fail = [](void *, cai_error *) { return cai_status{CAI_ERR_STATE}; };
  ASSERT_OK(cai_pending_add(gpu0, 8, fail, nullptr, error));
  EXPECT_FAILS(CAI_ERR_STATE, "a pending free returned CAI_ERR_STATE",
               cai_pending_flush(gpu0, error));
}

// Without memory to defer the end of a stream, it ends at once.
TEST_F(FailingEnds, OfStreamsWithoutMemory) {
  constexpr int streams = 40;
  flush(gpu1);
  ASSERT_OK(cai_pending_defer(gpu1, 1, error));
  std::vector<OwnStream> all;
  for (int i = 0; i < streams; ++i) all.push_back(make_stream(gpu1));
  gpu().simcuda_reset_counts();
  for (OwnStream &each : all) with_failing_new(0, [&] { each.reset(); });
  EXPECT_GT(calls("cuStreamDestroy"), 0U);
  ASSERT_OK(cai_pending_defer(gpu1, 0, error));
  flush(gpu1);
  EXPECT_EQ(calls("cuStreamDestroy"), std::uint64_t{streams});
}

// The end of the first of two pools, installed one after the other, leaves the second.
TEST_F(FailingEnds, OfAPoolThatAnotherHasReplaced) {
  const cai_pool_params params{sizeof params, CAI_POOL_INSTALL, 0, 0, 0, 0};
  Handle before = nullptr, installed = nullptr, now = nullptr;
  MUST(gpu().cuDeviceGetMemPool(&before, 0));
  Manager first = test::make("pool", gpu0, &params);
  Manager second = test::make("pool", gpu0, &params);
  MUST(gpu().cuDeviceGetMemPool(&installed, 0));
  first.end();
  MUST(gpu().cuDeviceGetMemPool(&now, 0));
  EXPECT_EQ(now, installed);
  second.end();
  MUST(gpu().cuDeviceGetMemPool(&now, 0));
  EXPECT_EQ(now, before);
}

}  // namespace
}  // namespace test::failing_ends_tests
