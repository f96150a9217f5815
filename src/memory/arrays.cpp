// SPDX-License-Identifier: BSD-3-Clause
// From memory to arrays, and back.
#include <algorithm>
#include <cinttypes>
#include <mutex>

#include "core/layout.hpp"
#include "core/owned.hpp"
#include "device/current.hpp"
#include "device/gpu_stream.hpp"
#include "device/primary.hpp"
#include "memory/host_address.hpp"
#include "memory/memory.hpp"
#include "order/producers.hpp"

namespace cai::memory {
namespace {

void release_memory(void *memory) {
  cai_memory_release(static_cast<cai_memory *>(memory));
}

int32_t device_type_of(const cai_memory &memory) noexcept {
  const uint32_t kind = memory.facts.kind;
  if (kind == CAI_KIND_HOST) return CAI_DEVICE_CPU;
  // Memory of the CPU's that a GPU's manager has pinned is the GPU's, too.
  const cai_memory &root = memory.root();
  const bool is_pinned = kind == CAI_KIND_PINNED || kind == CAI_KIND_MAPPED;
  const bool by_gpu = root.manager && root.manager->device().type == CAI_DEVICE_CUDA;
  if (is_pinned && (by_gpu || memory.is_of_gpu())) return CAI_DEVICE_CUDA_HOST;
  if (!memory.is_of_gpu()) return CAI_DEVICE_CPU;
  switch (kind) {
    case CAI_KIND_MANAGED:
    case CAI_KIND_MANAGED_GLOBAL:
    case CAI_KIND_PITCHED_MANAGED:
      return CAI_DEVICE_CUDA_MANAGED;
    default:
      return CAI_DEVICE_CUDA;
  }
}

int32_t device_id_of(const cai_memory &memory, int32_t device_type) noexcept {
  if (device_type == CAI_DEVICE_CPU) return 0;
  const cai_memory &root = memory.root();
  return memory.is_of_gpu() ? memory.facts.device.id : root.manager->device().id;
}

// C order; the last but one axis of memory in rows steps from row to row.
void fill_strides(const cai_memory_info &facts, const cai_dtype &dtype, int32_t ndim,
                  const int64_t *shape, int64_t *strides) {
  int64_t units;
  if (fill_c_strides(ndim, shape, dtype.itemsize, strides, &units) != LayoutFault::none) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_SHAPE}, "the shape has too many elements");
  }
  if (ndim < 2 || facts.rows < 2) return;
  const auto pitch = static_cast<int64_t>(facts.pitch);
  if (strides[ndim - 2] > pitch) {
    throw Failure(CAI_ERR_BOUNDS, {CAI_ENTRY_SHAPE, ndim - 1},
                  "a row of %" PRId64 " bytes does not fit in the pitch, %" PRId64,
                  strides[ndim - 2], pitch);
  }
  int64_t step = pitch;
  for (int32_t axis = ndim - 2; axis >= 0; --axis) {
    strides[axis] = step;
    if (!multiply(step, shape[axis] > 0 ? shape[axis] : 1, &step)) {
      throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_SHAPE}, "the shape has too many elements");
    }
  }
}

void check_bounds(const cai_memory_info &facts, uint64_t offset, const cai_array &array) {
  Extent extent;
  cai_error error;
  if (extent_of(array, &extent, &error) != CAI_OK) throw Failure(error);
  const uint64_t below = uint64_t{0} - static_cast<uint64_t>(extent.lo);
  const auto above = static_cast<uint64_t>(extent.hi);
  if (offset <= facts.size && below <= offset && above <= facts.size - offset) return;
  throw Failure(CAI_ERR_BOUNDS, {},
                "bytes [%" PRId64 ", %" PRId64 ") around offset %" PRIu64
                " leave the memory, which has %" PRIu64,
                extent.lo, extent.hi, offset, facts.size);
}

// Says the memory's stream, and whose 2 it is.
void say_stream(cai_memory &root, cai_array &array) {
  array.stream_kind = CAI_STREAM_NONE;
  if (array.device_type == CAI_DEVICE_CPU) return;
  const std::lock_guard lock(root.lock);
  array.stream = cai_stream_value(root.line.stream.get());
  if (array.stream == 0) return;
  array.stream_kind = CAI_STREAM_STREAM;
  if (root.line.thread == 0) return;
  std::uint64_t said = 0;
  if (!thread_said_by(&root).compare_exchange_strong(said, root.line.thread) &&
      said != root.line.thread) {
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM},
                  "the memory's stream is 2, and arrays of it have that of thread %" PRIu64, said);
  }
}

cai_array *array_of(cai_memory &memory, uint64_t offset, const cai_dtype &dtype, int32_t ndim,
                    const int64_t *shape, const int64_t *strides) {
  const cai_memory_info &facts = memory.facts;
  if (facts.kind == CAI_KIND_CUDA_ARRAY) {
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "a CUDA array has no address to make an array of");
  }
  if (ndim < 0 || ndim > CAI_MAX_NDIM) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_SHAPE}, "ndim is %d", ndim);
  }
  if (ndim > 0 && !shape) throw Failure(CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE}, "shape is NULL");
  int64_t made[CAI_MAX_NDIM];
  if (!strides) {
    fill_strides(facts, dtype, ndim, shape, made);
    strides = made;
  }
  cai_array array{};
  array.abi_major = CAI_ABI_MAJOR;
  array.abi_minor = CAI_ABI_MINOR;
  array.flags = dtype.byteorder == '>' ? uint32_t{CAI_FLAG_SWAPPED} : 0;
  if (facts.flags & CAI_MEMORY_READONLY) array.flags |= CAI_FLAG_READONLY;
  array.device_type = device_type_of(memory);
  array.device_id = device_id_of(memory, array.device_type);
  array.dtype = dtype;
  array.ndim = ndim;
  array.shape = shape;
  array.strides = strides;
  array.version = CAI_INTERFACE_VERSION;
  check_bounds(facts, offset, array);
  array.data = order::has_no_elements(array) ? 0 : facts.data + offset;
  cai_memory &root = memory.root();
  say_stream(root, array);

  cai_array *out = nullptr;
  cai_error error;
  cai_memory_retain(&root);
  if (cai_array_own(&array, release_memory, &root, &out, &error) != CAI_OK) {
    cai_memory_release(&root);
    throw Failure(error);
  }
  // The memory keeps the uses of all its arrays, as it does for views.
  out->owner->keeper = &root;
  out->owner->used_on = nullptr;
  out->owner->await_uses = nullptr;
  return out;
}

// ---- Memory of arrays

// Memory that holds an array of somebody's. Its stream comes after the array's, and when it is
// given back the array's comes after what was done here.
void end_use_of_array(cai_memory &memory, std::uint64_t stream) {
  const auto *const array = static_cast<const cai_array *>(memory.context);
  cai_error error;
  const cai_status status = guard(&error, [&] {
    if (stream == 0 || !device::is_alive(memory.facts.device.id, memory.epoch)) return;
    driver::Session session;
    order::Stream mine{stream, device::primary(session, memory.facts.device.id).context, -1};
    identify(session, mine);
    session.in(mine.context, [&] {
      cai_error problem;
      const cai_use_options at_end{sizeof at_end, CAI_ORDER_END, CAI_ACCESS_DEFAULT, 0, nullptr};
      cai_use use;
      if (cai_use_begin(&use, &array, 1, stream, &at_end, &problem) != CAI_OK) {
        throw Failure(problem);
      }
      const cai_status ended = cai_use_end(&use, &problem);
      if (ended == CAI_OK) return;
      if (ended != CAI_ERR_CAPTURE) cai_use_abandon(&use);
      throw Failure(problem);
    });
    session.finish();
  });
  if (status != CAI_ERR_CAPTURE) cai_array_release(array);  // else there is another try
  if (status != CAI_OK) throw Failure(error);
}

void begin_use_of_array(const cai_memory &memory, const cai_array *array) {
  driver::Session session;
  const order::Stream stream = device::gpu_stream(*memory.line.stream.get()).stream();
  session.in(stream.context, [&] {
    cai_error error;
    const cai_use_options now{sizeof now, CAI_ORDER_BEGIN, CAI_ACCESS_DEFAULT, 0, nullptr};
    cai_use use;
    if (cai_use_begin(&use, &array, 1, stream.value, &now, &error) != CAI_OK) {
      throw Failure(error);
    }
  });
  session.finish();
}

uint32_t kind_of(const cai_location &where) noexcept {
  switch (where.device_type) {
    case CAI_DEVICE_CUDA_HOST:
      return CAI_KIND_PINNED;
    case CAI_DEVICE_CUDA_MANAGED:
      return CAI_KIND_MANAGED_GLOBAL;
    default:
      return CAI_KIND_DEFAULT;
  }
}

cai_location locate(const cai_array &array) {
  cai_location where{};
  where.struct_size = sizeof where;
  cai_error error;
  if (cai_array_locate(&array, &where, &error) != CAI_OK) throw Failure(error);
  return where;
}

// Memory of the array's extent, that holds it; `below` gets the bytes before the first element.
HeldMemory hold_array(const cai_array &array, uint64_t *below) {
  Extent extent;
  cai_error error;
  if (extent_of(array, &extent, &error) != CAI_OK) throw Failure(error);
  const cai_location where = locate(array);
  const bool is_cpu = array.device_type == CAI_DEVICE_CPU;
  const cai_device device =
      is_cpu ? device::cpu : cai_device{CAI_DEVICE_CUDA, std::max(where.device_id, 0)};
  HeldMemory memory = new_memory(device, kind_of(where));
  cai_memory_info &facts = memory->facts;
  *below = uint64_t{0} - static_cast<uint64_t>(extent.lo);
  facts.flags = CAI_MEMORY_FOREIGN;
  if (array.flags & CAI_FLAG_READONLY) facts.flags |= CAI_MEMORY_READONLY;
  facts.size = facts.row = facts.pitch = *below + static_cast<uint64_t>(extent.hi);
  facts.data = extent.empty() ? 0 : array.data - *below;
  const bool is_for_host = where.flags & CAI_LOCATION_HOST_ACCESSIBLE;
  if (array.device_type == CAI_DEVICE_CUDA_HOST) {
    facts.host = extent.empty() ? 0 : host_address(array) - *below;
  } else if (is_for_host) {
    facts.host = facts.data;
  }

  cai_array *held = nullptr;  // the struct itself may be the caller's
  if (cai_array_slice(&array, nullptr, 0, &held, &error) != CAI_OK) throw Failure(error);
  memory->context = held;
  memory->give_back = end_use_of_array;
  memory->keeper = keeper_of(*held);  // of the work of the host's own, for both
  if (is_cpu || extent.empty()) return memory;
  note_device(*memory);
  Line line(device::current_stream(device));
  memory->line = std::move(line);
  begin_use_of_array(*memory, held);
  memory->ordered = true;
  memory->flags |= CAI_OWNER_STREAM_ORDERED;
  return memory;
}

HeldMemory memory_of(const cai_array &array, uint64_t *offset) {
  cai_memory *const memory = memory_under(array);
  if (!memory) return hold_array(array, offset);
  *offset = array.data ? array.data - memory->facts.data : 0;
  const bool loses_mark =
      array.flags & CAI_FLAG_READONLY && !(memory->facts.flags & CAI_MEMORY_READONLY);
  if (loses_mark) return read_only_view_of(*memory);
  cai_memory_retain(memory);
  return HeldMemory(memory);
}

}  // namespace
}  // namespace cai::memory

using namespace cai;

cai_status cai_memory_array(cai_memory *memory, uint64_t offset, const cai_dtype *dtype,
                            int32_t ndim, const int64_t *shape, const int64_t *strides,
                            cai_array **out, cai_error *error) {
  return guard(error, [&] {
    cai_memory &alive = memory::must_live(memory);
    if (!dtype || !out) throw Failure(CAI_ERR_ARGUMENT, {}, "dtype or out is NULL");
    *out = memory::array_of(alive, offset, *dtype, ndim, shape, strides);
  });
}

cai_status cai_memory_of(const cai_array *array, cai_memory **out, uint64_t *offset,
                         cai_error *error) {
  return guard(error, [&] {
    if (!array || !out) throw Failure(CAI_ERR_ARGUMENT, {}, "array or out is NULL");
    order::judge(array, -1);
    if (!array->owner) throw Failure(CAI_ERR_ARGUMENT, {}, "array is borrowed: nothing holds it");
    uint64_t within = 0;
    memory::HeldMemory found = memory::memory_of(*array, &within);
    *out = found.let_go();
    if (offset) *offset = within;
  });
}
