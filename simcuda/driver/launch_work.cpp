// SPDX-License-Identifier: BSD-3-Clause
#include "launch_work.h"

#include "ipc.h"
#include "race_report.h"
#include "spoken.h"

namespace simcuda {
namespace {

bool holds(const Allocation &allocation, std::uintptr_t address) {
  return address - allocation.device_address() < allocation.size;
}

}  // namespace

void Patience::goes_on() {
  if (!goes_on_.exchange(true)) driver()->schedule.goes_on(work_);
}

bool Patience::is_over(const Context &context) {
  const auto limit = Settings::get().kernel_limit;
  if (limit.count() > 0 && Clock::now() - began_ > limit) out_of_time_ = true;
  return out_of_time_ || context.error != CUDA_SUCCESS || process_is_ending();
}

std::string Patience::end_of_time() {
  return "It had run for more than " + std::to_string(Settings::get().kernel_limit.count()) +
         " seconds, which is what SIMCUDA_KERNEL_LIMIT allows.";
}

LaunchWork::LaunchWork(std::shared_ptr<const KernelLaunch> launch)
    : launch_(std::move(launch)), destroyed_(driver()->destroyed_textures.now()) {
  for (auto &allocation : launch_->named)
    named_.push_back({allocation, driver()->races.history_of(*allocation)});
}

std::string LaunchWork::name() const {
  return kernel::spoken(launch_->code->name);
}

LaunchWork::Seen LaunchWork::seen_at(std::uintptr_t address) const {
  for (const Seen &each : named_)
    if (holds(*each.allocation, address)) return each;
  auto allocation = driver()->memory.find(address);
  if (!allocation || !holds(*allocation, address)) return {};
  return {allocation, driver()->races.history_of(*allocation)};
}

std::string LaunchWork::describe_unusable(std::uintptr_t address) const {
  return simcuda::describe_unusable(*launch_, seen_at(address).allocation, address);
}

// As of the submission: what was destroyed since comes first.
TextureObjectPtr LaunchWork::object_of(std::uint64_t handle) const {
  const auto wanted = reinterpret_cast<TextureHandle>(handle);
  for (auto link = destroyed_; link; link = link->next)
    if (link->object && link->object->handle == wanted) return link->object;
  return driver()->textures.find(wanted);
}

TextureObjectPtr LaunchWork::texture_of(std::uint64_t handle) const {
  auto object = object_of(handle);
  const bool usable =
      object && object->context == launch_->context && !(object->array && object->array->dead);
  return usable ? object : nullptr;
}

std::string LaunchWork::describe_unusable_handle(std::uint64_t handle) const {
  const auto object = object_of(handle);
  if (!object)
    return driver()->destroyed_textures.had(reinterpret_cast<TextureHandle>(handle))
               ? "It was destroyed before the launch was submitted."
               : "No texture and no surface has it.";
  if (object->context != launch_->context) return "It is of another context.";
  return "The array that it leads to was destroyed.";
}

std::string describe_unusable(const KernelLaunch &launch, AllocationPtr allocation,
                              std::uintptr_t address) {
  if (!allocation) allocation = driver()->memory.find(address);
  if (!allocation || !holds(*allocation, address)) return driver()->memory.describe(address);
  if (!in_reach(*launch.context, *allocation))
    return "That is memory of device " + std::to_string(allocation->device) +
           ", to which its context has no access.";
  return "It goes beyond the end of " + describe_memory(*allocation) + '.';
}

bool is_gone(const Allocation &allocation) {
  return allocation.dead || (allocation.imported && !allocation.share->alive());
}

}  // namespace simcuda
