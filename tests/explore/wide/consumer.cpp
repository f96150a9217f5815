// SPDX-License-Identifier: BSD-3-Clause
// Consumers.
#include "must.h"
#include "parties.hpp"

namespace wide {
namespace {

// Whether no capture prevents an end: the work is where the use began, and so is every stream that
// has to wait for it, or it is in no capture at all. The capture of a blocking stream prevents work
// on stream 1, and so the beginning.
bool is_all_in_one_capture(const World &world, const Use &use) {
  // Nobody says which one a stream has been taken into.
  const bool are_two = world.captures[0].on && world.captures[1].on;
  if (are_two && use.is_forked) return false;
  const auto is_there = [&](int stream) {
    if (stream < 0) return true;
    if (stream == kLegacy && use.capture && is_blocking(use.stream)) return true;
    if (stream == kGone || !world.may_work(stream)) return false;
    if (are_two && world.is_forked(stream)) return false;
    const unsigned its = world.capture_of(stream);
    return its == use.capture || (its == 0 && use.capture);
  };
  return is_there(use.stream) && std::all_of(use.arrays.begin(), use.arrays.end(), [&](int number) {
           const Array &array = world.arrays[number];
           const Block &block = world.blocks[array.block];
           // A consumer of the mask alone cannot distinguish what the others publish from the use.
           if (array.part != kWhole && block.copied) return false;
           return is_there(array.said) && is_there(block.said) && is_there(block.mask_said);
         });
}

void end_some_use(World &world, const Step &step, Ending ending) {
  Use *const use = world.open_use(step[1]);
  if (!use) return;
  // On another thread than its own there is but one way.
  const bool is_elsewhere = use->thread != kAnyThread && use->thread != world.thread;
  if (is_elsewhere && (ending != Ending::abandon || use->told >= 0)) return;
  end_use(world, *use, ending, step[2]);
}

}  // namespace

void end(World &world, const Step &step) {
  end_some_use(world, step, Ending::end);
}
void finish(World &world, const Step &step) {
  end_some_use(world, step, Ending::finish);
}
void abandon(World &world, const Step &step) {
  end_some_use(world, step, Ending::abandon);
}

void begin(World &world, const Step &step) {
  Use *const use = world.free_use(step[1]);
  const int stream = world.stream(step[2]);
  if (!use || !world.may_work(stream) || world.is_in_forked_use(stream)) return;
  std::vector<int> arrays = world.arrays_of(step[3], {step[4], step[5]});
  std::vector<std::uint32_t> accesses;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    accesses.push_back(step[6] >> i & 1 ? CAI_ACCESS_WRITE : CAI_ACCESS_READ);
    if (world.conflicts(arrays[i], accesses.back() == CAI_ACCESS_WRITE)) return;
    if (world.is_captured_alone(arrays[i], stream) || !world.may_use(arrays[i])) return;
    // A stream that was taken into a capture is for that use alone, and so are its arrays.
    const int said = world.arrays[arrays[i]].said;
    if (said >= 0 && said != stream && world.is_forked(said)) return;
    if (said >= 0 && world.is_captured_alone(arrays[i], said)) return;  // a fork would join it
  }
  if (arrays.empty()) return;
  // The stream that must join it back has come with another stream of the capture.
  if (world.is_forked(stream) && std::none_of(arrays.begin(), arrays.end(), [&](int number) {
        const Array &array = world.arrays[number];
        return array.said >= 0 && array.said != stream && world.is_capturing(array.said) &&
               world.blocks[array.block].keeper != kReclaims;
      })) {
    return;
  }
  constexpr std::uint32_t orders[] = {CAI_ORDER_BOTH, CAI_ORDER_HOST};
  constexpr std::uint32_t flags[] = {0, CAI_USE_EXTERNAL, CAI_USE_FORK};
  const std::uint32_t order = orders[step[7]];
  const cai_use_options options{sizeof options, order, CAI_ACCESS_DEFAULT, flags[step[8]],
                                accesses.data()};
  std::vector<const cai_array *> list;
  std::string names;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    list.push_back(world.pointer(arrays[i]));
    names +=
        " " + std::to_string(arrays[i]) + (accesses[i] == CAI_ACCESS_WRITE ? " written" : " read");
  }
  world.say("use %d on %s, order %u, flags %u: arrays%s", static_cast<int>(use - world.uses),
            kStreamNames[stream], order, options.flags, names.c_str());
  cai_status status = CAI_OK;
  const auto call = [&] {
    status = cai_use_begin(&use->use, list.data(), static_cast<std::int32_t>(list.size()),
                           machine().value(stream), &options, &world.error);
  };
  order == CAI_ORDER_HOST ? world.loudly(call) : world.quietly_on(stream, call);
  if (!world.is_taken(status)) return;
  use->open = true;
  use->stream = stream;
  use->thread = kAnyThread;
  use->told = -1;
  for (const int array : arrays) {
    const Block &block = world.blocks[world.arrays[array].block];
    const bool says_2 = is_per_thread(world.arrays[array].said) || is_per_thread(block.unstated);
    if (says_2 || is_per_thread(stream)) use->thread = world.thread;
  }
  use->order = order;
  use->arrays = arrays;
  use->accesses = accesses;
  use->capture = world.capture_of(stream);
  for (const int array : arrays) world.met(Call::begin, array, stream);
  use->is_forked = world.is_forked(stream);
  if (use->is_forked && (is_per_thread(stream) || world.captures_2())) use->thread = world.thread;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    world.touch(arrays[i], stream, accesses[i] == CAI_ACCESS_WRITE);
  }
}

void give_up(World &world, Use &use) {
  // If no event can be recorded, no one is told of the work until the host has waited.
  const bool is_elsewhere = is_per_thread(use.stream) && use.stream != kPerThread + world.thread;
  // In a capture that it was not in, either.
  const bool is_late = use.stream != kGone && world.capture_of(use.stream) != use.capture &&
                       world.is_capturing(use.stream);
  bool is_parked = is_elsewhere || use.stream == kGone;
  // No one else could join it back; and what cannot be held for lack of memory stays forever.
  const bool is_held = use.stream != kGone && world.is_capturing(use.stream);
  const bool has_no_way = world.fault.is_for_memory() && (is_late || is_parked || is_held);
  if (use.is_forked || has_no_way) world.fault.forget();
  world.fault.spare_memory();
  world.quietly_on(use.stream, [&] { cai_use_abandon(&use.use); });
  is_parked = is_parked || world.fault.has_struck();
  use.open = false;
  for (const int array : use.arrays) {
    world.met(Call::abandon, array, use.stream);
    // It orders nothing for the producers, which learn of it only from the owner.
    Block &block = world.blocks[world.arrays[array].block];
    (is_held ? block.copied : block.is_abandoned) = true;
    block.is_parked |= is_parked;
    block.is_abandoned_in_guest |= is_of_guest(use.stream);
    // Who has the array that a tensor is of has another owner.
    if (is_late || world.arrays[array].tensor >= 0) block.is_unknown = true;
    if (block.keeper != kBorrowed) continue;
    block.is_unknown = true;  // except the program itself
    world.note_own_work(world.arrays[array].block, use.stream);
  }
}

void end_use(World &world, Use &use, Ending ending, bool waits) {
  if (use.memory) return end_holding(world, use);
  if (use.told >= 0) return end_without(world, use, waits);
  const int number = static_cast<int>(&use - world.uses);
  const bool has_borrowed = std::any_of(use.arrays.begin(), use.arrays.end(),
                                        [&](int array) { return world.is_borrowed(array); });
  // In a capture, the program of a borrowed array has nothing to wait for.
  const bool is_elsewhere = use.thread != kAnyThread && use.thread != world.thread;
  // That thread must handle it, and only there a 2 can be joined back into a capture.
  if (is_elsewhere && (has_borrowed || use.is_forked)) return;
  const bool may_give_up = !has_borrowed || !world.is_capturing(use.stream);
  if (ending == Ending::abandon && may_give_up) {
    world.say("cai_use_abandon: use %d", number);
    return give_up(world, use);
  }
  if (ending == Ending::finish && (!waits || world.is_capturing(use.stream)))
    ending = Ending::end;  // the work is pending
  const bool may_end = ending == Ending::end && is_all_in_one_capture(world, use);
  cai_status status = CAI_OK;
  if (ending == Ending::finish) {
    world.say("cai_use_finish: use %d, the host waits", number);
    world.loudly([&] { status = cai_use_finish(&use.use, 1, &world.error); });
  } else {
    world.say("cai_use_end: use %d", number);
    const auto call = [&] { status = cai_use_end(&use.use, &world.error); };
    use.order == CAI_ORDER_HOST ? world.loudly(call) : world.quietly_on(use.stream, call);
  }
  if (status == CAI_ERR_CAPTURE && may_end) world.fail("a use cannot be ended in its own capture");
  if (world.is_taken(status)) {
    use.open = false;
    const Call call = ending == Ending::finish ? Call::finish : Call::end;
    for (const int array : use.arrays) world.met(call, array, use.stream);
  }
  // It has been joined back, whatever else could not be done.
  if (!world.fault.has_struck()) use.is_forked = false;
}

void end_later(World &world, Use *open, int number, int stream, unsigned capture) {
  const cai_array *const array = world.pointer(number);
  const cai_use_options options{sizeof options, CAI_ORDER_END, CAI_ACCESS_WRITE, 0, nullptr};
  MUST(cai_use_begin(&open->use, &array, 1, machine().value(stream), &options, &world.error));
  open->open = true;
  open->stream = stream;
  open->order = CAI_ORDER_BOTH;
  open->arrays = {number};
  open->accesses = {CAI_ACCESS_WRITE};
  open->is_forked = false;
  open->thread = world.thread;
  open->capture = capture;
  open->told = -1;
}

// A consumer that does not end its use: begins, works, and lets go by the stream.
void release_on(World &world, const Step &step) {
  const int number = world.array(step[1]);
  const int stream = world.stream(step[2]);
  Use *const later = world.free_use(step[3]);
  if (number < 0 || !later || !world.may_work(stream) || world.is_forked(stream) ||
      world.is_in_use(number)) {
    return;
  }
  if (world.is_borrowed(number)) return;  // there is nothing to release
  if (world.blocks[world.arrays[number].block].pending || world.conflicts(number, true)) return;
  if (!world.may_use(number) || world.is_captured_alone(number, stream)) return;
  const unsigned capture = world.capture_of(stream);
  // Each launch is a use of the array, too.
  const bool stays = capture || world.arrays[number].graphs;
  const cai_array *const array = world.pointer(number);
  const cai_use_options options{sizeof options, CAI_ORDER_BEGIN, CAI_ACCESS_WRITE, 0, nullptr};
  cai_use use;
  cai_status status = CAI_OK;
  world.say("array %d is used on %s, and released there", number, kStreamNames[stream]);
  world.quietly_on(stream, [&] {
    status = cai_use_begin(&use, &array, 1, machine().value(stream), &options, &world.error);
  });
  if (!world.is_taken(status)) return;
  world.touch(number, stream, true);
  if (stays) cai_array_retain(array);
  // As in let_go().
  if (world.any_captures() && world.fault.is_for_memory()) world.fault.forget();
  world.quietly(
      [&] { status = cai_array_release_on(array, machine().value(stream), &world.error); });
  if (status == CAI_ERR_CAPTURE || world.has_failed(status)) {  // so it is ended later
    world.say("  refused: %s", world.error.message);
    if (stays) cai_array_release(array);
    return end_later(world, later, number, stream, capture);
  }
  if (!world.is_taken(status)) return;
  world.met(Call::release_on, number, stream);
  world.arrays[number].there = stays;
}

void same_stream(World &world, const Step &step) {
  const std::vector<int> arrays = world.arrays_of(step[1], {step[2]});
  if (arrays.empty()) return;
  std::vector<const cai_array *> list;
  for (const int number : arrays) {
    if (world.conflicts(number, true)) return;
    if (world.is_captured_alone(number, world.arrays[number].said)) return;
    if (!world.may_use(number)) return;
    list.push_back(world.pointer(number));
  }
  std::uint64_t out = 0;
  cai_status status = CAI_OK;
  world.say("cai_arrays_same_stream: array %d and %zu more", arrays[0], arrays.size() - 1);
  world.quietly([&] {
    status = cai_arrays_same_stream(list.data(), static_cast<std::int32_t>(list.size()), &out,
                                    &world.error);
  });
  if (!world.is_taken(status)) return;
  for (const int number : arrays) world.met(Call::same_stream, number);
  if (out == 0) return;
  if (world.is_in_guest && out <= 2) world.fail("a stream of another context is named");
  for (int i = 0; i < kStreams; ++i) {
    if (i == kPerThread + 1 - world.thread) continue;  // a 2 is this thread's
    if (machine().value(i) != out || !world.may_work(i) || world.is_forked(i)) continue;
    for (const int number : arrays) {
      world.touch(number, i, step[3] != 0);
      world.blocks[world.arrays[number].block].told |= 1U << i;
    }
  }
}

// The host reads what it has waited for, as by work on a stream of nobody's.
void read_on_host(const World &world, int number) {
  const Array &array = world.arrays[number];
  if (world.any_captures() || world.conflicts(number, false) || array.is_dead) return;
  const Address data = machine().blocks[array.block] + (array.part == kMask ? kBytes : 0);
  machine().in(machine().context, [&] {
    MUST(cu().cuMemcpyDtoDAsync_v2(machine().scratch, data, kBytes, machine().free_stream));
    MUST_HOLD(cu().cuStreamSynchronize(machine().free_stream) == 0);
  });
}

void sync_host(World &world, const Step &step) {
  const int number = world.array(step[1]);
  if (number < 0 || !world.may_use(number)) return;
  world.say("cai_array_sync_host: array %d", number);
  cai_status status = CAI_OK;
  world.loudly([&] { status = cai_array_sync_host(world.pointer(number), &world.error); });
  if (!world.is_taken(status)) return;
  world.met(Call::sync_host, number);
  read_on_host(world, number);
}

void ask_pending(World &world, const Step &step) {
  const int number = world.array(step[1]);
  if (number < 0 || world.is_borrowed(number)) return;
  std::int64_t left = 0;
  const std::int32_t ask = step[2] == 2 && world.any_captures() ? 1 : static_cast<int>(step[2]);
  world.say("cai_owner_pending: array %d, %d", number, ask);
  cai_status status = CAI_OK;
  const auto call = [&] {
    status = cai_owner_pending(world.pointer(number)->owner, ask, &left, &world.error);
  };
  ask == 2 ? world.loudly(call) : world.quietly(call);
  world.expect(status);
  world.met(Call::pending, number);
}

void drain(World &world, const Step &step) {
  const bool waits = step[1] && !world.any_captures();
  world.say("cai_drain(%d)", int{waits});
  cai_status status = CAI_OK;
  const auto call = [&] { status = cai_drain(waits, nullptr, &world.error); };
  waits ? world.loudly(call) : world.quietly(call);
  world.expect(status);
  if (!waits || status != CAI_OK) return;
  for (Block &block : world.blocks) {
    if (block.is_abandoned_in_guest && !world.is_in_guest) continue;
    block.is_abandoned = block.is_parked = block.is_abandoned_in_guest = false;
  }
}

// Frees memory, which some captures forbid. No capture may come to harm.
void spare_captures(World &world, const Step &step) {
  const int stream = world.stream(step[1]);
  if (is_of_guest(stream) || world.is_in_guest) return;
  struct Freeing {
    bool is_done = false, is_free = false;
  } freeing;
  const auto body = [](void *context) {
    auto &mine = *static_cast<Freeing *>(context);
    mine.is_done = true;
    machine().in(machine().context, [&] {
      Address data = 0;
      mine.is_free = cu().cuMemAlloc_v2(&data, kBytes) == 0 &&
                     cu().cuMemFreeAsync(data, machine().free_stream) == 0;
    });
  };
  world.say("cai_spare_captures: %s", kStreamNames[stream]);
  std::int32_t done = 0;
  world.calmly([&] { done = cai_spare_captures(machine().value(stream), body, &freeing); });
  if (freeing.is_done != (done == 1)) world.fail("it does not say what it has done");
  if (freeing.is_done && !freeing.is_free) world.fail("a capture forbids to free there");
  if (freeing.is_done && world.is_capturing(stream)) world.fail("the stream is being captured");
  if (!freeing.is_done && !world.any_captures()) world.fail("nothing is being captured");
}

}  // namespace wide
