// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.hpp"

#include <mutex>

#include "allocations.h"

namespace test {
namespace {

std::mutex reports_mutex;

void hear(void *, const cai_error *error) {
  const std::lock_guard lock(reports_mutex);
  ++Reports::all().count;
  Reports::all().last = *error;
}

std::vector<std::uint64_t> counts() {
  std::vector<std::uint64_t> all;
  for (const char *name : driver_functions()) all.push_back(calls(name));
  return all;
}

// That nobody writes to a cai_error but on failure.
constexpr unsigned char mark = 0xA5;

}  // namespace

Reports &Reports::all() {
  static Reports reports;
  return reports;
}

void Reports::listen() {
  EXPECT_EQ(cai_on_failure(hear, nullptr, nullptr), CAI_OK);
}

void Trial::begin() {
  ++attempts_;
  contexts_ = context_stack();
  mode_ = capture_mode();
  std::memset(&error_, mark, sizeof error_);
  if (fault_.kind == Fault::none) counted_ = counts();
  if (fault_.kind == Fault::driver) {
    counted_ = {calls(fault_.function)};
    MUST(gpu().simcuda_fail(fault_.function, fault_.nth, fault_.status));
  }
  allocations_reset();
  if (fault_.kind == Fault::allocation) allocations_fail(static_cast<long>(fault_.nth) - 1);
}

void Trial::end(const std::vector<Bytes> &outputs) {
  allocations_fail(-1);
  allocations_ = allocations_now().of_libcai;
  if (fault_.kind == Fault::none) {
    driver_calls_ = counts();
    for (std::size_t i = 0; i < counted_.size(); ++i) driver_calls_[i] -= counted_[i];
  }
  if (fault_.kind == Fault::driver) {
    struck_ = calls(fault_.function) - counted_.front() >= fault_.nth;
    MUST(gpu().simcuda_fail(fault_.function, 0, 0));
  }
  if (fault_.kind == Fault::allocation) {
    struck_ = static_cast<std::uint64_t>(allocations_) >= fault_.nth;
  }

  if (status_ == CAI_OK && then_) then_();
  EXPECT_EQ(context_stack(), contexts_) << "another context is current";
  EXPECT_EQ(capture_mode(), mode_) << "the thread's capture mode is another one";
  if (status_ == CAI_OK) {
    cai_error fresh;
    std::memset(&fresh, mark, sizeof fresh);
    EXPECT_EQ(std::memcmp(&error_, &fresh, sizeof fresh), 0) << "an error was written on success";
    return;
  }
  EXPECT_TRUE(struck_) << "it fails where nothing does: " << error_.message;
  EXPECT_EQ(error_.status, status_);
  EXPECT_NE(std::memchr(error_.message, 0, sizeof error_.message), nullptr);
  for (const Bytes &each : outputs) {
    EXPECT_EQ(std::memcmp(each.where, each.before.data(), each.before.size()), 0)
        << "output " << &each - outputs.data() << " was written, and it failed: " << error_.message;
  }
}

}  // namespace test
