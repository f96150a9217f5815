// SPDX-License-Identifier: BSD-3-Clause
// Who holds memory and arrays, and how they end.
#include "../wide/driver.hpp"
#include "must.h"
#include "world.hpp"

namespace lives {

void World::retain(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  cai_memory_retain(found->handle);
  ++found->holders;
  ++found->ours;
}

// Calls `body`; now and then in a function on a GPU stream, as a garbage collection may come there.
void World::anywhere(const Step &step, const std::function<void()> &body) {
  if (step[3] % 4 != 1 || captured_) return body();
  cai_stream *const stream = this->stream(gpu(step[3] / 4), step[4]);
  const cai_work_fn call = [](void *it, cai_error *) {
    is_in_function = true;
    (*static_cast<const std::function<void()> *>(it))();
    is_in_function = false;
    return cai_status{CAI_OK};
  };
  void *const context = const_cast<std::function<void()> *>(&body);
  must("enqueue", CAI_OK,
       [&](cai_error *error) { return cai_stream_enqueue(stream, call, nullptr, context, error); });
  MUST(cai_stream_synchronize(stream, nullptr));
  has_put_off_ = true;
}

// What was released in a function on a stream, or while the driver hides behind a capture what is
// pending on stream 1, is handed back to its array by a later call.
void World::hand_back() {
  hands_back_later_ |= captured_ != nullptr;
  MUST(cai_drain(0, nullptr, nullptr));
}

void World::release(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  if (--found->ours == 0) std::erase(memories_, found);
  anywhere(step, [&] { cai_memory_release(found->handle); });
  if (found->owner) hand_back();
  let_go(*found);
}

void World::free(const Step &step) {
  const Shared found = memory(step[1]);
  if (!found) return;
  // Of imports of what is not found by its address nothing is known.
  if (found->root().was_imported && !found->root().is_found) sync_cpu();
  cai_status expected = CAI_OK;
  if (found->freed && !found->freed_by_reset) expected = CAI_ERR_STATE;
  if (found->whole) expected = CAI_ERR_UNSUPPORTED;
  // It may be freed later; then the failure is reported.
  const bool is_lost = expected == CAI_OK && found->judge && found->judge->loses();
  const auto free_it = [&](cai_error *error) {
    const cai_status status = cai_memory_free(found->handle, error);
    return is_lost && status == CAI_ERR_CUDA ? cai_status{CAI_OK} : status;
  };
  if (!must("free", expected, free_it)) return;
  if (std::exchange(found->freed_by_reset, false)) return;
  found->freed = true;
  count(*found, -1);
}

void World::end_array(const Step &step) {
  const auto which = arrays_.begin() + static_cast<std::ptrdiff_t>(step[1] % arrays_.size());
  const Array gone = *which;
  const bool ends_later = gone.is_import && gone.is_of_two();  // once a GPU has used it
  if (ends_later) end_capture();
  arrays_.erase(which);
  anywhere(step, [&] { cai_array_release(gone.handle); });
  if (gone.memory && gone.memory->owner) hand_back();
  if (ends_later) finish_gpus(), MUST(cai_drain(0, nullptr, nullptr));
  if (gone.memory) let_go(*gone.memory);
}

void World::drop(const Step &step) {
  if (!arrays_.empty()) end_array(step);
}

void World::defer(const Step &step) {
  const std::int32_t begins = step[1] % 2;
  const cai_device gpu = this->gpu(step[2]);
  unsigned &deferred = deferred_[gpu.id];
  const bool done = must("defer", begins || deferred ? CAI_OK : CAI_ERR_STATE,
                         [&](cai_error *error) { return cai_pending_defer(gpu, begins, error); });
  if (done) begins ? ++deferred : --deferred;
}

void World::flush(const Step &step) {
  const cai_device gpu = this->gpu(step[1]);
  sync_cpu();  // whose frees come from their threads
  must("flush", CAI_OK, [&](cai_error *error) { return flush_all(gpu, error); });
  if (deferred_[gpu.id] == 0 && usage_of(gpu).pending_count)
    blame("frees are pending after a flush");
}

void World::trim(const Step &step) {
  const Manager &manager = managers_[step[1] % managers_.size()];
  must("trim", CAI_OK,
       [&](cai_error *error) { return cai_manager_trim(manager.handle, 0, error); });
}

// Not managers that reject: libcai's own allocations could fail.
void World::install(const Step &step) {
  const Manager &manager = managers_[step[1] % managers_.size()];
  const bool is_none = step[2] % 3 == 0 || is_cpu(manager.device) || manager.limits ||
                       manager.counts || manager.fails();
  const cai_device gpu = is_none ? this->gpu(step[3]) : manager.device;
  must("install", CAI_OK, [&](cai_error *error) {
    return cai_manager_install(gpu, is_none ? nullptr : manager.handle, error);
  });
  installed_[gpu.id] = is_none ? nullptr : manager.handle;
}

void World::reset(const Step &step) {
  const bool of_context = step[1] % 2;
  const cai_device gpu = this->gpu(step[2]);
  // It does not wait for another GPU's work on what is destroyed.
  for (unsigned i = 0; i < count_of_gpus_ && of_context; ++i) {
    if (!are_same(gpus[i], gpu)) MUST(cai_device_synchronize(gpus[i], nullptr));
  }
  must("reset", CAI_OK, [&](cai_error *error) {
    return cai_device_reset(gpu, of_context ? CAI_RESET_CONTEXT : 0, error);
  });
  // But what comes from the threads of CPU streams.
  if (of_context && usage_of(gpu).pending_count) blame("frees are pending after a reset");
  if (!of_context) return;
  may_fail_ = true;  // what was for its streams
  free_pools(gpu);
  ++Judge::now[gpu.id];
  counts_allocations_ = count_of_gpus_ == 1;  // of two GPUs, nobody knows which are left
  allocations_ = wide::cu().simcuda_objects("CUdeviceptr");
  end_gpu(gpu);
  make_gpu(gpu);
}

// The roots of memory and arrays.
void World::free_pools(cai_device gpu) {
  const auto free_it = [&](Memory &memory) {
    if (!memory.is_of_pool || memory.home != gpu.id || !memory.is_alive()) return;
    memory.freed = memory.freed_by_reset = true;
    count(memory, -1);
  };
  for (const Shared &each : memories_) free_it(each->whole ? *each->whole : *each);
  for (const Array &each : arrays_) {
    if (each.memory) free_it(*each.memory);
  }
}

// Which GPU pins memory of the CPU.

}  // namespace lives
