// SPDX-License-Identifier: BSD-3-Clause
// The sources of memory: managers, pinned host memory, and foreign memory.
#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstddef>
#include <cstring>

#include "core/checked.hpp"
#include "core/report.hpp"
#include "core/sizes.hpp"
#include "device/current.hpp"
#include "device/pending.hpp"
#include "device/primary.hpp"
#include "memory/memory.hpp"
#include "memory/usage.hpp"
#include "order/releases.hpp"

namespace cai::memory {

cai_request read_request(const cai_request *given) {
  if (!given) throw Failure(CAI_ERR_ARGUMENT, {}, "request is NULL");
  const uint32_t size = given->struct_size;
  if (size < offsetof(cai_request, rows) || size > most_size) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "request->struct_size is %u, and not %zu to %u", size,
                  offsetof(cai_request, rows), most_size);
  }
  if (asks_for_more(given, sizeof *given, size)) {
    throw Failure(CAI_ERR_VALUE, {},
                  "request has %u bytes, of which this libcai knows %zu: one beyond is not 0", size,
                  sizeof *given);
  }
  return filled_in(*given);
}

namespace {

constexpr uint64_t row_alignment = 256;
constexpr uint64_t device_alignment = 256;
constexpr uint64_t host_alignment = 64;

[[noreturn]] void fail_field(const char *field, uint64_t value, const char *why) {
  throw Failure(CAI_ERR_VALUE, {}, "%s is %" PRIu64 ": %s", field, value, why);
}

uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product) || product > INT64_MAX) {
    throw Failure(CAI_ERR_VALUE, {}, "%" PRIu64 " times %" PRIu64 " bytes are too many", a, b);
  }
  return product;
}

// Copies as many fields as the caller knows; the rest is zero.
bool has_rows(uint32_t kind) noexcept {
  return kind == CAI_KIND_PITCHED || kind == CAI_KIND_PITCHED_MANAGED ||
         kind == CAI_KIND_CUDA_ARRAY;
}

bool is_pinned(uint32_t kind) noexcept {
  return kind == CAI_KIND_PINNED || kind == CAI_KIND_MAPPED;
}

void require_valid(const cai_request &request) {
  const uint32_t kind = request.kind;
  if (kind == CAI_KIND_NONE || !cai_kind_name(kind)) fail_field("kind", kind, "no kind of memory");
  if (request.rows && !has_rows(kind))
    fail_field("rows", request.rows, "memory of this kind has no rows");
  const bool is_cuda_array = kind == CAI_KIND_CUDA_ARRAY;
  const cai_dtype &dtype = request.dtype;
  static constexpr cai_dtype no_dtype{};
  if (!is_cuda_array) {
    if (request.depth) fail_field("depth", request.depth, "memory of this kind has no depth");
    if (request.channels)
      fail_field("channels", request.channels, "memory of this kind has no channels");
    if (std::memcmp(&dtype, &no_dtype, sizeof dtype) != 0) {
      throw Failure(CAI_ERR_VALUE, {}, "dtype is set, but the kind takes none");
    }
  }
  if (request.align && !std::has_single_bit(request.align)) {
    fail_field("align", request.align, "no power of two");
  }
  constexpr uint32_t known_flags = CAI_HOST_PORTABLE | CAI_HOST_WRITE_COMBINED;
  if (request.flags & (is_pinned(kind) ? ~known_flags : ~0U)) {
    fail_field("flags", request.flags, "memory of this kind has no such flag");
  }
  if (request.reserved || request.reserved1) {
    throw Failure(CAI_ERR_VALUE, {}, "a reserved field of request is not 0");
  }
  if (request.size > INT64_MAX) fail_field("size", request.size, "too large");
}

// ---- Freeing ----

void free_block(cai_memory &memory, uint64_t stream) {
  memory.manager->free_outside_captures(memory.block, memory.block_kind, stream);
}

void release_foreign(cai_memory &memory, uint64_t) {
  const driver::Sparing sparing(memory.epoch != 0);
  memory.release_foreign(memory.context);
}

void unpin_block(cai_memory &memory, uint64_t) {
  bool is_unpinned = false, was_asked = true;
  cai_error error;
  const cai_status status = guard(&error, [&] {
    try {
      if (memory.manager) memory.manager->unpin(memory.block, is_unpinned);
      is_unpinned = true;
    } catch (const managers::NotAsked &) {
      was_asked = false;
      throw;
    }
  });
  // While it is pinned, a GPU may access it. Then it must not be freed, even if nothing unpins it.
  if (is_unpinned && memory.release_foreign) release_foreign(memory, 0);
  if (status == CAI_OK) return;
  if (!was_asked) throw managers::NotAsked(Failure(error));
  throw Failure(error);
}

cai_status destroy_cuda_array(void *array, cai_error *error) {
  return guard(error, [&] {
    driver::Session session;
    session.use_relaxed_mode();
    driver::call(session.cu.cuArrayDestroy, static_cast<driver::CUarray>(array));
    session.finish();
  });
}

void free_cuda_array(cai_memory &memory, uint64_t) {
  if (!device::is_alive(memory.facts.device.id, memory.epoch)) return;
  void *const array = reinterpret_cast<void *>(static_cast<uintptr_t>(memory.facts.array));
  device::pend(memory.facts.device, {destroy_cuda_array, array, memory.facts.size, memory.epoch});
}

// Memory that a manager allocates to hand it on is counted, and found by address, as its clients'.
void count(cai_memory &memory) noexcept {
  if (managers::InManager::is_here()) return;
  count_memory(memory.facts.device, memory.facts.kind, memory.facts.size, 1);
  memory.counted = true;
}

// ---- Allocating ----

// The manager to call, and the kind to ask for.
struct Source {
  managers::HeldManager manager;
  uint32_t kind;
};

// The manager of the thread's current GPU, for pinned CPU memory; empty if there is no GPU.
managers::HeldManager manager_of_current_gpu() {
  cai_device gpu{};
  cai_error error;
  const cai_status status = cai_device_current(CAI_DEVICE_CUDA, &gpu, &error);
  if (status == CAI_ERR_DRIVER || status == CAI_ERR_DEVICE) return {};
  if (status != CAI_OK) throw Failure(error);
  return managers::manager_of(gpu);
}

Source source_of(cai_device device, uint32_t kind, cai_manager *manager) {
  const bool is_cpu = device.type == CAI_DEVICE_CPU;
  if (manager) {
    const cai_device its = manager->device();
    if (its.type != device.type || its.id != device.id) {
      throw Failure(CAI_ERR_VALUE, {}, "manager %s is that of %s, and not of %s", manager->name(),
                    device::Text(its).text, device::Text(device).text);
    }
  } else if (is_cpu && is_pinned(kind)) {
    if (managers::HeldManager of_gpu = manager_of_current_gpu()) return {std::move(of_gpu), kind};
  }
  managers::HeldManager asked =
      manager ? managers::HeldManager::one_more(manager) : managers::manager_of(device);
  if (kind == CAI_KIND_PITCHED) return {std::move(asked), CAI_KIND_DEFAULT};
  if (kind == CAI_KIND_PITCHED_MANAGED) return {std::move(asked), CAI_KIND_MANAGED_GLOBAL};
  return {std::move(asked), kind};
}

void set_shape(cai_memory_info &facts, const cai_request &request) {
  facts.row = request.size;
  if (request.kind == CAI_KIND_PITCHED || request.kind == CAI_KIND_PITCHED_MANAGED) {
    if (request.size > INT64_MAX - row_alignment) fail_field("size", request.size, "too large");
    facts.pitch = (request.size + row_alignment - 1) & ~(row_alignment - 1);
    facts.rows = request.rows;
    facts.size = times(facts.pitch, facts.rows);
  } else {
    facts.pitch = facts.size = request.size;
  }
}

void allocate_block(cai_memory &memory, const cai_request &request) {
  cai_memory_info &facts = memory.facts;
  set_shape(facts, request);
  if (facts.size == 0) return;
  Source source = source_of(facts.device, request.kind, request.manager);
  note_epoch(memory, source.manager->device());
  memory.free_stream = FreeStream(stream_or_current(request.stream, facts.device));
  const bool on_host = !memory.is_of_gpu() || source.kind == CAI_KIND_HOST;
  const uint64_t align = request.align ? request.align
                         : on_host     ? host_alignment
                                       : device_alignment;
  memory.block = source.manager->allocate(facts.size, align, source.kind, request.flags,
                                          memory.free_stream.stream.get()->value());
  memory.block_kind = source.kind;
  memory.manager = std::move(source.manager);
  memory.give_back = free_block;
  memory.ordered = memory.is_of_gpu() && source.kind != CAI_KIND_HOST && !is_pinned(source.kind);
  if (memory.ordered) memory.flags |= CAI_OWNER_STREAM_ORDERED;
  facts.data = memory.block.data ? memory.block.data : memory.block.host;
  facts.host = memory.block.host;
  count(memory);
  if (!managers::InManager::is_here()) enter(memory);
}

driver::CUarray3D_descriptor descriptor_of(const cai_request &request) {
  const cai_dtype &dtype = request.dtype;
  struct Format {
    uint8_t kind;
    uint32_t itemsize;
    int32_t format;
  };
  static constexpr Format formats[] = {{'u', 1, 0x01}, {'u', 2, 0x02}, {'u', 4, 0x03},
                                       {'i', 1, 0x08}, {'i', 2, 0x09}, {'i', 4, 0x0a},
                                       {'f', 2, 0x10}, {'f', 4, 0x20}};
  const auto *const found =
      std::find_if(std::begin(formats), std::end(formats), [&](const Format &each) {
        return each.kind == dtype.kind && each.itemsize == dtype.itemsize;
      });
  if (found == std::end(formats) || dtype.byteorder == '>' || dtype.ext) {
    throw Failure(CAI_ERR_VALUE, {},
                  "dtype is invalid for a CUDA array: i, u or f of 1, 2 or 4 bytes");
  }
  if (request.channels != 1 && request.channels != 2 && request.channels != 4) {
    fail_field("channels", request.channels, "neither 1, 2 nor 4");
  }
  if (request.depth && !request.rows)
    fail_field("depth", request.depth, "only memory with rows has a depth");
  const uint64_t element = uint64_t{request.channels} * dtype.itemsize;
  if (request.size % element) fail_field("size", request.size, "not a whole number of elements");
  return {.Width = request.size / element,
          .Height = request.rows,
          .Depth = request.depth,
          .Format = found->format,
          .NumChannels = request.channels,
          .Flags = 0};
}

void allocate_cuda_array(cai_memory &memory, const cai_request &request) {
  cai_memory_info &facts = memory.facts;
  if (!memory.is_of_gpu()) {
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "the CPU has no CUDA arrays");
  }
  const driver::CUarray3D_descriptor wanted = descriptor_of(request);
  facts.channels = request.channels;
  facts.row = facts.pitch = request.size;
  facts.rows = request.rows ? request.rows : 1;
  facts.depth = request.depth ? request.depth : 1;
  facts.size = times(times(facts.pitch, facts.rows), facts.depth);
  if (facts.size == 0) return;
  memory.free_stream = FreeStream(stream_or_current(request.stream, facts.device));
  driver::Session session;
  const device::Primary primary = device::primary(session, facts.device.id);
  session.use_relaxed_mode();
  driver::CUarray array = nullptr;
  session.in(primary.context, [&] {
    const auto create = [&] { return session.cu.cuArray3DCreate(&array, &wanted); };
    driver::CUresult result = create();
    if (result == driver::error_out_of_memory && device::make_room(facts.device)) result = create();
    if (result == driver::error_out_of_memory) {
      throw Failure(CAI_ERR_MEMORY, {.native = result},
                    "no memory for a CUDA array of %" PRIu64 " bytes on %s", facts.size,
                    device::Text(facts.device).text);
    }
    if (result != driver::success) {
      throw Failure(driver::failure_of(session.cu.cuArray3DCreate.name, result));
    }
    // From here on it is freed if restoring the caller's context fails.
    facts.array = reinterpret_cast<uintptr_t>(array);
    count(memory);
    memory.give_back = free_cuda_array;
  });
  session.finish();
}

// ---- Existing memory ----

void pin(cai_memory &memory, void *host, uint64_t size, uint32_t flags) {
  cai_memory_info &facts = memory.facts;
  facts.size = facts.row = facts.pitch = size;
  if (size == 0) return;
  if (!host) throw Failure(CAI_ERR_ARGUMENT, {}, "host is NULL, and size %" PRIu64, size);
  Source source = source_of(facts.device, facts.kind, nullptr);
  memory.free_stream = FreeStream(device::current_stream(facts.device));
  facts.host = facts.data = reinterpret_cast<uintptr_t>(host);
  if (source.manager->device().type == CAI_DEVICE_CPU) return;
  note_epoch(memory, source.manager->device());
  memory.at_once = true;
  const auto pin_it = [&] { memory.block = source.manager->pin(host, size, facts.kind, flags); };
  try {
    pin_it();
  } catch (const Failure &failure) {
    // It may be pinned still, because of uses that are complete by now.
    if (failure.error().native != driver::error_host_memory_already_registered) throw;
    if (cai_drain(0, nullptr, nullptr) != CAI_OK) throw;
    const auto rest = [] { order::drain(false, order::Others::all); };
    if (guard(nullptr, rest) != CAI_OK) throw;
    pin_it();
  }
  memory.manager = std::move(source.manager);
  facts.data = memory.block.data;
  count(memory);
}

struct Rows {
  uint64_t row, pitch, count;
};

// Without rows, all memory is one row. Rows have no padding unless a pitch is given.
Rows rows_of(const cai_memory_info &info) noexcept {
  const uint64_t pitch = info.pitch ? info.pitch : info.size;
  return {info.row ? info.row : std::min(pitch, info.size), pitch, info.rows ? info.rows : 1};
}

void require_valid(const cai_memory_info &info) {
  const auto must_be_0 = [](const char *field, uint64_t value) {
    if (value) fail_field(field, value, "must be 0");
  };
  if (info.kind == CAI_KIND_NONE || info.kind == CAI_KIND_CUDA_ARRAY || !cai_kind_name(info.kind)) {
    fail_field("kind", info.kind, "memory of this kind has no address");
  }
  must_be_0("flags", info.flags & ~uint32_t{CAI_MEMORY_READONLY});
  must_be_0("channels", info.channels);
  must_be_0("array", info.array);
  must_be_0("depth", info.depth);
  must_be_0("stream", info.stream);
  if (info.size == 0) return;
  if (info.data == 0) fail_field("data", 0, "it is not an address");
  if (info.size > UINT64_MAX - info.data) fail_field("size", info.size, "leaves the address space");
  if (info.row > info.pitch) fail_field("row", info.row, "longer than the pitch");
  const Rows rows = rows_of(info);
  if (rows.row > info.size || times(rows.pitch, rows.count - 1) > info.size - rows.row) {
    fail_field("rows", rows.count, "more than the size holds");
  }
}

void wrap(cai_memory &memory, const cai_memory_info &info) {
  cai_memory_info &facts = memory.facts;
  facts.flags = CAI_MEMORY_FOREIGN | info.flags;
  facts.size = info.size;
  const Rows rows = rows_of(info);
  facts.row = rows.row;
  facts.pitch = rows.pitch;
  facts.rows = rows.count;
  if (info.size == 0) return;
  facts.data = info.data;
  facts.host = info.host || memory.is_of_gpu() ? info.host : info.data;
}

// Many releases in a capture must not make each allocation in it slower.
constexpr int most_refusals = 16;

// Makes memory by `body`. `release` is not called until this has succeeded.
template <class Body>
cai_memory *make(cai_device device, uint32_t kind, Body &&body) {
  HeldMemory memory = new_memory(device, kind);
  note_device(*memory);
  body(*memory);
  enter_if_it_may_die(*memory);
  return memory.let_go();
}

}  // namespace
}  // namespace cai::memory

using namespace cai;

cai_status cai_memory_alloc(cai_device device, const cai_request *request, cai_memory **out,
                            cai_error *error) {
  return guard(error, [&] {
    const cai_request wanted = memory::read_request(request);
    if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
    memory::require_valid(wanted);
    memory::retry_ends(memory::most_refusals);
    *out = memory::make(device, wanted.kind, [&](cai_memory &memory) {
      wanted.kind == CAI_KIND_CUDA_ARRAY ? memory::allocate_cuda_array(memory, wanted)
                                         : memory::allocate_block(memory, wanted);
    });
  });
}

cai_status cai_memory_pin(cai_device device, void *host, uint64_t size, uint32_t kind,
                          uint32_t flags, void (*release)(void *context), void *context,
                          cai_memory **out, cai_error *error) {
  return guard(error, [&] {
    if (!out) throw Failure(CAI_ERR_ARGUMENT, {}, "out is NULL");
    if (!memory::is_pinned(kind)) memory::fail_field("kind", kind, "it must be PINNED or MAPPED");
    if (flags & ~uint32_t{CAI_HOST_PORTABLE | CAI_HOST_WRITE_COMBINED}) {
      memory::fail_field("flags", flags, "it has unknown bits");
    }
    if (size > UINT64_MAX - reinterpret_cast<uintptr_t>(host)) {
      memory::fail_field("size", size, "leaves the address space");
    }
    *out = memory::make(device, kind, [&](cai_memory &memory) {
      memory::pin(memory, host, size, flags);
      memory.give_back = memory::unpin_block;
      memory.release_foreign = release;
      memory.context = context;
    });
  });
}

cai_status cai_memory_wrap(const cai_memory_info *info, void (*release)(void *context),
                           void *context, cai_memory **out, cai_error *error) {
  return guard(error, [&] {
    if (!info || !out) throw Failure(CAI_ERR_ARGUMENT, {}, "info or out is NULL");
    constexpr std::size_t least = offsetof(cai_memory_info, row);
    if (info->struct_size < least) {
      throw Failure(CAI_ERR_ARGUMENT, {}, "info->struct_size is %u, less than %zu",
                    info->struct_size, least);
    }
    cai_memory_info given{};
    std::memcpy(&given, info, std::min<std::size_t>(info->struct_size, sizeof given));
    memory::require_valid(given);
    *out = memory::make(given.device, given.kind, [&](cai_memory &memory) {
      memory::wrap(memory, given);
      if (release) memory.give_back = memory::release_foreign;
      memory.release_foreign = release;
      memory.context = context;
    });
  });
}
