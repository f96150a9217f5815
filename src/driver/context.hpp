// SPDX-License-Identifier: BSD-3-Clause
// Contexts: finds the right one, and restores the caller's on every path.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "driver/capture.hpp"
#include "driver/driver.hpp"
#include "driver/faults.hpp"

namespace cai::driver {

// One call into libcai that uses the driver. At its end it restores what it changed for the thread
// (the current context, the capture mode) and releases what it holds (primary contexts), also after
// a failure.
//
//   Session session;   // loads the driver
//   ...                // throws Failure
//   session.finish();  // puts everything back, and throws what was noted on the way
class Session {
 public:
  Session() : cu(get()) {}
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session() {
    if (!primaries_.empty()) release_primaries();
  }

  const Driver &cu;
  Faults faults;
  bool met_capture = false;         // a stream that the call works on is being captured
  bool must_know_captures = false;  // it is a fault if the driver does not say what is captured

  void finish();

  // From here to the end, this thread may make the calls that a capture elsewhere forbids: create,
  // destroy, query, wait on the host.
  void use_relaxed_mode() {
    if (!relaxed_) relaxed_.emplace(cu, faults);
  }

  // The current context; null if there is none. Queried at the first use.
  CUcontext current() {
    if (!current_) {
      CUcontext found = nullptr;
      call(cu.cuCtxGetCurrent, &found);
      current_ = found;
    }
    return *current_;
  }

  // Runs `body` with `context` current. Earlier noted failures are not thrown here, but by
  // finish().
  template <class Body>
  [[gnu::noinline]] void in(CUcontext context, Body &&body) {
    if (context == current()) return std::forward<Body>(body)();
    const bool had_faults = faults.any();
    {
      const Within within(*this, context);
      std::forward<Body>(body)();
    }
    if (!had_faults) faults.raise();
  }

  // The context of a stream that is a handle: neither 1 nor 2.
  CUcontext of_stream(std::uint64_t stream) const;

  // Identifies a context among all that ever existed, since handles recur. The context must exist.
  std::uint64_t id_of(CUcontext context) const;

  // Whether a context was destroyed; a destroyed one may still be current. For use after a call
  // that failed: the failure may be an older one that surfaced there.
  bool is_destroyed(CUcontext context) const noexcept {
    unsigned long long id = 0;
    const CUresult result = cu.cuCtxGetId(context, &id);
    return result == error_context_is_destroyed || result == error_invalid_context;
  }

  // The context for a device if the memory has none: the primary one if it is active, no matter who
  // uses it; else the current one if it is on that device and exists; else null. Never makes one.
  CUcontext of_device(int ordinal);

  // The active primary contexts, retained for the rest of the session.
  std::vector<CUcontext> primaries();

 private:
  class Within {
   public:
    Within(Session &session, CUcontext context);
    Within(const Within &) = delete;
    Within &operator=(const Within &) = delete;
    ~Within();

   private:
    Session &session_;
    CUcontext entered_;
    CUcontext before_;
  };

  CUcontext primary_of(CUdevice device);  // null if it is not active
  void release_primaries() noexcept;

  std::optional<CUcontext> current_;
  std::vector<std::pair<CUdevice, CUcontext>> primaries_;  // retained until the end
  std::optional<Relaxed> relaxed_;
};

// As long as it lives, code of others that is called here may free memory, whatever this thread
// captures. It does nothing without a driver, and if the driver refuses.
class Sparing {
 public:
  explicit Sparing(bool needed = true) noexcept;

 private:
  std::optional<Session> session_;
};

}  // namespace cai::driver
