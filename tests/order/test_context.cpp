// SPDX-License-Identifier: BSD-3-Clause
// Whose context is meant, and the caller's in its place afterwards: also when a call of the driver
// fails, whichever it is. (OnGpu compares the context stack and the capture mode after each test.)
#include <cstring>
#include <functional>

#include "gpu.hpp"

namespace test::context_tests {
namespace {

class Context : public OnGpu {
 protected:
  // Memory that belongs to no context, as that of pools.
  Address pool_memory(Handle context) {
    const With with(context);
    Address made = 0;
    MUST(gpu().cuMemAllocAsync(&made, static_cast<std::size_t>(count), nullptr));
    MUST(gpu().cuCtxSynchronize());
    return made;
  }
  void free_pool_memory(Address data, Handle context) {
    const With with(context);
    MUST(gpu().cuMemFreeAsync(data, nullptr));
    MUST(gpu().cuCtxSynchronize());
  }
};

// With no context current while it lives: everything is popped, and pushed again.
class NoContext {
 public:
  NoContext() : stack_(context_stack()) {
    Handle popped = nullptr;
    for (std::size_t i = 0; i < stack_.size(); ++i) MUST(gpu().cuCtxPopCurrent_v2(&popped));
  }
  ~NoContext() {
    EXPECT_EQ(current(), nullptr);
    for (auto context = stack_.rbegin(); context != stack_.rend(); ++context) {
      MUST(gpu().cuCtxPushCurrent_v2(*context));
    }
  }

 private:
  std::vector<Handle> stack_;
};

TEST_F(Context, NoneIsCurrent) {
  Array of_stream(memory(), CAI_STREAM_STREAM, value(stream()));
  Array legacy(memory(), CAI_STREAM_STREAM, 1);
  Array there(memory(context1), CAI_STREAM_UNSTATED);
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  Array of_event(memory(), CAI_STREAM_EVENT, value(event));
  const std::uint64_t consumer = value(stream());
  const NoContext none;
  cai_error error{};
  EXPECT_EQ(begin_only({&of_stream, &legacy, &there, &of_event}, consumer, &error), CAI_OK)
      << error.message;
  EXPECT_EQ(begin_only({&of_event}, consumer, &error), CAI_OK) << error.message;
  EXPECT_EQ(end_use({&of_stream, &legacy, &there}, consumer, &error), CAI_OK) << error.message;
  EXPECT_EQ(cai_array_sync_host(&of_stream.array, &error), CAI_OK) << error.message;
  EXPECT_EQ(cai_array_sync_host(&legacy.array, &error), CAI_OK) << error.message;
  EXPECT_EQ(cai_array_sync_host(&of_event.array, &error), CAI_OK) << error.message;

  // A default stream of the consumer is one of the current context, and there is none.
  for (const std::uint64_t default_stream : {1U, 2U}) {
    EXPECT_EQ(begin_use({&of_stream}, default_stream, &error), CAI_ERR_ARGUMENT);
    EXPECT_NE(std::string(error.message).find("none is current"), std::string::npos);
    EXPECT_EQ(end_use({&of_stream}, default_stream), CAI_ERR_ARGUMENT);
  }
}

// If a driver needs a context, it gets the stream's, but only if none is current.
TEST_F(Context, IsWantedForAHandle) {
  constexpr std::int32_t invalid_context = 201;
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  const std::uint64_t consumer = value(stream());
  EXPECT_EQ(begin_use({&array}, consumer), CAI_OK);
  cai_error error{};
  for (const char *name : {"cuStreamGetCaptureInfo", "cuEventRecord", "cuStreamWaitEvent"}) {
    MUST(gpu().simcuda_fail(name, 1, invalid_context));
    EXPECT_EQ(begin_use({&array}, consumer, &error), CAI_ERR_CUDA) << name;
    EXPECT_EQ(error.native, invalid_context);
    const NoContext none;
    gpu().simcuda_reset_counts();
    MUST(gpu().simcuda_fail(name, 1, invalid_context));
    EXPECT_EQ(begin_use({&array}, consumer, &error), CAI_OK) << error.message;
    EXPECT_EQ(calls("cuCtxPushCurrent"), 1U);
    EXPECT_EQ(calls("cuCtxPopCurrent"), 1U);
  }
}

// Whichever is current: all must mean the same.
TEST_F(Context, PoolMemoryIsOfThePrimaryContext) {
  const Primary primary(0);
  const Address data = pool_memory(primary.context);
  const Address seen = memory(primary.context);
  Array legacy(data, CAI_STREAM_STREAM, 1);
  const std::uint64_t consumer = value(stream());
  {
    const With with(primary.context);
    fill(data, 7, 1);
  }
  EXPECT_EQ(begin_only({&legacy}, consumer), CAI_OK);
  copy(seen, data, consumer);
  EXPECT_EQ(read(seen, consumer), 7);
  const cai_array *const one = &legacy.array;
  std::uint64_t out = 99;
  cai_error error{};
  EXPECT_EQ(cai_arrays_same_stream(&one, 1, &out, &error), CAI_ERR_ORDER);
  EXPECT_EQ(out, 99U);
  EXPECT_NE(std::string(error.message).find("another context"), std::string::npos);
  const With with(primary.context);
  EXPECT_EQ(cai_arrays_same_stream(&one, 1, &out, &error), CAI_OK);
  EXPECT_EQ(out, 1U);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(begin_only({&legacy}, 1), CAI_OK);
  EXPECT_EQ(calls("cuDevicePrimaryCtxRetain"), 0U);  // it is known by then
  free_pool_memory(data, primary.context);
}

TEST_F(Context, PoolMemoryIsOfTheCurrentContextWhereNoPrimaryOneIs) {
  const Address data = pool_memory(context0);
  Array legacy(data, CAI_STREAM_STREAM, 1);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(begin_use({&legacy}, 1), CAI_OK);
  EXPECT_EQ(calls("cuEventRecord"), 0U);  // one and the same stream
  EXPECT_EQ(begin_use({&legacy}, value(stream())), CAI_OK);
  EXPECT_EQ(calls("cuEventRecord"), 1U);
  free_pool_memory(data, context0);
}

TEST_F(Context, PoolMemoryOfAnotherDeviceTakesThePrimaryContext) {
  const Address data = pool_memory(context1);
  const std::uint64_t consumer = value(stream());
  Array legacy(data, CAI_STREAM_STREAM, 1);
  cai_error error{};
  ASSERT_FALSE(primary_active(1));
  // Never made: there is no such context, so nobody can have work on its legacy stream.
  EXPECT_EQ(begin_use({&legacy}, consumer, &error), CAI_ERR_DEVICE);
  EXPECT_EQ(error.index, 0);
  EXPECT_NE(std::string(error.message).find("device 1"), std::string::npos) << error.message;
  EXPECT_FALSE(primary_active(1));
  EXPECT_EQ(cai_array_sync_host(&legacy.array, nullptr), CAI_ERR_DEVICE);
  {
    const Primary primary(1);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({&legacy, &legacy}, consumer, &error), CAI_OK) << error.message;
    EXPECT_EQ(calls("cuEventRecord"), 1U);
    EXPECT_EQ(calls("cuDevicePrimaryCtxRetain"), 1U);
    EXPECT_EQ(calls("cuDevicePrimaryCtxRelease"), 1U);
    EXPECT_TRUE(primary_active(1));
    EXPECT_EQ(end_use({&legacy}, consumer, &error), CAI_OK) << error.message;
    EXPECT_EQ(cai_array_sync_host(&legacy.array, &error), CAI_OK) << error.message;
  }
  EXPECT_FALSE(primary_active(1));  // what libcai held, it let go
  free_pool_memory(data, context1);
}

TEST_F(Context, MemoryThatTheDriverDoesNotKnow) {
  const std::uint64_t consumer = value(stream());
  Array legacy(0x1000, CAI_STREAM_STREAM, 1);
  cai_error error{};
  EXPECT_EQ(begin_use({&legacy}, consumer, &error), CAI_ERR_DEVICE);
  EXPECT_NE(std::string(error.message).find("0x1000"), std::string::npos) << error.message;
  legacy.array.device_id = 0;  // the producer says so, and it may be memory of the system's
  EXPECT_EQ(begin_use({&legacy}, consumer, &error), CAI_OK) << error.message;
  Array of_stream(0x1000, CAI_STREAM_STREAM, value(stream()));  // the memory does not matter
  EXPECT_EQ(begin_use({&of_stream}, consumer, &error), CAI_OK) << error.message;
}

// Everything that can be asked of libcai's order, in one place to break.
struct Scenario {
  const char *name;
  std::function<cai_status(cai_error *)> run;
};

// A use that has just begun, and is forgotten if it does not end.
cai_status end_anew(const std::vector<Array *> &arrays, std::uint64_t stream, std::uint32_t how,
                    cai_error *error) {
  const auto list = pointers(arrays);
  const cai_use_options options = order(how);
  cai_use use;
  const cai_status status = cai_use_begin(&use, list.data(), static_cast<std::int32_t>(list.size()),
                                          stream, &options, error);
  if (status != CAI_OK) return status;
  const cai_status ended = cai_use_end(&use, error);
  if (ended != CAI_OK) MUST(cai_use_finish(&use, 0, nullptr));
  return ended;
}

TEST_F(Context, EveryCallOfTheDriverMayFail) {
  const Primary primary(1);
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  const Address pool = pool_memory(context1);
  Handle event = nullptr;
  MUST(gpu().cuEventCreate(&event, 2));
  Array of_stream(memory(), CAI_STREAM_STREAM, producer);
  Array of_blocking(memory(), CAI_STREAM_STREAM, value(stream(blocking)));
  Array legacy(memory(), CAI_STREAM_STREAM, 1);
  Array there(memory(context1), CAI_STREAM_UNSTATED);
  Array stream_there(memory(context1), CAI_STREAM_STREAM, value(stream(non_blocking, context1)));
  Array pooled(pool, CAI_STREAM_STREAM, 1);
  Array of_event(memory(), CAI_STREAM_EVENT, value(event));
  const std::vector<Array *> all = {&of_stream, &of_blocking,  &legacy,
                                    &there,     &stream_there, &pooled};
  const auto with_event = [&] {
    std::vector<Array *> list = all;
    list.push_back(&of_event);
    return list;
  }();
  const cai_use_options host = order(CAI_ORDER_HOST);
  const auto list = pointers({&legacy, &there});
  cai_location where{};

  const std::vector<Scenario> scenarios = {
      {"begin", [&](cai_error *error) { return begin_only(with_event, consumer, error); }},
      {"begin on 1", [&](cai_error *error) { return begin_only(with_event, 1, error); }},
      {"begin, host",
       [&](cai_error *error) { return begin_use(with_event, consumer, error, &host); }},
      {"end", [&](cai_error *error) { return end_anew(all, consumer, CAI_ORDER_END, error); }},
      {"end on 2", [&](cai_error *error) { return end_anew(all, 2, CAI_ORDER_END, error); }},
      {"end, host",
       [&](cai_error *error) { return end_anew(all, consumer, CAI_ORDER_HOST, error); }},
      {"sync", [&](cai_error *error) { return cai_array_sync_host(&pooled.array, error); }},
      {"same stream",
       [&](cai_error *error) {
         std::uint64_t out = 0;
         return cai_arrays_same_stream(list.data(), 2, &out, error);
       }},
      {"locate",
       [&](cai_error *error) {
         where = {};
         where.struct_size = sizeof where;
         return cai_array_locate(&there.array, &where, error);
       }},
  };

  std::size_t injected = 0;
  const auto break_everything = [&] {
    for (const Scenario &scenario : scenarios) {
      cai_error error{};
      scenario.run(nullptr);  // the events that it takes are in the pool from here on
      gpu().simcuda_reset_counts();
      const cai_status sound = scenario.run(&error);
      std::vector<std::uint64_t> counts;
      for (const char *name : driver_functions()) counts.push_back(calls(name));

      for (std::size_t f = 0; f < counts.size(); ++f) {
        const char *name = driver_functions()[f];
        for (std::uint64_t nth = 1; nth <= counts[f]; ++nth) {
          for (const std::int32_t status : {999, 709, 400}) {
            SCOPED_TRACE(std::string(scenario.name) + ": " + name + " " + std::to_string(nth));
            const Surroundings before;
            gpu().simcuda_reset_counts();
            MUST(gpu().simcuda_fail(name, nth, status));
            error = {};
            const cai_status result = scenario.run(&error);
            ++injected;
            ASSERT_EQ(result, CAI_ERR_CUDA) << "otherwise " << sound;
            EXPECT_EQ(error.status, CAI_ERR_CUDA);
            EXPECT_EQ(error.native, status);
            EXPECT_EQ(
                std::string(error.message).rfind("[" + std::string(name) + "] CUDA_ERROR_", 0), 0U)
                << error.message;
            EXPECT_NE(std::string(error.message).find("(" + std::to_string(status) + ")"),
                      std::string::npos)
                << error.message;
            EXPECT_EQ(calls("cuEventCreate"), 0U) << "an event was lost";
            // A reference that could not be released is lost; all else is as it was.
            if (std::strcmp(name, "cuDevicePrimaryCtxRelease") == 0) {
              MUST(gpu().cuDevicePrimaryCtxRelease_v2(1));
            }
            ASSERT_TRUE(Surroundings() == before);
          }
        }
      }
      EXPECT_EQ(scenario.run(nullptr), sound);
    }
  };
  break_everything();
  {
    const With with(context1);
    break_everything();
  }
  EXPECT_GT(injected, 500U);
  MUST(gpu().cuEventDestroy_v2(event));
  free_pool_memory(pool, context1);
}

TEST_F(Context, EndOrdersTheOthersWhenOneFails) {
  const std::uint64_t consumer = value(stream());
  const std::uint64_t first = value(stream());
  const std::uint64_t second = value(stream());
  const std::uint64_t third = value(stream());
  Array a(memory(), CAI_STREAM_STREAM, first);
  Array b(memory(), CAI_STREAM_STREAM, second);
  Array c(memory(), CAI_STREAM_STREAM, third);
  for (std::uint64_t nth = 1; nth <= 3; ++nth) {
    const Address seen = memory();
    Array *const broken[] = {&a, &b, &c};
    for (std::size_t i = 0; i < 3; ++i) {
      const Address data = broken[i]->array.data;
      const std::uint64_t found = races([&] {
        copy(seen, data, consumer);
        MUST(gpu().simcuda_fail("cuStreamWaitEvent", nth, 999));
        cai_error error{};
        EXPECT_EQ(end_use({&a, &b, &c}, consumer, &error), CAI_ERR_CUDA);
        EXPECT_EQ(error.index, static_cast<int>(nth) - 1);
        fill(data, 2, broken[i]->array.stream);
      });
      EXPECT_EQ(found, i == nth - 1 ? 1U : 0U);
    }
  }
}

// The same where it is not the wait that fails, but finding out about one of the streams.
TEST_F(Context, EndOrdersTheOthersWhenOneCannotBeAsked) {
  const std::uint64_t consumer = value(stream());
  Array a(memory(), CAI_STREAM_STREAM, value(stream()));
  Array b(memory(), CAI_STREAM_STREAM, value(stream()));
  Array c(memory(), CAI_STREAM_STREAM, value(stream()));
  cai_error error{};
  // The first to be asked is the consumer's stream, and without that there is no order to be had.
  for (std::uint64_t nth = 1; nth <= 4; ++nth) {
    EXPECT_EQ(begin_use({&a, &b, &c}, consumer, &error), CAI_OK) << error.message;
    MUST(gpu().simcuda_fail("cuStreamGetCaptureInfo", nth, 999));
    gpu().simcuda_reset_counts();
    EXPECT_EQ(end_use({&a, &b, &c}, consumer, &error), CAI_ERR_CUDA);
    EXPECT_EQ(error.index, static_cast<int>(nth) - 2);
    EXPECT_EQ(calls("cuStreamWaitEvent"), nth == 1 ? 0U : 2U);
    EXPECT_EQ(end_use({&a, &b, &c}, consumer, &error), CAI_OK) << error.message;
  }
}

// The beginning knows which streams will wait at the end.
TEST_F(Context, AnUnknownStreamIsRefusedAtTheBeginning) {
  Array unknown(0x1000, CAI_STREAM_STREAM, 1);
  Array good(memory(), CAI_STREAM_STREAM, value(stream()));
  for (const std::uint32_t how : {CAI_ORDER_BOTH, CAI_ORDER_END}) {
    const cai_use_options options = order(how);
    cai_error error{};
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({&good, &unknown}, value(stream()), &error, &options), CAI_ERR_DEVICE);
    EXPECT_EQ(error.index, 1);
    EXPECT_EQ(calls("cuEventRecord") + calls("cuStreamWaitEvent"), 0U);
  }
}

TEST_F(Context, BeginStopsAtTheFirstFailure) {
  const std::uint64_t consumer = value(stream());
  Array a(memory(), CAI_STREAM_STREAM, value(stream()));
  Array b(memory(), CAI_STREAM_STREAM, value(stream()));
  MUST(gpu().simcuda_fail("cuEventRecord", 1, 400));
  gpu().simcuda_reset_counts();
  cai_error error{};
  EXPECT_EQ(begin_use({&a, &b}, consumer, &error), CAI_ERR_CUDA);
  EXPECT_EQ(
      std::string(error.message).rfind("[cuEventRecord] CUDA_ERROR_INVALID_HANDLE (400): ", 0), 0U)
      << error.message;
  EXPECT_EQ(error.index, 0);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
}

// Memory of a pool has no context. The device's primary one stands for it, or else the current one,
// unless the driver says that it was destroyed.
TEST_F(Context, ADeadContextStandsForNoDevice) {
  constexpr int invalid_context = 201;
  ASSERT_FALSE(primary_active(0));
  Array array(pool_memory(context0), CAI_STREAM_UNSTATED);
  const std::uint64_t consumer = value(stream());
  cai_error error{};
  EXPECT_EQ(begin_only({&array}, consumer, &error), CAI_OK) << error.message;
  MUST(gpu().simcuda_fail("cuCtxGetDevice", 1, 999));
  EXPECT_EQ(begin_only({&array}, consumer, &error), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, 999);
  MUST(gpu().simcuda_fail("cuCtxGetDevice", 1, invalid_context));
  for (const std::uint64_t nth : {1, 2, 3}) {  // whatever is known of contexts by now
    MUST(gpu().simcuda_fail("cuCtxGetId", nth, invalid_context));
  }
  EXPECT_EQ(begin_only({&array}, consumer, &error), CAI_ERR_DEVICE);
  MUST(gpu().simcuda_fail("cuCtxGetId", 0, 0));
  EXPECT_NE(std::strstr(error.message, "where no context is active"), nullptr) << error.message;
  Handle primary = nullptr;
  MUST(gpu().cuDevicePrimaryCtxRetain(&primary, 0));
  EXPECT_EQ(begin_only({&array}, consumer, &error), CAI_OK) << error.message;
  MUST(gpu().cuDevicePrimaryCtxRelease_v2(0));
  free_pool_memory(array.array.data, context0);
}

// Undefined with a real driver; simcuda finds it.
TEST_F(Context, StreamsOfADeadContextAreRefused) {
  use_stale_streams();
  Handle other = nullptr;
  Handle popped = nullptr;
  MUST(gpu().cuCtxCreate_v2(&other, 0, 0));
  MUST(gpu().cuCtxPopCurrent_v2(&popped));
  const std::uint64_t producer = value(stream(non_blocking, other));
  MUST(gpu().cuCtxDestroy_v2(other));
  Array array(memory(), CAI_STREAM_STREAM, producer);
  cai_error error{};
  EXPECT_EQ(begin_use({&array}, value(stream()), &error), CAI_ERR_CUDA) << error.message;
  EXPECT_NE(error.native, 0);
}

}  // namespace
}  // namespace test::context_tests
