// SPDX-License-Identifier: BSD-3-Clause
#include "order/stream.hpp"

#include <cinttypes>
#include <cstring>
#include <string_view>

namespace cai::order {
namespace {

// The contexts of the streams that this thread used last. The id of a stream never recurs, so what
// is known of a stream stays true.
struct Known {
  std::uint64_t stream_id;
  std::uint64_t context_id;
  driver::CUcontext context;
};
constexpr std::size_t known_count = 64;
thread_local Known known[known_count];

constexpr const char *of_a_mask = "mask: ";

// The driver ends a capture if the id or the flags of a stream in it are queried.
driver::Capture capture_of(driver::Session &session, const Stream &stream) {
  if (stream.is_probed) return stream.is_to_join ? driver::Capture{} : stream.capture;
  driver::Capture capture;
  const auto ask = [&] { capture = driver::capture_of(session.cu, stream.value); };
  try {
    ask();
  } catch (const Failure &failure) {
    const bool wants_context = failure.error().native == driver::error_invalid_context;
    if (!wants_context || session.current()) throw;
    session.in(session.of_stream(stream.value), ask);
  }
  return capture;
}

}  // namespace

bool is_blocking(driver::Session &session, Stream &stream) {
  if (stream.value == driver::stream_per_thread) return true;
  if (capture_of(session, stream)) {
    // While a blocking stream is being captured, the legacy stream must not be queried.
    identify(session, stream);
    driver::CUstreamCaptureStatus status = driver::capture_none;
    driver::CUresult result = driver::success;
    session.in(stream.context, [&] {
      result = session.cu.cuStreamGetCaptureInfo(driver::stream_handle(driver::stream_legacy),
                                                 &status, nullptr, nullptr, nullptr, nullptr);
    });
    return result == driver::error_capture_implicit;
  }
  unsigned flags = 0;
  driver::call(session.cu.cuStreamGetFlags, stream.handle(), &flags);
  return !(flags & driver::stream_non_blocking);
}

void fail_zero_stream(const char *name) {
  throw Failure(CAI_ERR_ARGUMENT, {},
                "%s is 0, which is never a stream: 1 is the legacy default stream", name);
}

Stream stream_here(driver::Session &session, std::uint64_t value, int32_t index) {
  Stream stream{value, nullptr, index};
  if (!stream.is_default()) return stream;
  stream.context = session.current();
  if (!stream.context) {
    throw Failure(CAI_ERR_ARGUMENT, {0, index},
                  "stream %d is a default stream of the current context, and none is current on "
                  "this thread: make one current, or pass a stream that was created",
                  static_cast<int>(value));
  }
  return stream;
}

void fail_stream(const Failure &failure, const Stream &stream) {
  constexpr const char *name = ": stream 0x";
  cai_error error = failure.error();
  error.index = stream.index;
  if (error.status != CAI_ERR_CUDA || std::strstr(error.message, name)) throw Failure(error);
  throw Failure(error.status, {error.entry, error.index, error.native}, "%s%s%" PRIx64,
                error.message, name, stream.value);
}

namespace {

void ask_identity(driver::Session &session, Stream &stream) {
  if (!stream.is_default()) {
    if (const driver::Capture capture = capture_of(session, stream)) {
      stream.id = capture.id | id_in_capture;
      stream.context = session.of_stream(stream.value);
      stream.context_id = session.id_of(stream.context);
      return;
    }
    unsigned long long id = 0;
    driver::call(session.cu.cuStreamGetId, stream.handle(), &id);
    stream.id = id;
    Known found = known[id % known_count];
    if (found.stream_id != id || !found.context) {
      const driver::CUcontext context = session.of_stream(stream.value);
      found = {id, session.id_of(context), context};
      known[id % known_count] = found;
    }
    stream.context = found.context;
    stream.context_id = found.context_id;
    return;
  }
  if (!stream.context) stream.context = session.of_stream(stream.value);
  stream.context_id = session.id_of(stream.context);
}

}  // namespace

void identify(driver::Session &session, Stream &stream) {
  if (stream.context_id) return;
  try {
    ask_identity(session, stream);
  } catch (const Failure &failure) {
    fail_stream(failure, stream);
  }
}

void fail_array(const Failure &failure, int32_t index, bool of_mask) {
  cai_error error = failure.error();
  if (error.index < 0) error.index = index;
  const std::string_view said = error.message;
  if (!of_mask || said.starts_with(of_a_mask)) throw Failure(error);
  throw Failure(error.status, {error.entry, error.index, error.native}, "%s%s", of_a_mask,
                error.message);
}

void probe(driver::Session &session, Stream &stream) {
  for_source(stream, [&] {
    with(session, stream, [&] { stream.capture = driver::capture_of(session.cu, stream.value); });
    stream.is_probed = true;
    session.met_capture = session.met_capture || stream.capture;
  });
}

bool is_captured(driver::Session &session, Stream &stream) noexcept {
  const bool met_capture = session.met_capture;
  cai_error error{};
  const cai_status status = guard(&error, [&] { probe(session, stream); });
  session.met_capture = met_capture;  // the stream may be one of another thread's
  if (status == CAI_OK) return bool(stream.capture);
  // If the driver does not say, this counts as true, unless the stream was destroyed.
  if (driver::says_gone(error.native)) return false;
  if (session.must_know_captures && status != CAI_ERR_CAPTURE) session.faults.note(error);
  return true;
}

bool is_ordered_with_legacy(driver::Session &session, Stream &legacy, Stream &other) {
  identify(session, legacy);
  identify(session, other);
  return legacy.context == other.context && is_blocking(session, other);
}

void synchronize(driver::Session &session, Stream &stream) {
  session.use_relaxed_mode();
  with(session, stream, [&] { driver::call(session.cu.cuStreamSynchronize, stream.handle()); });
}

bool try_synchronize(driver::Session &session, Stream &stream) noexcept {
  bool captured = true;
  const cai_status status = guard(nullptr, [&] {
    probe(session, stream);
    captured = bool(stream.capture);
    if (!captured) synchronize(session, stream);
  });
  return status == CAI_OK && !captured;
}

}  // namespace cai::order
