// SPDX-License-Identifier: BSD-3-Clause
// Allocations of device, managed and host memory, and queries of addresses.

#include "call.h"
#include "capture.h"
#include "pool.h"

using namespace simcuda;

namespace {

constexpr std::size_t pitch_alignment = 512;

AllocationPtr allocate(Session &s, Allocation::Kind kind, std::size_t size, unsigned flags) {
  refuse_unsafe(s);
  auto context = s.current();
  if (size == 0) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (kind == Allocation::Kind::device) make_room(s, s.driver.device(context->device), size);
  auto allocation = s.driver.memory.allocate(kind, context->device, size, flags);
  allocation->context = owner_of(context);
  if (kind == Allocation::Kind::device) charge(s.driver, *allocation);
  return allocation;
}

void allocate_host(Session &s, void **out, std::size_t size, unsigned flags) {
  required(out) = nullptr;  // kept if there is no room
  if (flags &
      ~(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  *out = reinterpret_cast<void *>(allocate(s, Allocation::Kind::host, size, flags)->address);
}

// Called after a wait, in which another thread may have freed it.
void end(Session &s, Allocation &allocation, CUresult gone) {
  if (allocation.dead) throw Refused{gone};
  s.driver.races.host_frees(allocation);
  discharge(s.driver, allocation);
  s.driver.memory.free(allocation);
}

AllocationPtr host_allocation(Session &s, const void *pointer) {
  auto allocation = s.driver.memory.find(address_of(pointer));
  if (!allocation || !allocation->on_host()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return allocation;
}

}  // namespace

SIM_API CUresult cuMemAlloc_v2(CUdeviceptr *out, std::size_t bytes) {
  return call(__func__, {out, bytes}, [&](Session &s) {
    required(out) = 0;  // kept if there is no room
    *out = allocate(s, Allocation::Kind::device, bytes, 0)->address;
  });
}

SIM_API CUresult cuMemAllocPitch_v2(CUdeviceptr *out, std::size_t *pitch, std::size_t width,
                                    std::size_t height, unsigned element_size) {
  return call(__func__, {out, pitch, width, height, element_size}, [&](Session &s) {
    required(out) = 0;
    if (!width || !height || (element_size != 4 && element_size != 8 && element_size != 16))
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    std::size_t row = 0, size = 0;
    if (__builtin_add_overflow(width, pitch_alignment - 1, &row))
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    row -= row % pitch_alignment;
    if (__builtin_mul_overflow(row, height, &size)) throw Refused{CUDA_ERROR_INVALID_VALUE};
    required(pitch) = row;
    *out = allocate(s, Allocation::Kind::device, size, 0)->address;
  });
}

SIM_API CUresult cuMemAllocManaged(CUdeviceptr *out, std::size_t bytes, unsigned flags) {
  return call(__func__, {out, bytes, flags}, [&](Session &s) {
    required(out) = 0;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    *out = allocate(s, Allocation::Kind::managed, bytes, flags)->address;
  });
}

SIM_API CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return call(__func__, {pointer}, [&](Session &s) {
    refuse_unsafe(s);
    if (!s.thread.contexts.empty()) s.current();  // there may be none
    if (!pointer) return;
    auto allocation = s.driver.memory.find_base(pointer);
    const bool streams = allocation && (allocation->pool || allocation->of_graph);
    if (!allocation || (allocation->on_host() && !streams) || allocation->free_submitted ||
        allocation->is_opened_handle() || allocation->of_module || allocation->mapping)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    refuse_lost(s.driver, *allocation);
    if (allocation->of_graph) {
      free_graph_memory(s, s.stream(nullptr), allocation);
      return;
    }
    // Freeing memory of a pool does not wait (cuMemFree, cuda.h): the caller must.
    if (!allocation->pool) s.finish_device(allocation->device);
    end(s, *allocation, CUDA_ERROR_INVALID_VALUE);
  });
}

SIM_API CUresult cuMemAllocHost_v2(void **out, std::size_t bytes) {
  return call(__func__, {out, bytes},
              [&](Session &s) { allocate_host(s, out, bytes, CU_MEMHOSTALLOC_DEVICEMAP); });
}

SIM_API CUresult cuMemHostAlloc(void **out, std::size_t bytes, unsigned flags) {
  return call(__func__, {out, bytes, flags},
              [&](Session &s) { allocate_host(s, out, bytes, flags); });
}

SIM_API CUresult cuMemFreeHost(void *pointer) {
  return call(__func__, {pointer}, [&](Session &s) {
    refuse_unsafe(s);
    if (!pointer) return;
    auto allocation = s.driver.memory.find_base(address_of(pointer));
    if (!allocation || allocation->kind != Allocation::Kind::host || allocation->pool ||
        allocation->of_graph || allocation->address != address_of(pointer))
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    refuse_lost(s.driver, *allocation);
    s.finish_device(allocation->device);
    end(s, *allocation, CUDA_ERROR_INVALID_VALUE);
  });
}

SIM_API CUresult cuMemHostRegister_v2(void *pointer, std::size_t bytes, unsigned flags) {
  return call(__func__, {pointer, bytes, flags}, [&](Session &s) {
    refuse_unsafe(s);
    auto context = s.current();
    const unsigned known = 0xf, io_memory = 4;
    if (!pointer || !bytes || (flags & ~known)) throw Refused{CUDA_ERROR_INVALID_VALUE};
    if (flags & io_memory) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    if (s.driver.memory.overlaps(address_of(pointer), bytes))
      throw Refused{CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED};
    s.driver.memory.place(address_of(pointer), bytes);  // not an address of the driver
    s.driver.memory.register_host(pointer, bytes, context->device, flags)->context =
        owner_of(context);
  });
}

SIM_API CUresult cuMemHostRegister(void *pointer, std::size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(pointer, bytes, flags);
}

SIM_API CUresult cuMemHostUnregister(void *pointer) {
  return call(__func__, {pointer}, [&](Session &s) {
    refuse_unsafe(s);
    auto allocation = s.driver.memory.find_base(address_of(pointer));
    if (!allocation || allocation->kind != Allocation::Kind::registered)
      throw Refused{CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED};
    refuse_lost(s.driver, *allocation);
    s.finish_device(allocation->device);
    // From here on it is the client's alone, which may unmap it. So kernels of other devices have
    // finished with it, too.
    s.driver.schedule.finish_uses_of(*allocation, s.lock);
    end(s, *allocation, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
}

SIM_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *pointer, unsigned flags) {
  return call(__func__, {out, pointer, flags}, [&](Session &s) {
    if (flags) throw Refused{CUDA_ERROR_INVALID_VALUE};
    s.current();
    auto allocation = host_allocation(s, pointer);
    if (allocation->pool) throw Refused{CUDA_ERROR_INVALID_VALUE};  // it has no other address
    required(out) = allocation->device_address() + (address_of(pointer) - allocation->address);
  });
}

SIM_API CUresult cuMemHostGetFlags(unsigned *flags, void *pointer) {
  return call(__func__, {flags, pointer}, [&](Session &s) {
    auto allocation = host_allocation(s, pointer);
    required(flags) =
        allocation->flags | CU_MEMHOSTALLOC_DEVICEMAP;  // implied by unified addressing
  });
}

SIM_API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, std::size_t *size,
                                         CUdeviceptr pointer) {
  return call(__func__, {base, size, pointer}, [&](Session &s) {
    s.current();
    auto allocation = s.driver.memory.find(pointer);
    if (!allocation) throw Refused{CUDA_ERROR_NOT_FOUND};
    if (base) *base = allocation->device_address();
    if (size) *size = allocation->size;
  });
}
