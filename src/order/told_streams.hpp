// SPDX-License-Identifier: BSD-3-Clause
// Streams that consumers were told may be destroyed as soon as the telling is taken back, on any
// thread; and other threads may be about to wait for one.
#pragma once

namespace cai::order {

// From reading which streams were told till the driver is called with them no more. No foreign code
// is called meanwhile, and the host does not wait: a thread that takes a stream back waits for the
// readers.
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

// Waits for threads that are reading: they may have read a stream that has been taken back.
void await_readers() noexcept;

}  // namespace cai::order
