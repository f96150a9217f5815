// SPDX-License-Identifier: BSD-3-Clause
// The failure of work on a stream, until a call returns it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "cai/device.h"
#include "core/lock.hpp"

namespace cai::device {

// Runs a piece of work. Returns its failure, if any, with a message even if the work wrote none.
std::optional<cai_error> run(cai_work_fn work, void *context) noexcept;

class Failures {
 public:
  Failures() = default;
  Failures(const Failures &) = delete;
  Failures &operator=(const Failures &) = delete;
  // Nobody can ask a stream that was destroyed before its work failed.
  ~Failures();

  // `number` is that of the work, if the stream's work is numbered. Returns false if an earlier
  // failure is kept.
  bool note(const cai_error &error, std::uint64_t number = 0) noexcept;
  // Whether work up to a number has failed, or was dropped, and no call has returned that.
  bool any(std::uint64_t up_to = all) const noexcept {
    return number_.load(std::memory_order_acquire) <= up_to;
  }
  bool is_being_changed() const noexcept { return lock_.is_held(); }
  // The first failure since the last one was returned. That of later work is not taken: it is not
  // the failure of what a caller waits for.
  std::optional<cai_error> take(std::uint64_t up_to = all) noexcept;
  // Throws that failure.
  void raise(std::uint64_t up_to = all);

 private:
  static constexpr std::uint64_t none = UINT64_MAX, all = none - 1;

  Lock lock_;
  std::optional<cai_error> first_;
  std::atomic<std::uint64_t> number_{none};  // of the first
};

}  // namespace cai::device
