// SPDX-License-Identifier: BSD-3-Clause
// Stream handles: made, counted, described.
#include "device/stream.hpp"

#include <cstring>

#include "core/sizes.hpp"
#include "order/running.hpp"

namespace cai::device {
namespace {

// Streams whose last reference was released where the driver may not be called.
constinit std::atomic<cai_stream *> left{nullptr};

bool drop_holder(cai_stream *stream) noexcept {
  return stream && stream->holders.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

}  // namespace

HeldStream create_stream(cai_device device, std::uint32_t mode, std::int32_t priority) {
  require_device(device);
  if (mode > CAI_MODE_ASYNC) {
    throw Failure(CAI_ERR_VALUE, {}, "mode is %u, no CAI_MODE_*", mode);
  }
  if (priority != 0 && (is_cpu(device) || mode == CAI_MODE_DEFAULT)) {
    throw Failure(CAI_ERR_VALUE, {}, "priority is %d, and %s allows only 0",
                  static_cast<int>(priority), is_cpu(device) ? "the CPU" : "the default stream");
  }
  return is_cpu(device) ? new_cpu_stream(mode) : new_gpu_stream(device, mode, priority);
}

void release_quietly(cai_stream *stream) noexcept {
  if (!drop_holder(stream)) return;
  if (is_cpu(stream->device)) return stream->retire();
  stream->next = left.load(std::memory_order_relaxed);
  while (!left.compare_exchange_weak(stream->next, stream, std::memory_order_acq_rel)) {
  }
}

void end_left() noexcept {
  if (!left.load(std::memory_order_relaxed)) return;
  const order::Running running(order::Runs::end);
  cai_stream *stream = left.exchange(nullptr, std::memory_order_acq_rel);
  while (stream) {
    cai_stream *const next = stream->next;
    stream->retire();
    stream = next;
  }
}

}  // namespace cai::device

using namespace cai;

cai_status cai_stream_create(cai_device device, uint32_t mode, int32_t priority, cai_stream **out,
                             cai_error *error) {
  return guard(error, [&] {
    device::require(out, "out");
    device::end_left();
    *out = device::create_stream(device, mode, priority).let_go();
  });
}

cai_status cai_stream_wrap(cai_device device, uint64_t value, void (*release)(void *context),
                           void *context, cai_stream **out, cai_error *error) {
  return guard(error, [&] {
    device::require(out, "out");
    device::require_device(device);
    if (value == 0) {
      throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_STREAM},
                    "value is 0, which is never a stream: 1 is the legacy default stream");
    }
    if (device::is_cpu(device)) {
      throw Failure(CAI_ERR_DEVICE, {CAI_ENTRY_STREAM}, "the CPU has no foreign streams to wrap");
    }
    *out = device::wrap_gpu_stream(device, value, release, context).let_go();
  });
}

void cai_stream_retain(cai_stream *stream) {
  if (stream) stream->holders.fetch_add(1, std::memory_order_relaxed);
}

void cai_stream_release(cai_stream *stream) {
  if (device::drop_holder(stream)) stream->retire();
}

uint64_t cai_stream_value(const cai_stream *stream) {
  return stream ? stream->value() : 0;
}

cai_status cai_stream_describe(cai_stream *stream, cai_stream_info *out, cai_error *error) {
  return guard(error, [&] {
    device::require(stream, "stream");
    device::require_size(device::require(out, "out")->struct_size);
    stream->require_alive();
    cai_stream_info info{};
    info.mode = stream->mode;
    info.device = stream->device;
    info.value = stream->value();
    stream->describe(info);
    give_out(info, out);
  });
}
