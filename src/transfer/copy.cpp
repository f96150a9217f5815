// SPDX-License-Identifier: BSD-3-Clause
// Copies between arrays of any layout, on any two devices.
#include <cinttypes>
#include <cstring>

#include "core/fields.hpp"
#include "core/layout.hpp"
#include "core/overlap.hpp"
#include "core/typestr.hpp"
#include "device/current.hpp"
#include "device/gpu_stream.hpp"
#include "device/primary.hpp"
#include "exchange/host_address.hpp"
#include "order/owned.hpp"
#include "order/waiting.hpp"
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
  // Of numbers, the typestr alone is the type; and bytes without fields may be any type's.
  if (from.dtype.kind == 'V' && from.descr && to.descr &&
      !same_types(from.descr, from.descr_count, to.descr, to.descr_count)) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_DESCR}, "from and to have fields of different types");
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

// What a copy does with elements, or with a mask: copies them, or fills those of `to`.
struct Part {
  const cai_array *from;  // null: it fills
  const cai_array *to;
  const unsigned char *value;  // of all elements, if it fills
  cai_device from_device, to_device;

  static Part copies(const cai_array &from, const cai_array &to) {
    return {&from, &to, nullptr, device_of(from), device_of(to)};
  }
  static Part fills(const cai_array &to, const unsigned char *value) {
    return {nullptr, &to, value, {}, device_of(to)};
  }
};

// The elements first: if that fails, the mask is unchanged.
struct Parts {
  void add(const Part &part) noexcept { all[count++] = part; }

  Part all[2] = {};
  int count = 0;
};

class HostCopy final : public HostWork {
 public:
  explicit HostCopy(const Walk &walk) : walk_(walk) {}
  void run() noexcept override { copy_on_host(walk_); }

 private:
  Walk walk_;
};

// The host's work on elements, and then on a mask.
class HostSteps final : public HostWork {
 public:
  HostSteps(std::unique_ptr<HostWork> first, std::unique_ptr<HostWork> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  void run() noexcept override {
    first_->run();
    second_->run();
  }

 private:
  std::unique_ptr<HostWork> first_, second_;
};

std::unique_ptr<HostWork> on_host(const Part &part) {
  if (!part.from) return fill_by_host(*part.to, part.value);
  return std::make_unique<HostCopy>(walk_on_host(*part.to, *part.from));
}

void work_by_host(cai_stream &stream, const Parts &parts, const Use *uses) {
  std::unique_ptr<HostWork> work = on_host(parts.all[0]);
  if (parts.count > 1) {
    work = std::make_unique<HostSteps>(std::move(work), on_host(parts.all[1]));
  }
  work_on_host(stream, std::move(work), uses, 2);
}

void queue_copy(driver::Session &session, driver::CUstream handle, cai_device device,
                const Part &part) {
  const cai_array &from = *part.from, &to = *part.to;
  const Walk walk = walk_over(to, from);
  Side from_side{is_of_host(from)}, to_side{is_of_host(to)};
  if (from_side.on_host && to_side.on_host) {
    driver::call(session.cu.cuStreamSynchronize, handle);
    return copy_on_host(walk);
  }
  // The stream's GPU may have no access to another GPU's own memory, for example a pool's.
  const auto gpu_of = [&](const cai_array &array, cai_device its) {
    return array.device_type == CAI_DEVICE_CUDA_MANAGED ? device.id : its.id;
  };
  const int32_t reader = gpu_of(from, part.from_device), writer = gpu_of(to, part.to_device);
  if (!is_for_host(from) && !is_for_host(to) && reader != writer) {
    from_side.context = device::primary(session, reader).context;
    to_side.context = device::primary(session, writer).context;
  }
  copy_on_device(session.cu, walk, to_side, from_side, handle);
}

void queue(driver::Session &session, driver::CUstream handle, cai_device device, const Part &part) {
  part.from ? queue_copy(session, handle, device, part)
            : queue_fill(session, handle, *part.to, part.value);
}

// Another GPU's stream does the work: after what the stream has, and before what it gets next.
void queue_between(driver::Session &session, const order::Stream &stream, cai_stream &helper,
                   const Part &part) {
  order::Stream here = stream, there = device::gpu_stream(helper).stream();
  order::Event before, after;
  order::order(session, here, there, order::Edge::event, before);
  cai_error error;
  const cai_status status = guard(&error, [&] {
    session.in(there.context, [&] { queue(session, there.handle(), helper.device, part); });
  });
  const cai_status returned = guard(status == CAI_OK ? &error : nullptr, [&] {
    order::order(session, there, here, order::Edge::event, after);
  });
  if (status == CAI_OK && returned == CAI_OK) return;
  session.faults.attempt(session.cu.cuStreamSynchronize, there.handle());
  throw Failure(error);
}

bool can_do(const cai_stream &stream, const Part &part) noexcept {
  const bool to_served = serves(stream, *part.to, part.to_device);
  const bool is_cpu = device::is_cpu(stream.device);
  if (!part.from) return to_served || (!is_cpu && is_of_host(*part.to));
  const bool from_served = serves(stream, *part.from, part.from_device);
  // A GPU can access the other side, too; the host cannot.
  return is_cpu ? from_served && to_served : from_served || to_served;
}

// Another GPU may have no access to a GPU's memory, for example a pool's.
cai_device usual_device(const Part &part) {
  if (!part.from || part.to->device_type == CAI_DEVICE_CUDA) return part.to_device;
  const bool by_reader = is_of_host(*part.to) || part.from->device_type == CAI_DEVICE_CUDA;
  return by_reader ? part.from_device : part.to_device;
}

[[noreturn, gnu::cold]] void fail_stream(const cai_stream &stream, const Part &part) {
  const device::Text to(part.to_device), got(stream.device);
  if (!part.from) {
    throw Failure(CAI_ERR_DEVICE, {}, "expected a stream that fills a mask on %s, got one of %s",
                  to.text, got.text);
  }
  throw Failure(CAI_ERR_DEVICE, {}, "expected a stream that copies from %s to %s, got one of %s",
                device::Text(part.from_device).text, to.text, got.text);
}

// Whether a stream of another GPU may do the part, if that of the copy cannot: a mask need not be
// where the elements are; and if there is no mask to copy, only the GPU of `to` can fill its.
bool may_have_helper(const cai_stream &stream, const Parts &parts, const Part &part) noexcept {
  return !device::is_cpu(stream.device) && (&part != parts.all || !part.from);
}

// The given stream, which must be able to do all parts without a helper; or else the thread's
// current one for the first part.
device::HeldStream stream_for(const Parts &parts, cai_stream *given) {
  const Part &first = parts.all[0];
  if (!given) return device::current_stream(usual_device(first));
  for (const Part *part = parts.all; part != parts.all + parts.count; ++part) {
    if (!may_have_helper(*given, parts, *part) && !can_do(*given, *part)) {
      fail_stream(*given, *part);
    }
  }
  return device::HeldStream::one_more(given);
}

device::HeldStream helper_for(const cai_stream &stream, const Parts &parts) {
  const Part &last = parts.all[parts.count - 1];
  if (!may_have_helper(stream, parts, last) || can_do(stream, last)) return {};
  return device::current_stream(usual_device(last));
}

// All is asked before anything is queued: the one use has both arrays with their masks.
void work_by_gpu(cai_stream &stream, Parts parts, const Use *uses) {
  const device::HeldStream helper = helper_for(stream, parts);
  if (helper.get()) {
    for (cai_stream *const each : {&stream, helper.get()}) {
      require_not_capturing(*each, "two GPUs copy the elements and the mask");
    }
  }
  Part &last = parts.all[parts.count - 1];
  const cai_array filled = last.from ? cai_array{} : as_gpu_finds(*last.to);
  if (!last.from) last.to = &filled;
  work_on_gpu(stream, uses, 2, [&](driver::Session &session, driver::CUstream handle) {
    for (const Part *part = parts.all; part != parts.all + parts.count; ++part) {
      part == &last &&helper.get()
          ? queue_between(session, device::gpu_stream(stream).stream(), *helper.get(), *part)
          : queue(session, handle, stream.device, *part);
    }
  });
}

void copy(const cai_array &from, const cai_array &to, const Parts &parts, cai_stream *given) {
  if (parts.count == 0) return;
  const device::HeldStream stream = stream_for(parts, given);
  const Use uses[] = {{&from, CAI_ACCESS_READ}, {&to, CAI_ACCESS_WRITE}};
  device::is_cpu(stream.get()->device) ? work_by_host(*stream.get(), parts, uses)
                                       : work_by_gpu(*stream.get(), parts, uses);
}

void copy_elements(const cai_array &from, const cai_array &to, cai_stream *stream) {
  Parts parts;
  if (!has_no_elements(to)) parts.add(Part::copies(from, to));
  copy(from, to, parts, stream);
}

// An array whose mask names the owner, so that a use of it finds the mask's uses, too.
struct WithOwnedMask {
  explicit WithOwnedMask(const cai_array &whole) : array(whole) {
    if (!whole.mask) return;
    mask = mask_of(whole);
    array.mask = &mask;
  }
  WithOwnedMask(const WithOwnedMask &) = delete;
  WithOwnedMask &operator=(const WithOwnedMask &) = delete;

  cai_array array, mask{};
};

void copy_with_mask(const cai_array &from, const cai_array &to, cai_stream *stream) {
  if (!to.mask) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_MASK},
                  "mask: from has one and to has none: it would be lost which elements are valid");
  }
  const MaskCopy mask(from, to);
  const cai_array from_elements = without_mask(from), to_elements = without_mask(to);
  Parts parts;
  if (!has_no_elements(to)) parts.add(Part::copies(from_elements, to_elements));
  if (!has_no_elements(mask.to())) {
    parts.add(mask.fills() ? Part::fills(mask.to(), mask.value())
                           : Part::copies(mask.from(), mask.to()));
  }
  const WithOwnedMask all_from(from), all_to(to);
  copy(all_from.array, all_to.array, parts, stream);
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
                           : transfer::copy_elements(*from, *to, stream);
  });
}
