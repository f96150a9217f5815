// SPDX-License-Identifier: BSD-3-Clause
// Tests that are the same on every device there is: the CPU alone without a driver, and simcuda's
// GPUs with it. Each leaves what is current as it was, nothing allocated, and no failure unheard.
#pragma once

#include <gtest/gtest.h>

#include <cai/memory.hpp>
#include <cstdlib>
#include <cstring>

#include "failures.hpp"
#include "gpu.hpp"

namespace test {

inline bool has_driver() {
  return std::getenv("SIMCUDA") != nullptr;
}

inline std::vector<cai::device> every_device() {
  std::vector<cai::device> all = cai::device::all();
  all.insert(all.begin(), cai::device::cpu());
  return all;
}

inline std::string name_of(const testing::TestParamInfo<cai::device> &info) {
  return (info.param.is_cpu() ? "cpu" : "gpu") + std::to_string(info.param.id());
}

#define ON_EACH_DEVICE(Suite) \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, testing::ValuesIn(test::every_device()), test::name_of)

// The exception of a call, as a C error.
template <class Body>
cai_error thrown(Body &&body) {
  try {
    std::forward<Body>(body)();
  } catch (const cai::error &error) {
    EXPECT_EQ(error.status(), error.raw().status);
    return error.raw();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

template <class Body>
cai_status status_of(Body &&body) {
  return thrown(std::forward<Body>(body)).status;
}

// An exception of the program, which libcai's code does not know.
struct Thrown {};

// Work waits here until it may go on.
class Barrier {
 public:
  Barrier() = default;
  Barrier(const Barrier &) = delete;
  Barrier &operator=(const Barrier &) = delete;
  ~Barrier() { open(); }

  void open() {
    *open_ = true;
    open_->notify_all();
  }
  auto work() const {
    return [open = open_] { open->wait(false); };
  }

 private:
  std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
};

class OnEach : public testing::TestWithParam<cai::device> {
 protected:
  OnEach() {
    if (has_driver()) contexts_ = context_stack();
  }
  ~OnEach() override {
    for (const cai::device &each : every_device()) {
      each.synchronize();
      cai::flush_pending(each);
    }
    cai_drain(1, nullptr, nullptr);
    for (const cai::device &each : every_device()) {
      const cai_usage left = cai::usage(each);
      EXPECT_EQ(left.count, 0U) << each.format();
      EXPECT_EQ(left.bytes, 0U) << each.format();
      EXPECT_EQ(left.deferred, 0U) << each.format();
    }
    if (has_driver()) {
      EXPECT_EQ(context_stack(), contexts_);
    }
    EXPECT_TRUE(Failures::seen().empty()) << Failures::seen()[0].message;
  }

  const cai::device device = GetParam();
  Failures failures;

 private:
  std::vector<Handle> contexts_;
};

}  // namespace test
