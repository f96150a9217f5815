// SPDX-License-Identifier: BSD-3-Clause
// The failure of work on a stream, until a call returns it.
#pragma once

#include <atomic>
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

  void note(const cai_error &error) noexcept;
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  bool is_being_changed() const noexcept { return lock_.is_held(); }
  // The first failure since the last one was returned.
  std::optional<cai_error> take() noexcept;
  // Throws that failure.
  void raise();

 private:
  Lock lock_;
  std::optional<cai_error> first_;
  std::atomic<bool> any_{false};
};

}  // namespace cai::device
