// SPDX-License-Identifier: BSD-3-Clause
// The hand-over between streams: no race where a forgotten wait is one, and no call more than it
// takes.
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "owned.hpp"

namespace test::use_tests {
namespace {

class Use : public OnGpu {
 protected:
  struct Outcome {
    std::uint64_t races;
    int seen;  // by the consumer
  };

  // Work on `producer` is followed by work on `consumer`.
  Outcome hand_over(std::uint64_t producer, Handle producer_context, std::uint64_t consumer,
                    const std::function<void(Address)> &order) {
    const Address from = memory(producer_context);
    const Address to = memory();
    const std::uint64_t found = races([&] {
      {
        const With with(producer_context);
        fill(from, 1, producer);
      }
      order(from);
      copy(to, from, consumer);
    });
    return {found, read(to)};
  }

  // Work on `consumer` is followed by a write on `producer`.
  Outcome hand_back(std::uint64_t producer, Handle producer_context, std::uint64_t consumer,
                    const std::function<void(Address)> &order) {
    const Address from = memory(producer_context);
    const Address to = memory();
    {
      const With with(producer_context);
      fill(from, 1, producer);
      MUST(gpu().cuStreamSynchronize(handle(producer)));
    }
    const std::uint64_t found = races([&] {
      copy(to, from, consumer);
      order(from);
      const With with(producer_context);
      fill(from, 2, producer);
    });
    return {found, read(to)};
  }

  static void expect_ordered(const Outcome &outcome) {
    EXPECT_EQ(outcome.races, 0U);
    EXPECT_EQ(outcome.seen, 1);
  }

  // Both ways, with and without libcai.
  void expect_order(std::uint64_t producer, Handle producer_context, std::uint64_t consumer,
                    std::uint32_t kind = CAI_STREAM_STREAM) {
    const std::uint64_t said = kind == CAI_STREAM_STREAM ? producer : 0;
    const auto nothing = [](Address) {};
    EXPECT_EQ(hand_over(producer, producer_context, consumer, nothing).races, 1U);
    EXPECT_EQ(hand_back(producer, producer_context, consumer, nothing).races, 1U);
    cai_error error{};
    expect_ordered(hand_over(producer, producer_context, consumer, [&](Address data) {
      Array array(data, kind, said);
      EXPECT_EQ(begin_use({&array}, consumer, &error), CAI_OK) << error.message;
    }));
    expect_ordered(hand_back(producer, producer_context, consumer, [&](Address data) {
      Array array(data, kind, said);
      EXPECT_EQ(end_use({&array}, consumer, &error), CAI_OK) << error.message;
    }));
  }

  // Counts the records and the waits of one begin_use() and one end_use(), once the events are in
  // the pool.
  void expect_calls(const std::vector<Array *> &arrays, std::uint64_t consumer,
                    std::uint64_t records, std::uint64_t waits, std::uint64_t records_back,
                    std::uint64_t waits_back) {
    cai_error error{};
    ASSERT_EQ(begin_use(arrays, consumer, &error), CAI_OK) << error.message;
    ASSERT_EQ(end_use(arrays, consumer, &error), CAI_OK) << error.message;
    gpu().simcuda_reset_counts();
    ASSERT_EQ(begin_use(arrays, consumer, &error), CAI_OK) << error.message;
    EXPECT_EQ(calls("cuEventRecord"), records);
    EXPECT_EQ(calls("cuStreamWaitEvent"), waits);
    EXPECT_EQ(calls("cuEventCreate") + calls("cuEventDestroy"), 0U);
    EXPECT_EQ(calls("cuStreamSynchronize") + calls("cuEventSynchronize"), 0U);
    gpu().simcuda_reset_counts();
    ASSERT_EQ(end_use(arrays, consumer, &error), CAI_OK) << error.message;
    EXPECT_EQ(calls("cuEventRecord"), records_back);
    EXPECT_EQ(calls("cuStreamWaitEvent"), waits_back);
    EXPECT_EQ(calls("cuEventCreate") + calls("cuEventDestroy"), 0U);
    EXPECT_EQ(calls("cuStreamSynchronize") + calls("cuEventSynchronize"), 0U);
  }

  void expect_no_calls(const std::vector<Array *> &arrays, std::uint64_t consumer) {
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use(arrays, consumer), CAI_OK);
    EXPECT_EQ(end_use(arrays, consumer), CAI_OK);
    EXPECT_EQ(all_calls(), 0U);
  }
};

TEST_F(Use, HandleToHandle) {
  expect_order(value(stream()), context0, value(stream()));
}
TEST_F(Use, BlockingToBlocking) {
  expect_order(value(stream(blocking)), context0, value(stream(blocking)));
}
TEST_F(Use, LegacyToHandle) {
  expect_order(1, context0, value(stream()));
}
TEST_F(Use, PerThreadToHandle) {
  expect_order(2, context0, value(stream()));
}
TEST_F(Use, HandleToLegacy) {
  expect_order(value(stream()), context0, 1);
}
TEST_F(Use, HandleToPerThread) {
  expect_order(value(stream()), context0, 2);
}
TEST_F(Use, UnstatedToHandle) {
  expect_order(1, context0, value(stream()), CAI_STREAM_UNSTATED);
}
TEST_F(Use, OtherDevice) {
  expect_order(value(stream(non_blocking, context1)), context1, value(stream()));
}
TEST_F(Use, LegacyOfOtherDevice) {
  expect_order(1, context1, value(stream()));
}
TEST_F(Use, LegacyOfOtherDeviceToLegacy) {
  expect_order(1, context1, 1);
}
TEST_F(Use, PerThreadOfOtherDeviceToPerThread) {
  expect_order(2, context1, 2);
}
TEST_F(Use, UnstatedOfOtherDevice) {
  expect_order(1, context1, value(stream()), CAI_STREAM_UNSTATED);
}

TEST_F(Use, OtherContextOfOneDevice) {
  Handle other = nullptr;
  Handle popped = nullptr;
  MUST(gpu().cuCtxCreate_v2(&other, 0, 0));
  MUST(gpu().cuCtxPopCurrent_v2(&popped));
  expect_order(1, other, 1);
  expect_order(1, other, value(stream()));
  expect_order(value(stream(non_blocking, other)), other, 1);
  MUST(gpu().cuCtxDestroy_v2(other));
}

TEST_F(Use, LegacyAndBlockingStreamOrderThemselves) {
  const std::uint64_t other = value(stream(blocking));
  const auto nothing = [](Address) {};
  expect_ordered(hand_over(1, context0, other, nothing));
  expect_ordered(hand_back(1, context0, other, nothing));
  expect_ordered(hand_over(other, context0, 1, nothing));
  expect_ordered(hand_back(other, context0, 1, nothing));
  expect_ordered(hand_over(1, context0, 2, nothing));
  expect_ordered(hand_over(2, context0, 1, nothing));
}

TEST_F(Use, EventOfTheProducer) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  expect_ordered(hand_over(producer, context0, consumer, [&](Address data) {
    MUST(gpu().cuEventRecord(event, handle(producer)));
    Array array(data, CAI_STREAM_EVENT, value(event));
    Array again(data, CAI_STREAM_EVENT, value(event));
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_only({&array, &again}, consumer), CAI_OK);
    EXPECT_EQ(calls("cuEventRecord"), 0U);
    EXPECT_EQ(calls("cuStreamWaitEvent"), 1U);
  }));
  // There is no way back, which is said before anything is done.
  Array array(memory(), CAI_STREAM_EVENT, value(event));
  Array other(memory(), CAI_STREAM_STREAM, producer);
  cai_error error{};
  gpu().simcuda_reset_counts();
  EXPECT_EQ(begin_use({&other, &array}, consumer, &error), CAI_ERR_ORDER);
  EXPECT_EQ(error.index, 1);
  EXPECT_NE(std::string(error.message).find("cai_array_release_on"), std::string::npos);
  EXPECT_EQ(all_calls(), 0U);
  MUST(gpu().cuEventDestroy_v2(event));
}

TEST_F(Use, EightArraysOnOneStream) {
  const std::uint64_t producer = value(stream());
  const Address data = memory();
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<Array *> list;
  for (int i = 0; i < 8; ++i) {
    arrays.push_back(std::make_unique<Array>(data, CAI_STREAM_STREAM, producer));
    list.push_back(arrays.back().get());
  }
  expect_calls(list, value(stream()), 1, 1, 1, 1);
  gpu().simcuda_reset_counts();
  ASSERT_EQ(begin_use(list, value(stream())), CAI_OK);
  EXPECT_EQ(calls("cuPointerGetAttributes"), 0U);
  EXPECT_EQ(calls("cuStreamGetCtx"), 0U);  // this thread has met the stream
  EXPECT_EQ(calls("cuStreamGetId"), 1U);
  EXPECT_EQ(calls("cuStreamGetCaptureInfo"), 2U);
}

TEST_F(Use, OneRecordAndOneWaitForEachStream) {
  const Address data = memory();
  for (const int streams : {2, 3, 16, 17, 40}) {
    std::vector<std::unique_ptr<Array>> arrays;
    std::vector<Array *> list;
    for (int i = 0; i < streams; ++i) {
      const std::uint64_t producer = value(stream());
      for (int twice = 0; twice < 2; ++twice) {
        arrays.push_back(std::make_unique<Array>(data, CAI_STREAM_STREAM, producer));
        list.push_back(arrays.back().get());
      }
    }
    const auto n = static_cast<std::uint64_t>(streams);
    expect_calls(list, value(stream()), n, n, 1, n);
  }
}

TEST_F(Use, DefaultStreamsAreToldApartByContext) {
  Array here(memory(), CAI_STREAM_STREAM, 1);
  Array here_too(memory(), CAI_STREAM_UNSTATED);
  Array there(memory(context1), CAI_STREAM_STREAM, 1);
  Array per_thread(memory(), CAI_STREAM_STREAM, 2);
  const std::uint64_t consumer = value(stream());
  expect_calls({&here, &here_too}, consumer, 1, 1, 1, 1);
  expect_calls({&here, &here_too, &there}, consumer, 2, 2, 1, 2);
  expect_calls({&here, &per_thread}, consumer, 2, 2, 1, 2);
  expect_calls({&here, &here_too}, 1, 0, 0, 0, 0);
  expect_calls({&here, &there}, 1, 1, 1, 1, 1);
  expect_calls({&per_thread}, 2, 0, 0, 0, 0);
  expect_calls({&per_thread}, 1, 0, 0, 1, 1);
}

TEST_F(Use, NoEventWhereTheDriverKeepsOrder) {
  Array legacy(memory(), CAI_STREAM_STREAM, 1);
  Array of_blocking(memory(), CAI_STREAM_STREAM, value(stream(blocking)));
  Array of_non_blocking(memory(), CAI_STREAM_STREAM, value(stream()));
  // Nobody keeps the use: stream 1 waits itself, which the next blocking stream comes after.
  expect_calls({&legacy}, value(stream(blocking)), 0, 0, 1, 1);
  expect_calls({&legacy}, value(stream(non_blocking)), 1, 1, 1, 1);
  // The producer may have its host wait for its stream, which the driver orders only once something
  // is queued there.
  expect_calls({&of_blocking}, 1, 0, 0, 1, 1);
  expect_calls({&of_non_blocking}, 1, 1, 1, 1, 1);
  expect_calls({&of_blocking}, 2, 1, 1, 1, 1);
  Array there(memory(context1), CAI_STREAM_STREAM, 1);
  expect_calls({&there}, value(stream(blocking)), 1, 1, 1, 1);
  Array blocking_there(memory(context1), CAI_STREAM_STREAM, value(stream(blocking, context1)));
  expect_calls({&blocking_there}, 1, 1, 1, 1, 1);
}

// The producer's host waits for its stream, where nothing has been queued since.
TEST_F(Use, OfStream1IsBehindTheProducersIdleStream) {
  const std::uint64_t producer = value(stream(blocking));
  const std::uint64_t elsewhere = value(stream());
  for (const bool ordered : {false, true}) {
    const Address data = memory();
    Array array(data, CAI_STREAM_STREAM, producer);
    EXPECT_EQ(races([&] {
                EXPECT_EQ(begin_use({&array}, 1), CAI_OK);
                fill(data, 1, 1);
                if (ordered) {
                  EXPECT_EQ(end_use({&array}, 1), CAI_OK);
                }
                MUST(gpu().cuStreamSynchronize(handle(producer)));
                fill(data, 2, elsewhere);
              }),
              ordered ? 0U : 1U);
  }
}

TEST_F(Use, NothingToOrder) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  const Address data = memory();
  Array stated(data, CAI_STREAM_NONE);
  Array same(data, CAI_STREAM_STREAM, consumer);
  Array empty(0, CAI_STREAM_STREAM, producer);
  empty.empty();
  Array empty_legacy(0, CAI_STREAM_STREAM, 1);
  empty_legacy.empty();
  Array empty_event(0, CAI_STREAM_EVENT, 1234);
  empty_event.empty();
  char bytes[count];
  Array host(reinterpret_cast<std::uintptr_t>(bytes), CAI_STREAM_NONE);
  host.array.device_type = CAI_DEVICE_CPU;
  host.array.device_id = 0;
  expect_no_calls({}, consumer);
  expect_no_calls({&stated}, consumer);
  expect_no_calls({&same}, consumer);
  expect_no_calls({&empty, &empty_legacy, &empty_event}, consumer);
  expect_no_calls({&host}, consumer);
  expect_no_calls({&stated, &same, &empty, &host}, consumer);
  expect_no_calls({&stated, &empty}, 1);
  EXPECT_EQ(test::begin_arrays(nullptr, 0, consumer, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(test::end_arrays(nullptr, 0, consumer, nullptr, nullptr), CAI_OK);
}

TEST_F(Use, Masks) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t other = value(stream());
  const std::uint64_t consumer = value(stream());
  const Address data = memory();
  const auto masked = [&](std::uint32_t kind, std::uint64_t of_mask, std::uint64_t n) {
    Array array(data, CAI_STREAM_STREAM, producer);
    Array mask(data, kind, of_mask);
    array.mask(mask);
    expect_calls({&array}, consumer, n, n, 1, n);
  };
  masked(CAI_STREAM_STREAM, other, 2);
  masked(CAI_STREAM_STREAM, producer, 1);
  masked(CAI_STREAM_STREAM, consumer, 1);
  masked(CAI_STREAM_STREAM, 1, 2);
  masked(CAI_STREAM_UNSTATED, 0, 2);
  masked(CAI_STREAM_NONE, 0, 1);

  const std::uint64_t of_mask = value(stream());
  expect_ordered(hand_over(of_mask, context0, consumer, [&](Address mask_data) {
    Array array(data, CAI_STREAM_NONE);
    Array mask(mask_data, CAI_STREAM_STREAM, of_mask);
    array.mask(mask);
    EXPECT_EQ(begin_use({&array}, consumer), CAI_OK);
  }));
}

TEST_F(Use, Options) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, producer);
  struct Case {
    std::uint32_t order;
    std::uint64_t begin, end;
  };
  for (const Case &one : {Case{CAI_ORDER_BOTH, 1, 1}, Case{CAI_ORDER_BEGIN, 1, 0},
                          Case{CAI_ORDER_END, 0, 1}, Case{CAI_ORDER_NONE, 0, 0}}) {
    const cai_use_options options = order(one.order);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({&array}, consumer, nullptr, &options), CAI_OK);
    EXPECT_EQ(calls("cuStreamWaitEvent"), one.begin) << one.order;
    gpu().simcuda_reset_counts();
    EXPECT_EQ(end_use({&array}, consumer, nullptr, &options), CAI_OK);
    EXPECT_EQ(calls("cuStreamWaitEvent"), one.end) << one.order;
    EXPECT_EQ(all_calls() == 0, one.end == 0) << one.order;
  }
}

TEST_F(Use, HostOrder) {
  const cai_use_options options = order(CAI_ORDER_HOST);
  for (const std::uint64_t producer : {value(stream()), std::uint64_t{1}, std::uint64_t{2}}) {
    const std::uint64_t consumer = value(stream());
    expect_ordered(hand_over(producer, context0, consumer, [&](Address data) {
      Array array(data, CAI_STREAM_STREAM, producer);
      gpu().simcuda_reset_counts();
      EXPECT_EQ(begin_use({&array}, consumer, nullptr, &options), CAI_OK);
      EXPECT_EQ(calls("cuEventRecord"), 1U);
      EXPECT_EQ(calls("cuEventSynchronize"), 1U);
      EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
    }));
    expect_ordered(hand_back(producer, context0, consumer, [&](Address data) {
      Array array(data, CAI_STREAM_STREAM, producer);
      EXPECT_EQ(begin_use({&array}, consumer, nullptr, &options), CAI_OK);
      gpu().simcuda_reset_counts();
      EXPECT_EQ(end_use({&array}, consumer, nullptr, &options), CAI_OK);
      EXPECT_EQ(calls("cuStreamSynchronize"), 1U);
      EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
    }));
  }
}

TEST_F(Use, HostOrderWithAnEvent) {
  const cai_use_options options = order(CAI_ORDER_HOST);
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  expect_ordered(hand_over(producer, context0, consumer, [&](Address data) {
    MUST(gpu().cuEventRecord(event, handle(producer)));
    Array array(data, CAI_STREAM_EVENT, value(event));
    EXPECT_EQ(begin_use({&array}, consumer, nullptr, &options), CAI_OK);
    EXPECT_EQ(end_use({&array}, consumer, nullptr, &options), CAI_OK);
  }));
  MUST(gpu().cuEventDestroy_v2(event));
}

TEST_F(Use, SyncHost) {
  for (const std::uint64_t producer : {value(stream()), std::uint64_t{1}, std::uint64_t{2}}) {
    const Address data = memory();
    const Address mask_data = memory();
    const std::uint64_t of_mask = value(stream());
    Array array(data, CAI_STREAM_STREAM, producer);
    Array mask(mask_data, CAI_STREAM_STREAM, of_mask);
    array.mask(mask);
    const Address seen = memory();
    fill(data, 1, producer);
    fill(mask_data, 1, of_mask);
    EXPECT_EQ(cai_array_sync_host(&array.array, nullptr), CAI_OK);
    const std::uint64_t reader = value(stream());
    copy(seen, data, reader);
    EXPECT_EQ(read(seen, reader), 1);
    copy(seen, mask_data, reader);
    EXPECT_EQ(read(seen, reader), 1);
  }
  Array stated(memory(), CAI_STREAM_NONE);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(cai_array_sync_host(&stated.array, nullptr), CAI_OK);
  EXPECT_EQ(all_calls(), 0U);
  Array there(memory(context1), CAI_STREAM_UNSTATED);
  EXPECT_EQ(cai_array_sync_host(&there.array, nullptr), CAI_OK);
}

TEST_F(Use, SameStream) {
  const Address data = memory();
  const std::uint64_t producer = value(stream());
  Array of_stream(data, CAI_STREAM_STREAM, producer);
  Array of_other(data, CAI_STREAM_STREAM, value(stream()));
  Array stated(data, CAI_STREAM_NONE);
  Array legacy(data, CAI_STREAM_STREAM, 1);
  Array legacy_too(memory(), CAI_STREAM_STREAM, 1);
  Array legacy_there(memory(context1), CAI_STREAM_STREAM, 1);
  Array unstated(data, CAI_STREAM_UNSTATED);
  Array per_thread(data, CAI_STREAM_STREAM, 2);
  Array of_event(data, CAI_STREAM_EVENT, 1234);
  Array masked(data, CAI_STREAM_NONE);
  masked.mask(of_stream);

  const auto expect = [](const std::vector<Array *> &arrays, std::uint64_t found, bool driver) {
    const auto list = pointers(arrays);
    const auto n = static_cast<std::int32_t>(list.size());
    std::uint64_t out = 99;
    gpu().simcuda_reset_counts();
    EXPECT_EQ(cai_arrays_same_stream(list.data(), n, &out, nullptr), CAI_OK);
    EXPECT_EQ(out, found);
    EXPECT_EQ(all_calls() != 0, driver);
  };
  const auto refuse = [](const std::vector<Array *> &arrays, std::int32_t index) {
    const auto list = pointers(arrays);
    const auto n = static_cast<std::int32_t>(list.size());
    std::uint64_t out = 99;
    cai_error error{};
    EXPECT_EQ(cai_arrays_same_stream(list.data(), n, &out, &error), CAI_ERR_ORDER);
    EXPECT_EQ(out, 99U);
    EXPECT_EQ(error.index, index) << error.message;
  };
  expect({}, 0, false);
  expect({&stated}, 0, false);
  expect({&of_stream, &stated, &of_stream, &masked}, producer, false);
  // The driver says which context 1 and 2 are of.
  expect({&legacy}, 1, true);
  expect({&legacy, &unstated}, 1, true);
  expect({&legacy, &legacy_too}, 1, true);
  expect({&per_thread, &per_thread}, 2, true);
  refuse({&of_stream, &of_other}, 1);
  refuse({&of_stream, &legacy}, 0);
  refuse({&stated, &legacy, &legacy_there}, 2);
  refuse({&legacy, &per_thread}, 1);
  refuse({&of_stream, &of_event}, 1);
  refuse({&masked, &of_other}, 1);
  refuse({&stated, &legacy_there}, 1);  // to whom 1 is another one
}

TEST_F(Use, OfNoDeviceOfCudas) {
  const std::uint64_t own = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, own);
  array.array.device_type = CAI_DEVICE_ROCM;
  cai_array *owned = nullptr;
  MUST(cai_array_own(&array.array, nullptr, nullptr, &owned, nullptr));
  const cai_array *const one = owned;
  cai_use use;
  cai_error error{};
  EXPECT_EQ(cai_use_begin(&use, &one, 1, own, nullptr, &error), CAI_ERR_DEVICE);
  EXPECT_NE(std::string(error.message).find("ROCm"), std::string::npos) << error.message;
  cai_array_release(owned);
}

// An array that came with None and has no owner: no one is told.
TEST_F(Use, SameStreamOfABorrowedNone) {
  Array legacy(memory(), CAI_STREAM_STREAM, 1);
  Array none(memory(), CAI_STREAM_NONE);
  cai_array *owned = nullptr;
  MUST(cai_array_own(&legacy.array, nullptr, nullptr, &owned, nullptr));
  const cai_array *const arrays[] = {owned, &none.array};
  std::uint64_t out = 0;
  cai_error error{};
  EXPECT_EQ(cai_arrays_same_stream(arrays, 2, &out, &error), CAI_OK) << error.message;
  EXPECT_EQ(out, 1U);
  std::int64_t left = -1;
  EXPECT_EQ(cai_owner_pending(owned->owner, 0, &left, nullptr), CAI_OK);
  EXPECT_EQ(left, 1);
  cai_array_release(owned);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
}

TEST_F(Use, ManyThreads) {
  const std::uint64_t consumer = value(stream());
  Array stream_here(memory(), CAI_STREAM_STREAM, value(stream()));
  Array legacy_there(memory(context1), CAI_STREAM_STREAM, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        EXPECT_EQ(begin_use({&stream_here, &legacy_there}, consumer), CAI_OK);
        EXPECT_EQ(end_use({&stream_here, &legacy_there}, consumer), CAI_OK);
        EXPECT_EQ(current(), nullptr);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

// An invalid stream is named, with its array: a producer's stream that was destroyed before the
// second of two arrays, whose memory has kept uses; and values that never were a handle.
TEST_F(Use, FailuresNameTheStreamAndItsArray) {
  use_stale_streams();
  Handle ended = nullptr;
  MUST(gpu().cuStreamCreate(&ended, non_blocking));
  const std::uint64_t gone = value(ended);
  const std::uint64_t consumer = value(stream());
  Array mine(memory(), CAI_STREAM_STREAM, consumer);
  const Owned theirs(memory(), CAI_STREAM_STREAM, gone);
  const Array of_gone(memory(), CAI_STREAM_STREAM, gone);
  const Array of_three(memory(), CAI_STREAM_STREAM, 3);
  const Array of_most(memory(), CAI_STREAM_STREAM, UINT64_MAX);
  EXPECT_EQ(end_use({theirs}, value(stream())), CAI_OK);
  MUST(gpu().cuStreamDestroy_v2(ended));
  cai_error error{};
  const auto fails = [&](cai_status status, std::int32_t index, std::uint64_t stream) {
    EXPECT_EQ(status, CAI_ERR_CUDA);
    EXPECT_EQ(error.index, index) << error.message;
    char name[64];
    std::snprintf(name, sizeof name, ": stream 0x%llx", static_cast<unsigned long long>(stream));
    EXPECT_NE(std::strstr(error.message, name), nullptr) << error.message;
  };
  fails(begin_use({&mine.array, theirs}, consumer, &error), 1, gone);
  fails(begin_use({&mine.array, &of_gone.array}, consumer, &error), 1, gone);
  fails(begin_use({&mine.array, &of_three.array}, consumer, &error), 1, 3);
  fails(begin_use({&mine.array, &of_most.array}, consumer, &error), 1, UINT64_MAX);
  fails(begin_use({&mine.array}, 3, &error), -1, 3);
  fails(cai_array_reclaim(&mine.array, gone, CAI_ACCESS_WRITE, &error), -1, gone);
  fails(cai_array_sync_host(&of_three.array, &error), -1, 3);
  const std::uint64_t streams[] = {consumer, gone};
  cai_array *view = nullptr;
  fails(cai_array_publish(&mine.array, streams, 2, consumer, &view, &error), 1, gone);
}

}  // namespace
}  // namespace test::use_tests
