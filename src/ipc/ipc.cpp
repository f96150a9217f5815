// SPDX-License-Identifier: BSD-3-Clause
// Shares memory between processes.
#include <unistd.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "device/current.hpp"
#include "device/primary.hpp"
#include "ipc/mapping.hpp"
#include "ipc/opened.hpp"
#include "memory/memory.hpp"
#include "transfer/work.hpp"

namespace cai::ipc {
namespace {

// The start time of a process as the kernel counts it; 0 if there is no such process.
uint64_t start_of(uint64_t process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", process);
  const std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path, "re"), std::fclose);
  if (!file) return 0;
  char line[1024];
  const std::size_t length = std::fread(line, 1, sizeof line - 1, file.get());
  line[length] = '\0';
  // The second field is the program's name in brackets, and may contain anything. The state follows
  // it; the number of threads is the 20th field, the start time the 22nd.
  const char *at = std::strrchr(line, ')');
  if (!at || at[1] != ' ' || at[2] == 'X') return 0;
  const bool is_zombie = at[2] == 'Z';
  auto number_at = [&, field = 2](int wanted) mutable {
    for (; at && field < wanted; ++field) at = std::strchr(at + 1, ' ');
    uint64_t value = 0;
    if (at) std::from_chars(at + 1, line + length, value);
    return value;
  };
  // Of a process that lives on in other threads, the main thread, which has ended, is counted, too.
  const uint64_t threads = number_at(20);
  return is_zombie && threads < 2 ? 0 : number_at(22);
}

bool is_pool(const cai_ipc_handle &handle) noexcept {
  return handle.kind == CAI_IPC_POOL;
}

bool can_be_opened(const cai_ipc_handle &handle) noexcept {
  return (handle.kind == CAI_IPC_LEGACY || is_pool(handle)) && handle.size != 0 &&
         handle.offset <= INT64_MAX && handle.size <= INT64_MAX && handle.process != 0 &&
         !handle.reserved && !handle.reserved1 && !handle.reserved2;
}

// The first reserved word that is not 0, with its value; empty if all are.
struct ReservedText {
  explicit ReservedText(const cai_ipc_handle &handle) {
    const std::pair<const char *, uint64_t> words[] = {{"reserved", handle.reserved},
                                                       {"reserved1", handle.reserved1},
                                                       {"reserved2", handle.reserved2}};
    for (const auto &[name, value] : words) {
      if (value == 0) continue;
      std::snprintf(text, sizeof text, ", %s %" PRIu64 " (not 0)", name, value);
      return;
    }
  }
  char text[64] = "";
};

// ---- Sharing ------------------------------------------------------------------------------------

struct Sharing {
  bool legacy = false;
  driver::CUmemoryPool pool = nullptr;
  uint64_t handle_types = 0;
};

Sharing sharing_of(const driver::Driver &cu, uint64_t address) {
  driver::CUpointer_attribute attributes[] = {driver::attribute_legacy_ipc_capable,
                                              driver::attribute_pool,
                                              driver::attribute_allowed_handle_types};
  Sharing found;
  alignas(8) uint64_t legacy = 0;
  void *data[] = {&legacy, static_cast<void *>(&found.pool), &found.handle_types};
  driver::call(cu.cuPointerGetAttributes, 3U, attributes, data, address);
  found.legacy = legacy != 0;
  return found;
}

// The library's own way, for managers without a function for it.
void share_by_driver(managers::Manager &manager, const cai_block &block, cai_ipc_handle &out,
                     int32_t &fd) {
  const driver::Driver &cu = driver::get();
  const auto [base, size] = manager.base(block.data);
  const Sharing sharing = sharing_of(cu, block.data);
  out.offset = block.data - base;
  if (sharing.pool) {
    if (!(sharing.handle_types & driver::pool_handle_descriptor)) {
      throw Failure(CAI_ERR_UNSUPPORTED, {},
                    "the memory is of a pool that is not exportable: see CAI_POOL_EXPORTABLE");
    }
    out.kind = CAI_IPC_POOL;
    out.pool = reinterpret_cast<uintptr_t>(sharing.pool);
    driver::CUmemPoolPtrExportData data;
    driver::call(cu.cuMemPoolExportPointer, &data, base);
    std::memcpy(out.data, data.reserved, sizeof out.data);
    int descriptor = -1;
    driver::call(cu.cuMemPoolExportToShareableHandle, &descriptor, sharing.pool,
                 driver::pool_handle_descriptor, 0ULL);
    fd = descriptor;
    return;
  }
  if (!sharing.legacy) {
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "the driver cannot share this memory");
  }
  out.kind = CAI_IPC_LEGACY;
  driver::CUipcMemHandle handle;
  driver::call(cu.cuIpcGetMemHandle, &handle, base);
  std::memcpy(out.data, handle.reserved, sizeof out.data);
}

// Closed unless it is taken.
struct Descriptor {
  Descriptor() = default;
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  int32_t fd = -1;
};

void share(const cai_memory &memory, cai_ipc_handle *out, int32_t *fd) {
  const cai_memory &root = memory.root();
  const uint32_t kind = memory.facts.kind;
  const bool can_be = memory.facts.size != 0 && root.manager && root.is_of_gpu() &&
                      (kind == CAI_KIND_DEFAULT || kind == CAI_KIND_ASYNC);
  if (!can_be) {
    const char *const name = cai_kind_name(kind);
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "memory of kind \"%s\" cannot be shared%s", name,
                  device::is_cpu(memory.facts.device)       ? ": it is the CPU's, not a GPU's"
                  : memory.facts.flags & CAI_MEMORY_FOREIGN ? ": another library owns it"
                  : memory.facts.size == 0                  ? ": it has no bytes"
                                                            : "");
  }
  if (memory.facts.flags & CAI_MEMORY_READONLY) {
    throw Failure(CAI_ERR_UNSUPPORTED, {},
                  "the memory is read-only, and another process could write it");
  }
  cai_ipc_handle made{};
  cai_device_info info{};
  info.struct_size = sizeof info;
  cai_error error;
  if (cai_device_describe(memory.facts.device, &info, &error) != CAI_OK) throw Failure(error);
  managers::Manager &manager = *root.manager;
  Descriptor descriptor;
  manager.within([&] {
    if (!manager.ask<&cai_manager_table::get_ipc_handle>("get_ipc_handle", &root.block, &made,
                                                         &descriptor.fd)) {
      share_by_driver(manager, root.block, made, descriptor.fd);
    }
  });
  made.struct_size = sizeof made;
  made.size = memory.facts.size;
  made.process = static_cast<uint64_t>(getpid());
  made.process_start = start_of(made.process);
  std::memcpy(made.uuid, info.uuid, sizeof made.uuid);
  made.pci_domain = info.pci_domain;
  made.pci_bus = info.pci_bus;
  made.pci_slot = info.pci_slot;
  if (!can_be_opened(made) || is_pool(made) != (descriptor.fd >= 0)) {
    throw Failure(CAI_ERR_STATE, {},
                  "manager %s: get_ipc_handle returned an invalid handle: kind %u, offset "
                  "%" PRIu64 ", fd %d",
                  manager.name_with<&cai_manager_table::get_ipc_handle>(), made.kind, made.offset,
                  descriptor.fd);
  }
  made.offset += memory.facts.data - root.facts.data;
  *out = made;
  *fd = std::exchange(descriptor.fd, -1);
}

// ---- Opening ------------------------------------------------------------------------------------

void require_handle(const cai_ipc_handle &handle, int32_t fd, cai_device device, uint32_t how) {
  device::require_device(device);
  if (device::is_cpu(device)) {
    throw Failure(CAI_ERR_DEVICE, {}, "memory of other processes is opened on GPUs, not the CPU");
  }
  if (how < CAI_OPEN_DIRECT || how > CAI_OPEN_AUTO) {
    throw Failure(CAI_ERR_VALUE, {}, "how is %u, not a CAI_OPEN_*", how);
  }
  if (handle.struct_size < sizeof handle || !can_be_opened(handle)) {
    throw Failure(CAI_ERR_VALUE, {},
                  "the handle is invalid: struct_size %u, kind %u, size %" PRIu64
                  ", offset %" PRIu64 ", process %" PRIu64 "%s",
                  handle.struct_size, handle.kind, handle.size, handle.offset, handle.process,
                  ReservedText(handle).text);
  }
  if (is_pool(handle) != (fd >= 0)) {
    throw Failure(CAI_ERR_VALUE, {}, "fd is %d, and the handle is %s", fd,
                  is_pool(handle) ? "a pool's, which comes with one" : "not a pool's");
  }
}

void require_process(const cai_ipc_handle &handle) {
  if (handle.process == static_cast<uint64_t>(getpid())) {
    throw Failure(CAI_ERR_STATE, {}, "the handle is this process's own: use the memory itself");
  }
  const uint64_t start = start_of(handle.process);
  if (start != 0 && start == handle.process_start) return;
  throw Failure(CAI_ERR_STATE, {}, "the handle is of process %" PRIu64 ", which has ended",
                handle.process);
}

cai_device device_of(const cai_ipc_handle &handle) {
  cai_device found{};
  cai_error error;
  if (cai_device_find(handle.uuid, &found, &error) != CAI_OK) throw Failure(error);
  return found;
}

bool can_access(cai_device device, cai_device owner) {
  if (device.id == owner.id) return true;
  int32_t yes = 0;
  cai_error error;
  if (cai_device_can_access(device, owner, &yes, &error) != CAI_OK) throw Failure(error);
  return yes != 0;
}

void close_mapped(cai_memory &memory, uint64_t) {
  close_mapping(static_cast<Mapping *>(memory.context), memory.facts.device.id);
}

void close_opened(cai_memory &memory, uint64_t) {
  close_by_manager(static_cast<Opened *>(memory.context));
}

// The sender of a handle may have written anything.
void require_within(const cai_ipc_handle &handle, uint64_t offset, uint64_t opened) {
  if (offset <= opened && handle.size <= opened - offset) return;
  throw Failure(CAI_ERR_VALUE, {},
                "the handle is of %" PRIu64 " bytes at offset %" PRIu64
                ", and the memory that it names has %" PRIu64,
                handle.size, offset, opened);
}

// Uses memory of another process in place, on a device that can access it.
memory::HeldMemory open_direct(const cai_ipc_handle &handle, int32_t fd, cai_device device,
                               device::HeldStream stream) {
  memory::HeldMemory memory = memory::new_memory(device, CAI_KIND_DEFAULT);
  memory::note_device(*memory);
  cai_memory_info &facts = memory->facts;
  facts.flags = CAI_MEMORY_FOREIGN;
  facts.size = facts.row = facts.pitch = handle.size;
  const managers::HeldManager manager = managers::manager_of(device);
  const uint64_t value = stream.get() ? stream.get()->value() : uint64_t{driver::stream_legacy};
  manager->within([&] {
    Opened *const opened = open_by_manager(*manager, handle, fd, value);
    if (!opened) return;
    memory->context = opened;
    memory->give_back = close_opened;
    facts.data = address_of(*opened);
    require_within(handle, 0, size_of(*opened));
  });
  if (!memory->give_back) {
    driver::Session session;
    const device::Primary primary = device::primary(session, device.id);
    MappingKey key{handle.kind, device.id, handle.process, handle.process_start, handle.pool, {}};
    std::memcpy(key.data, handle.data, sizeof key.data);
    session.in(primary.context, [&] {
      memory->context = open_mapping(session, key, fd, primary.epoch);
      memory->give_back = close_mapped;
    });
    const Mapping &mapping = *static_cast<const Mapping *>(memory->context);
    require_within(handle, handle.offset, size_of(mapping));
    facts.data = address_of(mapping) + handle.offset;
    memory->outlives_context = outlives_contexts(mapping);
    session.finish();
  }
  memory->free_stream = memory::FreeStream(std::move(stream));
  memory::enter_if_it_may_die(*memory);
  return memory;
}

struct EndArray {
  void operator()(cai_array *array) const noexcept { cai_array_release(array); }
};
using HeldArray = std::unique_ptr<cai_array, EndArray>;

HeldArray bytes_of(cai_memory &memory) {
  static constexpr cai_dtype bytes{'u', '|', 0, 0, 1, 0};
  const auto size = static_cast<int64_t>(memory.facts.size);
  cai_array *array = nullptr;
  cai_error error;
  if (cai_memory_array(&memory, 0, &bytes, 1, &size, nullptr, &array, &error) != CAI_OK) {
    throw Failure(error);
  }
  return HeldArray(array);
}

// New memory with a copy. The original is closed once the copy is complete: a graph, which copies
// at each launch, would need it for longer.
memory::HeldMemory open_staged(const cai_ipc_handle &handle, int32_t fd, cai_device device,
                               cai_device owner, const device::HeldStream &stream) {
  transfer::require_not_capturing(*stream.get(), "each launch would copy what is closed then");
  const memory::HeldMemory source = open_direct(handle, fd, owner, {});
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = CAI_KIND_DEFAULT;
  request.size = handle.size;
  request.stream = stream.get();
  cai_memory *made = nullptr;
  cai_error error;
  if (cai_memory_alloc(device, &request, &made, &error) != CAI_OK) throw Failure(error);
  memory::HeldMemory copy(made);
  const HeldArray from = bytes_of(*source), to = bytes_of(*copy);
  if (cai_array_copy(from.get(), to.get(), stream.get(), &error) != CAI_OK) throw Failure(error);
  return copy;
}

memory::HeldMemory open(const cai_ipc_handle &handle, int32_t fd, cai_device device,
                        cai_stream *given, uint32_t how) {
  require_handle(handle, fd, device, how);
  require_process(handle);
  const cai_device owner = device_of(handle);
  device::HeldStream stream = memory::stream_or_current(given, device);
  const bool reaches = can_access(device, owner);
  if (how == CAI_OPEN_DIRECT && !reaches) {
    throw Failure(CAI_ERR_DEVICE, {}, "%s cannot access memory of %s: pass CAI_OPEN_STAGED",
                  device::Text(device).text, device::Text(owner).text);
  }
  return how == CAI_OPEN_STAGED || !reaches ? open_staged(handle, fd, device, owner, stream)
                                            : open_direct(handle, fd, device, std::move(stream));
}

}  // namespace
}  // namespace cai::ipc

using namespace cai;

cai_status cai_memory_share(cai_memory *memory, cai_ipc_handle *out, int32_t *fd,
                            cai_error *error) {
  return guard(error, [&] {
    const cai_memory &alive = memory::require_live(memory);
    if (!out || !fd) throw Failure(CAI_ERR_ARGUMENT, {}, "out or fd is NULL");
    ipc::share(alive, out, fd);
  });
}

cai_status cai_memory_open(const cai_ipc_handle *handle, int32_t fd, cai_device device,
                           cai_stream *stream, uint32_t how, cai_memory **out, cai_error *error) {
  return guard(error, [&] {
    if (!handle || !out) throw Failure(CAI_ERR_ARGUMENT, {}, "handle or out is NULL");
    *out = ipc::open(*handle, fd, device, stream, how).let_go();
  });
}
