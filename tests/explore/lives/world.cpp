// SPDX-License-Identifier: BSD-3-Clause
#include "world.hpp"

#include <algorithm>

#include "../wide/driver.hpp"
#include "must.h"

namespace lives {

cai_usage usage_of(cai_device device) {
  cai_usage usage{};
  usage.struct_size = sizeof usage;
  MUST(cai_memory_usage(device, &usage, nullptr));
  return usage;
}

cai_memory_info info_of(const cai_memory *memory) {
  cai_memory_info info{};
  info.struct_size = sizeof info;
  MUST(cai_memory_describe(memory, &info, nullptr));
  return info;
}

void Owner::end(void *self) {
  const Pause pause = on_entry();
  Owner &owner = *static_cast<Owner *>(self);
  ++owner.ended;
  owner.take_bytes();
}

void Owner::take_bytes() {
  // Once: a thread that looks at what was lost must not meet the end on another thread.
  if (!lost) std::fill(bytes.begin(), bytes.end(), poison);
  const wide::Address gone = std::exchange(data, 0);
  if (!gone || is_dead() || getpid() != process) return;
  int mode = wide::kRelaxed;
  MUST(wide::cu().cuThreadExchangeStreamCaptureMode(&mode));
  in_primary(home, [&] {
    const int result = host ? wide::cu().cuMemFreeHost(host) : wide::cu().cuMemFree_v2(gone);
    if (result) blame("an owner's memory cannot be freed");
  });
  MUST(wide::cu().cuThreadExchangeStreamCaptureMode(&mode));
}

World *World::only = nullptr;

World::World(unsigned count_of_gpus) : count_of_gpus_(count_of_gpus) {
  only = this;
  MUST(cai_on_failure(hear, nullptr, nullptr));
  // A call of the driver's may wait for a function on a stream, which must not wait for it. Nothing
  // fails there.
  on_entry = [] { return is_in_function ? Pause() : only->fault_.pause(); };
  races_ = wide::cu().simcuda_races();
  findings_ = wide::cu().simcuda_findings();
  allocations_ = wide::cu().simcuda_objects("CUdeviceptr");
  pools_ = wide::cu().simcuda_objects("CUmemoryPool");
  for (unsigned i = 0; i <= count_of_gpus_; ++i) {
    const cai_usage usage = usage_of(i ? gpus[i - 1] : cpu);
    sums_[i] = {usage.bytes, usage.count};
  }
  for (const std::uint32_t mode : {CAI_MODE_ASYNC, CAI_MODE_ASYNC, CAI_MODE_SYNC}) {
    cai_stream *made = nullptr;
    MUST(cai_stream_create(cpu, mode, 0, &made, nullptr));
    streams_.push_back({made, cpu, mode});
  }
  for (const Way way : {Way::plain, Way::caching, Way::reentrant}) {
    add_manager(cpu, way);
  }
  for (unsigned i = 0; i < count_of_gpus_; ++i) make_gpu(gpus[i]);
  if (has_bystander) bystander_ = std::make_unique<Bystander>();
}

void World::make_gpu(cai_device gpu) {
  for (const std::uint32_t mode : {CAI_MODE_ASYNC, CAI_MODE_ASYNC, CAI_MODE_SYNC}) {
    cai_stream *made = nullptr;
    MUST(cai_stream_create(gpu, mode, 0, &made, nullptr));
    streams_.push_back({made, gpu, mode});
  }
  for (const Way way : {Way::plain, Way::caching, Way::reentrant, Way::failing, Way::driver}) {
    add_manager(gpu, way);
  }
  add_manager(gpu, Way::plain, "async").is_ordered = true;
  // Each built-in wrapper, around a test's own manager and a built-in one.
  static constexpr auto write = [](void *, const char *, std::uint64_t) {};
  static constexpr auto retry = [](void *, std::uint64_t, std::uint64_t) { return 0; };
  static const cai_log_params log{sizeof log, 0, nullptr, write, nullptr, nullptr, nullptr};
  static const cai_retry_params retrying{sizeof retrying, 0, retry, nullptr, nullptr};
  static const cai_limit_params limiting{sizeof limiting, 0, limit};
  put_around(add_manager(gpu, Way::plain), "limiting", &limiting);
  put_around(add_manager(gpu, Way::driver), "tracking");
  Manager &counted = add_manager(gpu, Way::plain, "pool");
  put_around(counted, "logging", &log), put_around(counted, "statistics");
  counted.is_ordered = true;
  Manager &retried = add_manager(gpu, Way::driver);
  put_around(retried, "limiting", &limiting), put_around(retried, "retrying", &retrying);
  put_around(retried, "tracking");
  put_around(add_manager(gpu, Way::losing), "tracking");
  put_around(add_manager(gpu, Way::losing), "statistics");
  put_around(add_built_in(gpu, "async"), "tracking");
  Manager &all = add_built_in(gpu, "pool");
  put_around(all, "statistics"), put_around(all, "tracking"), put_around(all, "logging", &log);
  put_around(add_built_in(gpu, "async"), "limiting", &limiting);
}

Manager &World::add_manager(cai_device device, Way way, const char *upstream) {
  judges_.push_back(
      std::make_unique<Judge>(device, way, is_cpu(device) ? 0 : Judge::now[device.id], upstream));
  managers_.push_back({judges_.back().get(), judges_.back()->make(), device});
  managers_.back().is_ordered = way == Way::driver;
  return managers_.back();
}

// In the order of streams.
Manager &World::add_built_in(cai_device gpu, const char *name) {
  cai_manager *made = nullptr;
  MUST(cai_manager_create(name, nullptr, gpu, nullptr, &made, nullptr));
  managers_.push_back({nullptr, made, gpu, true});
  return managers_.back();
}

void World::put_around(Manager &manager, const char *name, const void *params) {
  cai_manager *const upstream = manager.handle;
  MUST(cai_manager_create(name, params, manager.device, upstream, &manager.handle, nullptr));
  cai_manager_release(upstream);
  const std::string is = name;
  manager.limits |= is == "limiting";
  manager.tracks |= is == "tracking";
  manager.counts |= is == "limiting" || is == "tracking" || is == "statistics";
}

// Failures that no call returned: none, unless something fails.
void World::hear(void *, const cai_error *error) {
  if (!only->may_fail_) blame(std::string("it is reported that ") + error->message);
}

void World::end_gpu(cai_device gpu) {
  std::erase_if(streams_, [&](const Stream &stream) {
    const bool goes = are_same(stream.device, gpu);
    if (goes) ended_.push_back({stream.handle, stream.device, stream.mode, true});
    return goes;
  });
  std::erase_if(managers_, [&](const Manager &manager) {
    const bool goes = are_same(manager.device, gpu);
    if (goes) cai_manager_release(manager.handle);
    return goes;
  });
  installed_[gpu.id] = nullptr;
}

void World::end_capture() {
  if (!captured_) return;
  wide::Handle graph = nullptr;
  const auto stream = static_cast<std::uintptr_t>(cai_stream_value(captured_));
  const int result = wide::cu().cuStreamEndCapture(reinterpret_cast<wide::Handle>(stream), &graph);
  if (result != 0) blame("a capture has come to harm: " + std::to_string(result));
  if (graph) MUST(wide::cu().cuGraphDestroy(graph));
  captured_ = nullptr;
  if (std::exchange(hands_back_later_, false)) hand_back();
}

// None: the legacy stream, which a capture of a blocking stream is one of.
bool World::is_captured(const cai_stream *stream, cai_device device) const {
  if (!captured_) return false;
  if (stream) return stream == captured_;
  return std::any_of(streams_.begin(), streams_.end(), [&](const Stream &each) {
    return each.handle == captured_ && each.mode == CAI_MODE_SYNC && are_same(each.device, device);
  });
}

static cai_statistics counts_of(const Manager &manager) {
  cai_statistics counts{};
  counts.struct_size = sizeof counts;
  MUST(cai_manager_statistics(manager.handle, &counts, nullptr));
  return counts;
}

// Bytes, once all that can be freed is.
std::uint64_t World::out_of(const Manager &manager) {
  sync_cpu();  // it may have a claim
  if (has_put_off_) cai_pending_flush(manager.device, nullptr);
  return manager.judge ? manager.judge->out() : counts_of(manager).bytes;
}

// Which memory counts for which device, as the header says.
void World::count(const Memory &memory, int sign) {
  if (!memory.is_counted) return;
  const auto add = [&](Sum &sum) {
    sum.bytes += sign > 0 ? memory.size : -memory.size;
    sum.count += static_cast<std::uint64_t>(sign);
  };
  if (!is_cpu(memory.device)) add(sums_[1 + memory.device.id]);
  if (cai_is_dereferenceable(memory.device, memory.kind)) add(sums_[0]);
}

void World::add(cai_memory *handle, Memory made) {
  made.handle = handle;
  memories_.push_back(std::make_shared<Memory>(std::move(made)));
  count(*memories_.back(), 1);
  if (bystander_) bystander_->show(info_of(handle).data);
}

Owner &World::new_owner(unsigned size, unsigned value) {
  owners_.push_back(std::make_unique<Owner>());
  owners_.back()->bytes.assign(size, static_cast<unsigned char>(value));
  return *owners_.back();
}

Owner &World::new_owner_on(cai_device gpu, unsigned size, unsigned value) {
  Owner &owner = new_owner(0, 0);
  owner.home = gpu.id;
  in_primary(gpu.id, [&] {
    MUST(wide::cu().cuMemAlloc_v2(&owner.data, size));
    MUST(wide::cu().cuMemsetD8Async(owner.data, static_cast<unsigned char>(value), size, nullptr));
    MUST(wide::cu().cuStreamSynchronize(nullptr));
  });
  owner.epoch = Judge::now[gpu.id];
  return owner;
}

void World::let_go(Memory &memory) {
  if (--memory.holders != 0) return;
  if (memory.whole) return let_go(*memory.whole);
  if (memory.freed) return;
  memory.freed = true;
  count(memory, -1);
}

void World::sync_cpu() {
  for (const Stream &stream : streams_) {
    if (is_cpu(stream.device)) MUST(cai_stream_synchronize(stream.handle, nullptr));
  }
}

void World::check_counts(const Manager &manager) {
  std::vector<cai_allocation> tracked;
  const auto are_right = [&] {
    const cai_statistics counts = counts_of(manager);
    if (manager.judge && !manager.judge->has_out(counts)) return false;
    if (!manager.tracks) return true;
    tracked.clear();
    MUST(cai_manager_outstanding(
        manager.handle,
        [](void *context, const cai_allocation *each) {
          static_cast<std::vector<cai_allocation> *>(context)->push_back(*each);
        },
        &tracked, nullptr));
    return manager.judge ? manager.judge->has_out(tracked) : tracked.size() == counts.count;
  };
  if (are_right()) return;
  sync_cpu();
  if (!are_right()) blame(std::string(cai_manager_name(manager.handle)) + " miscounts what is out");
}

void World::check_works() {
  std::erase_if(works_, [&](const std::unique_ptr<Work> &work) {
    if (!work->is_done) return false;
    if (!work->is_right(may_fail_)) {
      blame("work on a stream of the CPU finds " + std::to_string(work->found) + ", not " +
            std::to_string(work->value) + ", and says " + cai_status_name(work->status));
    }
    return true;
  });
}

void World::check() {
  check_works();
  for (const Manager &manager : managers_) {
    if (manager.counts) check_counts(manager);
  }
  for (unsigned i = 0; i <= count_of_gpus_; ++i) {
    const cai_device device = i ? gpus[i - 1] : cpu;
    const auto is_right = [&](const cai_usage &usage) {
      return usage.bytes == sums_[i].bytes && usage.count == sums_[i].count;
    };
    if (is_right(usage_of(device))) continue;
    sync_cpu();                            // whose work holds what it works on
    MUST(cai_drain(0, nullptr, nullptr));  // as imports may that a GPU may use
    const cai_usage usage = usage_of(device);
    if (is_right(usage)) continue;
    blame("usage of " + (i ? "GPU " + std::to_string(i - 1) : "the CPU") + " is " +
          std::to_string(usage.bytes) + " in " + std::to_string(usage.count) + ", not " +
          std::to_string(sums_[i].bytes) + " in " + std::to_string(sums_[i].count));
  }
  for (unsigned i = 0; i < count_of_gpus_; ++i) {
    if (usage_of(gpus[i]).deferred != deferred_[i]) blame("the deferrals are miscounted");
  }
  for (const Shared &each : memories_) {
    const cai_memory_info info = info_of(each->handle);
    const auto differs = [&](std::uint32_t flag, bool is) { return is != bool(info.flags & flag); };
    if (differs(CAI_MEMORY_FREED, !each->is_alive()) ||
        differs(CAI_MEMORY_READONLY, each->read_only) ||
        differs(CAI_MEMORY_FOREIGN, each->root().is_foreign) ||
        differs(CAI_MEMORY_VIEW, bool(each->whole)) || info.size != each->size) {
      blame("memory says flags " + std::to_string(info.flags) + " and size " +
            std::to_string(info.size));
    }
  }
  for (const auto &owner : owners_) {
    if (owner->lost && !owner->is_untouched()) blame("memory is written that is lost");
  }
  if (wide::cu().simcuda_races() != races_) blame("something races");
  if (wide::cu().simcuda_findings() != findings_) blame("a destroyed stream or event is used");
}

cai_status World::flush_all(cai_device gpu, cai_error *error) const {
  const cai_status status = cai_pending_flush(gpu, error);
  const bool loses =
      std::any_of(judges_.begin(), judges_.end(), [](const auto &judge) { return judge->loses(); });
  return status == CAI_ERR_CUDA && loses ? cai_status{CAI_OK} : status;
}

// The whole is what was written last, masks included.
void World::check_bytes() {
  for (const Shared &each : memories_) {
    if (!each->is_alive() || each->size == 0) continue;
    use_alone(each->lent.get(), each->opening);
    const auto extent = static_cast<std::int64_t>(each->size);
    cai_array *all = nullptr;
    MUST(cai_memory_array(each->handle, 0, &byte_type, 1, &extent, nullptr, &all, nullptr));
    check_bytes(all, *each->bytes, each->start);
    cai_array_release(all);
  }
  for (const Array &each : arrays_) {
    if (each.is_barred() || !each.is_alive() || each.mask_count) continue;
    use_alone(each);
    check_bytes(each.handle, *each.bytes, each.start);
  }
}

void World::check_bytes(const cai_array *array, const Bytes &bytes, std::uint64_t start) {
  std::vector<unsigned char> found(static_cast<std::size_t>(array->shape[0]));
  const cai_array to = bytes_on_host(*array, found.data());
  must("compare", CAI_OK,
       [&](cai_error *error) { return cai_array_copy(array, &to, nullptr, error); });
  for (std::size_t i = 0; i < found.size(); ++i) {
    const int expected = bytes[start + i];
    if (expected == unknown || expected == found[i]) continue;
    return blame("byte " + std::to_string(i) + " of " + std::to_string(found.size()) + " is " +
                 std::to_string(found[i]) + ", not " + std::to_string(expected));
  }
}

void World::close() {
  bystander_.reset();
  end_capture();
  fault_.forget();
  check_bytes();
  while (!arrays_.empty()) end_array({});
  while (!memories_.empty()) release({});
  check();
  for (unsigned i = 0; i < count_of_gpus_; ++i) {
    for (; deferred_[i] > 0; --deferred_[i]) MUST(cai_pending_defer(gpus[i], 0, nullptr));
    MUST(cai_manager_install(gpus[i], nullptr, nullptr));
  }
  const auto flush = [&] {
    for (unsigned i = 0; i < count_of_gpus_; ++i) MUST(flush_all(gpus[i], nullptr));
  };
  for (int i = 0; i < 2; ++i) {
    MUST(cai_drain(1, nullptr, nullptr));
    sync_cpu();
    flush();
  }
  check();
  if (!works_.empty()) blame("work on a stream of the CPU is left");
  for (unsigned i = 0; i < count_of_gpus_; ++i) {
    if (usage_of(gpus[i]).pending_count) blame("frees are left pending");
  }
  for (const auto &judge : judges_) {
    judge->look_at_what_came_back();
    if (judge->is_alive() && judge->out() && !judge->loses()) {
      blame("memory has not come back to its manager");
    }
    if (judge->is_alive() && judge->has_open()) blame("opened memory is not closed");
  }
  for (const Manager &manager : managers_) {
    if (manager.counts && !manager.loses() && counts_of(manager).count) blame("memory is lost");
  }
  for (const Manager &manager : managers_) cai_manager_release(manager.handle);
  for (const Stream &stream : streams_) cai_stream_release(stream.handle);
  for (const Stream &stream : ended_) cai_stream_release(stream.handle);
  MUST(cai_drain(1, nullptr, nullptr));
  flush();
  for (const auto &judge : judges_) {
    if (judge->made != judge->destroyed) blame("a manager has not ended, or twice");
  }
  const std::uint64_t left = wide::cu().simcuda_objects("CUdeviceptr") - allocations_;
  if (left && counts_allocations_)
    blame(std::to_string(left) + " of the driver's allocations are left");
  // No reset ends them, nor what other processes have in theirs.
  if (wide::cu().simcuda_objects("CUmemoryPool") != pools_) blame("a pool is left");
  for (const auto &owner : owners_) {
    if (owner->ended != 1) blame("an owner has ended " + std::to_string(owner->ended) + " times");
    if (!owner->is_untouched()) blame("an owner's memory is used after its end");
  }
  if (wide::cu().simcuda_races() != races_) blame("something races");
  if (wide::cu().simcuda_findings() != findings_) blame("a destroyed stream or event is used");
  MUST(wide::cu().cuCtxSetCurrent(nullptr));
  forget_peer();
}

}  // namespace lives
