// SPDX-License-Identifier: BSD-3-Clause
// Where memory and arrays come from.
#include <cstring>

#include "../wide/driver.hpp"
#include "must.h"
#include "world.hpp"

namespace lives {

constexpr unsigned foreign = 40;  // bytes of a foreign array

void World::allocate(const Step &step) {
  if (memories_.size() >= most) return;
  constexpr std::uint32_t kinds[] = {CAI_KIND_DEFAULT, CAI_KIND_DEFAULT,        CAI_KIND_ASYNC,
                                     CAI_KIND_PINNED,  CAI_KIND_MANAGED_GLOBAL, CAI_KIND_MAPPED,
                                     CAI_KIND_HOST};
  Memory made;
  made.device = device(step[1]);
  made.home = is_cpu(made.device) ? current_ : made.device.id;
  made.kind = kinds[step[2] % std::size(kinds)];
  made.size = step[3] % 9 == 0 ? 0 : 16 + step[3] % 100;
  made.bytes = std::make_shared<Bytes>(made.size, unknown);
  made.is_counted = made.is_found = made.size != 0;
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = made.kind;
  request.size = made.size;
  if (is_pinned(made.kind) && step[3] % 2) request.flags = CAI_HOST_WRITE_COMBINED;
  Stream on{};
  if (step[1] % 2) on = stream_or_dead(made.device, step[4]);
  request.stream = on.handle;
  if (!is_cpu(made.device) || (is_pinned(made.kind) && made.size)) {
    made.epoch = Judge::now[made.home];
  }
  cai_status expected = CAI_OK;
  made.is_ordered = !is_cpu(made.device) && made.kind == CAI_KIND_ASYNC;
  const bool is_default = !is_cpu(made.device) && made.kind == CAI_KIND_DEFAULT;
  if (!is_pinned(made.kind) && made.kind != CAI_KIND_HOST && step[4] % 3) {
    const Manager &manager = managers_[step[4] % managers_.size()];
    if (are_same(manager.device, made.device)) {
      request.manager = manager.handle;
      made.judge = manager.judge;
      if (manager.loses()) may_fail_ = true;
      made.is_ordered |= is_default && manager.is_ordered;
      const bool is_over = manager.limits && out_of(manager) + made.size > limit;
      if (made.size && (manager.fails() || is_over)) expected = CAI_ERR_MEMORY;
    }
  }
  const Manager *const usual = is_cpu(made.device) ? nullptr : installed(made.device);
  if (is_default && !request.manager && usual) made.is_ordered = usual->is_ordered;
  if (made.size && made.is_ordered && is_captured(request.stream, made.device)) {
    expected = CAI_ERR_CAPTURE;
  }
  if (on.is_dead && made.size) expected = CAI_ERR_STATE;
  const bool is_own = request.manager ? !made.judge : !usual || !usual->judge;
  made.is_of_pool = made.is_ordered && is_own && made.size;
  cai_memory *handle = nullptr;
  if (ask("alloc", expected, [&](cai_error *error) {
        return cai_memory_alloc(made.device, &request, &handle, error);
      })) {
    add(handle, std::move(made));
  }
}

void World::pin(const Step &step) {
  if (memories_.size() >= most) return;
  Memory made;
  made.device = step[1] % 2 ? gpu(step[1] / 2) : cpu;
  made.home = is_cpu(made.device) ? current_ : made.device.id;
  made.kind = step[2] % 2 ? CAI_KIND_PINNED : CAI_KIND_MAPPED;
  made.size = 32;
  made.epoch = Judge::now[made.home];
  made.is_counted = true;
  made.bytes = std::make_shared<Bytes>(made.size, step[3] % 256);
  Owner &owner = new_owner(32, step[3]);
  cai_memory *handle = nullptr;
  const bool done = ask("pin", CAI_OK, [&](cai_error *error) {
    return cai_memory_pin(made.device, owner.bytes.data(), made.size, made.kind, 0, Owner::end,
                          &owner, &handle, error);
  });
  if (!done) return Owner::end(&owner);
  add(handle, std::move(made));
}

void World::wrap(const Step &step) {
  if (memories_.size() >= most) return;
  Memory made;
  made.kind = CAI_KIND_HOST;
  made.size = 48;
  made.read_only = step[1] % 3 == 0;
  made.is_foreign = true;
  made.bytes = std::make_shared<Bytes>(made.size, step[2] % 256);
  Owner &owner = new_owner(48, step[2]);
  cai_memory_info info{};
  info.struct_size = sizeof info;
  info.flags = made.read_only ? CAI_MEMORY_READONLY : 0;
  info.device = cpu;
  info.kind = made.kind;
  info.data = info.host = reinterpret_cast<std::uintptr_t>(owner.bytes.data());
  info.size = made.size;
  cai_memory *handle = nullptr;
  const bool done = ask("wrap", CAI_OK, [&](cai_error *error) {
    return cai_memory_wrap(&info, Owner::end, &owner, &handle, error);
  });
  if (!done) return Owner::end(&owner);
  add(handle, std::move(made));
}

// A foreign array.
void World::own(const Step &step) {
  if (arrays_.size() >= most) return;
  Owner &owner = new_owner(foreign, step[1]);
  own(owner, step, CAI_DEVICE_CPU, reinterpret_cast<std::uintptr_t>(owner.bytes.data()));
}

void World::own_on_gpu(const Step &step) {
  if (arrays_.size() >= most) return;
  const bool says = step[3] % 4 != 0;
  const cai_device gpu = this->gpu(step[2]);
  Owner &owner = new_owner_on(gpu, foreign, step[1]);
  own(owner, step, CAI_DEVICE_CUDA, owner.data, says ? cai_stream_value(stream(gpu, step[4])) : 0);
}

// Which goes with the context of the GPU that it is pinned for, and may have two addresses.
void World::own_pinned(const Step &step) {
  if (arrays_.size() >= most) return;
  Owner &owner = new_owner(0, 0);
  owner.home = gpu(step[2]).id;
  owner.epoch = Judge::now[owner.home];
  in_primary(owner.home, [&] {
    constexpr unsigned combined = 4;
    MUST(wide::cu().cuMemHostAlloc(&owner.host, foreign, step[3] % 2 ? combined : 0));
    MUST(wide::cu().cuMemHostGetDevicePointer_v2(&owner.data, owner.host, 0));
  });
  std::memset(owner.host, static_cast<int>(step[1] % 256), foreign);
  own(owner, step, CAI_DEVICE_CUDA_HOST, owner.data);
}

void World::own(Owner &owner, const Step &step, std::int32_t type, std::uint64_t data,
                std::uint64_t said) {
  const std::int64_t extent = foreign, stride = 1;
  cai_array given{};
  given.abi_major = CAI_ABI_MAJOR;
  given.abi_minor = CAI_ABI_MINOR;
  given.version = 3;
  given.device_type = type;
  given.device_id = owner.home;
  given.stream_kind = said ? CAI_STREAM_STREAM : CAI_STREAM_NONE;
  given.stream = said;
  given.dtype = byte_type;
  given.ndim = 1;
  given.shape = &extent;
  given.strides = &stride;
  given.data = data;
  Array made;
  made.read_only = step[2] % 3 == 0;
  if (made.read_only) given.flags = CAI_FLAG_READONLY;
  made.bytes = std::make_shared<Bytes>(foreign, step[1] % 256);
  made.count = foreign;
  made.owner = &owner;
  const bool done = ask("own", CAI_OK, [&](cai_error *error) {
    return cai_array_own(&given, Owner::end, &owner, &made.handle, error);
  });
  done ? arrays_.push_back(made) : Owner::end(&owner);
}

// Host memory from a consumer that names only its address, as NumPy does; or that for kernels, or
// the mask's alone.
void World::import(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from || !from->is_for_host() || !from->is_alive() || arrays_.size() >= most) return;
  if (from->mask_count == 1) return;  // a view repeats it
  Array made = *from;
  cai_array *view = nullptr;
  if (cai_array_slice(from->handle, nullptr, 0, &view, nullptr) != CAI_OK) return;
  cai_array said = *view, mask{};
  if (said.mask && step[2] % 2) {
    said = *said.mask;
    made.start = made.mask_start;
    made.count = made.mask_count;
    made.mask_count = 0;
  }
  if (said.mask) {
    mask = *said.mask;
    said.mask = &mask;
  }
  for (cai_array *const part : {&said, &mask}) {
    part->owner = nullptr;
    if (from->is_of_host() || part->ndim == 0) continue;
    part->stream_kind = CAI_STREAM_NONE;
    part->stream = 0;
    if (step[3] % 2) continue;
    // Pinned: the host may have another address than the device.
    cai_array held = *part;
    held.owner = view->owner;
    MUST(cai_array_host(&held, &part->data, nullptr));
    part->device_type = CAI_DEVICE_CPU;
    part->device_id = 0;
  }
  const auto end = [](void *it) { cai_array_release(static_cast<cai_array *>(it)); };
  if (!ask("import", CAI_OK, [&](cai_error *error) {
        return cai_array_own(&said, end, view, &made.handle, error);
      })) {
    return cai_array_release(view);
  }
  made.handle->owner->flags |= CAI_OWNER_IMPORTED;
  made.handle->owner->freed_on = UINT64_MAX;
  made.is_import = true;
  if (made.memory) {
    ++made.memory->holders;
    (made.memory->whole ? made.memory->whole : made.memory)->was_imported = true;
  } else {
    made.owner->was_imported = true;
  }
  finish_gpu(made);
  arrays_.push_back(made);
}

// Foreign memory is freed before its references are released, and all of them learn that.
void World::lose(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from || from->memory || from->is_import || from->owner->lost) return;
  sync_cpu();
  finish_gpus();
  __atomic_fetch_or(&from->handle->owner->flags, CAI_OWNER_FREED, __ATOMIC_RELAXED);
  from->owner->take_bytes();
  from->owner->lost = true;
}

void World::view(const Step &step) {
  const Shared from = memory(step[1]);
  if (!from || memories_.size() >= most) return;
  const std::uint64_t start = step[2] % (from->size + 1), stop = step[3] % (from->size + 3);
  cai_status expected = CAI_OK;
  if (start > stop || stop > from->size) expected = CAI_ERR_BOUNDS;
  if (!from->is_alive()) expected = CAI_ERR_STATE;
  cai_memory *handle = nullptr;
  if (!ask("view", expected, [&](cai_error *error) {
        return cai_memory_view(from->handle, start, stop, &handle, error);
      })) {
    return;
  }
  Memory made = *from;
  made.whole = from->whole ? from->whole : from;
  made.holders = made.ours = 1;
  made.start += start;
  made.size = stop - start;
  made.is_counted = false;
  ++made.whole->holders;
  add(handle, std::move(made));
}

void World::memory_of(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from || from->is_import || memories_.size() >= most) return;
  cai_memory *handle = nullptr;
  std::uint64_t offset = 0;
  const bool is_lost = !from->memory && from->owner->lost;
  if (!ask("of", is_lost ? CAI_ERR_STATE : CAI_OK, [&](cai_error *error) {
        return cai_memory_of(from->handle, &handle, &offset, error);
      })) {
    return;
  }
  if (!from->memory) {
    Memory made;
    made.bytes = from->bytes;
    made.size = from->count;
    made.read_only = from->read_only;
    made.is_foreign = true;
    made.owner = from->owner;
    made.device = from->is_of_host() ? cpu : from->gpu();
    made.home = from->owner->home;
    made.epoch = from->owner->epoch;
    add(handle, std::move(made));
    if (memories_.back()->epoch) from->owner->found = memories_.back();
    return;
  }
  if (offset != from->start - from->memory->start && from->count)
    blame("cai_memory_of() says another offset");
  if (from->read_only && !from->memory->read_only) {
    Memory made = *from->memory;
    made.whole = from->memory;
    made.holders = made.ours = 1;
    made.is_counted = false;
    made.read_only = true;
    ++made.whole->holders;
    return add(handle, std::move(made));
  }
  if (handle != from->memory->handle) blame("cai_memory_of() finds other memory");
  ++from->memory->holders;
  const auto known = std::find(memories_.begin(), memories_.end(), from->memory);
  if (known == memories_.end()) {
    from->memory->ours = 1;
    memories_.push_back(from->memory);
  } else {
    ++from->memory->ours;
  }
}

void World::array(const Step &step) {
  const Shared from = memory(step[1]);
  if (!from || arrays_.size() >= most) return;
  std::uint64_t start = step[2] % 4 ? 0 : step[3] % (from->size + 1);
  std::uint64_t count =
      step[2] % 3 ? std::min<std::uint64_t>(16, from->size - start) : step[4] % (from->size + 2);
  cai_status expected = start + count > from->size ? CAI_ERR_BOUNDS : CAI_OK;
  if (!from->is_alive()) expected = CAI_ERR_STATE;
  const auto extent = static_cast<std::int64_t>(count);
  Array made;
  if (!ask("array", expected, [&](cai_error *error) {
        return cai_memory_array(from->handle, start, &byte_type, 1, &extent, nullptr, &made.handle,
                                error);
      })) {
    return;
  }
  add_array(from, made, start, count);
}

void World::add_array(const Shared &from, Array made, std::uint64_t start, std::uint64_t count) {
  made.memory = from->whole ? from->whole : from;
  ++made.memory->holders;
  made.bytes = from->bytes;
  made.start = from->start + start;
  made.count = count;
  made.read_only = from->read_only;
  if (made.read_only != bool(made.handle->flags & CAI_FLAG_READONLY)) blame("a mark is lost");
  arrays_.push_back(made);
}

// Elements, and behind them a mask, of one for each of them or one for all.
void World::masked(const Step &step) {
  const Shared from = memory(step[1]);
  if (!from || arrays_.size() >= most) return;
  const std::uint64_t start = step[2] % 4, count = step[2] % 3 ? 16 : 1 + step[2] % 20;
  Array made;
  made.mask_count = step[3] % 4 ? count : 1;
  made.mask_start = from->start + start + count;
  const auto extent = static_cast<std::int64_t>(count);
  const auto mask_extent = static_cast<std::int64_t>(made.mask_count);
  cai_array like{}, mask{};
  like.abi_major = mask.abi_major = CAI_ABI_MAJOR;
  like.dtype = mask.dtype = byte_type;
  like.ndim = mask.ndim = 1;
  like.shape = &extent;
  mask.shape = &mask_extent;
  like.mask = &mask;
  const bool fits = start + count + made.mask_count <= from->size;
  cai_status expected = fits ? CAI_OK : CAI_ERR_BOUNDS;
  if (!from->is_alive()) expected = CAI_ERR_STATE;
  if (ask("masked", expected, [&](cai_error *error) {
        return cai_memory_array_like(from->handle, start, &like, start + count, &made.handle,
                                     error);
      })) {
    add_array(from, made, start, count);
  }
}

}  // namespace lives
