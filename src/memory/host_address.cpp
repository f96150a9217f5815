// SPDX-License-Identifier: BSD-3-Clause
#include "memory/host_address.hpp"

#include "driver/pointer.hpp"
#include "memory/memory.hpp"
#include "memory/work.hpp"
#include "order/producers.hpp"

namespace cai::memory {
namespace {

// Memory of libcai's that the array goes by an address of: the device's, or (what came back from
// somebody who was given it) the host's.
const cai_memory *memory_around(const cai_array &array) noexcept {
  const cai_memory *const memory = memory_under(array);
  if (!memory || memory->root().facts.host == 0) return nullptr;
  const cai_memory_info &facts = memory->root().facts;
  const bool is_in = array.data - facts.data < facts.size || array.data - facts.host < facts.size;
  return is_in ? &memory->root() : nullptr;
}

// What the driver says of pinned memory of others. No context is made for it: a driver that
// answers nobody without one, and an address that it does not know, leave the address as it is.
uint64_t ask_host(uint64_t address) noexcept {
  driver::Pointer found;
  const cai_status status =
      guard(nullptr, [&] { found = driver::ask_without_context(driver::get(), address); });
  return status == CAI_OK && found.host_pointer ? found.host_pointer : address;
}

}  // namespace

uint64_t host_address(const cai_array &array) {
  if (order::has_no_elements(array)) return 0;
  switch (array.device_type) {
    case CAI_DEVICE_CPU:
    case CAI_DEVICE_CUDA_MANAGED:
      return array.data;
    case CAI_DEVICE_CUDA_HOST:
      break;
    default:
      throw Failure(CAI_ERR_UNSUPPORTED, {CAI_ENTRY_DATA},
                    "data 0x%llx is memory of a device's own, which the host cannot use",
                    static_cast<unsigned long long>(array.data));
  }
  const cai_memory *const memory = memory_around(array);
  if (!memory) return ask_host(array.data);
  const cai_memory_info &facts = memory->facts;
  const uint64_t offset = array.data - facts.data;
  return offset < facts.size ? facts.host + offset : array.data;
}

cai_array as_host_finds(const cai_array &array) {
  cai_array found = array;
  if (array.device_type == CAI_DEVICE_CUDA_HOST) found.data = host_address(array);
  return found;
}

uint64_t device_address(const cai_array &array) {
  if (array.device_type != CAI_DEVICE_CUDA_HOST) return array.data;
  if (const cai_memory *const memory = memory_around(array)) {
    const cai_memory_info &facts = memory->facts;
    const uint64_t offset = array.data - facts.host;
    return array.data - facts.data < facts.size ? array.data : facts.data + offset;
  }
  driver::Session session;
  const driver::Pointer pointer = driver::ask(session, array.data, array.device_id);
  session.finish();
  return pointer.device_pointer ? pointer.device_pointer : array.data;
}

}  // namespace cai::memory

using namespace cai;

cai_status cai_array_host(const cai_array *array, uint64_t *out, cai_error *error) {
  return guard(error, [&] {
    if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
    order::judge(array, -1);
    memory::must_not_be_freed(*array);
    *out = memory::host_address(*array);
  });
}
