// SPDX-License-Identifier: BSD-3-Clause
// The functions of PyTorch's CUDAPluggableAllocator.
#include "adaptors/addresses.hpp"
#include "adaptors/calls.hpp"

namespace {

using namespace cai;

std::uint64_t value_of(const void *pointer) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

void *pointer_to(std::uint64_t address) {
  return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
}

}  // namespace

void *cai_torch_alloc(size_t size, int device, void *stream) {
  std::uint64_t address = 0;
  adaptors::reporting([&] { address = adaptors::allocate(device, size, value_of(stream)); });
  return pointer_to(address);
}

void cai_torch_free(void *ptr, size_t, int, void *stream) {
  adaptors::reporting([&] { adaptors::free(value_of(ptr), value_of(stream)); });
}

void *cai_torch_base(void *ptr, size_t *size) {
  std::uint64_t base = 0;
  adaptors::reporting([&] {
    cai_memory *found = nullptr;
    std::uint64_t offset = 0;
    adaptors::call(cai_memory_find, value_of(ptr), &found, &offset);
    const adaptors::Held<cai_memory> memory(found);
    cai_memory_info info{};
    info.struct_size = sizeof info;
    adaptors::call(cai_memory_describe, found, &info);
    base = value_of(ptr) - offset;
    if (size) *size = info.size;
  });
  return pointer_to(base);
}

void cai_torch_record_stream(void *ptr, void *stream) {
  adaptors::reporting([&] { adaptors::record(value_of(ptr), value_of(stream)); });
}

void cai_torch_init(int device_count) {
  adaptors::reporting([&] {
    int32_t count = 0;
    adaptors::call(cai_device_count, CAI_DEVICE_CUDA, &count);
    if (count != device_count) {
      throw Failure(CAI_ERR_DEVICE, {}, "PyTorch sees %d GPUs, and libcai %d", device_count, count);
    }
  });
}

void cai_torch_reset(void) {
  adaptors::trim();
}

void *cai_cupy_alloc(void *param, size_t size, int device) {
  return cai_torch_alloc(size, device, param);
}

void cai_cupy_free(void *param, void *ptr, int device) {
  cai_torch_free(ptr, 0, device, param);
}
