// SPDX-License-Identifier: BSD-3-Clause
// Streams as the driver needs them: each with its context.
#pragma once

#include <utility>

#include "driver/context.hpp"
#include "order/owned.hpp"

namespace cai::order {

// Identifies a stream among all that ever existed. Its value is not enough: handles recur, and 1
// and 2 mean another stream in each context, and 2 on each thread, too.
struct StreamKey {
  std::uint64_t value = 0;
  std::uint64_t id = 0;      // of the stream if it is a handle, of the context for 1 and 2; of the
                             // capture that the stream is in
  std::uint64_t thread = 0;  // for 2

  bool operator==(const StreamKey &) const = default;
};

// No id of a stream is as large.
constexpr std::uint64_t id_in_capture = std::uint64_t{1} << 63;

// A stream with the context that gives 1 and 2 their meaning. The context of a handle is looked up
// when it is needed, and is null before.
struct Stream {
  std::uint64_t value;
  driver::CUcontext context;
  int32_t index;  // of the first array that came with it; -1: the consumer's stream
  std::uint64_t context_id = 0;
  std::uint64_t id = 0;  // of a handle; in a capture the capture's, with id_in_capture
  driver::Capture capture{};
  bool is_probed = false;
  bool is_to_join = false;  // the capture that it will join
  bool is_told = false;     // stream 1, to a consumer with an owner that keeps work ordered with it
  bool of_mask = false;     // it came with the array's mask, and not with the elements

  // 1 or 2, a default stream of `context`.
  bool is_default() const noexcept { return value <= driver::stream_per_thread; }
  driver::CUstream handle() const noexcept { return driver::stream_handle(value); }
  StreamKey key() const noexcept {  // valid once it is identified
    return {value, is_default() ? context_id : id,
            value == driver::stream_per_thread ? this_thread() : 0};
  }
};

[[noreturn, gnu::cold]] void fail_zero_stream(const char *name);

// Throws CAI_ERR_ARGUMENT for 0, which is never a stream. `name` is the name of the argument.
inline void require_stream(std::uint64_t stream, const char *name = "stream") {
  if (stream == 0) fail_zero_stream(name);
}

// A stream that a caller named. 1 and 2 mean those of the current context.
Stream stream_here(driver::Session &session, std::uint64_t stream, int32_t index = -1);

// Looks up the context and the ids that identify it and the stream.
void identify(driver::Session &session, Stream &stream);

// Looks up the capture. Throws CAI_ERR_CAPTURE if a capture makes the stream unusable.
void probe(driver::Session &session, Stream &stream);

// Whether freeing memory on the stream would become part of a graph, or ruin a capture.
bool is_captured(driver::Session &session, Stream &stream) noexcept;

inline bool same(const Stream &a, const Stream &b) noexcept {
  return a.value == b.value && (!a.is_default() || a.context == b.context);
}

// Whether the stream, which is not 1, is in order with the legacy stream of its context.
bool is_blocking(driver::Session &session, Stream &stream);

bool is_ordered_with_legacy(driver::Session &session, Stream &legacy, Stream &other);

// Whether the driver itself orders two streams: the legacy stream and a blocking stream of one
// context.
inline bool implicitly_ordered(driver::Session &session, Stream &a, Stream &b) {
  const bool a_is_legacy = a.value == driver::stream_legacy;
  const bool b_is_legacy = b.value == driver::stream_legacy;
  if (a_is_legacy == b_is_legacy) return false;
  return a_is_legacy ? is_ordered_with_legacy(session, a, b)
                     : is_ordered_with_legacy(session, b, a);
}

// Throws a driver failure again, with the stream's value and array added.
[[noreturn, gnu::cold]] void fail_stream(const Failure &failure, const Stream &stream);

// Runs `body` so that the driver sees the right stream. For 1 and 2, their context is made current.
// For a handle, what is current stays, and the handle's context is made current only if none is and
// the driver needs one: that costs calls.
template <class Body>
[[gnu::always_inline]] inline void with(driver::Session &session, Stream &stream, Body &&body) {
  if (!stream.is_default()) {
    try {
      return body();
    } catch (const Failure &failure) {
      const bool wants_context = failure.error().native == driver::error_invalid_context;
      if (!wants_context || session.current()) fail_stream(failure, stream);
    }
  }
  if (!stream.context) identify(session, stream);
  try {
    session.in(stream.context, body);
  } catch (const Failure &failure) {
    fail_stream(failure, stream);
  }
}

void synchronize(driver::Session &session, Stream &stream);
// The same, and returns whether it has: not if the stream is being captured, or if the driver
// fails, as it may for a stream that went with its context.
bool try_synchronize(driver::Session &session, Stream &stream) noexcept;

// Runs `body`, which tells an owner of a stream. 1 and 2 mean those of the context there.
template <class Body>
void call_out(std::uint64_t stream, driver::CUcontext context, Body &&body) {
  if (stream > driver::stream_per_thread || !context) return body();
  driver::Session session;
  if (session.current() == context) return body();
  session.in(context, body);
  session.finish();
}

// Throws a failure again: of array `index` if it names none; of a mask, its message says so.
[[noreturn, gnu::cold]] void fail_array(const Failure &failure, int32_t index, bool of_mask);

// Runs `body`. A Failure that names no array is then of array `index`, or its mask.
template <class Body>
[[gnu::always_inline]] inline void for_array(int32_t index, Body &&body, bool of_mask = false) {
  try {
    std::forward<Body>(body)();
  } catch (const Failure &failure) {
    fail_array(failure, index, of_mask);
  }
}

// The same for what came with an array or a mask: a stream, an event.
template <class Source, class Body>
[[gnu::always_inline]] inline void for_source(const Source &source, Body &&body) {
  for_array(source.index, std::forward<Body>(body), source.of_mask);
}

// Runs `body` for array `index`. If it fails, the others go on: returns false, and the first
// failure is raised at the session's end. A failure because of a capture is thrown at once: it is
// found before anything has happened.
template <class Body>
[[gnu::always_inline]] inline bool attempt(driver::Session &session, int32_t index, Body &&body) {
  cai_error error;
  const cai_status status = guard(&error, [&] { for_array(index, std::forward<Body>(body)); });
  if (status == CAI_OK) return true;
  if (status == CAI_ERR_CAPTURE) throw Failure(error);
  session.faults.note(error);
  return false;
}

}  // namespace cai::order
