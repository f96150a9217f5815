// SPDX-License-Identifier: BSD-3-Clause
// What the steps of a program do.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "../wide/driver.hpp"
#include "cai/dlpack.h"
#include "must.h"
#include "world.hpp"

namespace lives {

constexpr unsigned foreign = 40;  // bytes of a foreign array

// ---- Where memory comes from --------------------------------------------------------------------

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

// Whether host and GPU use it.
static bool is_of_two(const Array &array) {
  const Owner *const owner = array.memory ? array.memory->root().owner : array.owner;
  return (array.memory && is_pinned(array.memory->kind)) || (owner && owner->host);
}

// The host does not wait for a GPU's work on an array that it knows by its address alone, so the
// program sees to that.
void World::finish_gpu(const Array &array) {
  if (!is_of_two(array)) return;
  if (!(array.memory ? array.memory->root().was_imported : array.owner->was_imported)) return;
  end_capture();
  finish_gpus();
}

void World::finish_gpus() {
  for (unsigned i = 0; i < count_of_gpus_; ++i) MUST(cai_device_synchronize(gpus[i], nullptr));
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
  if (offset != from->start && from->count) blame("cai_memory_of() says another offset");
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

// ---- Who holds it -------------------------------------------------------------------------------

void World::retain(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  cai_memory_retain(found->handle);
  ++found->holders;
  ++found->ours;
}

// Calls `body`; now and then in a function on a GPU stream, as a garbage collection may come there.
void World::anywhere(const Step &step, const std::function<void()> &body) {
  if (step[3] % 4 != 1 || captured_) return body();
  cai_stream *const stream = this->stream(gpu(step[3] / 4), step[4]);
  const cai_work_fn call = [](void *it, cai_error *) {
    is_in_function = true;
    (*static_cast<const std::function<void()> *>(it))();
    is_in_function = false;
    return cai_status{CAI_OK};
  };
  void *const context = const_cast<std::function<void()> *>(&body);
  must("enqueue", CAI_OK,
       [&](cai_error *error) { return cai_stream_enqueue(stream, call, nullptr, context, error); });
  MUST(cai_stream_synchronize(stream, nullptr));
  has_put_off_ = true;
}

void World::release(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  if (--found->ours == 0) std::erase(memories_, found);
  anywhere(step, [&] { cai_memory_release(found->handle); });
  if (found->owner) MUST(cai_drain(0, nullptr, nullptr));  // hands back to the array, in a function
  let_go(*found);
}

void World::free(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  // Of imports of what is not found by its address nothing is known.
  if (found->root().was_imported && !found->root().is_found) sync_cpu();
  cai_status expected = CAI_OK;
  if (found->freed) expected = CAI_ERR_STATE;
  if (found->whole) expected = CAI_ERR_UNSUPPORTED;
  // It may be freed later; then the failure is reported.
  const bool is_lost = expected == CAI_OK && found->judge && found->judge->loses();
  const auto free_it = [&](cai_error *error) {
    const cai_status status = cai_memory_free(found->handle, error);
    return is_lost && status == CAI_ERR_CUDA ? cai_status{CAI_OK} : status;
  };
  if (!must("free", expected, free_it)) return;
  found->freed = true;
  count(*found, -1);
}

void World::end_array(const Step &step) {
  const auto which = arrays_.begin() + static_cast<std::ptrdiff_t>(step[1] % arrays_.size());
  const Array gone = *which;
  const bool ends_later = gone.is_import && is_of_two(gone);  // once a GPU has used it
  if (ends_later) end_capture();
  arrays_.erase(which);
  anywhere(step, [&] { cai_array_release(gone.handle); });
  if (gone.memory && gone.memory->owner) MUST(cai_drain(0, nullptr, nullptr));
  if (ends_later) finish_gpus(), MUST(cai_drain(0, nullptr, nullptr));
  if (gone.memory) let_go(*gone.memory);
}

void World::drop(const Step &step) {
  if (!arrays_.empty()) end_array(step);
}

// ---- Who uses it --------------------------------------------------------------------------------

void World::fill(const Step &step) {
  Array *const to = array(step[1]);
  if (!to) return;
  const auto value = static_cast<unsigned char>(step[2]);
  const bool by_cpu = to->is_of_host() || (to->is_for_host() && step[3] % 2);
  cai_status expected = to->read_only ? CAI_ERR_VALUE : CAI_OK;
  if (!to->is_alive()) expected = CAI_ERR_STATE;
  Stream on{};
  if (step[3] % 5) on = stream_for(*to, by_cpu ? cpu : to->gpu(), step[4]);
  if (on.is_dead && expected == CAI_OK && to->count) expected = CAI_ERR_STATE;
  const bool done = ask("fill", expected, [&](cai_error *error) {
    return cai_array_fill(to->handle, &value, on.handle, error);
  });
  finish_gpu(*to);
  if (!done && !fault_.has_struck()) return;
  const auto begin = to->bytes->begin() + static_cast<std::ptrdiff_t>(to->start);
  if (!done && to->read_only) return;
  std::fill_n(begin, to->count, done ? value : unknown);
}

void World::copy(const Step &step) {
  Array *const from = array(step[1]), *to = array(step[2]);
  // Mostly between two that match.
  for (unsigned i = 0; from && i < arrays_.size() && step[3] / 5 % 4; ++i) {
    Array &each = arrays_[(step[2] + i) % arrays_.size()];
    if (!each.is_barred() && each.count == from->count && each.bytes != from->bytes) to = &each;
  }
  if (!from || !to || from->bytes == to->bytes) return;
  cai_status expected = CAI_OK;
  const bool fit =
      from->count == to->count && (from->mask_count <= 1 ? to->mask_count >= from->mask_count
                                                         : from->mask_count == to->mask_count);
  if (to->read_only || !fit) expected = CAI_ERR_VALUE;
  if (!from->is_alive() || !to->is_alive()) expected = CAI_ERR_STATE;
  const bool by_host = from->is_for_host() && to->is_for_host();
  const bool by_cpu = by_host && ((from->is_of_host() && to->is_of_host()) || step[3] % 2);
  const Array *const of_gpu = to->is_of_host() || (!from->is_of_host() && step[4] % 2) ? from : to;
  Stream on{};
  if (step[3] % 5) on = stream_for(*of_gpu, by_cpu ? cpu : of_gpu->gpu(), step[4]);
  if (on.is_dead && expected == CAI_OK && to->count) expected = CAI_ERR_STATE;
  const bool done = ask("copy", expected, [&](cai_error *error) {
    return cai_array_copy(from->handle, to->handle, on.handle, error);
  });
  finish_gpu(*from), finish_gpu(*to);
  if (to->read_only || !fit || (!done && !fault_.has_struck())) return;
  for (std::uint64_t i = 0; i < to->count; ++i) {
    (*to->bytes)[to->start + i] = done ? (*from->bytes)[from->start + i] : unknown;
  }
  for (std::uint64_t i = 0; i < to->mask_count; ++i) {
    const std::uint64_t at = from->mask_start + (from->mask_count > 1 ? i : 0);
    const int valid = from->mask_count ? (*from->bytes)[at] : 1;
    (*to->bytes)[to->mask_start + i] = done ? valid : unknown;
  }
}

void World::read(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from || from->count == 0) return;
  if (from->mask_count) return;  // nobody reads what may be invalid
  const auto at = static_cast<std::int64_t>(step[2] % from->count);
  unsigned char byte = 0;
  if (!ask("item", from->is_alive() ? CAI_OK : CAI_ERR_STATE,
           [&](cai_error *error) { return cai_array_item(from->handle, &at, &byte, error); })) {
    return;
  }
  const int expected = (*from->bytes)[from->start + static_cast<std::uint64_t>(at)];
  if (expected == unknown || expected == byte) return;
  blame("an element is " + std::to_string(byte) + ", not " + std::to_string(expected));
}

cai_status Work::run(void *self, cai_error *error) {
  Work &work = *static_cast<Work *>(self);
  std::this_thread::sleep_for(std::chrono::microseconds(work.pause));
  if (work.elements) {
    const auto count = static_cast<std::size_t>(work.array->shape[0]);
    work.status = cai_array_sync_host(work.array, error);
    if (work.status == CAI_OK) std::memset(work.elements, work.value, count);
  } else {
    work.status = cai_array_item(work.array, &work.at, &work.found, error);
  }
  return CAI_OK;  // what it says is judged later
}

void Work::end(void *self) {
  Work &work = *static_cast<Work *>(self);
  cai_array_release(work.array);
  work.is_done = true;
}

// Work of the program's own on a stream of the CPU, which others are told of as the header says. It
// waits for what was queued before it, whatever comes after it.
void World::enqueue(const Step &step) {
  Array *on = nullptr;
  for (unsigned i = 0; i < arrays_.size() && !on; ++i) {
    Array &each = arrays_[(step[1] + i) % arrays_.size()];
    if (!each.is_barred() && each.memory && each.is_alive() && each.is_for_host() && each.count &&
        !each.mask_count)
      on = &each;
  }
  if (!on) return;
  const bool sets = step[3] % 3 == 0;
  if (sets && (on->read_only || may_fail_)) return;
  const auto at = static_cast<std::ptrdiff_t>(step[2] % on->count);
  const auto begin = on->bytes->begin() + static_cast<std::ptrdiff_t>(on->start);
  const int value = sets ? static_cast<unsigned char>(step[2]) : begin[at];
  auto *const host = reinterpret_cast<unsigned char *>(info_of(on->memory->handle).host);
  works_.push_back(std::make_unique<Work>(on->handle, on->memory, at, value,
                                          sets ? host + on->start : nullptr, step[4] % 5 * 20));
  Work &work = *works_.back();
  cai_stream *const stream = this->stream(cpu, step[3] / 3);
  cai_array_retain(work.array);
  const bool done = ask("enqueue", CAI_OK, [&](cai_error *error) {
    return cai_stream_enqueue(stream, Work::run, Work::end, &work, error);
  });
  if (!done) return Work::end(&work), works_.pop_back();
  if (sets) std::fill_n(begin, on->count, value);
  must("record", CAI_OK,
       [&](cai_error *error) { return cai_memory_record(on->memory->handle, stream, error); });
}

// What comes later on a stream of the CPU is pending for a while.
void World::delay(const Step &step) {
  const cai_work_fn sleep = [](void *, cai_error *) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return cai_status{CAI_OK};
  };
  must("delay", CAI_OK, [&](cai_error *error) {
    return cai_stream_enqueue(stream(cpu, step[1]), sleep, nullptr, nullptr, error);
  });
}

void World::compare(const Step &) {
  check_bytes();
}

// To code that does not know the memory, and so cannot know that it was freed.
void World::hand_out(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from) return;
  if (!from->is_alive()) {
    cai_use use;
    must("use", CAI_ERR_STATE, [&](cai_error *error) {
      return cai_use_begin(&use, &from->handle, 1, 1, nullptr, error);
    });
  }
  cai_status expected = from->read_only || from->mask_count ? CAI_ERR_EXPORT : CAI_OK;
  if (!from->is_alive()) expected = CAI_ERR_STATE;
  std::int64_t strides = 0;
  DLTensor tensor;
  must("lend", expected,
       [&](cai_error *error) { return cai_dlpack_lend(from->handle, &strides, &tensor, error); });
}

// The host may wait for whatever it still has an array of, gone or not.
void World::await(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from) return;
  must("await", CAI_OK, [&](cai_error *error) {
    return step[2] % 2 ? cai_array_eval(from->handle, error)
                       : cai_array_sync_host(from->handle, error);
  });
}

void World::set_stream(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  const cai_device device = step[2] % 8 ? found->device : this->device(step[2] / 8);
  cai_status expected = CAI_OK;
  if (!are_same(device, found->device)) expected = CAI_ERR_DEVICE;
  if (found->whole) expected = CAI_ERR_UNSUPPORTED;
  if (!found->is_alive()) expected = CAI_ERR_STATE;
  const Stream on = stream_or_dead(device, step[3]);
  if (on.is_dead && expected == CAI_OK) expected = CAI_ERR_STATE;
  must("set_stream", expected,
       [&](cai_error *error) { return cai_memory_set_stream(found->handle, on.handle, error); });
}

void World::record(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  const Stream on = stream_or_dead(device(step[2]), step[3]);
  const cai_status expected = found->is_alive() && !on.is_dead ? CAI_OK : CAI_ERR_STATE;
  must("record", expected,
       [&](cai_error *error) { return cai_memory_record(found->handle, on.handle, error); });
}

// ---- What becomes of it -------------------------------------------------------------------------

void World::defer(const Step &step) {
  const std::int32_t begins = step[1] % 2;
  const cai_device gpu = this->gpu(step[2]);
  unsigned &deferred = deferred_[gpu.id];
  const bool done = must("defer", begins || deferred ? CAI_OK : CAI_ERR_STATE,
                         [&](cai_error *error) { return cai_pending_defer(gpu, begins, error); });
  if (done) begins ? ++deferred : --deferred;
}

void World::flush(const Step &step) {
  const cai_device gpu = this->gpu(step[1]);
  sync_cpu();  // whose frees come from their threads
  must("flush", CAI_OK, [&](cai_error *error) { return flush_all(gpu, error); });
  if (deferred_[gpu.id] == 0 && usage_of(gpu).pending_count)
    blame("frees are pending after a flush");
}

void World::trim(const Step &step) {
  const Manager &manager = managers_[step[1] % managers_.size()];
  must("trim", CAI_OK,
       [&](cai_error *error) { return cai_manager_trim(manager.handle, 0, error); });
}

// Not managers that reject: libcai's own allocations could fail.
void World::install(const Step &step) {
  const Manager &manager = managers_[step[1] % managers_.size()];
  const bool is_none = step[2] % 3 == 0 || is_cpu(manager.device) || manager.limits ||
                       manager.counts || manager.fails();
  const cai_device gpu = is_none ? this->gpu(step[3]) : manager.device;
  must("install", CAI_OK, [&](cai_error *error) {
    return cai_manager_install(gpu, is_none ? nullptr : manager.handle, error);
  });
  installed_[gpu.id] = is_none ? nullptr : manager.handle;
}

void World::reset(const Step &step) {
  const bool of_context = step[1] % 2;
  const cai_device gpu = this->gpu(step[2]);
  // It does not wait for another GPU's work on what is destroyed.
  for (unsigned i = 0; i < count_of_gpus_ && of_context; ++i) {
    if (!are_same(gpus[i], gpu)) MUST(cai_device_synchronize(gpus[i], nullptr));
  }
  must("reset", CAI_OK, [&](cai_error *error) {
    return cai_device_reset(gpu, of_context ? CAI_RESET_CONTEXT : 0, error);
  });
  // But what comes from the threads of CPU streams.
  if (of_context && usage_of(gpu).pending_count) blame("frees are pending after a reset");
  if (!of_context) return;
  may_fail_ = true;  // what was for its streams
  free_pools(gpu);
  ++Judge::now[gpu.id];
  counts_allocations_ = count_of_gpus_ == 1;  // of two GPUs, nobody knows which are left
  allocations_ = wide::cu().simcuda_objects("CUdeviceptr");
  end_gpu(gpu);
  make_gpu(gpu);
}

// The roots of memory and arrays.
void World::free_pools(cai_device gpu) {
  const auto free_it = [&](Memory &memory) {
    if (!memory.is_of_pool || memory.home != gpu.id || !memory.is_alive()) return;
    memory.freed = true;
    count(memory, -1);
  };
  for (const Shared &each : memories_) free_it(each->whole ? *each->whole : *each);
  for (const Array &each : arrays_) {
    if (each.memory) free_it(*each.memory);
  }
}

// Which GPU pins memory of the CPU.
void World::set_current(const Step &step) {
  current_ = gpu(step[1]).id;
  MUST(cai_device_set_current(gpus[current_], nullptr));
}

void World::find(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found || found->size == 0 || found->whole) return;
  const std::uint64_t data = info_of(found->handle).data, at = step[2] % found->size;
  const bool is_there = found->is_alive() && found->is_found;
  cai_memory *out = nullptr;
  std::uint64_t offset = 0;
  const cai_status status = cai_memory_find(data + at, &out, &offset, nullptr);
  if (is_there && (out != found->handle || offset != at)) blame("memory is not found");
  if (!is_there && out == found->handle) blame("memory is found that is not there");
  if (status == CAI_OK && info_of(out).flags & CAI_MEMORY_FREED) blame("dead memory is found");
  if (out) cai_memory_release(out);
}

void World::share(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  cai_status expected = CAI_OK;
  const bool is_plain = found->kind == CAI_KIND_DEFAULT && !is_cpu(found->device) &&
                        !found->is_ordered && !found->root().is_foreign;
  if (!is_plain || found->read_only || found->size == 0) expected = CAI_ERR_UNSUPPORTED;
  if (!found->is_alive()) expected = CAI_ERR_STATE;
  cai_ipc_handle handle{};
  std::int32_t fd = -1;
  if (!must("share", expected, [&](cai_error *error) {
        return cai_memory_share(found->handle, &handle, &fd, error);
      })) {
    return;
  }
  if (handle.size != found->size) blame("a handle says another size");
  cai_memory *out = nullptr;
  must("open", CAI_ERR_STATE, [&](cai_error *error) {
    return cai_memory_open(&handle, fd, found->device, nullptr, CAI_OPEN_AUTO, &out, error);
  });
}

void World::synchronize(const Step &step) {
  if (step[1] % 2) return MUST(cai_drain(step[2] % 2, nullptr, nullptr));
  MUST(cai_stream_synchronize(stream(device(step[2]), step[3]), nullptr));
}

// The child releases all that it has: it must free none of it.
void World::fork_here(const Step &step) {
  if (step[1] % (bystander_ ? 4 : 16)) return;
  std::fflush(nullptr);
  const pid_t child = fork();
  MUST_HOLD(child >= 0);
  if (child == 0) {
    alarm(20);
    wide::Fault::forget_threads();
    for (const Array &array : arrays_) cai_array_release(array.handle);
    for (const Shared &memory : memories_) {
      for (; memory->ours > 0; --memory->ours) cai_memory_release(memory->handle);
    }
    _exit(wrong().empty() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0) blame("a forked child says " + std::to_string(status));
}

// Not beside another thread, which might meet it.
void World::fail(const Step &step) {
  if (bystander_) return;
  constexpr unsigned functions = std::size(wide::kFailWords) - wide::kAllocations;
  sync_cpu();  // what is to be set is known as set
  wide::Failing failing;
  if (step[4] % 2 == 0) failing.what = wide::kAllocations + step[1] % functions;
  failing.nth = 1 + step[2] % 4;
  failing.calls = step[3] % 2;
  fault_.choose(failing);
  may_fail_ = true;
}

// On a stream of the GPU, in each of the driver's modes; or the end of one.
void World::capture(const Step &step) {
  if (captured_) return end_capture();
  sync_cpu();  // whose threads may be asking about the stream, to free: nobody could stop them
               // there
  captured_ = stream(gpu(step[3]), step[1]);
  const auto value = static_cast<std::uintptr_t>(cai_stream_value(captured_));
  MUST(wide::cu().cuStreamBeginCapture_v2(reinterpret_cast<wide::Handle>(value),
                                          static_cast<int>(step[2] % 3)));
  has_put_off_ = true;
}

// ---- Programs -----------------------------------------------------------------------------------

// Operations that are drawn more often occur here more often.
const World::Party World::parties[] = {
    {"allocate", &World::allocate, true},
    {"allocate", &World::allocate, true},
    {"allocate", &World::allocate, true},
    {"allocate", &World::allocate, true},
    {"pin", &World::pin, true},
    {"wrap", &World::wrap, true},
    {"own", &World::own, true},
    {"own_on_gpu", &World::own_on_gpu},
    {"own_on_gpu", &World::own_on_gpu},
    {"own_pinned", &World::own_pinned},
    {"lose", &World::lose, false, true},
    {"import", &World::import, true},
    {"import", &World::import, true},
    {"view", &World::view, true},
    {"retain", &World::retain, true},
    {"release", &World::release, true},
    {"release", &World::release, true},
    {"release", &World::release, true},
    {"release", &World::release, true},
    {"free", &World::free, true},
    {"array", &World::array, true},
    {"array", &World::array, true},
    {"array", &World::array, true},
    {"array", &World::array, true},
    {"masked", &World::masked, true},
    {"memory_of", &World::memory_of},
    {"drop", &World::drop, true},
    {"drop", &World::drop, true},
    {"fill", &World::fill},
    {"fill", &World::fill},
    {"fill", &World::fill},
    {"fill", &World::fill},
    {"copy", &World::copy},
    {"copy", &World::copy},
    {"copy", &World::copy},
    {"read", &World::read},
    {"read", &World::read},
    {"read", &World::read},
    {"enqueue", &World::enqueue},
    {"enqueue", &World::enqueue},
    {"delay", &World::delay, true},
    {"delay", &World::delay, true},
    {"compare", &World::compare},
    {"hand_out", &World::hand_out, true},
    {"await", &World::await},
    {"record", &World::record},
    {"set_stream", &World::set_stream},
    {"defer", &World::defer, true},
    {"flush", &World::flush},
    {"trim", &World::trim},
    {"install", &World::install, true},
    {"reset", &World::reset, false, true},
    {"set_current", &World::set_current, true},
    {"find", &World::find, true},
    {"find", &World::find, true},
    {"share", &World::share},
    {"synchronize", &World::synchronize},
    {"fork", &World::fork_here},
    {"fail", &World::fail, true},
    {"fail", &World::fail, true},
    {"capture", &World::capture, true},
    {"capture", &World::capture, true},
    {"capture", &World::capture, true},
};

unsigned World::party(const char *name) {
  const auto *const found =
      std::find_if(std::begin(parties), std::end(parties),
                   [&](const Party &each) { return std::strcmp(each.name, name) == 0; });
  MUST_HOLD(found != std::end(parties));
  return static_cast<unsigned>(found - parties);
}

void World::run(const Program &program) {
  for (const Step &step : program.steps) {
    const Party &party = parties[step[0] % std::size(parties)];
    if (speaks) {
      std::printf("%s %u %u %u %u\n", party.name, step[1], step[2], step[3], step[4]);
      std::fflush(stdout);  // it may be the last
    }
    if (!party.in_captures) end_capture();
    {
      const bool is_alone = party.alone || step[0] / std::size(parties) % 3;
      const Bystander::Turn turn(is_alone ? nullptr : bystander_.get());
      (this->*party.act)(step);
    }
    check();
    if (!wrong().empty()) return;
  }
  close();
}

}  // namespace lives
