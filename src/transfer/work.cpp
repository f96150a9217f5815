// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/work.hpp"

#include <algorithm>

#include "core/overlap.hpp"
#include "device/cpu_stream.hpp"
#include "device/primary.hpp"
#include "driver/pointer.hpp"
#include "order/open_use.hpp"
#include "order/producers.hpp"
#include "order/waiting.hpp"

namespace cai::transfer {

void require_workable(const cai_array *array, const char *name) {
  if (!array) throw Failure(CAI_ERR_ARGUMENT, {}, "%s is NULL", name);
  order::require_valid(array, -1);
  if (array->dtype.kind == 't') {
    throw Failure(CAI_ERR_UNSUPPORTED, {CAI_ENTRY_TYPESTR}, "%s is of bits", name);
  }
  memory::require_not_freed(*array);
}

void require_writable(const cai_array &array, const char *name) {
  if (array.flags & CAI_FLAG_READONLY) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_DATA}, "%s is read-only", name);
  }
  if (overlaps_itself(array)) {
    throw Failure(CAI_ERR_LAYOUT, {CAI_ENTRY_STRIDES}, "elements of %s overlap", name);
  }
}

void require_not_capturing(cai_stream &stream, const char *why) {
  driver::Session session;
  order::Stream probed = device::gpu_stream(stream).stream();
  order::require_not_capturing(session, probed, why);
  session.finish();
}

cai_device device_of(const cai_array &array) {
  if (is_of_host(array)) return device::cpu;
  if (array.device_id >= 0) return {CAI_DEVICE_CUDA, array.device_id};
  cai_location where{};
  where.struct_size = sizeof where;
  cai_error error;
  if (cai_array_locate(&array, &where, &error) != CAI_OK) throw Failure(error);
  return {CAI_DEVICE_CUDA, where.device_id};
}

bool serves(const cai_stream &stream, const cai_array &array, cai_device its_device) noexcept {
  if (device::is_cpu(stream.device)) return is_for_host(array);
  const cai_memory *const memory = memory::memory_under(array);
  return device::same(stream.device, its_device) ||
         (memory && device::same(stream.device, memory->facts.device));
}

Claims::Claims(const Use *uses, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (cai_memory *const memory = memory::memory_under(*uses[i].array))
      all_[i].emplace(memory::require_live(memory));
  }
}

HostWork::~HostWork() {
  for (cai_memory *const memory : memories_) memory::end_claim(*memory);
  for (cai_owner *const owner : owners_) owner->release(owner);
  for (const int32_t gpu : contexts_) device::end_host_work(gpu);
}

void HostWork::hold(const cai_array &array) {
  if (cai_memory *const memory = memory::memory_under(array)) {
    memory::claim(memory::require_live(memory));
    hold_claimed(*memory);
  } else {
    hold_memory_at(array);
  }
  if (array.mask) hold_memory_at(*array.mask);
  cai_array_retain(&array);
  owners_.add(array.owner);
}

namespace {

// The GPU whose context the host's memory ends with, by what the driver says; -1: none.
int32_t gpu_that_has_pinned(const cai_array &array) noexcept {
  if (is_of_host(array) && !driver::is_loaded()) return -1;
  driver::Pointer found;
  const cai_status status =
      guard(nullptr, [&] { found = driver::ask_without_context(driver::get(), array.data); });
  return status == CAI_OK && found.known() ? found.ordinal : -1;
}

}  // namespace

// An import is of the memory at its address, and so is a mask.
void HostWork::hold_memory_at(const cai_array &part) {
  if (cai_memory *const memory = memory::claim_at(part.data)) {
    hold_claimed(*memory);
  } else if (const int32_t gpu = gpu_that_has_pinned(part); gpu >= 0) {
    hold_context(gpu);
  }
}

// A claim may end before the last reference to the memory does.
void HostWork::hold_claimed(cai_memory &memory) {
  memories_.add(&memory);
  if (memory.epoch) hold_context(memory.epoch_gpu);
}

void HostWork::hold_context(int32_t gpu) {
  device::begin_host_work(gpu);
  contexts_.add(gpu);
}

namespace {

bool is_write(const Use &use) noexcept {
  return use.access == CAI_ACCESS_WRITE;
}

// The stream comes after what is pending on the array. The host waits for a GPU's work.
void follow_uses(device::CpuStream &stream, const Use &use) {
  order::HostPoints points;
  order::add_host_work(*use.array, is_write(use), points);
  for (const order::HostPoint &point : points) stream.wait(point);
  if (!is_of_host(*use.array)) order::sync_host(*use.array);
}

void keep_use(const order::HostPoint &point, const Use &use) noexcept {
  const cai_status status =
      guard(nullptr, [&] { order::keep_host_work(*use.array, point, is_write(use)); });
  if (status != CAI_OK) guard(nullptr, [&] { point.queue->wait_for(point.number); });
}

}  // namespace

void work_on_host(cai_stream &stream, std::unique_ptr<HostWork> work, const Use *uses,
                  int32_t count) {
  const Claims claims(uses, count);
  stream.require_alive();
  stream.raise_failure();
  device::CpuStream &queue = device::cpu_stream(stream);
  std::for_each(uses, uses + count, [&](const Use &use) { follow_uses(queue, use); });
  if (queue.is_at_once()) return work->run();
  const bool can_be_kept = std::all_of(uses, uses + count, [](const Use &use) {
    return order::keeps_here(host_keeper_of(use.array->owner));
  });
  if (!can_be_kept) {
    cai_error error;
    if (cai_stream_synchronize(&stream, &error) != CAI_OK) throw Failure(error);
    return work->run();
  }
  std::for_each(uses, uses + count, [&](const Use &use) { work->hold(*use.array); });
  const auto run = [](void *context, cai_error *) {
    static_cast<HostWork *>(context)->run();
    return cai_status{CAI_OK};
  };
  const auto done = [](void *context) { delete static_cast<HostWork *>(context); };
  const order::HostPoint point = queue.push(run, done, work.get());
  static_cast<void>(work.release());
  std::for_each(uses, uses + count, [&](const Use &use) { keep_use(point, use); });
}

GpuWork::GpuWork(cai_stream &stream, const Use *uses, int32_t count)
    : claims_(uses, count),
      stream_(device::gpu_stream(stream).stream()),
      uses_(uses),
      count_(count) {
  waits_ = std::any_of(uses, uses + count, [](const Use &use) { return is_of_host(*use.array); });
  if (!waits_) return;
  order::require_not_capturing(session_, stream_,
                               "for an array in its own memory the host must wait");
}

void GpuWork::begin() {
  const cai_array *arrays[most_used];
  uint32_t accesses[most_used];
  for (int32_t i = 0; i < count_; ++i) {
    arrays[i] = uses_[i].array;
    accesses[i] = uses_[i].access;
  }
  const cai_use_options options{sizeof options, CAI_ORDER_BOTH, CAI_ACCESS_DEFAULT, 0, accesses};
  cai_error error;
  if (order::begin_use(&use_, arrays, count_, stream_.value, options, &error) != CAI_OK) {
    throw Failure(error);
  }
}

// Work that was queued in part before a failure uses the arrays, too.
void GpuWork::end(cai_status status) {
  cai_error error;
  const cai_status ended = cai_use_end(&use_, &error);
  if (ended != CAI_OK) cai_use_abandon(&use_);
  if (status == CAI_OK && ended != CAI_OK) {
    status = ended;
    problem_ = error;
  }
  if (waits_) session_.faults.attempt(session_.cu.cuStreamSynchronize, stream_.handle());
  if (status == CAI_OK) return;
  // A use of the stream's own arrays does not ask whether the stream is in a capture.
  if (problem_.native == driver::error_capture_invalidated) {
    driver::fail_invalidated(stream_.value, problem_.native);
  }
  throw Failure(problem_);
}

}  // namespace cai::transfer
