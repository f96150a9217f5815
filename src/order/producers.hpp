// SPDX-License-Identifier: BSD-3-Clause
// Whom to wait for: the distinct streams and events that arrays and their masks come with, and the
// uses that their owners keep.
#pragma once

#include <algorithm>
#include <atomic>

#include "order/options.hpp"
#include "order/uses.hpp"

namespace cai::order {

// What arrays ask for, as far as the structs alone can tell: no driver is needed up to here.
struct Demand {
  // An array that came with 1 or 2: the context of its memory decides which stream that is.
  struct Default {
    std::uint64_t value;
    std::uint64_t data;
    int32_t device_id;
    int32_t index;
  };
  struct EventOf {
    std::uint64_t value;
    int32_t index;
    cai_owner *owner;  // of the first array that came with it; null: borrowed
  };
  // Uses kept by functions of the owner's own.
  struct Keeper {
    cai_owner *owner;
    bool writes;
    int32_t index;
  };

  Few<Stream> handles;
  Few<Default> defaults;
  Few<EventOf, 4> events;
  Conflicts conflicts;
  Few<Keeper, 4> keepers;

  bool streams_empty() const noexcept { return handles.empty() && defaults.empty(); }
  bool empty() const noexcept {
    return streams_empty() && events.empty() && conflicts.empty() && keepers.empty();
  }
};

// What the arrays are wanted for.
struct Wanted {
  enum class For {
    waiting,     // for what is pending, and for kept uses that conflict
    completing,  // for what is pending, and for all kept uses
    adopting,    // what is pending, but for kept uses
    ending,      // those that must wait for a use that ends
  };
  For purpose;
  std::uint64_t stream;  // what waits, or is waited for; 0: the host
  std::uint32_t access;  // CAI_ACCESS_*
};

// Judges an array, its mask included; `index` is where it stands in the call, or -1.
void judge(const cai_array *array, int32_t index);
void judge_all(const cai_array *const *arrays, int32_t count, std::uint32_t access);

inline bool has_no_elements(const cai_array &array) noexcept {
  return std::any_of(array.shape, array.shape + array.ndim,
                     [](int64_t extent) { return extent == 0; });
}

// Whether an array, a mask perhaps, can have work pending at all.
inline bool may_be_pending(const cai_array &array) noexcept {
  return array.device_type != CAI_DEVICE_CPU && !has_no_elements(array);
}

// Whether nothing has to be put in order before work on `stream` (0: by the host) uses the array,
// or after it: seen at a glance for what needs no driver.
bool nothing_before(const cai_array &array, std::uint64_t stream);
bool nothing_after(const cai_array &array, std::uint64_t stream);

// Whether the array came with another thread's stream 2, which nobody here can name.
bool is_of_another_thread(const cai_array &array) noexcept;

// The owner's word on whose stream 2 its arrays came with: that of the first one who says it.
std::atomic_ref<std::uint64_t> thread_said_by(const cai_owner *owner) noexcept;

// The stream that stands for the array's own: 0 if it has none. An UNSTATED one is asked about.
std::uint64_t stream_value(const cai_array &array);

// The stream with which the array is to come: 1 and 2 are of its memory's context, as they will be
// for whoever gets the array.
Stream stream_for(driver::Session &session, const cai_array &array, std::uint64_t stream);

// Adds what an array that has been judged asks for; and its mask.
void collect(const cai_array &array, int32_t index, const Wanted &wanted, Demand &out);

// The distinct streams.
void resolve(driver::Session &session, Demand &demand, OnFailure on_failure, Few<Stream> &out);

}  // namespace cai::order
