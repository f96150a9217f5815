// SPDX-License-Identifier: BSD-3-Clause
// Producers: they make memory, own it, work on it, and free it. How they publish: publish.cpp.
#include <cstddef>
#include <utility>

#include "must.h"
#include "parties.hpp"

namespace wide {
namespace {

// ---- The end of memory --------------------------------------------------------------------------

// The bytes of a block's memory, freed in the order of a stream; -1: no stream, so the host waits.
void free_bytes(World &world, int block, int freed_on, std::size_t begin, std::size_t size) {
  Block &it = world.blocks[block];
  if (freed_on >= 0 && world.is_capturing(freed_on)) {
    // An exporter of its own may do as it likes with what nobody keeps a use of, and so may one
    // that states no stream, since nobody knows what it is freed on. Another thread's 2 has no name
    // here: only its own thread could ask whether it is being captured.
    const bool is_ours = it.keeper == kImported && (world.releases || it.unstated >= 0);
    const bool is_elsewhere = freed_on == kPerThread + 1 - world.thread;
    if (!is_ours && !is_elsewhere) world.fail("the memory is freed in a capture");
    it.lost = true;
    return;
  }
  machine().on(freed_on, [&] {
    const bool is_ordered = freed_on >= 0;
    const Handle stream = is_ordered ? machine().streams[freed_on] : machine().free_stream;
    for (const Handle event : it.own_work) MUST(cu().cuStreamWaitEvent(stream, event, 0));
    if (cu().cuMemsetD8Async(machine().blocks[block] + begin, 0, size, stream)) {
      world.fail("the memory could not be freed");
    }
    if (!is_ordered && cu().cuStreamSynchronize(stream)) world.fail("a free ruined a capture");
  });
  if (freed_on >= 0) world.freed_after[block].push_back(world.event_after(freed_on));
  ++world.waits_of_frees;
}

void free_here(World &world, int block) {
  Block &it = world.blocks[block];
  if (!it.alive) return world.fail("an owner ended twice");
  it.alive = false;
  if (world.works_on >= 0 && world.is_capturing(world.works_on)) {
    world.fail("memory is freed by a call whose stream is being captured");
  }
  if (it.is_gone) return;
  // As cuMemFree would: not in a capture that forbids it. One's own release of an array is one's
  // own affair, but libcai frees its memory so that no capture is harmed.
  const bool is_own = world.releases && it.keeper != kMemory;
  int mode = kRelaxed;
  if (is_own) MUST(cu().cuThreadExchangeStreamCaptureMode(&mode));
  // An exporter frees each array in the order of the stream that this said, a mask as others.
  if (it.keeper == kImported && it.is_masked) {
    free_bytes(world, block, it.freed_on, 0, kBytes);
    free_bytes(world, block, it.mask_said, kBytes, kBytes);
  } else {
    free_bytes(world, block, it.freed_on, 0, 2 * kBytes);
  }
  if (is_own) MUST(cu().cuThreadExchangeStreamCaptureMode(&mode));
}

// A producer's own block.
struct OwnBlock {
  cai_owner owner;
  cai_owner kept;  // kAlone: libcai's, behind the producer's functions
  int holders;
  int block;

  static OwnBlock *of(cai_owner *owner) { return reinterpret_cast<OwnBlock *>(owner); }
  static void retain(cai_owner *owner) { ++of(owner)->holders; }
  static void release(cai_owner *owner) {
    if (--of(owner)->holders == 0) cai_owner_end(owner, end);
  }
  static void end(cai_owner *owner) {
    OwnBlock *const self = of(owner);
    if (!self->kept.retain) return free(self);
    // What its own functions have kept ends as libcai's would.
    self->kept.flags = owner->flags;
    cai_owner_end(&self->kept, [](cai_owner *kept) {
      free(reinterpret_cast<OwnBlock *>(reinterpret_cast<char *>(kept) - offsetof(OwnBlock, kept)));
    });
  }
  static void free(OwnBlock *self) {
    freed(*World::current, self->block);
    delete self;
  }
};

// ---- Arrays -------------------------------------------------------------------------------------

}  // namespace

cai_array describe(Address data, int said) {
  static std::int64_t shape[1] = {kBytes}, strides[1] = {1};
  return {.abi_major = CAI_ABI_MAJOR,
          .abi_minor = CAI_ABI_MINOR,
          .flags = 0,
          .owner = nullptr,
          .data = data,
          .device_type = CAI_DEVICE_CUDA,
          .device_id = -1,
          .dtype = {'u', '|', 0, 0, 1, 0},
          .ndim = 1,
          .shape = shape,
          .strides = strides,
          .stream = said < 0 ? 0 : machine().value(said),
          .stream_kind = static_cast<std::uint32_t>(said < 0 ? CAI_STREAM_NONE : CAI_STREAM_STREAM),
          .version = 3,
          .mask = nullptr,
          .descr = nullptr,
          .reserved0 = 0,
          .descr_count = 0,
          .reserved1 = 0,
          .reserved2 = 0,
          .reserved3 = 0};
}

namespace {

bool is_captured(std::uint64_t stream) {
  int status = 0;
  return cu().cuStreamIsCapturing(reinterpret_cast<Handle>(stream), &status) != 0 || status != 0;
}

cai_owner *make_owner(World &world, int b, int said) {
  auto *const made = new OwnBlock{{}, {}, 1, b};
  MUST(cai_owner_init(&made->owner, OwnBlock::retain, OwnBlock::release, &world.error));
  if (is_per_thread(said)) made->owner.thread = cai_this_thread();
  if (world.blocks[b].keeper == kOwn) return &made->owner;
  MUST(cai_owner_init(&made->kept, OwnBlock::retain, OwnBlock::release, &world.error));
  made->owner.used_on = [](cai_owner *self, std::uint64_t stream, std::uint32_t access,
                           cai_error *error) {
    const bool in_capture = access & CAI_ACCESS_CAPTURED;
    if (in_capture != is_captured(stream)) World::current->fail("an owner is told of no capture");
    return cai_owner_used_on(&OwnBlock::of(self)->kept, stream, access, error);
  };
  made->owner.await_uses = [](cai_owner *self, std::uint64_t stream, std::uint32_t access,
                              cai_error *error) {
    return cai_owner_await_uses(&OwnBlock::of(self)->kept, stream, access, error);
  };
  return &made->owner;
}

void own(World &world, Array *array, int b, int said, Part part = kWhole) {
  Block &block = world.blocks[b];
  ++block.owners;
  if (part == kMask) said = block.mask_said;
  cai_array borrowed = describe(machine().blocks[b] + (part == kMask ? kBytes : 0), said);
  if (block.unstated >= 0 && part != kMask) {
    borrowed.stream = 0;
    borrowed.stream_kind = CAI_STREAM_UNSTATED;
    borrowed.version = 2;
  }
  if (block.is_masked && part == kWhole) {
    borrowed.mask = &block.mask;
    borrowed.flags |= CAI_FLAG_MASKED;
  }
  *array = Array{};
  array->there = true;
  array->block = b;
  array->part = part;
  array->said = said;
  if (block.keeper == kBorrowed) {
    array->is_copy = true;
    array->copy = borrowed;
    return;
  }
  if (block.keeper == kOwn || block.keeper == kAlone) {
    array->is_copy = true;
    array->copy = borrowed;
    array->copy.owner = make_owner(world, b, said);
    // Its mask may name that owner, or none.
    if (block.keeper == kAlone) block.mask.owner = array->copy.owner;
    return;
  }
  if (block.keeper == kMemory) {
    array->array = allocate(world, b, said);
    return;
  }
  const auto end = [](void *it) {
    freed(*World::current, static_cast<int>(reinterpret_cast<std::intptr_t>(it)));
  };
  void *const context = reinterpret_cast<void *>(static_cast<std::intptr_t>(b));
  MUST(cai_array_own(&borrowed, end, context, &array->array, &world.error));
  cai_owner *const owner = array->array->owner;
  constexpr std::uint32_t flags[kKeepers] = {0, CAI_OWNER_RECLAIMS, CAI_OWNER_STREAM_ORDERED,
                                             CAI_OWNER_IMPORTED};
  owner->flags |= flags[block.keeper];
  if (block.keeper == kStreamOrdered) {
    owner->freed_on = machine().value(said);
  }
  if (is_per_thread(said)) owner->thread = cai_this_thread();
  if (block.keeper != kTold) return;
  owner->used_on = [](cai_owner *self, std::uint64_t stream, std::uint32_t access,
                      cai_error *error) { return cai_owner_used_on(self, stream, access, error); };
}

}  // namespace

void freed(World &world, int block) {
  const auto pause = world.fault.pause();        // it is libcai's calls that fail
  if (--world.blocks[block].owners > 0) return;  // there is another import
  machine().in(machine().context, [&] { free_here(world, block); });
}

// By the words for masks.
constexpr int kMaskOfNone = -1;
constexpr int kMaskStreams[] = {
    0,           kFirstHandle + 2, kFirstHandle + 3, kFirstHandle + 4, kFirstHandle + 5,
    kMaskOfNone, kFirstHandle,     kFirstHandle + 1};

// A new array of a block that is free: written on a stream, which it says, or None.
void make(World &world, const Step &step) {
  const int b = static_cast<int>(step[2]);
  const int stream = world.stream(step[3]);
  Array *const array = world.free_array(step[1]);
  if (world.blocks[b].alive || world.blocks[b].lost || !array || !world.may_work(stream) ||
      world.is_capturing(stream))
    return;
  if (b == kGuestBlock && (!machine().guest || stream < kFirstHandle)) return;
  const auto keeper = static_cast<Keeper>(step[4]);
  if (keeper == kMemory && (b == kGuestBlock || is_of_guest(stream))) return;
  // As is its release.
  const bool is_on_one = keeper == kStreamOrdered || keeper == kBorrowed || keeper == kMemory;
  const bool none = step[5] == 1 && (!is_on_one || keeper == kMemory);
  world.say("array %d: block %d, %s, written on %s, says %s", world.number_of(array), b,
            kKeeperWords[keeper], kStreamNames[stream], none ? "None" : "that");
  Block &block = world.blocks[b] = Block{};
  block.alive = true;
  block.keeper = keeper;
  block.said = none ? -1 : stream;
  if (is_on_one && keeper != kMemory) block.freed_on = stream;
  for (const Handle event : std::exchange(world.freed_after[b], {})) {
    world.wait(stream, event);
  }
  world.queue(b, stream, true);
  if (keeper != kMemory) world.note_own_work(b, stream);
  if (none) MUST_HOLD(world.wait_for(stream));
  // A mask comes with a stream of its own, or None. Memory that is freed on one stream has no mask.
  const bool has_none = kMaskStreams[step[6]] == kMaskOfNone;
  const int of_mask = has_none ? stream : kMaskStreams[step[6]];
  if (step[6] && !is_on_one && !world.is_capturing(of_mask)) {
    world.say("  with a mask, written on %s%s", kStreamNames[of_mask],
              has_none ? ", which says None" : "");
    world.follow(of_mask, stream);  // and so after the memory was freed
    MUST(cu().cuMemsetD8Async(machine().blocks[b] + kBytes, 1, kBytes, machine().streams[of_mask]));
    world.note_own_work(b, of_mask);
    if (has_none) MUST_HOLD(world.wait_for(of_mask));
    block.is_masked = true;
    block.mask_said = has_none ? -1 : of_mask;
    block.mask = describe(machine().blocks[b] + kBytes, block.mask_said);
    if (!has_none) block.told |= 1U << of_mask;  // the stream lives as long
  }
  if (step[5] == 2 && keeper != kBorrowed && keeper != kMemory) block.unstated = stream;
  own(world, array, b, none ? -1 : stream);
  if (keeper == kImported && !none) block.freed_on = stream;
}

void import(World &world, const Step &step) {
  Array *const array = world.free_array(step[1]);
  const int number = world.array(step[2]);
  if (!array || number < 0) return;
  const int b = world.arrays[number].block;
  const Block &block = world.blocks[b];
  if (block.keeper != kImported || block.owners > 1) return;
  const auto part = static_cast<Part>(step[3]);
  if (part == kMask && !block.is_masked) return;
  const bool is_nobodys = block.said == kGone || block.said == kPerThread + 1 - world.thread;
  if (is_nobodys && part != kMask) return;  // that 2 is not to be said here
  world.say("array %d: another import of block %d, %s", world.number_of(array), b,
            kPartWords[part]);
  own(world, array, b, block.said, part);
}

void await_uses(World &world, int number) {
  cai_owner *const owner = world.pointer(number)->owner;
  const bool is_alone = world.blocks[world.arrays[number].block].keeper == kAlone;
  std::int64_t left = 0;
  // A view has an owner of its own.
  cai_owner *const own = owner->keeper ? owner->keeper : owner;
  cai_owner *const kept = is_alone ? &OwnBlock::of(own)->kept : own;
  world.expect(cai_owner_pending(kept, 2, &left, &world.error));
}

void free_borrowed(World &world, int number) {
  world.say("the memory of array %d is freed in the order of its stream", number);
  world.arrays[number].there = false;
  freed(world, world.arrays[number].block);
}

std::int32_t provide(void *, const cai_array *array, std::uint64_t *stream) {
  for (int b = 0; b < kBlocks; ++b) {
    const int unstated = World::current->blocks[b].unstated;
    if (machine().blocks[b] != array->data || unstated < 0) continue;
    *stream = machine().value(unstated);
    return 1;
  }
  return 0;
}

static bool all_come_with(const World &world, int block, int stream) {
  const Block &it = world.blocks[block];
  if (it.is_masked || it.owners > 1 || it.unstated >= 0) return false;
  if (it.keeper == kMemory && it.memory_stream != stream) return false;
  const bool has_tensor =
      std::any_of(std::begin(world.tensors), std::end(world.tensors),
                  [&](const Tensor &tensor) { return tensor.there && tensor.block == block; });
  return !has_tensor &&
         std::all_of(std::begin(world.arrays), std::end(world.arrays), [&](const Array &array) {
           return !array.there || array.block != block || array.said == stream;
         });
}

// The producer's own work on a stream, and what the rules ask for before and after it.
void produce(World &world, const Step &step) {
  const int number = world.array(step[1]);
  const int stream = world.stream(step[2]);
  const bool writes = step[3];
  if (number < 0 || !world.may_work(stream) || world.is_forked(stream)) return;
  Array &array = world.arrays[number];
  Block &block = world.blocks[array.block];
  if (block.keeper == kImported || array.tensor >= 0 || world.conflicts(number, writes)) return;
  const bool on_its_own = array.said == stream;
  if (block.keeper == kBorrowed && !on_its_own) return;  // what it says is all that others know
  if (world.is_captured_alone(number, stream)) return;
  if (!world.may_say(number, array.said < 0 ? stream : array.said)) return;
  const bool is_alone = on_its_own && !block.copied && !block.is_abandoned;
  // All that there are by now come with the array's own stream.
  const bool is_heard =
      on_its_own && block.said == stream && all_come_with(world, array.block, stream);
  Array *const again = is_alone || is_heard ? nullptr : world.free_array(step[4]);
  if (!again && !is_alone && !is_heard) return;
  if (world.is_capturing(stream) && again) {
    // Published work is then in the graph, with the stream that it was published on.
    const int target = array.said < 0 ? stream : array.said;
    if (!world.is_in_one_capture(stream, target)) return;
  }
  const bool needs_none =
      is_alone && array.part != kMask && block.keeper != kReclaims && !world.has_joined(stream);
  if (!needs_none) {
    world.say("cai_array_reclaim: array %d, %s", number, kStreamNames[stream]);
    cai_status status = CAI_OK;
    world.quietly_on(stream, [&] {
      status = cai_array_reclaim(world.pointer(number), machine().value(stream),
                                 writes ? CAI_ACCESS_WRITE : CAI_ACCESS_READ, &world.error);
    });
    if (!world.is_taken(status)) return;
    world.met(Call::reclaim, number, stream);
    // From now on it need not, if no other stream comes up.
    if (is_heard && writes && !world.any_captures()) block.copied = block.is_abandoned = false;
  }
  world.say("the producer %s array %d on %s", writes ? "writes" : "reads", number,
            kStreamNames[stream]);
  world.touch(number, stream, writes, false);
  if (again) publish_again(world, number, again, stream);
  // libcai knows what is published, and what is on the stream of its memory.
  const bool is_known = block.keeper == kMemory && !block.pending;
  if (!world.is_capturing(stream) && !is_known) world.note_own_work(array.block, stream);
}

}  // namespace wide
