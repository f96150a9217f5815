// SPDX-License-Identifier: BSD-3-Clause
// How producers say that work is pending, and where: all that there is of publishing.
#include <utility>

#include "parties.hpp"

namespace wide {
namespace {

void publish(World &world, int number, Array *view, int target, bool as_event) {
  const Array &array = world.arrays[number];
  Block &block = world.blocks[array.block];
  const cai_array *const it = world.pointer(number);
  const unsigned unnamed = 1U << (kPerThread + 1 - world.thread);
  if (block.pending & unnamed) return;  // it is the other thread that says so
  constexpr unsigned defaults = (1U << kFirstHandle) - 1;
  if (world.is_in_guest && block.pending & defaults) return;  // there 1 and 2 are others
  std::vector<std::uint64_t> streams;
  for (int i = 0; i < kStreams; ++i) {
    if (block.pending >> i & 1) streams.push_back(machine().value(i));
  }
  *view = array;
  view->graphs = 0;
  view->is_copy = view->there = false;
  view->is_view = true;
  view->array = nullptr;
  cai_status status = CAI_OK;
  const auto all = static_cast<std::int32_t>(streams.size());
  world.say("array %d: a view of array %d is published %s %s, streams %x", world.number_of(view),
            number, as_event ? "as an event of" : "on", kStreamNames[target], block.pending);
  world.quietly_on(target, [&] {
    cai_array *on_stream = nullptr;
    // An event of the one stream says it all.
    const bool is_of_target = as_event && block.pending == 1U << target;
    if ((all && !is_of_target) || !as_event) {
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
  world.met(as_event ? Call::publish_event : Call::publish, number, target);
  view->there = true;
  view->said = as_event ? -1 : target;
  view->of_event = as_event;
  view->of_event_of_guest = as_event && is_of_guest(target);
  block.copied = true;
  if (as_event && target == block.said) block.is_used_on_said = false;
  block.pending = block.pending_outside = 0;
  // Users outside of the capture wait for the array's stream, too, so it lives as long.
  const bool is_anew = array.is_view && array.said != block.said;
  if (!is_anew && array.said >= 0 && array.said != target && world.is_capturing(target)) {
    block.told |= 1U << array.said;
  }
}

bool may_publish(const World &world, int number, int target) {
  return !world.is_borrowed(number) && !world.is_of_tensor(number) && world.may_say(number, target);
}

void publish_view(World &world, const Step &step, bool as_event) {
  const int number = world.array(step[1]);
  const int target = world.stream(step[2]);
  Array *const view = world.free_array(step[3]);
  if (number < 0 || !view || !world.may_work(target) || world.is_forked(target) ||
      world.is_pending_before_capture(world.arrays[number].block)) {
    return;
  }
  if (!may_publish(world, number, target)) return;
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
  world.note_pending(array.block, stream);
  publish(world, number, view, array.said < 0 ? stream : array.said, array.of_event);
}

void pass_on(World &world, const Step &step) {
  const int number = world.array(step[1]);
  const int stream = world.stream(step[2]), target = world.stream(step[3]);
  Array *const view = world.free_array(step[4]);
  Use *const later = world.free_use(step[6]);
  const bool as_event = step[5];
  if (number < 0 || !view || !later || !may_publish(world, number, target)) return;
  if (!world.may_work(stream) || world.is_forked(stream) || !world.may_work(target) ||
      world.is_forked(target) || !world.may_use(number)) {
    return;
  }
  Block &block = world.blocks[world.arrays[number].block];
  if (block.pending || world.conflicts(number, true)) return;
  if (world.is_captured_alone(number, stream)) return;
  const bool is_captured = world.is_capturing(stream) || world.is_capturing(target);
  if (is_captured && (as_event || !world.is_in_one_capture(stream, target))) return;
  const cai_array *const array = world.pointer(number);
  const cai_use_options options{sizeof options, CAI_ORDER_BEGIN, CAI_ACCESS_WRITE, 0, nullptr};
  cai_use use;
  cai_status status = CAI_OK;
  world.say("array %d is used on %s, and published", number, kStreamNames[stream]);
  world.quietly_on(stream, [&] {
    status = cai_use_begin(&use, &array, 1, machine().value(stream), &options, &world.error);
  });
  if (!world.is_taken(status)) return;
  world.touch(number, stream, true);
  world.note_pending(world.arrays[number].block, stream);
  publish(world, number, view, target, as_event);
  block.pending_outside = 0;
  if (!std::exchange(block.pending, 0U)) return;
  end_later(world, later, number, stream, world.capture_of(stream));
}

}  // namespace wide
