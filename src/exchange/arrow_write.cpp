// SPDX-License-Identifier: BSD-3-Clause
// Makes Arrow's columns from arrays.
#include <memory>

#include "core/layout.hpp"
#include "core/text.hpp"
#include "exchange/arrow_format.hpp"
#include "exchange/device.hpp"
#include "order/producers.hpp"
#include "order/publish.hpp"
#include "order/trace.hpp"
#include "order/waiting.hpp"
#include "order/without_driver.hpp"

namespace cai::exchange {
namespace {

// A column's private_data points to this. The column itself may be moved.
struct ColumnData {
  cai_owner *owner = nullptr;
  const void *buffers[2] = {};
  order::Event event;      // libcai's own event
  void *handle = nullptr;  // the event to wait for, libcai's or another: sync_event points here
};

void release_column(ArrowArray *column) {
  const std::unique_ptr<ColumnData> held(static_cast<ColumnData *>(column->private_data));
  column->release = nullptr;
  held->owner->release(held->owner);
}

void release_schema(ArrowSchema *schema) {
  schema->release = nullptr;
}

const void *pointer(uint64_t address) noexcept {
  return reinterpret_cast<const void *>(static_cast<uintptr_t>(address));
}

void require_dims(const cai_array &array) {
  if (array.ndim != 1) {
    throw Failure(CAI_ERR_EXPORT, {CAI_ENTRY_SHAPE},
                  "shape has %d dimensions, and a column has one", static_cast<int>(array.ndim));
  }
  if (array.data == 0 || is_c_contiguous(1, array.shape, array.strides, array.dtype.itemsize)) {
    return;
  }
  throw Failure(CAI_ERR_EXPORT, {CAI_ENTRY_STRIDES, 0},
                "strides[0] is %lld bytes, but the items of a column are contiguous",
                static_cast<long long>(array.strides[0]));
}

void require_mask(const cai_array &array) {
  const cai_array &mask = *array.mask;
  if (mask.dtype.kind != 't') {
    throw Failure(CAI_ERR_EXPORT, {CAI_ENTRY_MASK},
                  "mask: its elements are bytes, and a validity bitmap is of bits");
  }
  if (mask.ndim != 1 || mask.shape[0] != array.shape[0]) {
    throw Failure(CAI_ERR_EXPORT, {CAI_ENTRY_MASK},
                  "mask: its shape is %s, and a column needs a bit for each item",
                  Printed(mask.shape, mask.ndim).c_str());
  }
}

// The event to wait for, if there is pending work. The host waits here for the host's own work.
void find_event(const cai_array &array, uint64_t stream, ColumnData &held) {
  const order::trace::Call call("cai_arrow_write", order::trace::stream(stream), array);
  order::await_host_work(array, true);
  if (order::nothing_on_gpu_before(array, 0)) {
    if (order::trace::on()) order::tell_nothing_before(array, stream);
    return;
  }
  order::with_context_for(array, stream, [&] { held.event = order::event_after(array, stream); });
  held.handle = held.event.handle();
}

// Pinned memory is used by the host, too.
uint64_t address_for_consumers(const cai_array &array) {
  uint64_t address = array.data;
  cai_error error;
  if (array.device_type == CAI_DEVICE_CUDA_HOST &&
      cai_array_host(&array, &address, &error) != CAI_OK) {
    throw Failure(error);
  }
  return address;
}

void write(const cai_array &array, uint64_t stream, ArrowSchema *schema, ArrowDeviceArray *column) {
  cai_error error;
  const auto require = [&](cai_status status) {
    if (status) throw Failure(error);
  };
  const char *format = nullptr;
  require(validate_device(array.device_type, &error));
  require_dims(array);
  require(write_format(array.dtype, &format, &error));
  if (array.mask) require_mask(array);
  int32_t device_id = -1;
  if (array.device_type != CAI_DEVICE_CPU) require(find_device_id(array, &device_id, &error));

  auto held = std::make_unique<ColumnData>();
  held->owner = array.owner;
  held->buffers[0] = array.mask ? pointer(address_for_consumers(*array.mask)) : nullptr;
  held->buffers[1] = pointer(address_for_consumers(array));
  find_event(array, stream, *held);

  *column = {};  // from here on nothing can fail
  column->device_id = device_id;
  column->device_type = array.device_type;
  if (held->handle) column->sync_event = static_cast<void *>(&held->handle);
  column->array.length = array.shape[0];
  column->array.null_count = held->buffers[0] ? -1 : 0;
  column->array.n_buffers = 2;
  column->array.buffers = held->buffers;
  column->array.release = release_column;
  column->array.private_data = held.release();
  array.owner->retain(array.owner);
  if (!schema) return;
  *schema = {};
  schema->format = format;
  schema->flags = array.mask ? ARROW_FLAG_NULLABLE : 0;
  schema->release = release_schema;
}

}  // namespace
}  // namespace cai::exchange

using namespace cai;

cai_status cai_arrow_write(const cai_array *array, uint64_t stream, struct ArrowSchema *schema,
                           struct ArrowDeviceArray *column, cai_error *error) {
  if (!array || !column) return fail(error, CAI_ERR_ARGUMENT, {}, "array or column is NULL");
  return guard(error, [&] {
    if (!is_own_array(*array)) order::require_valid_stranger(*array, -1);
    order::require_not_freed(*array, -1);
    if (!array->owner) {
      throw Failure(CAI_ERR_ARGUMENT, {}, "the array is borrowed: it cannot be held");
    }
    if (array->device_type != CAI_DEVICE_CPU) order::require_stream(stream);
    exchange::write(*array, stream, schema, column);
  });
}
