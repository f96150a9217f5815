// SPDX-License-Identifier: BSD-3-Clause
// Sets all elements of an array to a value, and reads an element.
#include <cinttypes>
#include <cstring>
#include <vector>

#include "core/layout.hpp"
#include "device/current.hpp"
#include "exchange/host_address.hpp"
#include "order/pinned.hpp"
#include "order/waiting.hpp"
#include "transfer/device_work.hpp"
#include "transfer/host_work.hpp"
#include "transfer/masks.hpp"
#include "transfer/work.hpp"

namespace cai::transfer {
namespace {

class HostFill final : public HostWork {
 public:
  HostFill(const Walk &walk, const void *item, uint32_t itemsize) : walk_(walk), item_(itemsize) {
    std::memcpy(item_.data(), item, itemsize);
  }
  void run() noexcept override {
    fill_on_host(walk_, item_.data(), static_cast<uint32_t>(item_.size()));
  }

 private:
  Walk walk_;
  std::vector<unsigned char> item_;
};

// The given stream, which must be of the array's device, or else the thread's current one.
device::HeldStream stream_for(const cai_array &array, cai_stream *given) {
  const cai_device device = device_of(array);
  if (!given) return device::current_stream(device);
  if (serves(*given, array, device)) return device::HeldStream::one_more(given);
  throw Failure(CAI_ERR_DEVICE, {}, "expected a stream of %s, where the array is, got one of %s",
                device::Text(device).text, device::Text(given->device).text);
}

}  // namespace

std::unique_ptr<HostWork> fill_by_host(const cai_array &array, const void *value) {
  return std::make_unique<HostFill>(walk_on_host(array, array), value, array.dtype.itemsize);
}

cai_array as_gpu_finds(const cai_array &array) {
  cai_array found = array;
  found.data = order::device_address(array);
  return found;
}

void queue_fill(driver::Session &session, driver::CUstream stream, const cai_array &found,
                const void *value) {
  const Walk walk = walk_over(found, found);
  const uint32_t itemsize = found.dtype.itemsize;
  if (is_of_host(found)) {
    driver::call(session.cu.cuStreamSynchronize, stream);
    return fill_on_host(walk, value, itemsize);
  }
  fill_on_device(session.cu, walk, value, itemsize, stream);
}

namespace {

void fill(const cai_array &array, const void *value, cai_stream *given) {
  if (has_no_elements(array)) return;
  const device::HeldStream stream = stream_for(array, given);
  const Use use{&array, CAI_ACCESS_WRITE};
  if (device::is_cpu(stream.get()->device)) {
    return work_on_host(*stream.get(), fill_by_host(array, value), &use, 1);
  }
  const cai_array found = as_gpu_finds(array);
  work_on_gpu(*stream.get(), &use, 1, [&](driver::Session &session, driver::CUstream handle) {
    queue_fill(session, handle, found, value);
  });
}

// The address of an element.
uint64_t find(const cai_array &array, const int64_t *index) {
  if (array.ndim > 0 && !index) throw Failure(CAI_ERR_ARGUMENT, {}, "index is NULL");
  uint64_t address = array.data;
  for (int32_t axis = 0; axis < array.ndim; ++axis) {
    const int64_t extent = array.shape[axis];
    const int64_t at = index[axis] < 0 ? index[axis] + extent : index[axis];
    if (at < 0 || at >= extent) {
      throw Failure(CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE, axis},
                    "index[%d] is %" PRId64 ", and the extent %" PRId64, axis, index[axis], extent);
    }
    address += static_cast<uint64_t>(at * array.strides[axis]);
  }
  return address;
}

void require_item(const cai_array *array, const void *out) {
  require_workable(array, "array");
  if (array->mask) {
    throw Failure(CAI_ERR_UNSUPPORTED, {CAI_ENTRY_MASK},
                  "array has a mask: the element may be invalid");
  }
  if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
}

void read_item(const cai_array &array, uint64_t address, void *out) {
  const Use read{&array, CAI_ACCESS_READ};
  const Claims claims(&read, 1);
  const device::HeldStream stream = stream_for(array, nullptr);
  const uint32_t itemsize = array.dtype.itemsize;
  if (is_of_host(array)) {
    cai_error error;
    if (cai_stream_synchronize(stream.get(), &error) != CAI_OK) throw Failure(error);
    order::await_host_work(array, false);
    std::memcpy(out, reinterpret_cast<const void *>(static_cast<uintptr_t>(address)), itemsize);
    return;
  }
  // The item's bytes as a host array, so that the host waits for it.
  std::vector<unsigned char> item(itemsize);
  cai_array target{};
  target.abi_major = CAI_ABI_MAJOR;
  target.abi_minor = CAI_ABI_MINOR;
  target.data = reinterpret_cast<uintptr_t>(item.data());
  target.device_type = CAI_DEVICE_CPU;
  target.dtype = {'V', '|', CAI_EXT_NONE, 0, itemsize, 0};
  target.stream_kind = CAI_STREAM_NONE;
  target.version = CAI_INTERFACE_VERSION;
  const Use uses[] = {read, {&target, CAI_ACCESS_WRITE}};
  work_on_gpu(*stream.get(), uses, 2, [&](driver::Session &session, driver::CUstream handle) {
    driver::call(session.cu.cuMemcpyDtoHAsync, item.data(), address, itemsize, handle);
  });
  std::memcpy(out, item.data(), itemsize);
}

}  // namespace
}  // namespace cai::transfer

using namespace cai;

cai_status cai_array_fill(const cai_array *array, const void *value, cai_stream *stream,
                          cai_error *error) {
  return guard(error, [&] {
    transfer::require_workable(array, "array");
    if (!value) throw Failure(CAI_ERR_ARGUMENT, {}, "value is NULL");
    transfer::require_writable(*array, "array");
    transfer::fill(transfer::without_mask(*array), value, stream);
  });
}

cai_status cai_array_item(const cai_array *array, const int64_t *index, void *out,
                          cai_error *error) {
  return guard(error, [&] {
    transfer::require_item(array, out);
    transfer::read_item(*array, transfer::find(*array, index), out);
  });
}

cai_status cai_array_first(const cai_array *array, void *out, cai_error *error) {
  return guard(error, [&] {
    transfer::require_item(array, out);
    if (has_no_elements(*array)) {
      throw Failure(CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE}, "array has no elements");
    }
    transfer::read_item(*array, array->data, out);
  });
}

cai_status cai_array_eval(const cai_array *array, cai_error *error) {
  return guard(error, [&] {
    order::require_valid(array, -1);
    if (!has_no_elements(*array)) {
      const device::HeldStream stream = device::current_stream(transfer::device_of(*array));
      stream.get()->synchronize();
      stream.get()->raise_failure();
    }
    cai_error problem;
    if (cai_array_sync_host(array, &problem) != CAI_OK) throw Failure(problem);
  });
}
