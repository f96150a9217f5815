// SPDX-License-Identifier: BSD-3-Clause
#include "memory/work.hpp"

#include <algorithm>

#include "order/producers.hpp"
#include "order/waiting.hpp"

namespace cai::memory {

void judge_work(const cai_array *array, const char *name) {
  if (!array) throw Failure(CAI_ERR_ARGUMENT, {}, "%s is NULL", name);
  order::judge(array, -1);
  if (array->mask) {
    throw Failure(CAI_ERR_UNSUPPORTED, {CAI_ENTRY_MASK}, "%s has a mask", name);
  }
  if (array->dtype.kind == 't') {
    throw Failure(CAI_ERR_UNSUPPORTED, {CAI_ENTRY_TYPESTR}, "%s is of bits", name);
  }
  if (array->device_type == CAI_DEVICE_ROCM) {
    throw Failure(CAI_ERR_DEVICE, {}, "%s is on a device of ROCm's", name);
  }
}

void judge_written(const cai_array &array, const char *name) {
  if (array.flags & CAI_FLAG_READONLY) {
    throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_DATA}, "%s is read-only", name);
  }
  if (overlaps_itself(array)) {
    throw Failure(CAI_ERR_LAYOUT, {CAI_ENTRY_STRIDES}, "elements of %s overlap", name);
  }
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

HostWork::~HostWork() {
  for (cai_owner *const owner : held_) {
    if (owner) owner->release(owner);
  }
}

void HostWork::hold(const cai_array &array) noexcept {
  cai_array_retain(&array);
  held_[held_[0] ? 1 : 0] = array.owner;
}

void work_on_host(cai_stream &stream, std::unique_ptr<HostWork> work, bool can_be_held) {
  stream.check_alive();
  if (stream.mode != CAI_MODE_ASYNC) return work->run();
  cai_error error;
  if (!can_be_held) {
    if (cai_stream_synchronize(&stream, &error) != CAI_OK) throw Failure(error);
    return work->run();
  }
  const auto run = [](void *context, cai_error *) {
    static_cast<HostWork *>(context)->run();
    return cai_status{CAI_OK};
  };
  const auto done = [](void *context) { delete static_cast<HostWork *>(context); };
  if (cai_stream_enqueue(&stream, run, done, work.get(), &error) != CAI_OK) throw Failure(error);
  static_cast<void>(work.release());
}

GpuWork::GpuWork(cai_stream &stream, const Use *uses, int32_t count)
    : stream_(device::gpu_stream(stream).stream()), uses_(uses), count_(count) {
  waits_ = std::any_of(uses, uses + count, [](const Use &use) { return is_of_host(*use.array); });
  if (!waits_) return;
  order::refuse_capturing(session_, stream_, "has the host's memory, for which the host must wait");
}

void GpuWork::begin() {
  for (int32_t i = 0; i < count_; ++i) {
    const cai_use_options options{sizeof options, CAI_ORDER_BOTH, uses_[i].access, 0};
    cai_error error;
    if (cai_arrays_begin_use(&uses_[i].array, 1, stream_.value, &options, &error) != CAI_OK) {
      throw Failure(error);
    }
  }
}

// What was queued in part before a failure is in use as well.
void GpuWork::end(cai_status status) {
  for (int32_t i = 0; i < count_; ++i) {
    const cai_use_options options{sizeof options, CAI_ORDER_BOTH, uses_[i].access, 0};
    cai_error error;
    const cai_status ended =
        cai_arrays_end_use(&uses_[i].array, 1, stream_.value, &options, &error);
    if (status == CAI_OK && ended != CAI_OK) {
      status = ended;
      problem_ = error;
    }
  }
  if (waits_) session_.faults.attempt(session_.cu.cuStreamSynchronize, stream_.handle());
  if (status != CAI_OK) throw Failure(problem_);
}

}  // namespace cai::memory
