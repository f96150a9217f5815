// SPDX-License-Identifier: BSD-3-Clause
// What to wait for: the distinct streams and events of arrays and their masks, and the uses that
// their owners keep.
#pragma once

#include <atomic>

#include "order/provider.hpp"
#include "order/told_streams.hpp"
#include "order/without_driver.hpp"

namespace cai::order {

// What the caller needs of the arrays.
struct Wanted {
  enum class For {
    waiting,     // to wait for pending work, and for kept uses that conflict
    completing,  // to wait for pending work, and for all kept uses
    adopting,    // to wait for pending work, but not for kept uses
    ending,      // the streams that must wait for a use that ends
  };
  For purpose;
  std::uint64_t stream;                     // the stream that waits, or is waited for; 0: the host
  std::uint32_t access;                     // CAI_ACCESS_*
  const std::uint32_t *accesses = nullptr;  // of each array; if set, replaces `access`

  std::uint32_t access_of(int32_t at) const noexcept { return accesses ? accesses[at] : access; }
};

// What the arrays need, as far as their structs say. No driver is needed so far.
struct Demand {
  // An array that came with 1 or 2: the context of its memory decides which stream that is.
  struct Default {
    std::uint64_t value;
    std::uint64_t data;
    int32_t device_id;
    int32_t index;
    bool is_told = false;  // set by an exporter that was asked for this stream
    bool of_mask = false;
  };
  struct EventOf {
    std::uint64_t value;
    int32_t index;
    cai_owner *owner;  // of the first array that came with it; null: borrowed
    bool of_mask;
  };
  // Uses that an owner keeps with functions of its own.
  struct Keeper {
    cai_owner *owner;
    bool writes;
    int32_t index;
  };

  // An array for whose memory another stream was named to a consumer without the owner. The stream
  // is read when no more foreign code will be called.
  struct Told {
    const cai_array *array;
    std::uint64_t own;  // the array's own stream
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
  Wanted wanted;  // only for the trace

  bool streams_empty() const noexcept {
    return handles.empty() && defaults.empty() && told.empty();
  }
  // The array's memory was destroyed with its context, and so was the work on its streams. Other
  // streams may have their handles now. The context of a kept use is known.
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

// The stream that stands for the array's own: 0 if it has none. For an UNSTATED one, asks a
// provider.
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

// The same, but a provider's 2 is the stream of the first thread that was told it for the owner;
// throws on other threads.
std::uint64_t claim_stream(const cai_array &array, int32_t index);

// The array's stream, with the context of its memory if it is 1 or 2, as for the consumer.
Stream stream_for(driver::Session &session, const cai_array &array, std::uint64_t stream);

// The context of the array's streams 1 and 2; null if there is none, or the memory is not the
// driver's.
driver::CUcontext find_context(driver::Session &session, const cai_array &array);

// Runs `body`, which passes a stream for an array that may be pending. If no context is current, as
// on a new thread, 1 and 2 mean those of the array's context.
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

// Adds what validated arrays and their masks need. The first array has index `first`.
void collect(const cai_array *const *arrays, int32_t count, Wanted wanted, Demand &out,
             int32_t first = 0);
inline void collect(const cai_array &array, Wanted wanted, Demand &out) {
  const cai_array *const alone = &array;
  collect(&alone, 1, wanted, out, -1);
}

// For the trace, if nothing_on_gpu_before() makes collect() unnecessary: traces what that would
// have.
[[gnu::cold]] void tell_nothing_before(const cai_array &array, std::uint64_t stream);

// Finds the distinct streams. Told streams may be destroyed once `reading` ends or is left. So
// leave it after the last driver call with them, and before calling foreign code.
void resolve(driver::Session &session, Demand &demand, Reading &reading, Few<Stream> &out);

}  // namespace cai::order
