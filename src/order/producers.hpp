// SPDX-License-Identifier: BSD-3-Clause
// Whom to wait for: the distinct streams and events that arrays and their masks come with, and the
// uses that their owners keep.
#pragma once

#include <atomic>

#include "order/provider.hpp"
#include "order/told_streams.hpp"
#include "order/without_driver.hpp"

namespace cai::order {

// What the arrays are wanted for.
struct Wanted {
  enum class For {
    waiting,     // for what is pending, and for kept uses that conflict
    completing,  // for what is pending, and for all kept uses
    adopting,    // what is pending, but for kept uses
    ending,      // those that must wait for a use that ends
  };
  For purpose;
  std::uint64_t stream;                     // what waits, or is waited for; 0: the host
  std::uint32_t access;                     // CAI_ACCESS_*
  const std::uint32_t *accesses = nullptr;  // of each array, in the place of `access`

  std::uint32_t access_of(int32_t at) const noexcept { return accesses ? accesses[at] : access; }
};

// What arrays ask for, as far as the structs alone can tell: no driver is needed up to here.
struct Demand {
  // An array that came with 1 or 2: the context of its memory decides which stream that is.
  struct Default {
    std::uint64_t value;
    std::uint64_t data;
    int32_t device_id;
    int32_t index;
    bool is_told = false;  // by an exporter that was asked for it
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

  // An array for whose memory a consumer without the owner was told another stream. The stream is
  // read once no foreign code is called any more.
  struct Told {
    const cai_array *array;
    std::uint64_t own;  // the stream of the array itself
    std::uint64_t waiting;
    bool writes;
    int32_t index;
  };

  Few<Stream> handles;
  Few<Default> defaults;
  Few<Told, 4> told;
  Few<EventOf, 4> events;
  Conflicts conflicts;
  Few<Keeper, 4> keepers;
  Wanted wanted;  // for the trace alone

  bool streams_empty() const noexcept {
    return handles.empty() && defaults.empty() && told.empty();
  }
  // The array's memory has gone with its context, and with it what was pending on its streams,
  // whose handles may be others' by now. Of a kept use the context is known.
  void leave_streams() noexcept {
    const auto all = [](const auto &) { return true; };
    handles.remove_if(all);
    defaults.remove_if(all);
    told.remove_if(all);
    events.remove_if(all);
  }
  bool empty() const noexcept {
    return streams_empty() && events.empty() && conflicts.empty() && keepers.empty();
  }
};

// The stream that stands for the array's own: 0 if it has none. An UNSTATED one is asked about.
inline std::uint64_t stream_value(const cai_array &array) {
  switch (array.stream_kind) {
    case CAI_STREAM_STREAM:
      return array.stream;
    case CAI_STREAM_UNSTATED:
      return provided_stream(array);
    case CAI_STREAM_NONE:
      return Environment::get().distrust_none ? driver::stream_legacy : 0;
    default:
      return 0;
  }
}

// Likewise; a provider's 2 is that of the first thread that was told so of the owner, and throws on
// others.
std::uint64_t claim_stream(const cai_array &array, int32_t index);

// The stream that the array will come with: 1 and 2 are of its memory's context, as for the
// consumer.
Stream stream_for(driver::Session &session, const cai_array &array, std::uint64_t stream);

// The context that 1 and 2 of the array are of; null if there is none, or the memory is not the
// driver's.
driver::CUcontext find_context(driver::Session &session, const cai_array &array);

// Runs `body`, which takes a stream for an array that may be pending. Where no context is current,
// as on a thread that has done nothing yet, 1 and 2 are of the array's.
template <class Body>
void with_context_for(const cai_array &array, std::uint64_t stream, Body &&body) {
  if (stream <= driver::stream_per_thread) {
    driver::Session session;
    if (!session.current()) {
      if (const driver::CUcontext context = find_context(session, array)) {
        session.in(context, body);
        return session.finish();
      }
    }
    session.finish();
  }
  body();
}

// Adds what arrays that have been judged ask for, and their masks; the first one has index `first`.
void collect(const cai_array *const *arrays, int32_t count, Wanted wanted, Demand &out,
             int32_t first = 0);
inline void collect(const cai_array &array, Wanted wanted, Demand &out) {
  const cai_array *const alone = &array;
  collect(&alone, 1, wanted, out, -1);
}

// For the trace, where nothing_on_gpu_before() spares collect() the work: what that would have
// said.
[[gnu::cold]] void tell_nothing_before(const cai_array &array, std::uint64_t stream);

// The distinct streams. Those that were told may go once `reading` has been left, or ends: after
// the driver was called with them, and before anything is called out.
void resolve(driver::Session &session, Demand &demand, Reading &reading, Few<Stream> &out);

}  // namespace cai::order
