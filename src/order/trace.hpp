// SPDX-License-Identifier: BSD-3-Clause
// CAI_TRACE=1: reports on stderr each edge that a call makes or leaves out, and why, one line each.
// It calls no driver, allocates nothing, and does not fail.
#pragma once

#include "order/open_use.hpp"

namespace cai::order::trace {

// Whether the trace is on; false until a call has read the environment.
inline bool on() noexcept {
  return Environment::trace.load(std::memory_order_relaxed) == Environment::Trace::on;
}

// One side of an edge: the side that waits, or the one waited for.
struct Side {
  enum Kind { stream, event, owner, host, host_work, theirs };
  Kind kind;
  std::uint64_t value = 0;  // of a stream; 0: there is none; or an address
};
constexpr Side no_stream{Side::stream};
constexpr Side host{Side::host};
constexpr Side theirs{Side::theirs};  // the streams that the arrays came with
constexpr Side stream(std::uint64_t value) noexcept {
  return {Side::stream, value};
}
constexpr Side stream_or_host(std::uint64_t value) noexcept {
  return value ? stream(value) : host;
}
constexpr Side event(std::uint64_t handle) noexcept {
  return {Side::event, handle};
}
inline Side owner(const cai_owner *address) noexcept {
  return {Side::owner, reinterpret_cast<std::uintptr_t>(address)};
}

// The array that an edge is for.
struct Of {
  std::int32_t index;               // its index in the call; -1: the call's only array
  const cai_array *part = nullptr;  // the array or its mask, if known
};
constexpr Of all_arrays{-2};

constexpr const char *same_stream = "left out (same stream)";
constexpr const char *another_array = "left out (the same as for another array)";
constexpr const char *by_legacy =
    "left out (the legacy stream and a blocking one are in order anyway)";
constexpr const char *reclaims = "left out (the producer reclaims)";

[[gnu::cold, gnu::noinline]] void write(Of of, Side waits, Side before, const char *what) noexcept;

// Traces that `what` was done so that `waits` comes after `before`; why follows in brackets.
[[gnu::always_inline]] inline void edge(Of of, Side waits, Side before, const char *what) noexcept {
  if (on()) [[unlikely]]
    write(of, waits, before, what);
}
// The same if `is_so` leaves the edge out. Returns `is_so`.
[[gnu::always_inline]] inline bool left_out(bool is_so, Of of, Side waits, Side before,
                                            const char *what) noexcept {
  if (is_so) edge(of, waits, before, what);
  return is_so;
}

// A public function while it runs. All lines of the thread have the name of the innermost one.
class Call {
 public:
  // `given` is what the call was given, usually a stream.
  Call(const char *function, Side given, const cai_array *const *arrays,
       std::int32_t count) noexcept {
    if (may_be_on()) [[unlikely]]
      enter({function, given, arrays, count});
  }
  Call(const char *function, Side given, const cai_array &array) noexcept {
    if (may_be_on()) [[unlikely]]
      enter({function, given, nullptr, 0, &array});
  }
  Call(const char *function, OpenUse &use) noexcept {
    if (may_be_on()) [[unlikely]]
      enter({function, stream(use.stream), nullptr, 0, nullptr, &use});
  }
  Call(const char *function, Side given) noexcept {
    if (may_be_on()) [[unlikely]]
      enter({function, given});
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;
  ~Call() {
    if (is_entered_) [[unlikely]]
      leave();
  }

 private:
  struct Facts {
    const char *function;
    Side given;
    const cai_array *const *arrays = nullptr;
    std::int32_t count = 0;
    const cai_array *array = nullptr;  // the only one
    OpenUse *use = nullptr;            // whose arrays may have been released
    Call *outer = nullptr;
    bool has_spoken = false;
  };

  friend void write(Of of, Side waits, Side before, const char *what) noexcept;

  static bool may_be_on() noexcept {
    return Environment::trace.load(std::memory_order_relaxed) != Environment::Trace::off;
  }
  [[gnu::cold, gnu::noinline]] void enter(const Facts &facts) noexcept;
  [[gnu::cold, gnu::noinline]] void leave() noexcept;

  static thread_local Call *innermost;

  bool is_entered_ = false;
  union {
    Facts facts_;  // constructed only if the trace is on, so that it costs nothing otherwise
  };
};

}  // namespace cai::order::trace
