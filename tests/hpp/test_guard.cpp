// SPDX-License-Identifier: BSD-3-Clause
// cai::use: order on simcuda, whatever way the guard ends; and the producer's side of cai::array.
#include <functional>
#include <memory>
#include <stdexcept>

#include "allocations.h"
#include "failures.hpp"
#include "gpu.hpp"

namespace test::guard_tests {
namespace {

constexpr std::int32_t out_of_memory = 2;  // it leaves the context as it was

class Guard : public OnGpu {
 protected:
  cai::array owned(std::uint64_t on, std::uint32_t flags = 0) {
    Array borrowed(memory(), CAI_STREAM_STREAM, on);
    borrowed.array.flags = flags;
    return cai::array::own(borrowed.array, [] {});
  }

  cai::array none(std::uint32_t flags = 0) {
    Array borrowed(memory(), CAI_STREAM_NONE);
    borrowed.array.flags = flags;
    return cai::array::own(borrowed.array, [] {});
  }

  // The producer writes, `consume` puts order around a read on the consumer, the producer writes.
  std::uint64_t races_with(const std::function<void(const cai::array &, Address)> &consume) {
    const cai::array array = owned(producer);
    const Address to = memory();
    gpu().simcuda_reset_counts();
    const std::uint64_t found = races([&] {
      fill(array.data(), 1, producer);
      consume(array, to);
      fill(array.data(), 2, producer);
    });
    records = calls("cuEventRecord");  // except that of the last release
    if (found == 0) {
      EXPECT_EQ(read(to, consumer), 1);
    }
    return found;
  }

  void begin_capture(std::uint64_t on) { MUST(gpu().cuStreamBeginCapture_v2(handle(on), 2)); }
  void end_capture(std::uint64_t on) {
    Handle graph = nullptr;
    MUST(gpu().cuStreamEndCapture(handle(on), &graph));
    MUST(gpu().cuGraphDestroy(graph));
  }

  void fail_next(const char *name) { MUST(gpu().simcuda_fail(name, 1, out_of_memory)); }

  std::uint64_t records = 0;
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Failures failures;
};

template <class Body>
cai_error thrown(Body &&body) {
  try {
    body();
  } catch (const cai::error &error) {
    return error.raw();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST_F(Guard, OrdersBothWays) {
  EXPECT_GE(races_with([&](const cai::array &x, Address to) { copy(to, x.data(), consumer); }), 1U);
  EXPECT_EQ(races_with([&](const cai::array &x, Address to) {
              const cai::use guard(consumer, x);
              copy(to, x.data(), consumer);
            }),
            0U);
  EXPECT_EQ(records, 2U);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 2U);
  // One half alone is not enough.
  for (const std::uint32_t half : {CAI_ORDER_BEGIN, CAI_ORDER_END}) {
    EXPECT_GE(races_with([&](const cai::array &x, Address to) {
                const cai::use guard(consumer, x, cai::options{.order = half});
                copy(to, x.data(), consumer);
              }),
              1U);
  }
  EXPECT_TRUE(Failures::seen().empty());
}

TEST_F(Guard, SameStreamNeedsNone) {
  const cai::array x = owned(producer), y = owned(producer), other = owned(consumer), z = none();
  EXPECT_EQ(cai::same_stream(x, y, z), producer);
  const cai::array asks_for_none = none();
  EXPECT_EQ(cai::same_stream(asks_for_none), std::nullopt);
  EXPECT_EQ(thrown([&] { static_cast<void>(cai::same_stream(x, other)); }).status, CAI_ERR_ORDER);
  const cai_array *const both[] = {x.get(), y.get()};
  EXPECT_EQ(cai::same_stream(std::span(both)), producer);
}

TEST_F(Guard, EndsWhenSomethingIsThrown) {
  EXPECT_EQ(races_with([&](const cai::array &x, Address to) {
              try {
                const cai::use guard(consumer, x);
                copy(to, x.data(), consumer);
                throw std::runtime_error("a launch failed");
              } catch (const std::runtime_error &) {
              }
            }),
            0U);
  EXPECT_EQ(records, 2U);
}

TEST_F(Guard, EndsOnce) {
  EXPECT_EQ(races_with([&](const cai::array &x, Address to) {
              cai::use guard(consumer, x);
              EXPECT_TRUE(guard);
              copy(to, x.data(), consumer);
              guard.end();
              EXPECT_FALSE(guard);
              guard.end();
              EXPECT_EQ(guard.try_end(nullptr), CAI_OK);
            }),
            0U);
  EXPECT_EQ(records, 2U);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 2U);
}

// Readers of one array that write others do not wait for each other. Arrays without an access of
// their own have the options' access.
TEST_F(Guard, AnAccessForEachArray) {
  const cai::array in = none(), out = none(), other = none();
  const cai::array marked = none(CAI_FLAG_READONLY);
  const std::uint64_t later = value(stream());
  {
    const cai::use guard(consumer, cai::reads(in), cai::writes(out));
    copy(out.data(), in.data(), consumer);
  }
  gpu().simcuda_reset_counts();
  {
    const cai::use guard(later, in, cai::writes(other), cai::options{.access = CAI_ACCESS_READ});
    copy(other.data(), in.data(), later);
  }
  {
    const std::uint32_t accesses[] = {CAI_ACCESS_READ, CAI_ACCESS_READ};
    const cai::use guard(later, in, cai::writes(other), cai::options{.accesses = accesses});
    copy(other.data(), in.data(), later);
  }
  EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
  {
    const cai::use guard(value(stream()), in, cai::reads(out));
    EXPECT_EQ(calls("cuStreamWaitEvent"), 2U);  // of two uses, one of which was of both arrays
  }
  EXPECT_EQ(thrown([&] { const cai::use guard(later, in, cai::writes(marked)); }).index, 1);
}

TEST_F(Guard, FinishesWhatIsComplete) {
  const cai::array x = none();
  cai::use guard(consumer, x);
  fill(x.data(), 1, consumer);
  guard.finish(true);
  EXPECT_FALSE(guard);
  EXPECT_EQ(guard.try_finish(true, nullptr), CAI_OK);
  gpu().simcuda_reset_counts();
  const cai::use next(value(stream()), x);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 0U);
}

TEST_F(Guard, Moves) {
  EXPECT_EQ(races_with([&](const cai::array &x, Address to) {
              cai::use first(consumer, x);
              cai::use second(std::move(first));
              first.end();  // NOLINT(bugprone-use-after-move): does nothing, as promised
              EXPECT_EQ(calls("cuEventRecord"), 1U);
              copy(to, x.data(), consumer);
              cai::use &same = second;
              second = std::move(same);
              EXPECT_TRUE(second);
              EXPECT_EQ(calls("cuEventRecord"), 1U);
              second = cai::use();
              EXPECT_FALSE(second);
              EXPECT_EQ(calls("cuEventRecord"), 2U);
            }),
            0U);
  EXPECT_EQ(records, 2U);
}

TEST_F(Guard, TakesArraysOfEveryKind) {
  const std::uint64_t others[] = {value(stream()), value(stream())};
  const cai::array x = owned(producer);
  Array y(memory(), CAI_STREAM_STREAM, others[0]), z(memory(), CAI_STREAM_STREAM, others[1]);
  const cai_array *const list[] = {x.get(), &y.array, &z.array};
  gpu().simcuda_reset_counts();
  {
    const cai::use guard(consumer, x, y.array, &z.array);
    EXPECT_EQ(calls("cuEventRecord"), 3U);
  }
  EXPECT_EQ(calls("cuEventRecord"), 4U);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 6U);
  const cai::use guard(list, consumer);
  EXPECT_EQ(calls("cuEventRecord"), 7U);

  static_assert(std::is_constructible_v<cai::use, std::uint64_t, const cai::array &, cai::options>);
  static_assert(!std::is_constructible_v<cai::use, std::uint64_t, cai::array>);  // a temporary
  static_assert(!std::is_constructible_v<cai::use, std::uint64_t, cai_array>);
  static_assert(!std::is_constructible_v<cai::use, std::uint64_t, cai::options, cai::array &>);
  static_assert(!std::is_copy_constructible_v<cai::use> && !std::is_copy_assignable_v<cai::use>);
}

TEST_F(Guard, NeedsNoMemoryForEight) {
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<const cai_array *> list;
  for (int i = 0; i < 9; ++i) {
    arrays.push_back(std::make_unique<Array>(memory(), CAI_STREAM_STREAM, value(stream())));
    list.push_back(&arrays.back()->array);
  }
  gpu().simcuda_reset_counts();
  allocations_reset();
  {
    const cai::use guard(std::span<const cai_array *const>(list).first(8), consumer);
  }
  EXPECT_EQ(allocations_now().of_program, 0);
  EXPECT_EQ(calls("cuStreamWaitEvent"), 16U);
  {
    const cai_array &a = *list[0];
    const cai::use guard(consumer, a, a, a, a, a, a, a, a);
  }
  EXPECT_EQ(allocations_now().of_program, 0);

  gpu().simcuda_reset_counts();
  cai::use guard;
  {
    const std::vector<const cai_array *> gone = list;
    allocations_reset();
    guard = cai::use(gone, consumer);
    EXPECT_EQ(allocations_now().of_program, 0);
  }
  guard.end();
  EXPECT_EQ(calls("cuStreamWaitEvent"), 18U);
  // Fewer again, in the same guard.
  EXPECT_EQ(
      guard.try_begin(std::span<const cai_array *const>(list).first(1), consumer, {}, nullptr),
      CAI_OK);
  guard.end();
  EXPECT_EQ(calls("cuStreamWaitEvent"), 20U);
}

TEST_F(Guard, BeginningFails) {
  const cai::array x = owned(producer, CAI_FLAG_READONLY);
  gpu().simcuda_reset_counts();
  EXPECT_EQ(thrown([&] { const cai::use guard(consumer, x, cai::options{.access = 2}); }).status,
            CAI_ERR_VALUE);
  EXPECT_EQ(thrown([&] { const cai::use guard(0, x); }).status, CAI_ERR_ARGUMENT);
  const cai::array none;
  const cai_error error = thrown([&] { const cai::use guard(consumer, x, none); });
  EXPECT_EQ(error.status, CAI_ERR_ARGUMENT);
  EXPECT_EQ(error.index, 1);
  EXPECT_EQ(all_calls(), 0U);  // neither begun nor ended
  fail_next("cuEventRecord");
  EXPECT_EQ(thrown([&] { const cai::use guard(consumer, x); }).native, out_of_memory);
  EXPECT_EQ(calls("cuEventRecord"), 1U);
  EXPECT_TRUE(Failures::seen().empty());
}

TEST_F(Guard, AFailingEndIsSeen) {
  EXPECT_EQ(races_with([&](const cai::array &x, Address to) {
              cai::use guard(consumer, x);
              copy(to, x.data(), consumer);
              fail_next("cuEventRecord");
              const cai_error error = thrown([&] { guard.end(); });
              EXPECT_EQ(error.status, CAI_ERR_CUDA);
              EXPECT_EQ(error.native, out_of_memory);
              EXPECT_TRUE(guard);  // so the destructor ends it
            }),
            0U);
  EXPECT_TRUE(Failures::seen().empty());
}

TEST_F(Guard, AFailingEndInTheDestructorWaitsOnTheHost) {
  EXPECT_EQ(races_with([&](const cai::array &x, Address to) {
              const cai::use guard(consumer, x);
              copy(to, x.data(), consumer);
              EXPECT_EQ(calls("cuStreamSynchronize"), 0U);
              fail_next("cuEventRecord");
            }),
            0U);
  EXPECT_EQ(calls("cuStreamSynchronize"), 1U + 1U);  // the other one is the test's
  ASSERT_EQ(Failures::seen().size(), 1U);
  EXPECT_EQ(Failures::seen()[0].native, out_of_memory);
}

TEST_F(Guard, NothingHelps) {
  const cai::array x = owned(producer);
  {
    const cai::use guard(consumer, x);
    fail_next("cuEventRecord");
    fail_next("cuStreamSynchronize");
  }
  ASSERT_EQ(Failures::seen().size(), 2U);
  EXPECT_NE(std::string(Failures::seen()[0].message).find("cuEventRecord"), std::string::npos);
  EXPECT_NE(std::string(Failures::seen()[1].message).find("cuStreamSynchronize"),
            std::string::npos);
}

// A stream that is being captured is left alone: the host cannot wait for it.
TEST_F(Guard, EndsInACapture) {
  const cai::array x = owned(producer);
  const Address to = memory();
  begin_capture(consumer);
  {
    const cai::use guard(consumer, x);
    copy(to, x.data(), consumer);
  }
  end_capture(consumer);
  EXPECT_TRUE(Failures::seen().empty());

  begin_capture(consumer);
  gpu().simcuda_reset_counts();
  {
    const cai::use guard(consumer, x);
    copy(to, x.data(), consumer);
    begin_capture(producer);
  }
  EXPECT_EQ(calls("cuStreamSynchronize"), 0U);
  ASSERT_EQ(Failures::seen().size(), 1U);
  EXPECT_EQ(Failures::seen()[0].status, CAI_ERR_CAPTURE);
  end_capture(producer);  // neither is spoilt
  end_capture(consumer);
}

TEST_F(Guard, ReleaseOn) {
  int freed = 0;
  const Array borrowed(memory(), CAI_STREAM_STREAM, producer);
  cai::array x = cai::array::own(borrowed.array, [&] { ++freed; });
  fail_next("cuEventRecord");
  EXPECT_EQ(thrown([&] { x.release_on(consumer); }).native, out_of_memory);
  EXPECT_TRUE(x);
  x.release_on(consumer);
  EXPECT_FALSE(x);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(thrown([&] { x.release_on(consumer); }).status, CAI_ERR_ARGUMENT);
}

// The graph then holds a reference until it is destroyed.
TEST_F(Guard, ReleaseOnInACapture) {
  int freed = 0;
  const Array borrowed(memory(), CAI_STREAM_NONE);
  cai::array x = cai::array::own(borrowed.array, [&] { ++freed; });
  begin_capture(consumer);
  cai::array given = x;
  given.release_on(consumer);
  EXPECT_FALSE(given);
  x = {};
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(freed, 0);
  end_capture(consumer);
  // The driver releases it on a thread of its own.
  while (freed == 0) EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(freed, 1);
}

TEST_F(Guard, TheLastHolderGoesBeforeTheUseIsComplete) {
  int freed = 0;
  const Array borrowed(memory(), CAI_STREAM_STREAM, producer);
  {
    const cai::array x = cai::array::own(borrowed.array, [&] { ++freed; });
    const cai::use guard(consumer, x);  // ends first
    fill(x.data(), 1, consumer);
  }
  EXPECT_EQ(freed, 0);
  EXPECT_EQ(cai_drain(1, nullptr, nullptr), CAI_OK);
  EXPECT_EQ(freed, 1);
}

TEST_F(Guard, ProducersPublishAndReclaim) {
  const std::uint64_t second = value(stream()), target = value(stream());
  const Address to = memory();
  for (const bool as_event : {false, true}) {
    cai::array x = owned(producer);
    const auto use_again = [&] {
      fill(x.data(), 1, producer);
      const cai::array view =
          as_event ? x.publish_event(producer) : x.publish({producer, second}, target);
      EXPECT_EQ(view->stream_kind,
                static_cast<std::uint32_t>(as_event ? CAI_STREAM_EVENT : CAI_STREAM_STREAM));
      EXPECT_TRUE(as_event || view.stream() == target);
      {
        const cai::use guard(consumer, view);
        copy(to, x.data(), consumer);
      }
      x.reclaim(second, CAI_ACCESS_WRITE);
      fill(x.data(), 2, second);
    };
    EXPECT_EQ(races(use_again), 0U);
    EXPECT_EQ(read(to, consumer), 1);
  }
  cai::array x = owned(producer);
  EXPECT_EQ(thrown([&] { static_cast<void>(x.publish({producer, 0}, target)); }).index, 1);
  EXPECT_EQ(x.stream(), producer);
  EXPECT_EQ(thrown([&] { static_cast<void>(x.publish_event(0)); }).status, CAI_ERR_ARGUMENT);
  EXPECT_EQ(thrown([&] { x.reclaim(consumer, 7); }).status, CAI_ERR_ARGUMENT);
}

}  // namespace
}  // namespace test::guard_tests
