// SPDX-License-Identifier: BSD-3-Clause
// cuPointerGetAttribute and cuPointerGetAttributes.

#include <cstring>

#include "call.h"
#include "capture.h"

using namespace simcuda;

namespace {

struct Value {
  std::uint64_t bits = 0;
  unsigned width = 4;
  bool known = true;  // whether the singular form supports it
};

// For no allocation: the zeros that the plural form returns for an unknown pointer.
Value attribute_value(const Allocation *a, std::uintptr_t pointer, int attribute) {
  using Kind = Allocation::Kind;
  const bool by_alias = a && a->alias && pointer - a->alias < a->size;
  const std::uint64_t offset = a ? pointer - (by_alias ? a->alias : a->address) : 0;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return {a && a->context ? reinterpret_cast<std::uintptr_t>(a->context->handle) : 0, 8};
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return {static_cast<std::uint64_t>(!a             ? 0
                                         : a->on_host() ? CU_MEMORYTYPE_HOST
                                                        : CU_MEMORYTYPE_DEVICE),
              4};
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return {a ? a->device_address() + offset : 0, 8};
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!a || a->kind == Kind::device) return {0, 8, false};
      return {a->address + offset, 8};
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return {static_cast<std::uint64_t>(a ? a->sync_memops : 0), 4};
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return {a ? a->buffer_id : 0, 8};
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return {a && a->kind == Kind::managed, 4};
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return {static_cast<std::uint64_t>(a ? a->device : 0), 4};
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return {
          a && a->kind == Kind::device && !a->pool && !a->imported && !a->of_graph && !a->mapping,
          4};
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      if (a && a->mapping) return {a->mapping->reserved, 8};
      [[fallthrough]];
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return {a ? a->device_address() : 0, 8};
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      if (a && a->mapping) return {a->mapping->reserved_size, 8};
      [[fallthrough]];
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return {a ? a->size : 0, 8};
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return {a != nullptr, 4};
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return {static_cast<std::uint64_t>(a && a->pool ? a->pool->handle_types : 0), 8};
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return {a && a->kind == Kind::device, 4};
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return {static_cast<std::uint64_t>(a ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : 0), 4};
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return {a && a->pool ? reinterpret_cast<std::uintptr_t>(a->pool->handle) : 0, 8};
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return {a ? a->buffer_id : 0, 8};
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      if (!Settings::get().is_since(12080)) throw Refused{CUDA_ERROR_INVALID_VALUE};
      return {0, 4};
    default:
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  }
}

void store(void *out, const Value &value) {
  std::memcpy(out, &value.bits, value.width);
}  // little-endian hosts only

}  // namespace

SIM_API CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr pointer) {
  return call(__func__, {data, attribute, pointer}, [&](Session &s) {
    if (!data) throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto allocation = s.driver.memory.find(pointer);
    const Value value = attribute_value(allocation.get(), pointer, attribute);
    if (!allocation || !value.known) throw Refused{CUDA_ERROR_INVALID_VALUE};
    store(data, value);
  });
}

SIM_API CUresult cuPointerGetAttributes(unsigned count, int *attributes, void **data,
                                        CUdeviceptr pointer) {
  return call(__func__, {count, attributes, data, pointer}, [&](Session &s) {
    required(attributes);
    required(data);
    auto allocation = s.driver.memory.find(pointer);
    for (unsigned i = 0; i < count; ++i) {
      if (!data[i]) throw Refused{CUDA_ERROR_INVALID_VALUE};
      store(data[i], attribute_value(allocation.get(), pointer, attributes[i]));
    }
  });
}

SIM_API CUresult cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr pointer) {
  return call(__func__, {value, attribute, pointer}, [&](Session &s) {
    auto allocation = s.driver.memory.find(pointer);
    if (!value || !allocation || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    unsigned on = 0;
    std::memcpy(&on, value, sizeof on);
    allocation->sync_memops = on != 0;
    if (!on) return;
    std::vector<OperationPtr> late;
    for (auto &[stream, operation] : allocation->late) late.push_back(operation);
    allocation->late.clear();
    s.finish(late);
  });
}
