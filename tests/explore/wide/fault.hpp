// SPDX-License-Identifier: BSD-3-Clause
// Something that fails once while libcai is called: a call of the driver's, or an allocation.
#pragma once

#include <cstdint>

namespace wide {

class Fault {
 public:
  // The nth call of a function of the driver's (or of no function: the nth allocation), counted
  // from 1, in the call of libcai's after the next `calls`. Returns the function's name.
  const char *choose(unsigned function, unsigned nth, unsigned calls, bool is_memory);
  void forget() { *this = Fault{}; }

  // Around a call of libcai's.
  void arm();
  // In it, too, where a party calls the driver.
  void disarm();
  // Whether an allocation is to fail.
  bool is_for_memory() const { return is_chosen_ && !function_; }
  // Whether the last call has met it.
  bool has_struck() const { return has_struck_; }
  bool is_of_memory() const { return has_struck_ && !function_; }

 private:
  bool is_chosen_ = false, is_armed_ = false, has_struck_ = false;
  const char *function_ = nullptr;  // null: an allocation
  unsigned nth_ = 0, calls_ = 0;
  int status_ = 0;
  std::uint64_t before_ = 0;
};

}  // namespace wide
