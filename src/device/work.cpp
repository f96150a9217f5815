// SPDX-License-Identifier: BSD-3-Clause
// What a stream can do: work, keep, wait, follow.
#include "device/cpu_stream.hpp"
#include "device/follow.hpp"
#include "device/gpu_stream.hpp"
#include "order/releases.hpp"
#include "order/trace.hpp"
#include "order/waiting.hpp"

namespace cai::device {
namespace {

// What a CPU stream waits for: the event, if its context still exists.
class GpuPoint {
 public:
  GpuPoint(order::Event event, std::int32_t ordinal, std::uint64_t epoch)
      : event_(std::move(event)), ordinal_(ordinal), epoch_(epoch) {}

  void wait() const {
    if (epoch_ == 0) return wait_here();  // another context
    const WithinContext within(ordinal_, epoch_);
    if (within) wait_here();  // a reset has waited for all earlier work
  }

 private:
  void wait_here() const {
    driver::Session session;
    session.use_relaxed_mode();
    driver::call(session.cu.cuEventSynchronize, event_.handle());
    session.finish();
  }

  const order::Event event_;
  const std::int32_t ordinal_;
  const std::uint64_t epoch_;
};

void follow_on_gpu(GpuStream &stream, GpuStream &other) {
  order::Ending ending;
  driver::Session session;
  order::Stream to = stream.stream(), from = other.stream();
  if (order::same(to, from)) return;
  const order::trace::Call call("cai_stream_follow", order::trace::stream(to.value));
  order::probe(session, to);
  order::probe(session, from);
  const bool is_fork = from.capture && !to.capture;
  if (is_fork && to.value == driver::stream_legacy) {
    throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM},
                  "the other stream is being captured, and the legacy stream can join no capture");
  }
  if (is_fork) to.capture = from.capture;  // the capture that it will join
  // Always by an event: an idle stream 1 does not pass on the order to a stream that follows it.
  const order::Edge edge =
      order::edge_between(session, from, to, order::Way::told, CAI_USE_EXTERNAL);
  if (edge == order::Edge::external) {
    throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM},
                  "the stream is being captured into a graph, the other one is not, and has work "
                  "pending: wait for it before the capture");
  }
  order::Event event;
  order::order(session, from, to, edge, event);
  order::look(session, to, ending);
  session.finish();
}

void follow(cai_stream &stream, cai_stream &other) {
  stream.raise_failure();
  if (&stream == &other) return;
  other.raise_failure();
  const bool host_waits =
      is_cpu(stream.device) ? cpu_stream(stream).is_at_once() : is_cpu(other.device);
  if (host_waits) {
    other.synchronize();
    other.raise_failure();
  } else if (is_cpu(other.device)) {
    if (const std::shared_ptr<Mark> mark = cpu_stream(other).mark()) cpu_stream(stream).wait(mark);
  } else if (!is_cpu(stream.device)) {
    follow_on_gpu(gpu_stream(stream), gpu_stream(other));
  } else {
    driver::Session session;
    order::Stream from = gpu_stream(other).stream();
    order::require_not_capturing(session, from, "the host cannot wait for it");
    order::Event event = order::Event::record(session, from);
    session.finish();
    wait_in_work(cpu_stream(stream), std::move(event), other.device, gpu_stream(other).epoch());
  }
}

}  // namespace

void wait_in_work(CpuStream &stream, order::Event event, cai_device device, std::uint64_t epoch) {
  auto point = std::make_unique<GpuPoint>(std::move(event), device.id, epoch);
  const auto wait_for_it = [](void *context, cai_error *error) {
    return guard(error, [&] { static_cast<GpuPoint *>(context)->wait(); });
  };
  const auto done = [](void *context) { delete static_cast<GpuPoint *>(context); };
  stream.push(wait_for_it, done, point.get(), true);
  static_cast<void>(point.release());
}

}  // namespace cai::device

using namespace cai;

cai_status cai_stream_set_thread_limit(cai_stream *stream, int32_t threads, cai_error *error) {
  return guard(error, [&] {
    device::require(stream, "stream");
    if (!device::is_cpu(stream->device)) {
      throw Failure(CAI_ERR_DEVICE, {}, "a stream of %s has no threads to limit",
                    device::Text(stream->device).text);
    }
    if (threads < 1) {
      throw Failure(CAI_ERR_VALUE, {}, "threads is %d, less than 1", static_cast<int>(threads));
    }
    device::cpu_stream(*stream).thread_limit = threads;
  });
}

cai_status cai_stream_enqueue(cai_stream *stream, cai_work_fn work, void (*done)(void *context),
                              void *context, cai_error *error) {
  return guard(error, [&] { device::require_stream(stream).enqueue(work, done, context); });
}

cai_status cai_stream_attach(cai_stream *stream, void (*release)(void *context), void *context,
                             cai_error *error) {
  return guard(error, [&] {
    device::require(release, "release");
    device::require_stream(stream).attach(release, context);
  });
}

cai_status cai_stream_query(cai_stream *stream, int32_t *busy, cai_error *error) {
  return guard(error, [&] {
    device::require(busy, "busy");
    // In this order: code that sees the stream idle also sees the failure of its work.
    const bool is_busy = device::require_stream(stream).is_busy();
    stream->raise_failure();
    *busy = is_busy ? 1 : 0;
  });
}

cai_status cai_stream_synchronize(cai_stream *stream, cai_error *error) {
  return guard(error, [&] {
    device::require_stream(stream).synchronize();
    stream->raise_failure();
  });
}

cai_status cai_stream_follow(cai_stream *stream, cai_stream *other, cai_error *error) {
  return guard(error, [&] {
    device::require_stream(stream);
    device::follow(*stream, device::require_stream(other, "other"));
  });
}
