// SPDX-License-Identifier: BSD-3-Clause
// How producers say that work is pending, and where: all that there is of publishing.
#include "parties.hpp"

namespace wide {
namespace {

void publish(World &world, int number, Array *copy, int target, bool as_event) {
  const Array &array = world.arrays[number];
  Block &block = world.blocks[array.block];
  const unsigned unnamed = 1U << (kPerThread + 1 - world.thread);
  if (block.pending & unnamed) return;  // it is the other thread that says so
  std::vector<std::uint64_t> streams;
  for (int i = 0; i < kStreams; ++i) {
    if (block.pending >> i & 1) streams.push_back(machine().value(i));
  }
  *copy = array;
  copy->graphs = 0;
  copy->is_copy = true;
  copy->array = nullptr;
  copy->copy = *world.pointer(number);
  cai_status status = CAI_OK;
  const auto all = static_cast<std::int32_t>(streams.size());
  world.say("array %d: a copy of array %d is published %s %s, streams %x", world.number_of(copy),
            number, as_event ? "as an event of" : "on", kStreamNames[target], block.pending);
  if (as_event) {
    world.quietly([&] {
      if (all) {
        status = cai_array_publish(&copy->copy, streams.data(), all, machine().value(target),
                                   &world.error);
      }
      if (status == CAI_OK) {
        status = cai_array_publish_event(&copy->copy, machine().value(target), &world.error);
      }
    });
  } else {
    world.quietly([&] {
      status = cai_array_publish(&copy->copy, streams.data(), all, machine().value(target),
                                 &world.error);
    });
  }
  copy->there = false;
  if (world.fault.has_struck()) block.copied = true;  // as far as the owner knows
  if (!world.is_taken(status)) return;
  copy->there = true;
  cai_array_retain(&copy->copy);
  copy->said = as_event ? -1 : target;
  copy->of_event = as_event;
  copy->of_event_of_guest = as_event && is_of_guest(target);
  block.copied = true;
  block.pending = 0;
}

void publish_copy(World &world, const Step &step, bool as_event) {
  const int number = world.some_array(step[1]);
  const int target = world.stream(step[2]);
  Array *const copy = world.free_array();
  if (number < 0 || !copy || !world.may_work(target) || world.is_capturing(target) ||
      world.is_forked(target)) {
    return;
  }
  const Keeper keeper = world.blocks[world.arrays[number].block].keeper;
  if (keeper == kImported || keeper == kBorrowed ||
      (as_event && (keeper == kTold || keeper == kAlone)))
    return;
  publish(world, number, copy, target, as_event);
}

}  // namespace

void publish_on(World &world, const Step &step) {
  publish_copy(world, step, false);
}
void publish_event(World &world, const Step &step) {
  publish_copy(world, step, true);
}

void publish_again(World &world, int number, Array *copy, int stream) {
  const Array &array = world.arrays[number];
  world.blocks[array.block].pending |= 1U << stream;
  publish(world, number, copy, array.said < 0 ? stream : array.said, array.of_event);
}

}  // namespace wide
