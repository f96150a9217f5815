// SPDX-License-Identifier: BSD-3-Clause
// Ends of arrays that are put off until the uses of their memory are complete.
#pragma once

#include "order/uses.hpp"

namespace cai::order {

// Ends `uses->owner` through `uses->end` once nothing of `uses` is pending; takes `uses` over.
// Calls no driver.
void put_off(Uses *uses) noexcept;

// What may end now: does so when it goes out of scope, which must be after the session.
class Ending {
 public:
  Ending() = default;
  Ending(const Ending &) = delete;
  Ending &operator=(const Ending &) = delete;
  ~Ending();

  void add(Uses *uses) noexcept {
    uses->next = first_;
    first_ = uses;
  }

 private:
  Uses *first_ = nullptr;
};

// Looks, for a few of those that are put off, whether what is pending in the stream's context is
// complete by now; the stream is identified. Cheap where nothing is put off.
void look(driver::Session &session, const Stream &stream, Ending &ending);

}  // namespace cai::order
