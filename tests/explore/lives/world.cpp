// SPDX-License-Identifier: BSD-3-Clause
#include "world.hpp"

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

World *World::only = nullptr;

World::World() {
  only = this;
  on_entry = [] { only->fault_.disarm(); };
  races_ = wide::cu().simcuda_races();
  for (int i = 0; i < 2; ++i) {
    const cai_usage usage = usage_of(i ? gpu : cpu);
    sums_[i] = {usage.bytes, usage.count};
  }
  for (const std::uint32_t mode : {CAI_MODE_ASYNC, CAI_MODE_ASYNC, CAI_MODE_SYNC}) {
    cai_stream *made = nullptr;
    MUST(cai_stream_create(cpu, mode, 0, &made, nullptr));
    streams_.push_back({made, cpu});
  }
  for (const Way way : {Way::plain, Way::caching, Way::reentrant}) {
    judges_.push_back(std::make_unique<Judge>(cpu, way, 0));
    managers_.push_back({judges_.back().get(), judges_.back()->make(), cpu, false});
  }
  make_gpu();
}

void World::make_gpu() {
  for (const std::uint32_t mode : {CAI_MODE_ASYNC, CAI_MODE_ASYNC, CAI_MODE_SYNC}) {
    cai_stream *made = nullptr;
    MUST(cai_stream_create(gpu, mode, 0, &made, nullptr));
    streams_.push_back({made, gpu});
  }
  for (const Way way : {Way::plain, Way::caching, Way::reentrant, Way::failing, Way::plain}) {
    judges_.push_back(std::make_unique<Judge>(gpu, way, Judge::now));
    managers_.push_back({judges_.back().get(), judges_.back()->make(), gpu, false});
  }
  Manager &last = managers_.back();
  cai_manager *const upstream = last.handle;
  const cai_limit_params params{sizeof params, 0, limit};
  MUST(cai_manager_create("limiting", &params, gpu, upstream, &last.handle, nullptr));
  cai_manager_release(upstream);
  last.limits = true;
}

void World::end_gpu() {
  for (const Stream &stream : streams_) {
    if (!is_cpu(stream.device)) cai_stream_release(stream.handle);
  }
  for (const Manager &manager : managers_) {
    if (!is_cpu(manager.device)) cai_manager_release(manager.handle);
  }
  std::erase_if(streams_, [](const Stream &stream) { return !is_cpu(stream.device); });
  std::erase_if(managers_, [](const Manager &manager) { return !is_cpu(manager.device); });
}

// What is counted where, as the header says it.
void World::count(const Memory &memory, int sign) {
  if (!memory.is_counted) return;
  const auto add = [&](Sum &sum) {
    sum.bytes += sign > 0 ? memory.size : -memory.size;
    sum.count += static_cast<std::uint64_t>(sign);
  };
  if (!is_cpu(memory.device)) add(sums_[1]);
  if (cai_is_dereferenceable(memory.device, memory.kind)) add(sums_[0]);
}

void World::add(cai_memory *handle, Memory made) {
  made.handle = handle;
  memories_.push_back(std::make_shared<Memory>(std::move(made)));
  count(*memories_.back(), 1);
}

Owner &World::new_owner(unsigned size, unsigned value) {
  owners_.push_back(std::make_unique<Owner>());
  owners_.back()->bytes.assign(size, static_cast<unsigned char>(value));
  return *owners_.back();
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

void World::check() {
  for (int i = 0; i < 2; ++i) {
    const auto is_right = [&](const cai_usage &usage) {
      return usage.bytes == sums_[i].bytes && usage.count == sums_[i].count;
    };
    if (is_right(usage_of(i ? gpu : cpu))) continue;
    sync_cpu();  // whose work holds what it works on
    const cai_usage usage = usage_of(i ? gpu : cpu);
    if (is_right(usage)) continue;
    blame("usage of " + std::string(i ? "the GPU" : "the CPU") + " is " +
          std::to_string(usage.bytes) + " in " + std::to_string(usage.count) + ", not " +
          std::to_string(sums_[i].bytes) + " in " + std::to_string(sums_[i].count));
  }
  if (usage_of(gpu).deferred != deferred_) blame("the deferrals are miscounted");
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
  if (wide::cu().simcuda_races() != races_) blame("something races");
}

void World::close() {
  fault_.forget();
  while (!arrays_.empty()) end_array(arrays_.size() - 1);
  while (!memories_.empty()) release({});
  check();
  for (; deferred_ > 0; --deferred_) MUST(cai_pending_defer(gpu, 0, nullptr));
  MUST(cai_manager_install(gpu, nullptr, nullptr));
  for (int i = 0; i < 2; ++i) {
    MUST(cai_drain(1, nullptr, nullptr));
    sync_cpu();
    MUST(cai_pending_flush(gpu, nullptr));
  }
  check();
  if (usage_of(gpu).pending_count) blame("frees are left pending");
  for (const auto &judge : judges_) {
    judge->look_at_what_came_back();
    if (judge->is_alive() && judge->out()) blame("memory has not come back to its manager");
  }
  end_gpu();
  for (const Manager &manager : managers_) cai_manager_release(manager.handle);
  for (const Stream &stream : streams_) cai_stream_release(stream.handle);
  MUST(cai_drain(1, nullptr, nullptr));
  MUST(cai_pending_flush(gpu, nullptr));
  for (const auto &judge : judges_) {
    if (judge->made != judge->destroyed) blame("a manager has not ended, or twice");
  }
  for (const auto &owner : owners_) {
    if (owner->ended != 1) blame("an owner has ended " + std::to_string(owner->ended) + " times");
    if (!owner->is_untouched()) blame("an owner's memory is used after its end");
  }
  if (wide::cu().simcuda_races() != races_) blame("something races");
}

}  // namespace lives
