// SPDX-License-Identifier: BSD-3-Clause
// Producers whose memory is libcai's: a manager gives the blocks and judges how they come back;
// libcai makes the arrays, and frees the memory in the order of a stream that may change.
#include "cai/memory.h"

#include <utility>

#include "must.h"
#include "parties.hpp"

namespace wide {
namespace {

constexpr cai_device kDevice{CAI_DEVICE_CUDA, 0};

int next_block = 0;  // that the manager allocates

// This thread's stream with the value; not one of the guest's, which memory never gets.
int stream_of(const World &world, std::uint64_t value) {
  for (unsigned drawn = 0; drawn < kNamed; ++drawn) {
    const int stream = world.stream(drawn);
    if (!is_of_guest(stream) && machine().value(stream) == value) return stream;
  }
  return -1;
}

cai_status give(void *, std::uint64_t size, std::uint64_t, std::uint32_t, std::uint64_t,
                cai_block *out, cai_error *) {
  *out = {machine().blocks[next_block], 0, size, static_cast<std::uint64_t>(next_block)};
  return CAI_OK;
}

cai_status take(void *, const cai_block *block, std::uint64_t value, cai_error *error) {
  World &world = *World::current;
  const int number = static_cast<int>(block->cookie);
  const int stream = stream_of(world, value);
  // As cuMemFreeAsync() would not take it.
  if (stream >= 0 && (world.is_capturing(stream) || !world.may_work(stream))) {
    *error = {};
    error->status = CAI_ERR_CAPTURE;
    return CAI_ERR_CAPTURE;
  }
  world.blocks[number].freed_on = stream;
  freed(world, number);
  return CAI_OK;
}

cai_manager_table make_table() {
  cai_manager_table table{};
  table.struct_size = sizeof table;
  table.version = CAI_MANAGER_VERSION;
  table.name = "wide";
  table.create = [](const void *, cai_device, cai_manager *, void **self, cai_error *) {
    *self = nullptr;
    return cai_status{CAI_OK};
  };
  table.destroy = [](void *) {};
  table.initialize = [](void *, cai_error *) { return cai_status{CAI_OK}; };
  table.reset = table.initialize;
  table.memalloc = give;
  table.memfree = take;
  return table;
}

cai_manager *manager() {
  static const cai_manager_table table = make_table();
  static cai_manager *const made = [] {
    cai_manager *manager = nullptr;
    MUST(cai_manager_register("wide", &table, nullptr));
    MUST(cai_manager_create("wide", nullptr, kDevice, nullptr, &manager, nullptr));
    return manager;
  }();
  return made;
}

// A handle of libcai's for a stream, which holds nothing.
struct Handled {
  explicit Handled(int stream) {
    MUST(cai_stream_wrap(kDevice, machine().value(stream), nullptr, nullptr, &handle, nullptr));
  }
  Handled(const Handled &) = delete;
  Handled &operator=(const Handled &) = delete;
  ~Handled() { cai_stream_release(handle); }

  cai_stream *handle = nullptr;
};

cai_status make_array(cai_memory *memory, cai_array **out, cai_error *error) {
  constexpr cai_dtype dtype{'u', '|', 0, 0, 1, 0};
  constexpr std::int64_t shape[1] = {kBytes};
  return cai_memory_array(memory, 0, &dtype, 1, shape, nullptr, out, error);
}

// Whether a 2 is another thread's, so that it cannot be named.
bool is_elsewhere(const World &world, int stream) {
  return stream == kGone || stream == kPerThread + 1 - world.thread;
}

// The block of an array that is memory of libcai's, which the program holds.
Block *block_of(World &world, int number) {
  if (number < 0) return nullptr;
  Block &block = world.blocks[world.arrays[number].block];
  return block.memory ? &block : nullptr;
}

bool keeps_by_itself(const World &world, int number) {
  const Keeper keeper = world.blocks[world.arrays[number].block].keeper;
  return keeper == kTold || keeper == kAlone;
}

}  // namespace

// Memory that has a stream from the beginning.
static cai_memory *ordered_memory(World &world, int b, int stream) {
  next_block = b;
  const Handled handled(stream);
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = CAI_KIND_ASYNC;
  request.size = 2 * kBytes;
  request.align = 1;
  request.stream = handled.handle;
  request.manager = manager();
  cai_memory *memory = nullptr;
  MUST(cai_memory_alloc(kDevice, &request, &memory, &world.error));
  return memory;
}

// Memory without a stream, freed once its uses are complete.
static cai_memory *wrapped_memory(World &world, int b) {
  cai_memory_info info{};
  info.struct_size = sizeof info;
  info.device = kDevice;
  info.kind = CAI_KIND_DEFAULT;
  info.data = machine().blocks[b];
  info.size = 2 * kBytes;
  const auto end = [](void *it) {
    freed(*World::current, static_cast<int>(reinterpret_cast<std::intptr_t>(it)));
  };
  void *const context = reinterpret_cast<void *>(static_cast<std::intptr_t>(b));
  cai_memory *memory = nullptr;
  MUST(cai_memory_wrap(&info, end, context, &memory, &world.error));
  return memory;
}

cai_array *allocate(World &world, int b, int stream) {
  Block &block = world.blocks[b];
  block.memory = stream < 0 ? wrapped_memory(world, b) : ordered_memory(world, b, stream);
  block.memory_stream = stream;
  if (stream >= 0) block.told |= 1U << stream;
  cai_array *array = nullptr;
  MUST(make_array(block.memory, &array, &world.error));
  return array;
}

void set_stream(World &world, const Step &step) {
  const int number = world.array(step[1]);
  const int stream = world.stream(step[2]);
  Block *const block = block_of(world, number);
  if (!block || is_elsewhere(world, block->memory_stream) || is_of_guest(stream)) return;
  if (!world.may_work(stream) || world.is_forked(stream)) return;
  const Handled handled(stream);
  cai_status status = CAI_OK;
  world.say("cai_memory_set_stream: the memory of array %d, %s", number, kStreamNames[stream]);
  world.quietly(
      [&] { status = cai_memory_set_stream(block->memory, handled.handle, &world.error); });
  if (world.fault.has_struck()) block->copied = true;  // as far as the owner knows
  if (!world.is_taken(status)) return;
  if (stream != block->memory_stream) block->copied = true;
  block->memory_stream = stream;
  block->told |= 1U << stream;
}

void array_of_memory(World &world, const Step &step) {
  const int number = world.array(step[1]);
  Array *const array = world.free_array(step[2]);
  const Block *const block = block_of(world, number);
  if (!block || !array) return;
  if (is_elsewhere(world, block->memory_stream)) return;
  cai_array *made = nullptr;
  const cai_status status = make_array(block->memory, &made, &world.error);
  if (!world.is_taken(status)) return;
  const int b = world.arrays[number].block;
  *array = Array{};
  array->there = true;
  array->block = b;
  array->said = block->memory_stream;
  array->array = made;
  world.say("array %d: of the memory of array %d, says %s", world.number_of(array), number,
            array->said < 0 ? "None" : kStreamNames[array->said]);
}

// A consumer of the memory: begins, works, and records it.
void record(World &world, const Step &step) {
  const int number = world.array(step[1]);
  const int stream = world.stream(step[2]);
  Use *const later = world.free_use(step[3]);
  Block *const block = block_of(world, number);
  if (!block || world.arrays[number].tensor >= 0 || !later || world.is_capturing(stream) ||
      !world.may_work(stream))
    return;
  if (block->pending || world.conflicts(number, true) || !world.may_use(number)) return;
  const cai_array *const array = world.pointer(number);
  const cai_use_options options{sizeof options, CAI_ORDER_BEGIN, CAI_ACCESS_WRITE, 0, nullptr};
  cai_use use;
  cai_status status = CAI_OK;
  world.say("array %d is used on %s, and its memory told", number, kStreamNames[stream]);
  world.quietly([&] {
    status = cai_use_begin(&use, &array, 1, machine().value(stream), &options, &world.error);
  });
  if (!world.is_taken(status)) return;
  world.touch(number, stream, true);
  const Handled handled(stream);
  world.quietly([&] { status = cai_memory_record(block->memory, handled.handle, &world.error); });
  if (!world.is_taken(status)) return end_later(world, later, number, stream, 0);
  // The arrays' streams do not wait for it: later uses are told of it by the owner.
  block->copied = true;
  world.met(Call::record, number, stream);
}

void free_refused() {
  MUST(cai_pending_flush(kDevice, nullptr));
}

// Frees memory that could not be freed before.
void flush(World &world, const Step &) {
  world.say("cai_pending_flush");
  cai_status status = CAI_OK;
  world.loudly([&] { status = cai_pending_flush(kDevice, &world.error); });
  static_cast<void>(world.is_taken(status));
}

void let_memory_go(World &world, const Step &step) {
  Block *const block = block_of(world, world.array(step[1]));
  if (!block) return;
  world.say("the memory of array %u is released", step[1]);
  // As in let_go().
  if (world.any_captures() && world.fault.is_for_memory()) world.fault.forget();
  world.fault.spare_memory();
  world.quietly([&] { cai_memory_release(std::exchange(block->memory, nullptr)); });
}

// The memory's stream is the current one, and may be left idle; arrays of it are used on any.
void hold_memory(World &world, const Step &step) {
  Use *const use = world.free_use(step[1]);
  const int number = world.array(step[2]);
  const int stream = world.stream(step[3]), user = world.stream(step[4]);
  if (!use || number < 0 || world.is_borrowed(number)) return;
  const Array &array = world.arrays[number];
  // For a tensor's array, or memory of libcai's, it is other memory.
  if (array.tensor >= 0 || array.part == kMask || array.is_dead || array.block == kGuestBlock)
    return;
  if (world.blocks[array.block].keeper == kMemory) return;
  for (const int each : {stream, user}) {
    if (!world.may_work(each) || world.is_forked(each) || is_of_guest(each)) return;
    // The turn may change before the use ends.
    if (is_per_thread(each) || (each < kFirstHandle && world.is_in_guest)) return;
  }
  if (is_per_thread(array.said) || is_per_thread(world.blocks[array.block].unstated)) return;
  if (world.conflicts(number, true) || !world.may_use(number)) return;
  // What an owner keeps by itself in a capture is not found by address.
  if (keeps_by_itself(world, number) && world.capture_of(stream) != world.capture_of(user)) return;
  const cai_array *const pointer = world.pointer(number);
  const Handled handled(stream);
  cai_stream *before = nullptr;
  cai_memory *memory = nullptr;
  std::uint64_t offset = 0;
  cai_status status = CAI_OK;
  world.say("array %d is memory of libcai's on %s", number, kStreamNames[stream]);
  MUST(cai_stream_current(kDevice, &before, nullptr));
  MUST(cai_stream_set_current(handled.handle, nullptr));
  world.quietly([&] { status = cai_memory_of(pointer, &memory, &offset, &world.error); });
  MUST(cai_stream_set_current(before, nullptr));
  cai_stream_release(before);
  if (!world.is_taken(status)) return;
  *use = Use{};
  use->open = true;
  use->stream = stream;
  use->arrays = {number};
  use->accesses = {CAI_ACCESS_WRITE};
  use->capture = world.capture_of(stream);
  use->memory = memory;
  if (!step[5]) world.touch(number, stream, true, false);

  cai_array *made = nullptr;
  world.calmly([&] { world.expect(make_array(memory, &made, &world.error)); });
  const cai_array *const one = made;
  cai_use its_use;
  world.say("an array of it is used on %s", kStreamNames[user]);
  world.calmly([&] {
    status = cai_use_begin(&its_use, &one, 1, machine().value(user), nullptr, &world.error);
  });
  if (world.is_taken(status)) {
    world.touch(number, user, true, false);
    world.calmly([&] { world.expect(cai_use_end(&its_use, &world.error)); });
  }
  world.calmly([&] { cai_array_release(made); });
}

void end_holding(World &world, Use &use) {
  const int number = use.arrays[0];
  Block &block = world.blocks[world.arrays[number].block];
  // No stream of the array's comes after it then.
  const int said = world.arrays[number].said;
  const unsigned capture = world.capture_of(use.stream);
  const bool is_late = capture ? capture != use.capture : said >= 0 && world.is_capturing(said);
  // An owner that keeps uses by itself cannot be told of what was pending before a capture.
  if (!world.may_work(use.stream) || (is_late && keeps_by_itself(world, number))) return;
  world.say("the memory of array %d is released", number);
  world.fault.spare_memory();
  world.quietly([&] { cai_memory_release(std::exchange(use.memory, nullptr)); });
  if (is_late) block.copied = true;
  if (world.fault.has_struck()) block.is_abandoned = block.is_parked = true;
  use.open = false;
}

}  // namespace wide
