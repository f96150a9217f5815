// SPDX-License-Identifier: BSD-3-Clause
// Checks memory's stated device, kind and size against the driver.
#include <cinttypes>
#include <optional>

#include "cai/memory.h"
#include "driver/pointer.hpp"

namespace cai::memory {
namespace {

// The driver's classification of memory.
enum class Sort { unknown, of_device, pinned, managed };

Sort sort_of(const driver::Pointer &pointer) noexcept {
  if (!pointer.known()) return Sort::unknown;
  if (pointer.managed) return Sort::managed;
  return pointer.memory_type == driver::memory_type_host ? Sort::pinned : Sort::of_device;
}

const char *name_of(Sort sort) noexcept {
  switch (sort) {
    case Sort::of_device:
      return "a GPU's own";
    case Sort::pinned:
      return "pinned";
    case Sort::managed:
      return "managed";
    case Sort::unknown:
      break;
  }
  return "not known to the driver";
}

// Whether memory of a sort may be stated to be of a kind. The CPU's memory of the managed kinds is
// of the heap, unless it is a GPU's.
bool may_be(Sort sort, uint32_t kind, bool on_host) noexcept {
  switch (kind) {
    case CAI_KIND_HOST:
      return sort == Sort::unknown;
    case CAI_KIND_DEFAULT:
    case CAI_KIND_ASYNC:
    case CAI_KIND_PITCHED:
      return sort == (on_host ? Sort::unknown : Sort::of_device);
    case CAI_KIND_PINNED:
    case CAI_KIND_MAPPED:
      return sort == Sort::pinned;
    default:
      return sort == Sort::managed || (on_host && sort == Sort::unknown);
  }
}

// What the driver knows of memory; empty for the host's without a driver.
std::optional<driver::Pointer> ask(uint64_t address, cai_device device, bool on_host) {
  try {
    driver::Session session;
    const driver::Pointer pointer = driver::ask(session, address, on_host ? -1 : device.id);
    session.finish();
    return pointer;
  } catch (const Failure &failure) {
    if (on_host && failure.error().status != CAI_ERR_CUDA) return std::nullopt;
    throw;
  }
}

void require_range(const driver::Pointer &pointer, uint64_t address, uint64_t size) {
  if (address > UINT64_MAX - size) {
    throw Failure(CAI_ERR_BOUNDS, {}, "%" PRIu64 " bytes at 0x%" PRIx64 " leave the address space",
                  size, address);
  }
  // If the host and the device use different addresses for the memory, the range has one of them.
  for (const uint64_t at : {address, pointer.device_pointer, pointer.host_pointer}) {
    const uint64_t before = at - pointer.base;
    if (before >= pointer.size) continue;
    if (size <= pointer.size - before) return;
    throw Failure(CAI_ERR_BOUNDS, {},
                  "[0x%" PRIx64 ", 0x%" PRIx64 ") leaves the allocation [0x%" PRIx64 ", 0x%" PRIx64
                  ")",
                  at, at + size, pointer.base, pointer.base + pointer.size);
  }
}

void validate(uint64_t address, uint64_t size, cai_device device, uint32_t kind) {
  char text[CAI_DEVICE_TEXT_SIZE];
  cai_error error;
  if (cai_device_format(device, text, &error) != CAI_OK) throw Failure(error);
  if (!cai_kind_name(kind) || kind == CAI_KIND_NONE || kind == CAI_KIND_CUDA_ARRAY) {
    throw Failure(CAI_ERR_VALUE, {}, "kind %u has no memory with an address", kind);
  }
  if (address == 0) {
    if (size == 0) return;
    throw Failure(CAI_ERR_VALUE, {}, "there are no %" PRIu64 " bytes at address 0", size);
  }
  const bool on_host = device.type == CAI_DEVICE_CPU || kind == CAI_KIND_HOST;
  const std::optional<driver::Pointer> known = ask(address, device, on_host);
  const driver::Pointer pointer = known.value_or(driver::Pointer{});
  const Sort sort = sort_of(pointer);
  if (known && !may_be(sort, kind, on_host)) {  // without a driver, all kinds are of the heap
    throw Failure(CAI_ERR_DEVICE, {}, "memory at 0x%" PRIx64 " is %s, and not \"%s\" of %s",
                  address, name_of(sort), cai_kind_name(kind), text);
  }
  if (sort == Sort::of_device && pointer.ordinal != device.id) {
    throw Failure(CAI_ERR_DEVICE, {}, "memory at 0x%" PRIx64 " is GPU %d's, and not that of %s",
                  address, pointer.ordinal, text);
  }
  if (size != 0) require_range(pointer, address, size);
}

}  // namespace
}  // namespace cai::memory

using namespace cai;

cai_status cai_memory_validate(uint64_t address, uint64_t size, cai_device device, uint32_t kind,
                               cai_error *error) {
  return guard(error, [&] { memory::validate(address, size, device, kind); });
}
