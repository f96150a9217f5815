// SPDX-License-Identifier: BSD-3-Clause
// How arrays are to be used: by the call's options, and by the environment.
#pragma once

#include <atomic>
#include <cstdint>

#include "cai.h"

namespace cai::order {

// Beside CAI_USE_*: the call takes those, so that a failure may advise one.
inline constexpr uint32_t takes_flags = uint32_t{1} << 31;
// Others are told the stream of the use, and work on what is in order with it.
inline constexpr uint32_t tells_stream = uint32_t{1} << 30;

struct Options {
  uint32_t order = CAI_ORDER_BOTH;
  uint32_t access = CAI_ACCESS_DEFAULT;
  uint32_t flags = takes_flags;
  const uint32_t *accesses = nullptr;  // in the place of `access`

  uint32_t access_of(int32_t index) const noexcept { return accesses ? accesses[index] : access; }
  bool on_host() const noexcept { return order == CAI_ORDER_HOST; }
  // What is in order with the use: its stream, or the host, 0.
  std::uint64_t side(std::uint64_t stream) const noexcept { return on_host() ? 0 : stream; }
};

// What the environment says, read once. Throws CAI_ERR_ARGUMENT for an invalid value.
struct Environment {
  bool sync;           // CAI_SYNC
  bool distrust_none;  // CAI_NONE

  static const Environment &get() {
    static const Environment environment = read();
    return environment;
  }

  // Whether uses are put in order without a trace; false also if that is not known yet.
  static bool keeps_quiet() noexcept { return quiet.load(std::memory_order_relaxed); }

  // CAI_TRACE, for callers that cannot wait for the rest, nor fail because of it.
  enum class Trace : std::uint8_t { unread, off, on };
  static constinit inline std::atomic<Trace> trace{Trace::unread};
  static constinit inline std::atomic<bool> quiet{false};

 private:
  static Environment read();
};

Options read_given_options(const cai_use_options &options);

// Judges a call's options, and relaxes them if the environment says so.
inline Options read_options(const cai_use_options *options) {
  Options found = options ? read_given_options(*options) : Options{};
  if (!Environment::get().sync && !found.on_host()) found.order = CAI_ORDER_NONE;
  return found;
}

void require_access(uint32_t access, const char *name);

[[noreturn, gnu::cold]] void fail_write(int32_t index);

// Whether a use with this access may write the array. Throws for a write to a read-only array.
inline bool writes(const cai_array &array, uint32_t access, int32_t index) {
  const bool readonly = array.flags & CAI_FLAG_READONLY;
  if (access == CAI_ACCESS_WRITE && readonly) fail_write(index);
  return access != CAI_ACCESS_READ && !readonly;
}

// A mask is used as its array is, unless it is read-only itself: a writer of elements may mark them
// as valid.
inline bool writes_mask(const cai_array &mask, bool writes_array) noexcept {
  return writes_array && !(mask.flags & CAI_FLAG_READONLY);
}

}  // namespace cai::order
