// SPDX-License-Identifier: BSD-3-Clause
// Copies between arrays of any layout, on any two devices.
#include <cinttypes>
#include <cstring>

#include "core/layout.hpp"
#include "core/overlap.hpp"
#include "core/typestr.hpp"
#include "device/current.hpp"
#include "device/primary.hpp"
#include "exchange/host_address.hpp"
#include "order/producers.hpp"
#include "transfer/device_work.hpp"
#include "transfer/host_work.hpp"
#include "transfer/masks.hpp"
#include "transfer/work.hpp"

namespace cai::transfer {
namespace {

void require_pair(const cai_array &from, const cai_array &to) {
  if (!same_dtype(from.dtype, to.dtype)) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_TYPESTR}, "from and to are of different types");
  }
  if (from.ndim != to.ndim) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_SHAPE}, "from has %d dimensions, and to %d", from.ndim,
                  to.ndim);
  }
  for (int32_t axis = 0; axis < to.ndim; ++axis) {
    if (from.shape[axis] == to.shape[axis]) continue;
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_SHAPE, axis},
                  "shape[%d] of from is %" PRId64 ", and of to %" PRId64, axis, from.shape[axis],
                  to.shape[axis]);
  }
  require_writable(to, "to");
  if (overlap(exchange::as_host_finds(to), exchange::as_host_finds(from))) {
    throw Failure(CAI_ERR_LAYOUT, {CAI_ENTRY_DATA}, "from and to overlap");
  }
}

class HostCopy final : public HostWork {
 public:
  explicit HostCopy(const Walk &walk) : walk_(walk) {}
  void run() noexcept override { copy_on_host(walk_); }

 private:
  Walk walk_;
};

void copy_by_host(cai_stream &stream, const cai_array &from, const cai_array &to) {
  const Use uses[] = {{&from, CAI_ACCESS_READ}, {&to, CAI_ACCESS_WRITE}};
  work_on_host(stream, std::make_unique<HostCopy>(walk_on_host(to, from)), uses, 2);
}

void copy_by_gpu(cai_stream &stream, const cai_array &from, cai_device from_device,
                 const cai_array &to, cai_device to_device) {
  const Walk walk = walk_over(to, from);
  const Use uses[] = {{&from, CAI_ACCESS_READ}, {&to, CAI_ACCESS_WRITE}};
  work_on_gpu(stream, uses, 2, [&](driver::Session &session, driver::CUstream handle) {
    Side from_side{is_of_host(from)}, to_side{is_of_host(to)};
    if (from_side.on_host && to_side.on_host) {
      driver::call(session.cu.cuStreamSynchronize, handle);
      return copy_on_host(walk);
    }
    // The stream's GPU may have no access to another GPU's own memory, for example a pool's.
    const auto gpu_of = [&](const cai_array &array, cai_device device) {
      return array.device_type == CAI_DEVICE_CUDA_MANAGED ? stream.device.id : device.id;
    };
    const int32_t reader = gpu_of(from, from_device), writer = gpu_of(to, to_device);
    if (!is_for_host(from) && !is_for_host(to) && reader != writer) {
      from_side.context = device::primary(session, reader).context;
      to_side.context = device::primary(session, writer).context;
    }
    copy_on_device(session.cu, walk, to_side, from_side, handle);
  });
}

bool can_copy(const cai_stream &stream, const cai_array &from, cai_device from_device,
              const cai_array &to, cai_device to_device) noexcept {
  const bool from_served = serves(stream, from, from_device);
  const bool to_served = serves(stream, to, to_device);
  // A GPU can access the other side, too; the host cannot.
  return device::is_cpu(stream.device) ? from_served && to_served : from_served || to_served;
}

// Another GPU may have no access to a GPU's memory, for example a pool's.
cai_device usual_device(const cai_array &from, cai_device from_device, const cai_array &to,
                        cai_device to_device) {
  if (to.device_type == CAI_DEVICE_CUDA) return to_device;
  const bool by_reader = is_of_host(to) || from.device_type == CAI_DEVICE_CUDA;
  return by_reader ? from_device : to_device;
}

}  // namespace

void copy(const cai_array &from, const cai_array &to, cai_stream *given) {
  if (has_no_elements(to)) return;
  const cai_device from_device = device_of(from), to_device = device_of(to);
  if (given && !can_copy(*given, from, from_device, to, to_device)) {
    throw Failure(CAI_ERR_DEVICE, {}, "expected a stream that copies from %s to %s, got one of %s",
                  device::Text(from_device).text, device::Text(to_device).text,
                  device::Text(given->device).text);
  }
  const device::HeldStream stream =
      given ? device::HeldStream::one_more(given)
            : device::current_stream(usual_device(from, from_device, to, to_device));
  device::is_cpu(stream.get()->device)
      ? copy_by_host(*stream.get(), from, to)
      : copy_by_gpu(*stream.get(), from, from_device, to, to_device);
}

namespace {

// The elements first: if that fails, the mask is unchanged.
void copy_with_mask(const cai_array &from, const cai_array &to, cai_stream *stream) {
  if (!to.mask) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_MASK},
                  "mask: from has one and to has none: it would be lost which elements are valid");
  }
  const MaskCopy mask(from, to);
  copy(without_mask(from), without_mask(to), stream);
  mask.fills() ? fill(mask.to(), mask.value(), stream) : copy(mask.from(), mask.to(), stream);
}

}  // namespace
}  // namespace cai::transfer

using namespace cai;

cai_status cai_array_copy(const cai_array *from, const cai_array *to, cai_stream *stream,
                          cai_error *error) {
  return guard(error, [&] {
    transfer::require_workable(from, "from");
    transfer::require_workable(to, "to");
    transfer::require_pair(*from, *to);
    from->mask || to->mask ? transfer::copy_with_mask(*from, *to, stream)
                           : transfer::copy(*from, *to, stream);
  });
}
