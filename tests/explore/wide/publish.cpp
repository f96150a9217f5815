// SPDX-License-Identifier: BSD-3-Clause
// How producers say that work is pending, and where: all that there is of publishing.
#include "parties.hpp"

namespace wide {
namespace {

void publish(World &world, int number, Array *view, int target, bool as_event) {
  const Array &array = world.arrays[number];
  Block &block = world.blocks[array.block];
  const cai_array *const it = world.pointer(number);
  const unsigned unnamed = 1U << (kPerThread + 1 - world.thread);
  if (block.pending & unnamed) return;  // it is the other thread that says so
  std::vector<std::uint64_t> streams;
  for (int i = 0; i < kStreams; ++i) {
    if (block.pending >> i & 1) streams.push_back(machine().value(i));
  }
  *view = array;
  view->graphs = 0;
  view->is_copy = view->there = false;
  view->array = nullptr;
  cai_status status = CAI_OK;
  const auto all = static_cast<std::int32_t>(streams.size());
  world.say("array %d: a view of array %d is published %s %s, streams %x", world.number_of(view),
            number, as_event ? "as an event of" : "on", kStreamNames[target], block.pending);
  world.quietly([&] {
    cai_array *on_stream = nullptr;
    if (all || !as_event) {
      status = cai_array_publish(it, streams.data(), all, machine().value(target), &on_stream,
                                 &world.error);
    }
    if (!as_event) view->array = on_stream;
    if (status != CAI_OK || !as_event) return;
    status = cai_array_publish_event(on_stream ? on_stream : it, machine().value(target),
                                     &view->array, &world.error);
    cai_array_release(on_stream);
  });
  if (world.fault.has_struck()) block.copied = true;  // as far as the owner knows
  if (!world.is_taken(status)) return;
  view->there = true;
  view->said = as_event ? -1 : target;
  view->of_event = as_event;
  view->of_event_of_guest = as_event && is_of_guest(target);
  block.copied = true;
  block.pending = 0;
}

void publish_view(World &world, const Step &step, bool as_event) {
  const int number = world.some_array(step[1]);
  const int target = world.stream(step[2]);
  Array *const view = world.free_array();
  if (number < 0 || !view || !world.may_work(target) || world.is_capturing(target) ||
      world.is_forked(target)) {
    return;
  }
  const Keeper keeper = world.blocks[world.arrays[number].block].keeper;
  if (keeper == kImported || keeper == kBorrowed) return;
  publish(world, number, view, target, as_event);
}

}  // namespace

void publish_on(World &world, const Step &step) {
  publish_view(world, step, false);
}
void publish_event(World &world, const Step &step) {
  publish_view(world, step, true);
}

void publish_again(World &world, int number, Array *view, int stream) {
  const Array &array = world.arrays[number];
  world.blocks[array.block].pending |= 1U << stream;
  publish(world, number, view, array.said < 0 ? stream : array.said, array.of_event);
}

}  // namespace wide
