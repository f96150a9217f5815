// SPDX-License-Identifier: BSD-3-Clause
// The handle of memory: its references, its description, and its streams.
#include "memory/memory.hpp"

#include <algorithm>
#include <cinttypes>
#include <climits>
#include <cstring>
#include <mutex>

#include "core/fork.hpp"
#include "core/report.hpp"
#include "core/sizes.hpp"
#include "device/cpu_stream.hpp"
#include "device/current.hpp"
#include "device/gpu_stream.hpp"
#include "device/primary.hpp"
#include "device/reset.hpp"
#include "memory/registry.hpp"
#include "order/above.hpp"
#include "order/uses.hpp"
#include "order/waiting.hpp"
#include "order/without_driver.hpp"

using namespace cai;

cai_memory::cai_memory(cai_device device, std::uint32_t kind)
    : cai_owner(keeping_owner(retain_owner, release_owner)), process(forks()) {
  facts.device = device;
  facts.kind = kind;
  facts.rows = facts.depth = 1;
}

cai_memory::~cai_memory() {
  order::drop_uses(this);
  if (found_by && is_reachable()) cai_array_release(found_by);
}

void cai_memory::retain_owner(cai_owner *owner) noexcept {
  cai_memory_retain(static_cast<cai_memory *>(owner));
}

void cai_memory::release_owner(cai_owner *owner) noexcept {
  cai_memory_release(static_cast<cai_memory *>(owner));
}

bool cai_memory::is_alive() const noexcept {
  return !is_freed() && !has_lost_context();
}

bool cai_memory::is_freed() const noexcept {
  const cai_memory &all = root();
  return all.freed.load(std::memory_order_acquire) ||
         (all.keeper && has_flag(all.keeper, CAI_OWNER_FREED));
}

bool cai_memory::has_lost_context() const noexcept {
  const cai_memory &all = root();
  return all.epoch != 0 && !device::is_alive(all.epoch_gpu, all.epoch);
}

bool cai_memory::is_reachable() const noexcept {
  return process == forks();
}

namespace cai::memory {

HeldMemory new_memory(cai_device device, std::uint32_t kind) {
  return HeldMemory(new cai_memory(device, kind));
}

namespace {

// Arrays whose owner is this memory learn from its flags that it was freed.
void tell_arrays_of_end(cai_memory &memory) noexcept {
  flags_of(memory).fetch_or(CAI_OWNER_FREED, std::memory_order_relaxed);
}

bool has_died(cai_memory &memory) noexcept {
  if (memory.is_alive()) return false;
  tell_arrays_of_end(memory);
  return true;
}

// Memory of a GPU that outlives the context, in a list, each with a new reference.
struct Outliving {
  std::int32_t gpu = 0;
  cai_memory *first = nullptr;
};
constinit thread_local Outliving outliving;

bool add_if_it_outlives(cai_memory &memory) noexcept {
  const bool is_of_pool = memory.manager && memory.manager->is_from_pool(memory.block_kind);
  if ((is_of_pool || memory.outlives_context) && memory.epoch_gpu == outliving.gpu &&
      memory.is_alive() && hold_if_held(memory)) {
    memory.next = std::exchange(outliving.first, &memory);
  }
  return false;
}

// Frees memory from pools, which would keep it for good. Even if the reset fails after that, it is
// freed.
void free_what_outlives(cai_device gpu) noexcept {
  outliving = {gpu.id, nullptr};
  take_out_if(add_if_it_outlives);
  bool is_any_opened = false;
  while (cai_memory *const memory = outliving.first) {
    outliving.first = std::exchange(memory->next, nullptr);
    cai_error error;
    memory->freed_by_reset = true;
    is_any_opened |= memory->outlives_context;
    if (cai_memory_free(memory, &error) != CAI_OK) report(error);
    cai_memory_release(memory);
  }
  // What is not freed in the order of a stream waits for an event on that, of this very moment
  // perhaps. If it cannot be found complete now, a later call frees it.
  if (!is_any_opened) return;
  cai_error error;
  if (cai_device_synchronize(gpu, &error) != CAI_OK) report(error);
  static_cast<void>(cai_drain(0, nullptr, nullptr));
}

bool has_lost_context(const cai_owner &keeper) noexcept {
  const bool is_memory = keeper.retain == cai_memory::retain_owner;
  return is_memory && static_cast<const cai_memory &>(keeper).has_lost_context();
}

std::optional<order::Pinned> find_pinned(const cai_array &array) noexcept {
  const cai_memory *const memory = memory_under(array);
  if (!memory || memory->root().facts.host == 0) return std::nullopt;
  const cai_memory_info &facts = memory->root().facts;
  const bool is_in = array.data - facts.data < facts.size || array.data - facts.host < facts.size;
  if (!is_in) return std::nullopt;
  return order::Pinned{facts.data, facts.host, facts.size};
}

// Called before the first memory of a GPU, or pinned for one.
void tell_rooms_below() noexcept {
  order::above.find_pinned.store(find_pinned, std::memory_order_release);
  order::above.has_lost_context.store(has_lost_context, std::memory_order_release);
  order::above.free_again.store([]() noexcept { retry_ends(INT_MAX); }, std::memory_order_release);
  device::reset_steps.frees.store([](cai_device) noexcept { retry_ends(INT_MAX, true); },
                                  std::memory_order_release);
  device::reset_steps.memory_of_pools.store(free_what_outlives, std::memory_order_release);
  device::reset_steps.memory.store([](cai_device) noexcept { forget_dead(); },
                                   std::memory_order_release);
}

// Imports of pinned memory have the host's address, which may not be that for kernels.
bool has_two_addresses(const cai_memory_info &facts) noexcept {
  return facts.host != 0 && facts.host != facts.data;
}

// Whether `memory` ends with its context and cannot be found by an address.
bool may_die_unaddressed(const cai_memory &memory) noexcept {
  return memory.epoch != 0 && !memory.entered;
}

}  // namespace

void forget_dead() noexcept {
  static std::atomic<std::uint64_t> forgotten{0};
  const std::uint64_t resets = device::resets();
  if (forgotten.exchange(resets) != resets) take_out_if(has_died);
}

void enter(cai_memory &memory) {
  forget_dead();
  const cai_memory_info &facts = memory.facts;
  enter(facts.data, facts.size, &memory);
  memory.entered = true;  // from here on a failure takes it out
  if (has_two_addresses(facts)) enter(facts.host, facts.size, &memory);
}

void enter_if_it_may_die(cai_memory &memory) noexcept {
  if (may_die_unaddressed(memory)) enter_unaddressed(memory);
}

void take_out_of_registry(cai_memory &memory) noexcept {
  const cai_memory_info &facts = memory.facts;
  if (memory.entered) take_out(facts.data, facts.size, &memory);
  if (memory.entered && has_two_addresses(facts)) take_out(facts.host, facts.size, &memory);
  if (may_die_unaddressed(memory)) take_out_unaddressed(memory);
}

void note_device(cai_memory &memory) {
  device::require_device(memory.facts.device);
  note_epoch(memory, memory.facts.device);
}

void note_epoch(cai_memory &memory, cai_device device) {
  if (device::is_cpu(device)) return;
  driver::Session session;  // first: a forked child has none, and need not wait for the next
  [[maybe_unused]] static const bool is_told = (tell_rooms_below(), true);
  memory.epoch = device::primary(session, device.id).epoch;
  memory.epoch_gpu = device.id;
  session.finish();
}

namespace {

// Throws CAI_ERR_STATE if the stream has ended, or is stream 2 of another thread.
void require_usable(cai_stream &stream) {
  device::is_cpu(stream.device) ? stream.require_alive()
                                : static_cast<void>(device::gpu_stream(stream).stream());
}

}  // namespace

device::HeldStream stream_or_current(cai_stream *stream, cai_device device) {
  if (!stream) return device::current_stream(device);
  if (!device::same(stream->device, device)) {
    throw Failure(CAI_ERR_VALUE, {},
                  "expected a stream of %s, where the memory is to be, got one of %s",
                  device::Text(device).text, device::Text(stream->device).text);
  }
  require_usable(*stream);  // a manager would ask the driver about a stream that was destroyed
  return device::HeldStream::one_more(stream);
}

cai_memory &require_live(cai_memory *memory) {
  if (!memory) throw Failure(CAI_ERR_ARGUMENT, {}, "memory is NULL");
  if (memory->is_freed()) {
    throw Failure(CAI_ERR_STATE, {}, "the memory at 0x%" PRIx64 " was freed already",
                  memory->facts.data);
  }
  if (!memory->is_alive()) {
    throw Failure(CAI_ERR_STATE, {}, "the memory at 0x%" PRIx64 " is dead: gpu:%d was reset",
                  memory->facts.data, static_cast<int>(memory->root().epoch_gpu));
  }
  return *memory;
}

void require_not_freed(const cai_array &array) {
  cai_memory *const memory = memory_under(array);
  cai_error error;  // more than the array's owner has
  if (memory && guard(&error, [&] { require_live(memory); }) != CAI_OK) {
    error.entry = CAI_ENTRY_DATA;
    throw Failure(error);
  }
  order::require_not_freed(array, -1);
}

namespace {

void describe(const cai_memory &memory, cai_memory_info &out) {
  constexpr std::size_t least = sizeof out.struct_size + sizeof out.flags;
  if (out.struct_size < least) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "out->struct_size is %u, less than %zu", out.struct_size,
                  least);
  }
  cai_memory_info info = memory.facts;
  if (info.host != 0) info.flags |= CAI_MEMORY_DEREFERENCEABLE;
  if (!memory.is_alive()) {
    info.flags |= CAI_MEMORY_FREED;
    info.flags &= ~uint32_t{CAI_MEMORY_DEREFERENCEABLE};
  }
  cai_memory &root = const_cast<cai_memory &>(memory).root();
  {
    const std::lock_guard lock(root.lock);
    info.stream = cai_stream_value(root.free_stream.stream.get());
  }
  give_out(info, &out);
}

// Whether two handles of one device are of the same stream.
bool same_stream(cai_stream *a, cai_stream *b) noexcept {
  if (a == b) return true;
  if (device::is_cpu(a->device)) return false;
  return device::gpu_stream(*a).key() == device::gpu_stream(*b).key();
}

void synchronize(cai_stream *stream) {
  cai_error error;
  if (cai_stream_synchronize(stream, &error) != CAI_OK) throw Failure(error);
}

void record(cai_memory &memory, cai_stream *stream) {
  if (!stream) throw Failure(CAI_ERR_ARGUMENT, {}, "stream is NULL");
  stream->require_alive();
  const Claim claimed(memory);
  if (device::is_cpu(stream->device)) {
    if (stream->mode != CAI_MODE_ASYNC) return;
    if (!order::keeps_here(host_keeper_of(&memory))) return synchronize(stream);
    claim_until_passed(memory, stream);
    const cai_memory_info &facts = memory.facts;
    order::keep_host_work(memory, facts.host ? facts.host : facts.data, facts.size,
                          device::cpu_stream(*stream).point());
    return;
  }
  driver::Session session;
  const order::Stream user = device::gpu_stream(*stream).stream();
  session.in(user.context, [&] {
    cai_error error;
    if (cai_owner_used_on(&memory, user.value, CAI_ACCESS_WRITE, &error) != CAI_OK) {
      throw Failure(error);
    }
  });
  session.finish();
}

// A stream that replaces the free stream of memory.
class NextStream {
 public:
  NextStream(cai_memory &memory, cai_stream *stream)
      : memory_(memory), next_(device::HeldStream::one_more(stream)) {}
  NextStream(const NextStream &) = delete;
  NextStream &operator=(const NextStream &) = delete;
  ~NextStream() {
    if (differs_) order::make_uses_of(&memory_).agree();
  }

  // Returns false if another thread was faster, whose stream must be replaced, then.
  bool replace() {
    {
      const std::lock_guard lock(memory_.lock);
      static_cast<void>(require_live(&memory_));
      look_at_old();
    }
    // The memory may have been allocated or used there. Uses on the next one must come after that.
    if (old_.get() && !same_stream(old_.get(), next_.stream.get())) record(memory_, old_.get());
    const std::lock_guard lock(memory_.lock);
    static_cast<void>(require_live(&memory_));
    if (memory_.free_stream.stream.get() != old_.get()) return false;
    set();
    differs_ = false;  // for good
    return true;
  }

 private:
  bool is_it(const FreeStream &other) const noexcept {
    return same_stream(other.stream.get(), next_.stream.get()) && other.thread == next_.thread;
  }
  auto find_former() noexcept {
    return std::find_if(memory_.former_streams.begin(), memory_.former_streams.end(),
                        [&](const FreeStream &other) { return is_it(other); });
  }

  // Existing arrays keep the stream that they came with. Before the old stream is recorded: a use
  // that ends on another thread meanwhile is kept.
  void look_at_old() {
    cai_stream *const old = memory_.free_stream.stream.get();
    old_ = old ? device::HeldStream::one_more(old) : device::HeldStream();
    if (find_former() != memory_.former_streams.end()) return;
    if (old ? device::is_cpu(old->device) || is_it(memory_.free_stream) : !memory_.has_said_none) {
      return;
    }
    order::Uses &uses = order::make_uses_of(&memory_);
    uses.say_first(cai_stream_value(old));
    uses.differ();
    differs_ = true;
  }

  void set() {
    if (const auto again = find_former(); again != memory_.former_streams.end()) {
      std::swap(*again, memory_.free_stream);
    } else if (old_.get() && !is_it(memory_.free_stream)) {
      memory_.former_streams.emplace_back(std::move(memory_.free_stream));
    }
    std::swap(memory_.free_stream, next_);
  }

  cai_memory &memory_;
  FreeStream next_;  // once it is set, the replaced one, which is released without the lock
  device::HeldStream old_;
  bool differs_ = false;
};

void set_stream(cai_memory &memory, cai_stream *stream) {
  if (!stream) throw Failure(CAI_ERR_ARGUMENT, {}, "stream is NULL");
  if (memory.whole) {
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "a view of memory is not freed, so it has no stream");
  }
  if (!device::same(stream->device, memory.facts.device)) {
    throw Failure(CAI_ERR_DEVICE, {}, "expected a stream of %s, where the memory is, got one of %s",
                  device::Text(memory.facts.device).text, device::Text(stream->device).text);
  }
  require_usable(*stream);
  while (!NextStream(memory, stream).replace()) {
  }
}

HeldMemory view_of(cai_memory &memory, uint64_t start, uint64_t stop) {
  const cai_memory_info &whole = memory.facts;
  if (whole.kind == CAI_KIND_CUDA_ARRAY) {
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "a CUDA array has no address to make a view of");
  }
  if (start > stop || stop > whole.size) {
    throw Failure(CAI_ERR_BOUNDS, {}, "bytes [%llu, %llu) leave the memory, which has %llu",
                  static_cast<unsigned long long>(start), static_cast<unsigned long long>(stop),
                  static_cast<unsigned long long>(whole.size));
  }
  HeldMemory view = new_memory(whole.device, whole.kind);
  cai_memory_info &facts = view->facts;
  constexpr uint32_t of_all = CAI_MEMORY_FOREIGN | CAI_MEMORY_READONLY;
  facts.flags = (whole.flags & of_all) | CAI_MEMORY_VIEW;
  facts.size = facts.row = facts.pitch = stop - start;
  facts.data = whole.data ? whole.data + start : 0;
  facts.host = whole.host ? whole.host + start : 0;
  view->whole = &memory.root();
  cai_memory_retain(view->whole);
  return view;
}

}  // namespace

HeldMemory read_only_view_of(cai_memory &memory) {
  HeldMemory view = view_of(memory, 0, memory.facts.size);
  cai_memory_info &facts = view->facts;
  facts.flags |= CAI_MEMORY_READONLY;
  facts.row = memory.facts.row;
  facts.pitch = memory.facts.pitch;
  facts.rows = memory.facts.rows;
  return view;
}

}  // namespace cai::memory

void cai_memory_retain(cai_memory *memory) {
  if (memory) memory->holders.fetch_add(1, std::memory_order_relaxed);
}

void cai_memory_release(cai_memory *memory) {
  if (!memory || memory->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (cai_memory *const whole = memory->whole) {
    delete memory;
    return cai_memory_release(whole);
  }
  cai_error error;
  if (!memory->freed.exchange(true, std::memory_order_acq_rel) &&
      memory::let_go(*memory, &error) != CAI_OK) {
    report(error);
  }
  memory::end_life(*memory);
}

cai_status cai_memory_free(cai_memory *memory, cai_error *error) {
  return guard(error, [&] {
    if (!memory) throw Failure(CAI_ERR_ARGUMENT, {}, "memory is NULL");
    if (memory->whole) {
      throw Failure(CAI_ERR_UNSUPPORTED, {}, "a view of memory cannot be freed, only the whole");
    }
    if (memory->freed.exchange(true, std::memory_order_acq_rel)) {
      if (memory->freed_by_reset.exchange(false)) return;
      throw Failure(CAI_ERR_STATE, {}, "the memory at 0x%" PRIx64 " was freed already",
                    memory->facts.data);
    }
    memory::tell_arrays_of_end(*memory);
    cai_error problem;
    if (memory::let_go(*memory, &problem) != CAI_OK) throw Failure(problem);
  });
}

cai_status cai_memory_view(cai_memory *memory, uint64_t start, uint64_t stop, cai_memory **out,
                           cai_error *error) {
  return guard(error, [&] {
    device::require(out, "out");
    *out = memory::view_of(memory::require_live(memory), start, stop).let_go();
  });
}

cai_status cai_memory_describe(const cai_memory *memory, cai_memory_info *out, cai_error *error) {
  return guard(error, [&] {
    memory::describe(*device::require(memory, "memory"), *device::require(out, "out"));
  });
}

cai_status cai_memory_find(uint64_t address, cai_memory **out, uint64_t *offset, cai_error *error) {
  if (!out) return fail(error, CAI_ERR_ARGUMENT, {}, "out is NULL");
  uint64_t within = 0;
  cai_memory *found = memory::look_up(address, &within);
  if (found && !found->is_alive()) {  // a reset has freed it, and its address may recur
    cai_memory_release(found);
    found = nullptr;
  }
  if (!found) {
    return fail(error, CAI_ERR_DEVICE, {}, "no memory of libcai's is around address 0x%llx",
                static_cast<unsigned long long>(address));
  }
  *out = found;
  if (offset) *offset = within;
  return CAI_OK;
}

cai_status cai_memory_set_stream(cai_memory *memory, cai_stream *stream, cai_error *error) {
  return guard(error, [&] { memory::set_stream(memory::require_live(memory), stream); });
}

cai_status cai_memory_record(cai_memory *memory, cai_stream *stream, cai_error *error) {
  return guard(error, [&] { memory::record(memory::require_live(memory).root(), stream); });
}
