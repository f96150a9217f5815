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
  // may take them. This Ending ends them at the latest; or, if it is within an end that has not
  // deferred them, that end's own Ending after it: else each would run the next one inside of it.
  void add(Uses *uses) noexcept;
  bool has_own() const noexcept { return has_own_; }
  bool has_found() const noexcept { return found_; }
  // This Ending ends those of others, too, that the survey includes; it must live as long.
  void add_of_others(const deferred::Survey &survey) noexcept { others_ = &survey; }

  deferred::Missed missed;

  // Ends those now, and returns whether there were any, or any were added. A failure of the driver
  // is thrown after all have ended.
  bool run();

 private:
  bool run_all(driver::Session *session) noexcept;
  bool run_one(driver::Session *session, const Ending *found_by,
               const deferred::Survey *others) noexcept;

  bool found_ = false;
  bool has_own_ = false;
  std::uint64_t arrived_ = 0;  // the last arrival before the end that it runs
  Ending *around_ = nullptr;   // the one whose end that end runs in
  const deferred::Survey *others_ = nullptr;
};

// Checks, for a few deferred ends, whether their work in the stream's context is complete. The
// stream must be identified. Cheap if nothing is deferred.
void look(driver::Session &session, const Stream &stream, Ending &ending);

// The same for all deferred ends, after the stream was waited for.
void look_at_all(driver::Session &session, const Stream &stream, Ending &ending);

// What a drain does about those that other threads are asking about: it leaves them; waits for the
// answer, unless that takes a wait for the GPU; or waits for all answers, and for ends and frees
// that run.
enum class Others { left, asked, all };

// Ends all whose uses are complete; `waits`: the host waits for them.
void drain(bool waits, Others others);

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
