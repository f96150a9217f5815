// SPDX-License-Identifier: BSD-3-Clause
#include "device/failures.hpp"

#include <mutex>
#include <utility>

#include "core/error.hpp"
#include "core/report.hpp"

namespace cai::device {

std::optional<cai_error> run(cai_work_fn work, void *context) noexcept {
  if (!work) return std::nullopt;
  cai_error error{};
  const cai_status status = work(context, &error);
  if (status == CAI_OK) return std::nullopt;
  if (error.status == CAI_OK) {
    fail(&error, status, {}, "work on the stream returned %s", cai_status_name(status));
  }
  error.status = status;
  return error;
}

Failures::~Failures() {
  if (first_) report(*first_);
}

bool Failures::note(const cai_error &error, std::uint64_t number) noexcept {
  const std::lock_guard lock(lock_);
  if (first_) return false;
  first_ = error;
  number_.store(number, std::memory_order_release);
  return true;
}

std::optional<cai_error> Failures::take(std::uint64_t up_to) noexcept {
  if (!any(up_to)) return std::nullopt;
  const std::lock_guard lock(lock_);
  if (!any(up_to)) return std::nullopt;  // another thread has taken it
  number_.store(none, std::memory_order_relaxed);
  return std::exchange(first_, std::nullopt);
}

void Failures::raise(std::uint64_t up_to) {
  if (const std::optional<cai_error> error = take(up_to)) throw Failure(*error);
}

}  // namespace cai::device
