// SPDX-License-Identifier: BSD-3-Clause
// cai::array: who holds what, for how long, and what becomes of exceptions. No driver is needed.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "failures.hpp"

namespace test::array_tests {
namespace {

// A borrowed matrix of float32, 4 by 6, whose producer's work is complete.
struct Matrix {
  std::int64_t shape[2] = {4, 6};
  std::int64_t strides[2] = {24, 4};
  cai_array array{};

  Matrix() {
    array.abi_major = CAI_ABI_MAJOR;
    array.data = 0x7F0000001000;
    array.device_type = CAI_DEVICE_CUDA;
    array.dtype = {'f', '<', 0, 0, 4, 0};
    array.ndim = 2;
    array.shape = shape;
    array.strides = strides;
    array.stream_kind = CAI_STREAM_NONE;
    array.version = 3;
  }
};

std::vector<std::int64_t> list(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

// The exception of a call, as a C error.
template <class Body>
cai_error thrown(Body &&body) {
  try {
    body();
  } catch (const cai::error &error) {
    EXPECT_EQ(error.status(), error.raw().status);
    return error.raw();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

using Dims = std::vector<std::int64_t>;

TEST(Array, ShowsWhatItHolds) {
  Matrix matrix;
  matrix.array.flags = CAI_FLAG_READONLY;
  const cai::array array = cai::array::own(matrix.array, [] {});
  ASSERT_TRUE(array);
  EXPECT_EQ(list(array.shape()), (Dims{4, 6}));
  EXPECT_EQ(list(array.strides()), (Dims{24, 4}));
  EXPECT_EQ(array.dtype().kind, 'f');
  EXPECT_EQ(array.data(), matrix.array.data);
  EXPECT_EQ(array.stream(), 0U);
  EXPECT_TRUE(array.is_readonly());
  EXPECT_EQ(array->ndim, 2);
  EXPECT_EQ(&*array, array.get());
  EXPECT_NE(array->shape, matrix.shape);  // a copy of the dims
}

TEST(Array, NoneIsHeld) {
  cai::array array;
  EXPECT_FALSE(array);
  EXPECT_EQ(array.get(), nullptr);
  EXPECT_EQ(array.release(), nullptr);
  array.reset();
  const cai::array copy = array, adopted = cai::array::adopt(nullptr);
  EXPECT_FALSE(copy);
  EXPECT_FALSE(adopted);
  EXPECT_FALSE(cai::array::retain(nullptr));
}

TEST(Array, CallsTheOwnerOnceAfterTheLastHolder) {
  const Matrix matrix;
  int calls = 0;
  {
    cai::array first = cai::array::own(matrix.array, [&] { ++calls; });
    {
      const cai::array copy = first;
      EXPECT_EQ(copy.get(), first.get());
      cai::array moved = std::move(first);
      EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is promised
      cai::array &same = moved;
      moved = std::move(same);
      EXPECT_EQ(moved.get(), copy.get());
      moved = same;
      EXPECT_EQ(moved.get(), copy.get());
      first = moved;
      first.reset();
      EXPECT_FALSE(first);
      first = std::move(moved);
    }
    EXPECT_EQ(calls, 0);
    cai_array *const raw = first.release();
    EXPECT_FALSE(first);
    const cai::array held = cai::array::retain(raw);
    cai_array_release(raw);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(list(held.shape()), (Dims{4, 6}));
    const cai::array again = cai::array::adopt(cai::array(held).release());
    EXPECT_EQ(calls, 0);
  }
  EXPECT_EQ(calls, 1);
}

TEST(Array, AnotherArrayTakesThePlace) {
  const Matrix matrix;
  int first = 0, second = 0;
  cai::array array = cai::array::own(matrix.array, [&] { ++first; });
  array = cai::array::own(matrix.array, [&] { ++second; });
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  array = {};
  EXPECT_EQ(second, 1);
}

TEST(Array, KeepsAnObjectThatCannotBeCalled) {
  const Matrix matrix;
  const auto shared = std::make_shared<int>(1);
  cai::array array = cai::array::own(matrix.array, shared);
  EXPECT_EQ(shared.use_count(), 2);
  cai::array moved = cai::array::own(matrix.array, std::make_unique<std::shared_ptr<int>>(shared));
  EXPECT_EQ(shared.use_count(), 3);
  moved.reset();
  array.reset();
  EXPECT_EQ(shared.use_count(), 1);
}

// An owner that counts how often it was called and destroyed.
struct Counted {
  int *calls;
  std::shared_ptr<int> alive;
  int operator()() const { return ++*calls; }
};

TEST(Array, OwnFails) {
  Matrix matrix;
  matrix.shape[1] = -1;
  int calls = 0;
  const auto alive = std::make_shared<int>();
  const cai_error error =
      thrown([&] { static_cast<void>(cai::array::own(matrix.array, Counted{&calls, alive})); });
  EXPECT_EQ(error.status, CAI_ERR_VALUE);
  EXPECT_EQ(error.entry, CAI_ENTRY_SHAPE);
  EXPECT_EQ(error.index, 1);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(alive.use_count(), 1);

  matrix.shape[1] = 6;
  cai::array::own(matrix.array, Counted{&calls, alive}).reset();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(Array, AnOwnerThrows) {
  const Matrix matrix;
  const Failures failures;
  const auto alive = std::make_shared<int>();
  cai_array_release(cai::array::own(matrix.array, [alive] {
                      throw std::runtime_error("the pool is gone");
                    }).release());
  ASSERT_EQ(Failures::seen().size(), 1U);
  EXPECT_EQ(Failures::seen()[0].status, CAI_ERR_ARGUMENT);
  EXPECT_NE(std::string(Failures::seen()[0].message).find("the pool is gone"), std::string::npos);
  EXPECT_EQ(alive.use_count(), 1);

  cai::array::own(matrix.array, [] { throw 1; }).reset();
  EXPECT_EQ(Failures::seen().size(), 2U);
  cai::array::own(matrix.array, [] { throw std::runtime_error(std::string(1000, 'x')); }).reset();
  EXPECT_EQ(Failures::seen().size(), 3U);
}

TEST(Array, FailuresArePrintedUnlessSomebodyTakesThem) {
  const Matrix matrix;
  const auto end = [&] { cai::array::own(matrix.array, [] { throw 1; }).reset(); };
  testing::internal::CaptureStderr();
  end();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("CAI_ERR_ARGUMENT"), std::string::npos);
  {
    const Failures failures;
    testing::internal::CaptureStderr();
    end();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    const cai::failure_hook mine = cai::on_failure(nullptr);
    testing::internal::CaptureStderr();
    end();
    EXPECT_NE(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(Failures::seen().size(), 1U);
    EXPECT_EQ(cai::on_failure(mine), nullptr);
  }
}

TEST(Array, ABorrowedOneCannotBeHeld) {
  const Matrix matrix;
  EXPECT_EQ(thrown([&] { static_cast<void>(cai::array::retain(&matrix.array)); }).status,
            CAI_ERR_ARGUMENT);
}

TEST(Array, Views) {
  const Matrix matrix;
  int calls = 0;
  cai::array array = cai::array::own(matrix.array, [&] { ++calls; });
  const cai::array columns = array.slice({cai::range(), cai::range(1, {}, 2)});
  EXPECT_EQ(list(columns.shape()), (Dims{4, 3}));
  EXPECT_EQ(list(columns.strides()), (Dims{24, 8}));
  EXPECT_EQ(columns.data(), array.data() + 4);
  EXPECT_EQ(list(array.slice({cai::index(-1)}).shape()), (Dims{6}));
  EXPECT_EQ(list(array.slice({cai::newaxis, cai::ellipsis, cai::index(0)}).shape()), (Dims{1, 4}));
  EXPECT_EQ(list(array.slice({cai::range({}, {}, -1)}).strides()), (Dims{-24, 4}));
  EXPECT_EQ(list(array.slice({cai::range({}, 2)}).shape()), (Dims{2, 6}));
  EXPECT_EQ(list(array.slice({}).shape()), (Dims{4, 6}));
  EXPECT_EQ(list(array.reshape({2, -1}).shape()), (Dims{2, 12}));
  EXPECT_EQ(list(array.transpose().shape()), (Dims{6, 4}));
  EXPECT_EQ(list(array.transpose({-1, 0}).strides()), (Dims{4, 24}));
  EXPECT_EQ(list(array.broadcast({3, 4, 6}).strides()), (Dims{0, 24, 4}));
  EXPECT_TRUE(array.broadcast({3, 4, 6}).is_readonly());

  const cai::array one = array.slice({cai::index(0), cai::index(0)});
  EXPECT_EQ(list(one.transpose({}).shape()), Dims{});
  EXPECT_EQ(list(one.broadcast({2}).shape()), (Dims{2}));

  array.reset();
  EXPECT_EQ(calls, 0);  // the views hold it
  EXPECT_EQ(list(columns.shape()), (Dims{4, 3}));
}

TEST(Array, ViewsFail) {
  const Matrix matrix;
  const cai::array array = cai::array::own(matrix.array, [] {});
  const auto fails = [&](auto &&view) { return thrown([&] { static_cast<void>(view()); }); };
  const cai_error error = fails([&] { return array.slice({cai::range(), cai::index(6)}); });
  EXPECT_EQ(error.status, CAI_ERR_ARGUMENT);
  EXPECT_EQ(error.index, 1);
  EXPECT_EQ(fails([&] { return array.reshape({5, 5}); }).status, CAI_ERR_ARGUMENT);
  EXPECT_EQ(fails([&] { return array.transpose().reshape({24}); }).status, CAI_ERR_LAYOUT);
  EXPECT_EQ(fails([&] { return array.transpose({0}); }).status, CAI_ERR_ARGUMENT);
  EXPECT_EQ(fails([&] { return array.transpose({0, 0}); }).status, CAI_ERR_ARGUMENT);
  EXPECT_EQ(fails([&] { return array.broadcast({3}); }).status, CAI_ERR_ARGUMENT);
}

TEST(Error, SaysWhy) {
  cai_error raw{CAI_ERR_CUDA, 400, CAI_ENTRY_STREAM, 2, "it went wrong"};
  cai::check(CAI_OK, raw);
  try {
    cai::check(CAI_ERR_CUDA, raw);
    FAIL();
  } catch (const std::runtime_error &error) {
    EXPECT_STREQ(error.what(), "CAI_ERR_CUDA: it went wrong");
    const auto &ours = dynamic_cast<const cai::error &>(error);
    EXPECT_EQ(ours.status(), CAI_ERR_CUDA);
    EXPECT_EQ(ours.native(), 400);
    EXPECT_EQ(ours.entry(), CAI_ENTRY_STREAM);
    EXPECT_EQ(ours.index(), 2);
    EXPECT_STREQ(ours.raw().message, "it went wrong");
  }
}

}  // namespace
}  // namespace test::array_tests
