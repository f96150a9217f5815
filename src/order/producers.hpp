// SPDX-License-Identifier: BSD-3-Clause
// Whom to wait for: the distinct streams and events that arrays and their masks come with.
#pragma once

#include <utility>

#include "driver/context.hpp"
#include "order/few.hpp"

namespace cai::order {

// A stream, together with the context that gives 1 and 2 their meaning. That of a handle is looked
// up when it is needed, and null till then.
struct Stream {
  std::uint64_t value;
  driver::CUcontext context;
  int32_t index;  // of the first array that came with it; -1 for the consumer's

  // 1 or 2, a default stream of `context`.
  bool is_default() const noexcept { return value <= driver::stream_per_thread; }
  driver::CUstream handle() const noexcept { return driver::stream_handle(value); }
};

struct Event {
  std::uint64_t value;
  int32_t index;
};

// What the arrays ask for, as far as the structs alone can tell: no driver is needed up to here.
struct Demand {
  // An array that came with 1 or 2: the context of its memory decides which stream that is.
  struct Default {
    std::uint64_t value;
    std::uint64_t data;
    int32_t device_id;
    int32_t index;
  };

  Few<Stream> handles;
  Few<Default> defaults;
  Few<Event> events;

  bool streams_empty() const noexcept { return handles.empty() && defaults.empty(); }
  bool empty() const noexcept { return streams_empty() && events.empty(); }
};

// Judges an array, its mask included; `index` is where it stands in the call, or -1.
void judge(const cai_array *array, int32_t index);
bool has_no_elements(const cai_array &array) noexcept;

// Judges arrays, and adds what those that need order ask for.
void collect(const cai_array *array, int32_t index, Demand &out);
void collect_all(const cai_array *const *arrays, int32_t count, Demand &out);

// What becomes of the others when one stream cannot be ordered.
enum class OnFailure {
  stop,
  go_on,  // the first failure is noted, to be raised at the session's end
};

// The distinct streams.
void resolve(driver::Session &session, Demand &demand, OnFailure on_failure, Few<Stream> &out);

// The consumer's stream. 1 and 2 mean the current context.
Stream consumer_of(driver::Session &session, std::uint64_t stream);

driver::CUcontext context_of(driver::Session &session, Stream &stream);

// Runs `body` so that the driver understands the stream as it was meant: 1 and 2 with their context
// current, a handle with any.
template <class Body>
void with(driver::Session &session, Stream &stream, Body &&body) {
  if (stream.is_default() || !session.current()) {
    session.in(context_of(session, stream), std::forward<Body>(body));
  } else {
    std::forward<Body>(body)();
  }
}

// Runs `body`; a Failure that names no array yet is of array `index`.
template <class Body>
void for_array(int32_t index, Body &&body) {
  try {
    std::forward<Body>(body)();
  } catch (const Failure &failure) {
    cai_error error = failure.error();
    if (error.index < 0) error.index = index;
    throw Failure(error);
  }
}

// Runs `body` for array `index`; false if it failed and the others go on. A capture stops them all:
// it is found before anything has happened.
template <class Body>
bool attempt(driver::Session &session, OnFailure on_failure, int32_t index, Body &&body) {
  try {
    for_array(index, std::forward<Body>(body));
    return true;
  } catch (const Failure &failure) {
    if (on_failure == OnFailure::stop || failure.error().status == CAI_ERR_CAPTURE) throw;
    session.faults.note(failure.error());
    return false;
  }
}

bool same(const Stream &a, const Stream &b) noexcept;

// Whether the driver keeps two streams in order by itself: the legacy stream and a blocking stream
// of one context.
bool implicitly_ordered(driver::Session &session, Stream &a, Stream &b);

}  // namespace cai::order
