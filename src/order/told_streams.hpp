// SPDX-License-Identifier: BSD-3-Clause
// Guards streams that were told to consumers. Any thread may withdraw such a stream, which may be
// destroyed right after, while another thread is about to wait for it.
#pragma once

#include <optional>

#include "core/visitors.hpp"

namespace cai::order {

// Lasts from reading which streams were told to the last driver call with them. Meanwhile no
// foreign code is called, and the host does not wait: a thread that withdraws a stream waits for
// the readers.
class Reading {
 public:
  Reading() = default;
  Reading(const Reading &) = delete;
  Reading &operator=(const Reading &) = delete;

  void enter() noexcept;
  void leave() noexcept;

 private:
  std::optional<Visitors::Visit> visit_;
};

// Waits for those who are reading now, and may have read what has been removed since.
void await_readers() noexcept;

}  // namespace cai::order
