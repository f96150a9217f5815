// SPDX-License-Identifier: BSD-3-Clause
// Memory, pools and events that processes share.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "call.h"
#include "ipc.h"

using namespace simcuda;

namespace {

// Closes a file that is no longer needed.
class File {
 public:
  explicit File(int number) : number_(number) {}
  ~File() {
    if (number_ >= 0) close(number_);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  int number() const { return number_; }
  int let_go() { return std::exchange(number_, -1); }

 private:
  int number_;
};

template <class Handle>
Ticket read_ticket(const Handle &handle) {
  static_assert(sizeof(Handle) == sizeof(Ticket));
  Ticket ticket;
  std::memcpy(&ticket, &handle, sizeof ticket);
  return ticket;
}

template <class Handle>
void write_ticket(Handle &handle, const Ticket &ticket) {
  static_assert(sizeof(Handle) == sizeof(Ticket));
  std::memcpy(&handle, &ticket, sizeof ticket);
}

// The ordinal in this process of a device by the machine's number. It may not be visible here.
int ordinal_of(const Driver &driver, int physical, CUresult otherwise) {
  for (auto &device : driver.devices)
    if (device.physical == physical) return device.ordinal;
  throw Refused{otherwise};
}

void offer(Session &s, Allocation &allocation) {
  if (allocation.share) return;
  const std::uint64_t pool = allocation.pool ? allocation.pool->share->id : 0;
  allocation.share = s.driver.ipc.offer(allocation, s.driver.memory.file_of(allocation),
                                        s.driver.memory.offset_of(allocation),
                                        s.driver.device(allocation.device).physical, pool);
}

// Maps another process's memory as memory of a context, or of an imported pool.
AllocationPtr import(Session &s, const std::shared_ptr<MemoryShare> &share,
                     const std::shared_ptr<Context> &context, CUresult gone) {
  const int device = ordinal_of(s.driver, share->slot->device, CUDA_ERROR_MAP_FAILED);
  const File file(Ipc::open_file(*share));
  if (file.number() < 0) throw Refused{gone};
  auto allocation =
      s.driver.memory.map(file.number(), share->slot->offset, share->slot->size, device);
  allocation->share = share;
  allocation->context = context;
  s.driver.ipc.remember(*share, context.get(), allocation);
  return allocation;
}

void open_memory(Session &s, CUdeviceptr *out, const CUipcMemHandle &handle, unsigned flags) {
  required(out);
  auto context = owner_of(s.current());
  if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const Ticket ticket = read_ticket(handle);
  Ipc &ipc = s.driver.ipc;
  if (ipc.is_own(ticket)) throw Refused{CUDA_ERROR_INVALID_CONTEXT};
  const auto share = ipc.find_memory(ticket);
  if (!share && ticket.kind == Ticket::Kind::memory && Ipc::has_ended(ticket))
    throw Refused{CUDA_ERROR_INVALID_HANDLE};
  if (!share || share->slot->pool) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (Import *known = ipc.find_import(*share, context.get())) {
    ++known->opened;
    *out = known->allocation->address;
    return;
  }
  if (ipc.other_context_opened(*share, *context)) throw Refused{CUDA_ERROR_INVALID_CONTEXT};
  *out = import(s, share, context, CUDA_ERROR_INVALID_VALUE)->address;
}

std::shared_ptr<Pool> shared_pool(Session &s, const std::shared_ptr<Pool> &pool) {
  if (pool->imported || !(pool->handle_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (!pool->share) pool->share = s.driver.ipc.offer_pool(s.driver.device(pool->device).physical);
  return pool;
}

void refuse_handle_type(int type, std::uint64_t flags) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
}

}  // namespace

SIM_API CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer) {
  return call(__func__, {handle, pointer}, [&](Session &s) {
    required(handle);
    s.current();
    // An address within the memory stands for all of it.
    auto allocation = s.driver.memory.find(pointer);
    if (!allocation || allocation->kind != Allocation::Kind::device || allocation->pool ||
        allocation->mapping || allocation->of_graph || allocation->imported ||
        allocation->free_submitted)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    offer(s, *allocation);
    write_ticket(*handle, s.driver.ipc.ticket_of(*allocation->share));
  });
}

SIM_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags) {
  return call(__func__, {out, flags}, [&](Session &s) { open_memory(s, out, handle, flags); });
}

SIM_API CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags) {
  return call(__func__, {out, flags}, [&](Session &s) { open_memory(s, out, handle, flags); });
}

SIM_API CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  return call(__func__, {pointer}, [&](Session &s) {
    auto context = owner_of(s.current());
    auto allocation = s.driver.memory.find_base(pointer);
    if (!allocation || !allocation->is_opened_handle() || allocation->context != context)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    Import &import = *s.driver.ipc.find_import(*allocation->share, context.get());
    if (import.opened == 1) s.finish_device(context->device);
    // Meanwhile another thread may have closed it, or opened it again.
    if (allocation->dead) throw Refused{CUDA_ERROR_INVALID_VALUE};
    if (--import.opened) return;
    s.driver.races.host_frees(*allocation);
    s.driver.memory.free(*allocation);
  });
}

SIM_API CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event_handle) {
  return call(__func__, {handle, event_handle}, [&](Session &s) {
    required(handle);
    auto event = s.made_event(event_handle);
    if (!event->share || !event->share->own) throw Refused{CUDA_ERROR_INVALID_HANDLE};
    write_ticket(*handle, s.driver.ipc.ticket_of(*event->share));
  });
}

SIM_API CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle) {
  return call(__func__, {out}, [&](Session &s) {
    required(out);
    auto context = owner_of(s.current());
    const Ticket ticket = read_ticket(handle);
    if (s.driver.ipc.is_own(ticket)) throw Refused{CUDA_ERROR_INVALID_CONTEXT};
    auto event = std::make_shared<Event>();
    event->share = s.driver.ipc.find_event(ticket);
    if (!event->share)
      event->share = Ipc::ended_event(ticket, s.driver.device(context->device).physical);
    if (!event->share) throw Refused{CUDA_ERROR_MAP_FAILED};
    ordinal_of(s.driver, event->share->slot->device, CUDA_ERROR_MAP_FAILED);
    event->context = context;
    event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    *out = s.driver.events.add(event);
  });
}

SIM_API CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool handle, int type,
                                                  unsigned long long flags) {
  return call(__func__, {out, handle, type, flags}, [&](Session &s) {
    if (!out) throw Refused{CUDA_ERROR_INVALID_VALUE};
    refuse_handle_type(type, flags);
    auto pool = shared_pool(s, s.driver.pools.get(handle, CUDA_ERROR_INVALID_VALUE));
    const Ticket ticket = s.driver.ipc.ticket_of(*pool->share);
    File file(memfd_create("simcuda-pool", MFD_CLOEXEC));
    if (file.number() < 0 || write(file.number(), &ticket, sizeof ticket) != sizeof ticket)
      throw Refused{CUDA_ERROR_OUT_OF_MEMORY};
    const int number = file.let_go();  // the client must close it
    std::memcpy(out, &number, sizeof number);
  });
}

SIM_API CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle, int type,
                                                    unsigned long long flags) {
  return call(__func__, {out, handle, type, flags}, [&](Session &s) {
    required(out);
    refuse_handle_type(type, flags);
    Ticket ticket;
    const int file = static_cast<int>(address_of(handle));
    if (pread(file, &ticket, sizeof ticket, 0) != sizeof ticket)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    auto pool = std::make_shared<Pool>();
    pool->share = s.driver.ipc.find_pool(ticket);
    if (!pool->share) throw Refused{CUDA_ERROR_INVALID_VALUE};
    pool->device = ordinal_of(s.driver, pool->share->slot->device, CUDA_ERROR_INVALID_DEVICE);
    pool->imported = true;
    *out = s.driver.pools.add(pool);
  });
}

SIM_API CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr pointer) {
  return call(__func__, {out, pointer}, [&](Session &s) {
    required(out);
    auto allocation = s.driver.memory.find_base(pointer);
    if (!allocation || !allocation->pool || allocation->imported || allocation->free_submitted)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    shared_pool(s, allocation->pool);
    offer(s, *allocation);
    write_ticket(*out, s.driver.ipc.ticket_of(*allocation->share));
  });
}

SIM_API CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool handle,
                                        CUmemPoolPtrExportData *data) {
  return call(__func__, {out, handle, data}, [&](Session &s) {
    required(out);
    auto pool = s.driver.pools.get(handle, CUDA_ERROR_INVALID_VALUE);
    const auto share = s.driver.ipc.find_memory(read_ticket(required(data)));
    if (!pool->imported || !share || share->board != pool->share->board ||
        share->slot->pool != pool->share->id)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    Import *known = s.driver.ipc.find_import(*share, nullptr);
    if (known && known->allocation->free_submitted) throw Refused{CUDA_ERROR_INVALID_VALUE};
    if (!known) import(s, share, nullptr, CUDA_ERROR_INVALID_VALUE)->pool = pool;
    *out = s.driver.ipc.find_import(*share, nullptr)->allocation->address;
  });
}
