// SPDX-License-Identifier: BSD-3-Clause
// Consumers without libcai. They are told a stream, as by a dict, and keep the text's halves each
// in one of two ways: by an event, or by the host, which waits.
#include "must.h"
#include "parties.hpp"

namespace wide {
namespace {

// The stream that a dict says; -1: none that a party could be sent to.
int told_by_dict(World &world, int number) {
  if (world.is_borrowed(number)) return world.arrays[number].said;
  std::uint64_t storage[64];
  cai_interface dict{};
  dict.struct_size = sizeof dict;
  cai_status status = CAI_OK;
  world.quietly([&] {
    status =
        cai_interface_write(world.pointer(number), 3, storage, sizeof storage, &dict, &world.error);
  });
  if (status == CAI_ERR_EXPORT) return -1;
  if (!world.is_taken(status) || dict.stream.form != CAI_FORM_INT) return -1;
  for (unsigned drawn = 0; drawn < kNamed; ++drawn) {
    const int stream = world.stream(drawn);
    if (machine().value(stream) != static_cast<std::uint64_t>(dict.stream.integer)) continue;
    world.blocks[world.arrays[number].block].told |= 1U << stream;
    world.met(Call::dict, number, stream);
    return stream;
  }
  return -1;
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
  // A mask has a dict, and a stream, of its own; an owner with functions of its own is not told.
  const Block &block = world.blocks[world.arrays[number].block];
  if (block.is_masked || block.keeper == kAlone) return;
  const int told = told_by_dict(world, number);
  if (told < 0 || !world.may_work(told) || world.is_forked(told)) return;
  if (world.is_captured_alone(number, stream)) return;
  const bool is_captured = world.is_capturing(stream) || world.is_capturing(told);
  if (is_captured && stream != told && !world.is_in_one_capture(stream, told)) return;
  const bool waits = step[5] && !is_captured;
  world.say("use %d, without libcai, on %s: array %d, told %s, %s", world.number_of(use),
            kStreamNames[stream], number, kStreamNames[told],
            waits ? "the host waits" : "an event");
  if (told != stream) waits ? wait_on_host(world, told) : world.follow(stream, told);
  *use = {};
  use->open = true;
  use->stream = stream;
  use->told = told;
  use->arrays = {number};
  use->capture = world.capture_of(stream);
  use->accesses = {writes ? CAI_ACCESS_WRITE : CAI_ACCESS_READ};
  if (is_per_thread(stream) || is_per_thread(told)) use->thread = world.thread;
  world.touch(number, stream, writes);
}

void end_without(World &world, Use &use, bool waits) {
  // What was captured is then in the graph, of which each launch is a use.
  if (use.capture && !world.is_on(use.capture)) {
    use.open = false;
    return;
  }
  // In the capture, or outside of any.
  if (!world.may_work(use.stream) || world.capture_of(use.stream) != use.capture) return;
  const bool may_follow = world.may_work(use.told) && world.capture_of(use.told) == use.capture;
  if (!may_follow && use.capture) return;
  waits = (waits && !use.capture) || !may_follow;
  world.say("use %d ends: %s", world.number_of(&use), waits ? "the host waits" : "an event");
  if (waits) {
    wait_on_host(world, use.stream);
  } else if (use.told != use.stream) {
    world.follow(use.told, use.stream);
  }
  use.open = false;
}

}  // namespace wide
