// SPDX-License-Identifier: BSD-3-Clause
// Ends of arrays that are deferred until the uses of their memory are complete.
#pragma once

#include <memory>

#include "order/deferred.hpp"

namespace cai::order {

// Calls `uses->end` on `uses->owner` once nothing of `uses` is pending. Takes over `uses`. Does not
// call the driver.
void put_off(Uses *uses) noexcept;

// Calls `end` on the owner, whose memory has no uses of its own, in a later call: this one is in a
// function on a GPU stream, where the driver must not be called.
void end_in_later_call(cai_owner *owner, void (*end)(cai_owner *owner)) noexcept;

// cai_owner_end() of an owner that may have pending uses.
void end_after_uses(cai_owner *owner, void (*end)(cai_owner *owner)) noexcept;

// What may end now. Its destructor ends it, and must run after the session.
class Ending {
 public:
  Ending() = default;
  Ending(const Ending &) = delete;
  Ending &operator=(const Ending &) = delete;
  ~Ending();

  // Adds uses that are complete to the list of those that are due, from which a drain on any thread
  // may take them. This Ending ends them at the latest; or, within an end, that end's own Ending
  // after it, unless the end has deferred them: else each would run the next one inside of it.
  void add(Uses *uses) noexcept;
  bool has_own() const noexcept { return has_own_; }
  // This Ending ends those of others, too, that the survey includes; it must live as long.
  void add_of_others(const deferred::Survey &survey) noexcept { others_ = &survey; }

  // Another thread was asking about some.
  void miss() noexcept { has_missed_ = true; }
  bool has_missed() const noexcept { return has_missed_; }

  // Ends those now, and returns whether any were added. A failure of the driver is thrown after all
  // have ended.
  bool run();

 private:
  bool run_all(driver::Session *session) noexcept;
  bool run_one(driver::Session *session, const Ending *found_by,
               const deferred::Survey *others) noexcept;

  bool has_own_ = false;
  bool has_left_some_ = false;  // to the Ending of the end that runs here
  std::uint64_t arrived_ = 0;   // the last arrival before the end that it runs
  const deferred::Survey *others_ = nullptr;
  bool has_missed_ = false;
};

// Checks, for a few deferred ends, whether their work in the stream's context is complete. The
// stream must be identified. Cheap if nothing is deferred.
void look(driver::Session &session, const Stream &stream, Ending &ending);

// The same for all deferred ends, after the stream was waited for.
void look_at_all(driver::Session &session, const Stream &stream, Ending &ending);

// Ends all whose uses are complete; `waits`: the host waits for them.
void drain(bool waits);

// Defers an end with uses of its own: releases one reference to `owner` when they are complete.
// With NULL it releases nothing, but cai_drain() waits for the uses.
std::unique_ptr<Uses> new_holder(cai_owner *owner);

// Takes over a reference. cai_drain() releases it once it has waited for the stream's context, or
// that context was destroyed. If the driver does not report the context, cai_drain() waits for all
// contexts that it sees.
void park(cai_owner *owner, Stream stream) noexcept;

// Adds a reference to the graph that is being captured. It is released when the graph, and all that
// was made from it, are destroyed.
void hold_for_graph(driver::Session &session, const driver::Capture &capture, cai_owner *owner);

}  // namespace cai::order
