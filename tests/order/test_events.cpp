// SPDX-License-Identifier: BSD-3-Clause
// libcai's own events: made at need, used again and again, and never one that is not fit for it.
// (Each test has contexts of its own, so no event is there when it begins.)
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "owned.hpp"

namespace test::events_tests {
namespace {

class Events : public OnGpu {
 protected:
  std::uint64_t made() const { return calls("cuEventCreate"); }
  std::uint64_t destroyed() const { return calls("cuEventDestroy"); }

  void use(const std::vector<Array *> &arrays, std::uint64_t consumer) {
    cai_error error{};
    EXPECT_EQ(begin_use(arrays, consumer, &error), CAI_OK) << error.message;
    EXPECT_EQ(end_use(arrays, consumer, &error), CAI_OK) << error.message;
  }
};

TEST_F(Events, AreMadeOnce) {
  Array one(memory(), CAI_STREAM_STREAM, value(stream()));
  Array two(memory(), CAI_STREAM_STREAM, value(stream()));
  const Owned none(memory(), CAI_STREAM_NONE);
  const std::uint64_t consumer = value(stream());
  use({&one, &two}, consumer);
  EXPECT_GE(made(), 1U);
  EXPECT_LE(made(), 2U);
  EXPECT_EQ(end_use({none}, consumer), CAI_OK);
  EXPECT_EQ(end_use({none}, consumer), CAI_OK);
  gpu().simcuda_reset_counts();
  for (int round = 0; round < 100; ++round) {
    use({&one, &two}, consumer);
    EXPECT_EQ(begin_use({none}, consumer), CAI_OK);
    EXPECT_EQ(end_use({none}, consumer), CAI_OK);
  }
  EXPECT_EQ(made(), 0U);
  EXPECT_EQ(destroyed(), 0U);
}

// Eight owned arrays over two producers' streams, the usual call.
TEST_F(Events, AreFewForManyArrays) {
  std::vector<std::unique_ptr<Owned>> arrays;
  std::vector<const cai_array *> list;
  const std::uint64_t producers[] = {value(stream()), value(stream())};
  for (unsigned i = 0; i < 8; ++i) {
    arrays.push_back(std::make_unique<Owned>(memory(), CAI_STREAM_STREAM, producers[i % 2]));
    list.push_back(*arrays.back());
  }
  const std::uint64_t consumer = value(stream());
  const auto both = [&](std::uint64_t begin_records, std::uint64_t end_records) {
    gpu().simcuda_reset_counts();
    EXPECT_EQ(test::begin_arrays(list.data(), 8, consumer, nullptr, nullptr), CAI_OK);
    EXPECT_EQ(calls("cuEventRecord"), begin_records);
    EXPECT_EQ(calls("cuStreamWaitEvent"), 2U);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(test::end_arrays(list.data(), 8, consumer, nullptr, nullptr), CAI_OK);
    EXPECT_EQ(calls("cuEventRecord"), end_records);
    EXPECT_EQ(calls("cuStreamWaitEvent"), 2U);
  };
  both(2, 1);
  both(2, 1);
  both(2, 1);
  EXPECT_EQ(made() + destroyed(), 0U);
  // All of them with no stream: no wait at all, and one record.
  std::vector<std::unique_ptr<Owned>> nones;
  std::vector<const cai_array *> none_list;
  for (unsigned i = 0; i < 8; ++i) {
    nones.push_back(std::make_unique<Owned>(memory(), CAI_STREAM_NONE));
    none_list.push_back(*nones.back());
  }
  gpu().simcuda_reset_counts();
  EXPECT_EQ(test::begin_arrays(none_list.data(), 8, consumer, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(all_calls(), calls("cuStreamGetCaptureInfo"));
  EXPECT_EQ(test::end_arrays(none_list.data(), 8, consumer, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(calls("cuEventRecord"), 1U);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
}

// Thousands at once come back, and are not all kept.
TEST_F(Events, AreNotKeptForEver) {
  constexpr std::uint64_t many = 2000;
  const std::uint64_t consumer = value(stream());
  {
    std::vector<std::unique_ptr<Owned>> arrays;
    const Address data = memory();
    gpu().simcuda_reset_counts();
    for (std::uint64_t i = 0; i < many; ++i) {
      arrays.push_back(std::make_unique<Owned>(data, CAI_STREAM_NONE));
      EXPECT_EQ(end_use({*arrays.back()}, consumer), CAI_OK);
    }
    EXPECT_EQ(made(), many);
    EXPECT_EQ(destroyed(), 0U);
    for (const auto &array : arrays) array->release();
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    EXPECT_GE(destroyed(), many - 300);
    EXPECT_LT(destroyed(), many);
  }
  gpu().simcuda_reset_counts();
  const Owned again(memory(), CAI_STREAM_NONE);
  EXPECT_EQ(end_use({again}, consumer), CAI_OK);
  EXPECT_EQ(made(), 0U);
}

TEST_F(Events, AreOfTheirContext) {
  Array here(memory(), CAI_STREAM_STREAM, value(stream()));
  Array there(memory(context1), CAI_STREAM_STREAM, value(stream(non_blocking, context1)));
  const std::uint64_t consumer = value(stream());
  for (int round = 0; round < 3; ++round) {
    gpu().simcuda_reset_counts();
    use({&here, &there}, consumer);
    EXPECT_EQ(made() == 0, round > 0);
  }
}

// A context that is made again has its old handle, and none of its old events.
TEST_F(Events, DoNotOutliveAReset) {
  for (int round = 0; round < 3; ++round) {
    Handle primary = nullptr;
    MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 1));
    {
      Array array(memory(primary), CAI_STREAM_STREAM, value(stream(non_blocking, primary)));
      const std::uint64_t consumer = value(stream(non_blocking, primary));
      gpu().simcuda_reset_counts();
      use({&array}, consumer);
      EXPECT_GE(made(), 1U);
      use({&array}, consumer);
    }
    MUST(gpu().cuDevicePrimaryCtxReset_v2(1));
    EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
    MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));  // which the reset did not
  }
}

TEST_F(Events, OfAThreadThatEndsGoToTheOthers) {
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t consumer = value(stream());
  std::thread([&] { use({&array}, consumer); }).join();
  EXPECT_GE(made(), 1U);
  gpu().simcuda_reset_counts();
  use({&array}, consumer);
  EXPECT_EQ(made(), 0U);
}

// A thread may use libcai until its very end.
TEST_F(Events, OfAThreadThatIsEnding) {
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t consumer = value(stream());
  struct AtExit {
    std::function<void()> run;
    ~AtExit() { run(); }
  };
  std::thread([&] {
    // Older than what libcai has of its own, so it goes later.
    thread_local AtExit last;
    last.run = [&] { use({&array}, consumer); };
    use({&array}, consumer);
  }).join();
  gpu().simcuda_reset_counts();
  use({&array}, consumer);
  EXPECT_EQ(made(), 0U);
}

// An event recorded in a capture must not be used again.
TEST_F(Events, OfACaptureAreDestroyed) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, producer);
  use({&array}, consumer);
  const cai_use_options fork = access(CAI_ACCESS_DEFAULT, CAI_USE_FORK);
  const Address to = memory();
  MUST(gpu().cuStreamBeginCapture_v2(handle(producer), 0));
  gpu().simcuda_reset_counts();
  cai_error error{};
  EXPECT_EQ(begin_use({&array}, consumer, &error, &fork), CAI_OK) << error.message;
  copy(to, array.array.data, consumer);
  EXPECT_EQ(end_use({&array}, consumer, &error, &fork), CAI_OK) << error.message;
  EXPECT_EQ(calls("cuEventRecord"), 2U);
  EXPECT_EQ(destroyed(), 2U);
  Handle graph = nullptr;
  MUST(gpu().cuStreamEndCapture(handle(producer), &graph));
  MUST(gpu().cuGraphDestroy(graph));
  gpu().simcuda_reset_counts();
  use({&array}, consumer);
  use({&array}, consumer);
  EXPECT_LE(made(), 2U);
  EXPECT_EQ(destroyed(), 0U);
}

// The graph refers to it as long as there is one.
TEST_F(Events, OutsideAGraphLiveAsLongAsTheGraph) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, producer);
  const cai_use_options external = access(CAI_ACCESS_DEFAULT, CAI_USE_EXTERNAL);
  const Address to = memory();
  Handle graph = nullptr;
  {
    const Gate gate(producer);
    MUST(gpu().cuStreamBeginCapture_v2(handle(consumer), 0));
    gpu().simcuda_reset_counts();
    cai_error error{};
    EXPECT_EQ(begin_use({&array}, consumer, &error, &external), CAI_OK) << error.message;
    copy(to, array.array.data, consumer);
    EXPECT_EQ(end_use({&array}, consumer, &error, &external), CAI_OK) << error.message;
    MUST(gpu().cuStreamEndCapture(handle(consumer), &graph));
  }
  finish();
  EXPECT_EQ(made(), 1U);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(destroyed(), 0U);
  for (int round = 0; round < 20; ++round) use({&array}, value(stream()));
  MUST(gpu().cuGraphDestroy(graph));
  // The graph's user objects go on a thread of the driver's.
  for (int i = 0; i < 2000 && destroyed() == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(cai_drain(0, nullptr, nullptr), CAI_OK);
  }
  EXPECT_EQ(destroyed(), 1U);
}

}  // namespace
}  // namespace test::events_tests
