// SPDX-License-Identifier: BSD-3-Clause
// Makes arrays from memory, and memory from arrays.
#include <algorithm>
#include <cinttypes>
#include <mutex>

#include "core/fields.hpp"
#include "core/layout.hpp"
#include "core/overlap.hpp"
#include "core/text.hpp"
#include "core/typestr.hpp"
#include "core/validate.hpp"
#include "device/current.hpp"
#include "device/gpu_stream.hpp"
#include "device/primary.hpp"
#include "exchange/host_address.hpp"
#include "memory/memory.hpp"
#include "order/open_use.hpp"
#include "order/owned.hpp"
#include "order/producers.hpp"
#include "order/publish.hpp"
#include "order/releases.hpp"

namespace cai::memory {
namespace {

void release_memory(void *memory) {
  cai_memory_release(static_cast<cai_memory *>(memory));
}

int32_t device_type_of(const cai_memory &memory) noexcept {
  const uint32_t kind = memory.facts.kind;
  if (kind == CAI_KIND_HOST) return CAI_DEVICE_CPU;
  // CPU memory that a GPU's manager has pinned counts as the GPU's, too.
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

// C order. In pitched memory the next to last axis steps from row to row.
void fill_strides(const cai_memory_info &facts, const cai_dtype &dtype, int32_t ndim,
                  const int64_t *shape, int64_t *strides) {
  int64_t units;
  if (fill_c_strides(ndim, shape, dtype.itemsize, strides, &units) != LayoutFault::none) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_SHAPE}, "shape %s has too many elements",
                  Printed(shape, ndim).c_str());
  }
  const bool is_empty = std::count(shape, shape + ndim, 0) > 0;
  if (ndim < 2 || facts.rows < 2 || is_empty) return;
  const auto pitch = static_cast<int64_t>(facts.pitch);
  if (strides[ndim - 2] > pitch) {
    throw Failure(CAI_ERR_BOUNDS, {CAI_ENTRY_SHAPE, ndim - 1},
                  "a row of %" PRId64 " bytes does not fit in the pitch, %" PRId64,
                  strides[ndim - 2], pitch);
  }
  int64_t step = pitch;
  for (int32_t axis = ndim - 2; axis >= 0; --axis) {
    strides[axis] = step;
    if (!multiply(step, shape[axis], &step)) {
      throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_SHAPE}, "shape %s has too many elements",
                    Printed(shape, ndim).c_str());
    }
  }
}

void require_bounds(const cai_memory_info &facts, uint64_t offset, const cai_array &array) {
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

// Sets the stream of a new array, and of its mask, to the memory's. Notes whose 2 it is.
void say_stream(cai_memory &root, cai_array &array) {
  if (array.device_type == CAI_DEVICE_CPU) return;
  const std::lock_guard lock(root.lock);
  const std::uint64_t stream = cai_stream_value(root.free_stream.stream.get());
  const std::uint64_t thread = root.free_stream.thread;
  root.has_said_none |= stream == 0;
  if (stream == 0) return;
  std::uint64_t said = 0;
  if (thread != 0 && !thread_said_by(&root).compare_exchange_strong(said, thread) &&
      said != thread) {
    throw Failure(CAI_ERR_ORDER, {CAI_ENTRY_STREAM},
                  "the memory's stream is 2, and arrays of it have that of thread %" PRIu64,
                  kernel_id(said));
  }
  for (cai_array *const part : {&array, const_cast<cai_array *>(array.mask)}) {
    if (!part) continue;
    part->stream = stream;
    part->stream_kind = CAI_STREAM_STREAM;
  }
  array.owner->freed_on = stream;
  array.owner->thread = thread;
}

// A struct that describes an array without elements. Its other fields are neither read nor kept.
cai_array like_type(const cai_dtype &dtype, int32_t ndim, const int64_t *shape,
                    const int64_t *strides) noexcept {
  cai_array like{};
  like.abi_major = CAI_ABI_MAJOR;
  like.dtype = dtype;
  like.ndim = ndim;
  like.shape = shape;
  like.strides = strides;
  return like;
}

[[noreturn]] void fail_cuda_array() {
  throw Failure(CAI_ERR_UNSUPPORTED, {}, "a CUDA array has no address to make an array of");
}

void require_like(const cai_array &like) {
  cai_error error;
  if (validate_version(like, &error) != CAI_OK) throw Failure(error);
  if (like.ndim < 0 || like.ndim > CAI_MAX_NDIM) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_SHAPE}, "ndim is %d", like.ndim);
  }
  if (like.ndim > 0 && !like.shape) {
    throw Failure(CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE}, "shape is NULL");
  }
}

// cai_array_own() reports an invalid descr.
bool has_swapped_items(const cai_array &like) noexcept {
  bool swapped = is_swapped(like.dtype);
  if (like.descr) {
    int32_t index;
    bool field_swapped = false;
    const bool good = !fields_fault(like.descr, like.descr_count, like.dtype.itemsize, false,
                                    &index, &field_swapped);
    swapped = swapped || (good && field_swapped);
  }
  return swapped;
}

// An array at an offset of memory, without stream and mask. `made` receives the strides if `like`
// has none; they follow the memory's rows if `is_in_rows`.
cai_array lay_out(const cai_memory &memory, uint64_t offset, const cai_array &like, bool is_in_rows,
                  int64_t *made) {
  const cai_memory_info &facts = memory.facts;
  require_like(like);
  cai_array array = like_type(like.dtype, like.ndim, like.shape, like.strides);
  if (!like.strides) {
    fill_strides(is_in_rows ? facts : cai_memory_info{}, like.dtype, like.ndim, like.shape, made);
    array.strides = made;
  }
  array.abi_minor = CAI_ABI_MINOR;
  if (has_swapped_items(like)) array.flags |= CAI_FLAG_SWAPPED;
  if (facts.flags & CAI_MEMORY_READONLY) array.flags |= CAI_FLAG_READONLY;
  array.device_type = device_type_of(memory);
  array.device_id = device_id_of(memory, array.device_type);
  array.descr = like.descr;
  array.descr_count = like.descr_count;
  array.version = CAI_INTERFACE_VERSION;
  array.stream_kind = CAI_STREAM_NONE;
  require_bounds(facts, offset, array);
  array.data = has_no_elements(array) ? 0 : facts.data + offset;
  return array;
}

// Calls `of_mask`, and marks its failures as those of the mask.
template <class OfMask>
auto for_mask(OfMask &&of_mask) {
  try {
    return of_mask();
  } catch (const Failure &failure) {
    const cai_error &error = failure.error();
    throw Failure(error.status, {CAI_ENTRY_MASK, error.index}, "mask: %s", error.message);
  }
}

cai_array *array_like(cai_memory &memory, uint64_t offset, const cai_array &like,
                      uint64_t mask_offset) {
  if (memory.facts.kind == CAI_KIND_CUDA_ARRAY) fail_cuda_array();
  int64_t strides[CAI_MAX_NDIM], mask_strides[CAI_MAX_NDIM];
  cai_array array = lay_out(memory, offset, like, true, strides);
  cai_array mask;
  if (like.mask) {
    mask = for_mask([&] { return lay_out(memory, mask_offset, *like.mask, false, mask_strides); });
    if (overlap(mask, array)) {
      throw Failure(CAI_ERR_LAYOUT, {CAI_ENTRY_MASK}, "mask: it overlaps the elements");
    }
    array.mask = &mask;
    array.flags |= CAI_FLAG_MASKED;
  }

  cai_array *out = nullptr;
  cai_error error;
  cai_memory &root = memory.root();
  cai_memory_retain(&root);
  if (cai_array_own(&array, release_memory, &root, &out, &error) != CAI_OK) {
    cai_memory_release(&root);
    throw Failure(error);
  }
  // The memory keeps the uses of all its arrays, as it does for views.
  out->owner->keeper = &root;
  out->owner->used_on = nullptr;
  out->owner->await_uses = nullptr;
  try {
    say_stream(root, *out);  // last: one that is not made must not say whose stream it is
  } catch (...) {
    cai_array_release(out);
    throw;
  }
  return out;
}

// The bytes of the elements in C order, with `ndim` axes.
uint64_t bytes_of(const cai_array &like, int32_t ndim, const int64_t *shape) {
  int64_t strides[CAI_MAX_NDIM];
  fill_strides({}, like.dtype, ndim, shape, strides);
  const cai_array packed = like_type(like.dtype, ndim, shape, strides);
  Extent extent;
  cai_error error;
  if (extent_of(packed, &extent, &error) != CAI_OK) throw Failure(error);
  return static_cast<uint64_t>(extent.units);
}

constexpr uint64_t mask_alignment = 64;

// Computes the size of memory for the elements followed by the mask. Returns where the mask begins.
uint64_t size_request(const cai_array &like, cai_request *request) {
  require_like(like);
  const bool in_rows =
      request->kind == CAI_KIND_PITCHED || request->kind == CAI_KIND_PITCHED_MANAGED;
  request->size = bytes_of(like, like.ndim, like.shape);
  if (in_rows) {
    if (like.mask) {
      throw Failure(CAI_ERR_UNSUPPORTED, {CAI_ENTRY_MASK},
                    "mask: memory in rows has no room for one");
    }
    request->rows = 1;
    if (like.ndim > 0) {
      const int32_t others = like.ndim - 1;
      for (int32_t axis = 0; axis < others; ++axis) {
        request->rows *= static_cast<uint64_t>(like.shape[axis]);
      }
      request->size = bytes_of(like, 1, like.shape + others);
    }
  }
  if (!like.mask) return 0;
  const cai_array &mask = *like.mask;
  const uint64_t mask_size = for_mask([&] {
    require_like(mask);
    return bytes_of(mask, mask.ndim, mask.shape);
  });
  const uint64_t mask_offset = (request->size + mask_alignment - 1) & ~(mask_alignment - 1);
  request->size = mask_offset + mask_size;  // each is below 2^63; the allocation checks the sum
  return mask_offset;
}

cai_array *empty_like(const cai_array &like, cai_device device, const cai_request *given) {
  cai_request request{};
  if (given) request = read_request(given);
  request.struct_size = sizeof request;
  if (!given) request.kind = CAI_KIND_DEFAULT;
  if (request.size || request.rows || request.depth) {
    throw Failure(CAI_ERR_VALUE, {}, "request sets a size, which follows from the array");
  }
  if (request.kind == CAI_KIND_CUDA_ARRAY) fail_cuda_array();
  const uint64_t mask_offset = size_request(like, &request);
  cai_array in_c_order = like, mask;
  in_c_order.strides = nullptr;
  if (like.mask) {
    mask = *like.mask;
    mask.strides = nullptr;
    in_c_order.mask = &mask;
  }
  cai_memory *memory = nullptr;
  cai_error error;
  if (cai_memory_alloc(device, &request, &memory, &error) != CAI_OK) throw Failure(error);
  const HeldMemory held(memory);
  return array_like(*memory, 0, in_c_order, mask_offset);
}

// ---- Memory of arrays

// Memory of a foreign array. Its stream waits for the array's. When it is freed, the array's stream
// waits for the work done here. It keeps the array alive as long as it has references, even after
// it was freed, and may call the keeper.
void end_use_of_array(cai_memory &memory, std::uint64_t stream) {
  const cai_array *const array = memory.found_by;
  bool is_abandoned = false;
  cai_error error;
  const cai_status status = guard(&error, [&] {
    if (stream == 0 || !device::is_alive(memory.facts.device.id, memory.epoch)) return;
    if (is_freed(*array)) return;  // nobody waits for its uses, and its stream may be destroyed
    if (memory.unused) return;     // likewise: all of them are complete
    driver::Session session;
    order::Stream mine{stream, device::primary(session, memory.facts.device.id).context, -1};
    identify(session, mine);
    probe(session, mine);
    if (mine.capture && mine.capture.id != memory.begun_in) order::tell_of_uncaptured(*array, mine);
    session.in(mine.context, [&] {
      cai_error problem;
      const cai_use_options at_end{sizeof at_end, CAI_ORDER_END, CAI_ACCESS_DEFAULT, 0, nullptr};
      cai_use use;
      if (order::begin_use(&use, &array, 1, stream, at_end, &problem) != CAI_OK) {
        throw Failure(problem);
      }
      const cai_status ended = cai_use_end(&use, &problem);
      if (ended == CAI_OK) return;
      is_abandoned = ended != CAI_ERR_CAPTURE;
      if (is_abandoned) cai_use_abandon(&use);
      throw Failure(problem);
    });
    session.finish();
  });
  if (status == CAI_ERR_CAPTURE) throw Failure(error);  // it will be tried again
  // The owner must still learn of what is pending there.
  const bool is_unheard = status != CAI_OK && !is_abandoned;
  if (is_unheard) order::park(array->owner, {stream, nullptr, -1});
  if (status != CAI_OK) throw Failure(error);
}

void begin_use_of_array(cai_memory &memory, const cai_array *array) {
  driver::Session session;
  order::Stream stream = device::gpu_stream(*memory.free_stream.stream.get()).stream();
  probe(session, stream);
  memory.begun_in = stream.capture.id;
  session.in(stream.context, [&] {
    cai_error error;
    const cai_use_options now{sizeof now, CAI_ORDER_BEGIN, CAI_ACCESS_DEFAULT, 0, nullptr};
    cai_use use;
    const cai_status begun =
        order::begin_use(&use, &array, 1, stream.value, now, &error, order::tells_stream);
    if (begun != CAI_OK) throw Failure(error);
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

// Memory that covers the array's extent and holds the array. `below` receives the bytes before the
// first element.
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
    facts.host = extent.empty() ? 0 : exchange::host_address(array) - *below;
  } else if (is_for_host) {
    facts.host = facts.data;
  }

  cai_array elements = array;  // a mask is separate memory
  elements.mask = nullptr;
  elements.flags &= ~std::uint32_t{CAI_FLAG_MASKED};
  cai_array *held = nullptr;  // the struct itself may be the caller's
  if (cai_array_slice(&elements, nullptr, 0, &held, &error) != CAI_OK) throw Failure(error);
  memory->found_by = held;
  memory->keeper = keeper_of(*held);  // keeps the host's work on both
  if (is_cpu || extent.empty()) {
    memory->give_back = end_use_of_array;
    return memory;
  }
  note_device(*memory);
  FreeStream free_stream(device::current_stream(device));
  memory->free_stream = std::move(free_stream);
  begin_use_of_array(*memory, held);
  memory->give_back = end_use_of_array;  // not before: what is refused must not be ended later
  memory->ordered = true;
  memory->flags |= CAI_OWNER_STREAM_ORDERED;
  enter_if_it_may_die(*memory);
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
    cai_memory &alive = memory::require_live(memory);
    if (!dtype || !out) throw Failure(CAI_ERR_ARGUMENT, {}, "dtype or out is NULL");
    *out = memory::array_like(alive, offset, memory::like_type(*dtype, ndim, shape, strides), 0);
  });
}

cai_status cai_memory_array_like(cai_memory *memory, uint64_t offset, const cai_array *like,
                                 uint64_t mask_offset, cai_array **out, cai_error *error) {
  return guard(error, [&] {
    cai_memory &alive = memory::require_live(memory);
    if (!like || !out) throw Failure(CAI_ERR_ARGUMENT, {}, "like or out is NULL");
    *out = memory::array_like(alive, offset, *like, mask_offset);
  });
}

cai_status cai_array_empty_like(const cai_array *like, cai_device device,
                                const cai_request *request, cai_array **out, cai_error *error) {
  return guard(error, [&] {
    if (!like || !out) throw Failure(CAI_ERR_ARGUMENT, {}, "like or out is NULL");
    *out = memory::empty_like(*like, device, request);
  });
}

cai_status cai_memory_of(const cai_array *array, cai_memory **out, uint64_t *offset,
                         cai_error *error) {
  return guard(error, [&] {
    if (!array || !out) throw Failure(CAI_ERR_ARGUMENT, {}, "array or out is NULL");
    order::require_valid(array, -1);
    if (!array->owner) throw Failure(CAI_ERR_ARGUMENT, {}, "array is borrowed: nothing holds it");
    if (!memory::memory_under(*array)) order::require_not_freed(*array, -1);
    uint64_t within = 0;
    memory::HeldMemory found = memory::memory_of(*array, &within);
    *out = found.let_go();
    if (offset) *offset = within;
  });
}
