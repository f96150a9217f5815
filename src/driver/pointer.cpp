// SPDX-License-Identifier: BSD-3-Clause
#include "driver/pointer.hpp"

#include <cstring>

namespace cai::driver {
namespace {

// The query for several attributes: for an unknown address it returns zeros instead of failing.
CUresult query(const Driver &cu, std::uint64_t address, bool with_device_pointer, Pointer &out) {
  // The driver writes one to eight bytes of a value, or none; `value` is zero before.
  enum { context, type, ordinal, managed, host, base, size, device, count };
  CUpointer_attribute attributes[count] = {
      attribute_context,    attribute_memory_type,    attribute_device_ordinal,
      attribute_is_managed, attribute_host_pointer,   attribute_range_start,
      attribute_range_size, attribute_device_pointer,
  };
  alignas(8) unsigned char values[count][8] = {};
  void *data[count];
  for (int i = 0; i < count; ++i) data[i] = values[i];
  const unsigned asked = with_device_pointer ? count : device;
  const CUresult result = cu.cuPointerGetAttributes(asked, attributes, data, address);
  if (result != success) return result;

  const auto read = [&](auto &field, int which) {
    static_assert(sizeof field <= sizeof values[0]);
    std::memcpy(static_cast<void *>(&field), values[which], sizeof field);
  };
  static constexpr unsigned char zeros[8] = {};
  read(out.context, context);
  read(out.memory_type, type);
  read(out.ordinal, ordinal);
  out.managed = std::memcmp(values[managed], zeros, sizeof zeros) != 0;
  read(out.host_pointer, host);
  read(out.base, base);
  read(out.size, size);
  read(out.device_pointer, device);
  return success;
}

void query_or_throw(const Driver &cu, std::uint64_t address, Pointer &out) {
  if (const CUresult result = query(cu, address, true, out)) {
    throw Failure(failure_of(cu.cuPointerGetAttributes.name, result));
  }
}

}  // namespace

Pointer ask_without_context(const Driver &cu, std::uint64_t address) {
  Pointer found;
  const CUresult result = query(cu, address, false, found);
  if (result != success) throw Failure(failure_of(cu.cuPointerGetAttributes.name, result));
  return found;
}

Pointer ask(Session &session, std::uint64_t address, int device) {
  const Driver &cu = session.cu;
  Pointer found;
  if (session.current()) {
    query_or_throw(cu, address, found);
    return found;
  }
  // Without a current context, the device's address of the memory is meaningless, and a driver may
  // refuse to answer.
  const CUresult result = query(cu, address, false, found);
  if (result != success && result != error_invalid_context) {
    throw Failure(failure_of(cu.cuPointerGetAttributes.name, result));
  }
  CUcontext context = found.context;
  if (!context) {
    const int ordinal = found.known() ? found.ordinal : device;
    if (ordinal >= 0) context = session.of_device(ordinal);
  }
  if (context) {
    session.in(context, [&] { query_or_throw(cu, address, found); });
  } else if (result != success) {
    throw Failure(failure_of(cu.cuPointerGetAttributes.name, result));
  }
  return found;
}

}  // namespace cai::driver
