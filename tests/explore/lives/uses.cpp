// SPDX-License-Identifier: BSD-3-Clause
// Who uses memory and arrays.
#include <chrono>
#include <cstring>
#include <thread>

#include "cai/dlpack.h"
#include "must.h"
#include "world.hpp"

namespace lives {

// The host does not wait for a GPU's work on an array that it knows by its address alone, so the
// program sees to that.
void World::finish_gpu(const Array &array) {
  if (!array.is_of_two()) return;
  if (!(array.memory ? array.memory->root().was_imported : array.owner->was_imported)) return;
  end_capture();
  finish_gpus();
}

void World::finish_gpus() {
  for (unsigned i = 0; i < count_of_gpus_; ++i) MUST(cai_device_synchronize(gpus[i], nullptr));
}

void World::fill(const Step &step) {
  Array *const to = array(step[1]);
  if (!to) return;
  const auto value = static_cast<unsigned char>(step[2]);
  const bool by_cpu = to->is_of_host() || (to->is_for_host() && step[3] % 2);
  cai_status expected = to->read_only ? CAI_ERR_VALUE : CAI_OK;
  if (!to->is_alive()) expected = CAI_ERR_STATE;
  Stream on{};
  if (step[3] % 5) on = stream_for(*to, by_cpu ? cpu : to->gpu(), step[4]);
  if (on.is_dead && expected == CAI_OK && to->count) expected = CAI_ERR_STATE;
  const bool done = ask("fill", expected, [&](cai_error *error) {
    return cai_array_fill(to->handle, &value, on.handle, error);
  });
  finish_gpu(*to);
  if (!done && !fault_.has_struck()) return;
  const auto begin = to->bytes->begin() + static_cast<std::ptrdiff_t>(to->start);
  if (!done && to->read_only) return;
  std::fill_n(begin, to->count, done ? value : unknown);
}

void World::copy(const Step &step) {
  Array *const from = array(step[1]), *to = array(step[2]);
  // Mostly between two that match.
  for (unsigned i = 0; from && i < arrays_.size() && step[3] / 5 % 4; ++i) {
    Array &each = arrays_[(step[2] + i) % arrays_.size()];
    if (!each.is_barred() && each.count == from->count && each.bytes != from->bytes) to = &each;
  }
  if (!from || !to || from->bytes == to->bytes) return;
  use_alone(*to);
  cai_status expected = CAI_OK;
  const bool fit =
      from->count == to->count && (from->mask_count <= 1 ? to->mask_count >= from->mask_count
                                                         : from->mask_count == to->mask_count);
  if (to->read_only || !fit) expected = CAI_ERR_VALUE;
  if (!from->is_alive() || !to->is_alive()) expected = CAI_ERR_STATE;
  const bool by_host = from->is_for_host() && to->is_for_host();
  const bool by_cpu = by_host && ((from->is_of_host() && to->is_of_host()) || step[3] % 2);
  const Array *const of_gpu = to->is_of_host() || (!from->is_of_host() && step[4] % 2) ? from : to;
  Stream on{};
  if (step[3] % 5) on = stream_for(*of_gpu, by_cpu ? cpu : of_gpu->gpu(), step[4]);
  if (on.is_dead && expected == CAI_OK && to->count) expected = CAI_ERR_STATE;
  const bool done = ask("copy", expected, [&](cai_error *error) {
    return cai_array_copy(from->handle, to->handle, on.handle, error);
  });
  finish_gpu(*from), finish_gpu(*to);
  if (to->read_only || !fit || (!done && !fault_.has_struck())) return;
  for (std::uint64_t i = 0; i < to->count; ++i) {
    (*to->bytes)[to->start + i] = done ? (*from->bytes)[from->start + i] : unknown;
  }
  for (std::uint64_t i = 0; i < to->mask_count; ++i) {
    const std::uint64_t at = from->mask_start + (from->mask_count > 1 ? i : 0);
    const int valid = from->mask_count ? (*from->bytes)[at] : 1;
    (*to->bytes)[to->mask_start + i] = done ? valid : unknown;
  }
}

void World::read(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from || from->count == 0) return;
  if (from->mask_count) return;  // nobody reads what may be invalid
  const auto at = static_cast<std::int64_t>(step[2] % from->count);
  unsigned char byte = 0;
  if (!ask("item", from->is_alive() ? CAI_OK : CAI_ERR_STATE,
           [&](cai_error *error) { return cai_array_item(from->handle, &at, &byte, error); })) {
    return;
  }
  const int expected = (*from->bytes)[from->start + static_cast<std::uint64_t>(at)];
  if (expected == unknown || expected == byte) return;
  blame("an element is " + std::to_string(byte) + ", not " + std::to_string(expected));
}

cai_status Work::run(void *self, cai_error *error) {
  Work &work = *static_cast<Work *>(self);
  std::this_thread::sleep_for(std::chrono::microseconds(work.pause));
  if (work.elements) {
    const auto count = static_cast<std::size_t>(work.array->shape[0]);
    work.status = cai_array_sync_host(work.array, error);
    if (work.status == CAI_OK) std::memset(work.elements, work.value, count);
  } else {
    work.status = cai_array_item(work.array, &work.at, &work.found, error);
  }
  return CAI_OK;  // what it says is judged later
}

void Work::end(void *self) {
  Work &work = *static_cast<Work *>(self);
  cai_array_release(work.array);
  work.is_done = true;
}

// Work of the program's own on a stream of the CPU, which others are told of as the header says. It
// waits for what was queued before it, whatever comes after it.
void World::enqueue(const Step &step) {
  Array *on = nullptr;
  for (unsigned i = 0; i < arrays_.size() && !on; ++i) {
    Array &each = arrays_[(step[1] + i) % arrays_.size()];
    if (!each.is_barred() && each.memory && each.is_alive() && each.is_for_host() && each.count &&
        !each.mask_count)
      on = &each;
  }
  if (!on) return;
  const bool sets = step[3] % 3 == 0;
  if (sets && (on->read_only || may_fail_)) return;
  const auto at = static_cast<std::ptrdiff_t>(step[2] % on->count);
  const auto begin = on->bytes->begin() + static_cast<std::ptrdiff_t>(on->start);
  const int value = sets ? static_cast<unsigned char>(step[2]) : begin[at];
  auto *const host = reinterpret_cast<unsigned char *>(info_of(on->memory->handle).host);
  works_.push_back(std::make_unique<Work>(on->handle, on->memory, at, value,
                                          sets ? host + on->start : nullptr, step[4] % 5 * 20));
  Work &work = *works_.back();
  cai_stream *const stream = this->stream(cpu, step[3] / 3);
  cai_array_retain(work.array);
  const bool done = ask("enqueue", CAI_OK, [&](cai_error *error) {
    return cai_stream_enqueue(stream, Work::run, Work::end, &work, error);
  });
  if (!done) return Work::end(&work), works_.pop_back();
  if (sets) std::fill_n(begin, on->count, value);
  must("record", CAI_OK,
       [&](cai_error *error) { return cai_memory_record(on->memory->handle, stream, error); });
}

// What comes later on a stream of the CPU is pending for a while.
void World::delay(const Step &step) {
  const cai_work_fn sleep = [](void *, cai_error *) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return cai_status{CAI_OK};
  };
  must("delay", CAI_OK, [&](cai_error *error) {
    return cai_stream_enqueue(stream(cpu, step[1]), sleep, nullptr, nullptr, error);
  });
}

// Work of the program's own fails, behind all that was queued on a stream of the CPU: only that
// stream says so, whatever is used meanwhile.
void World::fail_behind(const Step &step) {
  const cai_work_fn fails = [](void *, cai_error *) { return cai_status{CAI_ERR_BOUNDS}; };
  constexpr void (World::*uses[])(const Step &) = {&World::fill, &World::copy, &World::read,
                                                   &World::await, &World::compare};
  const auto which = streams_.begin() + step[1] % 2;
  const Stream failing = *which;
  MUST_HOLD(is_cpu(failing.device) && failing.mode == CAI_MODE_ASYNC);
  must("fail_behind", CAI_OK, [&](cai_error *error) {
    return cai_stream_enqueue(failing.handle, fails, nullptr, nullptr, error);
  });
  if (step[4] % 2) std::this_thread::sleep_for(std::chrono::microseconds(50));
  streams_.erase(which);
  const Step use{step[0], step[3], step[4] / 2, step[2] / 5, step[1] / 2};
  (this->*uses[step[2] % std::size(uses)])(use);
  streams_.insert(streams_.begin() + step[1] % 2, failing);
  must("synchronize", CAI_ERR_BOUNDS,
       [&](cai_error *error) { return cai_stream_synchronize(failing.handle, error); });
}

void World::compare(const Step &) {
  check_bytes();
}

// To code that does not know the memory, and so cannot know that it was freed.
void World::hand_out(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from) return;
  if (!from->is_alive()) {
    cai_use use;
    must("use", CAI_ERR_STATE, [&](cai_error *error) {
      return cai_use_begin(&use, &from->handle, 1, 1, nullptr, error);
    });
  }
  cai_status expected = from->read_only || from->mask_count ? CAI_ERR_EXPORT : CAI_OK;
  if (!from->is_alive()) expected = CAI_ERR_STATE;
  std::int64_t strides = 0;
  DLTensor tensor;
  must("lend", expected,
       [&](cai_error *error) { return cai_dlpack_lend(from->handle, &strides, &tensor, error); });
}

// The host may wait for whatever it still has an array of, gone or not.
void World::await(const Step &step) {
  const Array *const from = array(step[1]);
  if (!from) return;
  must("await", CAI_OK, [&](cai_error *error) {
    return step[2] % 2 ? cai_array_eval(from->handle, error)
                       : cai_array_sync_host(from->handle, error);
  });
}

void World::set_stream(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  const cai_device device = step[2] % 8 ? found->device : this->device(step[2] / 8);
  cai_status expected = CAI_OK;
  if (!are_same(device, found->device)) expected = CAI_ERR_DEVICE;
  if (found->whole) expected = CAI_ERR_UNSUPPORTED;
  if (!found->is_alive()) expected = CAI_ERR_STATE;
  const Stream on = stream_or_dead(device, step[3]);
  if (on.is_dead && expected == CAI_OK) expected = CAI_ERR_STATE;
  must("set_stream", expected,
       [&](cai_error *error) { return cai_memory_set_stream(found->handle, on.handle, error); });
}

void World::record(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  const Stream on = stream_or_dead(device(step[2]), step[3]);
  const cai_status expected = found->is_alive() && !on.is_dead ? CAI_OK : CAI_ERR_STATE;
  must("record", expected,
       [&](cai_error *error) { return cai_memory_record(found->handle, on.handle, error); });
}

}  // namespace lives
