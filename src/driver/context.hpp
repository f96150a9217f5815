// SPDX-License-Identifier: BSD-3-Clause
// Contexts: which one is meant, and the caller's back in its place on every path.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "driver/capture.hpp"
#include "driver/driver.hpp"
#include "driver/faults.hpp"

namespace cai::driver {

// One call into libcai that uses the driver. What it changes for the thread (the current context,
// the capture mode) and what it holds (primary contexts) is as before when it ends, however it
// ends.
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
  bool met_capture = false;  // a stream that was asked about is being captured

  void finish();

  // From here to the end this thread may make the calls that a capture elsewhere forbids: creating,
  // destroying, querying, waiting on the host.
  void use_relaxed_mode() {
    if (!relaxed_) relaxed_.emplace(cu, faults);
  }

  // The context current now; null if there is none. The driver is asked at the first need.
  CUcontext current() {
    if (!current_) {
      CUcontext found = nullptr;
      call(cu.cuCtxGetCurrent, &found);
      current_ = found;
    }
    return *current_;
  }

  // Runs `body` with `context` current. What was noted before is not this body's, and waits for
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

  // What tells a context from all others there ever were: handles recur. The context must be alive.
  std::uint64_t id_of(CUcontext context) const;

  // Whether a context has gone; one that is current stays so. For after a call that failed, which
  // may have been with an older failure that only surfaced there.
  bool is_destroyed(CUcontext context) const noexcept {
    unsigned long long id = 0;
    const CUresult result = cu.cuCtxGetId(context, &id);
    return result == error_context_is_destroyed || result == error_invalid_context;
  }

  // The context that stands for a device where the memory names none: the primary one if it is
  // active, on any thread, else the current one if it is on that device and alive, else null. It
  // never makes one.
  CUcontext of_device(int ordinal);

  // The primary contexts that are active, for the rest of the session.
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

}  // namespace cai::driver
