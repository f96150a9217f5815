// SPDX-License-Identifier: BSD-3-Clause
// Ends of arrays that are put off until the uses of their memory are complete.
#pragma once

#include <memory>

#include "order/uses.hpp"

namespace cai::order {

// Ends `uses->owner` through `uses->end` once nothing of `uses` is pending; takes `uses` over.
// Calls no driver.
void put_off(Uses *uses) noexcept;

// cai_owner_end() of an owner that may have pending uses.
void end_after_uses(cai_owner *owner, void (*end)(cai_owner *owner)) noexcept;

// What may end now: does so when it goes out of scope, which must be after the session.
class Ending {
 public:
  Ending() = default;
  Ending(const Ending &) = delete;
  Ending &operator=(const Ending &) = delete;
  ~Ending();

  bool empty() const noexcept { return !first_; }

  // Does so now; a failure of the driver's is thrown, and what is left ends all the same.
  void run();

  void add(Uses *uses) noexcept {
    uses->next = first_;
    first_ = uses;
  }

 private:
  void run_all() noexcept;

  Uses *first_ = nullptr;
};

// Looks, for a few of those that are put off, whether what is pending in the stream's context is
// complete by now; the stream is identified. Cheap where nothing is put off.
void look(driver::Session &session, const Stream &stream, Ending &ending);

// Likewise for all of them, after the stream was waited for.
void look_at_all(driver::Session &session, const Stream &stream, Ending &ending);

// An end with uses of its own: releases one reference to `owner` when they are complete. NULL:
// releases none, but cai_drain() waits for them.
std::unique_ptr<Uses> new_holder(cai_owner *owner);

// Takes a reference that cai_drain() releases once it has waited for the stream's context, or that
// context was destroyed; or for all contexts that it sees, if the driver does not report the
// context.
void park(cai_owner *owner, Stream stream) noexcept;

// Adds a reference that the graph being captured releases when it, and all that was made from it,
// is destroyed.
void hold_for_graph(driver::Session &session, const driver::Capture &capture, cai_owner *owner);

}  // namespace cai::order
