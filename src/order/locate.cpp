// SPDX-License-Identifier: BSD-3-Clause
// Asks the driver where an array's memory is.
#include <cinttypes>

#include "core/sizes.hpp"
#include "driver/pointer.hpp"
#include "order/producers.hpp"

namespace cai::order {
namespace {

// Throws CAI_ERR_BOUNDS if [address + lo, address + hi) is not within the allocation that contains
// address. No sum here can overflow.
void require_bounds(const cai_location &where, uint64_t address, const cai_layout &layout) {
  const uint64_t below = address - where.base;
  const uint64_t above = where.size - below;
  const uint64_t needed_below = uint64_t{0} - static_cast<uint64_t>(layout.lo);
  const uint64_t needed_above = static_cast<uint64_t>(layout.hi);
  if (needed_below <= below && needed_above <= above) return;
  throw Failure(
      CAI_ERR_BOUNDS, {CAI_ENTRY_DATA},
      "data: expected bytes in the allocation [0x%" PRIx64 ", 0x%" PRIx64 "), got [0x%" PRIx64
      ", 0x%" PRIx64 "), which leave the allocation: are the strides in bytes?",
      where.base, where.base + where.size, address - needed_below, address + needed_above);
}

cai_location locate(const cai_array &array) {
  cai_location where{};
  where.device_type = array.device_type;
  where.device_id = array.device_id;
  if (has_no_elements(array)) return where;
  if (array.device_type == CAI_DEVICE_CPU) {
    where.flags = CAI_LOCATION_HOST_ACCESSIBLE;
    where.device_pointer = array.data;
    return where;
  }
  cai_error error;
  cai_layout layout{};
  if (cai_array_layout(&array, &layout, &error) != CAI_OK) throw Failure(error);

  driver::Session session;
  const driver::Pointer pointer = driver::ask(session, array.data, array.device_id);
  session.finish();
  if (!pointer.known()) {
    throw Failure(CAI_ERR_DEVICE, {CAI_ENTRY_DATA},
                  "data: expected memory that the CUDA driver knows, got 0x%" PRIx64
                  ", which is not: was it freed, or is it the host's?",
                  array.data);
  }
  const bool on_host = pointer.memory_type == driver::memory_type_host;
  where.device_type = pointer.managed ? CAI_DEVICE_CUDA_MANAGED
                      : on_host       ? CAI_DEVICE_CUDA_HOST
                                      : CAI_DEVICE_CUDA;
  where.device_id = pointer.ordinal;
  where.context = reinterpret_cast<std::uintptr_t>(pointer.context);
  where.device_pointer = pointer.device_pointer;
  if (pointer.managed) where.flags |= CAI_LOCATION_MANAGED;
  if (pointer.managed || pointer.host_pointer == array.data) {
    where.flags |= CAI_LOCATION_HOST_ACCESSIBLE;
  }
  // If the host and the device use different addresses for the memory, the range has one of them.
  for (const uint64_t address : {array.data, pointer.device_pointer, pointer.host_pointer}) {
    if (address - pointer.base < pointer.size) {
      where.base = pointer.base;
      where.size = pointer.size;
      require_bounds(where, address, layout);
      break;
    }
  }
  return where;
}

}  // namespace
}  // namespace cai::order

using namespace cai;

cai_status cai_array_locate(const cai_array *array, cai_location *out, cai_error *error) {
  return guard(error, [&] {
    if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
    constexpr std::size_t least = sizeof out->struct_size + sizeof out->flags;
    if (out->struct_size < least) {
      throw Failure(CAI_ERR_ARGUMENT, {}, "out->struct_size is %u, less than %zu", out->struct_size,
                    least);
    }
    order::require_valid(array, -1);
    give_out(order::locate(*array), out);
  });
}
