// SPDX-License-Identifier: BSD-3-Clause
#include "world.hpp"

#include "must.h"

namespace wide {

World::World(bool does_tell)
    : races(cu().simcuda_races()), findings(cu().simcuda_findings()), tells(does_tell) {
  current = this;
}

World::~World() {
  for (const Handle event : events) MUST(cu().cuEventDestroy_v2(event));
  cu().simcuda_forget();
  if (machine().guest) end_guest();
  if (has_lost_thread) machine().renew();
}

int World::stream(unsigned drawn) const {
  const int named = static_cast<int>(drawn % kNamed);
  if (named == kPerThread) return kPerThread + thread;
  return named < kPerThread ? named : named + 1;
}

const cai_array *World::pointer(int number) const {
  return arrays[number].is_copy ? &arrays[number].copy : arrays[number].array;
}

int World::array(unsigned number) const {
  const bool is_one = number < kArrays && arrays[number].there && !arrays[number].is_dead;
  return is_one ? static_cast<int>(number) : -1;
}

bool World::has_array_of(int block) const {
  return std::any_of(std::begin(arrays), std::end(arrays), [&](const Array &array) {
    return array.there && array.block == block && array.tensor < 0;
  });
}

std::vector<int> World::arrays_of(unsigned number, std::initializer_list<unsigned> more) const {
  std::vector<int> found;
  const auto add = [&](int other) {
    if (other < 0 || std::find(found.begin(), found.end(), other) != found.end()) return;
    found.push_back(other);
  };
  add(array(number));
  for (const unsigned other : more) add(other ? array(other - 1) : -1);
  return found;
}

unsigned World::lowest_free_array() const {
  unsigned number = 0;
  while (number + 1 < kArrays && (arrays[number].there || arrays[number].graphs)) ++number;
  return number;
}

Array *World::free_array(unsigned number) {
  Array &array = arrays[number];
  return array.there || array.graphs ? nullptr : &array;
}

Use *World::free_use(unsigned number) {
  return uses[number].open ? nullptr : &uses[number];
}

Use *World::open_use(unsigned number) {
  return uses[number].open ? &uses[number] : nullptr;
}

Capture *World::free_capture(unsigned number) {
  return captures[number].on ? nullptr : &captures[number];
}

bool World::any_captures() const {
  return std::any_of(std::begin(captures), std::end(captures),
                     [](const Capture &capture) { return capture.on; });
}

bool World::is_capturing(int stream) const {
  if (stream == kLegacy) return is_legacy_barred();
  if (!any_captures() || stream < 0 || stream == kGone) return false;
  if (is_of_guest(stream) && !machine().guest) return false;
  if (stream == kPerThread + 1 && !has_second) return false;
  int status = 0, result = 0;
  machine().on(stream,
               [&] { result = cu().cuStreamIsCapturing(machine().streams[stream], &status); });
  return result != 0 || status != 0;
}

bool World::may_work(int stream) const {
  if (is_of_guest(stream)) return machine().guest;
  if (is_in_guest && stream < kFirstHandle) return false;
  return stream != kLegacy || !is_legacy_barred();
}

bool World::is_legacy_barred() const {
  for (int i = kPerThread; i < kStreams; ++i) {
    if (is_blocking(i) && is_capturing(i)) return true;
  }
  return false;
}

bool World::is_forked(int stream) const {
  if (!is_capturing(stream)) return false;
  return std::none_of(std::begin(captures), std::end(captures),
                      [&](const Capture &capture) { return capture.has(stream); });
}

bool World::is_in_forked_use(int stream) const {
  return is_forked(stream) && std::any_of(std::begin(uses), std::end(uses), [&](const Use &use) {
           return use.open && use.stream == stream;
         });
}

bool World::captures_2() const {
  return std::any_of(std::begin(captures), std::end(captures), [&](const Capture &capture) {
    return capture.on && (is_per_thread(capture.stream) ||
                          std::any_of(capture.joined.begin(), capture.joined.end(), is_per_thread));
  });
}

bool World::may_say(int number, int stream) const {
  return arrays[number].block != kGuestBlock || stream >= kFirstHandle;
}

bool World::conflicts(int number, bool writes) const {
  return conflicts_in(arrays[number].block, writes);
}

bool World::conflicts_in(int number, bool writes) const {
  const Block &block = blocks[number];
  if (block.is_unknown || block.is_parked || block.pending) return true;
  for (const Use &use : uses) {
    if (!use.open) continue;
    for (std::size_t i = 0; i < use.arrays.size(); ++i) {
      const bool same = arrays[use.arrays[i]].block == number;
      if (same && (writes || use.accesses[i] == CAI_ACCESS_WRITE)) return true;
    }
  }
  return false;
}

unsigned World::told(int block) const {
  unsigned streams = blocks[block].told;
  for (const Tensor &tensor : tensors) {
    if (tensor.there && tensor.block == block) streams |= 1U << tensor.stream;
  }
  return streams;
}

bool World::may_use(int number) const {
  const int made_of = arrays[number].tensor;
  if (made_of < 0) return may_launch(number);
  const Tensor &tensor = tensors[made_of];
  const bool is_here = has_array_of(tensor) && capture_of(tensor.stream) == tensor.capture;
  return (!tensor.capture || is_here) && may_launch(number);
}

bool World::has_array_of(const Tensor &tensor) const {
  const Array &of = arrays[tensor.array];  // or another one that has the number by now
  return of.there && of.block == tensor.block && of.tensor == tensor.parent;
}

bool World::may_launch(int number) const {
  const int tensor = arrays[number].tensor;
  if (tensor >= 0 && tensors[tensor].is_stale) return false;
  const int said = arrays[number].said;
  return !is_borrowed(number) || !is_per_thread(said) || said == kPerThread + thread;
}

bool World::is_in_use(int number) const {
  return std::any_of(std::begin(uses), std::end(uses), [&](const Use &use) {
    return use.open && std::find(use.arrays.begin(), use.arrays.end(), number) != use.arrays.end();
  });
}

bool World::is_captured_alone(int number, int stream) const {
  const int block = arrays[number].block;
  const int tensor = arrays[number].tensor;
  const bool is_of_other = tensor >= 0 && tensors[tensor].capture != capture_of(stream);
  if (!(is_borrowed(number) || is_of_other) || !is_capturing(stream)) return false;
  return std::any_of(std::begin(captures), std::end(captures), [&](const Capture &capture) {
    return capture.on && std::any_of(capture.touched.begin(), capture.touched.end(),
                                     [&](int touched) { return arrays[touched].block == block; });
  });
}

bool World::is_in_one_capture(int stream, int other) const {
  return std::any_of(std::begin(captures), std::end(captures), [&](const Capture &capture) {
    return capture.has(stream) && capture.has(other);
  });
}

bool World::has_joined(int stream) const {
  return std::any_of(std::begin(captures), std::end(captures), [&](const Capture &capture) {
    return capture.has(stream) && capture.stream != stream;
  });
}

bool World::is_pending_before_capture(int block) const {
  for (int stream = 0; stream < kStreams; ++stream) {
    if ((blocks[block].pending_outside >> stream & 1) && is_capturing(stream)) return true;
  }
  return false;
}

void World::note_pending(int block, int stream) {
  blocks[block].pending |= 1U << stream;
  if (!is_capturing(stream)) blocks[block].pending_outside |= 1U << stream;
}

unsigned World::capture_of(int stream) const {
  if (!is_capturing(stream)) return 0;
  for (const Capture &capture : captures) {
    if (capture.on && (capture.has(stream) || is_forked(stream))) return capture.number;
  }
  return 0;
}

bool World::is_on(unsigned number) const {
  return std::any_of(std::begin(captures), std::end(captures), [&](const Capture &capture) {
    return capture.on && capture.number == number;
  });
}

void World::queue(int block, int stream, bool writes, bool is_of_mask) {
  const Handle handle = machine().streams[stream];
  const Address data = machine().blocks[block] + (is_of_mask ? kBytes : 0);
  const Address to = machine().scratch + kBytes * (scratch++ % 2000);
  machine().on(stream, [&] {
    MUST(writes ? cu().cuMemsetD8Async(data, 1, kBytes, handle)
                : cu().cuMemcpyDtoDAsync_v2(to, data, kBytes, handle));
  });
}

void World::touch(int number, int stream, bool writes, bool with_mask) {
  const Array &array = arrays[number];
  Block &block = blocks[array.block];
  if (array.said == stream && block.said == stream) block.is_used_on_said = true;
  if (array.part == kMask) return touch_mask(number, stream, writes);
  queue(array.block, stream, writes);
  make_stale(array.block, array.tensor);
  if (with_mask && array.part == kWhole && block.is_masked)
    queue(array.block, stream, writes, true);
  note_captured(number, stream);
}

void World::touch_mask(int number, int stream, bool writes) {
  queue(arrays[number].block, stream, writes, true);
  make_stale(arrays[number].block, arrays[number].tensor);
  note_captured(number, stream);
}

void World::touch_by_tensor(int number, int stream, bool writes) {
  const int block = tensors[number].block;
  queue(block, stream, writes);
  make_stale(block, number);
  note_captured(tensors[number].array, stream);
}

void World::note_captured(int number, int stream) {
  if (!is_capturing(stream)) return;
  for (Capture &capture : captures) {
    const bool is_its = capture.has(stream) || (capture.on && is_forked(stream));
    if (!is_its) continue;
    capture.touched.push_back(number);  // of which the program keeps the array
    ++arrays[number].graphs;
  }
  // Only the users of its array know what a tensor came after in the capture.
  const int tensor = arrays[number].tensor;
  if (tensor < 0 || !tensors[tensor].capture) return;
  const int of = tensors[tensor].array;
  if (has_array_of(tensors[tensor]) && arrays[of].tensor < 0) note_captured(of, stream);
}

void World::make_stale(int block, int tensor, bool is_kept) {
  const auto is_through = [&](int other) {
    int it = tensor;
    while (it >= 0 && it != other) it = tensors[it].parent;
    return it == other;
  };
  const auto is_found = [&](const Tensor &other) {
    return is_kept && tensor >= 0 && tensors[tensor].is_owned() && !tensors[tensor].is_own &&
           other.is_owned() && tensors[tensor].capture == other.capture;
  };
  for (int i = 0; i < static_cast<int>(std::size(tensors)); ++i) {
    Tensor &other = tensors[i];
    if (other.block == block && !is_through(i) && !is_found(other)) other.is_stale = true;
  }
}

void World::note_own_work(int block, int stream) {
  blocks[block].own_work.push_back(event_after(stream));
}

Handle World::event_after(int stream) {
  Handle event = nullptr;
  machine().on(stream, [&] {
    MUST(cu().cuEventCreate(&event, 2));
    MUST(cu().cuEventRecord(event, machine().streams[stream]));
  });
  (is_of_guest(stream) ? events_of_guest : events).push_back(event);
  return event;
}

void World::end_guest() {
  const auto is_of_it = [&](Handle event) {
    const auto end = events_of_guest.end();
    return std::find(events_of_guest.begin(), end, event) != end;
  };
  machine().in_guest([&] {
    MUST(cu().cuCtxSynchronize());
    for (const Handle event : events_of_guest) MUST(cu().cuEventDestroy_v2(event));
  });
  for (Block &block : blocks) std::erase_if(block.own_work, is_of_it);
  for (std::vector<Handle> &after : freed_after) std::erase_if(after, is_of_it);
  events_of_guest.clear();
  freed_after[kGuestBlock].clear();
  machine().end_guest();
}

void World::follow(int stream, int other) {
  wait(stream, event_after(other));
}

void World::wait(int stream, Handle event) {
  machine().on(stream, [&] { MUST(cu().cuStreamWaitEvent(machine().streams[stream], event, 0)); });
}

bool World::wait_for(int stream) {
  bool done = false;
  machine().on(stream, [&] {
    int mode = kRelaxed;
    MUST(cu().cuThreadExchangeStreamCaptureMode(&mode));
    done = cu().cuStreamSynchronize(machine().streams[stream]) == 0;
    MUST(cu().cuThreadExchangeStreamCaptureMode(&mode));
  });
  return done;
}

bool World::has_failed(cai_status status) const {
  return fault.has_struck() && (status == CAI_ERR_CUDA || status == CAI_ERR_MEMORY);
}

void World::expect(cai_status status) {
  if (status != CAI_OK && !has_failed(status)) fail(std::string("a call fails: ") + error.message);
}

bool World::is_taken(cai_status status) {
  if (status == CAI_OK) return true;
  say("  refused: %s", error.message);
  if (has_failed(status)) return false;
  if (status == CAI_ERR_ORDER || (status == CAI_ERR_CAPTURE && any_captures())) return false;
  fail(std::string("a call fails: ") + error.message);
  return false;
}

void World::fail(const std::string &what) {
  if (problem.empty()) problem = what;
  say("!! %s", what.c_str());
}

Kind World::kind_of(int stream) const {
  if (stream == kLegacy) return Kind::one;
  if (is_of_guest(stream)) return Kind::guest;
  if (stream == kGone || stream == kPerThread + 1 - thread) return Kind::twos;
  if (is_capturing(stream)) return Kind::captured;
  if (is_per_thread(stream)) return Kind::two;
  return is_blocking(stream) ? Kind::blocking : Kind::other;
}

void World::met(Call call, int number, int stream) {
  const Array &array = arrays[number];
  const Kind said = array.of_event   ? Kind::event
                    : array.said < 0 ? Kind::none
                                     : kind_of(array.said);
  note_pair(blocks[array.block].last, call, said, stream < 0 ? Kind::none : kind_of(stream));
}

void World::check() {
  if (cu().simcuda_races() != races) fail("a race");
  if (cu().simcuda_findings() != findings) fail("a destroyed stream or event is used");
  for (const Capture &capture : captures) {
    if (!capture.on) continue;
    int status = 0;
    machine().on(capture.stream, [&] {
      MUST(cu().cuStreamIsCapturing(machine().streams[capture.stream], &status));
    });
    if (status != 1) fail("a capture was invalidated");
  }
}

}  // namespace wide
