// SPDX-License-Identifier: BSD-3-Clause
// Streams that others were told may go as soon as whoever was told has taken that back, on any
// thread; and others may be about to wait for one.
#pragma once

namespace cai::order {

// From reading which streams were told till the driver is called with them no more. Nothing is
// called out meanwhile, and the host does not wait: who takes a stream back waits for the readers.
class Reading {
 public:
  Reading() = default;
  Reading(const Reading &) = delete;
  Reading &operator=(const Reading &) = delete;
  ~Reading() { leave(); }

  void enter() noexcept;
  void leave() noexcept;

 private:
  int phase_ = -1;  // -1: outside
};

// Waits for those who are reading, and may have read what is not there any more.
void await_readers() noexcept;

}  // namespace cai::order
