// SPDX-License-Identifier: BSD-3-Clause
// Who has arrays, and does nothing with them.
#include "must.h"
#include "parties.hpp"

namespace wide {

void view(World &world, const Step &step) {
  const int number = world.array(step[1]);
  Array *const array = world.free_array(step[2]);
  if (number < 0 || !array || world.is_borrowed(number)) return;
  const cai_array *const mask = step[3] ? world.pointer(number)->mask : nullptr;
  if (step[3] && (!mask || !mask->owner)) return;
  *array = world.arrays[number];
  array->graphs = 0;
  array->is_copy = false;
  array->array = nullptr;
  array->there = false;
  if (mask) {
    // It is in the owner's block, and so lives as long.
    cai_array_retain(mask);
    array->array = const_cast<cai_array *>(mask);
    array->part = kMask;
    if (!array->is_view) array->said = world.blocks[array->block].mask_said;
  } else {
    const cai_status status =
        cai_array_slice(world.pointer(number), nullptr, 0, &array->array, &world.error);
    MUST(status);
  }
  array->there = true;
  world.say("array %d: %s of array %d", world.number_of(array), mask ? "the mask" : "a view",
            number);
}

// Graphs that touch an import's memory have it by another import as well.
static bool hand_graphs_over(World &world, int number) {
  Array &array = world.arrays[number];
  if (array.graphs == 0) return true;
  if (world.blocks[array.block].keeper != kImported || array.part != kWhole) return false;
  const auto *const other =
      std::find_if(std::begin(world.arrays), std::end(world.arrays), [&](const Array &it) {
        return &it != &array && it.there && it.block == array.block && it.part == kWhole &&
               it.tensor < 0;
      });
  if (other == std::end(world.arrays)) return false;
  const int to = world.number_of(other);
  for (Capture &capture : world.captures) {
    std::replace(capture.touched.begin(), capture.touched.end(), number, to);
  }
  for (Graph &graph : world.graphs) {
    std::replace(graph.touched.begin(), graph.touched.end(), number, to);
  }
  world.arrays[to].graphs += std::exchange(array.graphs, 0);
  return true;
}

void release(World &world, const Step &step) {
  const int number = static_cast<int>(step[1]);
  if (!world.arrays[number].there || world.is_in_use(number)) return;
  if (world.blocks[world.arrays[number].block].pending) return;  // the producer's own affair
  const int stream = world.arrays[number].said;
  const bool may_free = world.may_work(stream) && !world.is_capturing(stream);
  if (world.is_borrowed(number) && !may_free) return;
  if (!hand_graphs_over(world, number)) return;
  let_go(world, number);
}

void let_go(World &world, int number) {
  if (world.is_borrowed(number)) return free_borrowed(world, number);
  world.say("array %d is released", number);
  // An end that must be deferred, without memory for that, never happens.
  if (world.any_captures() && world.fault.is_for_memory()) world.fault.forget();
  world.fault.spare_memory();
  world.releases = true;
  const cai_array *const array = world.pointer(number);
  const int said = world.arrays[number].said;
  // Nothing can be recorded there yet, so it lives on.
  if (said >= 0 && world.is_capturing(said)) {
    world.blocks[world.arrays[number].block].told |= 1U << said;
  }
  world.met(Call::release, number);
  world.arrays[number].there = false;
  world.quietly([&] { cai_array_release(array); });
  world.releases = false;
}

}  // namespace wide
