// SPDX-License-Identifier: BSD-3-Clause
// Consumers without libcai. They are told a stream, as by a dict, and keep the text's halves each
// in one of two ways: by an event, or by the host, which waits.
#include "must.h"
#include "parties.hpp"

namespace wide {
namespace {

// The streams that a dict names; -1: none that a consumer could use, which leaves that part alone.
struct Said {
  int stream = -1;
  int of_mask = -1;
  bool is_none = false;  // that nothing is pending, by the dict of an array with no mask
};

int named(World &world, int number, const cai_value &said) {
  if (said.form != CAI_FORM_INT) return -1;
  for (unsigned drawn = 0; drawn < kNamed; ++drawn) {
    const int stream = world.stream(drawn);
    if (machine().value(stream) != static_cast<std::uint64_t>(said.integer)) continue;
    if (!world.may_say(number, stream)) return -1;
    world.blocks[world.arrays[number].block].told |= 1U << stream;
    world.met(Call::dict, number, stream);
    return stream;
  }
  return -1;
}

Said told_by_dict(World &world, int number) {
  if (world.is_borrowed(number)) return {world.arrays[number].said, -1};
  std::uint64_t storage[96];
  cai_interface dict{};
  dict.struct_size = sizeof dict;
  cai_status status = CAI_OK;
  world.quietly([&] {
    status =
        cai_interface_write(world.pointer(number), 3, storage, sizeof storage, &dict, &world.error);
  });
  if (status == CAI_ERR_EXPORT || !world.is_taken(status)) return {};
  Said said{named(world, number, dict.stream), -1};
  said.is_none = dict.stream.form == CAI_FORM_NONE && !dict.mask_interface;
  if (!dict.mask_interface) return said;
  const cai_value &of_mask = dict.mask_interface->stream;
  said.of_mask = named(world, number, of_mask);
  const bool is_none = of_mask.form == CAI_FORM_NONE;
  if (world.pointer(number)->mask->stream_kind != (is_none ? CAI_STREAM_NONE : CAI_STREAM_STREAM)) {
    world.fail("a mask's dict says another stream than the mask");
  }
  return said;
}

// As a party does that knows nothing but the stream.
void wait_on_host(World &world, int stream) {
  MUST_HOLD(world.wait_for(stream));
}

}  // namespace

void begin_without(World &world, const Step &step) {
  Use *const use = world.free_use(step[1]);
  const int number = world.array(step[2]);
  const int stream = world.stream(step[3]);
  const bool writes = step[4];
  if (!use || number < 0 || !world.may_work(stream) || world.is_forked(stream)) return;
  if (world.conflicts(number, writes) || !world.may_use(number)) return;
  // An owner with functions of its own is not told.
  const Block &block = world.blocks[world.arrays[number].block];
  if (block.keeper == kAlone) return;
  const Said said = told_by_dict(world, number);
  // A consumer of the mask alone is told only of the mask.
  const bool is_of_mask = step[6] && said.of_mask >= 0;
  // A consumer that was told no stream waits for nothing; then for its own work, known to no one.
  const int told = said.is_none ? stream : is_of_mask ? said.of_mask : said.stream;
  if (said.is_none && world.is_capturing(stream)) return;
  if (told < 0 || world.is_captured_alone(number, stream)) return;
  const int streams[] = {told, said.of_mask < 0 ? told : said.of_mask};
  const bool is_captured = world.is_capturing(stream) || world.is_capturing(streams[0]) ||
                           world.is_capturing(streams[1]);
  for (const int other : streams) {
    if (!world.may_work(other) || world.is_forked(other)) return;
    if (is_captured && stream != other && !world.is_in_one_capture(stream, other)) return;
  }
  const bool waits = step[5] && !is_captured;
  world.say("use %d, without libcai, on %s: array %d, told %s, %s", world.number_of(use),
            kStreamNames[stream], number, said.is_none ? "None" : kStreamNames[told],
            waits ? "the host waits" : "an event");
  if (is_of_mask) {
    world.say("  which is its mask's, and that alone is used");
  } else if (said.of_mask >= 0) {
    world.say("  and of its mask %s", kStreamNames[said.of_mask]);
  }
  for (const int other : streams) {
    if (other != stream) waits ? wait_on_host(world, other) : world.follow(stream, other);
  }
  *use = {};
  use->open = true;
  use->stream = stream;
  use->told = told;
  use->told_of_mask = streams[1];
  use->is_unheard = said.is_none;
  use->arrays = {number};
  use->capture = world.capture_of(stream);
  use->accesses = {writes ? CAI_ACCESS_WRITE : CAI_ACCESS_READ};
  if (is_per_thread(stream) || is_per_thread(told)) use->thread = world.thread;
  world.make_stale(world.arrays[number].block, world.arrays[number].tensor, false);
  is_of_mask ? world.touch_mask(number, stream, writes)
             : world.touch(number, stream, writes, said.of_mask >= 0);
}

// A party with libcai that has the dict alone: it makes an array of that, uses it, and lets it go.
void use_dict(World &world, const Step &step) {
  const int number = world.array(step[1]);
  const int stream = world.stream(step[2]);
  const bool writes = step[3];
  if (number < 0 || !world.may_work(stream) || world.is_forked(stream)) return;
  if (world.conflicts(number, writes) || !world.may_use(number)) return;
  const Array &array = world.arrays[number];
  const Block &block = world.blocks[array.block];
  // An owner that keeps uses by functions of its own, or not at all, is told of none.
  if (block.keeper == kAlone || block.keeper == kBorrowed || array.part != kWhole) return;
  if (block.is_masked || world.is_captured_alone(number, stream)) return;
  const Said said = told_by_dict(world, number);
  if (said.stream < 0 || world.is_forked(said.stream)) return;
  world.say("array %d is used on %s by its dict, which says %s", number, kStreamNames[stream],
            kStreamNames[said.stream]);
  cai_array *held = nullptr, *import = nullptr;
  MUST(cai_array_slice(world.pointer(number), nullptr, 0, &held, &world.error));
  const cai_array described = describe(machine().blocks[array.block], said.stream);
  const auto end = [](void *it) { cai_array_release(static_cast<cai_array *>(it)); };
  MUST(cai_array_own(&described, end, held, &import, &world.error));
  import->owner->flags |= CAI_OWNER_IMPORTED;
  import->owner->freed_on = machine().value(said.stream);
  if (is_per_thread(said.stream)) import->owner->thread = cai_this_thread();
  const std::uint32_t access = writes ? CAI_ACCESS_WRITE : CAI_ACCESS_READ;
  const cai_use_options options{sizeof options, CAI_ORDER_BOTH, access, 0, nullptr};
  cai_use use{};
  const cai_array *const one = import;
  cai_status status = CAI_OK;
  world.calmly([&] {
    status = cai_use_begin(&use, &one, 1, machine().value(stream), &options, &world.error);
  });
  if (world.is_taken(status)) {
    world.make_stale(array.block, array.tensor, false);
    world.touch(number, stream, writes, false);
    world.calmly([&] { world.expect(cai_use_end(&use, &world.error)); });
  }
  world.calmly([&] { cai_array_release(import); });
}

void end_without(World &world, Use &use, bool waits) {
  // Captured work is then in the graph, and each launch is a use.
  if (use.capture && !world.is_on(use.capture)) {
    use.open = false;
    return;
  }
  // In the capture, or outside of any.
  if (!world.may_work(use.stream) || world.capture_of(use.stream) != use.capture) return;
  const auto may_be_followed = [&](int told) {
    return world.may_work(told) && world.capture_of(told) == use.capture;
  };
  const bool may_follow = may_be_followed(use.told) && may_be_followed(use.told_of_mask);
  if (!may_follow && use.capture) return;
  waits = use.is_unheard || (waits && !use.capture) || !may_follow;
  world.say("use %d ends: %s", world.number_of(&use), waits ? "the host waits" : "an event");
  if (waits) {
    wait_on_host(world, use.stream);
  } else {
    for (const int told : {use.told, use.told_of_mask}) {
      if (told != use.stream) world.follow(told, use.stream);
    }
  }
  use.open = false;
}

}  // namespace wide
