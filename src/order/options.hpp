// SPDX-License-Identifier: BSD-3-Clause
// How a call uses its arrays: by its options and by the environment.
#pragma once

#include <atomic>
#include <cstdint>

#include "cai.h"
#include "core/immortal.hpp"

namespace cai::order {

// A bit beside CAI_USE_*: the caller can give those, so a failure may suggest one.
inline constexpr uint32_t takes_flags = uint32_t{1} << 31;
// The stream of the use is told to other code, which works on streams that are ordered with it.
inline constexpr uint32_t tells_stream = uint32_t{1} << 30;

struct Options {
  uint32_t order = CAI_ORDER_BOTH;
  uint32_t access = CAI_ACCESS_DEFAULT;
  uint32_t flags = takes_flags;
  const uint32_t *accesses = nullptr;  // if set, replaces `access`

  uint32_t access_of(int32_t index) const noexcept { return accesses ? accesses[index] : access; }
  bool on_host() const noexcept { return order == CAI_ORDER_HOST; }
  // The side that is in order with the use: its stream, or 0 for the host.
  std::uint64_t side(std::uint64_t stream) const noexcept { return on_host() ? 0 : stream; }
};

// The environment, read once. Throws CAI_ERR_ARGUMENT if a variable has an invalid value.
struct Environment {
  bool sync;           // CAI_SYNC
  bool distrust_none;  // CAI_NONE

  static const Environment &get() {
    struct Read {
      const Environment environment = read();
    };
    return immortal<Read>().environment;
  }

  // Whether uses are ordered, and the trace is off; false also before the first read.
  static bool keeps_quiet() noexcept { return quiet.load(std::memory_order_relaxed); }

  // CAI_TRACE, for code that must not wait for the rest, nor fail because of it.
  enum class Trace : std::uint8_t { unread, off, on };
  static constinit inline std::atomic<Trace> trace{Trace::unread};
  static constinit inline std::atomic<bool> quiet{false};

 private:
  static Environment read();
};

Options read_given_options(const cai_use_options &options);

// Validates a call's options, and relaxes them if the environment says so.
inline Options read_options(const cai_use_options *options) {
  Options found = options ? read_given_options(*options) : Options{};
  if (!Environment::get().sync && !found.on_host()) found.order = CAI_ORDER_NONE;
  return found;
}

void require_access(uint32_t access, const char *name);

[[noreturn, gnu::cold]] void fail_write(int32_t index);

// Whether a use with this access writes the array. Throws for a write to a read-only array.
inline bool writes(const cai_array &array, uint32_t access, int32_t index) {
  const bool readonly = array.flags & CAI_FLAG_READONLY;
  if (access == CAI_ACCESS_WRITE && readonly) fail_write(index);
  return access != CAI_ACCESS_READ && !readonly;
}

// A mask is used as its array is, unless it is read-only: code that writes elements may mark them
// as valid.
inline bool writes_mask(const cai_array &mask, bool writes_array) noexcept {
  return writes_array && !(mask.flags & CAI_FLAG_READONLY);
}

}  // namespace cai::order
